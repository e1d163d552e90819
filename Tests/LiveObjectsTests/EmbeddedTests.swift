// Embedded objects live and die with their place; numbers are those of the behaviours they show.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct EmbeddedTests {
    static let schema = """
        Person { id: int key, home: link<Address>, places: list<Address>, named: map<Address>, best: link<Person> }
        embedded Address { city: string, tags: list<string>, inner: link<Note>, guest: link<Person> }
        embedded Note { text: string }
        """

    struct World {
        let session: Session
        let ada: LiveObject
        let home: ColumnKey
        let places: LiveList
        let named: LiveMap

        init() throws {
            session = try TestStore(schema: EmbeddedTests.schema).open()
            let session = session
            ada = try session.inWrite { try session.add("Person", ["id": .int(1)]) }
            home = try ada.column(named: "home")
            places = try ada.list(ada.column(named: "places"))
            named = try ada.map(ada.column(named: "named"))
        }

        func count(_ name: String) throws -> Int { try session.objects(name).count() }
    }

    @Test func embedded58GoWhenTheirPlaceIsTaken() throws {
        let world = try World()
        try world.session.beginWrite()
        let first = try world.ada.embeddedPut(world.home)
        try first.set("city", to: .string("Paris"))
        let note = try first.embeddedPut(first.column(named: "inner"))
        #expect(try world.ada.object(world.home)?.get("city") == .string("Paris"))
        let second = try world.ada.embeddedPut(world.home)
        #expect(!first.isValid && !note.isValid && second.isValid)
        #expect(try world.count("Address") == 1 && world.count("Note") == 0)
        #expect(code { _ = try first.get("city") } == .objectDeleted)
        // 56: one that is managed can only stay where it is.
        try world.ada.set("home", to: .link(second))
        #expect(second.isValid)
        let eve = try world.session.add("Person", ["id": .int(2)])
        #expect(code { try eve.set("home", to: .link(second)) } == .invalidArgument)
        #expect(code { try world.places.append(second) } == .invalidArgument)
        // 59: not without a parent.
        #expect(code { _ = try world.session.create(world.session.tableKey("Address")) } == .invalidArgument)
        try world.ada.set("home", to: .null)
        #expect(!second.isValid)
        try world.session.commit()
        #expect(try world.count("Address") == 0)
    }

    @Test func embedded77GoWhenTheyLeaveTheirListOrMap() throws {
        let world = try World()
        try world.session.beginWrite()
        let all = try (0 ..< 4).map { _ in try world.places.embeddedAppend() }
        let inserted = try world.places.embeddedInsert(at: 1)
        #expect(try world.places.keys() == [all[0], inserted, all[1], all[2], all[3]].map(\.key.rawValue))
        try world.places.remove(at: 1)
        #expect(!inserted.isValid)
        try world.places.move(from: 0, to: 3)
        try world.places.swap(0, 1)
        let areValid = all.allSatisfy { $0.isValid }
        #expect(areValid)
        #expect(try world.places.keys() == [all[2], all[1], all[3], all[0]].map(\.key.rawValue))
        let other = try world.places.embeddedSet(at: 0)
        #expect(!all[2].isValid && other.isValid)
        try world.places.clear()
        #expect(!other.isValid && !all[0].isValid)
        // 199: overwriting a map's value invalidates the former one.
        let one = try "a".withUTF8Bytes { bytes throws(DatabaseError) in try world.named.embeddedPut(bytes) }
        let two = try "a".withUTF8Bytes { bytes throws(DatabaseError) in try world.named.embeddedPut(bytes) }
        #expect(!one.isValid && two.isValid)
        try world.named.remove("a")
        #expect(!two.isValid)
        try world.session.commit()
        #expect(try world.count("Address") == 0)
    }

    @Test func embedded76GoWithTheirParent() throws {
        let world = try World()
        let (child, tags, note) = try world.session.inWrite {
            let child = try world.places.embeddedAppend()
            let tags = try child.list(child.column(named: "tags"))
            try tags.append(.string("x"))
            return (child, tags, try child.embeddedPut(child.column(named: "inner")))
        }
        let place = try #require(try child.embeddedPlace())
        #expect(place.owner.key == world.ada.key && place.column == world.places.column && place.position == .int(0))
        #expect(try note.embeddedPlace()?.owner.key == child.key)
        #expect(try world.ada.embeddedPlace() == nil)
        let frozen = try child.freeze()
        try world.session.inWrite { try world.ada.delete() }
        #expect(!child.isValid && !tags.isValid && !note.isValid)
        #expect(try world.count("Address") == 0 && world.count("Note") == 0)
        #expect(code { _ = try tags.count() } == .objectDeleted)
        #expect(try frozen.collection("tags").count() == 1)
        #expect(try frozen.embeddedPlace()?.owner.isValid == true)
    }

    @Test func cancelledEmbeddedObjectsNeverWere() throws {
        let world = try World()
        let kept = try world.session.inWrite { try world.ada.embeddedPut(world.home) }
        try world.session.beginWrite()
        let lost = try world.ada.embeddedPut(world.home)
        #expect(!kept.isValid)
        try world.session.cancel()
        #expect(kept.isValid && !lost.isValid)
        #expect(try world.ada.object(world.home)?.key == kept.key)
    }
}
