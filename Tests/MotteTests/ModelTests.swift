// Models of every type: defaults, adding, reading back, updating, by name, embedded objects, enums and custom types.
import Foundation
import Motte
import Testing

enum Mood: String, PersistableEnum { case calm, angry }
enum Rank: Int, PersistableEnum { case low = 1, high = 7 }

struct Celsius: CustomPersistable, Equatable {
    typealias PersistedType = Double
    var degrees: Double
    init(degrees: Double) { self.degrees = degrees }
    init(persistedValue: Double) { degrees = persistedValue }
    var persistableValue: Double { degrees }
}

struct Even: FailableCustomPersistable, Equatable {
    typealias PersistedType = Int
    var value: Int
    init?(persistedValue: Int) {
        guard persistedValue % 2 == 0 else { return nil }
        value = persistedValue
    }
    var persistableValue: Int { value }
}

class Place: EmbeddedObject {
    @Persisted var city: String
    @Persisted var lines: List<String>
    @Persisted var nested: Spot?
}

class Spot: EmbeddedObject {
    @Persisted var x = 0
    @Persisted var y = 0
}

struct Point: CustomPersistable, Equatable {
    typealias PersistedType = Spot
    var x: Int
    var y: Int
    init(x: Int, y: Int) {
        self.x = x
        self.y = y
    }
    init(persistedValue: Spot) { self.init(x: persistedValue.x, y: persistedValue.y) }
    var persistableValue: Spot { Spot(value: ["x": x, "y": y]) }
}

class Everything: Object {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted var flag = true
    @Persisted var int = 1
    @Persisted var int8: Int8 = 2
    @Persisted var int16: Int16 = 3
    @Persisted var int32: Int32 = 4
    @Persisted var int64: Int64 = 5
    @Persisted var float: Float = 1.5
    @Persisted var double = 2.5
    @Persisted(indexed: true) var string = "s"
    @Persisted var data = Data([1])
    @Persisted var date = Date(timeIntervalSince1970: 1)
    @Persisted var decimal: Decimal128 = 3
    @Persisted var uuid = UUID()
    @Persisted var mood = Mood.calm
    @Persisted var rank: Rank?
    @Persisted var heat = Celsius(degrees: 20)
    @Persisted var even: Even? = nil
    @Persisted var optionalInt: Int?
    @Persisted var optionalString: String?
    @Persisted var optionalDate: Date?
    @Persisted var optionalDecimal: Decimal128?
    @Persisted var any: AnyRealmValue
    @Persisted var place: Place?
    @Persisted var point: Point?
    @Persisted var friend: Everything?
    @Persisted var ints: List<Int>
    @Persisted var optionalStrings: List<String?>
    @Persisted var moods: List<Mood>
    @Persisted var places: List<Place>
    @Persisted var friends: List<Everything>
    @Persisted var set: MutableSet<Int>
    @Persisted var friendSet: MutableSet<Everything>
    @Persisted var map: Map<String, Int>
    @Persisted var friendMap: Map<String, Everything?>
    @Persisted var anys: List<AnyRealmValue>
    @Persisted(originProperty: "friend") var admirers: LinkingObjects<Everything>
    @Persisted(originProperty: "friends") var listedBy: LinkingObjects<Everything>
}

class Bare: Object {
    @Persisted var name: String
    let list = List<Int>()
    let set = MutableSet<String>()
    let map = Map<String, Double>()
    let number = RealmProperty<Int?>()
    let holders = LinkingObjects(fromType: BareHolder.self, property: "held")
}

class BareHolder: Object {
    @Persisted var held: Bare?
}

class Renamed: Object {
    @Persisted var firstName: String
    @Persisted private var secret: Int
    var plain = 5
    func reveal() -> Int { secret }
    func hide(_ value: Int) { secret = value }
    override class func propertiesMapping() -> [String: String] { ["firstName": "first_name"] }
    override class func indexedProperties() -> [String] { ["firstName"] }
}

private let everything: [ObjectBase.Type] = [Everything.self, Place.self, Spot.self]

@Suite struct ModelTests {
    @Test func unmanagedDefaultsAreThoseOfTheDeclaration() {
        let object = Everything()
        #expect(object.flag && object.int == 1 && object.int8 == 2 && object.string == "s" && object.mood == .calm)
        #expect(object.heat == Celsius(degrees: 20) && object.optionalInt == nil && object.any == .none)
        #expect(object.uuid == object.uuid, "an initial value is made once")
        #expect(object.ints.isEmpty && object.place == nil && object.admirers.isEmpty)
    }

