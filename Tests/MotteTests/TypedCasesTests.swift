/// Names, projections and types of the program, as Python and C have them: Tests/Conformance/typed.
///
/// `store.json` is what is stored, `queries.txt` asks for it by the names of the program, `projections.json` is what
/// projections of all people show.
import Foundation
import Motte
import Testing

/// A number that is stored as tenths.
struct Tenths: CustomPersistable, Equatable {
    typealias PersistedType = Int
    var value: Double
    init(_ value: Double) { self.value = value }
    init(persistedValue: Int) { value = Double(persistedValue) / 10 }
    var persistableValue: Int { Int((value * 10).rounded()) }
}

/// An address; not every text is one.
struct SecureSite: FailableCustomPersistable, Equatable {
    typealias PersistedType = String
    let host: String
    init(host: String) { self.host = host }
    init?(persistedValue: String) {
        guard persistedValue.hasPrefix("https://") else { return nil }
        host = String(persistedValue.dropFirst("https://".count))
    }
    var persistableValue: String { "https://" + host }
}

class TypedPlace: EmbeddedObject {
    @Persisted var streetName = ""
    @Persisted var city = ""

    override class func _realmObjectName() -> String? { "typed_place" }
    override class func propertiesMapping() -> [String: String] { ["streetName": "street_name"] }
}

class TypedPerson: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var firstName = ""
    @Persisted var warmth = Tenths(0)
    @Persisted var site: SecureSite?
    @Persisted var warmths: List<Tenths>
    @Persisted var home: TypedPlace?
    @Persisted var boss: TypedPerson?
    @Persisted var friends: List<TypedPerson>

    override class func _realmObjectName() -> String? { "typed_person" }
    override class func propertiesMapping() -> [String: String] {
        ["firstName": "first_name", "warmth": "body_heat", "home": "address", "friends": "people"]
    }
}

final class TypedCard: Projection<TypedPerson> {
    @Projected(\TypedPerson.firstName) var firstName
    @Projected(\TypedPerson.home?.city) var city
    @Projected(\TypedPerson.boss?.firstName) var boss
    @Projected(\TypedPerson.friends.projectTo.firstName) var friends: ProjectedCollection<String>
    @Projected(\TypedPerson.warmth) var warmth
}

/// One row of `projections.json`.
private struct CardRow: Codable, Equatable {
    var firstName: String
    var city: String?
    var boss: String?
    var friends: [String]
    var warmth: Double
}

@Suite struct TypedCasesTests {
    private static let cases = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Conformance/typed")

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: cases.appendingPathComponent(name), encoding: .utf8)
    }

    private static func filled() throws -> Realm {
        let realm = try makeRealm([TypedPerson.self, TypedPlace.self])
        try realm.write {
            let people = ["Ada", "Bob", "Eve"].enumerated().map { index, name in
                let person = TypedPerson()
                person.id = index + 1
                person.firstName = name
                realm.add(person)
                return person
            }
            people[0].warmth = Tenths(36.6)
            people[0].site = SecureSite(host: "ada.example")
            people[0].warmths.append(objectsIn: [Tenths(36.6), Tenths(-0.5)])
            let rue = TypedPlace()
            rue.streetName = "Rue A"
            rue.city = "Paris"
            people[0].home = rue
            people[1].warmth = Tenths(37.5)
            let road = TypedPlace()
            road.streetName = "B Road"
            people[1].home = road
            people[1].boss = people[0]
            people[2].warmth = Tenths(40.1)
            people[2].site = SecureSite(host: "eve.example")
            people[2].boss = people[1]
            people[2].friends.append(objectsIn: [people[0], people[1], people[0]])
        }
        return realm
    }

    @Test func whatIsStored() throws {
        let url = temporaryURL()
        try Self.filled().writeJSON(toFile: url)
        #expect(try String(contentsOf: url, encoding: .utf8) == Self.text("store.json"))
    }

    @Test func whatWasStoredIsRead() throws {
        let url = temporaryURL()
        try Realm.convert(fromJSONFile: Self.cases.appendingPathComponent("store.json"), toFile: url)
        let realm = try makeRealm([TypedPerson.self, TypedPlace.self], url: url)
        let people = Array(realm.objects(TypedPerson.self).sorted(byKeyPath: "id"))
        #expect(people.map(\.warmth) == [Tenths(36.6), Tenths(37.5), Tenths(40.1)])
        #expect(people.map(\.site) == [SecureSite(host: "ada.example"), nil, SecureSite(host: "eve.example")])
        #expect(Array(people[0].warmths) == [Tenths(36.6), Tenths(-0.5)])
        #expect(people[0].home?.streetName == "Rue A" && people[0].home?.city == "Paris")
        #expect(people[2].boss?.id == 2 && people[2].friends.map(\.id) == [1, 2, 1])
    }

    @Test func queriesByNamesOfTheProgram() throws {
        let realm = try Self.filled()
        let lines = try Self.text("queries.txt").split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count >= 10)
        for line in lines {
            let parts = line.components(separatedBy: " | ")
            let found = realm.objects(TypedPerson.self).filter(parts[1])
            #expect(found.map { String($0.id) }.joined(separator: " ") == parts[0], "\(parts[1])")
        }
    }

    @Test func projections() throws {
        let realm = try Self.filled()
        let cards = realm.objects(TypedPerson.self).sorted(byKeyPath: "id").map { person in
            let card = TypedCard(projecting: person)
            return CardRow(
                firstName: card.firstName, city: card.city, boss: card.boss, friends: Array(card.friends),
                warmth: card.warmth.value)
        }
        let expected = try JSONDecoder().decode([CardRow].self, from: Data(Self.text("projections.json").utf8))
        #expect(Array(cards) == expected)
    }
}
