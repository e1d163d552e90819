// Fail, then go on: at the n-th read, at the growth of a spill file and in the commit, of every kind of call of a
// write; then the write is cancelled, or the call is made again, or the rest is committed. Everything else is as it
// was, by every path that reads.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct FailedReadTests {
    private enum Call: String, CaseIterable, CustomStringConvertible {
        case step, one, many, value, list, set, map, delete, several, deleteAll, refill, rollBack, commit

        var description: String { rawValue }
    }

    private struct Store {
        let database: Database
        let faults = FaultInjection(countsReads: true)
        let longest: Int

        init(rowGroupSize: Int, longest: Int) throws {
            var options = PageStoreOptions(location: .memory(identifier: nil))
            options.rowGroupSize = rowGroupSize
            options.faults = faults
            database = try Database.open(options)
            self.longest = longest
        }

        func beginWrite(on snapshot: Snapshot) throws -> WriteTransaction {
            let write = try database.beginWrite(on: snapshot)
            write.listShape = LongListTests.small
            write.manyObjects = 3
            write.longValues.limit = longest
            return write
        }
    }

    /// What has really happened.
    private struct Counts {
        /// Of each kind of call, calls whose read failed.
        var failures: [Call: Int] = [:]
        /// Commits after a failure, and those that were refused, or that cost the write a savepoint.
        var commits = 0
        var refusals = 0
        var wentBack = 0
        var again = 0
        /// Calls that did what they should although a read failed.
        var unharmed = 0
    }

    @Test(arguments: [3, 480], [LongValues.standardLimit, 4])
    func nothingElseHasChanged(rowGroupSize: Int, longest: Int) throws {
        var counts = Counts()
        try PropertyTest.run(rounds: 1) { random, comment in
            let store = try Store(rowGroupSize: rowGroupSize, longest: longest)
            let snapshot = try store.database.snapshot()
            _ = try store.database.reconcile(try SchemaText.parse(EverythingModel.text), on: snapshot)
            var model = try EverythingModel(snapshot.schema)
            for call in Call.allCases {
                let comment = "\(call), \(comment)"
                var rounds = 0
                // Some calls find that there is nothing to do, or all they need in memory.
                while rounds < 2 || counts.failures[call, default: 0] < 3, rounds < 60 {
                    rounds += 1
                    // The calls before may have left little that could be read.
                    try fill(store, &model, &random)
                    let choices = SeededRandom(seed: random.next())
                    // One read after the other, and then one here and there.
                    var number = 1
                    while try failing(call, number, store, &model, choices, &random, comment, &counts) {
                        number += 1 + number / 2
                    }
                }
                try check(store, model, comment)
                let report = try store.database.snapshot().verify()
                #expect(report.isSound, "\(report.text); \(comment)")
            }
        }
        print("note: row groups of \(rowGroupSize), values of more than \(longest) bytes apart: \(counts)")
        for call in Call.allCases { #expect(counts.failures[call, default: 0] > 2, "\(call): \(counts)") }
        #expect(counts.commits > 10 && counts.refusals > 5, "\(counts)")
        #expect(counts.wentBack > 5 && counts.again > 10, "\(counts)")
    }

    private func fill(_ store: Store, _ model: inout EverythingModel, _ random: inout SeededRandom) throws {
        let write = try store.beginWrite(on: try store.database.snapshot())
        if model.keys(model.thingTable).count < 12 { try model.createTogether(write, 8, &random) }
        try model.steps(write, below: 40, &random)
        try write.commit()
    }

    private func check(_ store: Store, _ model: EverythingModel, _ comment: String) throws {
        let snapshot = try store.database.snapshot()
        try model.check(snapshot, comment)
        try WholeRead.check(snapshot, comment)
    }

    /// False where the call makes fewer reads.
    private func failing(
        _ call: Call, _ number: Int, _ store: Store, _ model: inout EverythingModel, _ choices: SeededRandom,
        _ random: inout SeededRandom, _ comment: String, _ counts: inout Counts
    ) throws -> Bool {
        // Knows nothing yet, so that everything has to be read.
        let snapshot = try store.database.snapshot()
        let write = try store.beginWrite(on: snapshot)
        var choices = choices
        var attempt = model
        attempt.touched = []
        var candidates = Array(model.rows.keys.sorted().shuffled(using: &choices).prefix(12))
        let comment = "read \(number) of \(comment)"
        for _ in 0 ..< choices.below(4) { try attempt.step(write, &choices, &candidates) }
        let savepoint = random.chance(30) && call != .rollBack ? try write.savepoint() : nil
        let before = attempt
        let again = choices
        store.faults.failRead(number)
        let error = try run(call, write, &attempt, &choices, candidates, store)
        let isReached = !store.faults.isReadToFail
        store.faults.failRead(0)
        guard isReached else {
            #expect(error == nil, "\(comment)")
            // A commit that makes fewer reads has been made.
            if write.isOpen { write.cancel() } else { model = attempt }
            return false
        }
        counts.failures[call, default: 0] += 1
        if error == nil { counts.unharmed += 1 }
        if let savepoint, call != .commit {
            counts.wentBack += 1
            _ = try write.rollBack(to: savepoint)
            attempt = before
        }
        let isWhole = write.undo.incompleteness == nil && write.undo.failure == nil
        #expect(savepoint == nil || call == .commit || isWhole, "\(String(describing: error)); \(comment)")
        guard write.isOpen else {
            // The commit did not need what it could not read.
            model = attempt
            return true
        }
        guard isWhole else {
            #expect(throws: DatabaseError.self, "\(comment)") { try write.commit() }
            counts.refusals += 1
            write.cancel()
            if random.chance(10) { try check(store, model, comment) }
            return true
        }
        if random.chance(15) {
            try attempt.check(write, comment)
            try WholeRead.check(write, comment)
        }
        switch random.below(3) {
        case 0: write.cancel()
        case 1:
            counts.again += 1
            choices = again
            let second = try run(call, write, &attempt, &choices, candidates, store)
            #expect(second == nil, "\(comment)")
            fallthrough
        default:
            if write.isOpen { try write.commit() }
            counts.commits += 1
            model = attempt
        }
        if random.chance(10) { try check(store, model, comment) }
        return true
    }

    /// The error of the call. What has been done of several calls by then is in the model.
    private func run(
        _ call: Call, _ write: WriteTransaction, _ model: inout EverythingModel, _ choices: inout SeededRandom,
        _ candidates: [ObjectLink], _ store: Store
    ) throws -> DatabaseError? {
        var candidates = candidates
        do {
            switch call {
            case .step: try model.step(write, &choices, &candidates)
            case .one: try model.createTogether(write, 1, &choices)
            case .many: try model.createTogether(write, choices.below(3) == 0 ? 70 : 4, &choices)
            case .value, .list, .set, .map:
                guard !model.keys(model.thingTable).isEmpty else { return nil }
                let row = choices.pick(model.keys(model.thingTable))
                let kinds: [Call: CollectionKind] = [.value: .none, .list: .list, .set: .set, .map: .map]
                let properties = model.things.properties.filter { $0.collection == kinds[call] && !$0.isPrimaryKey }
                try model.edit(row, choices.pick(properties), write, &choices, &candidates)
            case .delete, .several:
                guard !model.keys(model.thingTable).isEmpty else { return nil }
                if call == .several {
                    try model.deleteSeveral(write, &choices)
                } else {
                    try model.delete(write, choices.pick(model.keys(model.thingTable)))
                }
            case .deleteAll: try model.deleteAll(write)
            case .refill:
                try model.deleteAll(write)
                try model.createTogether(write, choices.below(2) == 0 ? 70 : 3, &choices)
            case .rollBack:
                let before = model
                let savepoint = try write.savepoint()
                for _ in 0 ..< 5 { try model.step(write, &choices, &candidates) }
                _ = try write.rollBack(to: savepoint)
                model = before
            case .commit: try write.commit()
            }
            return nil
        } catch let error as DatabaseError {
            return error
        }
    }

    /// Whoever reads again gets what is there: nothing remembers that it could not be read, or half of it.
    @Test(arguments: [3, 480], [LongValues.standardLimit, 4])
    func whatCouldNotBeReadIsReadTheNextTime(rowGroupSize: Int, longest: Int) throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let store = try Store(rowGroupSize: rowGroupSize, longest: longest)
            let snapshot = try store.database.snapshot()
            _ = try store.database.reconcile(try SchemaText.parse(EverythingModel.text), on: snapshot)
            var model = try EverythingModel(snapshot.schema)
            for _ in 0 ..< 5 { try fill(store, &model, &random) }
            let expected = try WholeRead.check(try store.database.snapshot(), comment)
            var number = 1, failures = 0
            while true {
                let comment = "read \(number), \(comment)"
                let reader = try store.database.snapshot()
                store.faults.failRead(number)
                let shown = try? WholeRead.check(reader, comment)
                guard !store.faults.isReadToFail else {
                    store.faults.failRead(0)
                    #expect(shown == expected, "\(comment)")
                    break
                }
                #expect(shown == nil, "\(comment)")
                #expect(try WholeRead.check(reader, comment) == expected, "\(comment)")
                try model.check(reader, comment)
                failures += 1
                number += 1 + number / 4
            }
            #expect(failures > 5, "\(comment)")
        }
    }

    /// A snapshot that could not be moved shows what it showed, and moves the next time: half of it at another version
    /// would be written over the rest. So many versions are not read from their records.
    @Test func aSnapshotMovesAsAWholeOrNotAtAll() throws {
        let store = try Store(rowGroupSize: 3, longest: LongValues.standardLimit)
        let snapshot = try store.database.snapshot()
        let classes = (0 ..< 60).map { "C\($0) { id: int key, n: int indexed }" }
        _ = try store.database.reconcile(try SchemaText.parse(classes.joined(separator: " ")), on: snapshot)
        let tables = snapshot.catalog.tables.map(\.key)
        var next: Int64 = 0
        func write(_ count: Int) throws {
            for _ in 0 ..< count {
                let write = try store.beginWrite(on: try store.database.snapshot())
                for table in [tables[0], tables[30], tables[59]] {
                    _ = try Value.int(next).withView { id throws(DatabaseError) in
                        try write.create(table, primaryKey: id)
                    }
                }
                next += 1
                try write.commit()
            }
        }
        try write(3)
        var failures = 0
        // Some of the reads where tests are to be short, other ones each time.
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        for commits in [1, 70] {
            var number = 1
            while true {
                let moving = try store.database.snapshot()
                let before = try WholeRead.check(moving, "before")
                try write(commits)
                store.faults.failRead(number)
                let moved = try? store.database.advance(moving)
                let isReached = !store.faults.isReadToFail
                store.faults.failRead(0)
                guard isReached else {
                    #expect(moved == true)
                    break
                }
                #expect(moved == nil)
                #expect(try WholeRead.check(moving, "read \(number)") == before)
                #expect(try store.database.advance(moving))
                let now = try WholeRead.check(try store.database.snapshot(), "now")
                #expect(try WholeRead.check(moving, "read \(number)") == now)
                let write = try store.beginWrite(on: moving)
                try Value.int(next).withView { id throws(DatabaseError) in
                    for table in tables { _ = try write.create(table, primaryKey: id) }
                }
                next += 1
                try write.commit()
                failures += 1
                number += TestScale.factor < 1 ? 1 + random.below(7) : 1
            }
        }
        #expect(failures > (TestScale.factor < 1 ? 2 : 10))
        #expect(try store.database.snapshot().verify().isSound)
    }

    /// Where the disk has no room for what a write keeps apart, each call is done or not.
    @Test func spillFilesThatCannotGrow() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let store = try Store(rowGroupSize: 3, longest: 4)
            let snapshot = try store.database.snapshot()
            _ = try store.database.reconcile(try SchemaText.parse(EverythingModel.text), on: snapshot)
            var model = try EverythingModel(snapshot.schema)
            var failures = 0
            for _ in 0 ..< 12 {
                let write = try store.beginWrite(on: snapshot)
                var candidates = Array(model.rows.keys.sorted().shuffled(using: &random).prefix(12))
                for _ in 0 ..< 40 {
                    if random.chance(40) { store.faults.failGrowth(1) }
                    do { try model.step(write, &random, &candidates) } catch let error as DatabaseError {
                        #expect(error.code == .diskFull, "\(error); \(comment)")
                        failures += 1
                        #expect(write.undo.incompleteness == nil, "\(comment)")
                    }
                    store.faults.failGrowth(0)
                }
                try model.check(write, comment)
                try write.commit()
                try check(store, model, comment)
            }
            #expect(failures > 5)
        }
    }

    /// What loses a link by it gets no longer, and is no reason to leave the deletion half done.
    @Test func aDeletionAsksForNoRoom() throws {
        let store = try Store(rowGroupSize: 3, longest: 4)
        let snapshot = try store.database.snapshot()
        _ = try store.database.reconcile(try SchemaText.parse("Row { any: mixed }"), on: snapshot)
        let type = try snapshot.schema.type(named: "Row")
        let table = try #require(type.tableKey), column = try #require(type.property(named: "any")?.columnKey)
        let filling = try store.beginWrite(on: snapshot)
        let holder = try filling.create(table, primaryKey: nil), target = try filling.create(table, primaryKey: nil)
        let link = ObjectLink(table: table, key: target)
        let long = Value.list([.link(link), .string("longer than what lies in a chunk")])
        try long.withView { value throws(DatabaseError) in try filling.set(table, column, holder, to: value) }
        try filling.commit()
        let write = try store.beginWrite(on: snapshot)
        store.faults.failGrowth(1)
        try write.delete(table, target)
        store.faults.failGrowth(0)
        #expect(write.undo.incompleteness == nil)
        try write.commit()
        let value = try snapshot.table(table).value(column, holder).owned
        #expect(value == .list([.null, .string("longer than what lies in a chunk")]))
        #expect(try snapshot.verify().isSound)
    }

    /// Adding an index, adding and removing properties: all of it or nothing.
    @Test func schemaChangesThatCannotBeFinished() throws {
        let first = "Row { id: int key, name: string, old: int, kinds: list<string> } Other { rows: list<Row> }"
        let second = """
            Row {
                id: int key, name: string indexed, new: double, kinds: list<string>, indexed(name, new),
                unique(id, name)
            }
            Other { rows: list<Row> }
            """
        var number = 1, failures = 0
        while true {
            let faults = FaultInjection(countsReads: true)
            var options = PageStoreOptions(location: .memory(identifier: nil))
            options.rowGroupSize = 3
            options.faults = faults
            let database = try Database.open(options)
            let filled = try database.snapshot()
            _ = try database.reconcile(SchemaRequest(try SchemaText.parse(first), version: 1), on: filled)
            let write = try database.beginWrite(on: filled)
            let type = try filled.schema.type(named: "Row")
            let table = try #require(type.tableKey), name = try #require(type.property(named: "name")?.columnKey)
            for id in 0 ..< 20 {
                let key = try Value.int(Int64(id)).withView { id throws(DatabaseError) in
                    try write.create(table, primaryKey: id)
                }
                try Value.string("name \(id % 7)").withView { value throws(DatabaseError) in
                    try write.set(table, name, key, to: value)
                }
            }
            try write.commit()
            let before = try WholeRead.check(try database.snapshot(), "before")
            let snapshot = try database.snapshot()
            faults.failRead(number)
            var request = SchemaRequest(try SchemaText.parse(second), version: 2)
            request.step = { (migration) throws(DatabaseError) in
                for key in 0 ..< Int64(10) {
                    try Value.string("changed").withView { value throws(DatabaseError) in
                        try migration.write.set(table, name, ObjectKey(key), to: value)
                    }
                }
            }
            let isDone = (try? database.reconcile(request, on: snapshot)) != nil
            let isReached = !faults.isReadToFail
            faults.failRead(0)
            guard isReached else { break }
            if !isDone {
                failures += 1
                #expect(try WholeRead.check(try database.snapshot(), "read \(number)") == before)
                #expect(try database.snapshot().verify().isSound)
                _ = try database.reconcile(request, on: try database.snapshot())
            }
            let after = try database.snapshot()
            try WholeRead.check(after, "read \(number)")
            let report = try after.verify()
            #expect(report.isSound, "\(report.text)")
            number += 1 + number / 8
        }
        #expect(failures > 10)
    }
}
