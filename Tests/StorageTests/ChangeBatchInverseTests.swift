// Batches that lead back: undo and redo on the file itself and on a copy, over random histories; what is refused; and
// what is asked before a commit.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ChangeBatchInverseTests {
    private typealias Store = ChangeBatchTests.Store
    private typealias Objects = [String: [String: String]]

    private static func dump(_ store: Store) throws -> Objects { try ChangeBatchTests.dump(store.snapshot) }

    @Test(arguments: [3, 480]) func randomHistoriesAreUndoneAndRedone(rowGroupSize: Int) throws {
        var turned = 0
        try PropertyTest.run(rounds: 4) { random, comment in
            turned += try history(rowGroupSize, &random, comment)
        }
        #expect(turned >= 5)
        print("note: \(turned) batches turned round, from seed \(PropertyTest.firstSeed)")
    }

    private func history(_ rowGroupSize: Int, _ random: inout SeededRandom, _ comment: String) throws -> Int {
        let origin = try Store(EverythingModel.text, rowGroupSize: rowGroupSize)
        let other = try Store(rowGroupSize: 3)
        try origin.write { try $0.keepChanges(since: Version(1)) }
        try other.apply(try origin.batch(from: Version(0)))
        var model = try EverythingModel(origin.snapshot.schema)
        var states = [try Self.dump(origin)]
        var batches: [ChangeBatch] = []
        for round in 0 ..< 5 {
            let before = origin.snapshot.copy()
            for _ in 0 ... random.below(3) {
                try origin.write { write in
                    write.listShape = LongListTests.small
                    write.manyObjects = 3
                    var candidates = Array(model.rows.keys.sorted().shuffled(using: &random).prefix(12))
                    for _ in 0 ... random.below(90) { try model.step(write, &random, &candidates) }
                }
            }
            let batch = try origin.database.changeBatch(from: before, to: origin.snapshot)
            // Now and then nothing was changed after all.
            guard !batch.isEmpty else { continue }
            let back = try batch.inverse()
            #expect(try ChangeBatch(back.bytes) == back && batch.isReversible && back.isPatch)
            let again = try back.inverse()
            #expect(try again.inverse() == back, "\(comment)")
            batches.append(batch)
            states.append(try Self.dump(origin))
            // A copy goes forth, back, and forth by either.
            #expect(try other.apply(batch) == .applied)
            try expect(other, states[round + 1], "\(comment), forth")
            #expect(try other.apply(back) == .applied, "\(comment)")
            try expect(other, states[round], "\(comment), back")
            #expect(try other.snapshot.replicaPosition(batch.origin)?.version == batch.from)
            #expect(try other.code(applying: back) == .outOfSequence)
            #expect(try other.apply(random.chance(50) ? batch : again) == .applied, "\(comment)")
            try expect(other, states[round + 1], "\(comment), forth again")
        }
        // The origin goes all the way back and forth, three times: what comes again has another key each time.
        for way in 0 ..< 3 {
            for index in batches.indices.reversed() {
                guard !batches[index].isEmpty else { continue }
                #expect(try origin.apply(try batches[index].inverse()) == .applied, "\(comment), undo \(way)")
                try expect(origin, states[index], "\(comment), undo \(index), \(way)")
            }
            for index in batches.indices {
                guard !batches[index].isEmpty else { continue }
                #expect(try origin.apply(try batches[index].inverse().inverse()) == .applied, "\(comment)")
                try expect(origin, states[index + 1], "\(comment), redo \(index), \(way)")
            }
        }
        // To others it is a history like any other.
        #expect(try other.apply(try origin.batch(from: batches[batches.count - 1].to)) == .applied, "\(comment)")
        try expect(other, states[batches.count], comment)
        return batches.count
    }

    /// An object that was replaced by one with its primary key: to and fro, on the file itself and on a copy.
    @Test func whatIsReplacedByItsKeyIsTurnedRound() throws {
        let origin = try Store("Person { id: int key, name: string, friend: link<Person>, friends: list<Person> }")
        try origin.write { try $0.keepChanges(since: Version(0)) }
        let table = try #require(origin.snapshot.schema["Person"]?.tableKey)
        let columns = try ["name", "friend"].map {
            try #require(origin.snapshot.schema["Person"]?.property(named: $0)?.columnKey)
        }
        func make(_ write: WriteTransaction, _ id: Int64, _ name: String) throws -> ObjectKey {
            let key = try write.create(table, primaryKey: .int(id))
            try Value.string(name).withView { try write.set(table, columns[0], key, to: $0) }
            return key
        }
        let keys = try origin.write { write in
            let keys = try (0 ..< 4).map { try make(write, Int64($0), "old \($0)") }
            try write.set(table, columns[1], keys[0], to: .link(ObjectLink(table: table, key: keys[2])))
            return keys
        }
        let other = try Store()
        try other.apply(try origin.batch(from: Version(0)))
        let before = origin.snapshot.copy(), first = try Self.dump(origin)
        try origin.write { write in
            _ = try write.delete(table, [keys[2].rawValue])
            let new = try make(write, 2, "new")
            try write.set(table, columns[1], keys[1], to: .link(ObjectLink(table: table, key: new)))
        }
        let batch = try origin.database.changeBatch(from: before, to: origin.snapshot), second = try Self.dump(origin)
        try other.apply(batch)
        let back = try batch.inverse()
        for store in [origin, other] {
            for way in 0 ..< 3 {
                #expect(try store.apply(back) == .applied)
                try expect(store, first, "back \(way)")
                #expect(try store.apply(try back.inverse()) == .applied)
                try expect(store, second, "forth \(way)")
            }
            #expect(try store.snapshot.verify().problems == [])
        }
    }

    /// What an editor does: changes, undo and redo in any order, of objects with and without a primary key. What comes
    /// again twice is found by batches that were made when it had come once.
    @Test(arguments: ["key", ""]) func editorsUndoAndRedo(key: String) throws {
        try PropertyTest.run(rounds: 40) { random, comment in
            let store = try Store("Part { id: int \(key), n: int, next: link<Part> }")
            try store.write { try $0.keepChanges(since: Version(0)) }
            var undo: [(batch: ChangeBatch, before: [String])] = [], redo: [(batch: ChangeBatch, after: [String])] = []
            for step in 0 ..< 40 {
                let now = try parts(store)
                switch random.below(5) {
                case 0 where !undo.isEmpty, 1 where !undo.isEmpty:
                    let (batch, before) = undo.removeLast()
                    #expect(try store.apply(try batch.inverse()) == .applied, "undo, \(step), \(comment)")
                    #expect(try parts(store) == before, "undo, \(step), \(comment)")
                    redo.append((batch, now))
                case 2 where !redo.isEmpty, 3 where !redo.isEmpty:
                    let (batch, after) = redo.removeLast()
                    #expect(try store.apply(try batch.inverse().inverse()) == .applied, "redo, \(step), \(comment)")
                    #expect(try parts(store) == after, "redo, \(step), \(comment)")
                    undo.append((batch, now))
                default:
                    let before = store.snapshot.copy()
                    try store.write { try edit($0, &random, hasKey: !key.isEmpty, step) }
                    let batch = try store.database.changeBatch(from: before, to: store.snapshot)
                    guard !batch.isEmpty else { continue }
                    undo.append((batch, now))
                    redo = []
                }
            }
            #expect(try store.snapshot.verify().problems == [])
        }
    }

    /// A batch that deletes everything of a class deletes what there was then, whatever has come since.
    @Test func whatHasComeSinceStays() throws {
        let store = try Store("Part { id: int, n: int, next: link<Part> }")
        try store.write { try $0.keepChanges(since: Version(0)) }
        let table = try #require(store.snapshot.schema["Part"]?.tableKey)
        func batch(_ body: (WriteTransaction) throws -> Void) throws -> ChangeBatch {
            let before = store.snapshot.copy()
            try store.write(body)
            return try store.database.changeBatch(from: before, to: store.snapshot)
        }
        try store.write { write in for _ in 0 ..< 3 { _ = try write.create(table, primaryKey: nil) } }
        let first = try batch { _ = try $0.delete(table, [0]) }
        let second = try batch { _ = try $0.deleteAll(table) }
        let again = try second.inverse().inverse()
        for (batch, count) in [(try second.inverse(), 2), (try first.inverse(), 3), (again, 1)] {
            try store.apply(batch)
            #expect(try store.snapshot.table(table).liveCount == count)
        }
    }

    private func edit(
        _ write: WriteTransaction, _ random: inout SeededRandom, hasKey: Bool, _ step: Int
    ) throws {
        let type = try #require(write.catalog.schema["Part"]), table = try #require(type.tableKey)
        func column(_ name: String) throws -> ColumnKey { try #require(type.property(named: name)?.columnKey) }
        for _ in 0 ... random.below(3) {
            let view = try write.table(table)
            var keys: [Int64] = []
            for rowGroup in 0 ..< view.rowGroupCount { keys += try view.rowGroup(rowGroup).liveKeys }
            guard let key = keys.randomElement(using: &random).map({ ObjectKey($0) }), random.below(5) > 0 else {
                let id = Int64(random.below(1_000_000))
                if hasKey, try Value.int(id).withView({ try view.find(primaryKey: $0) }) != nil { continue }
                let new = try write.create(table, primaryKey: hasKey ? .int(id) : nil)
                if !hasKey { try write.set(table, column("id"), new, to: .int(id)) }
                continue
            }
            switch random.below(8) {
            case 0 ..< 3: try write.set(table, column("n"), key, to: .int(Int64(step)))
            case 3 ..< 5:
                let other = ObjectLink(table: table, key: ObjectKey(keys[random.below(keys.count)]))
                try write.set(table, column("next"), key, to: .link(other))
            case 5 ..< 7: try write.delete(table, key)
            default: _ = try write.deleteAll(table)
            }
        }
    }

    /// Of each its values, and those of what it links to.
    private func parts(_ store: Store) throws -> [String] {
        let type = try #require(store.snapshot.schema["Part"]), table = try #require(type.tableKey)
        func column(_ name: String) throws -> ColumnKey { try #require(type.property(named: name)?.columnKey) }
        let view = try store.snapshot.table(table)
        func text(_ key: ObjectKey) throws -> String {
            try "\(view.value(column("id"), key).owned.text) \(view.value(column("n"), key).owned.text)"
        }
        var parts: [String] = []
        for rowGroup in 0 ..< view.rowGroupCount {
            for key in try view.rowGroup(rowGroup).liveKeys.map({ ObjectKey($0) }) {
                let next = try view.value(column("next"), key).owned
                var part = try text(key)
                if case .link(let link) = next { part += try " -> " + text(link.key) }
                parts.append(part)
            }
        }
        return parts.sorted()
    }

    private func expect(_ store: Store, _ state: Objects, _ comment: String) throws {
        ChangeBatchTests.compare(try Self.dump(store), state, comment)
        let report = try store.snapshot.verify()
        #expect(report.isSound, "\(report.text); \(comment)")
    }

    // MARK: What is refused

    private static let people = "Person { id: int key, name: string, tags: list<string> }"

    private func set(_ write: WriteTransaction, _ id: Int64, _ name: String) throws {
        let type = try #require(write.catalog.schema["Person"])
        let (table, column) = (try #require(type.tableKey), try #require(type.property(named: "name")?.columnKey))
        let known = try Value.int(id).withView { try write.table(table).find(primaryKey: $0) }
        let key = try known ?? write.create(table, primaryKey: .int(id))
        try Value.string(name).withView { try write.set(table, column, key, to: $0) }
    }

    @Test func whatHasNoInverseSaysSo() throws {
        let store = try Store(Self.people)
        try store.write { try $0.keepChanges(since: store.version) }
        let before = store.snapshot.copy()
        try store.write { try set($0, 1, "Ada") }
        let plain = try store.batch(from: before.version)
        #expect(try !plain.isReversible)
        #expect(throws: DatabaseError.self) { _ = try plain.inverse() }
        #expect(throws: DatabaseError.self) { _ = try store.batch(from: Version(0)).inverse() }
        let after = store.snapshot.copy()
        let wrong = #expect(throws: DatabaseError.self) {
            _ = try store.database.changeBatch(from: after, to: before)
        }
        #expect(wrong?.code == .invalidArgument)
        let nothing = try store.database.changeBatch(from: after, to: store.snapshot)
        #expect(try nothing.isEmpty && nothing.isReversible && nothing.inverse().isEmpty)
        _ = try store.database.reconcile(
            try SchemaText.parse(Self.people + " More { a: int }"), on: store.snapshot)
        let schema = #expect(throws: DatabaseError.self) {
            _ = try store.database.changeBatch(from: after, to: store.snapshot)
        }
        #expect(schema?.code == .schemaMismatch)
    }

    @Test func whatNoLongerFitsIsRefused() throws {
        let store = try Store(Self.people)
        try store.write { try $0.keepChanges(since: store.version) }
        try store.write { try set($0, 1, "Ada") }
        let before = store.snapshot.copy()
        try store.write { try set($0, 1, "Eve") }
        let back = try store.database.changeBatch(from: before, to: store.snapshot).inverse()
        let table = try #require(store.snapshot.schema["Person"]?.tableKey)
        try store.write { _ = try $0.delete(table, [0]) }
        #expect(try store.code(applying: back) == .historyForked)
        // What was deleted comes again, and what was changed before that follows.
        let still = store.snapshot.copy()
        try store.write { try set($0, 1, "Ann") }
        try store.write { _ = try $0.delete(table, [1]) }
        let none = try store.database.changeBatch(from: still, to: store.snapshot)
        #expect(none.isEmpty)
        let other = try Store(Self.people)
        #expect(try other.code(applying: back) == .outOfSequence)
    }

    // MARK: Before a commit

    @Test func whatIsAskedSeesTheCommitAndMayRefuseIt() throws {
        let origin = try Store(Self.people)
        let other = try Store()
        try other.apply(try origin.batch(from: Version(0)))
        var seen: [ChangeBatch] = []
        var refuses = false
        func write(_ id: Int64, _ name: String) throws {
            let write = try origin.database.beginWrite(on: origin.snapshot)
            write.commitCheck = CommitCheck(isReversible: true) { (batch) throws(DatabaseError) in
                if refuses { throw DatabaseError(.callback, "no") }
                seen.append(batch)
            }
            do {
                try set(write, id, name)
                try write.commit()
            } catch {
                #expect(write.isRefused)
                write.cancel()
                throw error
            }
        }
        try write(1, "Ada")
        refuses = true
        let version = origin.version
        #expect(throws: DatabaseError.self) { try write(1, "Eve") }
        #expect(origin.version == version)
        refuses = false
        try write(2, "Bo")
        try write(1, "Ann")
        #expect(seen.count == 3)
        // What was shown before is what was committed, to the checksum.
        for batch in seen { #expect(try other.apply(batch) == .applied) }
        #expect(try Self.dump(other) == Self.dump(origin))
        #expect(try origin.batch(from: seen[1].to).fromChecksum == seen[1].toChecksum)
        #expect(try other.apply(try seen[2].inverse()) == .applied)
        #expect(try Self.dump(other)["Person(1)"]?["name"]?.contains("Ada") == true)
        let before = try Self.dump(origin)
        try origin.apply(try seen[2].inverse())
        try origin.apply(try seen[2].inverse().inverse())
        #expect(try Self.dump(origin) == before)
    }
}
