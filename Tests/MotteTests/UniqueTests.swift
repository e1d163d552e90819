// Unique properties as typed classes declare them: refused where a value is taken, nil any number of times, shown by
// the schema.
import Motte
import Testing

class ClubMember: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(unique: true) var mail: String?
    @Persisted(wrappedValue: 7, unique: true) var number: Int
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct UniqueTests {
    @Test func aValueThatAnotherObjectHasIsRefused() throws {
        let realm = try makeRealm([ClubMember.self])
        let property = try #require(realm.schema["ClubMember"]?["mail"])
        #expect(property.isUnique && property.isIndexed)
        try realm.write {
            realm.add(ClubMember(value: ["id": 1, "mail": "a", "number": 1] as [String: Any]))
            realm.add(ClubMember(value: ["id": 2, "number": 2]))
            let third = ClubMember(value: ["id": 3])
            #expect(third.number == 7)
            realm.add(third)
            let messages = misuses { third.mail = "a" }
            #expect(messages.count == 1 && messages[0].contains("object 2 is unique, and object 0 has it"))
            #expect(third.mail == nil)
            #expect(misuses { realm.add(ClubMember(value: ["id": 4])) }.count == 1, "number 7 is taken")
            realm.object(ofType: ClubMember.self, forPrimaryKey: 1)?.mail = nil
            third.mail = "a"
        }
        #expect(realm.objects(ClubMember.self).where { $0.mail == "a" }.map(\.id) == [3])
    }
}
