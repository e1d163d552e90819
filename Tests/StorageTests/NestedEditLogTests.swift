// What a write remembers of edits in and around nested lists and maps: each edit once, whoever makes it, and nothing of
// what cannot move or end any.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct NestedEditLogTests {
    private struct World {
        let database: Database
        let write: WriteTransaction
        let table: TableKey
        let key: ObjectKey
        private let type: ObjectType

        init() throws {
            database = try Database.open(PageStoreOptions(location: .memory(identifier: nil)))
            let snapshot = try database.snapshot()
            let text = "Row { any: mixed, anys: list<mixed>, map: map<mixed>, set: set<mixed>, ints: list<int> }"
            _ = try database.reconcile(try SchemaText.parse(text), on: snapshot)
            write = try database.beginWrite(on: snapshot)
            type = try snapshot.schema.type(named: "Row")
            table = try #require(type.tableKey)
            key = try write.create(table, primaryKey: nil)
        }

        func column(_ name: String) throws -> ColumnKey { try #require(type.property(named: name)?.columnKey) }

        func insert(_ column: String, _ values: [Value], at index: Int) throws {
            let column = try self.column(column)
            for (offset, value) in values.enumerated() {
                try value.withView { view throws(DatabaseError) in
                    try write.listInsert(table, column, key, at: index + offset, [view])
                }
            }
        }

        /// What has been noted since, as text.
        func noted(_ edit: () throws -> Void) throws -> [String] {
            let before = write.nestedEditLog.count
            try edit()
            return try write.nestedEditLog[before...].map { entry in
                #expect(entry.owner == key && entry.table == table)
                let name = try #require(type.properties.first { $0.columnKey == entry.column }?.name)
                switch entry.edit {
                case .nested(let operation):
                    let path = operation.path.map { step in
                        switch step {
                        case .index(let index): "[\(index)]"
                        case .key(let key): "[\(key)]"
                        }
                    }
                    return "\(name)\(path.joined()) \(operation.change)"
                case .list(let operation):
                    return "\(name) \(operation.kind) \(operation.index) \(operation.count) \(operation.destination)"
                }
            }
        }
    }

    private static let nested = Value.list([.int(1)])

    @Test func editsOfListsAreNotedOnce() throws {
        let world = try World()
        let (write, table, key) = (world.write, world.table, world.key)
        let anys = try world.column("anys")
        let ints = try world.column("ints")
        #expect(try world.noted { try world.insert("anys", [Self.nested, .int(1), Self.nested], at: 0) } == [])
        #expect(try world.noted { try world.insert("anys", [.null], at: 1) } == ["anys insert 1 1 0"])
        #expect(
            try world.noted { try write.listRemove(table, anys, key, at: 0, count: 2) } == ["anys remove 0 2 0"])
        #expect(try world.noted { try write.listMove(table, anys, key, from: 1, to: 0) } == ["anys move 1 1 0"])
        #expect(try world.noted { try write.listSwap(table, anys, key, 0, 1) } == ["anys move 0 1 1"])
        #expect(
            try world.noted { try write.listSet(table, anys, key, at: 1, .null) } == ["anys[1] replaced"])
        #expect(try world.noted { try write.listSet(table, anys, key, at: 1, .null) } == [])
        #expect(
            try world.noted {
                try write.listSplice(table, anys, key, at: 0, removing: 1, inserting: [.int(4), .int(5)])
            } == ["anys remove 0 1 0", "anys insert 0 2 0"])
        #expect(try world.noted { try write.listClear(table, anys, key) } == ["anys remove 0 3 0"])
        #expect(
            try world.noted {
                try world.insert("ints", [.int(1), .int(2), .int(3)], at: 0)
                try world.insert("ints", [.int(0)], at: 0)
                try write.listMove(table, ints, key, from: 1, to: 0)
                try write.listSwap(table, ints, key, 0, 3)
                try write.listSet(table, ints, key, at: 0, .int(4))
                try write.listClear(table, ints, key)
            } == [])
    }

    @Test func whatGoesFromMapsAndPropertiesIsNoted() throws {
        let world = try World()
        let (write, table, key) = (world.write, world.table, world.key)
        let map = try world.column("map")
        let any = try world.column("any")
        func put(_ name: String, _ value: Value) throws {
            try name.withUTF8Bytes { bytes throws(DatabaseError) in
                try value.withView { view throws(DatabaseError) in _ = try write.mapPut(table, map, key, bytes, view) }
            }
        }
        func remove(_ name: String) throws {
            try name.withUTF8Bytes { bytes throws(DatabaseError) in _ = try write.mapRemove(table, map, key, bytes) }
        }
        func ended(_ name: String) -> String { "map[\(name)] replaced" }
        #expect(
            try world.noted {
                for name in ["a", "b", "c"] { try put(name, Self.nested) }
                try put("d", .int(1))
            } == [])
        #expect(try world.noted { try put("a", Self.nested) } == [ended("a")])
        #expect(try world.noted { try remove("a") } == [ended("a")])
        #expect(try world.noted { try remove("a") } == [])
        #expect(try world.noted { try put("d", .int(2)) } == [])
        #expect(try world.noted { try write.mapClear(table, map, key) } == [ended("b"), ended("c")])
        #expect(
            try world.noted { try Self.nested.withView { try write.set(table, any, key, to: $0) } } == [])
        #expect(try world.noted { try write.set(table, any, key, to: .null) } == ["any replaced"])
    }

    @Test func setsPutTheirElementsInOrder() throws {
        let world = try World()
        let (write, table, key) = (world.write, world.table, world.key)
        let set = try world.column("set")
        #expect(
            try world.noted {
                for value in [Value.int(5), Self.nested] {
                    try value.withView { _ = try write.setInsert(table, set, key, $0) }
                }
            } == [])
        #expect(try world.noted { try write.setInsert(table, set, key, .int(1)) } == ["set insert 0 1 0"])
        #expect(try world.noted { try write.setRemove(table, set, key, .int(5)) } == ["set remove 1 1 0"])
        #expect(
            try world.noted { try write.setCombine(table, set, key, .union, [.int(0), .int(3)]) }
                == ["set insert 1 1 0", "set insert 0 1 0"])
    }

    @Test func whatASavepointUndoesIsForgotten() throws {
        let world = try World()
        let (write, table, key) = (world.write, world.table, world.key)
        let anys = try world.column("anys")
        try world.insert("anys", [Self.nested, Self.nested], at: 0)
        let noted = try world.noted {
            let savepoint = try write.savepoint()
            let changes = write.standingChangeCount
            try write.listRemove(table, anys, key, at: 0)
            #expect(write.standingChangeCount > changes)
            #expect(try write.rollBack(to: savepoint).changeCount == changes)
            #expect(write.standingChangeCount == changes)
        }
        #expect(noted == [])
    }
}
