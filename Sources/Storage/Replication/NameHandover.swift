/// How a file that followed another one, and leads in its place, calls the objects of that one. Whoever followed the
/// former leader up to the same version has the same objects under that one's names, and so learns what they are called
/// by the new one: it goes on from there, without a copy of the file.
///
///     u32 "MNH1", u32 CRC-32C of all that follows
///     former leader: origin 16 bytes, u64 version, u32 checksum of its change record or 0
///     new leader: origin 16 bytes, u64 version, u32 checksum or 0, i64 wall time of that commit, u64 version that
///         changed its schema last
///     u32 byte count, its catalog
///     u32 number of tables; for each u32 table, u64 number of its objects
///     u32 number of blocks of names; for each u32 table, u64 block, u32 byte count, the page (`ObjectNameBlock`)
///
/// Little-endian; origins as in keys. Tables are those of the new leader.
///
///     H1  the file had no changes of its own at that version, only those of the former leader
///     H2  a file takes it only if it is at the former leader's version; what does not fit leaves it as it was
import CMotteShim
import MottePages
import MotteSchemaModel
import MotteValues

package struct NameHandover: Equatable, Sendable {
    package let former: ReplicaPosition
    package let position: ReplicaPosition
    private let catalog: [UInt8]
    private let tables: [Count]
    private let blocks: [Block]

    private struct Count: Equatable {
        let table: TableKey
        let count: UInt64
    }

    private struct Block: Equatable {
        let table: TableKey
        let number: UInt64
        let page: [UInt8]
    }

    private static let mark: UInt32 = 0x3148_4E4D

    /// nil where nothing of the former leader has been applied.
    init?(_ snapshot: Snapshot, _ position: ReplicaPosition, of origin: ChangeOrigin) throws(DatabaseError) {
        guard let former = try snapshot.replicaPosition(origin),
            let catalog = try snapshot.pages.get(PageKeys.catalog)
        else { return nil }
        (self.former, self.position) = (former, position)
        self.catalog = [UInt8](catalog.bytes)
        var tables: [Count] = []
        var blocks: [Block] = []
        for stored in snapshot.catalog.tables {
            tables.append(Count(table: stored.key, count: UInt64(try snapshot.table(stored.key).liveCount)))
            let prefix = ReplicaPages.names(stored.key, origin)
            let cursor = try snapshot.pages.makeCursor()
            var found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
            while found, cursor.key.starts(with: prefix), let number = ReplicaPages.block(cursor.key) {
                blocks.append(Block(table: stored.key, number: number, page: [UInt8](cursor.value.bytes)))
                found = try cursor.next()
            }
        }
        (self.tables, self.blocks) = (tables, blocks)
    }

    // MARK: Bytes

    package var bytes: [UInt8] {
        var body: [UInt8] = []
        for each in [former, position] {
            body.append(u64: each.origin.high)
            body.append(u64: each.origin.low)
            body.append(u64: each.version.rawValue)
            body.append(u32: each.checksum)
        }
        body.append(u64: UInt64(bitPattern: position.wallTimeNanoseconds))
        body.append(u64: position.schemaChangedIn)
        body.append(u32: UInt32(catalog.count))
        body += catalog
        body.append(u32: UInt32(tables.count))
        for each in tables {
            body.append(u32: each.table.rawValue)
            body.append(u64: each.count)
        }
        body.append(u32: UInt32(blocks.count))
        for each in blocks {
            body.append(u32: each.table.rawValue)
            body.append(u64: each.number)
            body.append(u32: UInt32(each.page.count))
            body += each.page
        }
        var all: [UInt8] = []
        all.append(u32: Self.mark)
        all.append(u32: body.withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress, $0.count) })
        return all + body
    }

    package init(decoding bytes: [UInt8]) throws(DatabaseError) {
        self = try bytes.withBytes { bytes throws(DatabaseError) in try Self(decoding: bytes) }
    }

    private init(decoding bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        var reader = LogReader(bytes)
        guard try reader.u32() == Self.mark else { throw .corrupted("what hands names over has another mark") }
        let checksum = try reader.u32()
        let body = UnsafeRawBufferPointer(rebasing: bytes[8...])
        guard checksum == motte_shim_crc32c(0, body.baseAddress, body.count) else {
            throw .corrupted("the checksum of what hands names over is wrong")
        }
        func position(_ reader: inout LogReader) throws(DatabaseError) -> (ChangeOrigin, Version, UInt32) {
            let origin = ChangeOrigin(high: try reader.u64(), low: try reader.u64())
            return (origin, Version(try reader.u64()), try reader.u32())
        }
        let (before, now) = (try position(&reader), try position(&reader))
        let wallTime = Int64(bitPattern: try reader.u64())
        let changedIn = try reader.u64()
        self.former = ReplicaPosition(
            origin: before.0, version: before.1, checksum: before.2, wallTimeNanoseconds: 0, schemaChangedIn: 0)
        self.position = ReplicaPosition(
            origin: now.0, version: now.1, checksum: now.2, wallTimeNanoseconds: wallTime, schemaChangedIn: changedIn)
        catalog = [UInt8](try reader.run(Int(try reader.u32())))
        var tables: [Count] = []
        for _ in 0 ..< (try reader.u32()) {
            tables.append(Count(table: TableKey(try reader.u32()), count: try reader.u64()))
        }
        var blocks: [Block] = []
        for _ in 0 ..< (try reader.u32()) {
            let (table, number) = (TableKey(try reader.u32()), try reader.u64())
            blocks.append(Block(table: table, number: number, page: [UInt8](try reader.run(Int(try reader.u32())))))
        }
        (self.tables, self.blocks) = (tables, blocks)
        guard reader.remaining == 0 else { throw .corrupted("what hands names over is too long") }
    }
}

