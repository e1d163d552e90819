/// Projections: what each form of projected property shows, queries for them, writing through them, and being notified
/// of what they project and of nothing else.
import Foundation
import Motte
import Testing

class ViewedAddress: EmbeddedObject {
    @Persisted var city: String = ""
    @Persisted var country = ""
}

class ViewedPerson: Object {
    @Persisted var firstName: String
    @Persisted var lastName = ""
    @Persisted var birthYear = 1_990
    @Persisted var address: ViewedAddress?
    @Persisted var bestFriend: ViewedPerson?
    @Persisted var friends: List<ViewedPerson>
    @Persisted var colleagues: MutableSet<ViewedPerson>
    @Persisted var homes: List<ViewedAddress>
    let pets = List<ViewedPerson>()

    var fullName: String { firstName + " " + lastName }

    override class func propertiesMapping() -> [String: String] { ["birthYear": "year_of_birth"] }
}

final class PersonView: Projection<ViewedPerson> {
    @Projected(\ViewedPerson.firstName) var firstName
    @Projected(\ViewedPerson.lastName.localizedUppercase) var lastNameCaps
    @Projected(\ViewedPerson.birthYear) var year
    @Projected(\ViewedPerson.address?.city) var homeCity
    @Projected(\ViewedPerson.address?.country) var homeCountry
    @Projected(\ViewedPerson.bestFriend?.firstName) var bestFriendsName
    @Projected(\ViewedPerson.friends.projectTo.firstName) var friendNames: ProjectedCollection<String>
    @Projected(\ViewedPerson.friends.count) var friendCount
}

final class NameView: Projection<ViewedPerson> {
    @Projected(\ViewedPerson.fullName) var fullName
}

final class HomesView: Projection<ViewedPerson> {
    @Projected(\ViewedPerson.homes.projectTo.city) var cities: ProjectedCollection<String>
    @Projected(\ViewedPerson.colleagues.projectTo.firstName) var colleagueNames: ProjectedCollection<String>
    @Projected(\ViewedPerson.pets.projectTo.firstName) var petNames: ProjectedCollection<String>
}

final class AddressView: Projection<ViewedAddress> {
    @Projected(\ViewedAddress.city) var town
}

