// The numbered behaviours of the semantics list that concern limits: how large, how deep, what may be put where.
// Numbers are in the names.
import Foundation
import Motte
import Testing

@Suite(.serialized) struct LimitRulesTests {
    private func fresh() throws -> Realm { try makeRealm([Everything.self, Place.self, Spot.self]) }

    private func everything(_ realm: Realm, _ values: [String: Any] = [:]) throws -> Everything {
        try realm.write { realm.create(Everything.self, value: values) }
    }

    @Test func rule194SetsHoldNothingNested() throws {
        // Of embedded objects none compiles; by value, a set is no mixed value.
        let realm = try fresh()
        let object = try everything(realm)
        try realm.write { object.any = .fromArray([.int(1)]) }
        #expect(misuses { try? realm.write { object["any"] = object.set } }.count == 1)
        #expect(object.any.listValue?.count == 1, "and nothing was changed")
    }

    @Test func rules200And201NestedCollections() throws {
        let realm = try fresh()
        let (one, two) = (try everything(realm), try everything(realm))
        func nested(_ levels: Int) -> AnyRealmValue {
            (1 ..< levels).reduce(AnyRealmValue.fromArray([.int(7)])) { value, _ in .fromArray([value]) }
        }
        try realm.write { one.any = nested(100) }
        var (depth, value) = (0, one.any)
        while let list = value.listValue { (depth, value) = (depth + 1, list[0]) }
        #expect(depth == 100 && value == .int(7))
        #expect(misuses { try? realm.write { one.any = nested(101) } }.count == 1)
        #expect(one.any.listValue?.count == 1, "what was there stays")

        // A new collection takes the place of the old one, whose accessors end.
        try realm.write { one.any = .fromDictionary(["a": .fromArray([.int(1)]), "b": .int(2)]) }
        let old = try #require(one.any.dictionaryValue)
        try realm.write { one.any = .fromDictionary(["c": .int(3)]) }
        #expect(old.isInvalidated || old.keys == ["c"])
        #expect(one.any.dictionaryValue?.keys == ["c"])

        // 201: a managed one that is put elsewhere is copied.
        try realm.write {
            one.any = .fromArray([.fromArray([.int(5)])])
            if let inner = one.any.listValue?[0] { two.any = inner }
        }
        try realm.write { one.any.listValue?[0].listValue?.append(.int(6)) }
        #expect(two.any.listValue.map { Array($0) } == [.int(5)])
    }

    @Test func rule202ObjectsOfClassesThatAreNotOpened() throws {
        let url = temporaryURL()
        let id = try inAThread {
            let realm = try makeRealm([Everything.self, Place.self, Spot.self, Note.self], url: url)
            return try realm.write { () -> ObjectId in
                let note = realm.create(Note.self, value: ["id": 4, "text": "t"])
                return realm.create(Everything.self, value: ["any": AnyRealmValue.object(note)])._id
            }
        }
        let realm = try makeRealm([Everything.self, Place.self, Spot.self], url: url)
        let object = try #require(realm.object(ofType: Everything.self, forPrimaryKey: id))
        let note = try #require(object.any.dynamicObject)
        #expect(note["text"] as? String == "t" && note.objectSchema.className == "Note")
    }

    @Test func rule244LargeValues() throws {
        let realm = try fresh()
        let object = try everything(realm)
        let data = Data(count: 16_777_200), text = String(repeating: "a", count: 16_777_199)
        try realm.write { (object.data, object.string) = (data, text) }
        #expect(object.data.count == data.count && object.string.utf8.count == text.utf8.count)
        realm.beginWrite()
        let messages = misuses {
            object.data = data + [1]
            object.string = text + "a"
            realm.add(Everything(value: ["data": data + [1]]))
        }
        #expect(messages.count == 3 && messages.allSatisfy { $0.contains("1677720") || $0.contains("16777199") })
        #expect(object.data.count == data.count && realm.objects(Everything.self).count == 1, "nothing is cut")
        realm.cancelWrite()
    }

    @Test func rules229And300NamesOfThePublicAndTypedDynamicLists() throws {
        let realm = try makeRealm([ViewedPerson.self, ViewedAddress.self, Everything.self, Place.self, Spot.self])
        let object = try everything(realm, ["ints": [1, 2]])
        try realm.write { object.friends.append(object) }
        let dynamic = try #require(realm.dynamicObjects("Everything").first)
        #expect((dynamic["ints"] as? List<Int>).map { Array($0) } == [1, 2])
        #expect(object.dynamicList("friends").first?["int"] as? Int == 1)
        #expect(realm.objects(ViewedPerson.self).filter("birthYear > 3").isEmpty, "229: the program's name")
    }
}
