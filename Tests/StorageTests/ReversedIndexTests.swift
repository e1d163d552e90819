// A kind of index of this target's own (`ReversedIndexKind`): made through the schema, kept in writes with savepoints
// and after cancelled ones, read within them, verified, built again, counted, and refused where it is not known.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ReversedIndexTests {
    init() { IndexKinds.register(ReversedIndexKind()) }

    private static let properties = [
        Property(name: "name", type: .string, isNullable: true), Property(name: "age", type: .int, isIndexed: true),
        Property(name: "words", type: .string, collection: .list),
        Property(name: "friends", type: .link, collection: .list, target: "Person"),
    ]
    private static let indexes = [["name"], ["name", "age"], ["words"]].map {
        IndexDeclaration(kind: "reversed", properties: $0)
    }

    private static func schema(
        _ properties: [Property] = properties, _ indexes: [IndexDeclaration] = indexes
    ) -> Schema {
        Schema([ObjectType(name: "Person", properties: properties, indexes: indexes)])
    }

    private static func open(_ schema: Schema?, rowGroupSize: Int = 3) throws -> (Database, Snapshot) {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = rowGroupSize
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        if let schema { _ = try database.reconcile(schema, on: snapshot) }
        return (database, snapshot)
    }

    /// One class and what its indexes hold, computed from the rows.
    private struct Rows {
        let table: TableKey
        let columns: [ColumnKey]

        init(_ source: RowSource) throws {
            let type = try source.schema.type(named: "Person")
            table = try #require(type.tableKey)
            columns = try ["name", "age", "words", "friends"].map { name in
                try #require(type.property(named: name)?.columnKey)
            }
        }

        var name: ColumnKey { columns[0] }
        var age: ColumnKey { columns[1] }
        var words: ColumnKey { columns[2] }

        func keys(_ source: RowSource) throws -> [Int64] {
            let view = try source.table(table)
            return try (0 ..< view.nextKey).filter { try view.locate(ObjectKey($0)) != nil }
        }

        func insert(_ write: WriteTransaction, _ rows: [(name: String?, age: Int64)]) throws -> ObjectKey {
            let texts = rows.map { row in row.name.map { Value.string($0) } ?? .null }
            return try withViews(texts) { names in
                var cells: [ValueView] = []
                for (name, row) in zip(names, rows) { cells += [name, .int(row.age)] }
                return try cells.withUnsafeBufferPointer {
                    try write.insertBatch(
                        table, columns: [name, age], rows: $0.baseAddress, rowCount: rows.count)
                }
            }
        }

        private func withViews<Answer>(
            _ values: [Value], _ views: [ValueView] = [], _ body: ([ValueView]) throws -> Answer
        ) throws -> Answer {
            guard views.count < values.count else { return try body(views) }
            var answer: Result<Answer, any Error>?
            values[views.count].withView { view in
                answer = Result { try withViews(values, views + [view], body) }
            }
            return try #require(answer).get()
        }

        func set(_ write: WriteTransaction, _ column: ColumnKey, _ key: Int64, _ value: Value) throws {
            try value.withView { view throws(DatabaseError) in
                try write.set(table, column, ObjectKey(key), to: view)
            }
        }

        func insertWord(_ write: WriteTransaction, _ key: Int64, at index: Int, _ word: String) throws {
            try Value.string(word).withView { view throws(DatabaseError) in
                try write.listInsert(table, words, ObjectKey(key), at: index, [view])
            }
        }

        /// Every answer compared with what the rows say.
        func check(_ source: RowSource, _ comment: String) throws {
            let view = try source.table(table)
            var pairs: [(key: Int64, name: Value, age: Value, words: [Value])] = []
            for key in try keys(source) {
                var words: [Value] = []
                for index in 0 ..< (try view.listCount(self.words, ObjectKey(key))) {
                    words.append(try view.listElement(self.words, ObjectKey(key), index).owned)
                }
                pairs.append(
                    (
                        key, try view.value(name, ObjectKey(key)).owned,
                        try view.value(age, ObjectKey(key)).owned, words
                    ))
            }
            let indexes = view.usableDeclaredIndexes
            #expect(indexes.map { $0.columns.map(\.name) } == [["name"], ["name", "age"], ["words"]], "\(comment)")
            guard indexes.count == 3 else { return }
            for (index, count) in zip(indexes, [pairs.count, pairs.count, pairs.reduce(0) { $0 + $1.words.count }]) {
                #expect(try view.entryCount(index) == count, "\(index.text); \(comment)")
            }
            for name in Set(pairs.map(\.name)).union([.string("nobody"), .null]) {
                var keys: [Int64] = []
                try view.keys(indexes[0], .equal([name]), into: &keys)
                #expect(keys == pairs.filter { $0.name == name }.map(\.key), "\(name); \(comment)")
                #expect(try view.estimate(indexes[0], .equal([name]))?.rows == keys.count, "\(comment)")
                keys = []
                let both = IndexQuestion.equal([name, .int(3)])
                try view.keys(indexes[1], both, into: &keys)
                // Of long names the index holds a part.
                if try view.estimate(indexes[1], both)?.isExact == false {
                    keys = try keys.filter { try view.value(age, ObjectKey($0)).owned == .int(3) }
                }
                #expect(keys == pairs.filter { $0.name == name && $0.age == .int(3) }.map(\.key), "\(comment)")
            }
            var ending: [Int64] = []
            try view.keys(indexes[2], .own("suffix", [.string("b")]), into: &ending)
            let expected = pairs.flatMap { pair in
                pair.words.filter { if case .string(let text) = $0 { text.hasSuffix("b") } else { false } }
                    .map { _ in pair.key }
            }
            #expect(ending == expected, "\(comment)")
            var inOrder: [Int64] = []
            try view.keys(indexes[0], .all, order: .descending, limit: 5, into: &inOrder)
            #expect(inOrder.count == min(5, pairs.count), "\(comment)")
        }

        mutating func step(_ write: WriteTransaction, _ random: inout SeededRandom) throws {
            let names = [nil, "", "a", "ab", "bab", "a\u{0}b", String(repeating: "long and ", count: 12)]
            let all = try keys(write)
            let key = all.isEmpty ? nil : random.pick(all)
            switch random.below(12) {
            case 0 ... 2:
                let count = random.chance(20) ? 9 : 1
                _ = try insert(write, (0 ..< count).map { _ in (random.pick(names), Int64(random.below(5))) })
            case 3: _ = try write.create(table, primaryKey: nil)
            case 4 ... 5:
                if let key { try set(write, name, key, random.pick(names).map { .string($0) } ?? .null) }
            case 6: if let key { try set(write, age, key, .int(Int64(random.below(5)))) }
            case 7 ... 8:
                guard let key else { return }
                let count = try write.table(table).listCount(words, ObjectKey(key))
                try insertWord(write, key, at: random.below(count + 1), random.pick(["ab", "b", "ba", ""]))
                if random.chance(30) {
                    let removed = random.below(2)
                    try withViews([.string("b"), .string("bb")]) { both in
                        try write.listSplice(
                            table, words, ObjectKey(key), at: 0, removing: removed, inserting: both)
                    }
                }
            case 9:
                guard let key else { return }
                let count = try write.table(table).listCount(words, ObjectKey(key))
                if random.chance(20) {
                    try write.listClear(table, words, ObjectKey(key))
                } else if count > 1 {
                    try write.listMove(table, words, ObjectKey(key), from: 0, to: count - 1)
                    try write.listRemove(table, words, ObjectKey(key), at: 0)
                }
            case 10: if let key { try write.delete(table, ObjectKey(key)) }
            default: if random.chance(10) { try write.deleteAll(table) }
            }
        }

        mutating func undone(_ write: WriteTransaction, _ random: inout SeededRandom, depth: Int) throws {
            let savepoint = try write.savepoint()
            for _ in 0 ..< random.below(8) {
                try step(write, &random)
                try write.checkInvariants()
            }
            if depth < 2, random.chance(40) { try undone(write, &random, depth: depth + 1) }
            if random.chance(60) {
                _ = try write.rollBack(to: savepoint)
                try write.checkInvariants()
            } else {
                try write.release(savepoint)
            }
        }
    }

    // MARK: Keeping

    @Test(arguments: [3, 480]) func isKeptInWritesWithSavepoints(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 3) { random, comment in
            let (database, snapshot) = try Self.open(Self.schema(), rowGroupSize: rowGroupSize)
            var rows = try Rows(snapshot)
            let follower = try database.snapshot()
            for round in 0 ..< 12 {
                let write = try database.beginWrite(on: snapshot)
                write.listShape = LongListTests.small
                for _ in 0 ..< random.below(4) {
                    for _ in 0 ..< random.below(12) { try rows.step(write, &random) }
                    try rows.undone(write, &random, depth: 0)
                    try write.checkInvariants()
                }
                try rows.check(write, comment)
                if random.chance(20) { write.cancel() } else { try write.commit() }
                try rows.check(snapshot, comment)
                if round % 3 == 1 {
                    // Carries over versions what no change record names.
                    _ = try database.advance(follower)
                    try rows.check(follower, comment)
                }
                if round % 4 == 3 {
                    let report = try snapshot.verify()
                    #expect(report.isSound, "\(report.text); \(comment)")
                }
            }
        }
    }

    @Test func aUniqueOneRefusesBeforeAnythingChanges() throws {
        let index = IndexDeclaration(
            kind: "reversed", properties: ["name", "age"], parameters: ReversedIndexKind.unique)
        let (database, snapshot) = try Self.open(Self.schema(Self.properties, [index]))
        let rows = try Rows(snapshot)
        let write = try database.beginWrite(on: snapshot)
        _ = try rows.insert(write, [("a", 1), ("a", 2), ("b", 1)])
        for batch in [[("c", Int64(1)), ("a", 2)], [("c", 1), ("c", 1)], [("b", 1)]] {
            let error = #expect(throws: DatabaseError.self) { _ = try rows.insert(write, batch) }
            #expect(error?.message.contains("unique reversed index of name, age") == true)
        }
        #expect(throws: DatabaseError.self) { try rows.set(write, rows.age, 0, .int(2)) }
        // What it has already.
        try rows.set(write, rows.age, 0, .int(1))
        try write.commit()
        #expect(try rows.keys(snapshot) == [0, 1, 2])
        #expect(try snapshot.verify().isSound)
    }

    // MARK: The schema

    @Test func aMigrationBuildsDropsAndBuildsAgain() throws {
        let (database, snapshot) = try Self.open(Self.schema(Self.properties, []))
        var rows = try Rows(snapshot)
        let write = try database.beginWrite(on: snapshot)
        _ = try rows.insert(write, (0 ..< 20).map { ("name \($0 % 7)", Int64($0 % 5)) })
        for key in [1, 1, 5] { try rows.insertWord(write, Int64(key), at: 0, "ab") }
        try write.commit()

        // Declared, it is built from the rows; without a new version of the schema nothing takes it away.
        #expect(try database.reconcile(Self.schema(), on: snapshot))
        try rows.check(snapshot, "built")
        #expect(try !database.reconcile(Self.schema(Self.properties, []), on: snapshot))
        try rows.check(snapshot, "kept")

        // Another type of one column takes the indexes along that it is in, and makes them again.
        var changed = Self.properties
        changed[0].type = .int
        changed[0].isNullable = false
        _ = try database.reconcile(Self.schema(changed), schemaVersion: 1, on: snapshot)
        rows = try Rows(snapshot)
        let view = try snapshot.table(rows.table)
        // What had to be made again comes last.
        #expect(try view.usableDeclaredIndexes.map { try view.entryCount($0) } == [3, 20, 20])
        #expect(try snapshot.verify().isSound)

        let plan = try snapshot.plan(SchemaRequest(Self.schema(changed, []), version: 2))
        #expect(plan.lines.contains("Person loses the reversed index of name, age"), "\(plan.text)")
        _ = try database.reconcile(Self.schema(changed, []), schemaVersion: 2, on: snapshot)
        #expect(try snapshot.table(rows.table).usableDeclaredIndexes.isEmpty)
        #expect(try database.strayPages() == [])
        #expect(try snapshot.verify().isSound)
    }

    @Test func whatTheKindOrItsNameDoesNotAllowIsRefused() throws {
        let wrong = [
            IndexDeclaration(kind: "nameless", properties: ["name"]),
            IndexDeclaration(kind: "values", properties: ["name"]),
            IndexDeclaration(kind: "reversed", properties: []),
            IndexDeclaration(kind: "reversed", properties: ["nothing"]),
            IndexDeclaration(kind: "reversed", properties: ["name", "name"]),
            IndexDeclaration(kind: "reversed", properties: ["friends"]),
            IndexDeclaration(kind: "reversed", properties: ["words", "age"]),
            IndexDeclaration(kind: "reversed", properties: ["name"], parameters: [7]),
        ]
        for index in wrong {
            let (database, snapshot) = try Self.open(nil)
            #expect(throws: DatabaseError.self, "\(index.text)") {
                _ = try database.reconcile(Self.schema(Self.properties, [index]), on: snapshot)
            }
            #expect(snapshot.catalog.tables.isEmpty)
        }
    }

    /// A file from a release that has a kind more.
    @Test func aFileWithAnUnknownKindIsReadAndNotWritten() throws {
        let (database, snapshot) = try Self.open(Self.schema())
        var rows = try Rows(snapshot)
        let write = try database.beginWrite(on: snapshot)
        _ = try rows.insert(write, [("a", 1), ("b", 2)])
        try write.commit()
        let known = snapshot.catalog
        var table = known.tables[0]
        table.indexes = table.indexes.map {
            StoredIndex(key: $0.key, kind: "later", columns: $0.columns, parameters: [1, 2, 3])
        }
        try Self.put(
            database, PageKeys.catalog,
            Catalog(
                schemaVersion: 0, changedIn: try database.latestVersion().rawValue + 1,
                nextTableKey: known.nextTableKey, nextIndexKey: known.nextIndexKey, tables: [table]
            ).encoded())

        let later = try database.snapshot()
        #expect(try rows.keys(later) == [0, 1])
        #expect(try later.table(rows.table).usableDeclaredIndexes.isEmpty)
        // Kept as it is.
        #expect(later.schema.objectTypes[0].indexes.map(\.kind) == ["later", "later", "later"])
        #expect(later.schema.objectTypes[0].indexes[0].parameters == [1, 2, 3])
        let report = try later.verify()
        #expect(report.isSound && report.notes.count == 3, "\(report.text)")
        let error = #expect(throws: DatabaseError.self) { _ = try database.beginWrite(on: later) }
        #expect(error?.code == .unsupportedFormat)
        #expect(throws: DatabaseError.self) {
            _ = try database.reconcile(Schema([later.schema.objectTypes[0]]), schemaVersion: 3, on: later)
        }
        // The way out that the message names.
        _ = try database.reconcile(Self.schema(), schemaVersion: 3, on: later)
        rows = try Rows(later)
        try rows.check(later, "dropped and built again")
        #expect(try later.verify().isSound)
        #expect(try database.strayPages() == [])
    }

    private static func put(_ database: Database, _ key: [UInt8], _ value: [UInt8]?) throws {
        var batch = PageBatch()
        if let value { batch.put(key, value) } else { batch.delete(key) }
        let version = Version(try database.latestVersion().rawValue + 1)
        try HistoryLog.append(ChangeRecorder(), version: version, over: try database.pages.snapshot(), into: &batch)
        let lock = try database.pages.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        try database.pages.commit(batch, lock: lock, version: version)
    }

    // MARK: Maintenance

    @Test func damageIsFoundAndBuiltAgain() throws {
        let (database, snapshot) = try Self.open(Self.schema())
        let rows = try Rows(snapshot)
        var write = try database.beginWrite(on: snapshot)
        _ = try rows.insert(write, (0 ..< 9).map { ("name \($0)", Int64($0)) })
        try write.commit()
        let indexes = try snapshot.table(rows.table).usableDeclaredIndexes
        let prefix = IndexSpace.everything(of: indexes[0].key)[0]
        let cursor = try snapshot.pages.makeCursor()
        #expect(try cursor.seek(prefix))
        try Self.put(database, [UInt8](cursor.key), nil)
        try Self.put(database, prefix + [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1])
        _ = try database.advance(snapshot)
        let report = try database.snapshot().verify()
        #expect(
            report.problems.contains {
                $0.hasPrefix("the reversed index of name of Person lacks 1 entries and has 1 that belong to nothing")
            }, "\(report.text)")

        // An entry that cannot even be read does not keep it from being built again, nor do other kinds go another way.
        try Self.put(database, prefix + [0], [9])
        _ = try database.advance(snapshot)
        write = try database.beginWrite(on: snapshot)
        for index in try write.table(rows.table).usableIndexes { try write.rebuildIndex(index.key) }
        try rows.check(write, "in the write")
        try write.commit()
        try rows.check(snapshot, "built again")
        let after = try database.snapshot().verify()
        #expect(after.isSound, "\(after.text)")
        #expect(try database.strayPages() == [])
    }

    /// Salvage reads rows and no index; in the file they are put into the schema's indexes are built.
    @Test func salvagedRowsAreInTheirIndexesAgain() throws {
        let (database, snapshot) = try Self.open(Self.schema())
        let rows = try Rows(snapshot)
        let write = try database.beginWrite(on: snapshot)
        _ = try rows.insert(write, [("a", 1), ("bab", 3), ("ab", 3)])
        try write.commit()
        for index in try snapshot.table(rows.table).usableDeclaredIndexes {
            try Self.put(database, IndexSpace.everything(of: index.key)[0] + [0], [9])
        }
        var found: [(String?, Int64)] = []
        let report = try DamagedFile(database).salvage { object in
            var row: (String?, Int64) = (nil, 0)
            for (name, content) in object.properties {
                if name == "name", case .value(.string(let text)) = content { row.0 = text }
                if name == "age", case .value(.int(let age)) = content { row.1 = age }
            }
            found.append(row)
        }
        #expect(report.losses.isEmpty && found.count == 3)
        let (other, copy) = try Self.open(Schema(snapshot.schema.objectTypes))
        let copied = try Rows(copy)
        let filling = try other.beginWrite(on: copy)
        _ = try copied.insert(filling, found)
        try filling.commit()
        try copied.check(copy, "salvaged")
    }

    @Test func statisticsNameItsBytes() throws {
        let (database, snapshot) = try Self.open(Self.schema())
        let rows = try Rows(snapshot)
        let write = try database.beginWrite(on: snapshot)
        _ = try rows.insert(write, (0 ..< 9).map { ("name \($0)", Int64($0)) })
        try write.commit()
        let space = try #require(try database.spaceStatistics().classes.first)
        #expect(space.indexes.map(\.kind) == ["values", "links", "reversed", "reversed", "reversed"])
        #expect(space.indexes.map(\.properties) == [["age"], ["friends"], ["name"], ["name", "age"], ["words"]])
        #expect(space.indexes.map(\.pages) == [1, 0, 9, 9, 0])
        #expect(space.indexes.reduce(0) { $0 + $1.bytes } == space.indexBytes && space.indexBytes > 300)
    }
}
