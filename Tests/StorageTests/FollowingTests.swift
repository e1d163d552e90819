// A snapshot that follows commits keeps the live bitmaps and the directories of indexes that did not change in between.
// All that it shows is what a fresh snapshot shows, also of objects that came in one commit and went in the next.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct FollowingTests {
    private static let rows = 600

    @Test func followersShowWhatFreshSnapshotsShow() throws {
        try PropertyTest.run(rounds: 3) { random, comment in
            let folder = TemporaryDirectory()
            var options = PageStoreOptions(path: folder.file("store.motte"))
            options.rowGroupSize = 3
            let database = try Database.open(options)
            let snapshot = try database.snapshot()
            let schema = try SchemaText.parse("Row { id: int key, age: int indexed, name: string }")
            _ = try database.reconcile(schema, on: snapshot)
            let type = try snapshot.schema.type(named: "Row")
            let table = try #require(type.tableKey), age = try #require(type.property(named: "age")?.columnKey)
            let filling = try database.beginWrite(on: snapshot)
            for id in 0 ..< Self.rows { _ = try filling.create(table, primaryKey: .int(Int64(id))) }
            try filling.commit()
            let follower = try database.snapshot()
            try compare(follower, try database.snapshot(), table, age, comment)

            var newest: ObjectKey?
            for _ in 0 ..< 20 {
                for _ in 0 ... random.below(3) {
                    let write = try database.beginWrite(on: snapshot)
                    let view = try write.table(table)
                    for _ in 0 ... random.below(6) {
                        let key = ObjectKey(Int64(random.below(Self.rows)))
                        guard try view.locate(key) != nil else { continue }
                        if random.chance(40) {
                            try write.delete(table, key)
                        } else {
                            try write.set(table, age, key, to: .int(Int64(random.below(5))))
                        }
                    }
                    if let gone = newest { try write.delete(table, gone) }
                    newest = nil
                    if random.chance(40) { newest = try write.create(table, primaryKey: .int(100_000 + view.nextKey)) }
                    try write.commit()
                }
                if random.chance(70) {
                    _ = try database.advance(follower)
                    try compare(follower, try database.snapshot(), table, age, comment)
                }
                try compare(snapshot, try database.snapshot(), table, age, comment)
            }
        }
    }

    private func compare(
        _ known: Snapshot, _ fresh: Snapshot, _ table: TableKey, _ age: ColumnKey, _ comment: String
    ) throws {
        let left = try known.table(table), right = try fresh.table(table)
        #expect(left.liveCount == right.liveCount, "\(comment)")
        var live = 0
        for key in 0 ..< right.nextKey {
            let isLive = try left.locate(ObjectKey(key)) != nil
            #expect(try isLive == (right.locate(ObjectKey(key)) != nil), "\(key) \(comment)")
            live += isLive ? 1 : 0
        }
        #expect(live == left.liveCount, "\(comment)")
        for rowGroup in 0 ..< left.rowGroupCount {
            #expect(try left.rowGroup(rowGroup).liveWords == right.rowGroup(rowGroup).liveWords, "\(comment)")
        }
        for id in 0 ..< Int64(Self.rows) {
            #expect(try left.find(primaryKey: .int(id)) == right.find(primaryKey: .int(id)), "\(id) \(comment)")
        }
        for value in 0 ..< Int64(5) {
            var found: [Int64] = [], expected: [Int64] = []
            try left.indexKeys(age, equal: .int(value), into: &found)
            try right.indexKeys(age, equal: .int(value), into: &expected)
            #expect(found == expected, "\(comment)")
        }
    }
}
