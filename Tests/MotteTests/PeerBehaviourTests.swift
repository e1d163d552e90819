// Smaller things that programs written for RealmSwift rely on: references, results of an invalidated realm, distinct
// over links, projections, objects by name, the main run loop, cancelled tasks, totals of unmanaged mixed values,
// predicates as text, shapes in predicates, and what is logged.
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

class Mariner: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var ship: Vessel?
    @Persisted var friends: List<Mariner>
    @Persisted var any: AnyRealmValue
    @Persisted var tags: MutableSet<String>
    @Persisted var active = false
    @Persisted(originProperty: "friends") var admirers: LinkingObjects<Mariner>
}

class Vessel: Object {
    @Persisted var name = ""
    @Persisted var place: Moorage?
    @Persisted var flag: Ensign?
}

class Ensign: Object { @Persisted var colour = "" }

class Moorage: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var coordinates: List<Double>
}

final class MarinerView: Projection<Mariner> {
    @Projected(\Mariner.name) var name
    @Projected(\Mariner.name.localizedUppercase) var caps
    @Projected(\Mariner.title) var title
    @Projected(\Mariner.ship?.name) var ship
}

extension Mariner { fileprivate var title: String { "\(name) (\(age))" } }

private let crew: [ObjectBase.Type] = [Mariner.self, Vessel.self, Ensign.self, Moorage.self]

@Suite struct PeerBehaviourTests {
    private func realm() throws -> Realm {
        let realm = try makeRealm(crew)
        try realm.write {
            for (index, name) in ["Ada", "Bob", "Cid", "Dot"].enumerated() {
                realm.create(Mariner.self, value: ["name": name, "age": index * 10, "active": index == 1])
            }
            let flag: [String: Any] = ["colour": "red"]
            let place: [String: Any] = ["coordinates": [2.5, 48.5]]
            let all = realm.objects(Mariner.self)
            all[1].ship = realm.create(Vessel.self, value: ["name": "Argo", "place": place, "flag": flag])
            all[2].ship = all[1].ship
            all[3].ship = realm.create(Vessel.self, value: ["name": "Beta"])
            all[0].friends.append(objectsIn: all)
            all[0].any = .object(all[1])
        }
        return realm
    }

    // MARK: References

    @Test func resolvedReferencesAreInvalidated() throws {
        let realm = try realm()
        let reference = ThreadSafeReference(to: realm.objects(Mariner.self))
        #expect(!reference.isInvalidated && realm.resolve(reference)?.count == 4 && reference.isInvalidated)
    }

    @Test(arguments: [true, false])
    func threadSafeReadsFollowOtherThreads(_ refreshes: Bool) throws {
        let realm = try realm()
        realm.autorefresh = refreshes
        let shared = ThreadSafe(wrappedValue: realm.objects(Mariner.self)[0])
        try inAThread { try Realm(configuration: realm.configuration).write { shared.wrappedValue?.name = "new" } }
        #expect(shared.wrappedValue?.name == "new" && realm.objects(Mariner.self)[0].name == "new")
        try inAThread {
            let other = try Realm(configuration: realm.configuration)
            other.beginWrite()
            shared.wrappedValue?.name = "dropped"
            other.cancelWrite()
        }
        #expect(shared.wrappedValue?.name == "new", "a write that was undone takes nothing away")
        try inAThread {
            let other = try Realm(configuration: realm.configuration)
            try other.write { if let value = shared.wrappedValue { other.delete(value) } }
        }
        #expect(shared.wrappedValue == nil)
    }

    // MARK: Results

