// The numbered behaviours of the semantics list that concern values: mixed ones, sets, maps, dates, numbers, texts, and
// access by name. Numbers are in the names.
import Foundation
import Motte
import Testing

class Übung: Object {
    @Persisted(primaryKey: true) var größe: Int
    @Persisted var 名前: String
}

@Suite(.serialized) struct ValueRulesTests {
    private func fresh() throws -> Realm {
        try makeRealm([Everything.self, Place.self, Spot.self, Bare.self, BareHolder.self, Chest.self, Badge.self])
    }

    private func everything(_ realm: Realm, _ values: [String: Any] = [:]) throws -> Everything {
        try realm.write { realm.create(Everything.self, value: values) }
    }

    private func spots(_ realm: Realm) -> Int { realm.dynamicObjects("Spot").count }

    // MARK: Mixed values

    /// In ascending order; those of one row are the same place in it.
    private var order: [[AnyRealmValue]] {
        [
            [.none], [.bool(false)], [.bool(true)], [.double(.nan)], [.int(.min)], [.double(-1.5)],
            [.int(0), .double(0), .decimal128(0), .float(0)], [.float(0.5), .double(0.5)],
            [.double(9_007_199_254_740_992)], [.int(9_007_199_254_740_993)], [.int(.max)], [.double(.infinity)],
            [.string("")], [.string("a")], [.data(Data())], [.data(Data("a".utf8))],
            [.date(Date(timeIntervalSince1970: -1))], [.date(Date(timeIntervalSince1970: 0))],
            [.objectId(ObjectId("000000000000000000000001"))],
            [.uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)))],
        ]
    }

    @Test func rule187MixedValuesHaveOneOrder() throws {
        let realm = try fresh()
        let object = try everything(realm)
        let ordered = order.compactMap(\.first)
        try realm.write { object.anys.append(objectsIn: ordered.reversed()) }
        let sorted = Array(object.anys.sorted())
        #expect(sorted.count == ordered.count)
        for (index, (value, wanted)) in zip(sorted, ordered).enumerated() {
            // NaN is not equal to itself.
            #expect(value == wanted || (value.doubleValue?.isNaN == true && index == 3), "\(index): \(value)")
        }
        try realm.write {
            object.anys.removeAll()
            object.anys.append(objectsIn: order.flatMap { $0 })
        }
        #expect(object.anys.distinct().count == order.count, "191: equal numbers are one")
        #expect(object.anys.filter("SELF == 0").count == 4 && object.anys.filter("SELF == 'a'").count == 1)
    }

    @Test func rule89NestedCollectionsAreThemselves() throws {
        let realm = try fresh()
        let values: [AnyRealmValue] = [.int(1), .string("a")]
        let (one, two) = (try everything(realm), try everything(realm))
        try realm.write {
            one.any = .fromArray(values)
            two.any = .fromArray(values)
        }
        #expect(one.any == one.any && one.any != two.any, "managed: which one it is")
        #expect(AnyRealmValue.fromArray(values) == .fromArray(values), "unmanaged: what is in it")
        #expect(AnyRealmValue.fromDictionary(["a": 1]) != .fromDictionary(["a": 2]))
    }

    // MARK: Sets and maps

    @Test func rules190To193Sets() throws {
        let realm = try fresh()
        let object = try everything(realm, ["set": [3, 1, 2]])
        let other = try everything(realm, ["set": [2, 3, 4]])
        try realm.write {
            object.set.insert(2)
            object.friendSet.insert(objectsIn: [other, other, object])
        }
        #expect(object.set.count == 3 && Array(object.set) == [1, 2, 3] && object.friendSet.count == 2)
        let same = realm.object(ofType: Everything.self, forPrimaryKey: other._id)
        #expect(same.map { object.friendSet.contains($0) } == true, "the same row")
        #expect(object.set.intersects(other.set) && !object.set.isSubset(of: other.set))
        #expect(misuses { object.set.formUnion(other.set) }.count == 1, "needs a write")
        try realm.write {
            object.set.formIntersection(other.set)
            #expect(Array(object.set) == [2, 3])
            object.set.formUnion(other.set)
            object.set.subtract(other.set)
            #expect(object.set.isEmpty)
            let unmanaged = MutableSet<Int>()
            unmanaged.insert(9)
            object.set.formUnion(unmanaged)
            #expect(Array(object.set) == [9], "also with an unmanaged one")
        }
        let (left, right) = (MutableSet<Int>(), MutableSet<Int>())
        left.insert(objectsIn: [1, 2])
        right.insert(objectsIn: [2, 3])
        left.formUnion(right)
        #expect(Set(left) == [1, 2, 3])
    }

    @Test func rules82And199PropertyObjectsAndEmbeddedValues() throws {
        let realm = try fresh()
        var list: List<Int>
        var number: RealmProperty<Int?>
        do {
            let bare = try realm.write { realm.create(Bare.self, value: ["name": "b", "list": [1, 2]]) }
            (list, number) = (bare.list, bare.number)
            withExtendedLifetime(bare) {}
        }
        try realm.write { list.append(3) }
        #expect(Array(list) == [1, 2, 3] && Array(realm.objects(Bare.self)[0].list) == [1, 2, 3], "82")
        number = RealmProperty<Int?>()
        number.value = 4
        #expect(number.value == 4)
        let badge = try realm.write { realm.create(Badge.self, value: ["id": "a", "points": ["k": ["x": 1]]]) }
        // One is that of `point`.
        #expect(spots(realm) == 2)
        try realm.write { badge.points["k"] = Point(x: 7, y: 8) }
        #expect(badge.points["k"] == Point(x: 7, y: 8) && spots(realm) == 2, "199: the former is gone")
        try realm.write { badge.points["k"] = nil }
        #expect(badge.points.isEmpty && spots(realm) == 1)
    }

    @Test func rule88CollectionsAreEqualWhenTheyAreOne() throws {
        let realm = try fresh()
        let (one, two) = (try everything(realm, ["ints": [1]]), try everything(realm, ["ints": [1]]))
        let again = try #require(realm.object(ofType: Everything.self, forPrimaryKey: one._id))
        #expect(one.ints == again.ints && one.ints !== again.ints && one.ints != two.ints && one.set != two.set)
        let (first, second) = (List<Int>(), List<Int>())
        first.append(1)
        second.append(1)
        #expect(first == second)
    }

    // MARK: Dates, numbers, texts

    @Test func rules246To248DatesAndNumbers() throws {
        let realm = try fresh()
        let object = try everything(realm)
        for seconds in [0, -0.25, 1_700_000_000.123456, -62_135_769_600, 1e-9] {
            let date = Date(timeIntervalSince1970: seconds)
            try realm.write { object.date = date }
            #expect(object.date == date, "\(seconds)")
        }
        let now = Date()
        try realm.write {
            object.date = now
            object["float"] = 16_777_217
            object.int64 = .max
            object.int8 = -128
        }
        #expect(object.date == now && object.float == 16_777_216 && object.int64 == .max && object.int8 == -128)
        #expect(object["int8"] as? Int8 == -128 || object["int8"] as? Int == -128)
        let dynamic = try #require(realm.dynamicObjects("Everything").first)
        #expect(dynamic["int64"] as? Int == Int(Int64.max) && dynamic["int8"] as? Int == -128, "247")
        for strange in [Date(timeIntervalSince1970: .infinity), .distantFuture, .distantPast] {
            try realm.write { object.date = strange }
            #expect(object.date.timeIntervalSince1970.isFinite)
        }
    }

    @Test func rule252NamesAndTextsOfAnyScript() throws {
        let realm = try makeRealm([Übung.self])
        let text = "nul \0 in it, 👩‍👩‍👧, e\u{301}"
        try realm.write { realm.create(Übung.self, value: ["größe": 3, "名前": text]) }
        let found = realm.objects(Übung.self).filter("größe == 3 AND 名前 CONTAINS '👩‍👩‍👧'")
        #expect(found.first?.名前.utf8.elementsEqual(text.utf8) == true && found.where { $0.名前 == text }.count == 1)
        #expect(realm.schema["Übung"]?["名前"]?.type == .string)
    }

    // MARK: By name

    @Test func rules49And298And299ByName() throws {
        let realm = try fresh()
        let object = try everything(
            realm, ["heat": Celsius(degrees: 5), "even": 4, "mood": "angry", "ints": [1, 2]])
        #expect(object.heat == Celsius(degrees: 5) && object.even?.value == 4, "49")
        #expect(object["heat"] as? Celsius == Celsius(degrees: 5) && object["mood"] as? Mood == .angry)
        try realm.write {
            object["heat"] = 7.5
            object.setValue(Celsius(degrees: 8), forKey: "heat")
            object["even"] = Even(persistedValue: 6)
        }
        #expect(object.heat.degrees == 8 && object.even?.value == 6)
        let dynamic = try #require(realm.dynamicObjects("Everything").first)
        #expect(dynamic["heat"] as? Double == 8 && dynamic["mood"] as? String == "angry", "raw")
        let friend = try everything(realm, ["friend": object])
        #expect((object["admirers"] as? LinkingObjects<Everything>)?.map(\._id) == [friend._id])
        #expect(misuses { _ = object["nothing"] }.count == 1)
        try realm.write {
            object.setValue(nil, forKey: "ints")
            #expect(misuses { object["admirers"] = nil }.count == 1)
        }
        #expect(object.ints.isEmpty, "299")
    }

    @Test func rules243And266DistinctAndOptionals() throws {
        let realm = try fresh()
        try realm.write {
            for (id, name) in ["a", "b", "a", "c"].enumerated() {
                let mood = name == "c" ? "angry" : "calm"
                realm.create(Badge.self, value: ["id": "\(id)", "mood": mood, "number": id % 2])
            }
        }
        let badges = realm.objects(Badge.self).sorted(byKeyPath: "id")
        #expect(badges.distinct(by: ["mood", "number"]).map(\.id) == ["0", "1", "3"])
        #expect(badges.distinct(by: ["number"]).distinct(by: ["mood"]).map(\.id) == ["0"], "243: one after the other")
        #expect(realm.schema["Badge"]?["optionalMood"]?.isOptional == true)
    }
}
