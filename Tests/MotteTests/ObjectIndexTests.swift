// Indexes of several properties as typed classes declare them: in the schema under the names of the file, and kept.
import Motte
import Testing

class IndexedGuest: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var town: String?
    @Persisted var age = 0
    override class func propertiesMapping() -> [String: String] { ["town": "city"] }
    override class func indexes() -> [ObjectIndex] {
        [ObjectIndex("town", .descending("age")), .unique("town", .ascending("age"))]
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct ObjectIndexTests {
    @Test func twoWithTheSameValuesAreRefused() throws {
        let realm = try makeRealm([IndexedGuest.self])
        try realm.write {
            realm.add(IndexedGuest(value: ["id": 1, "town": "Rome", "age": 30] as [String: Any]))
            realm.add(IndexedGuest(value: ["id": 2, "town": "Rome", "age": 31] as [String: Any]))
            let third = IndexedGuest(value: ["id": 3, "town": "Rome", "age": 32] as [String: Any])
            realm.add(third)
            let messages = misuses { third.age = 31 }
            #expect(messages.count == 1 && messages[0].contains("object 2 is unique, and object 1 has it"))
            #expect(third.age == 32)
        }
        let found = realm.objects(IndexedGuest.self).where { $0.town == "Rome" && $0.age > 30 }
        #expect(found.map(\.id) == [2, 3])
    }
}
