// Columns that a write has opened are encoded again when they are many, whatever it changes in them; but not where
// nothing has changed, since views that were lent hold then.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OpenBuilderTests {
    private static let rows = 3_000
    private static let text = """
        Row {
            name: string, list: list<int>, set: set<int>, map: map<int>, any: mixed,
            one: link<Part>, many: list<Part>, named: map<Part>, to: link<Target>, all: list<Target>,
        }
        embedded Part { n: int }
        Target { n: int }
        """

    private struct World {
        let folder = TemporaryDirectory()
        let database: Database
        let snapshot: Snapshot
        let table: TableKey
        let target: TableKey
        private let type: ObjectType

        init() throws {
            var options = PageStoreOptions(path: folder.file())
            options.rowGroupSize = 60
            options.writeMemoryBytes = 1 << 13
            database = try Database.open(options)
            snapshot = try database.snapshot()
            _ = try database.reconcile(try SchemaText.parse(text), on: snapshot)
            type = try snapshot.schema.type(named: "Row")
            table = try #require(type.tableKey)
            target = try #require(try snapshot.schema.type(named: "Target").tableKey)
            let write = try database.beginWrite(on: snapshot)
            for row in 0 ..< rows {
                let key = try write.create(table, primaryKey: nil)
                let other = ObjectLink(table: target, key: try write.create(target, primaryKey: nil))
                try write.listInsert(table, column("list"), key, at: 0, [.int(1), .int(2), .int(3)])
                try write.setCombine(table, column("set"), key, .union, [.int(1), .int(2)])
                for name in ["a", "b"] {
                    try name.withName { _ = try write.mapPut(table, column("map"), key, $0, .int(1)) }
                }
                try Value.list([.int(1), .int(2)]).withView { try write.set(table, column("any"), key, to: $0) }
                _ = try write.embeddedInsert(table, column("many"), key, at: 0)
                try write.set(table, column("to"), key, to: .link(other))
                if row % 2 == 0 { try write.listInsert(table, column("all"), key, at: 0, [.link(other)]) }
            }
            try write.commit()
        }

        func column(_ name: String) throws -> ColumnKey { try #require(type.property(named: name)?.columnKey) }
    }

    private struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (World, WriteTransaction, ObjectKey) throws -> Void
    }

    private static let changes: [Change] = [
        Change(testDescription: "set") { world, write, key in
            // Longer than what it replaces, so that it is no patch.
            let text = [UInt8](repeating: 120, count: 100)
            try text.withUnsafeBytes { try write.set(world.table, world.column("name"), key, to: .string($0)) }
        },
        Change(testDescription: "list: insert") {
            try $1.listInsert($0.table, $0.column("list"), $2, at: 1, [.int(9)])
        },
        Change(testDescription: "list: set") { try $1.listSet($0.table, $0.column("list"), $2, at: 1, .int(9)) },
        Change(testDescription: "list: move") { try $1.listMove($0.table, $0.column("list"), $2, from: 0, to: 2) },
        Change(testDescription: "list: swap") { try $1.listSwap($0.table, $0.column("list"), $2, 0, 2) },
        Change(testDescription: "list: remove") { try $1.listRemove($0.table, $0.column("list"), $2, at: 1) },
        Change(testDescription: "list: clear") { try $1.listClear($0.table, $0.column("list"), $2) },
        Change(testDescription: "set: insert") { try $1.setInsert($0.table, $0.column("set"), $2, .int(9)) },
        Change(testDescription: "set: remove") { try $1.setRemove($0.table, $0.column("set"), $2, .int(1)) },
        Change(testDescription: "set: assign") { try $1.setAssign($0.table, $0.column("set"), $2, [.int(9)]) },
        Change(testDescription: "set: clear") { try $1.setClear($0.table, $0.column("set"), $2) },
        Change(testDescription: "map: put") { world, write, key in
            try "c".withName { _ = try write.mapPut(world.table, world.column("map"), key, $0, .int(3)) }
        },
        Change(testDescription: "map: remove") { world, write, key in
            try "a".withName { _ = try write.mapRemove(world.table, world.column("map"), key, $0) }
        },
        Change(testDescription: "map: clear") { try $1.mapClear($0.table, $0.column("map"), $2) },
        Change(testDescription: "nested") { world, write, key in
            let any = try world.column("any")
            #expect(try write.nestedEdit(world.table, any, key, path: [], edit: .append(.string("something longer"))))
        },
        Change(testDescription: "embedded") { _ = try $1.embeddedPut($0.table, $0.column("one"), $2) },
        Change(testDescription: "embedded: insert") {
            _ = try $1.embeddedInsert($0.table, $0.column("many"), $2, at: 0)
        },
        Change(testDescription: "embedded: set") { _ = try $1.embeddedSet($0.table, $0.column("many"), $2, at: 0) },
        Change(testDescription: "embedded: put") { world, write, key in
            try "a".withName { _ = try write.embeddedMapPut(world.table, world.column("named"), key, $0) }
        },
        Change(testDescription: "deleting what is linked") { try $1.delete($0.target, $2) },
    ]

    @Test(arguments: changes) private func whateverAWriteChangesFewColumnsStayOpen(_ change: Change) throws {
        let world = try World()
        let write = try world.database.beginWrite(on: world.snapshot)
        var most = 0
        // Within a savepoint nothing is patched.
        let savepoint = try write.savepoint()
        for row in 0 ..< Self.rows {
            try change.change(world, write, ObjectKey(Int64(row)))
            most = max(most, write.opened.count)
        }
        // There are fifty row groups.
        #expect(most > 0 && most < 24, "\(most)")
        try write.checkInvariants()
        try write.release(savepoint)
        try write.commit()
        #expect(try world.database.snapshot().verify().isSound)
    }

    @Test func allThatIsLinkedIsDeletedWithFewColumnsOpen() throws {
        for together in [true, false] {
            let world = try World()
            let write = try world.database.beginWrite(on: world.snapshot)
            let keys = (0 ..< Int64(Self.rows)).map { $0 }
            let count = try together ? write.deleteAll(world.target) : write.delete(world.target, keys)
            #expect(count == Self.rows && write.opened.count < 24, "\(write.opened.count)")
            try write.commit()
            let view = try world.database.snapshot().table(world.table)
            for key in keys.map({ ObjectKey($0) }) {
                #expect(try view.value(world.column("to"), key).isNull)
                #expect(try view.listCount(world.column("all"), key) == 0)
            }
        }
    }

    /// What has changed nothing ends no view, though it may have opened columns to see that.
    @Test func viewsHoldWhereNothingChanges() throws {
        let world = try World()
        let write = try world.database.beginWrite(on: world.snapshot)
        let savepoint = try write.savepoint()
        let key = ObjectKey(1)
        let name = [UInt8](repeating: 121, count: 90)
        try name.withUnsafeBytes { try write.set(world.table, world.column("name"), key, to: .string($0)) }
        let view = try write.table(world.table)
        let lent = try view.value(world.column("name"), key).bytes
        let place = try view.requireLocation(key)
        let slot = try view.layout.slot(world.column("name"))
        let count = write.changeCount
        for row in stride(from: 120, to: Self.rows, by: 60) {
            let other = ObjectKey(Int64(row))
            #expect(try !write.setInsert(world.table, world.column("set"), other, .int(1)).inserted)
            try write.listInsert(world.table, world.column("list"), other, at: 0, [])
            #expect(throws: DatabaseError.self) {
                try write.listSet(world.table, world.column("list"), other, at: 99, .int(1))
            }
        }
        #expect(write.changeCount == count && write.opened.areMany)
        #expect(lent.elementsEqual(name))
        guard case .values? = view.writer?.overlay(place.rowGroup)?.columns[slot]?.storage else {
            Issue.record("what lends a view was encoded")
            return
        }
        try write.release(savepoint)
        write.cancel()
    }
}

extension String {
    fileprivate func withName<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(utf8).withUnsafeBytes { try body($0) }
    }
}
