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

class FoldedGuest: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    override class func indexes() -> [ObjectIndex] {
        [ObjectIndex(.folded("name"), .descending("age")), ObjectIndex(.folded("name", diacritics: true))]
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct ObjectIndexTests {
    @Test func textsWithoutTheirCaseAreFoundByAnIndex() throws {
        let realm = try makeRealm([FoldedGuest.self])
        try realm.write {
            for (name, age) in [("Ada", 3), ("ADA", 1), ("\u{C1}da", 2), ("Bob", 4)] {
                realm.add(FoldedGuest(value: ["name": name, "age": age] as [String: Any]))
            }
        }
        let found = realm.objects(FoldedGuest.self).where { $0.name.equals("aDa", options: .caseInsensitive) }
        #expect(found.sorted(byKeyPath: "age").map(\.age) == [1, 3])
        #expect(found.explain().description.contains("index name ==[c] \"aDa\""))
        let plain = realm.objects(FoldedGuest.self).where {
            $0.name.starts(with: "ADA", options: [.caseInsensitive, .diacriticInsensitive])
        }
        #expect(plain.count == 3)
        #expect(plain.explain().description.contains("index name BEGINSWITH[cd] \"ADA\""))
    }

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
