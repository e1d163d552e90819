// Differences of two files as batches: random files, whose difference applied to the first gives the second and whose
// inverse leads back; what is refused; lists.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct FileDifferenceTests {
    private typealias Store = ChangeBatchTests.Store
    private typealias Objects = [String: [String: String]]

    private static func difference(_ before: Store, _ after: Store) throws -> ChangeBatch {
        try Database.difference((before.database, before.snapshot), (after.database, after.snapshot))
    }

    private static func dump(_ store: Store) throws -> Objects { try ChangeBatchTests.dump(store.snapshot) }

    private func expect(_ store: Store, _ state: Objects, _ comment: String) throws {
        ChangeBatchTests.compare(try Self.dump(store), state, comment)
        let report = try store.snapshot.verify()
        #expect(report.isSound, "\(report.text); \(comment)")
    }

    // MARK: Random files

    private func steps(
        _ store: Store, _ model: inout EverythingModel, _ count: Int, _ random: inout SeededRandom
    ) throws {
        try store.write { write in
            write.listShape = LongListTests.small
            write.manyObjects = 3
            var candidates = Array(model.rows.keys.sorted().shuffled(using: &random).prefix(12))
            for _ in 0 ... count { try model.step(write, &random, &candidates) }
        }
    }

    @Test(arguments: [3, 480]) func randomFilesLeadToEachOther(rowGroupSize: Int) throws {
        var changed = 0
        try PropertyTest.run(rounds: 8) { random, comment in
            changed += try files(rowGroupSize, &random, comment)
        }
        #expect(TestScale.factor < 1 || changed >= 5)
        print("note: \(changed) differences applied, from seed \(PropertyTest.firstSeed)")
    }

    /// Found by a random run: where an embedded object was before, another one is when the difference is taken back.
    @Test(arguments: [3, 480]) func aPlaceThatAnotherObjectHasTaken(rowGroupSize: Int) throws {
        var random = SeededRandom(seed: 786_258_403)
        #expect(try files(rowGroupSize, &random, "seed 786258403") == 1)
    }

    /// Of the same beginning or of none.
    private func files(_ rowGroupSize: Int, _ random: inout SeededRandom, _ comment: String) throws -> Int {
        let first = try Store(EverythingModel.text, rowGroupSize: rowGroupSize)
        let second = try Store(EverythingModel.text, rowGroupSize: 3)
        var model = try EverythingModel(first.snapshot.schema)
        try steps(first, &model, random.below(120), &random)
        var other = try EverythingModel(second.snapshot.schema)
        if random.chance(50) {
            try second.apply(try first.batch(from: Version(0)))
            // The second goes on by itself: its model begins with what is there.
            let third = try Store(EverythingModel.text, rowGroupSize: rowGroupSize)
            try third.apply(try first.batch(from: Version(0)))
            try steps(first, &model, random.below(60), &random)
            return try check(third, first, &random, "\(comment), related")
        }
        try steps(second, &other, random.below(120), &random)
        return try check(first, second, &random, "\(comment), unrelated")
    }

    private func check(
        _ before: Store, _ after: Store, _ random: inout SeededRandom, _ comment: String
    ) throws -> Int {
        let batch = try Self.difference(before, after)
        #expect(try ChangeBatch(batch.bytes) == batch && batch.isDifference && !batch.isPatch)
        let copy = try Store(rowGroupSize: 3)
        try copy.apply(try before.batch(from: Version(0)))
        let (old, new) = (try Self.dump(before), try Self.dump(after))
        guard !batch.isEmpty else {
            #expect(old == new, "\(comment)")
            #expect(try copy.apply(batch) == .known)
            return 0
        }
        let back = try batch.inverse()
        #expect(try back.isDifference && back.inverse().inverse() == back, "\(comment)")
        for (store, name) in [(copy, "copy"), (before, "itself")] {
            #expect(try store.apply(batch) == .applied, "\(comment), \(name)")
            try expect(store, new, "\(comment), \(name), forth")
            #expect(try Self.difference(store, after).isEmpty, "\(comment), \(name): something differs")
            // Not twice, and nothing is done then.
            if random.chance(50) { #expect(try store.code(applying: batch) != nil, "\(comment), \(name)") }
            #expect(try store.apply(back) == .applied, "\(comment), \(name)")
            try expect(store, old, "\(comment), \(name), back")
            #expect(try store.apply(try back.inverse()) == .applied, "\(comment), \(name)")
            try expect(store, new, "\(comment), \(name), forth again")
        }
        #expect(try copy.database.strayPages() == [], "\(comment)")
        return 1
    }

    // MARK: Objects without a primary key

    private static let notes = """
        Note { text: string, next: link<Note>, tags: list<string>, places: list<Place> }
        embedded Place { name: string }
        """

    private func note(_ write: WriteTransaction, _ text: String, _ key: ObjectKey? = nil) throws -> ObjectKey {
        let type = try #require(write.catalog.schema["Note"])
        let table = try #require(type.tableKey)
        let key = try key ?? write.create(table, primaryKey: nil)
        try Value.string(text).withView { view in
            try write.set(table, try #require(type.property(named: "text")?.columnKey), key, to: view)
        }
        return key
    }

    private func notes(_ store: Store) throws -> [String] {
        let type = try #require(store.snapshot.schema["Note"])
        let table = try store.snapshot.table(try #require(type.tableKey))
        let column = try #require(type.property(named: "text")?.columnKey)
        return try ChangeBatchTests.liveKeys(table).map { try table.value(column, $0).owned.text }.sorted()
    }

    @Test func objectsWithoutAPrimaryKeyGoByTheirIdentity() throws {
        let first = try Store(Self.notes)
        let second = try Store()
        try first.write { for text in ["a", "b", "c"] { _ = try note($0, text) } }
        try second.apply(try first.batch(from: Version(0)))
        let third = try Store()
        try third.apply(try first.batch(from: Version(0)))
        try second.write { write in
            _ = try note(write, "B", ObjectKey(1))
            _ = try write.delete(try #require(write.catalog.schema["Note"]?.tableKey), [0])
            _ = try note(write, "d")
        }
        let batch = try Self.difference(first, second)
        for store in [third, first] {
            try store.apply(batch)
            #expect(try notes(store) == ["B", "c", "d"].map { Value.string($0).text })
            #expect(try store.code(applying: batch) == .historyForked)
            try store.apply(try batch.inverse())
            #expect(try notes(store) == ["a", "b", "c"].map { Value.string($0).text })
        }
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

    @Test func aFileThatHasAnotherValueIsRefused() throws {
        let (first, second) = (try Store(Self.people), try Store(Self.people))
        try first.write { try set($0, 1, "Ada") }
        try second.write { try set($0, 1, "Eve") }
        let batch = try Self.difference(first, second)
        let other = try Store(Self.people)
        #expect(try other.code(applying: batch) == .historyForked)
        try other.write { try set($0, 1, "Bo") }
        #expect(try other.code(applying: batch) == .historyForked)
        try other.write { try set($0, 7, "somebody else") }
        try other.write { try set($0, 1, "Ada") }
        #expect(try other.apply(batch) == .applied)
        #expect(try Self.dump(other).count == 2)
        let name = try Self.dump(second).keys.first ?? ""
        #expect(try Self.dump(other)[name] == Self.dump(second)[name])
    }

    @Test func whatTheFileHasAlreadyIsNotMadeAgain() throws {
        let (first, second) = (try Store(Self.people), try Store(Self.people))
        try second.write { try set($0, 1, "Eve") }
        let batch = try Self.difference(first, second)
        try first.write { try set($0, 1, "Ada") }
        #expect(try first.code(applying: batch) == .duplicatePrimaryKey)
    }

    @Test func additionsToTheSchemaComeAlongAndNothingElseDoes() throws {
        let first = try Store(Self.people)
        let second = try Store(
            "Person { id: int key, name: string, tags: list<string>, age: int } Dog { name: string }")
        try first.write { try set($0, 1, "Ada") }
        try second.write { try set($0, 1, "Ada") }
        let batch = try Self.difference(first, second)
        #expect(try !batch.isReversible)
        let refused = #expect(throws: DatabaseError.self) { _ = try batch.inverse() }
        #expect(refused?.code == .schemaMismatch)
        try first.apply(batch)
        #expect(first.snapshot.schema["Dog"] != nil)
        #expect(try Self.difference(first, second).isEmpty)
        for text in [
            "Person { id: int key, name: string }", "Dog { name: string }",
            "Person { id: int key, name: string?, tags: list<string> }",
        ] {
            let other = try Store(text)
            let error = #expect(throws: DatabaseError.self, "\(text)") { _ = try Self.difference(second, other) }
            #expect(error?.code == .schemaMismatch)
        }
    }

    // MARK: Lists

    @Test func editsOfListsLeadFromOneToTheOther() throws {
        try PropertyTest.run(rounds: 300) { random, comment in
            let kinds = 1 + random.below(12)
            var old = (0 ..< random.below(40)).map { _ in random.below(kinds) }
            let new = (0 ..< random.below(40)).map { _ in random.below(kinds) }
            let common = ListDifference.common(old, new)
            for (index, pair) in common.enumerated() {
                #expect(old[pair.old] == new[pair.new], "\(comment)")
                guard index > 0 else { continue }
                #expect(common[index - 1].old < pair.old && common[index - 1].new < pair.new, "\(comment)")
            }
            #expect(common.count == Self.longest(old, new), "\(comment)")
            for edit in ListDifference.operations(common, old.count, new.count) {
                let range = edit.index ..< edit.index + edit.count
                switch edit.kind {
                case .insert: old.insert(contentsOf: new[range], at: edit.index)
                case .remove: old.removeSubrange(range)
                default: old.replaceSubrange(range, with: new[range])
                }
            }
            #expect(old == new, "\(comment)")
        }
        let long = Array(0 ..< 200_000)
        #expect(ListDifference.common(long, Array(long.dropFirst())).count == 199_999)
        #expect(ListDifference.common(long, long.map { $0 + 200_000 }).isEmpty)
    }

    /// By the whole table of lengths.
    private static func longest(_ old: [Int], _ new: [Int]) -> Int {
        var row = [Int](repeating: 0, count: new.count + 1)
        for element in old {
            var diagonal = 0
            for index in new.indices {
                let above = row[index + 1]
                row[index + 1] = element == new[index] ? diagonal + 1 : max(above, row[index])
                diagonal = above
            }
        }
        return row[new.count]
    }
}