    @Test func resultsAreInvalidatedWithTheirRealm() throws {
        let realm = try realm()
        let all = realm.objects(Mariner.self)
        let some = all.filter("age > 5").sorted(byKeyPath: "name")
        let sections = all.sectioned(by: \.active, ascending: true)
        #expect(!all.isInvalidated && some.count == 3)
        realm.invalidate()
        #expect(all.isInvalidated && some.isInvalidated && sections.isInvalidated)
        let uses: [() -> Void] = [
            { _ = some[0] }, { _ = all.first }, { _ = all.count }, { _ = some.filter("age > 1") },
        ]
        for use in uses { #expect(misuses(use).first?.contains("invalidated") == true) }
        #expect(realm.objects(Mariner.self).count == 4, "asked for again")
    }

    @Test func distinctOverALinkLeavesOutNullLinks() throws {
        let all = try realm().objects(Mariner.self)
        #expect(all.distinct(by: ["ship.name"]).map(\.name) == ["Bob", "Dot"])
        #expect(all.distinct(by: ["ship.flag.colour"]).map(\.name) == ["Bob"])
        #expect(all.distinct(by: ["ship"]).map(\.name) == ["Ada", "Bob", "Dot"], "null itself is a value")
        #expect(all[0].friends.distinct(by: ["ship.name"]).count == 2)
        #expect(all.distinct(by: [\Mariner.ship?.name]).count == 2)
    }

    // MARK: Projections

    @Test func projectionsOfOneObjectAreEqual() throws {
        let realm = try realm()
        let views = realm.objects(MarinerView.self)
        #expect(views[0] == views[0] && views[0] == views.first && views[0] != views[1])
        let frozen: [MarinerView] = [views[0].freeze(), views[0].freeze()]
        #expect(Set([views[0], views[0], views[1]]).count == 2 && views.index(of: views[1]) == 1)
        #expect(frozen[0] == frozen[1] && frozen[0] != views[0])
    }

    @Test func computedProjectionsHaveOldValues() throws {
        let realm = try realm()
        let view = realm.objects(MarinerView.self)[1]
        var received: [String: (Any?, Any?)] = [:]
        let token = view.observe { (change: ObjectChange<MarinerView>) in
            if case .change(_, let all) = change {
                for one in all {
                    received[one.name] = (
                        one.oldValue,
                        one.newValue
                    )
                }
            }
        }
        realm.refresh()
        try inAThread {
            let other = try Realm(configuration: realm.configuration)
            try other.write { other.objects(Mariner.self)[1].name = "Zoe" }
        }
        realm.refresh()
        #expect(received["name"]?.0 as? String == "Bob" && received["name"]?.1 as? String == "Zoe")
        #expect(received["caps"]?.0 as? String == "BOB" && received["caps"]?.1 as? String == "ZOE")
        #expect(received["title"]?.0 as? String == "Bob (10)" && received["title"]?.1 as? String == "Zoe (10)")
        #expect(received["ship"] == nil)
        try realm.write { view.rootObject.name = "Own" }
        #expect(
            received["caps"]?.0 == nil && received["caps"]?.1 as? String == "OWN",
            "one's own writes have no old values")
        token.invalidate()
    }

    // MARK: By name

    @Test func objectsByNameFollowLinksByName() throws {
        let all = try realm().dynamicObjects("Mariner")
        let ship = try #require(all[1]["ship"] as? DynamicObject)
        #expect(ship["name"] as? String == "Argo" && (ship.flag as? DynamicObject)?["colour"] as? String == "red")
        #expect(all[1].value(forKeyPath: "ship.flag.colour") as? String == "red")
        let friends = try #require(all[0].friends as? List<DynamicObject>)
        #expect(friends.count == 4 && (friends[1]["ship"] as? DynamicObject)?["name"] as? String == "Argo")
        let admirers = try #require(all[1].admirers as? LinkingObjects<DynamicObject>)
        #expect(admirers.first?["name"] as? String == "Ada")
        let mixed = try #require(all[0]["any"] as? DynamicObject)
        #expect(mixed["name"] as? String == "Bob" && (mixed["ship"] as? DynamicObject) != nil)
        #expect(all[1].description.contains("Argo") && all.filter("ship.flag.colour == 'red'").count == 2)
    }

    // MARK: The main queue

