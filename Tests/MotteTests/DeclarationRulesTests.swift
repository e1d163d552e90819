// What classes may declare: links that are optional or not, several classes for one stored class, classes with nothing
// stored, initialisers that assign before `super.init()`.
import Foundation
import Motte
import MotteValues
import Testing

class Anchorage: Object {
    @Persisted var name = ""
}

class AnchorageMark: EmbeddedObject {
    @Persisted var colour = ""
}

// Declarations that are refused, none of them in the realms of other tests.
class RequiredLink: Object {
    @Persisted var harbour: Anchorage
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class RequiredEmbedded: Object {
    @Persisted var mark: AnchorageMark
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class RequiredInMap: Object {
    @Persisted var harbours: Map<String, Anchorage>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class OptionalInList: Object {
    @Persisted var harbours: List<Anchorage?>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class OptionalInSet: Object {
    @Persisted var harbours: MutableSet<Anchorage?>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Two views of one stored class, one of which knows more of it.
class BoatView: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "Boat" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class BoatDetails: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var tons: Int? = 5
    @Persisted var harbour: Anchorage?
    override class func _realmObjectName() -> String? { "Boat" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class BoatOfAnotherKind: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = 0
    override class func _realmObjectName() -> String? { "Boat" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Pier: Object {
    @Persisted var buoys: List<Buoy>
}
/// Has nothing that is stored.
class Buoy: Object {
    @Persisted(originProperty: "buoys") var piers: LinkingObjects<Pier>
    var count: Int { piers.count }
}

/// Assigns before its base class is initialised, to properties with and without initial values.
class Skipper: Object {
    @Persisted(primaryKey: true) var number: Int
    @Persisted var id: UUID
    @Persisted var name: String
    @Persisted var rank = "mate"
    @Persisted var age: Int?
    @Persisted var ports = List<String>()
    @Persisted var tide: Tide = .high

    init(s: String) {
        id = UUID()
        name = s
        rank = "captain"
        tide = .low
        super.init()
        // Wrappers with arguments make the property themselves, as in RealmSwift.
        number = 7
        age = 50
    }
    required init() { super.init() }
}

@Suite struct DeclarationRulesTests {
    @Test(
        arguments: [
            (
                RequiredLink.self,
                "Object property 'harbour' must be marked as optional. Write 'Anchorage?' for RequiredLink.harbour"
            ),
            (
                RequiredEmbedded.self,
                "Object property 'mark' must be marked as optional. Write 'AnchorageMark?' for RequiredEmbedded.mark"
            ),
            (
                RequiredInMap.self,
                "Map<String, Anchorage> property 'harbours' must be marked as optional. "
                    + "Write 'Map<String, Anchorage?>' for RequiredInMap.harbours"
            ),
            (
                OptionalInList.self,
                "List<Anchorage> property 'harbours' must not be marked as optional. "
                    + "Write 'List<Anchorage>' for OptionalInList.harbours"
            ),
            (
                OptionalInSet.self,
                "MutableSet<Anchorage> property 'harbours' must not be marked as optional. "
                    + "Write 'MutableSet<Anchorage>' for OptionalInSet.harbours"
            ),
        ] as [(ObjectBase.Type, String)])
    func linksThatCannotBe(_ type: ObjectBase.Type, _ message: String) throws {
        let error = #expect(throws: Realm.Error.self) { try makeRealm([Anchorage.self, AnchorageMark.self, type]) }
        #expect(error?.localizedDescription == message && error?.code == .schemaMismatch)
    }

    @Test func everyMistakeIsListed() {
        let error = #expect(throws: Realm.Error.self) {
            try makeRealm([Anchorage.self, AnchorageMark.self, RequiredLink.self, OptionalInSet.self])
        }
        #expect(error?.localizedDescription.split(separator: "\n").count == 2)
    }

    @Test func aClassListedTwiceIsOne() throws {
        let realm = try makeRealm([Anchorage.self, Anchorage.self])
        try realm.write { _ = realm.create(Anchorage.self, value: ["name": "h"]) }
        #expect(realm.objects(Anchorage.self).count == 1 && realm.schema.objectSchema.count == 1)
    }

    @Test func classesOfOneNameAreViews() throws {
        let realm = try makeRealm([BoatView.self, BoatDetails.self, Anchorage.self])
        try realm.write {
            realm.add(BoatView(value: ["id": 1, "name": "a"]))
            realm.create(BoatDetails.self, value: ["id": 2, "name": "b", "tons": 7, "harbour": ["name": "h"]])
        }
        #expect(realm.objects(BoatView.self).sorted(byKeyPath: "id").map(\.name) == ["a", "b"])
        #expect(realm.objects(BoatDetails.self).sorted(byKeyPath: "id").map(\.tons) == [nil, 7])
        let details = try #require(realm.object(ofType: BoatDetails.self, forPrimaryKey: 1))
        let view = try #require(realm.object(ofType: BoatView.self, forPrimaryKey: 1))
        try realm.write {
            details.tons = 3
            details.name = "c"
        }
        #expect(view.name == "c" && view.isSameObject(as: details))
        try realm.write { realm.create(BoatView.self, value: ["id": 1, "name": "d"], update: .modified) }
        #expect(details.name == "d" && details.tons == 3, "what a view does not know stays")
        #expect(realm.objects(BoatView.self).where { $0.name == "d" }.count == 1)
        // In the other order it is the same schema.
        let url = realm.configuration.fileURL
        let count = try inAThread {
            try makeRealm([Anchorage.self, BoatDetails.self, BoatView.self], url: url).objects(BoatView.self).count
        }
        #expect(count == 2)
    }

    @Test func viewsThatDisagreeAreRefused() {
        let error = #expect(throws: Realm.Error.self) { try makeRealm([BoatView.self, BoatOfAnotherKind.self]) }
        #expect(error?.localizedDescription.contains("they declare 'name' differently") == true, "\(error as Any)")
    }

    @Test func aClassOfInverseLinksAlone() throws {
        let realm = try makeRealm([Pier.self, Buoy.self])
        let url = realm.configuration.fileURL
        let pier = try realm.write {
            let pier = realm.create(Pier.self)
            pier.buoys.append(objectsIn: [Buoy(), Buoy()])
            realm.add(Buoy())
            realm.create(Buoy.self)
            return pier
        }
        #expect(realm.objects(Buoy.self).count == 4 && pier.buoys[0].count == 1)
        #expect(realm.objects(Buoy.self).where { $0.piers.count == 0 }.count == 2)
        try realm.write { realm.delete(pier.buoys[0]) }
        #expect(realm.objects(Buoy.self).count == 3 && pier.buoys.count == 1)
        let counts = try inAThread { () -> [Int] in
            let again = try makeRealm([Pier.self, Buoy.self], url: url)
            try again.write { again.add((0 ..< 3_000).map { _ in Buoy() }) }
            return [again.objects(Buoy.self).count, again.objects(Pier.self)[0].buoys.count]
        }
        #expect(counts == [3_003, 1])
        try realm.write { realm.deleteAll() }
        #expect(realm.objects(Buoy.self).isEmpty)
    }

    @Test func initialisersMayAssignFirst() throws {
        let skipper = Skipper(s: "Ada")
        #expect(skipper.name == "Ada" && skipper.rank == "captain" && skipper.age == 50 && skipper.tide == .low)
        #expect(skipper.number == 7 && Skipper().tide == .high)
        let realm = try makeRealm([Skipper.self])
        try realm.write {
            realm.add(skipper)
            skipper.ports.append("Kiel")
            realm.create(Skipper.self, value: ["name": "Bob", "ports": ["Riga"]])
        }
        let stored = realm.objects(Skipper.self).sorted(byKeyPath: "name")
        #expect(stored.map(\.rank) == ["captain", "mate"])
        #expect(stored.map { Array($0.ports).joined() } == ["Kiel", "Riga"])
        #expect(Set(stored.map(\.id)).count == 2)
        let mates = realm.objects(Skipper.self).where { $0.ports.contains("Riga") && $0.rank == "mate" }
        #expect(mates.map(\.name) == ["Bob"])
    }

    /// A list that a class declares with elements is one of them, and what is read from a row is the row's.
    @Test func initialElementsAreStored() throws {
        let realm = try makeRealm([Convoy.self])
        try realm.write {
            realm.create(Convoy.self)
            realm.add([Convoy(), Convoy(value: ["ships": ["c"]])])
        }
        let ships = realm.objects(Convoy.self).map { Array($0.ships).joined() }
        #expect(Array(ships) == ["ab", "ab", "c"])
        try realm.write { realm.objects(Convoy.self)[0].ships.removeAll() }
        #expect(realm.objects(Convoy.self).map { $0.ships.count } == [0, 2, 1])
    }
}

class Convoy: Object {
    @Persisted var ships = List<String>("a", "b")
    @Persisted var number = 0
}

extension List where Element == String {
    fileprivate convenience init(_ elements: String...) {
        self.init()
        append(objectsIn: elements)
    }
}
