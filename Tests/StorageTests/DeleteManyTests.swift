// Deleting many objects that one collection holds goes through the collection once. That it ends where deleting them
// one by one does is in EverythingTests.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct DeleteManyTests {
    private struct Store {
        let database: Database
        let snapshot: Snapshot
        let target: TableKey
        let holder: TableKey
        let columns: [ColumnKey]

        init(_ count: Int) throws {
            database = try Database.open(PageStoreOptions(location: .memory(identifier: nil)))
            snapshot = try database.snapshot()
            let text = "Target { n: int } Holder { all: list<Target>, anys: list<mixed> }"
            _ = try database.reconcile(try SchemaText.parse(text), on: snapshot)
            let holderType = try snapshot.schema.type(named: "Holder")
            target = try #require(try snapshot.schema.type(named: "Target").tableKey)
            holder = try #require(holderType.tableKey)
            columns = try ["all", "anys"].map { try #require(holderType.property(named: $0)?.columnKey) }
            let write = try database.beginWrite(on: snapshot)
            _ = try write.insertBatch(target, columns: [], rows: nil, rowCount: count)
            _ = try write.create(holder, primaryKey: nil)
            let table = target
            let links = (0 ..< count).map { ValueView.link(ObjectLink(table: table, key: ObjectKey(Int64($0)))) }
            for column in columns { try write.listInsert(holder, column, ObjectKey(0), at: 0, links) }
            try write.commit()
        }
    }

    @Test func aListThatHoldsThemAllIsGoneThroughOnce() throws {
        let count = 40_000
        let store = try Store(count)
        let before = store.snapshot.version
        let write = try store.database.beginWrite(on: store.snapshot)
        // All but every tenth.
        let doomed = (0 ..< Int64(count)).filter { $0 % 10 != 3 }
        #expect(try write.delete(store.target, doomed + doomed.prefix(5)) == doomed.count)
        try write.commit()
        let view = try store.snapshot.table(store.holder)
        #expect(try view.listCount(store.columns[0], ObjectKey(0)) == count / 10)
        #expect(try view.listElement(store.columns[0], ObjectKey(0), 7).linkValue.key == ObjectKey(73))
        #expect(try view.listElement(store.columns[1], ObjectKey(0), 72).isNull)
        #expect(try view.listElement(store.columns[1], ObjectKey(0), 73).linkValue.key == ObjectKey(73))
        // One by one there would be an operation for each object.
        let changes = try #require(try store.database.changes(from: before, to: store.snapshot))
        let operations = try #require(changes.table(store.holder)?.list(store.columns[0], 0)?.operations)
        #expect(operations.count <= count / 10 + 1)
        #expect(try store.snapshot.verify().problems == [])
    }

    @Test func allOfAClassLeaveItsHolderAtOnce() throws {
        let store = try Store(40_000)
        let before = store.snapshot.version
        let write = try store.database.beginWrite(on: store.snapshot)
        #expect(try write.deleteAll(store.target) == 40_000)
        try write.commit()
        #expect(try store.snapshot.table(store.holder).listCount(store.columns[0], ObjectKey(0)) == 0)
        let changes = try #require(try store.database.changes(from: before, to: store.snapshot))
        #expect(changes.table(store.holder)?.list(store.columns[0], 0)?.operations.count == 1)
        #expect(try store.snapshot.verify().problems == [])
    }
}