    @Test func everyTypeComesBackAsItWentIn() throws {
        let realm = try makeRealm(everything)
        let id = ObjectId.generate()
        let uuid = UUID()
        let date = Date(timeIntervalSince1970: 1_700_000_000.123456)
        let object = Everything()
        object._id = id
        object.int8 = -8
        object.float = .pi
        object.data = Data([0, 255])
        object.date = date
        object.decimal = 12.5
        object.uuid = uuid
        object.mood = .angry
        object.rank = .high
        object.heat = Celsius(degrees: -3)
        object.even = Even(persistedValue: 4)
        object.optionalInt = 9
        object.any = ["list": [1, "two", 3.5], "flag": true]
        object.place = Place(value: ["city": "Paris", "lines": ["a", "b"], "nested": ["x": 1, "y": 2]])
        object.point = Point(x: 3, y: 4)
        object.ints.append(objectsIn: [3, 1, 2])
        object.optionalStrings.append(objectsIn: ["x", nil])
        object.moods.append(.angry)
        object.places.append(Place(value: ["city": "Rome"]))
        object.set.insert(objectsIn: [1, 1, 2])
        object.map["a"] = 1
        object.anys.append(objectsIn: [1, "b", .none])
        try realm.write { realm.add(object) }

        let read = try #require(realm.object(ofType: Everything.self, forPrimaryKey: id))
        #expect(read !== object && read == object && read.isSameObject(as: object))
        #expect(read.int8 == -8 && read.float == .pi && read.data == Data([0, 255]) && read.date == date)
        #expect(read.decimal == 12.5 && read.uuid == uuid && read.mood == .angry && read.rank == .high)
        #expect(read.heat.degrees == -3 && read.even?.value == 4 && read.optionalInt == 9)
        #expect(read.any.dictionaryValue?["list"]?.listValue?[1] == "two")
        #expect(read.any.dictionaryValue?["flag"]?.boolValue == true)
        #expect(read.place?.city == "Paris" && read.place?.lines.count == 2 && read.place?.nested?.y == 2)
        #expect(read.point == Point(x: 3, y: 4))
        #expect(Array(read.ints) == [3, 1, 2] && Array(read.optionalStrings) == ["x", nil])
        #expect(Array(read.moods) == [.angry] && read.places.first?.city == "Rome")
        #expect(read.set.count == 2 && read.map["a"] == 1 && Array(read.anys) == [1, "b", .none])
        #expect(object.ints.realm == realm, "the instance that was added is the managed one")
    }

    @Test func linksAndInverseLinks() throws {
        let realm = try makeRealm(everything)
        let a = Everything(value: ["_id": ObjectId.generate(), "string": "a"])
        let b = Everything(value: ["_id": ObjectId.generate(), "string": "b"])
        a.friend = b
        b.friend = a  // a circle
        a.friends.append(objectsIn: [b, b, a])
        a.friendSet.insert(b)
        a.friendMap["b"] = b
        a.any = .object(b)
        try realm.write { realm.add(a) }
        #expect(realm.objects(Everything.self).count == 2)
        #expect(a.friend?.string == "b" && b.friend?.string == "a" && b.admirers.first?.string == "a")
        #expect(b.listedBy.count == 2 && a.friends.map(\.string) == ["b", "b", "a"])
        #expect(a.friendMap["b"]??.string == "b" && a.any.object(Everything.self)?.string == "b")
        try realm.write { realm.delete(b) }
        #expect(b.isInvalidated && a.friend == nil && a.friends.count == 1 && a.friendSet.isEmpty)
        #expect(a.friendMap.count == 1 && a.friendMap["b"]! == nil && a.any == .none)
    }

    @Test func embeddedObjectsBelongToTheirParent() throws {
        let realm = try makeRealm(everything)
        let object = Everything()
        try realm.write { realm.add(object) }
        try realm.write {
            object.place = Place(value: ["city": "Oslo"])
            object.places.append(objectsIn: [Place(value: ["city": "A"]), Place(value: ["city": "B"])])
        }
        let oslo = try #require(object.place)
        try realm.write { object.place = Place(value: ["city": "Bergen"]) }
        #expect(oslo.isInvalidated && object.place?.city == "Bergen")
        let first = object.places[0]
        try realm.write { object.places.remove(at: 0) }
        #expect(first.isInvalidated && object.places.first?.city == "B")
        try realm.write { object.places[0] = Place(value: ["city": "C"]) }
        #expect(object.places.map(\.city) == ["C"])
        let refused = try misuses { try realm.write { object.place = object.places[0] } }
        #expect(refused.first?.contains("managed embedded object") == true)
        try realm.write { realm.delete(object) }
        #expect(realm.isEmpty)
    }

    @Test(arguments: [Realm.UpdatePolicy.modified, .all]) func updatesByPrimaryKey(policy: Realm.UpdatePolicy) throws {
        let realm = try makeRealm(everything)
        let id = ObjectId.generate()
        try realm.write {
            realm.create(Everything.self, value: ["_id": id, "string": "old", "ints": [1, 2, 3], "int": 5])
        }
        try realm.write {
            // Only what is named changes.
            realm.create(Everything.self, value: ["_id": id, "string": "new"], update: policy)
        }
        let object = try #require(realm.object(ofType: Everything.self, forPrimaryKey: id))
        #expect(object.string == "new" && object.int == 5 && Array(object.ints) == [1, 2, 3])
        // An unmanaged object brings all of its values.
        try realm.write { realm.add(Everything(value: ["_id": id, "ints": [9]]), update: policy) }
        #expect(realm.objects(Everything.self).count == 1 && object.int == 1 && Array(object.ints) == [9])
        let refused = try misuses {
            _ = try realm.write { realm.create(Everything.self, value: ["_id": id]) }
        }
        #expect(refused.count == 1)
    }

