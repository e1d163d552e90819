// What loops and adding many do by another way than single objects: the outcome is the same.
import Foundation
import Motte
import Testing

class Crate: Object {
    @Persisted(primaryKey: true) var number: Int
    @Persisted var label = "none"
    @Persisted var weight: Double?
    @Persisted var next: Crate?
    @Persisted var parts: List<Int>
    @Persisted var owner: CrateOwner?
}

class CrateOwner: Object {
    @Persisted var name = ""
    @Persisted var since: Date
}

/// Has something that is not stored.
class Stamped: Object {
    @Persisted var number: Int
    var isSeen = false
}

/// Looked up by name below, so that its use warns nobody.
@available(*, deprecated)
class Boxed: Object {
    @Persisted var number: Int
    let limit = RealmOptional<Int>()
    let other = RealmProperty<Double?>()
}

class Ticket: Object {
    let price = RealmProperty<Double?>()
}

@Suite(.serialized) struct BulkTests {
    private func fresh() throws -> Realm { try makeRealm([Crate.self, CrateOwner.self, Stamped.self]) }

    private func crates(_ count: Int) -> [Crate] {
        (0 ..< count).map { Crate(value: ["number": $0, "label": "c\($0)", "parts": [$0]] as [String: Any]) }
    }

    // MARK: Loops

    @Test func whatALoopKeepsStaysWhatItWas() throws {
        let realm = try fresh()
        try realm.write { realm.add(crates(600)) }
        let all = realm.objects(Crate.self)
        var numbers: [Int] = []
        for crate in all { numbers.append(crate.number) }
        #expect(numbers == Array(0 ..< 600))
        // Kept, weakly kept, and asked for its list, each by another third.
        var kept: [Crate] = [], lists: [List<Int>] = []
        weak var weakly: Crate?
        var weaklyKept = -1
        for crate in all {
            // Not of the row that the loop has come to.
            if let known = weakly { #expect(known.number == weaklyKept) }
            switch crate.number % 3 {
            case 0: kept.append(crate)
            case 1: lists.append(crate.parts)
            default: (weakly, weaklyKept) = (crate, crate.number)
            }
        }
        #expect(kept.map(\.number) == stride(from: 0, to: 600, by: 3).map { $0 })
        #expect(lists.map { $0[0] } == stride(from: 1, to: 600, by: 3).map { $0 })
        #expect(Array(all).map(\.label) == (0 ..< 600).map { "c\($0)" })
        var one = all.makeIterator(), other = one
        #expect(one.next()?.number == 0 && one.next()?.number == 1 && other.next()?.number == 0)
    }

    @Test func aLoopThatWritesSeesWhatItBeganWith() throws {
        let realm = try fresh()
        try realm.write { realm.add(crates(10)) }
        try realm.write { for crate in realm.objects(Crate.self).filter("weight == nil") { crate.weight = 1 } }
        #expect(realm.objects(Crate.self).filter("weight == 1").count == 10)
        for crate in realm.objects(Crate.self) where crate.number % 2 == 0 { try realm.write { realm.delete(crate) } }
        #expect(realm.objects(Crate.self).map(\.number) == [1, 3, 5, 7, 9])
    }

    @Test func objectsWithMoreThanIsStoredAreNew() throws {
        let realm = try fresh()
        try realm.write { realm.add((0 ..< 3).map { Stamped(value: ["number": $0]) }) }
        for stamped in realm.objects(Stamped.self) {
            #expect(!stamped.isSeen)
            stamped.isSeen = true
        }
    }

    // MARK: Adding

    @Test func manyAreAddedAsOneByOne() throws {
        let realm = try fresh()
        let owner = CrateOwner(value: ["name": "o"]), all = crates(1_500)
        for (index, crate) in all.enumerated() {
            crate.next = all[(index + 700) % 1_500]
            crate.owner = owner
        }
        try realm.write { realm.add([all[3]] + all + [all[5]]) }
        #expect(realm.objects(Crate.self).count == 1_500 && realm.objects(CrateOwner.self).count == 1)
        for (index, crate) in all.enumerated() {
            #expect(crate.realm == realm && crate.number == index && crate.parts.first == index)
            #expect(crate.next?.number == (index + 700) % 1_500)
        }
        #expect(realm.object(ofType: Crate.self, forPrimaryKey: 1_499)?.label == "c1499" && owner.name == "o")
        // Of several classes in turn, one of them reached before its turn.
        let mixed: [Object] = [
            Crate(value: ["number": 5_000, "owner": CrateOwner(value: ["name": "reached"])]), CrateOwner(), Stamped(),
        ]
        try realm.write { realm.add(mixed + [try #require((mixed[0] as? Crate)?.owner)]) }
        #expect(realm.objects(CrateOwner.self).count == 3 && realm.objects(Stamped.self).count == 1)
    }

    @Test func theOneThatDoesNotFitIsNamed() throws {
        let realm = try fresh()
        try realm.write {
            let all = [1, 2, 1, 4].map { Crate(value: ["number": $0]) }
            #expect(misuses { realm.add(all) }.count == 1)
            #expect(all.allSatisfy { $0.realm == nil } && realm.objects(Crate.self).isEmpty, "all of them or none")
            realm.add(all.dropFirst())
        }
        #expect(realm.objects(Crate.self).map(\.number) == [2, 1, 4])
        #expect(misuses { realm.add(crates(2)) }.count == 1, "outside of a write")
        try realm.write { realm.add(crates(3), update: .modified) }
        #expect(realm.objects(Crate.self).count == 4)
    }

    @Test func boxedPropertiesAreStored() throws {
        let type = try #require(_typeByName("10MotteTests5BoxedC") as? Object.Type)
        let realm = try makeRealm([type])
        let boxed = type.init()
        for (name, value) in ["number": 1, "limit": 7, "other": 2.5] as [String: Any] { boxed[name] = value }
        #expect(boxed["limit"] as? Int == 7)
        try realm.write { realm.add([boxed, type.init()]) }
        let found = realm.dynamicObjects("Boxed")
        #expect(found.filter("limit == 7 AND other == 2.5").count == 1 && found.filter("limit == nil").count == 1)
        try realm.write { boxed["limit"] = nil }
        #expect(found.filter("limit == nil").count == 2 && realm.schema["Boxed"]?["limit"]?.isOptional == true)
    }

    @Test func rule82BoxesOutliveTheirObjects() throws {
        let realm = try makeRealm([Ticket.self])
        try realm.write { realm.add(Ticket(value: ["price": 2.5])) }
        let price = try #require(realm.objects(Ticket.self).first).price
        #expect(price.value == 2.5)
        try realm.write { price.value = 3 }
        #expect(realm.objects(Ticket.self).filter("price == 3").count == 1)
    }
}