    @Test func theMainRunLoopDeliversWithinABlockOfTheMainQueue() async throws {
        let url = temporaryURL()
        let outcome = await withCheckedContinuation { (done: CheckedContinuation<[Int], Never>) in
            DispatchQueue.main.async {
                nonisolated(unsafe) var seen = [0, 0, 0]
                do {
                    let realm = try makeRealm(crew, url: url)
                    let token = realm.objects(Mariner.self).observe { change in
                        if case .initial = change { seen[0] += 1 } else { seen[1] += 1 }
                    }
                    realm.beginAsyncWrite {
                        realm.create(Mariner.self)
                        realm.commitAsyncWrite { _ in seen[2] += 1 }
                    }
                    let deadline = Date(timeIntervalSinceNow: 30)
                    while seen != [1, 0, 1], seen != [1, 1, 1], Date() < deadline {
                        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
                    }
                    let before = seen[1]
                    try inAThread {
                        let other = try Realm(configuration: realm.configuration)
                        try other.write { _ = other.create(Mariner.self) }
                    }
                    while seen[1] == before, Date() < deadline {
                        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
                    }
                    seen[1] -= before
                    token.invalidate()
                } catch {
                    Issue.record(error)
                }
                done.resume(returning: seen)
            }
        }
        #expect(outcome == [1, 1, 1])
    }

    @Test func cancelledTasksGetInvalidatedTokens() async throws {
        actor Place {
            func begin(_ configuration: Realm.Configuration) async throws -> [Bool] {
                let realm = try await Realm.open(configuration: configuration)
                let all = realm.objects(Mariner.self)
                var ended: [Bool] = []
                withUnsafeCurrentTask { $0?.cancel() }
                let ofResults = await all.observe(on: self) { _, _ in }
                ended.append(!ofResults.invalidate())
                let object = all[0]
                let ofObject = await object.observe(on: self) { (_: isolated Place, _: ObjectChange<Mariner>) in }
                ended.append(!ofObject.invalidate())
                return ended
            }
        }
        let configuration = try realm().configuration
        let place = Place()
        let ended = try await Task { try await place.begin(configuration) }.value
        #expect(ended == [true, true])
    }

    // MARK: Totals

    @Test func totalsOfUnmanagedMixedValues() throws {
        let realm = try makeRealm([Assorted.self])
        let values: [AnyRealmValue] = [.int(3), .string("x"), .double(1.5), .none, .bool(true), .decimal128("2")]
        let unmanaged = Assorted()
        unmanaged.list.append(objectsIn: values)
        for (index, value) in values.enumerated() { unmanaged.map["k\(index)"] = value }
        unmanaged.set.insert(objectsIn: values)
        let managed = Assorted(value: unmanaged)
        try realm.write { realm.add(managed) }
        for object in [unmanaged, managed] {
            let name = object === unmanaged ? "unmanaged" : "managed"
            #expect(object.list.sum() == .decimal128("6.5") && object.map.sum() == .decimal128("6.5"), "\(name)")
            #expect(object.set.sum() == .decimal128("6.5"), "\(name)")
            #expect(object.list.average() as AnyRealmValue? == managed.list.average() as AnyRealmValue?, "\(name)")
            #expect(object.list.min() == managed.list.min() && object.list.max() == managed.list.max(), "\(name)")
            #expect(object.map.min() == managed.map.min() && object.set.max() == managed.set.max(), "\(name)")
        }
        let empty = Assorted()
        #expect(empty.list.sum() == .decimal128("0") && empty.list.min() == nil)
        #expect(empty.list.average() as AnyRealmValue? == nil)
    }

    // MARK: Predicates