// MARK: Taking it

extension NameHandover {
    /// The pages that a file at the former leader's version has then.
    fileprivate func pages(for write: WriteTransaction) throws(DatabaseError) -> [[UInt8]: [UInt8]] {
        let base = write.base
        guard let known = try base.replicaPosition(former.origin), known.version == former.version else {
            throw DatabaseError(
                .outOfSequence, "the file is not at the version at which the lead has gone to another one")
        }
        guard known.checksum == former.checksum || known.checksum == 0 || former.checksum == 0 else {
            throw differs("its version \(known.version.rawValue) is another one")
        }
        let theirs = try catalog.withBytes { bytes throws(DatabaseError) in try Catalog.decode(bytes) }
        guard theirs.changedIn == position.schemaChangedIn else { throw Self.damaged }
        let formerNames = ObjectNames(base.pages, former.origin)
        let names = ObjectNames(base.pages, position.origin)
        var here: [TableKey: TableKey] = [:]
        for each in tables {
            guard let name = theirs.table(each.table)?.name, let table = base.catalog.table(named: name) else {
                throw differs("a class is missing")
            }
            here[each.table] = table.key
            guard UInt64(try base.table(table.key).liveCount) == each.count else {
                throw differs("it has another number of \(name)")
            }
        }
        for block in blocks {
            guard let table = here[block.table] else { throw Self.damaged }
            let key = ReplicaPages.names(block.table, former.origin, block.number)
            let decoded = try block.page.withBytes { page throws(DatabaseError) in
                try ObjectNameBlock(decoding: page, block: block.number, key: key)
            }
            for run in decoded.runs {
                try formerNames.forEachRun(table, in: run.first ..< run.end) { found throws(DatabaseError) in
                    let first = run.local + found.first - run.first
                    // Of two that one object has had, the later one is that which is there.
                    _ = try names.add(table, first ..< first + found.count, local: found.local, replacing: true)
                }
            }
        }
        var pages: [[UInt8]: [UInt8]] = [:]
        names.forEachChangedPage { pages[$0] = $1 }
        pages[ReplicaPages.position(position.origin)] = position.page
        pages[ReplicaPages.catalog(position.origin)] = catalog
        return pages
    }

    private func differs(_ what: String) -> DatabaseError {
        DatabaseError(.historyForked, "the file is not as the former leader was: \(what)")
    }

    private static var damaged: DatabaseError { .corrupted("what hands names over contradicts itself") }
}

extension Database {
    /// What the file calls the objects of an origin that it has followed; nil where it has followed another one.
    package func handover(of origin: ChangeOrigin, _ snapshot: Snapshot) throws(DatabaseError) -> NameHandover? {
        try NameHandover(snapshot, try ownPosition(snapshot), of: origin)
    }
}

extension WriteTransaction {
    /// The file follows the new leader from here on.
    package func take(_ handover: NameHandover, _ leader: FollowedLeader) throws(DatabaseError) {
        try requireOpen()
        for (key, page) in try handover.pages(for: self) { replicaPages[key] = page }
        try follow(leader)
    }
}
