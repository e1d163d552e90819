// Whatever way leads to a stored value, it is checked by the same rules: a value that one way refuses every way
// refuses, with the same code and the name of the property, and nothing is changed.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OneCheckTests {
    private static let schema = """
        Item { id: int key, v_int: int8, v_string: string, v_double: double, v_link: link<Item>, v_mixed: mixed,
               l_int: list<int8>, l_string: list<string>, l_double: list<double>, l_link: list<Item>,
               l_mixed: list<mixed>,
               s_int: set<int8>, s_string: set<string>, s_double: set<double>, s_link: set<Item>, s_mixed: set<mixed>,
               m_int: map<int8>, m_string: map<string>, m_double: map<double>, m_link: map<Item>, m_mixed: map<mixed>,
               o_home: link<Home> }
        Other { name: string }
        embedded Home { city: string }
        """

    private struct World {
        let session: Session
        let table: TableKey
        let item: LiveObject
        let other: ObjectLink
        let home: ObjectLink

        func column(_ name: String) throws -> ColumnKey { try item.column(named: name) }

        /// Every way to assign a property's value, and what each refuses it with.
        func refusals(_ name: String, _ value: Value) throws -> [(way: String, error: DatabaseError?)] {
            let column = try column(name)
            let id = try self.column("id")
            return [
                ("set", refusal { try value.withView { view in try item.set(column, to: view) } }),
                ("by name", refusal { try item.set(name, to: value) }),
                (
                    "of a session",
                    refusal {
                        try value.withView { view in try session.set(table, column, item.key, to: view) }
                    }
                ),
                ("many", refusal { try withViews([value]) { try item.setMany([column], values: $0) } }),
                ("updated", refusal { _ = try session.upsert("Item", [("id", .int(1)), (name, value)], .all) }),
                (
                    "if modified",
                    refusal {
                        _ = try session.upsert("Item", [("id", .int(1)), (name, value)], .modified)
                    }
                ),
                (
                    "inserted",
                    refusal {
                        try withViews([.int(77), value]) {
                            _ = try session.insertBatch(
                                table, columns: [id, column], rows: $0.baseAddress, rowCount: 1)
                        }
                    }
                ),
            ]
        }

        /// The same of an element of each kind of collection of such values.
        func refusals(ofElements suffix: String, _ value: Value) throws -> [(way: String, error: DatabaseError?)] {
            let list = try item.list(column("l_" + suffix))
            let set = try item.set(column("s_" + suffix))
            let map = try item.map(column("m_" + suffix))
            return [
                ("append", refusal { try list.append(value) }),
                ("insert", refusal { try value.withView { view in try list.insert(view, at: 0) } }),
                ("list set", refusal { try value.withView { view in try list.set(0, to: view) } }),
                ("list", refusal { try withViews([value]) { try list.assign(Array($0)) } }),
                ("set", refusal { _ = try value.withView { view in try set.insert(view) } }),
                ("whole set", refusal { try withViews([value]) { try set.assign(Array($0)) } }),
                ("put", refusal { _ = try map.put("other", value) }),
                ("put again", refusal { _ = try map.put("key", value) }),
            ]
        }

        private func refusal(_ body: () throws -> Void) -> DatabaseError? {
            do {
                try body()
                return nil
            } catch { return error as? DatabaseError }
        }
    }

    private func open() throws -> World {
        let session = try TestStore(schema: Self.schema).open()
        try session.beginWrite()
        let item = try session.add("Item", ["id": .int(1)])
        for suffix in ["int", "string", "double", "link", "mixed"] {
            let value: Value =
                switch suffix {
                case "int": .int(1)
                case "double": .double(1)
                case "link": .link(item.link)
                default: .string("a")
                }
            try item.list(item.column(named: "l_" + suffix)).append(value)
            _ = try item.map(item.column(named: "m_" + suffix)).put("key", value)
        }
        let home = try item.embeddedPut(item.column(named: "o_home"))
        return World(
            session: session, table: item.table, item: item, other: try session.add("Other").link, home: home.link)
    }

    private func state(_ world: World) throws -> [Value] {
        var values: [Value] = []
        for property in try world.item.type.storedProperties where !property.isCollection {
            values.append(try world.item.get(property.name))
        }
        for property in try world.item.type.storedProperties where property.isCollection {
            let collection = try world.item.collection(property.name)
            for index in 0 ..< (try collection.count()) { values.append(try collection.value(at: index).owned) }
        }
        return values + [.int(Int64(try world.session.objects(world.table).count()))]
    }

    @Test func allWaysRefuseTheSame() throws {
        let world = try open()
        let gone = ObjectLink(table: world.table, key: ObjectKey(999))
        let wrong: [(suffix: String, value: Value, code: ErrorCode)] = [
            ("int", .null, .nullNotAllowed), ("int", .int(128), .overflow), ("int", .string("1"), .wrongType),
            ("int", .double(1), .wrongType), ("string", .null, .nullNotAllowed), ("string", .int(1), .wrongType),
            ("string", .data([1]), .wrongType), ("double", .string("1"), .wrongType),
            ("double", .null, .nullNotAllowed),
            ("link", .link(world.other), .wrongType), ("link", .link(gone), .objectDeleted),
            ("link", .int(1), .wrongType), ("mixed", .link(gone), .objectDeleted),
            ("mixed", .link(world.home), .invalidArgument),
        ]
        let before = try state(world)
        for (suffix, value, code) in wrong {
            let ways = try world.refusals("v_" + suffix, value) + world.refusals(ofElements: suffix, value)
            for (way, error) in ways {
                #expect(error?.code == code, "\(suffix) \(value) \(way): \(String(describing: error))")
                #expect(
                    error?.details.propertyName?.hasSuffix("_" + suffix) ?? (code == .objectDeleted),
                    "\(suffix) \(value) \(way)")
            }
            #expect(try state(world) == before, "\(suffix) \(value)")
        }
    }

    @Test func keysCollectionsAndEmbeddedObjectsAreRefusedTheSame() throws {
        let world = try open()
        let before = try state(world)
        let named = ["set", "by name", "of a session", "many"]
        func check(_ name: String, _ value: Value, _ code: ErrorCode, _ ways: [String]) throws {
            for (way, error) in try world.refusals(name, value) where ways.contains(way) {
                #expect(error?.code == code, "\(name) \(way): \(String(describing: error))")
            }
            #expect(try state(world) == before, "\(name)")
        }
        let id = try world.column("id")
        #expect(code { try world.item.set("id", to: .int(2)) } == .primaryKeyIsFixed)
        #expect(code { try withViews([.int(2)]) { try world.item.setMany([id], values: $0) } } == .primaryKeyIsFixed)
        try check("l_int", .int(1), .wrongType, named + ["updated", "if modified"])
        try check("o_home", .link(ObjectLink(table: world.home.table, key: ObjectKey(9))), .invalidArgument, named)
        try check("o_home", .int(1), .wrongType, named + ["updated", "if modified"])
        // Its own may be assigned to it again, and null takes it away.
        try world.item.set("o_home", to: .link(world.home))
        #expect(try state(world) == before)
        try world.item.set("o_home", to: .null)
        #expect(try world.session.objects(world.home.table).count() == 0)
    }
}
