// Change sets of sets, maps, embedded objects and collections nested in mixed values.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct NewCollectionTests {
    static let schema = """
        Box { id: int key, ints: set<int>, things: set<Thing>, names: map<string>, best: map<Thing>, any: mixed,
              home: link<Part>, parts: list<Part> }
        Thing { id: int key, rank: int }
        embedded Part { name: string }
        """

    struct World {
        let session: Session
        let box: LiveObject
        let things: [LiveObject]

        init() throws {
            session = try TestStore(schema: NewCollectionTests.schema).open()
            let session = session
            box = try session.inWrite { try session.add("Box", ["id": .int(1)]) }
            things = try session.inWrite { try (0 ..< 4).map { try session.add("Thing", ["id": .int(Int64($0))]) } }
        }

        func map(_ name: String) throws -> LiveMap { try box.map(box.column(named: name)) }
        func set(_ name: String) throws -> LiveSet { try box.set(box.column(named: name)) }

        func notified(_ token: Observation, _ body: () throws -> Void) throws -> String? {
            try session.inWrite(body)
            return try token.pull()?.short
        }
    }

    @Test func sets148TellPositions() throws {
        let world = try World()
        let ints = try world.set("ints")
        let token = try ints.observe()
        _ = try token.pull()
        let first = try world.notified(token) { for value in [5, 1, 9] { try ints.put(.int(Int64(value))) } }
        #expect(first == "+[0, 1, 2]")
        #expect(try world.notified(token) { try ints.put(.int(5)) } == nil)
        let second = try world.notified(token) {
            try ints.drop(.int(1))
            try ints.put(.int(7))
        }
        #expect(second == "-[0] +[1]")
        let things = try world.set("things")
        let objects = try things.observe()
        _ = try objects.pull()
        try world.session.inWrite { for thing in world.things { try things.put(.link(thing)) } }
        _ = try objects.pull()
        #expect(try world.notified(objects) { try world.things[2].set("rank", to: .int(3)) } == "~[2]~[2]")
        #expect(try world.notified(objects) { try world.things[0].delete() } == "-[0]")
        #expect(try world.notified(objects) { try world.box.delete() } == "deleted -[0, 1, 2]")
    }

    @Test func linksInMixedValuesModifyTheirHolder() throws {
        let world = try World()
        let boxes = try world.session.objects("Box").observe()
        _ = try boxes.pull()
        // Nothing links there yet.
        #expect(try world.notified(boxes) { try world.things[1].set("rank", to: .int(1)) } == nil)
        let link = Value.link(ObjectLink(table: world.things[1].table, key: world.things[1].key))
        let nested = Value.list([.int(1), .map([MapEntry(key: "k", value: link)])])
        #expect(try world.notified(boxes) { try world.box.set("any", to: nested) } == "~[0]~[0]")
        #expect(try world.notified(boxes) { try world.things[1].set("rank", to: .int(2)) } == "~[0]~[0]")
        #expect(try world.notified(boxes) { try world.things[2].set("rank", to: .int(2)) } == nil)
        #expect(try world.notified(boxes) { try world.box.set("any", to: .null) } == "~[0]~[0]")
        #expect(try world.notified(boxes) { try world.things[1].set("rank", to: .int(3)) } == nil)
    }

    @Test func maps146TellKeys() throws {
        let world = try World()
        let names = try world.map("names")
        let token = try names.observe()
        _ = try token.pull()
        let first = try world.notified(token) { for key in ["b", "d"] { try names.put(key, .string("x")) } }
        #expect(first == "+[0, 1] keys -[]+[\"b\", \"d\"]~[]")
        // An equal value is a modification too.
        #expect(try world.notified(token) { try names.put("d", .string("x")) } == "~[1]~[1] keys -[]+[]~[\"d\"]")
        let second = try world.notified(token) {
            try names.put("a", .string("1"))
            try names.remove("b")
            try names.put("d", .string("y"))
        }
        #expect(second == "-[0] +[0] ~[1]~[1] keys -[\"b\"]+[\"a\"]~[\"d\"]")
        let none = try world.notified(token) {
            try names.put("z", .string("1"))
            try names.remove("z")
        }
        #expect(none == nil)
        // Two commits at once: a key that goes and returns is modified.
        let later = try names.observe()
        _ = try later.pull()
        try world.session.inWrite { try names.remove("d") }
        try world.session.inWrite { try names.put("d", .string("z")) }
        #expect(try later.pull()?.short == "~[1]~[1] keys -[]+[]~[\"d\"]")
    }

    @Test func maps147TellOfDeletedObjects() throws {
        let world = try World()
        let best = try world.map("best")
        try world.session.inWrite {
            for (index, key) in ["a", "b", "c"].enumerated() { try best.put(key, .link(world.things[index])) }
        }
        let token = try best.observe()
        _ = try token.pull()
        #expect(try world.notified(token) { try world.things[1].delete() } == "~[1]~[1] keys -[]+[]~[\"b\"]")
        let changed = try world.notified(token) { try world.things[2].set("rank", to: .int(1)) }
        #expect(changed == "~[2]~[2] keys -[]+[]~[\"c\"]")
        #expect(try world.notified(token) { try world.box.delete() } == "deleted -[0, 1, 2]")
    }

    @Test func embeddedObjectsAreObserved() throws {
        let world = try World()
        let boxes = try world.session.objects("Box").observe()
        _ = try boxes.pull()
        let home = try world.box.column(named: "home")
        let part = try world.session.inWrite { try world.box.embeddedPut(home) }
        _ = try boxes.pull()
        let token = try part.observe()
        let parts = try world.box.list(world.box.column(named: "parts"))
        let list = try parts.observe()
        _ = try list.pull()
        let changes = try world.notified(token) { try part.set("name", to: .string("x")) }
        #expect(changes?.hasPrefix("properties") == true)
        // A change of what is embedded is a change of the parent.
        #expect(try boxes.pull()?.short == "~[0]~[0]")
        try world.session.inWrite { for _ in 0 ..< 3 { _ = try parts.embeddedAppend() } }
        #expect(try list.pull()?.short == "+[0, 1, 2]")
        try world.session.inWrite { try parts.object(at: 1)?.set("name", to: .string("y")) }
        #expect(try list.pull()?.short == "~[1]~[1]")
        try world.session.inWrite { try parts.remove(at: 0) }
        #expect(try list.pull()?.short == "-[0]")
        // 76: the child's token ends with the parent.
        #expect(try world.notified(token) { try world.box.delete() } == "deleted")
        #expect(token.hasEnded)
        #expect(try list.pull()?.short == "deleted -[0, 1]")
    }

    @Test func nestedListsAndMapsAreObserved() throws {
        let world = try World()
        func map(_ entries: [(String, Value)]) -> Value { .map(entries.map { MapEntry(key: $0.0, value: $0.1) }) }
        try world.session.inWrite {
            try world.box.set("any", to: .list([.int(1), map([("a", .int(1)), ("b", .list([]))])]))
        }
        let list = try #require(try world.box.nested(world.box.column(named: "any")))
        let inner = try #require(try list.nested(at: 1))
        let object = try world.box.observe()
        let outer = try list.observe()
        let token = try inner.observe()
        _ = try outer.pull()
        _ = try token.pull()
        #expect(try world.notified(outer) { try list.insert(.null, at: 0) } == "+[0]")
        #expect(try token.pull() == nil)
        #expect(try object.pull()?.properties.count == 1)
        let keys = try world.notified(token) {
            try inner.put("a", .int(1))
            try inner.put("c", .int(2))
            try list.remove(at: 0)
        }
        #expect(keys == "+[2] ~[0]~[0] keys -[]+[\"c\"]~[\"a\"]")
        #expect(try outer.pull()?.short == "-[0] ~[2]~[1]")
        // Further in: the element that leads there is modified.
        let deepest = try #require(try inner.nested("b"))
        #expect(try world.notified(token) { try deepest.append(.int(5)) } == "~[1]~[1] keys -[]+[]~[\"b\"]")
        _ = try outer.pull()
        #expect(try world.notified(token) { try inner.clear() }?.hasPrefix("-[0, 1, 2]") == true)
        _ = try outer.pull()
        #expect(try world.notified(outer) { try list.set(1, to: .null) } == "~[1]~[1]")
        #expect(try token.pull()?.short == "deleted")
        #expect(token.hasEnded)
        #expect(try world.notified(outer) { try world.box.set("any", to: .list([])) } == "deleted -[0, 1]")
    }
}
