// What keeps old versions alive, and how little of it there is.
import MotteLiveObjects
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct LiveVersionTests {
    @Test(arguments: TestStore.Kind.allCases)
    func tenThousandFrozenObjectsPinOneVersion(kind: TestStore.Kind) throws {
        let store = TestStore(kind, schema: peopleSchema)
        let session = try store.open()
        let ada = try session.inWrite { try session.add("Person", ["id": .int(1), "name": .string("Ada")]) }
        let tags = try ada.collection("tags")
        var objects: [LiveObject] = []
        var collections: [LiveCollection] = []
        for index in 0 ..< 10_000 {
            objects.append(try ada.freeze())
            if index % 10 == 0 { collections.append(try session.objects("Person").filter("id == 1").freeze()) }
            if index % 10 == 1 { collections.append(try tags.freeze()) }
        }
        #expect(Set(objects.map { ObjectIdentifier($0.session) }).count == 1)
        #expect(Set(collections.map { ObjectIdentifier($0.session) }).count == 1)
        // One for the frozen ones, one for the session that advances.
        for round in 0 ..< 5 { try session.inWrite { try ada.set("name", to: .string("n\(round)")) } }
        #expect(try session.database.pages.liveVersionCount() == 6)
        if kind == .file { #expect(try session.database.pages.readers().count == 2) }
        #expect(try objects[9_999].get("name") == .string("Ada"))
        #expect(try collections[0].count() == 1)
        objects = []
        collections = []
        try session.inWrite { try ada.set("name", to: .string("last")) }
        #expect(try session.database.pages.liveVersionCount() == 1)
    }

    @Test func frozenThingsOfOneVersionShareASessionOnlyOfThatVersion() throws {
        let session = try TestStore(schema: peopleSchema).open()
        let ada = try session.inWrite { try session.add("Person", ["id": .int(1), "age": .int(1)]) }
        let first = try ada.freeze()
        try session.inWrite { try ada.set("age", to: .int(2)) }
        let second = try ada.freeze()
        #expect(first.session !== second.session)
        #expect(try first.get("age") == .int(1) && second.get("age") == .int(2))
        // One that was asked for is the caller's own to close.
        let own = try session.freeze()
        try own.close()
        #expect(try second.get("age") == .int(2) && ada.freeze().get("age") == .int(2))
        // 112: what is reached from something frozen is frozen at the same version.
        #expect(try second.collection("friends").session === second.session)
    }
}
