/// What a file keeps of the files whose change batches it has applied, under keys of their own. They are written in the
/// transaction that applies a batch, so that position and objects are never apart.
///
///     0x0B | 0 u32 | origin | 1                  position: `ReplicaPosition`
///     0x0B | 0 u32 | origin | 2                  the origin's catalog record at that position
///     0x0B | table u32 | origin | block u64      names of the table's objects in the origin: `ObjectNameBlock`;
///                                                of origin 0, as which object one of the file came again, and
///                                                which has a name that a difference made up
///     0x0B | 0xFFFFFFFD                          versions that were taken in: `TakenVersions`
///     0x0B | 0xFFFFFFFE                          whom the file follows: `FollowedLeader`
///     0x0B | 0xFFFFFFFF                          from where on the change log is kept, and for whom: `KeptChanges`
///
/// Numbers in keys are big-endian.
import CMotteShim
import MottePages
import MotteValues

package enum ReplicaPages {
    package static let space = KeySpace.replication
    private static let position: UInt8 = 1
    private static let catalog: UInt8 = 2
    /// What the keys of all positions begin with.
    static let positions: [UInt8] = [space, 0, 0, 0, 0]
    static let taken: [UInt8] = [space, 0xFF, 0xFF, 0xFF, 0xFD]
    static let following: [UInt8] = [space, 0xFF, 0xFF, 0xFF, 0xFE]
    package static let kept = KeySpace.keptChanges

    /// By which a file keeps as which object one of its own came again, whoever calls it. It has no number of its own,
    /// because a file's own changes with every copy and compaction, and these names go along.
    static let itself = ChangeOrigin.unknown

    package static func position(_ origin: ChangeOrigin) -> [UInt8] { positions + bytes(origin) + [position] }
    package static func catalog(_ origin: ChangeOrigin) -> [UInt8] { positions + bytes(origin) + [catalog] }

    static func names(_ table: TableKey, _ origin: ChangeOrigin) -> [UInt8] {
        var key: [UInt8] = [space]
        withUnsafeBytes(of: table.rawValue.bigEndian) { key.append(contentsOf: $0) }
        return key + bytes(origin)
    }

    package static func names(_ table: TableKey, _ origin: ChangeOrigin, _ block: UInt64) -> [UInt8] {
        var key = names(table, origin)
        withUnsafeBytes(of: block.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    /// What a file keeps of one other file.
    enum Part: Equatable {
        case position
        case catalog
        case names(TableKey, block: UInt64)

        var isOfNames: Bool { if case .names = self { true } else { false } }
    }

    /// nil for keys of other things, as those of what a file keeps of itself.
    static func part(_ key: [UInt8]) -> (origin: ChangeOrigin, part: Part)? {
        guard key.count == 22 || key.count == 29, key[0] == space else { return nil }
        return key.withUnsafeBytes { bytes in
            func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
            let origin = ChangeOrigin(high: UInt64(littleEndian: word(5)), low: UInt64(littleEndian: word(13)))
            let table = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
            if key.count == 29 { return (origin, .names(TableKey(table), block: UInt64(bigEndian: word(21)))) }
            guard table == 0, key[21] == position || key[21] == catalog else { return nil }
            return (origin, key[21] == position ? .position : .catalog)
        }
    }

    /// Whether a copy that is to go on in the file's place needs the page.
    static func isShipped(_ key: [UInt8]) -> Bool { part(key) != nil }

    /// nil for keys of other things.
    static func block(_ key: UnsafeRawBufferPointer) -> UInt64? {
        guard key.count == 29, key[0] == space else { return nil }
        return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 21, as: UInt64.self))
    }

    private static func bytes(_ origin: ChangeOrigin) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(u64: origin.high)
        bytes.append(u64: origin.low)
        return bytes
    }

    /// u8 kind, u8 format 1, u16 zero, u32 CRC of the page with this field as zero and of its key; then the body.
    package static func sealed(_ kind: UInt8, _ body: [UInt8], key: [UInt8]) -> [UInt8] {
        var page: [UInt8] = [kind, 1, 0, 0, 0, 0, 0, 0]
        page.append(contentsOf: body)
        let crc = page.withUnsafeBytes { page in key.withUnsafeBytes { checksum(page, $0) } }
        page.store(u32: crc, at: 4)
        return page
    }

    static func opened(
        _ kind: UInt8, _ page: UnsafeRawBufferPointer, key: [UInt8]
    ) throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard page.count >= 8, page[0] == kind else { throw .corrupted("a page of replication is of another kind") }
        guard page[1] == 1 else {
            throw DatabaseError(
                .unsupportedFormat, "a page of replication has format \(page[1]), newer than this library; update it")
        }
        let stored = UInt32(littleEndian: page.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        guard stored == key.withUnsafeBytes({ checksum(page, $0) }) else {
            throw .corrupted("the checksum of a page of replication is wrong")
        }
        return UnsafeRawBufferPointer(rebasing: page[8...])
    }

    private static func checksum(_ page: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> UInt32 {
        var zero: UInt32 = 0
        var crc = motte_shim_crc32c(0, page.baseAddress, 4)
        crc = motte_shim_crc32c(crc, &zero, 4)
        crc = motte_shim_crc32c(crc, page.baseAddress.map { $0 + 8 }, page.count - 8)
        return motte_shim_crc32c(crc, key.baseAddress, key.count)
    }
}

