// What the document on supported types promises, table by table, with its own models: every property type and its
// optional form, identifiers, sizes, sets, maps, mixed values and places. Mapped types are in a file of their own.
import Foundation
import Motte
import Testing

enum Weekday: String, PersistableEnum { case monday, tuesday, sunday }
enum Level: Int, PersistableEnum {
    case low = 1
    case high = 10
}

class Leaf: EmbeddedObject {
    @Persisted var text: String
    @Persisted var children: List<Leaf>
}

/// One property of every row of the table.
class Sampler: Object {
    @Persisted(primaryKey: true) var id: ObjectId
    @Persisted var bool: Bool
    @Persisted var boolOrNil: Bool?
    @Persisted var int: Int
    @Persisted var intOrNil: Int?
    @Persisted var int8: Int8
    @Persisted var int8OrNil: Int8?
    @Persisted var int16: Int16
    @Persisted var int16OrNil: Int16?
    @Persisted var int32: Int32
    @Persisted var int32OrNil: Int32?
    @Persisted var int64: Int64
    @Persisted var int64OrNil: Int64?
    @Persisted var float: Float
    @Persisted var floatOrNil: Float?
    @Persisted var double: Double
    @Persisted var doubleOrNil: Double?
    @Persisted var string: String
    @Persisted var stringOrNil: String?
    @Persisted var data: Data
    @Persisted var dataOrNil: Data?
    @Persisted var date: Date
    @Persisted var dateOrNil: Date?
    @Persisted var decimal: Decimal128
    @Persisted var decimalOrNil: Decimal128?
    @Persisted var uuid: UUID
    @Persisted var uuidOrNil: UUID?
    @Persisted var oid: ObjectId
    @Persisted var oidOrNil: ObjectId?
    @Persisted var list: List<Int>
    @Persisted var set: MutableSet<String>
    @Persisted var map: Map<String, Date>
    @Persisted var any: AnyRealmValue
    @Persisted var object: Sampler?
    @Persisted var embedded: Leaf?
    @Persisted var weekday: Weekday
    @Persisted var weekdayOrNil: Weekday?
    @Persisted var level: Level
    @Persisted var cgFloat: CGFloat
}

/// Declared the way models were before the wrapper, as far as that needs no Objective-C.
class Vintage: Object {
    @Persisted var name: String
    let flag = RealmProperty<Bool?>()
    let number = RealmProperty<Int?>()
    let ratio = RealmProperty<Double?>()
    let mixed = RealmProperty<AnyRealmValue>()
    let list = List<String>()
    let set = MutableSet<Int>()
    let map = Map<String, String>()
}

class Identified: Object {
    @Persisted(primaryKey: true) var key: UUID
    @Persisted(indexed: true) var oid: ObjectId
    @Persisted var zero = ObjectId()
    @Persisted var made = UUID()
    @Persisted(indexed: true) var any: AnyRealmValue
}

class Traveller: Object {
    @Persisted var name = ""
    @Persisted var visited: MutableSet<String>
    @Persisted var visitedSince = MutableSet<String>()
    @Persisted var parks: Map<String, String>
    @Persisted var companion: AnyRealmValue
    @Persisted var bools: MutableSet<Bool?>
    @Persisted var datas: MutableSet<Data?>
    @Persisted var dates: MutableSet<Date?>
    @Persisted var decimals: MutableSet<Decimal128?>
    @Persisted var doubles: MutableSet<Double?>
    @Persisted var floats: MutableSet<Float?>
    @Persisted var ints: MutableSet<Int?>
    @Persisted var int8s: MutableSet<Int8?>
    @Persisted var oids: MutableSet<ObjectId?>
    @Persisted var uuids: MutableSet<UUID?>
    @Persisted var others: MutableSet<Traveller>
}

/// A place in the form of GeoJSON.
class Spot2D: EmbeddedObject {
    @Persisted private var type = "Point"
    @Persisted private var coordinates: List<Double>
    var latitude: Double { coordinates[1] }
    var longitude: Double { coordinates[0] }
    convenience init(_ latitude: Double, _ longitude: Double) {
        self.init()
        coordinates.append(objectsIn: [longitude, latitude])
    }
}

class Cafe: Object {
    @Persisted var name: String
    @Persisted var place: Spot2D?
}

