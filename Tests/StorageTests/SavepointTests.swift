// Savepoints: random operations on all types and collections, some of them undone, beside a naive model that is simply
// copied; and what a commit writes and says afterwards is as if what was undone had never been.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SavepointTests {
    /// In each test, row groups of 3 rows cross every boundary there is, and long lists of a few elements have trees.
    @Test(arguments: [3, 480], [LongValues.standardLimit, 4])
    func whatIsUndoneNeverWas(rowGroupSize: Int, longest: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let folder = TemporaryDirectory()
            var options = PageStoreOptions(path: folder.file("store.motte"))
            options.rowGroupSize = rowGroupSize
            options.durability = .none
            options.mostFileBytes = 256 << 20
            let database = try Database.open(options)
            let snapshot = try database.snapshot()
            _ = try database.reconcile(try SchemaText.parse(EverythingModel.text), on: snapshot)
            var model = try EverythingModel(snapshot.schema)
            // Carries what no change record names.
            let follower = try database.snapshot()
            for round in 0 ..< 20 {
                let write = try database.beginWrite(on: snapshot)
                write.listShape = LongListTests.small
                write.manyObjects = 3
                write.longValues.limit = longest
                let before = model
                model.touched = []
                var candidates = Array(model.rows.keys.sorted().shuffled(using: &random).prefix(12))
                for _ in 0 ..< random.below(8) {
                    for _ in 0 ..< random.below(30) { try model.step(write, &random, &candidates) }
                    try undone(write, &model, &candidates, &random, depth: 0, comment)
                    try write.checkInvariants()
                }
                let changed = model.touched
                if random.chance(15) {
                    write.cancel()
                    model = before
                } else {
                    let version = snapshot.version
                    try write.commit()
                    if let changes = try database.changes(from: version, to: snapshot) {
                        try EverythingModel.checkLog(changes, from: before, to: model, comment)
                    }
                }
                model.touched = changed
                try model.checkTouched(snapshot, since: before, comment)
                if round % 4 == 1 {
                    try model.check(snapshot, comment)
                    let report = try snapshot.verify()
                    #expect(report.isSound, "\(report.text); \(comment)")
                }
                if round % 3 == 1 {
                    _ = try database.advance(follower)
                    try model.check(follower, comment)
                }
            }
            try model.check(try database.snapshot(), comment)
        }
    }

    /// Some operations that are undone, with others in them that are undone or kept.
    private func undone(
        _ write: WriteTransaction, _ model: inout EverythingModel, _ candidates: inout [ObjectLink],
        _ random: inout SeededRandom, depth: Int, _ comment: String
    ) throws {
        let savepoint = try write.savepoint()
        let (before, formerCandidates) = (model, candidates)
        let (record, hadChanges, epoch) = (encoded(write), write.hasChanges, write.changeCount)
        for _ in 0 ..< random.below(30) { try model.step(write, &random, &candidates) }
        if depth < 2, random.chance(40) {
            try undone(write, &model, &candidates, &random, depth: depth + 1, comment)
            for _ in 0 ..< random.below(10) { try model.step(write, &random, &candidates) }
        }
        if random.chance(30) { return try write.release(savepoint) }
        if random.chance(10) { _ = try write.deleteAll(random.pick([model.thingTable, model.partTable])) }
        let touched = model.touched
        _ = try write.rollBack(to: savepoint)
        #expect(!write.isOpen(savepoint))
        model = before
        // As it was, whatever had been touched.
        model.touched = touched
        candidates = formerCandidates
        #expect(encoded(write) == record, "\(comment)")
        #expect(write.hasChanges == hadChanges, "\(comment)")
        #expect(write.changeCount > epoch, "\(comment)")
        if random.chance(25) {
            try model.check(write, comment)
        } else {
            try model.checkTouched(write, since: before, comment)
        }
    }

    private func encoded(_ write: WriteTransaction) -> [UInt8] {
        write.recorder.encode(
            version: Version(1), previous: 0, wallTimeNanoseconds: 0, origin: ChangeOrigin(high: 0, low: 0))
    }

    private static let plain = "Item { id: int key, rank: int indexed, texts: list<string> }"

    private func open() throws -> (database: Database, snapshot: Snapshot, table: TableKey, type: ObjectType) {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = 3
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse(Self.plain), on: snapshot)
        let type = try snapshot.schema.type(named: "Item")
        return (database, snapshot, try #require(type.tableKey), type)
    }

    private func add(_ write: WriteTransaction, _ table: TableKey, _ id: Int64) throws -> ObjectKey {
        try Value.int(id).withView { view throws(DatabaseError) in try write.create(table, primaryKey: view) }
    }

    /// What was found out while an index was cleared must not outlive that.
    @Test(arguments: [false, true]) func deletingAllIsUndone(afterAChange: Bool) throws {
        let (database, snapshot, table, type) = try open()
        let first = try database.beginWrite(on: snapshot)
        for id in 0 ..< 20 { _ = try add(first, table, Int64(id)) }
        try first.commit()
        let write = try database.beginWrite(on: snapshot)
        let rank = try #require(type.property(named: "rank")?.columnKey)
        if afterAChange {
            try Value.int(7).withView { view throws(DatabaseError) in
                try write.set(table, rank, ObjectKey(1), to: view)
            }
        }
        let savepoint = try write.savepoint()
        #expect(try write.deleteAll(table) == 20)
        // As high as those that are gone.
        for id in 0 ..< 8 { _ = try add(write, table, Int64(id)) }
        #expect(try write.table(table).liveCount == 8)
        let undone = try write.rollBack(to: savepoint)
        #expect(undone.firstKeys.map(\.key) == [ObjectKey(20)])
        #expect(write.hasChanges == afterAChange)
        #expect(try write.table(table).liveCount == 20)
        for id in 0 ..< 20 {
            #expect(throws: DatabaseError.self) { try self.add(write, table, Int64(id)) }
        }
        #expect(try add(write, table, 20) == ObjectKey(28))
        try Value.int(5).withView { view throws(DatabaseError) in try write.set(table, rank, ObjectKey(3), to: view) }
        try write.commit()
        #expect(try snapshot.verify().isSound)
        #expect(try snapshot.table(table).liveCount == 21)
    }

    /// The last row group of a write takes more rows after all of them were deleted, also where a savepoint has closed
    /// it.
    @Test func rowsFollowThoseThatWereDeletedAfterGoingBack() throws {
        let (database, snapshot, table, type) = try open()
        let texts = try #require(type.property(named: "texts")?.columnKey)
        let write = try database.beginWrite(on: snapshot)
        // A row group of three and one of one.
        for id in 0 ..< 4 { _ = try add(write, table, Int64(id)) }
        let savepoint = try write.savepoint()
        _ = try add(write, table, 4)
        _ = try write.rollBack(to: savepoint)
        #expect(try write.deleteAll(table) == 4)
        let key = try add(write, table, 5)
        try write.checkInvariants()
        #expect(try write.table(table).listCount(texts, key) == 0)
        try write.commit()
        #expect(try snapshot.verify().isSound)
        #expect(try snapshot.table(table).liveCount == 1)
    }

    @Test func savepointsEndWithTheirWriteAndThoseAround() throws {
        let (database, snapshot, table, _) = try open()
        let write = try database.beginWrite(on: snapshot)
        let outer = try write.savepoint()
        _ = try add(write, table, 1)
        let inner = try write.savepoint()
        _ = try add(write, table, 2)
        _ = try write.rollBack(to: outer)
        #expect(!write.isOpen(inner))
        #expect(throws: DatabaseError.self) { try write.release(inner) }
        #expect(throws: DatabaseError.self) { _ = try write.rollBack(to: inner) }
        let last = try write.savepoint()
        _ = try add(write, table, 3)
        try write.commit()
        #expect(throws: DatabaseError.self) { try write.release(last) }
        #expect(try snapshot.table(table).liveCount == 1)
        // A write of which everything was undone makes no version.
        let empty = try database.beginWrite(on: snapshot)
        let only = try empty.savepoint()
        _ = try add(empty, table, 4)
        _ = try empty.rollBack(to: only)
        let version = snapshot.version
        try empty.commit()
        #expect(snapshot.version == version)
    }

    /// A bulk load within a call that is all or nothing keeps nothing for undoing it where it comes first in its write.
    @Test func goingBackToAnUnchangedWriteTakesNoEntries() throws {
        let (database, snapshot, table, type) = try open()
        let first = try database.beginWrite(on: snapshot)
        for id in 0 ..< 5 { _ = try add(first, table, Int64(id)) }
        try first.commit()
        let id = try #require(type.primaryKey?.columnKey)
        let rank = try #require(type.property(named: "rank")?.columnKey)
        let write = try database.beginWrite(on: snapshot)
        let record = encoded(write)
        let outer = try write.savepoint(), second = try write.savepoint()
        let values = (0 ..< 1_000).map { ValueView.int(Int64(100 + $0)) }
        _ = try write.insertBatch(table, columns: [id], rows: values, rowCount: 1_000)
        try Value.int(9).withView { view throws(DatabaseError) in try write.set(table, rank, ObjectKey(2), to: view) }
        #expect(write.undo.entryCount == 0)
        // One within it is about a write that has changed.
        let inner = try write.savepoint()
        let between = encoded(write)
        _ = try add(write, table, 50)
        #expect(write.undo.entryCount > 0)
        #expect(try write.rollBack(to: inner).firstKeys.map(\.key) == [ObjectKey(1_005)])
        #expect(encoded(write) == between && write.undo.entryCount == 0)
        let released = try write.savepoint()
        _ = try add(write, table, 51)
        try write.release(released)
        #expect(write.undo.entryCount == 0)
        _ = try add(write, table, 52)

        try write.release(second)
        #expect(write.undo.entryCount == 0)
        let spare = try write.savepoint()
        _ = try add(write, table, 53)
        let epoch = write.changeCount
        #expect(try write.rollBack(to: outer).firstKeys.map(\.key) == [ObjectKey(5)])
        #expect(!write.isOpen(spare) && !write.hasChanges && write.changeCount > epoch)
        #expect(encoded(write) == record)
        #expect(try write.table(table).liveCount == 5)
        #expect(try write.table(table).nextKey == 5)
        for id in 0 ..< 5 { #expect(throws: DatabaseError.self) { try self.add(write, table, Int64(id)) } }

        // And again, in the same write, which then commits something else.
        let again = try write.savepoint()
        _ = try write.insertBatch(table, columns: [id], rows: values, rowCount: 1_000)
        #expect(write.undo.entryCount == 0)
        _ = try write.rollBack(to: again)
        #expect(try add(write, table, 100).rawValue >= 2_005)
        try write.commit()
        #expect(try snapshot.table(table).liveCount == 6)
        #expect(try snapshot.verify().isSound)
    }

    /// Rows that came in batches, over several row groups, after an open row group.
    @Test(arguments: [0, 1, 2, 5, 40])
    func batchesAreUndone(existing: Int) throws {
        let (database, snapshot, table, type) = try open()
        let first = try database.beginWrite(on: snapshot)
        for id in 0 ..< existing { _ = try add(first, table, Int64(id)) }
        try first.commit()
        let id = try #require(type.primaryKey?.columnKey)
        for count in [1, 2, 3, 10, 100] {
            let write = try database.beginWrite(on: snapshot)
            _ = try add(write, table, -Int64(count))
            let savepoint = try write.savepoint()
            let values = (0 ..< count).map { ValueView.int(Int64(1_000 + $0)) }
            _ = try write.insertBatch(table, columns: [id], rows: values, rowCount: count)
            _ = try write.rollBack(to: savepoint)
            _ = try write.insertBatch(table, columns: [id], rows: values, rowCount: count)
            #expect(try write.delete(table, (0 ..< Int64(count)).map { write.nextKey(table) - 1 - $0 }) == count)
            try write.commit()
            #expect(try snapshot.verify().isSound)
        }
        #expect(try snapshot.table(table).liveCount == existing + 5)
    }
}

extension WriteTransaction {
    fileprivate func nextKey(_ table: TableKey) -> Int64 { (try? self.table(table).nextKey) ?? 0 }
}
