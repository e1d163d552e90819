// What the document on supported types promises of types of a program's own: as properties, optionals and elements, in
// queries, by name, and that the schema knows nothing of them.
import Foundation
import Motte
import Testing

struct Pixel: CustomPersistable, Equatable {
    typealias PersistedType = Leaf
    var text: String
    init(_ text: String) { self.text = text }
    init(persistedValue: Leaf) { text = persistedValue.text }
    var persistableValue: Leaf { Leaf(value: ["text": text]) }
}

struct WebAddress: FailableCustomPersistable, Equatable {
    typealias PersistedType = String
    let text: String
    init?(persistedValue: String) {
        guard persistedValue.hasPrefix("https:") else { return nil }
        text = persistedValue
    }
    var persistableValue: String { text }
}

struct Metres: CustomPersistable, Equatable {
    typealias PersistedType = Double
    var value: Double
    init(_ value: Double) { self.value = value }
    init(persistedValue: Double) { value = persistedValue }
    var persistableValue: Double { value }
}

class Building: Object {
    @Persisted var height: Metres
    @Persisted var width: Metres?
    @Persisted var site: WebAddress?
    @Persisted var home: WebAddress = WebAddress(persistedValue: "https:home")!
    @Persisted var floors: List<Metres>
    @Persisted var sites: List<WebAddress?>
    @Persisted var rooms: Map<String, Metres>
    @Persisted var depths: MutableSet<Metres>
    @Persisted var pixel: Pixel?
    @Persisted var corner: Pixel
    @Persisted var pixels: List<Pixel>
}

private let buildings: [ObjectBase.Type] = [Building.self, Leaf.self]

@Suite struct MappedTypesDocumentTests {
    @Test func mappedTypesAsPropertiesOptionalsAndElements() throws {
        let realm = try makeRealm(buildings)
        let building = Building()
        #expect(building.height == Metres(0) && building.width == nil && building.corner == Pixel(""))
        building.height = Metres(300)
        building.site = WebAddress(persistedValue: "https:tower")
        building.floors.append(objectsIn: [Metres(3), Metres(4)])
        building.sites.append(objectsIn: [WebAddress(persistedValue: "https:a"), nil])
        building.rooms["hall"] = Metres(9)
        building.depths.insert(objectsIn: [Metres(1), Metres(1)])
        building.pixel = Pixel("p")
        building.pixels.append(objectsIn: [Pixel("x"), Pixel("y")])
        try realm.write { realm.add(building) }
        let read = try #require(realm.objects(Building.self).first)
        #expect(read.height == Metres(300) && read.width == nil && read.site?.text == "https:tower")
        #expect(
            Array(read.floors) == [Metres(3), Metres(4)] && read.sites[1] == nil && read.rooms["hall"] == Metres(9))
        #expect(read.depths.count == 1 && read.pixel == Pixel("p") && Array(read.pixels) == [Pixel("x"), Pixel("y")])
        #expect(read.home.text == "https:home")
        #expect(realm.objects(Building.self).where { $0.height == Metres(300) }.count == 1)
        #expect(realm.objects(Building.self).where { $0.height.persistableValue > 200 }.count == 1)
    }

    @Test func objectsAreCreatedWithStoredOrMappedValues() throws {
        let realm = try makeRealm(buildings)
        try realm.write {
            realm.create(Building.self, value: ["height": 12.5, "site": "https:stored", "floors": [1.0, 2.0]])
            realm.create(
                Building.self, value: ["height": Metres(8), "site": WebAddress(persistedValue: "https:mapped")!])
        }
        #expect(realm.objects(Building.self).map(\.height.value) == [12.5, 8])
        #expect(realm.objects(Building.self).map(\.site?.text) == ["https:stored", "https:mapped"])
        #expect(realm.objects(Building.self)[0].floors.map(\.value) == [1, 2])
    }

    @Test func valuesThatCannotBeMappedAreNil() throws {
        let realm = try makeRealm(buildings)
        try realm.write {
            let building = realm.dynamicCreate("Building")
            building["site"] = "no address"
        }
        let read = try #require(realm.objects(Building.self).first)
        #expect(read.site == nil, "an optional maps what cannot be read to nil")
        #expect(_name(for: \Building.home) == "home" && _name(for: \Building.site) == "site")
        #expect(realm.objects(Building.self).where { $0.site.persistableValue == "no address" }.count == 1)
        #expect(read.value(forKey: "height") as? Metres == Metres(0))
    }

    @Test func theSchemaKnowsNothingOfMappedTypes() throws {
        let url = temporaryURL()
        do {
            let realm = try makeRealm(buildings, url: url)
            let schema = try #require(realm.schema["Building"])
            #expect(
                schema["height"]?.type == .double && schema["site"]?.type == .string
                    && schema["site"]?.isOptional == true)
            #expect(schema["pixel"]?.type == .object && schema["pixel"]?.objectClassName == "Leaf")
            try realm.write { realm.create(Building.self, value: ["height": 7.0]) }
            let dynamic = try #require(realm.dynamicObjects("Building").first)
            #expect(dynamic["height"] as? Double == 7, "by name they are what is stored")
        }
        // Back to the stored type, with no migration.
        let plain = try inAThread {
            let realm = try makeRealm([PlainBuilding.self, Leaf.self], url: url)
            return Array(realm.objects(PlainBuilding.self).map(\.height))
        }
        #expect(plain == [7])
    }
}

/// The same class with stored types in place of mapped ones.
class PlainBuilding: Object {
    @Persisted var height: Double
    @Persisted var width: Double?
    @Persisted var site: String?
    @Persisted var home: String
    @Persisted var floors: List<Double>
    @Persisted var sites: List<String?>
    @Persisted var rooms: Map<String, Double>
    @Persisted var depths: MutableSet<Double>
    @Persisted var pixel: Leaf?
    @Persisted var corner: Leaf?
    @Persisted var pixels: List<Leaf>
    override class func _realmObjectName() -> String? { "Building" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
