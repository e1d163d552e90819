// The numbered behaviours of the semantics list about values given by name that are stored in another form than they
// are read in, primary keys that are null, and what is left after a realm was invalidated. Numbers are in the names.
import Foundation
import Motte
import Testing

class Badge: Object {
    @Persisted(primaryKey: true) var id: String?
    @Persisted var mood: Mood
    @Persisted var optionalMood: Mood?
    @Persisted var rank: Rank
    @Persisted var even: Even = Even(persistedValue: 2)!
    @Persisted var optionalEven: Even?
    @Persisted var point: Point
    @Persisted var optionalPoint: Point?
    @Persisted var points: Map<String, Point>
    @Persisted var pointList: List<Point>
    @Persisted var number: Int
}

class Chest: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var values: List<Int>
    @Persisted var badges: List<Badge>
}

@Suite(.serialized) struct StoredFormRulesTests {
    private func fresh() throws -> Realm { try makeRealm([Badge.self, Chest.self, Spot.self]) }

    /// Whoever else writes the file may know more cases; this program does not store what it cannot read.
    @Test func rules48And253UnknownRawValuesAreRead() throws {
        let realm = try fresh()
        let badge = try realm.write {
            let badge = realm.create(Badge.self, value: ["id": "a"])
            let byName = realm.dynamicObjects("Badge")[0]
            byName["mood"] = "bored"
            byName["optionalMood"] = "sad"
            byName["rank"] = 99
            return badge
        }
        #expect(badge.optionalMood == nil && badge.number == 0)
        #expect(misuses { _ = badge.mood }.first?.contains("bored") == true && misuses { _ = badge.rank }.count == 1)
        #expect(realm.objects(Badge.self).filter("mood == 'bored' AND rank == 99 AND optionalMood == 'sad'").count == 1)
        try realm.write {
            badge["mood"] = "angry"
            badge.rank = .high
        }
        #expect(badge.mood == .angry && badge.optionalMood == nil && badge.rank == .high)
        try realm.write {
            realm.create(Badge.self, value: ["id": "a", "mood": Mood.angry, "rank": Rank.low], update: .modified)
            for (name, value) in [("rank", 99), ("rank", "high"), ("mood", "dull"), ("mood", 3)] as [(String, Any)] {
                #expect(misuses { badge[name] = value }.count == 1, "\(name)")
            }
            #expect(misuses { badge["mood"] = nil }.count == 1, "45")
        }
        #expect(badge.rank == .low && badge.mood == .angry)
        #expect(misuses { _ = Badge(value: ["mood": "bored"]) }.count == 1, "an unmanaged object holds cases only")
    }

    @Test func rule254FailableTypesFailWhenTheyAreRead() throws {
        let realm = try fresh()
        let badge = try realm.write { realm.create(Badge.self, value: ["id": "a", "even": 3, "optionalEven": 5]) }
        #expect(badge.optionalEven == nil && misuses { _ = badge.even }.count == 1)
        #expect(realm.objects(Badge.self).filter("even == 3 AND optionalEven == 5").count == 1)
        try realm.write { badge["even"] = 4 }
        #expect(badge.even.value == 4)
    }

    @Test func rule255NullForATypeStoredAsAnEmbeddedObject() throws {
        let realm = try fresh()
        let badge = try realm.write {
            realm.create(
                Badge.self,
                value: [
                    "id": "a", "point": NSNull(), "optionalPoint": NSNull(),
                    "points": ["none": NSNull() as Any, "one": ["x": 1, "y": 2]],
                ])
        }
        #expect(badge.point == Point(x: 0, y: 0) && badge.optionalPoint == nil)
        #expect(badge.points["none"] == Point(x: 0, y: 0) && badge.points["one"] == Point(x: 1, y: 2))
        #expect(realm.objects(Badge.self).filter("point == nil").count == 1)
        try realm.write {
            badge.point = Point(x: 5, y: 6)
            #expect(badge.point.x == 5)
            badge["point"] = nil
        }
        #expect(badge.point == Point(x: 0, y: 0))
        try realm.write {
            #expect(misuses { badge["pointList"] = [["x": 1], NSNull()] }.count == 1, "a list holds no null")
            badge["pointList"] = [["x": 1]]
        }
        #expect(badge.pointList.map(\.x) == [1])
    }