    @Test func conditionsPrintAsThePeersDo() throws {
        let realm = try realm()
        let box = try #require(GeoBox(bottomLeft: (48, 2), topRight: (49, 3)))
        let circle = try #require(GeoCircle(center: (48.5, 2.5), radiusInRadians: 0.25))
        let corners = [(48.0, 2.0), (48.0, 3.0), (49.0, 3.0), (49.0, 2.0), (48.0, 2.0)]
        let polygon = try #require(GeoPolygon(outerRing: corners))
        typealias Condition = (Query<Mariner>) -> Query<Bool>
        let cases: [(Condition, String, Int)] = [
            ({ $0.age == 10 }, "(age == %@)", 1),
            ({ !($0.age == 10) }, "(NOT age == %@)", 1),
            ({ $0.age.in([0, 10]) }, "(age IN %@)", 1),
            ({ $0.active }, "active == true", 0),
            ({ !$0.active }, "active == false", 0),
            ({ $0.active == true }, "(active == %@)", 1),
            ({ $0.active && $0.age > 1 }, "(active == true && (age > %@))", 1),
            ({ $0.age > 1 && !$0.active }, "((age > %@) && active == false)", 1),
            ({ !($0.age > 1 && $0.age < 20) }, "NOT ((age > %@) && (age < %@))", 2),
            ({ $0.friends.name.in(["Ada", "Bob"]) }, "(ANY friends.name IN %@)", 1),
            ({ $0.age.contains(1 ... 20) }, "(age BETWEEN {%@, %@})", 2),
            ({ ($0.friends.age > 5).count == 3 }, "(SUBQUERY(friends, $col1, ($col1.age > %@)).@count == %@)", 2),
            ({ $0.ship == nil }, "(ship == %@)", 1),
            ({ $0.ship.place.geoWithin(box) }, "(ship.place IN %@)", 1),
            ({ $0.ship.place.geoWithin(circle) }, "(ship.place IN %@)", 1),
            ({ $0.ship.place.geoWithin(polygon) }, "(ship.place IN %@)", 1),
        ]
        let all = realm.objects(Mariner.self)
        for (condition, expected, count) in cases {
            let (format, values) = condition(Query<Mariner>._constructForTesting())._constructPredicate()
            #expect(format == expected && values.count == count)
            let predicate = NSPredicate(format: format, argumentArray: values)
            let (byText, byCondition) = (all.filter(predicate), all.where { condition($0) })
            #expect(Array(byText.map(\.name)) == Array(byCondition.map(\.name)), "\(format)")
        }
        #expect(all.where { $0.ship.place.geoWithin(box) }.map(\.name) == ["Bob", "Cid"])
    }

    @Test func shapesAreArgumentsOfPredicates() throws {
        let all = try realm().objects(Mariner.self)
        let box = try #require(GeoBox(bottomLeft: (48, 2), topRight: (49, 3)))
        let circle = try #require(GeoCircle(center: (48.5, 2.5), radiusInRadians: 0.25))
        let corners = [(48.0, 2.0), (48.0, 3.0), (49.0, 3.0), (49.0, 2.0), (48.0, 2.0)]
        let polygon = try #require(GeoPolygon(outerRing: corners))
        for shape: any RLMGeospatial in [box, circle, polygon] {
            let predicate = NSPredicate(format: "ship.place IN %@", shape)
            #expect(all.filter(predicate).count == 2 && all.filter("ship.place IN %@", shape).count == 2)
            #expect(all.filter(NSPredicate(format: "ship.place IN %@ AND age > %@", shape, 15)).map(\.name) == ["Cid"])
            let numbered = NSPredicate(format: "age > $0 AND ship.place IN $1", argumentArray: [15, shape])
            #expect(all.filter(numbered).count == 1)
            let both = NSCompoundPredicate(andPredicateWithSubpredicates: [predicate, NSPredicate(format: "age == 10")])
            #expect(all.filter(both).map(\.name) == ["Bob"] && all.index(matching: predicate) == 1)
            #expect(all.filter(NSCompoundPredicate(notPredicateWithSubpredicate: predicate)).count == 2)
            #expect(predicate.evaluate(with: all[1]) && !predicate.evaluate(with: all[3]))
        }
    }

    @Test func kindsOfValuesByThePeersNames() throws {
        let realm = try realm()
        let all = realm.objects(Mariner.self)
        #expect(all.filter("any.@type == 'object'").map(\.name) == ["Ada"])
        #expect(all.filter("any.@type == 'NULL'").count == 3)
        #expect(misuses { _ = all.filter("any.@type == 'objct'").count }.first?.contains("numeric") == true)
        let unmanaged = List<AnyRealmValue>()
        unmanaged.append(objectsIn: [.int(1), .string("a"), .double(2)])
        #expect(unmanaged.index(matching: NSPredicate(format: "SELF == 'a'")) == 1)
        let sailor = Mariner(value: ["any": 1.5])
        #expect(NSPredicate(format: "any.@type == 'numeric'").evaluate(with: sailor))
        #expect(!NSPredicate(format: "any.@type == 'string'").evaluate(with: sailor))
    }
}

class Assorted: Object {
    @Persisted var list: List<AnyRealmValue>
    @Persisted var set: MutableSet<AnyRealmValue>
    @Persisted var map: Map<String, AnyRealmValue>
}