private let samplers: [ObjectBase.Type] = [Sampler.self, Leaf.self]

@Suite struct SupportedTypesDocumentTests {
    // MARK: The cheat sheet

    @Test func requiredPropertiesHaveADefaultAndOptionalOnesAreNil() {
        let object = Sampler()
        #expect(!object.bool && object.int == 0 && object.int8 == 0 && object.int16 == 0 && object.int32 == 0)
        #expect(
            object.int64 == 0 && object.float == 0 && object.double == 0 && object.string == "" && object.data.isEmpty)
        #expect(object.decimal == 0 && object.any == .none && object.weekday == .monday && object.level == .low)
        #expect(
            object.boolOrNil == nil && object.intOrNil == nil && object.int8OrNil == nil && object.int16OrNil == nil)
        #expect(object.int32OrNil == nil && object.int64OrNil == nil && object.floatOrNil == nil)
        #expect(object.doubleOrNil == nil && object.stringOrNil == nil && object.dataOrNil == nil)
        #expect(
            object.dateOrNil == nil && object.decimalOrNil == nil && object.uuidOrNil == nil && object.oidOrNil == nil)
        #expect(object.object == nil && object.embedded == nil && object.weekdayOrNil == nil)
        #expect(object.list.isEmpty && object.set.isEmpty && object.map.isEmpty && object.cgFloat == 0)
    }

    @Test func everyTypeAndItsOptionalFormComeBack() throws {
        let realm = try makeRealm(samplers)
        let date = Date(timeIntervalSinceReferenceDate: 721_692_800.987654321)
        let (uuid, oid) = (UUID(), ObjectId.generate())
        let object = Sampler()
        try realm.write {
            realm.add(object)
            (object.bool, object.boolOrNil) = (true, false)
            (object.int, object.intOrNil) = (.min, .max)
            (object.int8, object.int8OrNil) = (.min, .max)
            (object.int16, object.int16OrNil) = (.min, .max)
            (object.int32, object.int32OrNil) = (.min, .max)
            (object.int64, object.int64OrNil) = (.min, .max)
            (object.float, object.floatOrNil) = (.pi, -.greatestFiniteMagnitude)
            (object.double, object.doubleOrNil) = (.pi, .leastNonzeroMagnitude)
            (object.string, object.stringOrNil) = ("żółw\u{0}🐢", "")
            (object.data, object.dataOrNil) = (Data([0, 255]), Data())
            (object.date, object.dateOrNil) = (date, .distantPast)
            (object.decimal, object.decimalOrNil) = (try Decimal128(string: "1.0E+6000"), -0.5)
            (object.uuid, object.uuidOrNil) = (uuid, uuid)
            (object.oid, object.oidOrNil) = (oid, oid)
            object.list.append(objectsIn: [1, 2])
            object.set.insert("x")
            object.map["now"] = date
            object.any = .date(date)
            object.object = object
            object.embedded = Leaf(value: ["text": "leaf", "children": [["text": "child"]]])
            (object.weekday, object.weekdayOrNil) = (.sunday, .tuesday)
            object.level = .high
            object.cgFloat = 2.5
        }
        let read = try #require(realm.objects(Sampler.self).first)
        #expect(read.bool && read.boolOrNil == false && read.int == .min && read.intOrNil == .max)
        #expect(read.int8 == .min && read.int8OrNil == .max && read.int16 == .min && read.int16OrNil == .max)
        #expect(read.int32 == .min && read.int32OrNil == .max && read.int64 == .min && read.int64OrNil == .max)
        #expect(read.float == .pi && read.floatOrNil == -.greatestFiniteMagnitude && read.double == .pi)
        #expect(read.doubleOrNil == .leastNonzeroMagnitude && read.string == "żółw\u{0}🐢" && read.stringOrNil == "")
        #expect(read.data == Data([0, 255]) && read.dataOrNil == Data())
        #expect(read.date == date && read.dateOrNil == .distantPast, "dates come back bit for bit")
        #expect(read.decimal == (try Decimal128(string: "1.0E+6000")) && read.decimalOrNil == -0.5)
        #expect(read.uuid == uuid && read.uuidOrNil == uuid && read.oid == oid && read.oidOrNil == oid)
        #expect(Array(read.list) == [1, 2] && read.set.contains("x") && read.map["now"] == date)
        #expect(read.any.dateValue == date && read.object == read && read.embedded?.children.first?.text == "child")
        #expect(read.weekday == .sunday && read.weekdayOrNil == .tuesday && read.level == .high && read.cgFloat == 2.5)
        try realm.write {
            (read.boolOrNil, read.intOrNil, read.int8OrNil, read.int16OrNil) = (nil, nil, nil, nil)
            (read.int32OrNil, read.int64OrNil, read.floatOrNil, read.doubleOrNil) = (nil, nil, nil, nil)
            (read.stringOrNil, read.dataOrNil, read.dateOrNil, read.decimalOrNil) = (nil, nil, nil, nil)
            (read.uuidOrNil, read.oidOrNil, read.weekdayOrNil, read.object, read.embedded) = (nil, nil, nil, nil, nil)
        }
        let names = realm.schema["Sampler"]?.properties.filter { $0.isOptional }.map(\.name) ?? []
        for name in names { #expect(read[name] == nil, "\(name) is null") }
        #expect(names.count == 17)
    }

    @Test func propertiesDeclaredWithoutTheWrapper() throws {
        let realm = try makeRealm([Vintage.self])
        let object = Vintage()
        object.flag.value = true
        object.mixed.value = .string("m")
        object.list.append(objectsIn: ["a", "b"])
        object.set.insert(7)
        object.map["k"] = "v"
        try realm.write { realm.add(object) }
        let read = try #require(realm.objects(Vintage.self).first)
        #expect(read.flag.value == true && read.number.value == nil && read.ratio.value == nil)
        #expect(
            read.mixed.value == "m" && Array(read.list) == ["a", "b"] && read.set.contains(7) && read.map["k"] == "v")
        try realm.write {
            read.number.value = 5
            read.flag.value = nil
        }
        #expect(object.number.value == 5 && object.flag.value == nil)
        #expect(misuses { read.ratio.value = 1 }.first?.contains("write") == true && read.ratio.value == nil)
    }

    // MARK: Identifiers

    @Test func identifiersAreMadeWhenTheyAreNeeded() throws {
        let (one, two) = (Identified(), Identified())
        #expect(one.key != two.key && one.oid != two.oid, "each object has its own")
        #expect(one.key == one.key && one.oid == one.oid, "made once")
        #expect(one.zero == ObjectId("000000000000000000000000") && one.made != two.made)
        let realm = try makeRealm([Identified.self])
        try realm.write {
            realm.add([one, two])
            realm.create(Identified.self)
        }
        let keys = realm.objects(Identified.self).map(\.key)
        #expect(Set(keys).count == 3 && realm.object(ofType: Identified.self, forPrimaryKey: one.key) == one)
        #expect(realm.objects(Identified.self).where { $0.oid == two.oid }.first == two)
        let schema = try #require(realm.schema["Identified"])
        #expect(schema["oid"]?.isIndexed == true && schema["any"]?.isIndexed == true, "mixed values can be indexed")
    }

    // MARK: Sizes

    @Test(.timeLimit(.minutes(1))) func sixteenMegabytesAreTheLimit() throws {
        let realm = try makeRealm(samplers)
        let object = Sampler()
        let most = Data(repeating: 1, count: 16_777_200)
        try realm.write {
            realm.add(object)
            object.data = most
            #expect(misuses { object.data = Data(repeating: 1, count: 16_777_201) }.count == 1)
            #expect(misuses { object.string = String(repeating: "x", count: 16_777_201) }.count == 1)
        }
        #expect(object.data == most && object.string == "")
    }

    // MARK: Sets

    @Test func setsHoldValuesOnceAndAreReferences() throws {
        let realm = try makeRealm([Traveller.self])
        let object = Traveller(value: ["name": "Ida"])
        let visited = object.visited
        visited.insert(objectsIn: ["Rome", "Oslo", "Rome"])
        object.visitedSince.insert("Lima")
        try realm.write { realm.add(object) }
        #expect(object.visited === visited && visited.count == 2 && object.visitedSince.contains("Lima"))
        try realm.write {
            visited.insert("Oslo")
            visited.remove("Rome")
            visited.insert("Bern")
        }
        #expect(Set(visited) == ["Oslo", "Bern"])
        #expect(misuses { visited.insert("Kyiv") }.first?.contains("write") == true && visited.count == 2)
        #expect(visited.filter("SELF BEGINSWITH 'O'").count == 1 && visited.sorted().first == "Bern")
    }

    @Test func setsOfEveryTypeAndTheirOptionalForms() throws {
        let realm = try makeRealm([Traveller.self])
        let object = Traveller()
        let (uuid, oid, date) = (UUID(), ObjectId.generate(), Date(timeIntervalSince1970: 3))
        object.bools.insert(objectsIn: [true, nil, true])
        object.datas.insert(objectsIn: [Data([1]), nil])
        object.dates.insert(objectsIn: [date, nil])
        object.decimals.insert(objectsIn: [1.5, nil, 1.50])
        object.doubles.insert(objectsIn: [1, nil])
        object.floats.insert(objectsIn: [1, nil])
        object.ints.insert(objectsIn: [1, nil, 1])
        object.int8s.insert(objectsIn: [1, nil])
        object.oids.insert(objectsIn: [oid, nil])
        object.uuids.insert(objectsIn: [uuid, nil])
        object.others.insert(object)
        try realm.write { realm.add(object) }
        #expect(Set(object.bools) == [true, nil] && Set(object.datas) == [Data([1]), nil])
        #expect(
            Set(object.dates) == [date, nil] && Set(object.decimals) == [1.5, nil] && Set(object.doubles) == [1, nil])
        #expect(Set(object.floats) == [1, nil] && Set(object.ints) == [1, nil] && Set(object.int8s) == [1, nil])
        #expect(Set(object.oids) == [oid, nil] && Set(object.uuids) == [uuid, nil])
        #expect(object.others.count == 1 && object.others.contains(object) && object.ints.contains(nil))
    }

    @Test func setsAreNotChangedThroughAReadOnlyRealm() throws {
        let url = temporaryURL()
        do {
            let realm = try makeRealm([Traveller.self], url: url)
            try realm.write { realm.create(Traveller.self, value: ["name": "Ida", "visited": ["Rome"]]) }
            realm.invalidate()
        }
        let name = try inAThread {
            let realm = try makeRealm([Traveller.self], url: url) { $0.readOnly = true }
            let object = try #require(realm.objects(Traveller.self).first)
            #expect(misuses { object.visited.insert("Oslo") }.count == 1 && object.visited.count == 1)
            #expect(throws: Realm.Error.self) { try realm.write {} }
            return object.name
        }
        #expect(name == "Ida")
    }

    // MARK: Maps

    @Test func mapsHaveOneValueForAKey() throws {
        let realm = try makeRealm([Traveller.self])
        let object = Traveller()
        try realm.write {
            realm.add(object)
            object.parks["New York"] = "Central Park"
            object.parks["Chicago"] = "Grant Park"
            object.parks["New York"] = "Bryant Park"
        }
        #expect(object.parks.count == 2 && object.parks["New York"] == "Bryant Park" && object.parks["Oslo"] == nil)
        #expect(object.parks.keys.sorted() == ["Chicago", "New York"])
        try realm.write { object.parks["Chicago"] = nil }
        #expect(object.parks.keys == ["New York"])
    }

    @Test func keysWithPointsArePercentEncoded() throws {
        let realm = try makeRealm([Traveller.self])
        let object = Traveller()
        try realm.write { realm.add(object) }
        let park = "Washington D.C."
        let encoded = try #require(
            park.addingPercentEncoding(withAllowedCharacters: .init(charactersIn: ".$").inverted))
        #expect(encoded == "Washington D%2EC%2E")
        try realm.write {
            #expect(misuses { object.parks[park] = "Rock Creek" }.count == 1)
            #expect(misuses { object.parks["$dollar"] = "x" }.count == 1)
            object.parks[encoded] = "Rock Creek"
            object.parks[""] = "nowhere"
        }
        #expect(object.parks.count == 2 && object.parks.keys.map { $0.removingPercentEncoding }.contains(park))
        let unmanaged = Traveller()
        #expect(
            misuses { unmanaged.parks[park] = "x" }.count == 1 && unmanaged.parks.isEmpty,
            "before it is added, too")
    }

    // MARK: Mixed values

    @Test func mixedValuesOfEveryKind() throws {
        let realm = try makeRealm([Traveller.self])
        let friend = Traveller(value: ["name": "Max"])
        let values: [AnyRealmValue] = [
            .none, .int(1), .float(1.5), .double(2.5), .decimal128(3), .objectId(.generate()), .uuid(UUID()),
            .bool(true),
            .date(Date(timeIntervalSince1970: 9)), .data(Data([1])), .string("cat"), .object(friend),
        ]
        let object = Traveller()
        try realm.write { realm.add([object, friend]) }
        for value in values {
            try realm.write { object.companion = value }
            #expect(object.companion == value)
        }
        #expect(object.companion.object(Traveller.self)?.name == "Max")
        try realm.write { object.companion = .fromArray(values) }
        #expect(object.companion.listValue.map(Array.init) == values)
        switch object.companion {
        case .list(let list): #expect(list.count == values.count && list[10].stringValue == "cat")
        default: Issue.record("not a list")
        }
    }

    @Test func mixedCollectionsNestAHundredLevelsAndNoMore() throws {
        let realm = try makeRealm([Traveller.self])
        func nested(_ levels: Int) -> AnyRealmValue {
            (1 ..< levels).reduce(.fromArray([])) { list, _ in .fromArray([list]) }
        }
        let object = Traveller()
        try realm.write {
            realm.add(object)
            object.companion = nested(100)
            #expect(misuses { object.companion = nested(101) }.count == 1)
        }
        var levels = 0
        var value: AnyRealmValue? = object.companion
        while let list = value?.listValue {
            levels += 1
            value = list.first
        }
        #expect(levels == 100)
    }

    @Test func mixedCollectionsAreQueriedObservedAndEdited() throws {
        let realm = try makeRealm([Traveller.self])
        let object = Traveller(value: ["name": "Ida"])
        object.companion = ["pets": ["cat", ["name": "Rex", "age": 3]], "home": nil]
        try realm.write { realm.add(object) }
        let travellers = realm.objects(Traveller.self)
        #expect(travellers.filter("companion['pets'][0] == 'cat'").count == 1)
        #expect(travellers.where { $0.companion["pets"][1]["age"] == .int(3) }.count == 1)
        #expect(travellers.where { $0.companion["pets"].any == .string("dog") }.count == 0)
        var received: [[String]] = []
        let map = try #require(object.companion.dictionaryValue)
        let token = map.observe { if case .update(_, _, let new, let changed) = $0 { received.append(new + changed) } }
        realm.refresh()
        try realm.write { map["pets"]?.listValue?[1].dictionaryValue?["age"] = 4 }
        try realm.write { map["town"] = "Bern" }
        try realm.write {}
        token.invalidate()
        #expect(received == [["pets"], ["town"]])
        #expect(object.companion.dictionaryValue?["pets"]?.listValue?[1].dictionaryValue?["age"] == 4)
    }

    // MARK: Places

    @Test func placesInTheFormOfGeoJSON() throws {
        let realm = try makeRealm([Cafe.self, Spot2D.self])
        try realm.write {
            realm.create(Cafe.self, value: ["name": "Seattle", "place": Spot2D(47.6062, -122.3321)])
            realm.create(Cafe.self, value: ["name": "Tacoma", "place": Spot2D(47.2529, -122.4443)])
            realm.create(Cafe.self, value: ["name": "nowhere"])
        }
        let cafes = realm.objects(Cafe.self).sorted(byKeyPath: "name")
        let circle = try #require(GeoCircle(center: (47.61, -122.33), radius: .kilometers(10)!))
        #expect(cafes.where { $0.place.geoWithin(circle) }.map(\.name) == ["Seattle"])
        let box = try #require(GeoBox(bottomLeft: (47, -123), topRight: (48, -122)))
        #expect(cafes.where { $0.place.geoWithin(box) }.map(\.name) == ["Seattle", "Tacoma"])
        let polygon = try #require(
            GeoPolygon(outerRing: [(47, -123), (47.4, -123), (47.4, -122), (47, -122), (47, -123)]))
        #expect(cafes.where { $0.place.geoWithin(polygon) }.map(\.name) == ["Tacoma"])
        #expect(cafes.filter("place IN %@", box).count == 2 && cafes[0].place?.latitude == 47.6062)
        #expect(GeoPoint(latitude: 91, longitude: 0) == nil && Distance.kilometers(-1) == nil)
    }
}
