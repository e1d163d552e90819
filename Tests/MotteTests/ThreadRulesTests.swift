// The numbered behaviours of the semantics list that concern threads, queues, actors, and what stays alive. Numbers are
// in the names.
import Dispatch
import Foundation
import Motte
import Testing

class Ship: Object {
    @Persisted var name = ""
    @Persisted var tons = 0
    @Persisted var sister: Ship?
    @Persisted var cargo: List<String>
    @Persisted var marks: MutableSet<Int>
    @Persisted var rates: Map<String, Int>
    @Persisted(originProperty: "sister") var sisters: LinkingObjects<Ship>

    convenience init(named name: String) {
        self.init()
        self.name = name
    }
}

/// Has a designated initialiser of its own beside the required one.
class Ferry: Object {
    @Persisted var lanes: Int
    required init() {
        super.init()
        lanes = 2
    }
    init(lanes: Int) {
        super.init()
        self.lanes = lanes
    }
}

private actor ShipHarbour {
    func isSame(_ configuration: Realm.Configuration) async throws -> Bool {
        let one = try await Realm(configuration: configuration, actor: self)
        let other = try await Realm.open(configuration: configuration)
        return one == other
    }
    /// How many ships its realm shows, once it has been notified of as many.
    func count(_ configuration: Realm.Configuration, upTo count: Int) async throws -> Int {
        let realm = try await Realm(configuration: configuration, actor: self)
        while realm.objects(Ship.self).count < count { _ = await realm.asyncRefresh() }
        return realm.objects(Ship.self).count
    }
}

private let ships: [ObjectBase.Type] = [Ship.self, Ferry.self]

@Suite(.serialized) struct ThreadRulesTests {
    private func fresh() throws -> Realm { try makeRealm(ships) }

    @discardableResult
    private func add(_ names: String..., to realm: Realm) throws -> [Ship] {
        let ships = names.map { Ship(named: $0) }
        try realm.write { realm.add(ships) }
        return ships
    }

