/// The bytes of a change batch: what changed in a file between two versions, complete in itself.
///
///     offset  0  "MOTTECHG"
///             8  u16 format (1)         10  u16 flags (1: whole, from nothing; 2: patch, for its own origin;
///                                           4: difference of two files, of which the first is the origin;
///                                           8: the schema was changed in a way that it does not carry over)
///            12  u32 crc32c of the batch with this field as zero
///            16  u64 byte count of the batch
///            24  origin, 16 bytes: the history UUID of the file it was read from
///            40  u64 from version       48  u64 to version
///            56  u32 checksum of the change record of `from`, 0 if none
///            60  u32 the same of `to`
///            64  i64 wall time of the commit of `to`, nanoseconds since 1970, 0 if not known
///            72  u64 the version that changed the origin's schema last
///            80  u32 section count      84  u32 zero
///            88  sections: u8 kind, u8 flags (1: skip it if unknown), byte count, then that many bytes
///
/// Fixed numbers are little-endian; all others are of variable length (`LogCoding`). Objects are named by the table
/// number and the object key that they have in the origin. A value is as in a change record, never abbreviated.
///
///     1 schema    the origin's catalog record
///     2 classes   count, per class: table, name, u8 flags (1 embedded), column count, per column: column, name,
///                 u8 type, u8 collection, u8 flags (1 nullable, 2 primary key)
///     3 created   table, run count, per run: gap from the end of the run before, length; column count, per column:
///                 column, byte count, a value per object; without columns a zero byte per object
///     4 set       table, column, key count, per key: gap from the key before plus one; then a value per key
///     5 lists     table, column, owner count, per owner: gap as above, elements before, edit count, per edit:
///                 u8 kind (1 insert, 2 remove, 3 set, 4 move), index, then count (and, unless removed, that many
///                 values), or for a move the destination
///     6 sets      table, column, owner count, per owner: gap as above, element count, elements
///     7 maps      table, column, owner count, per owner: gap as above, change count, per change: key, u8 kind
///                 (1 put, 2 removed), and the value that was put
///     8 deleted   table, runs as in 3
///    10 known     table, column (the primary key), key count, per key: gap as above; then a value per key: how objects
///                 that a difference names, and does not make, are found in another file
///    11 places    table (of embedded objects), key count, per key: gap as above; then per key the table, the column
///                 and the key of the object that has it, and in a list its index, in a map its key: found likewise
///    12 replicas  page count, per page the byte count of its key, the key, the byte count of the page, the page: what
///                 the origin keeps of other files, whose batches it applies (`ReplicaPages`), for a copy that may go
///                 on in its place; flags 1
///     9 inverse   i64 wall time of the commit of `from`, u32 section count, sections: what leads back; flags 1
///
/// Sections ascend by kind, with 9 as the last, and within a kind by table and column. A text is its byte count and
/// UTF-8.
import CMotteShim
import MotteValues

package enum ChangeBatchFormat {
    package static let magic: [UInt8] = Array("MOTTECHG".utf8)
    static let format: UInt16 = 1
    static let wholeFlag: UInt16 = 1
    static let patchFlag: UInt16 = 2
    static let differenceFlag: UInt16 = 4
    static let breaksFlag: UInt16 = 8
    package static let headerSize = 88
    package static let checksumOffset = 12
    static let optionalSection: UInt8 = 1

    enum Section: UInt8 {
        case schema = 1
        case classes, created, set, lists, sets, maps, deleted, inverse, known, places, replicas
    }

    /// By which sections ascend.
    static func order(_ kind: UInt8) -> UInt8 { kind == Section.inverse.rawValue ? .max : kind }

    package static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
        var zero: UInt32 = 0
        var crc = motte_shim_crc32c(0, bytes.baseAddress, checksumOffset)
        crc = motte_shim_crc32c(crc, &zero, 4)
        let rest = checksumOffset + 4
        return motte_shim_crc32c(crc, bytes.baseAddress.map { $0 + rest }, bytes.count - rest)
    }
}

