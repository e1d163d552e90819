// Groups of results in Swift: rows with names, aggregates by methods and by text, names of the program.
import Foundation
import Motte
import MotteValues
import Testing

class GroupedTown: Object {
    @Persisted(primaryKey: true) var name: String
}

class GroupedVisit: Object {
    @Persisted var guest: String?
    @Persisted var nights: Int?
    @Persisted var price: Double
    @Persisted var came: Date?
    @Persisted var town: GroupedTown?
    @Persisted var bookedBy: String?

    override class func propertiesMapping() -> [String: String] { ["bookedBy": "booked_by"] }
}

@Suite(.serialized) struct GroupsTests {
    private static func realm() throws -> Realm {
        var configuration = Realm.Configuration(inMemoryIdentifier: "groups \(UUID())")
        configuration.objectTypes = [GroupedTown.self, GroupedVisit.self]
        let realm = try Realm(configuration: configuration)
        try realm.write {
            let oslo = realm.create(GroupedTown.self, value: ["name": "Oslo"])
            let rows: [(String, Int?, Double)] = [("Ada", 1, 10.0), ("Bo", nil, 20.0), ("Ada", 3, 30.0)]
            for (guest, nights, price) in rows {
                let visit = realm.create(GroupedVisit.self, value: ["guest": guest, "price": price])
                visit.nights = nights
                visit.bookedBy = "x"
                if price > 10 { visit.town = oslo }
                visit.came = Date(timeIntervalSince1970: price * 86_400)
            }
        }
        return realm
    }

    @Test func rowsHaveNames() throws {
        let realm = try Self.realm()
        let groups = realm.objects(GroupedVisit.self).grouped(
            by: "guest",
            aggregating: [.count, .sum("nights"), .average("price").named("mean"), .distinctCount("town.name")])
        #expect(groups.columns == ["guest", "COUNT", "SUM(nights)", "mean", "COUNT(DISTINCT town.name)"])
        #expect(groups.keyCount == 1 && groups.count == 2)
        let ada = groups[0]
        #expect(ada["guest"] == .string("Ada") && ada[1] == .int(2))
        #expect(ada["SUM(nights)", as: Int.self] == 4 && ada["mean", as: Double.self] == 20)
        #expect(groups.map { $0["COUNT(DISTINCT town.name)", as: Int.self] } == [1, 1])
        #expect(groups.rows.map { $0["guest", as: String.self] } == ["Ada", "Bo"])
    }

    @Test func textAndMethodsSayTheSame() throws {
        let realm = try Self.realm()
        let visits = realm.objects(GroupedVisit.self)
        let byText = visits.grouped("price > %@ GROUP(came BY month AS month, town.name) COUNT, MEDIAN(price)", 5)
        let byMethods = visits.grouped(
            by: GroupKey("came", by: .month).named("month"), "town.name", aggregating: [.count, .median("price")])
        #expect(byText.columns == byMethods.columns)
        #expect(byText.map { $0[2] } == byMethods.map { $0[2] } && byText.count == 2)
        #expect(byText[0]["month", as: Date.self] == Date(timeIntervalSince1970: 0))
        #expect(visits.grouped(by: "bookedBy")[0]["COUNT", as: Int.self] == 3)
        #expect(visits.grouped("GROUP(bookedBy) COUNT").columns == ["bookedBy", "COUNT"])
        #expect(visits.filter("price > 99").grouped(aggregating: [.count, .max("nights")])[0]["MAX(nights)"] == .none)
    }

    @Test func groupsAreLive() throws {
        let realm = try Self.realm()
        let groups = realm.objects(GroupedVisit.self).grouped(by: "guest")
        let before = groups.rows
        #expect(before.count == 2)
        try realm.write { realm.create(GroupedVisit.self, value: ["guest": "Cy"]) }
        #expect(groups.count == 3 && groups[2]["guest"] == .string("Cy"))
        // Rows stay what they were.
        #expect(before[0]["COUNT", as: Int.self] == 2)
    }

    private static func text(_ change: RealmCollectionChange<Groups>) -> String {
        switch change {
        case .initial(let groups): "initial \(groups.count)"
        case .update(let groups, let deletions, let insertions, let modifications):
            "\(groups.count): -\(deletions)+\(insertions)~\(modifications)"
        case .error(let error): "\(error)"
        }
    }

    @Test func observersAreNotifiedByKey() throws {
        let realm = try Self.realm()
        let visits = realm.objects(GroupedVisit.self)
        var seen: [String] = []
        let token = visits.grouped("GROUP(guest) COUNT, SUM(nights)").observe { seen.append(Self.text($0)) }
        realm.refresh()
        try realm.write { realm.create(GroupedVisit.self, value: ["guest": "Cy"]) }
        try realm.write { visits[0].price = 7 }
        try realm.write { visits[0].nights = 7 }
        try realm.write { realm.delete(visits.where { $0.guest == "Bo" }) }
        #expect(seen == ["initial 2", "3: -[]+[2]~[]", "3: -[]+[]~[0]", "2: -[1]+[]~[]"])
        token.invalidate()
        try realm.write { realm.delete(visits) }
        #expect(seen.count == 4)
        let broken = try misuses {
            try realm.write { _ = visits.grouped(by: "guest").observe { _ in } }
            _ = visits.grouped(by: "guest").freeze().observe { _ in }
        }
        #expect(broken.count == 2)
    }

    @Test func observersMayBeElsewhere() async throws {
        let url = temporaryURL()
        let realm = try makeRealm([GroupedTown.self, GroupedVisit.self], url: url)
        try realm.write { realm.create(GroupedVisit.self, value: ["guest": "Ada"]) }
        let queue = DispatchQueue(label: "groups")
        let seen = Locked<[String]>([])
        let token = realm.objects(GroupedVisit.self).grouped(by: "guest").observe(on: queue) { change in
            seen.withLock { $0.append(Self.text(change)) }
        }
        try await eventually { seen.withLock { $0 } == ["initial 1"] }
        let configuration = realm.configuration
        try await Task.detached {
            let other = try Realm(configuration: configuration)
            try other.write { other.create(GroupedVisit.self, value: ["guest": "Bo"]) }
        }.value
        try await eventually { seen.withLock { $0.count } == 2 }
        #expect(seen.withLock { $0[1] } == "2: -[]+[1]~[]")
        token.invalidate()
    }

    @Test func frozenGroupsStay() throws {
        let realm = try Self.realm()
        let live = realm.objects(GroupedVisit.self).grouped(by: "guest")
        let frozen = live.freeze()
        #expect(frozen.isFrozen && !live.isFrozen && frozen.freeze().isFrozen)
        try realm.write { realm.delete(realm.objects(GroupedVisit.self)) }
        #expect(live.count == 0 && frozen.count == 2)
        let names = try inAThread { frozen.map { $0["guest", as: String.self] } }
        #expect(names == ["Ada", "Bo"])
    }
}
