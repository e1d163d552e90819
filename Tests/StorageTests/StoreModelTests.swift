// Random writes on a database beside a plain model of it: after each commit both agree, also after reopening the file.
// Runs with row groups of 3 rows, so that every boundary is crossed, and with the normal size.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct StoreModelTests {
    static let schema = Schema([
        ObjectType(
            name: "Person",
            properties: [
                Property(name: "id", type: .int, isPrimaryKey: true),
                Property(name: "name", type: .string, isNullable: true, isIndexed: true),
                Property(name: "age", type: .int, isIndexed: true),
                Property(name: "score", type: .double, isNullable: true),
                Property(name: "weight", type: .float),
                Property(name: "active", type: .bool),
                Property(name: "photo", type: .data, isNullable: true),
                Property(name: "created", type: .timestamp),
                Property(name: "friend", type: .link, isNullable: true, target: "Person"),
                Property(name: "tags", type: .string, collection: .list),
                Property(name: "friends", type: .link, collection: .list, target: "Person"),
                Property(name: "admirers", type: .linkingObjects, target: "Person").listing(origin: "friend"),
            ])
    ])

    @Test(arguments: [3, 480])
    func randomWritesAgreeWithAModel(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 1) { random, _ in try run(rowGroupSize, &random) }
    }

    private func run(_ rowGroupSize: Int, _ random: inout SeededRandom) throws {
        let folder = TemporaryDirectory()
        var options = PageStoreOptions(path: folder.file("store.motte"))
        options.rowGroupSize = rowGroupSize
        // Nothing of a write stays open then, or most of it.
        if random.chance(50) { options.writeMemoryBytes = 0 }
        var model = StoreModel()
        var database: Database? = try Database.open(options)
        var snapshot: Snapshot? = try database?.snapshot()
        if let database, let snapshot { _ = try database.reconcile(Self.schema, on: snapshot) }
        // A second reader follows every commit by its change record.
        var follower: Snapshot? = try database?.snapshot()
        for round in 0 ..< 18 {
            guard let database, let snapshot else { return }
            let write = try database.beginWrite(on: snapshot)
            let before = model
            for _ in 0 ..< random.below(30) {
                try model.step(write, &random)
                try write.checkInvariants()
            }
            try model.check(write)
            if random.below(5) == 0 {
                write.cancel()
                model = before
            } else {
                try write.commit()
            }
            try model.check(snapshot)
            if let follower, round % 3 == 0 {
                _ = try database.advance(follower)
                try model.check(follower)
            }
            try model.check(try database.snapshot())
        }
        follower = nil
        snapshot = nil
        database = nil
        let reopened = try Database.open(options)
        try model.check(try reopened.snapshot())
    }

    @Test func listsGrowPastAChunkAndShrinkAgain() throws {
        let folder = TemporaryDirectory()
        let database = try Database.open(PageStoreOptions(path: folder.file("store.motte")))
        let snapshot = try database.snapshot()
        _ = try database.reconcile(Self.schema, on: snapshot)
        let person = try #require(snapshot.schema["Person"])
        let table = try #require(person.tableKey)
        let friends = try #require(person.property(named: "friends")?.columnKey)

        let write = try database.beginWrite(on: snapshot)
        let owner = try write.create(table, primaryKey: .int(1))
        let links = [ValueView](repeating: .link(ObjectLink(table: table, key: owner)), count: 1_300)
        try write.listInsert(table, friends, owner, at: 0, links)
        try write.commit()

        #expect(try snapshot.table(table).listCount(friends, owner) == 1_300)
        #expect(try snapshot.table(table).listElement(friends, owner, 1_299).linkValue.key == owner)
        #expect(try snapshot.table(table).backlinkCount(origin: table, friends, owner) == 1_300)
        let shrink = try database.beginWrite(on: snapshot)
        try shrink.listRemove(table, friends, owner, at: 10, count: 1_200)
        try shrink.commit()
        #expect(try snapshot.table(table).listCount(friends, owner) == 100)
        #expect(try snapshot.table(table).backlinkCount(origin: table, friends, owner) == 100)
        let delete = try database.beginWrite(on: snapshot)
        try delete.delete(table, owner)
        try delete.commit()
        #expect(try snapshot.table(table).liveCount == 0)
        #expect(throws: DatabaseError.self) { try snapshot.table(table).listCount(friends, owner) }
    }

    @Test func aBatchWithOneBadRowInsertsNothing() throws {
        let folder = TemporaryDirectory()
        let database = try Database.open(PageStoreOptions(path: folder.file("store.motte")))
        let snapshot = try database.snapshot()
        _ = try database.reconcile(Self.schema, on: snapshot)
        let person = try #require(snapshot.schema["Person"])
        let table = try #require(person.tableKey)
        let columns = try ["id", "age"].map { try #require(person.property(named: $0)?.columnKey) }
        let rows: [ValueView] = [.int(1), .int(10), .int(2), .null, .int(3), .int(30)]
        let write = try database.beginWrite(on: snapshot)
        do {
            _ = try rows.withUnsafeBufferPointer { rows throws(DatabaseError) in
                try write.insertBatch(table, columns: columns, rows: rows.baseAddress, rowCount: 3)
            }
            Issue.record("a null age must be refused")
        } catch {
            #expect(error.code == .nullNotAllowed)
            #expect(error.details.rowIndex == 1)
        }
        #expect(try write.table(table).liveCount == 0)
        #expect(try write.table(table).find(primaryKey: .int(1)) == nil)
    }

    @Test func columnsAndIndexesAddedLaterCoverOlderRows() throws {
        let folder = TemporaryDirectory()
        let database = try Database.open(PageStoreOptions(path: folder.file("store.motte")))
        let snapshot = try database.snapshot()
        let old = Schema([ObjectType(name: "Thing", properties: [Property(name: "a", type: .int)])])
        _ = try database.reconcile(old, on: snapshot)
        let table = try #require(snapshot.schema["Thing"]?.tableKey)
        let write = try database.beginWrite(on: snapshot)
        let a = try #require(snapshot.schema["Thing"]?.property(named: "a")?.columnKey)
        for value in 0 ..< 1_000 {
            let key = try write.create(table, primaryKey: nil)
            try write.set(table, a, key, to: .int(Int64(value % 10)))
        }
        try write.commit()
        let new = Schema([
            ObjectType(
                name: "Thing",
                properties: [
                    Property(name: "a", type: .int, isIndexed: true), Property(name: "b", type: .string),
                    Property(name: "c", type: .double, isNullable: true),
                    Property(name: "d", type: .int, collection: .list),
                ])
        ])
        #expect(try database.reconcile(new, on: snapshot))
        #expect(try !database.reconcile(new, on: snapshot))
        let thing = try #require(snapshot.schema["Thing"])
        let view = try snapshot.table(table)
        #expect(try view.indexCount(a, equal: .int(3)) == 100)
        let key = ObjectKey(777)
        #expect(try view.value(try #require(thing.property(named: "b")?.columnKey), key).owned == .string(""))
        #expect(try view.value(try #require(thing.property(named: "c")?.columnKey), key).isNull)
        #expect(try view.listCount(try #require(thing.property(named: "d")?.columnKey), key) == 0)
        let conflicting = Schema([ObjectType(name: "Thing", properties: [Property(name: "a", type: .string)])])
        #expect(throws: DatabaseError.self) { try database.reconcile(conflicting, on: snapshot) }
    }

    // Readers that follow the change log keep pointers to chunks it does not mention, so those must stay in place.
    @Test func editsThatChangeNothingRewriteNothing() throws {
        var options = PageStoreOptions(location: .memory(identifier: "edits that change nothing"))
        options.rowGroupSize = 3
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        _ = try database.reconcile(Self.schema, on: snapshot)
        let person = try #require(snapshot.schema["Person"])
        let table = try #require(person.tableKey)
        let tags = try #require(person.property(named: "tags")?.columnKey)
        let fill = try database.beginWrite(on: snapshot)
        for id in 0 ..< 30 {
            let key = try fill.create(table, primaryKey: .int(Int64(id)))
            try Value.string("tag").withView { tag throws(DatabaseError) in
                try fill.listInsert(table, tags, key, at: 0, [tag, tag])
            }
        }
        try fill.commit()
        let key = PageKeys.chunk(table, tags, 2)
        let before = try #require(try snapshot.pages.get(key)).bytes.baseAddress

        let write = try database.beginWrite(on: snapshot)
        try write.listMove(table, tags, ObjectKey(6), from: 1, to: 1)
        try write.listInsert(table, tags, ObjectKey(7), at: 0, [])
        #expect(throws: DatabaseError.self) { try write.listRemove(table, tags, ObjectKey(8), at: 9) }
        _ = try write.create(table, primaryKey: .int(99))
        try write.commit()

        #expect(try snapshot.pages.get(key)?.bytes.baseAddress == before)
    }
}