/// What changed in a file from one version to another, as bytes that another file can apply. Its checksum and header
/// have been looked at; whether the sections fit is found when they are applied.
package struct ChangeBatch: Sendable, Equatable {
    package let bytes: [UInt8]
    /// The file that it was read from.
    package let origin: ChangeOrigin
    package let from: Version
    package let to: Version
    /// Checksums of the change records of `from` and `to`; 0 where they are not known. Of a difference, what tells it
    /// from others.
    package let fromChecksum: UInt32
    package let toChecksum: UInt32
    package let wallTimeNanoseconds: Int64
    let schemaChangedIn: UInt64
    let sectionCount: UInt32
    /// Everything that the origin had at `to`.
    package let isWhole: Bool
    /// Not of the origin's history: for the origin itself, or for a copy that is at `from`.
    package let isPatch: Bool
    /// What leads from one file to another: for the first of them, and for files that have the same objects there.
    package let isDifference: Bool
    /// The schema was changed in a way that changes do not carry over: nobody can apply it.
    package let breaksSchema: Bool

    /// Of a difference: from where on a file keeps the names of it. Its inverse has the same.
    var firstKeptName: Int64 {
        FileDifference.firstName + Int64(fromChecksum ^ toChecksum) << ObjectNameBlock.shift
    }

    /// Without any change.
    package var isEmpty: Bool { sectionCount == 0 }

    package init(_ bytes: [UInt8]) throws(DatabaseError) {
        self.bytes = bytes
        let header = try bytes.withBytes { bytes throws(DatabaseError) in try Header(bytes) }
        (origin, from, to) = (header.origin, header.from, header.to)
        (fromChecksum, toChecksum) = (header.fromChecksum, header.toChecksum)
        wallTimeNanoseconds = header.wallTime
        schemaChangedIn = header.schemaChangedIn
        sectionCount = header.sectionCount
        isWhole = header.isWhole
        isPatch = header.isPatch
        isDifference = header.isDifference
        breaksSchema = header.breaksSchema
    }

    /// Of bytes that somebody lends, and whose number he may have wrong.
    package init(copying bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        try Header.checkLength(bytes)
        try self.init([UInt8](bytes))
    }

    static func damaged(_ what: String = "its bytes contradict themselves") -> DatabaseError {
        .corrupted("the change batch is damaged: \(what); read it from its origin again")
    }

    struct Header {
        var origin: ChangeOrigin
        var from: Version
        var to: Version
        var fromChecksum: UInt32
        var toChecksum: UInt32
        var wallTime: Int64
        var schemaChangedIn: UInt64
        var sectionCount: UInt32
        var isWhole = false
        var isPatch = false
        var isDifference = false
        var breaksSchema = false

        private var flags: UInt16 {
            (isWhole ? ChangeBatchFormat.wholeFlag : 0) | (isPatch ? ChangeBatchFormat.patchFlag : 0)
                | (isDifference ? ChangeBatchFormat.differenceFlag : 0)
                | (breaksSchema ? ChangeBatchFormat.breaksFlag : 0)
        }

        init(
            origin: ChangeOrigin, from: Version, to: Version, fromChecksum: UInt32, toChecksum: UInt32,
            wallTime: Int64, schemaChangedIn: UInt64
        ) {
            self.origin = origin
            self.from = from
            self.to = to
            self.fromChecksum = fromChecksum
            self.toChecksum = toChecksum
            self.wallTime = wallTime
            self.schemaChangedIn = schemaChangedIn
            sectionCount = 0
        }

        fileprivate static func checkLength(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
            guard bytes.count >= ChangeBatchFormat.headerSize, bytes.starts(with: ChangeBatchFormat.magic) else {
                throw DatabaseError(.invalidArgument, "this is not a change batch: it does not begin with MOTTECHG")
            }
            let length = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
            guard length == UInt64(bytes.count) else {
                throw ChangeBatch.damaged("it should have \(length) bytes and has \(bytes.count)")
            }
        }

        fileprivate init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
            try Self.checkLength(bytes)
            func half(_ offset: Int) -> UInt32 {
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            }
            func word(_ offset: Int) -> UInt64 {
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            let format = UInt16(truncatingIfNeeded: half(8))
            guard format == ChangeBatchFormat.format else {
                throw DatabaseError(
                    .unsupportedFormat, "change batch format \(format) is newer than this library; update it")
            }
            guard half(12) == ChangeBatchFormat.checksum(of: bytes) else {
                throw ChangeBatch.damaged("its checksum is wrong")
            }
            let flags = UInt16(truncatingIfNeeded: half(8) >> 16)
            guard flags & ~ChangeBatchFormat.breaksFlag <= 4, half(84) == 0 else {
                throw DatabaseError(
                    .unsupportedFormat, "the change batch has flags that are newer than this library; update it")
            }
            origin = ChangeOrigin(high: word(24), low: word(32))
            from = Version(word(40))
            to = Version(word(48))
            fromChecksum = half(56)
            toChecksum = half(60)
            wallTime = Int64(bitPattern: word(64))
            schemaChangedIn = word(72)
            sectionCount = half(80)
            isWhole = flags & ChangeBatchFormat.wholeFlag != 0
            isPatch = flags & ChangeBatchFormat.patchFlag != 0
            isDifference = flags & ChangeBatchFormat.differenceFlag != 0
            breaksSchema = flags & ChangeBatchFormat.breaksFlag != 0
            guard from <= to || isPatch || isDifference, !isWhole || from == Version(0) && !isPatch else {
                throw ChangeBatch.damaged()
            }
        }

        /// The header before `sections`, complete with its checksum.
        func bytes(before sections: [UInt8], count: Int) -> [UInt8] {
            var bytes = ChangeBatchFormat.magic
            bytes.reserveCapacity(ChangeBatchFormat.headerSize + sections.count)
            bytes.append(u16: ChangeBatchFormat.format)
            bytes.append(u16: flags)
            bytes.append(u32: 0)
            bytes.append(u64: UInt64(ChangeBatchFormat.headerSize + sections.count))
            bytes.append(u64: origin.high)
            bytes.append(u64: origin.low)
            bytes.append(u64: from.rawValue)
            bytes.append(u64: to.rawValue)
            bytes.append(u32: fromChecksum)
            bytes.append(u32: toChecksum)
            bytes.append(u64: UInt64(bitPattern: wallTime))
            bytes.append(u64: schemaChangedIn)
            bytes.append(u32: UInt32(truncatingIfNeeded: count))
            bytes.append(u32: 0)
            bytes.append(contentsOf: sections)
            bytes.store(
                u32: bytes.withUnsafeBytes { ChangeBatchFormat.checksum(of: $0) },
                at: ChangeBatchFormat.checksumOffset)
            return bytes
        }
    }
}