    @Test func rule62NullIsAPrimaryKey() throws {
        let realm = try fresh()
        let badge = try realm.write { realm.create(Badge.self, value: ["id": NSNull(), "number": 1]) }
        #expect(badge.id == nil && realm.object(ofType: Badge.self, forPrimaryKey: nil as String?)?.number == 1)
        try realm.write {
            #expect(misuses { realm.create(Badge.self, value: ["id": NSNull()]) }.count == 1, "unique like any other")
            #expect(misuses { realm.create(Badge.self) }.count == 1)
            realm.create(Badge.self, value: ["id": nil, "number": 2] as [String: Any?], update: .modified)
        }
        #expect(realm.objects(Badge.self).count == 1 && badge.number == 2)
        try realm.write { realm.create(Badge.self, value: ["number": 3], update: .all) }
        #expect(realm.objects(Badge.self).count == 1 && badge.number == 3)
        try realm.write { _ = realm.dynamicCreate("Badge", value: ["id": NSNull(), "number": 4], update: .modified) }
        #expect(badge.number == 4 && realm.dynamicObject(ofType: "Badge", forPrimaryKey: NSNull()) != nil)
        try realm.write {
            #expect(misuses { realm.create(Chest.self, value: ["id": NSNull()]) }.count == 1, "45")
            #expect(misuses { realm.create(Chest.self, value: ["id": NSNull()], update: .all) }.count == 1)
        }
        #expect(realm.objects(Chest.self).isEmpty)
    }

    @Test(arguments: [true, false])
    func rule79InvalidatingEndsResultsToo(_ isInMemory: Bool) throws {
        var configuration = Realm.Configuration(
            fileURL: temporaryURL(), objectTypes: [Badge.self, Chest.self, Spot.self])
        if isInMemory { configuration.inMemoryIdentifier = UUID().uuidString }
        let realm = try Realm(configuration: configuration)
        let chest = try realm.write {
            realm.create(Chest.self, value: ["id": 1, "values": [3, 1, 2], "badges": [["id": "a"], ["id": "b"]]])
        }
        let all = realm.objects(Badge.self)
        let some = all.filter("number == %@", 0).sorted(byKeyPath: "id", ascending: false)
        let sections = all.sectioned(by: \.number, ascending: true)
        let ofList = chest.badges.filter("number == 0")
        let ofValues = chest.values.sorted()
        let list = chest.badges
        #expect(all.count == 2 && some.map(\.id) == ["b", "a"] && sections.allKeys == [0] && ofValues.count == 3)

        realm.invalidate()
        #expect(chest.isInvalidated && list.isInvalidated && misuses { _ = chest.id }.count == 1)
        #expect(all.isInvalidated && some.isInvalidated && sections.isInvalidated)
        #expect(ofList.isInvalidated && ofValues.isInvalidated)
        #expect(misuses { _ = all.count }.count == 1 && misuses { _ = some.first }.count >= 1)
        var received = 0
        let again = realm.objects(Badge.self)
        let token = again.observe { if case .update = $0 { received += 1 } }
        realm.refresh()
        try realm.write { realm.create(Badge.self, value: ["id": "c"]) }
        #expect(again.count == 3 && again.last?.id == "c" && received == 1, "asked for again")
        token.invalidate()

        try realm.write {
            realm.create(Badge.self, value: ["id": "d"])
            realm.invalidate()  // 15
        }
        #expect(!realm.isInWriteTransaction && realm.objects(Badge.self).count == 3)
        let frozen = realm.freeze()
        let kept = frozen.objects(Badge.self)
        #expect(kept.count == 3)
        frozen.invalidate()
        #expect(misuses { _ = kept.count }.count == 1, "117")
    }

    @Test func deletingEverythingLeavesTheSchema() throws {
        let realm = try fresh()
        #expect(realm.isEmpty)
        try realm.write { realm.create(Chest.self, value: ["id": 1, "badges": [["id": "a", "point": ["x": 1]]]]) }
        #expect(!realm.isEmpty)
        var deletions = 0
        let token = realm.objects(Badge.self).observe { change in
            if case .update(_, let gone, _, _) = change { deletions += gone.count }
        }
        realm.refresh()
        try realm.write { realm.deleteAll() }
        #expect(realm.isEmpty && deletions == 1, "80")
        token.invalidate()
        #expect(misuses { realm.deleteAll() }.count == 1, "68")
    }
}
