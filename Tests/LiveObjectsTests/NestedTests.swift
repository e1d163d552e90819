// Lists and maps inside mixed values: read and edited in place, followed, and invalid once replaced.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct NestedTests {
    static let schema = """
        Node { id: int key, any: mixed, list: list<mixed>, map: map<mixed>, links: list<Node> }
        """

    struct World {
        let session: Session
        let node: LiveObject
        let any: ColumnKey

        init() throws {
            session = try TestStore(schema: NestedTests.schema).open()
            let session = session
            node = try session.inWrite { try session.add("Node", ["id": .int(1)]) }
            any = try node.column(named: "any")
        }

        /// Sets the property and opens what is there.
        func put(_ value: Value) throws -> LiveNested {
            try session.inWrite { try node.set("any", to: value) }
            return try #require(try node.nested(any))
        }
    }

    static func map(_ entries: [(String, Value)]) -> Value { .map(entries.map { MapEntry(key: $0.0, value: $0.1) }) }

    @Test func elementsAreReadAndEdited() throws {
        let world = try World()
        let list = try world.put(.list([.int(1), .string("a"), Self.map([("k", .int(5)), ("b", .null)])]))
        #expect(list.kind == .nestedList && !list.isMap)
        #expect(try list.count() == 3 && list.value(at: 1).owned == .string("a"))
        #expect(code { _ = try list.value(at: 3) } == .outOfBounds)
        let map = try #require(try list.nested(at: 2))
        #expect(map.isMap)
        #expect(try map.get("k") == .int(5) && map.get("b") == .null && map.get("none") == nil)
        #expect(code { try list.append(.int(1)) } == .notInWrite)
        try world.session.inWrite {
            try list.append(.double(2.5))
            try list.set(0, to: .int(7))
            try map.put("k", .int(6))
            try map.put("new", .list([]))
            try map.remove("b")
            #expect(code { try list.insert(.null, at: 9) } == .outOfBounds)
            #expect(code { try map.put("a.b", .int(1)) } == .invalidArgument)
            #expect(code { try map.append(.int(1)) } == .wrongType)
            let inner = try #require(try map.nested("new"))
            try inner.append(.bool(true))
        }
        let wanted: Value = .list([
            .int(7), .string("a"), Self.map([("k", .int(6)), ("new", .list([.bool(true)]))]), .double(2.5),
        ])
        #expect(try world.node.get("any") == wanted && list.contents() == wanted)
        #expect(try list.aggregate(.sum) == .decimal(Decimal128(9.5)))
        #expect(try list.sorted(by: "self").value(at: 0).owned == .double(2.5))
        #expect(try list.snapshot().count() == 4)
        let frozen = try #require(try list.freeze() as? LiveNested)
        try world.session.inWrite { try list.clear() }
        #expect(try list.count() == 0 && frozen.contents() == wanted)
    }

    @Test func nested200AreInvalidOnceReplaced() throws {
        let world = try World()
        let list = try world.put(.list([.list([.int(1)]), .list([.int(2)])]))
        let first = try #require(try list.nested(at: 0))
        let second = try #require(try list.nested(at: 1))
        try world.session.beginWrite()
        try list.set(0, to: .list([.int(1)]))
        #expect(!first.isValid && second.isValid && list.isValid)
        #expect(code { _ = try first.count() } == .objectDeleted)
        try list.remove(at: 0)
        #expect(try second.contents() == .list([.int(2)]))
        try list.insert(.null, at: 0)
        try second.append(.int(3))
        try world.session.commit()
        #expect(try world.node.get("any") == .list([.null, .list([.int(2), .int(3)])]))
        #expect(try second.count() == 2 && !first.isValid)
        // Replaced by an equal value all the same.
        try world.session.inWrite { try world.node.set("any", to: try world.node.get("any")) }
        #expect(!list.isValid && !second.isValid)
        let again = try #require(try world.node.nested(world.any))
        try world.session.inWrite { try world.node.delete() }
        #expect(!again.isValid)
    }

    @Test func cancelledWritesPutThingsBack() throws {
        let world = try World()
        let list = try world.put(.list([.int(0), .list([.int(1)])]))
        let inner = try #require(try list.nested(at: 1))
        try world.session.beginWrite()
        try list.insert(.null, at: 0)
        #expect(try inner.count() == 1)
        try list.append(.list([.int(9)]))
        let lost = try #require(try list.nested(at: 3))
        #expect(lost.isValid)
        try world.node.set("any", to: .null)
        #expect(!inner.isValid && !list.isValid)
        try world.session.cancel()
        #expect(try inner.contents() == .list([.int(1)]))
        #expect(list.isValid && !lost.isValid)
        try world.session.inWrite { try inner.append(.int(2)) }
        #expect(try world.node.get("any") == .list([.int(0), .list([.int(1), .int(2)])]))
    }

    @Test func otherSessionsEditsAreFollowed() throws {
        let store = TestStore(schema: Self.schema)
        let session = try store.open()
        let other = try store.open()
        let node = try session.inWrite {
            try session.add("Node", ["id": .int(1), "any": .list([.list([.int(1)]), .list([.int(2)])])])
        }
        let any = try node.column(named: "any")
        let list = try #require(try node.nested(any))
        let first = try #require(try list.nested(at: 0))
        let second = try #require(try list.nested(at: 1))
        try other.refresh()
        let same = try #require(try other.object(node.table, at: node.key)?.nested(any))
        try other.inWrite {
            try same.remove(at: 0)
            try same.insert(.int(0), at: 0)
            try same.insert(.int(1), at: 0)
        }
        #expect(try first.count() == 1 && second.contents() == .list([.int(2)]))
        try session.refresh()
        #expect(!first.isValid)
        #expect(try second.contents() == .list([.int(2)]) && list.count() == 3)
        try session.inWrite { try second.append(.int(3)) }
        try other.refresh()
        #expect(try same.value(at: 2).owned == .list([.int(2), .int(3)]))
    }

    @Test func elementsOfListsAndMapsOfMixedValuesAreFollowed() throws {
        let world = try World()
        let list = try world.node.list(world.node.column(named: "list"))
        let map = try world.node.map(world.node.column(named: "map"))
        try world.session.inWrite {
            try list.append(.list([.int(1)]))
            try list.append(.list([.int(2)]))
            try map.put("a", .list([.int(3)]))
        }
        let first = try #require(try list.nested(at: 0))
        let second = try #require(try list.nested(at: 1))
        let third = try #require(try map.nested(at: 0))
        try world.session.beginWrite()
        try list.move(from: 0, to: 1)
        try first.append(.int(10))
        try list.insert([.null, .null], at: 0)
        try second.append(.int(20))
        try third.append(.int(30))
        #expect(
            try list.allValues == [.null, .null, .list([.int(2), .int(20)]), .list([.int(1), .int(10)])])
        try list.remove(at: 2)
        #expect(!second.isValid && first.isValid)
        try map.put("a", .int(1))
        #expect(!third.isValid)
        try world.session.commit()
        #expect(try first.count() == 2)
        try world.session.inWrite { try list.clear() }
        #expect(!first.isValid)
    }

    @Test func links75InMixedValuesAreObjectsUntilTheyAreDeleted() throws {
        let world = try World()
        let other = try world.session.inWrite { try world.session.add("Node", ["id": .int(2)]) }
        let list = try world.put(.list([.link(other), Self.map([("a", .link(other))])]))
        #expect(try list.object(at: 0)?.key == other.key && list.object(at: 1) == nil)
        let map = try #require(try list.nested(at: 1))
        #expect(try map.object(at: 0)?.key == other.key)
        try world.session.inWrite { try other.delete() }
        #expect(try list.value(at: 0).isNull && map.get("a") == .null)
        try world.session.inWrite {
            try world.node.set("any", to: .link(world.node))
        }
        #expect(try world.node.object(world.any)?.key == world.node.key)
    }
}
