// Migrations of classes to and from embedded, and of sets, maps and mixed values.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct CollectionMigrationTests {
    @Test func ordinaryObjectsBecomeEmbedded() throws {
        let ordinary = """
            Person { name: string, home: link<Place>, others: list<Place>, named: map<Place> }
            Place { street: string, tags: set<int>, room: link<Room> }
            Room { number: int }
            """
        let embedded = ordinary.replacing("Place { st", "embedded Place { st").replacing(
            "Room { n", "embedded Room { n")
        let store = try EvolvingStore(.memory, ordinary) { session in
            let rooms = try (0 ..< 3).map { try session.add("Room", ["number": .int(Int64($0))]) }
            let places = try (0 ..< 4).map { number in
                let place = try session.add("Place", ["street": .string("street \(number)")])
                try place.set("room", to: .link(rooms[number % 2]))
                return place
            }
            // Place 0 has two parents, place 1 stands twice in one list, place 2 in a link, place 3 has none.
            let people = try (0 ..< 2).map { try session.add("Person", ["name": .string("P\($0)")]) }
            for person in people { try person.set("home", to: .link(places[0])) }
            let others = try #require(try people[0].collection("others") as? LiveList)
            for number in [1, 1, 2] { try others.append(places[number]) }
        }
        let session = try store.open(embedded, version: 1)
        #expect(try session.objects("Place").count() == 5)
        // Every place has a room of its own; room 2 had no parent.
        #expect(try session.objects("Room").count() == 5)
        let table = try session.tableKey("Person")
        let people = try (0 ..< 2).map { try #require(try session.object(table, at: ObjectKey(Int64($0)))) }
        #expect(try people[0].get("home") != people[1].get("home"))
        #expect(
            try session.objects("Person").filter("home.street == 'street 0' AND home.room.number == 0").count() == 2)
        let streets = try session.objects("Person").filter("ANY others.street == 'street 1'").count()
        #expect(streets == 1)
        #expect(Set(try people[0].collection("others").allValues.map(\.text)).count == 3)
        #expect(try session.committedSnapshot().verify().problems == [])
        try session.inWrite { try people[0].delete() }
        #expect(try session.objects("Place").count() == 1)
        #expect(try session.objects("Room").count() == 1)

        #expect(code { _ = try store.open(ordinary, version: 1) } == .schemaMismatch)
        let back = try store.open(ordinary, version: 2)
        try back.inWrite { try back.add("Place", ["street": .string("alone")]) }
        #expect(try back.objects("Place").count() == 2)
        #expect(try back.committedSnapshot().verify().problems == [])
    }

    /// Whether their class goes, only the property, or the property for another one of its name; what they hold too.
    @Test(arguments: [false, true])
    func embeddedObjectsGoWithWhatHeldThem(hasMixed: Bool) throws {
        let parts = """
            embedded Place { street: string, room: link<Room> }
            embedded Room { number: int }
            Other { any: \(hasMixed ? "mixed" : "int?") }
            """
        let person = "Person { name: string, home: link<Place>, spare: link<Place>, both: link<Place> }\n"
        let store = try EvolvingStore(.file, person + "Club { place: link<Place> }\n" + parts) { session in
            for number in 0 ..< 5 {
                for (name, properties) in [("Person", ["home", "spare", "both"]), ("Club", ["place"])] {
                    let owner = try session.add(name)
                    for property in properties {
                        let place = try owner.embeddedPut(owner.column(named: property))
                        try place.set("street", to: .string("\(property) \(number)"))
                        _ = try place.embeddedPut(place.column(named: "room"))
                    }
                }
            }
        }
        let fewer = "Person { name: string, spare: link<Place>, both: list<Place> }\n"
        let session = try store.open(fewer + parts, version: 1) { $0.migration.deletedTypes = ["Club"] }
        #expect(try session.objects("Place").count() == 5)
        #expect(try session.objects("Room").count() == 5)
        #expect(try session.objects("Place").filter("street BEGINSWITH 'spare'").count() == 5)
        #expect(try session.committedSnapshot().verify().problems == [])
        // The same of a class that goes while the file is open.
        #expect(try session.deleteType("Person"))
        #expect(try session.objects("Place").count() == 0)
        #expect(try session.objects("Room").count() == 0)
        #expect(try session.committedSnapshot().verify().problems == [])
    }

    @Test func circlesCannotBecomeEmbedded() throws {
        let ordinary = "Root { first: link<Node>, second: link<Node> } Node { next: link<Node> }"
        let store = try EvolvingStore(.memory, ordinary) { session in
            let node = try session.add("Node")
            try node.set("next", to: .link(node))
            let root = try session.add("Root")
            try root.set("first", to: .link(node))
        }
        let before = try store.dump()
        let error = #expect(throws: DatabaseError.self) {
            try store.open(ordinary.replacing("Node { n", "embedded Node { n"), version: 1)
        }
        #expect(error?.message.contains("link in circles") == true)
        #expect(try store.dump() == before)
    }

    @Test func circlesWithoutAnOwnerCannotBecomeEmbeddedEither() throws {
        let ordinary = "Root { first: link<Node> } Node { next: link<Node> }"
        for length in 1 ... 3 {
            let store = try EvolvingStore(.memory, ordinary) { session in
                let nodes = try (0 ..< length).map { _ in try session.add("Node") }
                for (number, node) in nodes.enumerated() {
                    try node.set("next", to: .link(nodes[(number + 1) % length]))
                }
            }
            let before = try store.dump()
            let error = #expect(throws: DatabaseError.self) {
                try store.open(ordinary.replacing("Node { n", "embedded Node { n"), version: 1)
            }
            #expect(error?.message.contains("link in circles") == true)
            #expect(try store.dump() == before)
        }
    }

    @Test func whatMixedValuesLinkToCannotBecomeEmbedded() throws {
        let ordinary = "Root { first: link<Node>, anything: list<mixed> } Node { n: int }"
        let store = try EvolvingStore(.memory, ordinary) { session in
            let node = try session.add("Node"), orphan = try session.add("Node")
            let root = try session.add("Root")
            try root.set("first", to: .link(node))
            let list = try root.list(root.column(named: "anything"))
            // Of what goes anyway nothing is left.
            try list.append(.list([.link(orphan.link)]))
            try list.append(.map([MapEntry(key: "a", value: .link(node.link))]))
        }
        let before = try store.dump(), later = ordinary.replacing("Node { n", "embedded Node { n")
        let error = #expect(throws: DatabaseError.self) { try store.open(later, version: 1) }
        #expect(error?.message.contains("Root.anything links to objects of it") == true)
        #expect(try store.dump() == before)
    }

    /// What is not declared stays in the file, and has to be sound there.
    @Test func setsOfClassesThatAreNotDeclaredStayValid() throws {
        let ordinary = "Root { first: link<Node> } Node { n: int }", other = "\nOther { name: string, s: set<Node> }"
        let store = try EvolvingStore(.memory, ordinary + other) { session in
            try session.add("Root").set("first", to: .link(session.add("Node").link))
            _ = try session.add("Other")
        }
        let before = try store.dump(), later = ordinary.replacing("Node { n", "embedded Node { n")
        let error = #expect(throws: DatabaseError.self) { try store.open(later, version: 1) }
        #expect(error?.code == .invalidArgument && error?.message.contains("Other.s is a set of its objects") == true)
        #expect(try store.dump() == before)
        let session = try store.open(later, version: 1) { $0.migration.deletedTypes = ["Other"] }
        #expect(try session.objects("Node").count() == 1)
        #expect(try session.committedSnapshot().verify().problems == [])
    }

    @Test func classesThatAreNotDeclaredKeepAProperty() throws {
        let kept = "Kept { n: int }", others = "\nHolder { part: link<Part> } Part { n: int }"
        let store = try EvolvingStore(.memory, kept + others) { session in _ = try session.add("Holder") }
        let before = try store.dump()
        let error = #expect(throws: DatabaseError.self) {
            try store.open(kept, version: 1) { $0.migration.deletedTypes = ["Part"] }
        }
        #expect(error?.code == .schemaInvalid)
        #expect(try store.dump() == before)
        let session = try store.open(kept, version: 1) { $0.migration.deletedTypes = ["Part", "Holder"] }
        #expect(try session.committedSnapshot().verify().problems == [])
    }

    @Test func copiesHaveIntsThatNoLongerFit() throws {
        let ordinary = "Root { first: link<Node>, second: link<Node> } Node { n: int, all: list<int> }"
        let store = try EvolvingStore(.memory, ordinary) { session in
            let node = try session.add("Node", ["n": .int(300)])
            try node.list(node.column(named: "all")).append(.int(1 << 40))
            let root = try session.add("Root")
            for name in ["first", "second"] { try root.set(name, to: .link(node.link)) }
        }
        let narrow = ordinary.replacing("Node { n: int, all: list<int>", "embedded Node { n: int8, all: list<int8>")
        let session = try store.open(narrow, version: 1)
        #expect(try session.objects("Node").filter("n == 300 AND ANY all == 1099511627776").count() == 2)
    }

    /// Chains of any length: without an owner they go, with two the second gets a copy.
    @Test(arguments: [3, 300]) func chainsBecomeEmbedded(length: Int) throws {
        let ordinary = "Root { first: link<Node>, second: link<Node> } Node { n: int, next: link<Node> }"
        let store = try EvolvingStore(.memory, ordinary) { session in
            func chain() throws -> LiveObject {
                var next: LiveObject?
                for number in 0 ..< length {
                    let node = try session.add("Node", ["n": .int(Int64(number))])
                    if let next { try node.set("next", to: .link(next)) }
                    next = node
                }
                return try #require(next)
            }
            _ = try chain()
            let shared = try chain()
            let root = try session.add("Root")
            try root.set("first", to: .link(shared))
            try root.set("second", to: .link(shared))
        }
        let session = try store.open(ordinary.replacing("Node { n", "embedded Node { n"), version: 1)
        #expect(try session.objects("Node").count() == 2 * length)
        #expect(try session.objects("Node").filter("n == 0").count() == 2)
        #expect(try session.committedSnapshot().verify().problems == [])
    }

    @Test func collectionsOfEveryKindMigrate() throws {
        let schema = """
            Thing { name: string, words: set<string>, counts: map<int>, anything: mixed, many: list<mixed>,
                    price: decimal, token: uuid, links: map<Thing>, gone: map<string> }
            """
        let store = try EvolvingStore(.file, schema) { session in
            for number in 0 ..< 9 {
                let thing = try session.add("Thing", ["name": .string("t\(number)")])
                try thing.set("anything", to: .link(thing))
                let write = try session.requireWrite()
                for (name, value) in [("counts", Value.int(Int64(number))), ("gone", .string("x"))] {
                    let column = try thing.column(named: name)
                    try "key".withUTF8Bytes { key in
                        _ = try typed {
                            try value.withView { try write.mapPut(thing.table, column, thing.key, key, $0) }
                        }
                    }
                }
                let words = try thing.column(named: "words")
                for word in ["b", "a"] {
                    _ = try typed {
                        try Value.string(word).withView { try write.setInsert(thing.table, words, thing.key, $0) }
                    }
                }
            }
        }
        let session = try store.open(
            """
            Thing { anything: mixed indexed, numbers: map<int?>, words: set<string>, name: string, many: list<mixed>,
                    price: decimal?, token: uuid indexed, links: map<Thing> }
            """, version: 1
        ) {
            $0.migration.renames.renameProperty(of: "Thing", from: "counts", to: "numbers")
        }
        let table = try session.tableKey("Thing")
        let view = try session.table(table)
        let type = try #require(try session.schema["Thing"])
        let numbers = try #require(type.property(named: "numbers")?.columnKey)
        for number in 0 ..< 9 {
            let key = ObjectKey(Int64(number))
            #expect(try view.listElement(numbers, key, 0).owned == .int(Int64(number)))
            #expect(try "key".withUTF8Bytes { name in try typed { try view.mapFind(numbers, key, name) } } == 0)
        }
        #expect(type.properties.map(\.name).prefix(3) == ["anything", "numbers", "words"])
        #expect(try session.database.strayPages() == [])
        #expect(try session.committedSnapshot().verify().problems == [])
        // Mixed values may link to a class that goes.
        let other = try store.open("Other { anything: mixed }", version: 2)
        let pointing = try other.inWrite {
            try other.add("Other", ["anything": .link(ObjectLink(table: table, key: ObjectKey(3)))])
        }
        let last = try store.open("Other { anything: mixed }", version: 3) { $0.migration.deletedTypes = ["Thing"] }
        #expect(try last.schema["Thing"] == nil)
        #expect(try last.object(pointing.table, at: pointing.key)?.get("anything") == .null)
        #expect(try last.database.strayPages() == [])
        #expect(try last.committedSnapshot().verify().problems == [])
    }
}