    @Test func propertiesByName() throws {
        let realm = try makeRealm(everything)
        let object = try realm.write {
            realm.create(
                Everything.self,
                value: ["_id": ObjectId.generate(), "friend": ["_id": ObjectId.generate(), "int": 77]])
        }
        #expect(object["int"] as? Int == 1 && object["optionalInt"] == nil && object["mood"] as? Mood == .calm)
        #expect(object.value(forKeyPath: "friend.int") as? Int == 77)
        try realm.write {
            object["int"] = 8
            object["mood"] = "angry"
            object.setValue([4, 5], forKey: "ints")
            object["friend"] = nil
        }
        #expect(object.int == 8 && object.mood == .angry && Array(object.ints) == [4, 5] && object.friend == nil)
        #expect(misuses { _ = object["nothing"] }.first?.contains("nothing") == true)
        #expect(try misuses { try realm.write { object["int"] = "text" } }.first?.contains("Invalid value") == true)
        #expect(object.int == 8)
    }

    @Test func objectsByClassName() throws {
        let realm = try makeRealm(everything)
        let id = ObjectId.generate()
        try realm.write {
            let made = realm.dynamicCreate("Everything", value: ["_id": id, "string": "d", "ints": [1]])
            made.int = 6
            #expect(made["string"] as? String == "d" && made.dynamicList("friends").isEmpty)
        }
        let found = try #require(realm.dynamicObject(ofType: "Everything", forPrimaryKey: id))
        #expect(found.int as? Int == 6 && (found.ints as? List<Int>)?.first == 1)
        #expect(realm.dynamicObjects("Everything").filter("int == 6").count == 1)
        #expect(found.objectSchema.primaryKeyProperty?.name == "_id")
    }

    @Test func collectionsWithoutTheWrapper() throws {
        let realm = try makeRealm([Bare.self, BareHolder.self])
        let bare = Bare(value: ["name": "b", "list": [1, 2], "number": 4])
        bare.set.insert("s")
        bare.map["m"] = 1.5
        try realm.write {
            realm.add(bare)
            realm.create(BareHolder.self, value: ["held": bare])
        }
        let read = try #require(realm.objects(Bare.self).first)
        #expect(Array(read.list) == [1, 2] && read.set.contains("s") && read.map["m"] == 1.5)
        #expect(read.number.value == 4 && read.holders.count == 1)
        try realm.write {
            bare.list.append(3)
            bare.number.value = nil
        }
        #expect(Array(read.list) == [1, 2, 3] && read.number.value == nil)
        #expect(realm.objects(Bare.self).filter("ANY list == 3").count == 1)
        #expect(realm.objects(Bare.self).where { $0.list.contains(3) }.count == 1)
    }

    @Test func storedNamesAndPrivateProperties() throws {
        let realm = try makeRealm([Renamed.self])
        let object = Renamed(value: ["firstName": "Ada"])
        object.hide(42)
        try realm.write { realm.add(object) }
        let read = try #require(realm.objects(Renamed.self).first)
        #expect(read.firstName == "Ada" && read.reveal() == 42)
        #expect(realm.schema["Renamed"]?["firstName"]?.columnName == "first_name")
        #expect(realm.objects(Renamed.self).filter("firstName == 'Ada'").count == 1)
        #expect(realm.objects(Renamed.self).where { $0.firstName == "Ada" }.count == 1)
        #expect(realm.objects(Renamed.self).sorted(byKeyPath: "firstName").first?.firstName == "Ada")
    }

    @Test func mixedValuesAreLive() throws {
        let realm = try makeRealm(everything)
        let object = try realm.write { realm.create(Everything.self, value: ["_id": ObjectId.generate()]) }
        try realm.write { object.any = .fromDictionary(["list": .fromArray([1, 2]), "name": "n"]) }
        let map = try #require(object.any.dictionaryValue)
        let list = try #require(map["list"]?.listValue)
        try realm.write {
            list.append("three")
            list[0] = .fromArray([true])
            map["more"] = 5
        }
        #expect(object.any.dictionaryValue?["list"]?.listValue?.count == 3)
        #expect(object.any.dictionaryValue?["list"]?.listValue?[0].listValue?[0] == true)
        #expect(map.keys.sorted() == ["list", "more", "name"])
        try realm.write { object.any = 3 }
        #expect(list.isInvalidated && map.isInvalidated && object.any == 3)
    }
}