    @Test func rule3TheSamePathInAnotherWay() throws {
        let realm = try fresh()
        #expect(throws: Realm.Error.self) {
            try makeRealm(ships, url: realm.configuration.fileURL) { $0.encryptionKey = Data(repeating: 1, count: 64) }
        }
        #expect(throws: Realm.Error.self) { try makeRealm(ships) { $0.encryptionKey = Data(repeating: 1, count: 63) } }
        #expect(throws: Realm.Error.self) {
            try makeRealm(ships, url: realm.configuration.fileURL) { $0.readOnly = true }
        }
    }

    @Test func rule19BeginningMovesAndTellsFirst() throws {
        let realm = try fresh(), configuration = realm.configuration
        var notified: [Int] = []
        let token = realm.objects(Ship.self).observe { change in
            if case .update(let ships, _, _, _) = change { notified.append(ships.count) }
        }
        try realm.write {}
        _ = try inAThread { try self.add("a", to: try Realm(configuration: configuration)) }
        realm.beginWrite()
        #expect(notified == [1] && realm.objects(Ship.self).count == 1)
        realm.cancelWrite()
        token.invalidate()
    }

    @Test func rule66InitialisersOfTheProgramsOwn() throws {
        let realm = try fresh()
        try realm.write {
            realm.add([Ferry(lanes: 5), Ferry()])
            realm.create(Ferry.self)
        }
        #expect(realm.objects(Ferry.self).map(\.lanes) == [5, 2, 2])
        #expect(try add("n", to: realm)[0].name == "n")
    }

    @Test func rule83NothingKeepsARealmOpen() throws {
        let configuration = try inAThread { () -> Realm.Configuration in
            let realm = try self.fresh()
            let pair = try self.add("a", "b", to: realm)
            try realm.write { (pair[0].sister, pair[1].sister) = (pair[1], pair[0]) }
            for ship in realm.objects(Ship.self) { #expect(ship.sister?.sister?.isSameObject(as: ship) == true) }
            return realm.configuration
        }
        #expect(try Realm.deleteFiles(for: configuration))
    }

    @Test func rules92And93WhoMayTouchWhat() throws {
        let realm = try fresh()
        let ship = try add("a", to: realm)[0], cargo = ship.cargo, results = realm.objects(Ship.self)
        let frozen = ship.freeze(), unmanaged = Ship(named: "u"), reference = ThreadSafeReference(to: ship)
        let token = results.observe { _ in }
        let configuration = realm.configuration
        let messages = try inAThread { () -> [String] in
            #expect(frozen.name == "a" && unmanaged.name == "u", "93")
            let resolved = try Realm(configuration: configuration).resolve(reference)
            #expect(resolved?.name == "a", "93")
            token.invalidate()
            return misuses {
                _ = ship.name
                _ = cargo.count
                _ = results.count
                _ = ship.freeze()
                realm.refresh()
            }
        }
        #expect(messages.count >= 5 && messages.allSatisfy { $0.contains("incorrect thread") })
    }

    @Test func rule94QueuesAreConfinedByThemselves() throws {
        let realm = try fresh()
        try add("a", to: realm)
        let queue = DispatchQueue(label: "ships"), configuration = realm.configuration
        let confined = try queue.sync { try Realm(configuration: configuration, queue: queue) }
        #expect(queue.sync { confined.objects(Ship.self).count } == 1, "nested from another place")
        #expect(misuses { _ = confined.objects(Ship.self).count }.first?.contains("incorrect thread") == true)
        try queue.sync { try confined.write { _ = confined.create(Ship.self) } }
        realm.refresh()
        #expect(realm.objects(Ship.self).count == 2)
    }

    @Test @MainActor func rule95TheMainThreadIsTheMainActor() async throws {
        let realm = try fresh()
        #expect(try await Realm(configuration: realm.configuration, actor: MainActor.shared) == realm)
        #expect(try Realm(configuration: realm.configuration, queue: .main) == realm)
    }

    @Test func rule96EveryActorHasItsOwn() async throws {
        let configuration = try fresh().configuration
        let one = ShipHarbour(), other = ShipHarbour()
        #expect(try await one.isSame(configuration))
        async let seen = other.count(configuration, upTo: 2)
        _ = try inAThread { try self.add("a", "b", to: try Realm(configuration: configuration)) }
        #expect(try await seen == 2)
        #expect(try await one.count(configuration, upTo: 2) == 2)
    }

    @Test func rules97And98WhatMovesByItself() throws {
        let configuration = try fresh().configuration
        try inAThread {
            let realm = try Realm(configuration: configuration), frozen = realm.freeze()
            _ = try inAThread { try self.add("a", to: try Realm(configuration: configuration)) }
            #expect(realm.objects(Ship.self).isEmpty, "97: nothing turns here")
            #expect(realm.refresh() && realm.objects(Ship.self).count == 1 && frozen.objects(Ship.self).isEmpty)
            realm.beginWrite()
            #expect(!realm.refresh(), "98: nor in a write")
            realm.cancelWrite()
            var hasMoved = true
            let messages = misuses { hasMoved = frozen.refresh() }
            #expect(messages.isEmpty && !hasMoved && frozen.objects(Ship.self).isEmpty, "98: nor what is frozen")
        }
    }

    @Test func rules102And107WhatPinsAVersion() throws {
        let realm = try makeRealm(ships) { $0.maximumNumberOfActiveVersions = 3 }
        let configuration = realm.configuration
        let ship = try add("a", to: realm)[0]
        func writes(_ count: Int) throws {
            for number in 0 ..< count { try realm.write { ship.tons = number } }
        }
        try writes(8)
        var references: [ThreadSafeReference<Ship>] = []
        #expect(throws: Realm.Error.self, "107: every reference keeps its version") {
            for number in 0 ..< 8 {
                references.append(ThreadSafeReference(to: ship))
                try realm.write { ship.tons = number }
            }
        }
        references = []
        try writes(8)
        var frozen: [Ship] = []
        #expect(throws: Realm.Error.self, "102: and so does what is frozen") {
            for number in 0 ..< 8 {
                frozen.append(ship.freeze())
                try realm.write { ship.tons = number }
            }
        }
        #expect(frozen.first?.tons == 7 && configuration.maximumNumberOfActiveVersions == 3)
    }

    @Test func rule108EverythingIsHandedOver() throws {
        let realm = try fresh()
        let pair = try add("b", "a", "a", to: realm)
        try realm.write {
            pair[1].sister = pair[0]
            pair[0].cargo.append(objectsIn: ["x", "y"])
            pair[0].marks.insert(objectsIn: [1, 2, 3])
            pair[0].rates["r"] = 7
        }
        let results = ThreadSafeReference(
            to: realm.objects(Ship.self).filter("name != 'z'").distinct(by: ["name"]).sorted(byKeyPath: "name"))
        let sisters = ThreadSafeReference(to: pair[0].sisters)
        let cargo = ThreadSafeReference(to: pair[0].cargo), marks = ThreadSafeReference(to: pair[0].marks)
        let rates = ThreadSafeReference(to: pair[0].rates)
        let erased = ThreadSafeReference(to: AnyRealmCollection(realm.objects(Ship.self)))
        let inWrite = ThreadSafeReference(to: pair[0])
        let configuration = realm.configuration
        try inAThread {
            let realm = try Realm(configuration: configuration)
            #expect(realm.resolve(results)?.map(\.name) == ["a", "b"])
            #expect(realm.resolve(sisters)?.map(\.name) == ["a"])
            #expect(realm.resolve(cargo).map { Array($0) } == ["x", "y"] && realm.resolve(marks)?.sum() == 6)
            #expect(realm.resolve(rates)?["r"] == 7 && realm.resolve(erased)?.count == 3)
            try realm.write { realm.resolve(inWrite)?.name = "renamed" }
            #expect(realm.objects(Ship.self).contains { $0.name == "renamed" })
        }
    }

    @Test func rules118And120FrozenThings() throws {
        let realm = try fresh()
        let ship = try add("a", to: realm)[0], frozenRealm = realm.freeze()
        try realm.write { ship.tons = 5 }
        #expect(frozenRealm.objects(Ship.self).first?.tons == 0 && ship.tons == 5, "118")
        let again = try #require(realm.objects(Ship.self).first)
        #expect(again != ship && again.isSameObject(as: ship) && !Set([ship]).contains(again), "120")
        let (one, other) = (ship.freeze(), again.freeze())
        #expect(one == other && Set([one]).contains(other), "120")
    }

    @Test func rule129PositionsOfInverseLinks() throws {
        let realm = try fresh()
        let target = try add("t", to: realm)[0]
        let all = (0 ..< 10).map { Ship(named: "\($0)") }
        try realm.write {
            realm.add(all)
            for ship in all { ship.sister = target }
        }
        var names = Array(target.sisters.map(\.name))
        let token = target.sisters.observe { change in
            guard case .update(let now, let deletions, let insertions, _) = change else { return }
            for index in deletions.reversed() { names.remove(at: index) }
            for index in insertions { names.insert(now[index].name, at: index) }
        }
        try realm.write {}
        try realm.write { all[5].sister = nil }
        try realm.write {}
        #expect(names == Array(target.sisters.map(\.name)) && names.count == 9)
        try realm.write { all[5].sister = target }
        try realm.write {}
        #expect(names == Array(target.sisters.map(\.name)) && Set(names).count == 10)
        token.invalidate()
    }
}