@Suite(.serialized) struct ProjectionTests {
    let realm: Realm

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("motte-\(UUID().uuidString).motte")
        realm = try Realm(
            configuration: Realm.Configuration(fileURL: url, objectTypes: [ViewedPerson.self, ViewedAddress.self]))
        try realm.write {
            let daenerys = person("Daenerys", "Targaryen", year: 2_000, "Meereen", "Essos")
            let jon = person("Jon", "Snow", year: 1_998, "Winterfell", "Westeros")
            let tyrion = person("Tyrion", "Lannister", year: 1_980, "Casterly Rock", "Westeros")
            realm.add([daenerys, jon, tyrion])
            daenerys.friends.append(objectsIn: [jon, tyrion])
            daenerys.bestFriend = tyrion
        }
    }

    func person(_ first: String, _ last: String, year: Int, _ city: String, _ country: String) -> ViewedPerson {
        let address = ViewedAddress()
        address.city = city
        address.country = country
        let person = ViewedPerson()
        person.firstName = first
        person.lastName = last
        person.birthYear = year
        person.address = address
        return person
    }

    func view(_ name: String) throws -> PersonView {
        try #require(realm.objects(PersonView.self).filter("firstName == %@", name).first)
    }

    // MARK: Reading and writing

    @Test func showsPassedRenamedResolvedComputedAndMappedProperties() throws {
        let view = try view("Daenerys")

        #expect(view.firstName == "Daenerys")
        #expect(view.lastNameCaps == "TARGARYEN")
        #expect(view.year == 2_000)
        #expect(view.homeCity == "Meereen" && view.homeCountry == "Essos")
        #expect(view.bestFriendsName == "Tyrion")
        #expect(Array(view.friendNames) == ["Jon", "Tyrion"])
        #expect(view.friendCount == 2)
        #expect(try self.view("Jon").bestFriendsName == nil)
    }

    @Test func showsUnmanagedObjectsToo() {
        let view = PersonView(projecting: person("Arya", "Stark", year: 2_004, "Braavos", "Essos"))

        #expect(view.firstName == "Arya" && view.homeCity == "Braavos" && view.friendNames.isEmpty)
        view.firstName = "No one"
        #expect(view.rootObject.firstName == "No one")
        #expect(view.realm == nil && !view.isInvalidated && !view.isFrozen)
    }

    @Test func writesThroughToTheRoot() throws {
        let view = try view("Jon")
        try realm.write {
            view.firstName = "Aegon"
            view.year += 1
        }

        #expect(view.rootObject.firstName == "Aegon" && view.rootObject.birthYear == 1_999)
        #expect(realm.objects(ViewedPerson.self).filter("firstName == 'Aegon'").count == 1)
    }

    @Test func mapsListsSetsAndEmbeddedObjects() throws {
        let root = try view("Daenerys").rootObject
        let jon = try view("Jon").rootObject
        try realm.write {
            for city in ["Pentos", "Qarth"] { root.homes.append(ViewedAddress(value: ["city": city])) }
            root.colleagues.insert(jon)
            root.pets.append(jon)
        }
        let view = HomesView(projecting: root)

        #expect(Array(view.cities) == ["Pentos", "Qarth"])
        #expect(view.cities.index(of: "Qarth") == 1 && view.cities.index(of: "Rome") == nil)
        #expect(Array(view.colleagueNames) == ["Jon"] && Array(view.petNames) == ["Jon"])
        try realm.write { view.cities[1] = "Yunkai" }
        #expect(root.homes[1].city == "Yunkai")
        #expect(view.cities.freeze().isFrozen && view.cities.realm == realm)
        #expect(view.cities.description.contains("Yunkai"))
    }

    @Test func anEmbeddedObjectMayBeTheRoot() throws {
        let address = try #require(try view("Jon").rootObject.address)
        let view = AddressView(projecting: address)
        try realm.write { view.town = "Castle Black" }

        #expect(address.city == "Castle Black")
    }

    @Test func isReadAndWrittenByLabel() throws {
        let view = try view("Jon")

        #expect(view.value(forKey: "homeCity") as? String == "Winterfell")
        try realm.write { view.setValue("Aegon", forKey: "firstName") }
        #expect(view.firstName == "Aegon")
        #expect(view.description.contains("homeCity(\\.address.city) = Winterfell;"))
    }

    // MARK: Queries

    @Test func queriesNameTheRootsProperties() throws {
        let views = realm.objects(PersonView.self)

        #expect(views.count == 3)
        #expect(views.sorted(byKeyPath: "lastName").map(\.lastNameCaps) == ["LANNISTER", "SNOW", "TARGARYEN"])
        #expect(views.filter("address.country == 'Westeros'").map(\.firstName) == ["Jon", "Tyrion"])
        #expect(views.filter("birthYear > 1990").sorted(byKeyPath: "birthYear").map(\.year) == [1_998, 2_000])
        #expect(views.sorted(by: \.homeCity).map(\.firstName) == ["Tyrion", "Daenerys", "Jon"])
        #expect(views.sorted(by: \.year, ascending: false).map(\.year) == [2_000, 1_998, 1_980])
        #expect(views.distinct(by: [\PersonView.homeCountry]).count == 2)
    }

    @Test func namesPathsOfTheRoot() {  // 301
        #expect(_name(for: \PersonView.firstName) == "firstName")
        #expect(_name(for: \PersonView.lastNameCaps) == "lastName")
        #expect(_name(for: \PersonView.homeCity) == "address.city")
        #expect(_name(for: \PersonView.friendNames) == "friends.firstName")
    }

    // MARK: Identity, freezing, handing over

    @Test func isEqualAsItsRootIs() throws {  // 91
        let root = try view("Jon").rootObject

        #expect(PersonView(projecting: root) == PersonView(projecting: root))
        #expect(PersonView(projecting: root) != (try view("Tyrion")))
        #expect(Set([PersonView(projecting: root), PersonView(projecting: root)]).count == 1)
    }

    @Test func freezesAndThaws() throws {
        let view = try view("Jon")
        let frozen = view.freeze()
        try realm.write { view.firstName = "Aegon" }

        #expect(frozen.isFrozen && frozen.firstName == "Jon" && frozen.homeCity == "Winterfell")
        #expect(try #require(frozen.thaw()).firstName == "Aegon")
        #expect(realm.objects(PersonView.self).freeze().map(\.firstName).contains("Aegon"))
        try realm.write { realm.delete(view.rootObject) }
        #expect(view.isInvalidated && frozen.thaw() == nil)
    }

    @Test func isHandedOver() throws {
        let view = try view("Jon")
        let reference = ThreadSafeReference(to: view)
        let configuration = realm.configuration
        let name = try onThread {
            let realm = try Realm(configuration: configuration)
            return realm.resolve(reference)?.firstName
        }

        #expect(name == "Jon")
    }

    final class Box<T>: @unchecked Sendable {  // @unchecked: written before the semaphore is signalled, read after
        var result: Result<T, Error>?
    }

    /// The outcome of work on a thread of its own.
    func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) throws -> T {
        let box = Box<T>()
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            box.result = Result { try body() }
            done.signal()
        }
        done.wait()
        return try #require(box.result).get()
    }

    // MARK: Observing

    final class Received {
        var lines: [String] = []
        func receive<P>(_ change: ObjectChange<P>) {
            switch change {
            case .change(_, let changes):
                lines.append(
                    changes.map { "\($0.name)" + ($0.newValue.map { "=\($0)" } ?? "") }.joined(separator: " "))
            case .deleted: lines.append("deleted")
            case .error(let error): lines.append("\(error)")
            }
        }
    }

    @Test func isNotifiedOfWhatItProjectsUnderItsOwnLabels() throws {  // 160
        let view = try view("Daenerys")
        let root = view.rootObject
        let jon = try self.view("Jon").rootObject
        let received = Received()
        let token = view.observe { received.receive($0) }
        realm.refresh()

        try realm.write { root.lastName = "Stormborn" }
        try realm.write { view.firstName = "Dany" }
        try realm.write { root.birthYear = 2_001 }
        try realm.write { root.address?.city = "Dragonstone" }
        try realm.write { root.address?.country = "Westeros" }
        try realm.write { jon.firstName = "Aegon" }
        try realm.write { root.friends.removeLast() }
        try realm.write { root.bestFriend = jon }
        try realm.write {}

        #expect(
            received.lines == [
                "lastNameCaps=STORMBORN", "firstName=Dany", "year=2001", "homeCity=Dragonstone", "homeCountry=Westeros",
                "friendNames", "friendNames friendCount=1", "bestFriendsName=Aegon",
            ])
        token.invalidate()
    }

    @Test func doesNotLearnOfWhatItLeavesOut() throws {
        let root = try view("Daenerys").rootObject
        let received = Received()
        let token = NameView(projecting: root).observe { received.receive($0) }
        realm.refresh()

        try realm.write {
            root.birthYear = 1
            root.address?.city = "Dragonstone"
            root.friends.removeAll()
        }
        try realm.write {}
        #expect(received.lines.isEmpty)
        // A computed property is one of everything it reads.
        try realm.write { root.lastName = "Stormborn" }
        try realm.write {}
        #expect(received.lines == ["fullName=Daenerys Stormborn"])
        token.invalidate()
    }

    @Test func replacingAnAddressChangesAllThatIsBehindIt() throws {
        let root = try view("Daenerys").rootObject
        let received = Received()
        let token = PersonView(projecting: root).observe { received.receive($0) }
        realm.refresh()

        try realm.write { root.address = ViewedAddress(value: ["city": "Astapor", "country": "Essos"]) }
        try realm.write {}

        #expect(received.lines == ["homeCity=Astapor homeCountry=Essos"])
        token.invalidate()
    }

    @Test func isNotifiedOnlyOfAskedLabels() throws {
        let view = try view("Daenerys")
        let byLabel = Received()
        let byPath = Received()
        let tokens = [
            view.observe(keyPaths: ["homeCity"]) { byLabel.receive($0) },
            view.observe(keyPaths: [\PersonView.firstName]) { byPath.receive($0) },
        ]
        realm.refresh()

        try realm.write {
            view.rootObject.address?.country = "Westeros"
            view.rootObject.lastName = "Stormborn"
        }
        try realm.write { view.rootObject.address?.city = "Dragonstone" }
        try realm.write { view.firstName = "Dany" }
        try realm.write {}

        #expect(byLabel.lines == ["homeCity=Dragonstone"])
        #expect(byPath.lines == ["firstName=Dany"])
        for token in tokens { token.invalidate() }
    }

    @Test func isNotifiedOnceOfDeletion() throws {  // 156
        let view = try view("Jon")
        let received = Received()
        let token = view.observe { received.receive($0) }
        realm.refresh()

        try realm.write { realm.delete(view.rootObject) }
        try realm.write {}

        #expect(received.lines == ["deleted"])
        token.invalidate()
    }

    @Test func writersCanLeaveATokenOut() throws {  // 17
        let view = try view("Jon")
        let received = Received()
        let token = view.observe { received.receive($0) }
        realm.refresh()

        try realm.write(withoutNotifying: [token]) { view.rootObject.address?.city = "The Wall" }
        try realm.write { view.firstName = "Aegon" }
        try realm.write {}

        #expect(received.lines == ["firstName=Aegon"])
        token.invalidate()
    }

    final class Lines: @unchecked Sendable {  // @unchecked: only touched on the queue
        var lines: [String] = []
    }

    @Test func isNotifiedOnAQueue() throws {
        let view = try view("Jon")
        let queue = DispatchQueue(label: "projections")
        let said = DispatchSemaphore(value: 0)
        let box = Lines()
        let token = view.observe(on: queue) { change in
            if case .change(let view, let changes) = change {
                box.lines.append("\(view.firstName) \(changes.map(\.name))")
                said.signal()
            }
        }
        // Registered on the queue after what is waiting there.
        queue.sync {}
        try realm.write { view.firstName = "Aegon" }

        #expect(said.wait(timeout: .now() + 10) == .success)
        #expect(queue.sync { box.lines } == ["Aegon [\"firstName\"]"])
        token.invalidate()
    }

    @Test func resultsLearnOfWhatIsProjected() throws {
        let names = realm.objects(NameView.self)
        var received: [String] = []
        let token = names.observe { change in
            switch change {
            case .initial(let views): received.append("initial \(views.count)")
            case .update(_, let deletions, let insertions, let modifications):
                received.append("\(deletions) \(insertions) \(modifications)")
            case .error(let error): received.append("\(error)")
            }
        }
        realm.refresh()

        let jon = try view("Jon").rootObject
        try realm.write { jon.birthYear = 1 }
        try realm.write { jon.lastName = "Stark" }
        try realm.write { realm.add(ViewedPerson()) }
        try realm.write {}

        #expect(received == ["initial 3", "[] [] [1]", "[] [3] []"])
        token.invalidate()
    }

    @Test func projectedCollectionsLearnOfTheirProperty() throws {
        let view = try view("Daenerys")
        let jon = try self.view("Jon").rootObject
        var received: [String] = []
        let token = view.friendNames.observe { change in
            switch change {
            case .initial(let names): received.append("initial \(Array(names))")
            case .update(let names, let deletions, let insertions, let modifications):
                received.append("\(Array(names)) \(deletions) \(insertions) \(modifications)")
            case .error(let error): received.append("\(error)")
            }
        }
        realm.refresh()

        try realm.write { jon.lastName = "Stark" }
        try realm.write { jon.firstName = "Aegon" }
        try realm.write { view.rootObject.friends.remove(at: 1) }
        try realm.write {}

        #expect(
            received == [
                "initial [\"Jon\", \"Tyrion\"]", "[\"Aegon\", \"Tyrion\"] [] [] [0]", "[\"Aegon\"] [1] [] []",
            ])
        token.invalidate()
    }
}
