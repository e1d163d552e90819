// Writes that go on with what the write before has left make the very pages that writes make which read the file: after
// commits, cancelled and failed writes, groups that are flushed or lost, writes of other sessions, of other tables and
// of other schemas, and with compaction in between.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct KeptBuildersTests {
    /// A store and its model; `takesOver`: writes begin on snapshots that have been written on before.
    private final class Side<Model> {
        let takesOver: Bool
        let faults = FaultInjection()
        let path: String
        private(set) var database: Database
        /// Of several sessions.
        var snapshots: [Snapshot] = []
        var model: Model

        init(
            _ folder: TemporaryDirectory, _ rowGroupSize: Int, _ schema: Schema,
            takesOver: Bool, _ makeModel: (Schema) throws -> Model
        ) throws {
            self.takesOver = takesOver
            path = folder.file(takesOver ? "left.motte" : "right.motte")
            database = try Self.open(path, rowGroupSize, faults)
            let snapshot = try database.snapshot()
            _ = try database.reconcile(schema, on: snapshot)
            model = try makeModel(snapshot.schema)
            snapshots = try (0 ..< 3).map { _ in try database.snapshot() }
        }

        static func open(
            _ path: String, _ rowGroupSize: Int, _ faults: FaultInjection
        ) throws -> Database {
            var options = PageStoreOptions(path: path)
            options.rowGroupSize = rowGroupSize
            // A flush proves nothing here.
            options.durability = .none
            options.faults = faults
            return try Database.open(options)
        }

        func session(_ number: Int) throws -> Snapshot {
            takesOver ? snapshots[number] : try database.snapshot()
        }
    }

    @Test(arguments: [3, 480])
    func pagesOfPlainRowsAreThoseOfWritesThatRead(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 4) { random, comment in
            try run(
                rowGroupSize, StoreModelTests.schema, { _ in StoreModel() }, &random, comment, stepsOfOne: 6
            ) { model, write, random in try model.step(write, &random) }
        }
    }

    @Test(arguments: [3, 480], [LongValues.standardLimit, 60])
    func pagesOfEverythingAreThoseOfWritesThatRead(rowGroupSize: Int, longest: Int) throws {
        let schema = try SchemaText.parse(EverythingModel.text)
        try PropertyTest.run(rounds: 3) { random, comment in
            try run(
                rowGroupSize, schema, { try EverythingModel($0) }, &random, comment, stepsOfOne: 30
            ) { model, write, random in
                write.listShape = LongListTests.small
                write.longValues.limit = longest
                var candidates = Array(model.rows.keys.sorted().prefix(6))
                try model.step(write, &random, &candidates)
            }
        }
    }

    private func run<Model>(
        _ rowGroupSize: Int, _ schema: Schema,
        _ makeModel: (Schema) throws -> Model, _ random: inout SeededRandom, _ comment: String, stepsOfOne: Int,
        _ step: (inout Model, WriteTransaction, inout SeededRandom) throws -> Void
    ) throws {
        let folder = TemporaryDirectory()
        let sides = try [true, false].map {
            try Side(folder, rowGroupSize, schema, takesOver: $0, makeModel)
        }
        for _ in 0 ..< 40 {
            // The same for both.
            let seed = random.next(), session = random.chance(70) ? 0 : random.below(3), roll = random.below(10)
            let members = roll == 9 ? 1 + random.below(4) : 0
            for side in sides {
                var random = SeededRandom(seed: seed)
                let snapshot = try side.session(session)
                if members > 0 {
                    try group(of: members, side, snapshot, session, &random, stepsOfOne, step)
                    continue
                }
                let write = try side.database.beginWrite(on: snapshot)
                let before = side.model
                // Most writes of programs are small.
                for _ in 0 ... random.below(roll < 4 ? 2 : stepsOfOne) { try step(&side.model, write, &random) }
                if roll == 8 {
                    write.cancel()
                    side.model = before
                    continue
                }
                if roll == 7, write.hasChanges {
                    side.faults.failCommit(1)
                    #expect(throws: DatabaseError.self) { try write.commit() }
                    try step(&side.model, write, &random)
                }
                try write.commit()
            }
            try expectSamePages(sides.map(\.database), comment)
        }
        for side in sides { #expect(try side.database.snapshot().verify().problems == [], "\(comment)") }
    }

    private func group<Model>(
        of members: Int, _ side: Side<Model>, _ first: Snapshot, _ session: Int, _ random: inout SeededRandom,
        _ stepsOfOne: Int, _ step: (inout Model, WriteTransaction, inout SeededRandom) throws -> Void
    ) throws {
        let pages = try side.database.beginGroup(on: first)
        defer { pages.release() }
        let base = first.copy(), model = side.model
        var snapshot = first
        for _ in 0 ..< members {
            if !side.takesOver { snapshot = snapshot.copy() }
            let write = side.database.beginWrite(on: snapshot, in: pages)
            for _ in 0 ... random.below(3) { try step(&side.model, write, &random) }
            try write.commit()
        }
        if random.chance(30), snapshot.version > base.version {
            side.faults.failCommit(1)
            #expect(throws: DatabaseError.self) { try pages.flush() }
            // What sessions do: the version that is in the file, as it was shown before.
            side.snapshots[session] = base
            side.model = model
        } else {
            try pages.flush()
            try side.database.settle(snapshot, pages)
        }
    }

    /// Apart from what has the time or an identity in it.
    private func expectSamePages(_ databases: [Database], _ comment: String) throws {
        let pages = try databases.map { database in
            let cursor = try database.snapshot().pages.makeCursor()
            var pages: [[UInt8]: [UInt8]] = [:]
            var found = try cursor.seek([PageKeys.catalog[0]])
            while found, let space = cursor.key.first, space < KeySpace.changeLog {
                pages[[UInt8](cursor.key)] = [UInt8](cursor.value.bytes)
                found = try cursor.next()
            }
            return pages
        }
        #expect(Set(pages[0].keys) == Set(pages[1].keys), "\(comment)")
        for (key, value) in pages[0] where pages[1][key] != value {
            Issue.record("the pages with key \(key) differ; \(comment)")
        }
    }

    // MARK: What is taken over, and when it is not

    private struct Store {
        let (database, snapshot): (Database, Snapshot)
        let (table, other): (TableKey, TableKey)
        let columns: [ColumnKey]

        init(_ options: PageStoreOptions = PageStoreOptions(location: .memory(identifier: nil))) throws {
            database = try Database.open(options)
            snapshot = try database.snapshot()
            _ = try database.reconcile(
                try SchemaText.parse("A { id: int key, text: string indexed, numbers: list<int> } B { id: int key }"),
                on: snapshot)
            let type = try snapshot.schema.type(named: "A")
            table = try #require(type.tableKey)
            columns = type.properties.compactMap(\.columnKey)
            other = try #require(try snapshot.schema.type(named: "B").tableKey)
        }

        func insert(_ id: Int64, _ write: WriteTransaction) throws(DatabaseError) {
            try Value.string("text \(id)").withView { text throws(DatabaseError) in
                let row: [ValueView] = [.int(id), text]
                _ = try row.withUnsafeBufferPointer { row throws(DatabaseError) in
                    try write.insertBatch(
                        table, columns: Array(columns.prefix(2)), rows: row.baseAddress, rowCount: 1)
                }
            }
        }

        func insert(_ id: Int64, on snapshot: Snapshot) throws(DatabaseError) {
            let write = try database.beginWrite(on: snapshot)
            try insert(id, write)
            try write.commit()
        }

        /// How many chunks and index blocks' lookups the body takes.
        func readings(_ body: () throws -> Void) rethrows -> UInt64 {
            let before = database.counters.read()
            try body()
            return database.counters.read().chunksDecoded - before.chunksDecoded
        }

        func check(_ ids: [Int64]) throws {
            let shown = try database.snapshot()
            #expect(try shown.verify().problems == [])
            let view = try shown.table(table)
            #expect(view.liveCount == ids.count)
            for id in ids {
                let key = try #require(try view.find(primaryKey: .int(id)))
                #expect(try view.value(columns[1], key).owned == .string("text \(id)"))
            }
        }
    }

    @Test func nothingIsDecodedBetweenSmallCommitsOfOneSession() throws {
        let store = try Store()
        try store.insert(0, on: store.snapshot)
        #expect(try store.readings { for id in 1 ..< 10 { try store.insert(Int64(id), on: store.snapshot) } } == 0)
        try store.check(Array(0 ..< 10))
    }

    @Test func aWriteOnAnotherTableKeepsTheOpenGroup() throws {
        let store = try Store()
        try store.insert(0, on: store.snapshot)
        let write = try store.database.beginWrite(on: store.snapshot)
        _ = try write.create(store.other, primaryKey: .int(1))
        try write.commit()
        #expect(try store.readings { try store.insert(1, on: store.snapshot) } == 0)
        try store.check([0, 1])
    }

    @Test func anotherSessionsCommitIsReadAndNotPassedOver() throws {
        let store = try Store()
        let other = try store.database.snapshot()
        for id in 0 ..< 6 {
            try store.insert(Int64(2 * id), on: store.snapshot)
            #expect(try store.readings { try store.insert(Int64(2 * id + 1), on: other) } > 0 || id == 0)
        }
        // The same number, in a row that the first session has not seen.
        try store.insert(20, on: other)
        #expect(throws: DatabaseError.self) { try store.insert(20, on: store.snapshot) }
        try store.check(Array(0 ..< 12) + [20])
    }

    @Test func whatWasCancelledIsNotLeft() throws {
        let store = try Store()
        try store.insert(0, on: store.snapshot)
        let write = try store.database.beginWrite(on: store.snapshot)
        try store.insert(7, write)
        try Value.string("gone").withView { text throws(DatabaseError) in
            try write.set(store.table, store.columns[1], ObjectKey(0), to: text)
        }
        write.cancel()
        try store.insert(3, on: store.snapshot)
        try store.insert(7, on: store.snapshot)
        try store.check([0, 3, 7])
    }

    @Test func anotherSchemaBeginsAgain() throws {
        let store = try Store()
        try store.insert(0, on: store.snapshot)
        let wider = try SchemaText.parse(
            "A { id: int key, text: string indexed, numbers: list<int>, more: int } B { id: int key }")
        _ = try store.database.reconcile(wider, on: store.snapshot)
        try store.insert(1, on: store.snapshot)
        try store.insert(2, on: store.snapshot)
        try store.check([0, 1, 2])
    }

    /// A value in a page of its own belongs to the write that made it.
    @Test func openGroupsWithLongValuesAreReadAgain() throws {
        let store = try Store()
        try store.insert(0, on: store.snapshot)
        let long = [UInt8](repeating: 0x61, count: LongValues.standardLimit + 1)
        let write = try store.database.beginWrite(on: store.snapshot)
        try long.withUnsafeBytes { bytes in
            try write.set(store.table, store.columns[1], ObjectKey(0), to: .string(bytes))
        }
        try write.commit()
        #expect(try store.readings { try store.insert(1, on: store.snapshot) } > 0)
        let next = try store.database.beginWrite(on: store.snapshot)
        try long.withUnsafeBytes { bytes in
            try next.set(store.table, store.columns[1], ObjectKey(1), to: .string(bytes))
        }
        try next.commit()
        let shown = try store.database.snapshot()
        #expect(try shown.verify().problems == [])
        for key in 0 ..< 2 {
            let value = try shown.table(store.table).value(store.columns[1], ObjectKey(Int64(key))).owned
            #expect(value == .string(String(decoding: long, as: UTF8.self)))
        }
    }
}
