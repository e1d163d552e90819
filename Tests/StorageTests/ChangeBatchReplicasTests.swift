// A file that applies the batches of another one, and copies of it: a copy that goes on in its place applies the next
// batch, finds the objects that it changes, and applies none twice.
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ChangeBatchReplicasTests {
    private typealias Store = ChangeBatchTests.Store
    private static let schema = """
        Part { id: int, n: int, next: link<Part>, friends: list<Part> }
        Keyed { id: int key, n: int, part: link<Part> }
        """

    /// Every object by its id, which is one of a kind, as text.
    private static func content(_ source: RowSource) throws -> [String: String] {
        var all: [String: String] = [:]
        for type in source.catalog.schema.objectTypes {
            let table = try source.table(try #require(type.tableKey))
            func text(_ value: Value) throws -> String {
                guard case .link(let link) = value else { return value.text }
                let other = try source.table(link.table)
                let id = try #require(other.type.property(named: "id")?.columnKey)
                return "\(other.type.name) " + (try other.value(id, link.key).owned.text)
            }
            for key in try ChangeBatchTests.liveKeys(table) {
                var texts: [String] = []
                for property in type.properties {
                    guard let column = property.columnKey else { continue }
                    var elements: [String] = []
                    for index in 0 ..< (property.isCollection ? try table.listCount(column, key) : 0) {
                        elements.append(try text(try table.listElement(column, key, index).owned))
                    }
                    texts.append(
                        property.isCollection ? "\(elements)" : try text(try table.value(column, key).owned))
                }
                #expect(all.updateValue("\(texts)", forKey: "\(type.name) \(texts[0])") == nil)
            }
        }
        return all
    }

    private static func edit(
        _ write: WriteTransaction, _ random: inout SeededRandom, _ nextID: inout Int64
    ) throws {
        let part = try #require(write.catalog.schema["Part"]), keyed = try #require(write.catalog.schema["Keyed"])
        let table = try #require(part.tableKey), other = try #require(keyed.tableKey)
        func column(_ type: ObjectType, _ name: String) throws -> ColumnKey {
            try #require(type.property(named: name)?.columnKey)
        }
        for _ in 0 ... random.below(4) {
            let keys = try ChangeBatchTests.liveKeys(try write.table(table))
            guard let key = keys.randomElement(using: &random), random.below(4) > 0 else {
                nextID += 1
                let new = try write.create(table, primaryKey: nil)
                try write.set(table, column(part, "id"), new, to: .int(nextID))
                continue
            }
            let link = ObjectLink(table: table, key: keys[random.below(keys.count)])
            switch random.below(9) {
            case 0 ..< 2: try write.set(table, column(part, "n"), key, to: .int(Int64(random.below(1_000))))
            case 2: try write.set(table, column(part, "next"), key, to: .link(link))
            case 3 ..< 6:
                let friends = try column(part, "friends"), count = try write.table(table).listCount(friends, key)
                if count > 0, random.chance(40) {
                    try write.listRemove(table, friends, key, at: random.below(count), count: 1)
                } else {
                    try write.listInsert(table, friends, key, at: random.below(count + 1), [.link(link)])
                }
            case 6 ..< 8:
                let id = Int64(random.below(5))
                let known = try Value.int(id).withView { try write.table(other).find(primaryKey: $0) }
                let object = try known ?? write.create(other, primaryKey: .int(id))
                if known != nil, random.chance(30) {
                    try write.delete(other, object)
                } else {
                    try write.set(other, column(keyed, "part"), object, to: .link(link))
                }
            default: try write.delete(table, key)
            }
        }
    }

    private static func asFollower(_ store: Store, _ body: (WriteTransaction) throws -> Void) throws {
        let write = try store.database.beginWrite(on: store.snapshot, asFollower: true)
        try body(write)
        try write.commit()
    }

    /// An object goes, and comes again by an undo: it has another key, and is the same to all others.
    private static func deleteAndUndo(_ store: Store, _ random: inout SeededRandom) throws {
        let table = try #require(store.snapshot.schema["Part"]?.tableKey)
        let keys = try ChangeBatchTests.liveKeys(try store.snapshot.table(table))
        guard let key = keys.randomElement(using: &random) else { return }
        let before = store.snapshot.copy(), content = try content(store.snapshot)
        try store.write { try $0.delete(table, key) }
        let batch = try store.database.changeBatch(from: before, to: store.snapshot)
        #expect(try store.apply(try batch.inverse()) == .applied)
        #expect(try Self.content(store.snapshot) == content)
    }

    @Test func aCopyGoesOnInItsOriginsPlace() throws {
        var applied = 0, undone = 0
        try PropertyTest.run(rounds: 40) { random, comment in
            let source = try Store(Self.schema), middle = try Store(Self.schema), copy = try Store()
            for store in [source, middle] { try store.write { try $0.keepChanges(since: Version(0)) } }
            var nextID: Int64 = 0
            func applyNext(_ store: Store) throws -> ChangeBatchOutcome {
                let position = try store.snapshot.replicaPosition(try source.database.origin())?.version
                return try store.apply(try source.batch(from: position ?? Version(0)))
            }
            func follow() throws {
                let position = try copy.snapshot.replicaPosition(try middle.database.origin())?.version
                let batch = try middle.batch(from: position ?? Version(0))
                try Self.asFollower(copy) { _ = try $0.apply(batch) }
            }
            func change(_ store: Store) throws {
                let before = store.snapshot.copy()
                try store.write { try Self.edit($0, &random, &nextID) }
                guard random.chance(25) else { return }
                // What comes again is another object, by the same name.
                let back = try store.database.changeBatch(from: before, to: store.snapshot).inverse()
                for batch in random.chance(50) ? [back, try back.inverse()] : [back] where !batch.isEmpty {
                    undone += try store.apply(batch) == .applied ? 1 : 0
                }
            }
            let leader = FollowedLeader(origin: try middle.database.origin(), name: "middle", source: "here")
            try copy.write { try $0.follow(leader) }
            try follow()
            for _ in 0 ..< 12 {
                try change(source)
                if random.chance(30) { try Self.deleteAndUndo(middle, &random) }
                if random.chance(70), try applyNext(middle) == .applied { applied += 1 }
                if random.chance(60) { try follow() }
            }
            try follow()
            #expect(try Self.content(copy.snapshot) == Self.content(middle.snapshot), "\(comment)")
            try Self.asFollower(copy) { try $0.follow(nil) }
            // It may still have what its origin has, until it applies something itself.
            for _ in 0 ..< random.below(3) {
                try change(source)
                if random.chance(50) { try Self.deleteAndUndo(middle, &random) }
                _ = try applyNext(middle)
                try follow()
                #expect(try Self.content(copy.snapshot) == Self.content(middle.snapshot), "\(comment)")
            }
            // Both go on, each by itself.
            for round in 0 ..< 6 {
                try change(source)
                for store in [middle, copy] where random.chance(40) { try Self.deleteAndUndo(store, &random) }
                let outcomes = [try applyNext(middle), try applyNext(copy)]
                #expect(outcomes[0] == outcomes[1], "\(comment), \(round)")
                let expected = try Self.content(source.snapshot)
                #expect(try Self.content(middle.snapshot) == expected, "\(comment), \(round)")
                #expect(try Self.content(copy.snapshot) == expected, "\(comment), \(round)")
                let last = try #require(
                    try copy.snapshot.replicaPosition(try source.database.origin())?.version)
                #expect(try copy.apply(try source.batch(from: last)) == .known, "\(comment), \(round)")
            }
            #expect(try copy.snapshot.verify().problems == [], "\(comment)")
        }
        print("note: \(applied) batches passed on, \(undone) undone")
        #expect(applied > 0)
    }

    /// Whoever only applies a batch knows nothing of other files.
    @Test func othersDoNotTakeWhatACopyNeeds() throws {
        let source = try Store(Self.schema), middle = try Store(Self.schema), other = try Store()
        for store in [source, middle] { try store.write { try $0.keepChanges(since: Version(0)) } }
        try other.apply(try middle.batch(from: Version(0)))
        var random = SeededRandom(seed: 3), nextID: Int64 = 0
        try source.write { try Self.edit($0, &random, &nextID) }
        try middle.apply(try source.batch(from: Version(0)))
        let last = try #require(try other.snapshot.replicaPosition(try middle.database.origin())?.version)
        try other.apply(try middle.batch(from: last))
        #expect(try Self.content(other.snapshot) == Self.content(middle.snapshot))
        #expect(try other.snapshot.replicaPosition(try source.database.origin()) == nil)
    }

    /// A commit that was lost between its acknowledgement and the file has the position in it.
    @Test func aCommitThatIsTakenInHasThePosition() throws {
        let source = try Store(Self.schema), middle = try Store(Self.schema)
        for store in [source, middle] { try store.write { try $0.keepChanges(since: Version(0)) } }
        var random = SeededRandom(seed: 3), nextID: Int64 = 0
        try source.write { try Self.edit($0, &random, &nextID) }
        try middle.apply(try source.batch(from: Version(0)))
        try source.write { try Self.edit($0, &random, &nextID) }
        let origin = try source.database.origin()
        let position = try #require(try middle.snapshot.replicaPosition(origin)?.version)
        let batch = try source.batch(from: position)
        var sent: ChangeBatch?
        let write = try middle.database.beginWrite(on: middle.snapshot)
        #expect(try write.apply(batch) == .applied)
        write.commitCheck = CommitCheck(isReversible: false) { batch throws(DatabaseError) in
            sent = batch
            throw DatabaseError(.outcomeUnknown, "killed by the test")
        }
        #expect(throws: DatabaseError.self) { try write.commit() }
        write.cancel()
        #expect(try middle.snapshot.replicaPosition(origin)?.version == position)
        let lost = try #require(sent)
        try middle.write { try $0.takeIn(lost) }
        #expect(try middle.snapshot.replicaPosition(origin)?.version == batch.to)
        #expect(try Self.content(middle.snapshot) == Self.content(source.snapshot))
        #expect(try middle.apply(batch) == .known)
        for _ in 0 ..< 5 {
            try source.write { try Self.edit($0, &random, &nextID) }
            let last = try #require(try middle.snapshot.replicaPosition(origin)?.version)
            #expect(try middle.apply(try source.batch(from: last)) == .applied)
            #expect(try Self.content(middle.snapshot) == Self.content(source.snapshot))
        }
    }

    private static func keyed(_ store: Store) throws -> (table: TableKey, key: ObjectKey?) {
        let table = try #require(store.snapshot.schema["Keyed"]?.tableKey)
        let view = try store.snapshot.table(table)
        return (table, try Value.int(1).withView { try view.find(primaryKey: $0) })
    }

    private static func makeKeyed() throws -> Store {
        let store = try Store(schema)
        try store.write { try $0.keepChanges(since: Version(0)) }
        try store.write { _ = try $0.create(try keyed(store).table, primaryKey: .int(1)) }
        return store
    }

    private static func next(_ origin: Store, for store: Store) throws -> ChangeBatch {
        let position = try store.snapshot.replicaPosition(try origin.database.origin())?.version
        return try origin.batch(from: position ?? Version(0))
    }

    /// Two files have the same object. The batch of one deletes it, and its inverse brings it back: by the name that
    /// the other calls it, too.
    @Test(arguments: [true, false]) func anInverseOfAnotherFileKeepsAllNames(isChanged: Bool) throws {
        let one = try Self.makeKeyed(), other = try Self.makeKeyed(), copy = try Store()
        for origin in [one, other] { try copy.apply(try Self.next(origin, for: copy)) }
        let before = one.snapshot.copy()
        try one.write { write in
            let (table, key) = try Self.keyed(one)
            try write.delete(table, try #require(key))
        }
        let batch = try one.database.changeBatch(from: before, to: one.snapshot)
        for _ in 0 ..< 3 {
            try copy.apply(batch)
            #expect(try Self.keyed(copy).key == nil)
            try copy.apply(try batch.inverse())
            #expect(try Self.keyed(copy).key != nil)
        }
        try other.write { write in
            let (table, key) = try Self.keyed(other)
            guard isChanged else { return try write.delete(table, try #require(key)) }
            let column = try #require(other.snapshot.schema["Keyed"]?.property(named: "n")?.columnKey)
            try write.set(table, column, try #require(key), to: .int(7))
        }
        try copy.apply(try Self.next(other, for: copy))
        #expect(try (Self.keyed(copy).key == nil) == !isChanged)
    }

    /// A former copy that has undone a deletion itself, and gets those of its origin.
    @Test func whatAFormerCopyUndidIsFoundBehindItsOriginsUndo() throws {
        let origin = try Self.makeKeyed(), other = try Self.makeKeyed(), copy = try Store()
        let leader = FollowedLeader(origin: try origin.database.origin(), name: "origin", source: "here")
        try copy.write { try $0.follow(leader) }
        try Self.asFollower(copy) { _ = try $0.apply(try Self.next(origin, for: copy)) }
        try Self.asFollower(copy) { try $0.follow(nil) }
        func deleteAndUndo(_ store: Store, _ told: () throws -> Void) throws {
            let before = store.snapshot.copy(), (table, key) = try Self.keyed(store)
            try store.write { try $0.delete(table, try #require(key)) }
            try told()
            let batch = try store.database.changeBatch(from: before, to: store.snapshot)
            #expect(try store.apply(try batch.inverse()) == .applied)
            try told()
        }
        try deleteAndUndo(copy) {}
        try copy.apply(try Self.next(other, for: copy))
        try deleteAndUndo(origin) { try copy.apply(try Self.next(origin, for: copy)) }
        #expect(try Self.keyed(copy).key != nil)
        try other.write { write in
            let (table, key) = try Self.keyed(other)
            try write.delete(table, try #require(key))
        }
        #expect(try copy.apply(try Self.next(other, for: copy)) == .applied)
        #expect(try Self.keyed(copy).key == nil)
    }
}
