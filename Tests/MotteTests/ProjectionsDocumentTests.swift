// What the document on projections promises, with its own models: each way to project, queries, writes through a
// projection, and whose changes it is notified of.
import Foundation
import Motte
import Testing

class Harbour: EmbeddedObject {
    @Persisted var town = ""
    @Persisted var country = ""
}

class Sailor: Object {
    @Persisted var firstName = ""
    @Persisted var lastName = ""
    @Persisted var harbour: Harbour?
    @Persisted var boat: Boat?
    @Persisted var crew: List<Sailor>
    @Persisted var harbours: List<Harbour>
}

class Boat: Object {
    @Persisted var name: String
}

final class SailorView: Projection<Sailor> {
    @Projected(\Sailor.firstName) var firstName  // passed through
    @Projected(\Sailor.lastName) var familyName  // renamed
    @Projected(\Sailor.harbour?.town) var homeTown  // from an embedded object
    @Projected(\Sailor.boat?.name) var boatName  // from a linked object
    @Projected(\Sailor.crew.projectTo.firstName) var crewNames: ProjectedCollection<String>
    @Projected(\Sailor.harbours.projectTo.town) var towns: ProjectedCollection<String>
}

final class FirstNameView: Projection<Sailor> {
    @Projected(\Sailor.firstName) var name
}

final class HarbourView: Projection<Harbour> {
    @Projected(\Harbour.town) var town
}

@Suite(.serialized) struct ProjectionsDocumentTests {
    private func sailors() throws -> (Realm, Sailor) {
        let realm = try makeRealm([Sailor.self, Harbour.self, Boat.self])
        let ida = Sailor(value: [
            "firstName": "Ida", "lastName": "Berg", "harbour": ["town": "Oslo", "country": "Norway"],
        ])
        ida.boat = Boat(value: ["name": "Gull"])
        ida.crew.append(objectsIn: [Sailor(value: ["firstName": "Max"]), Sailor(value: ["firstName": "Eva"])])
        ida.harbours.append(objectsIn: [Harbour(value: ["town": "Kiel"]), Harbour(value: ["town": "Riga"])])
        try realm.write { realm.add(ida) }
        return (realm, ida)
    }

    @Test func everyWayToProject() throws {
        let (realm, _) = try sailors()
        let view = try #require(realm.objects(SailorView.self).filter("firstName == 'Ida'").first)
        #expect(
            view.firstName == "Ida" && view.familyName == "Berg" && view.homeTown == "Oslo" && view.boatName == "Gull")
        #expect(Array(view.crewNames) == ["Max", "Eva"] && Array(view.towns) == ["Kiel", "Riga"])
    }

    @Test func projectionsAreQueriedByTheirType() throws {
        let (realm, _) = try sailors()
        let all = realm.objects(SailorView.self)
        #expect(all.count == 3 && all.sorted(byKeyPath: "firstName").map(\.firstName) == ["Eva", "Ida", "Max"])
        #expect(all.filter("lastName == 'Berg'").first?.homeTown == "Oslo")
        #expect(all.filter("harbour.country BEGINSWITH 'N'").count == 1)
        let derived = all.filter("firstName != 'Max'").sorted(byKeyPath: "firstName", ascending: false)
        #expect(derived.map(\.firstName) == ["Ida", "Eva"])
        try realm.write { realm.create(Sailor.self, value: ["firstName": "Zoe"]) }
        #expect(derived.first?.firstName == "Zoe", "they live")
    }

    @Test func changesGoThroughToTheObject() throws {
        let (realm, ida) = try sailors()
        let view = try #require(realm.objects(SailorView.self).filter("firstName == 'Ida'").first)
        try realm.write {
            view.firstName = "Ada"
            view.familyName = "Dahl"
            view.crewNames[0] = "Moritz"
        }
        #expect(ida.firstName == "Ada" && ida.lastName == "Dahl" && ida.crew[0].firstName == "Moritz")
        try realm.write { ida.harbour?.town = "Bergen" }
        #expect(view.homeTown == "Bergen")
        #expect(misuses { view.firstName = "x" }.first?.contains("write") == true && view.firstName == "Ada")
    }

    @Test func onlyWhatIsProjectedIsReceived() throws {
        let (realm, ida) = try sailors()
        let view = try #require(realm.objects(FirstNameView.self).filter("firstName == 'Ida'").first)
        var received: [String] = []
        let token = view.observe { change in
            switch change {
            case .change(_, let properties): received += properties.map { "\($0.name) \($0.newValue ?? "nil")" }
            case .deleted: received.append("deleted")
            case .error(let error): received.append("\(error)")
            }
        }
        realm.refresh()
        func write(_ body: () -> Void) throws -> [String] {
            received = []
            try realm.write(body)
            try realm.write {}
            return received
        }
        #expect(try write { view.name = "by the projection" } == ["name by the projection"])
        #expect(try write { ida.firstName = "by the object" } == ["name by the object"])
        let other = try #require(realm.objects(SailorView.self).filter("lastName == 'Berg'").first)
        #expect(try write { other.firstName = "by another view" } == ["name by another view"])
        #expect(try write { ida.lastName = "unseen" } == [] && write { ida.crew.removeAll() } == [])
        #expect(try write { ida.harbour?.town = "unseen" } == [])
        #expect(try write { realm.delete(ida) } == ["deleted"])
        token.invalidate()
    }

    @Test func embeddedObjectsAreProjectedAndViewsFreeze() throws {
        let (realm, ida) = try sailors()
        let harbour = HarbourView(projecting: try #require(ida.harbour))
        let view = SailorView(projecting: ida)
        let frozen = view.freeze()
        try realm.write {
            harbour.town = "Bodø"
            ida.harbours.removeAll()
        }
        #expect(ida.harbour?.town == "Bodø" && view.homeTown == "Bodø" && view.towns.isEmpty)
        #expect(frozen.isFrozen && frozen.homeTown == "Oslo" && Array(frozen.towns) == ["Kiel", "Riga"])
        #expect(frozen.thaw()?.homeTown == "Bodø" && view.realm == realm && !view.isInvalidated)
        try realm.write { realm.delete(ida) }
        #expect(view.isInvalidated && harbour.isInvalidated)
    }
}
