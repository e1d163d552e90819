// Random operations on all types and collections beside a naive model, in writes that are committed, cancelled or fail
// to commit. In each test, row groups of 3 rows cross every boundary there is, and long lists of a few elements have
// trees. Values of a few bytes are as long ones, in pages of their own.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct EverythingTests {
    /// `scripts/test.sh fuzz` runs this at a scale that makes 300,000 operations, `make soak` more than a million.
    @Test(arguments: [3, 480], [LongValues.standardLimit, 60, 4])
    func randomOperationsAgreeWithAModel(rowGroupSize: Int, longest: Int) throws {
        var operations = 0
        try PropertyTest.run(rounds: 2) { random, comment in
            operations += try run(rowGroupSize, longest, &random, comment)
        }
        print(
            "note: \(operations) random operations agree with the model, row groups of \(rowGroupSize), "
                + "values of more than \(longest) bytes apart, "
                + "from seed \(PropertyTest.firstSeed)")
    }

    private func run(
        _ rowGroupSize: Int, _ longest: Int, _ random: inout SeededRandom, _ comment: String
    ) throws -> Int {
        let folder = TemporaryDirectory()
        var options = PageStoreOptions(path: folder.file("store.motte"))
        options.rowGroupSize = rowGroupSize
        // Nothing of a write stays open then, or most of it.
        if random.chance(50) { options.writeMemoryBytes = 0 }
        // Pages are given up all the time then.
        if random.chance(50) { options.memoryBytes = 64 << 10 }
        // A flush proves nothing here.
        options.durability = .none
        options.mostFileBytes = 256 << 20
        let faults = FaultInjection()
        options.faults = faults
        let database = try Database.open(options)
        var snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse(EverythingModel.text), on: snapshot)
        var model = try EverythingModel(snapshot.schema)
        let follower = try database.snapshot()
        var operations = 0
        // Some rounds are members of a group, which is flushed or lost some rounds later.
        var group: (pages: WriteGroup, base: Snapshot, model: EverythingModel)?
        for round in 0 ..< 24 {
            if group == nil, random.chance(25) {
                group = (try database.beginGroup(on: snapshot), snapshot.copy(), model)
            }
            let write =
                try group.map { database.beginWrite(on: snapshot, in: $0.pages) }
                ?? database.beginWrite(on: snapshot)
            write.listShape = LongListTests.small
            model.touched = []
            write.manyObjects = 3
            // Sometimes another limit than the values were written under.
            write.longValues.limit = random.chance(10) ? LongValues.standardLimit : longest
            let before = model
            var candidates = Array(model.rows.keys.sorted().shuffled(using: &random).prefix(12))
            let lets = random.chance(50) ? 20 : 0
            for _ in 0 ..< random.below(250) {
                try model.step(write, &random, &candidates)
                if random.chance(lets) { write.releaseMemory(butLatest: random.chance(50)) }
            }
            if round % 8 == 0 { try model.check(write, comment) }
            if round % 2 == 0 { try write.checkInvariants() }
            if round % 4 == 2 { try model.checkTouched(write, since: before, comment) }
            let roll = random.below(6)
            if roll == 0 {
                write.cancel()
                operations += model.operations - before.operations
                let undone = model.touched
                model = before
                // As it was, whatever had been touched.
                model.touched = undone
            } else {
                if roll == 1, write.hasChanges, group == nil {
                    faults.failCommit(1)
                    #expect(throws: DatabaseError.self) { try write.commit() }
                    for _ in 0 ..< 10 { try model.step(write, &random, &candidates) }
                }
                let version = snapshot.version
                try write.commit()
                operations += model.operations - before.operations
                if let changes = try database.changes(from: version, to: snapshot) {
                    try EverythingModel.checkLog(changes, from: before, to: model, comment)
                    // What was kept in memory is what the log has.
                    let logged = try HistoryLog.changes(
                        from: version, to: snapshot.version, snapshot: snapshot.pages)
                    #expect(changes == logged, "\(comment)")
                }
            }
            // What was touched after every commit, everything after some and at the end.
            try model.checkTouched(snapshot, since: before, comment)
            if round % 8 == 5 { try model.check(snapshot, comment) }
            // The header follows when a group is flushed.
            if round % 4 == 1, group == nil {
                let report = try snapshot.verify()
                #expect(report.isSound, "\(report.text); \(comment)")
            }
            if let ending = group, round == 23 || random.chance(40) {
                group = nil
                if random.chance(30), snapshot.version > ending.base.version {
                    faults.failCommit(1)
                    #expect(throws: DatabaseError.self) { try ending.pages.flush() }
                    snapshot = ending.base
                    model = ending.model
                } else {
                    try ending.pages.flush()
                    try database.settle(snapshot, ending.pages)
                }
                ending.pages.release()
                try model.check(snapshot, comment)
            }
            if round % 8 == 1, group == nil {
                _ = try database.advance(follower)
                try model.check(follower, comment)
            }
        }
        try model.check(try database.snapshot(), comment)
        try emptyIsEmpty(database, snapshot, model, comment)
        return operations
    }

    /// Nothing is left of objects that are gone, apart from what tables are.
    private func emptyIsEmpty(
        _ database: Database, _ snapshot: Snapshot, _ model: EverythingModel, _ comment: String
    ) throws {
        let write = try database.beginWrite(on: snapshot)
        for link in model.keys(model.thingTable) { try write.delete(link.table, link.key) }
        try write.commit()
        for table in [model.thingTable, model.partTable] {
            #expect(try snapshot.table(table).liveCount == 0, "\(comment)")
        }
        for space in [KeySpace.longLists, KeySpace.longValues] {
            let cursor = try snapshot.pages.makeCursor()
            var found = try cursor.seek([space])
            while found, cursor.key.first == space {
                Issue.record("a page outlives its object: \([UInt8](cursor.key)); \(comment)")
                found = try cursor.next()
            }
        }
        for table in snapshot.catalog.tables {
            for column in table.columns {
                for index in column.indexes {
                    let view = try snapshot.indexView(index)
                    #expect(try view.count(0 ... UInt64.max) == 0, "\(column.name); \(comment)")
                }
            }
        }
    }
}