/// How far the batches of one origin have been applied to a file.
package struct ReplicaPosition: Equatable, Sendable {
    package let origin: ChangeOrigin
    /// Of the origin.
    package let version: Version
    /// Of the origin's change record of that version; 0 if not known.
    package let checksum: UInt32
    /// Of that commit, nanoseconds since 1970; 0 if not known.
    package let wallTimeNanoseconds: Int64
    /// The origin's version that changed its schema last.
    let schemaChangedIn: UInt64

    static let kind: UInt8 = 0x50

    /// u64 version, u32 checksum, u32 zero, i64 wall time, u64 version of the schema.
    var page: [UInt8] {
        var body: [UInt8] = []
        body.append(u64: version.rawValue)
        body.append(u32: checksum)
        body.append(u32: 0)
        body.append(u64: UInt64(bitPattern: wallTimeNanoseconds))
        body.append(u64: schemaChangedIn)
        return ReplicaPages.sealed(Self.kind, body, key: ReplicaPages.position(origin))
    }

    init(
        origin: ChangeOrigin, version: Version, checksum: UInt32, wallTimeNanoseconds: Int64, schemaChangedIn: UInt64
    ) {
        self.origin = origin
        self.version = version
        self.checksum = checksum
        self.wallTimeNanoseconds = wallTimeNanoseconds
        self.schemaChangedIn = schemaChangedIn
    }

    init(after batch: ChangeBatch) {
        origin = batch.origin
        version = batch.to
        checksum = batch.toChecksum
        wallTimeNanoseconds = batch.wallTimeNanoseconds
        schemaChangedIn = batch.schemaChangedIn
    }

    init(decoding page: UnsafeRawBufferPointer, of origin: ChangeOrigin) throws(DatabaseError) {
        let body = try ReplicaPages.opened(Self.kind, page, key: ReplicaPages.position(origin))
        var reader = LogReader(body)
        guard body.count == 32 else { throw .corrupted("a position of replication has an impossible length") }
        self.origin = origin
        version = Version(try reader.u64())
        checksum = try reader.u32()
        _ = try reader.u32()
        wallTimeNanoseconds = Int64(bitPattern: try reader.u64())
        schemaChangedIn = try reader.u64()
    }
}

extension Snapshot {
    /// nil where no batch of that origin has been applied.
    package func replicaPosition(_ origin: ChangeOrigin) throws(DatabaseError) -> ReplicaPosition? {
        guard let page = try pages.get(ReplicaPages.position(origin)) else { return nil }
        return try ReplicaPosition(decoding: page.bytes, of: origin)
    }

    /// Of all origins of which batches have been applied.
    package func replicaPositions() throws(DatabaseError) -> [ReplicaPosition] {
        var positions: [ReplicaPosition] = []
        let cursor = try pages.makeCursor()
        var found = try ReplicaPages.positions.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found, cursor.key.starts(with: ReplicaPages.positions) {
            if cursor.key.count == 22, cursor.key[21] == 1 {
                let origin = ChangeOrigin(
                    high: UInt64(littleEndian: cursor.key.loadUnaligned(fromByteOffset: 5, as: UInt64.self)),
                    low: UInt64(littleEndian: cursor.key.loadUnaligned(fromByteOffset: 13, as: UInt64.self)))
                positions.append(try ReplicaPosition(decoding: cursor.value.bytes, of: origin))
            }
            found = try cursor.next()
        }
        return positions
    }
}
