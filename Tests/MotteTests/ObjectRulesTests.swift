// The numbered behaviours of the semantics list that concern objects: transactions, adding, creating, updating,
// deleting, identity. Numbers are in the names.
import Foundation
import Motte
import Testing

class Member: Object {
    @Persisted(primaryKey: true) var number: Int?
    @Persisted var name: String
    @Persisted var age = 18 {
        didSet { Member.sets.append("\(oldValue) \(age)") }
    }
    @Persisted var isActive: Bool
    @Persisted var card: Card?
    @Persisted var best: Member?
    @Persisted var friends: List<Member>
    @Persisted var scores: List<Int>
    nonisolated(unsafe) static var sets: [String] = []
}

class Card: EmbeddedObject {
    @Persisted var code: String
    @Persisted var colour = "red"
    @Persisted var stamps: List<Stamp>
}

class Stamp: EmbeddedObject {
    @Persisted var shop: String
}

/// Without a primary key.
class Visit: Object {
    @Persisted var place: String
    @Persisted var guest: Member?
    @Persisted var next: Visit?
    @Persisted var guests: Map<String, Member?>
    @Persisted var cards: List<Card>
    @Persisted var cardMap: Map<String, Card?>
    @Persisted var anything: AnyRealmValue
    @Persisted(originProperty: "next") var earlier: LinkingObjects<Visit>
}

class Tall: Member {
    @Persisted var height: Int
}

enum Outer {
    class Inner: Object { @Persisted var value: Int }
}

private let members: [ObjectBase.Type] = [Member.self, Card.self, Stamp.self, Visit.self]

@Suite(.serialized) struct ObjectRulesTests {
    private func fresh() throws -> Realm { try makeRealm(members) }

    private func member(_ number: Int, _ name: String = "m") -> Member {
        Member(value: ["number": number, "name": name])
    }

    // MARK: Transactions

    @Test func rule10MisuseLeavesTheRealmUsable() throws {
        let realm = try fresh()
        try realm.write {
            realm.add(member(1, "one"))
            #expect(misuses { realm.add(member(1, "two")) }.count == 1)
            realm.add(member(2))
        }
        #expect(realm.objects(Member.self).map(\.name) == ["one", "m"])
    }

    @Test func rules11And12TransactionsDoNotNest() throws {
        let realm = try fresh()
        realm.beginWrite()
        #expect(misuses { realm.beginWrite() }.count == 1)
        #expect(throws: Realm.Error.self) { try realm.write {} }
        #expect(realm.isInWriteTransaction)
        realm.cancelWrite()
        #expect(misuses { realm.cancelWrite() }.count == 1)
        #expect(try misuses { try realm.commitWrite() }.count == 1)
    }

    @Test func rules13And14TheBlockDecides() throws {
        let realm = try fresh()
        #expect(try realm.write { 7 } == 7)
        try realm.write {
            realm.add(member(1))
            realm.cancelWrite()
        }
        #expect(realm.objects(Member.self).isEmpty)
        try realm.write {
            realm.add(member(2))
            try realm.commitWrite()
        }
        #expect(realm.objects(Member.self).count == 1 && !realm.isInWriteTransaction)
    }

    @Test func rule16RealmsOfAThreadShareTheTransaction() throws {
        let realm = try fresh()
        let other = try Realm(configuration: realm.configuration)
        realm.beginWrite()
        #expect(other.isInWriteTransaction && other == realm)
        other.cancelWrite()
        #expect(!realm.isInWriteTransaction)
    }

    @Test func rule17TokensOfOtherRealmsAreMisuse() throws {
        let (realm, other) = (try fresh(), try fresh())
        let token = other.objects(Member.self).observe { _ in }
        var ran = false
        let messages = misuses {
            #expect(throws: Realm.Error.self) { try realm.write(withoutNotifying: [token]) { ran = true } }
        }
        // Under a handler that returns, nothing is left begun.
        #expect(messages.count == 1 && !ran && !realm.isInWriteTransaction)
        try realm.write {}
        token.invalidate()
    }

    @Test func rules21And22CancelledWrites() throws {
        let realm = try fresh()
        let kept = member(1, "kept")
        try realm.write { realm.add(kept) }
        let all = realm.objects(Member.self)
        let new = member(2)
        realm.beginWrite()
        realm.add(new)
        kept.name = "changed"
        #expect(all.count == 2)
        realm.cancelWrite()
        #expect(new.isInvalidated && kept.name == "kept" && all.count == 1)
        realm.beginWrite()
        realm.delete(kept)
        realm.cancelWrite()
        #expect(realm.object(ofType: Member.self, forPrimaryKey: 1)?.name == "kept")
    }

    // MARK: Adding and creating

    @Test func rules36And37AddingKeepsInstances() throws {
        let (realm, other) = (try fresh(), try fresh())
        let one = member(1)
        let friends = one.friends
        #expect(misuses { realm.add(one) }.first?.contains("write") == true && one.realm == nil)
        try realm.write {
            realm.add(one)
            realm.add(one)
        }
        #expect(one.friends === friends && friends.realm == realm && realm.objects(Member.self).count == 1)
        #expect(try misuses { try other.write { other.add(one) } }.count == 1)
        try realm.write { realm.delete(one) }
        #expect(try misuses { try realm.write { realm.add(one) } }.count == 1)
    }

    @Test func rule38WhatIsReachedIsAddedOnce() throws {
        let realm = try fresh()
        let (one, two) = (member(1), member(2))
        one.best = two
        two.best = one
        one.friends.append(objectsIn: [two, two])
        try realm.write { realm.add(one) }
        #expect(
            realm.objects(Member.self).count == 2 && one.friends.count == 2 && two.best == one && two.realm == realm)
    }

    @Test func rule39UpdatesNeedAPrimaryKey() throws {
        let realm = try fresh()
        try realm.write {
            #expect(
                misuses { realm.add(Visit(), update: .modified) }.first?.contains("does not have a primary key") == true
            )
            #expect(misuses { realm.create(Visit.self, value: ["place": "x"], update: .all) }.count == 1)
        }
        #expect(realm.objects(Visit.self).isEmpty)
    }

    @Test func rules40To42CreateCopies() throws {
        let (realm, other) = (try fresh(), try fresh())
        let unmanaged = member(1, "unmanaged")
        try realm.write {
            let made = realm.create(Member.self, value: unmanaged)
            #expect(made !== unmanaged && made.name == "unmanaged" && unmanaged.realm == nil)
            let visit = realm.create(Visit.self, value: ["place": "a", "guest": made])
            let copy = realm.create(Visit.self, value: visit)
            #expect(!copy.isSameObject(as: visit) && copy.guest == made && realm.objects(Member.self).count == 1)
            #expect(realm.create(Member.self, value: made, update: .modified).isSameObject(as: made))
        }
        let visit = try #require(realm.objects(Visit.self).first)
        try other.write {
            other.add(member(1, "there"))
            other.create(Visit.self, value: visit, update: .error)
        }
        #expect(other.objects(Visit.self).first?.place == "a")
    }

    @Test func rules43And44ValuesByPositionAndByName() throws {
        let realm = try fresh()
        try realm.write {
            realm.create(Member.self, value: [1, "by position", 30] as [Any])
            realm.create(Member.self, value: ["number": 2, "name": "by name"])
        }
        let all = realm.objects(Member.self).sorted(byKeyPath: "number")
        #expect(all.map(\.name) == ["by position", "by name"] && all.map(\.age) == [30, 18])
        #expect(misuses { _ = Member(value: Array(repeating: 1, count: 50)) }.count == 1, "too many")
        let tall = Tall(value: [3, "t", 20, true, NSNull(), NSNull(), [], [], 190] as [Any])
        #expect(tall.name == "t" && tall.height == 190, "properties of the superclass come first (265)")
    }

    @Test func rules45To47WhatValuesFit() throws {
        let realm = try fresh()
        try realm.write {
            #expect(misuses { realm.create(Member.self, value: ["number": 1, "name": NSNull()]) }.count > 0)
            #expect(misuses { realm.create(Member.self, value: ["number": 2, "name": 5]) }.count > 0)
            #expect(misuses { realm.create(Member.self, value: ["number": 3, "age": 1.5]) }.count > 0)
            #expect(misuses { realm.create(Member.self, value: ["number": 4, "isActive": 2]) }.count > 0)
            let made = realm.create(Member.self, value: ["number": 5, "isActive": 1, "scores": NSNull()])
            #expect(made.isActive && made.scores.isEmpty, "null is an empty list")
            #expect(realm.objects(Member.self).count == 1, "what does not fit is not added")
        }
    }

    @Test func rule50ADuplicateKeyIsMisuse() throws {
        let realm = try fresh()
        try realm.write {
            realm.add(member(1, "first"))
            #expect(misuses { realm.create(Member.self, value: ["number": 1, "name": "second"]) }.count == 1)
        }
        #expect(realm.objects(Member.self).map(\.name) == ["first"])
    }

    @Test func rules51And52WhatCountsAsAChange() throws {
        let realm = try fresh()
        let one = member(1, "same")
        try realm.write { realm.add(one) }
        var names: [[String]] = []
        let token = one.observe { (change: ObjectChange<Member>) in
            if case .change(_, let properties) = change { names.append(properties.map(\.name)) }
        }
        realm.refresh()
        func received(_ body: () -> Void) throws -> [[String]] {
            names = []
            try realm.write(body)
            try realm.write {}
            return names
        }
        #expect(
            try received { realm.create(Member.self, value: ["number": 1, "name": "same"], update: .modified) }.isEmpty)
        #expect(
            try received {
                realm.create(
                    Member.self, value: ["number": 1, "name": "same"],
                    update: .all)
            } == [["name"]])
        #expect(try received { one.name = one.name } == [["name"]])
        #expect(
            try received {
                realm.create(Member.self, value: ["number": 1, "name": "new", "scores": []], update: .modified)
            }
                == [["name"]])
        token.invalidate()
    }

    @Test func rule53NestedObjectsAreUpdatedTheSameWay() throws {
        let realm = try fresh()
        try realm.write {
            realm.create(Member.self, value: ["number": 1, "name": "a", "best": ["number": 2, "name": "b", "age": 5]])
            realm.create(Member.self, value: ["number": 1, "best": ["number": 2, "name": "c"]], update: .modified)
        }
        #expect(realm.objects(Member.self).count == 2)
        let best = try #require(realm.object(ofType: Member.self, forPrimaryKey: 2))
        #expect(best.name == "c" && best.age == 5 && realm.object(ofType: Member.self, forPrimaryKey: 1)?.name == "a")
    }

    @Test func rule54EmbeddedObjectsUnderUpdates() throws {
        let realm = try fresh()
        let one = Member(value: ["number": 1, "card": ["code": "x", "colour": "blue"]])
        try realm.write { realm.add(one) }
        let card = try #require(one.card)
        try realm.write { realm.create(Member.self, value: ["number": 1, "card": ["code": "y"]], update: .modified) }
        #expect(!card.isInvalidated && card.code == "y" && card.colour == "blue", "in place")
        try realm.write { realm.add(Member(value: ["number": 1, "card": ["code": "z"]]), update: .modified) }
        #expect(!card.isInvalidated && card.code == "z" && card.colour == "red", "an object brings all of its values")
        try realm.write { realm.create(Member.self, value: ["number": 1, "card": ["code": "w"]], update: .all) }
        #expect(card.isInvalidated && one.card?.code == "w", "replaced")
    }

    @Test func rules56To58EmbeddedObjectsHaveOneParent() throws {
        let realm = try fresh()
        let (one, two) = (member(1), member(2))
        let visit = Visit()
        try realm.write {
            realm.add([one, two])
            realm.add(visit)
            one.card = Card(value: ["code": "a", "stamps": [["shop": "s"]]])
        }
        let card = try #require(one.card)
        let stamp = try #require(card.stamps.first)
        try realm.write {
            one.card = card
            #expect(!card.isInvalidated && one.card?.code == "a", "the same object in the same place")
            #expect(misuses { two.card = card }.first?.contains("existing managed embedded object") == true)
            #expect(misuses { visit.cards.append(card) }.first?.contains("existing managed embedded object") == true)
            #expect(misuses { visit.cardMap["k"] = card }.first?.contains("existing managed embedded object") == true)
            one.card = Card()
        }
        #expect(card.isInvalidated && stamp.isInvalidated && two.card == nil && visit.cards.isEmpty)
    }

    @Test func rules59And60EmbeddedObjectsAreNotCreatedAlone() throws {
        let realm = try fresh()
        let one = Member(value: ["number": 1, "card": ["code": "a"]])
        try realm.write {
            realm.add(one)
            #expect(misuses { realm.dynamicCreate("Card", value: ["code": "x"]) }.count > 0)
            let copy = realm.create(Member.self, value: Member(value: ["number": 2, "card": ["code": "b"]]))
            #expect(copy.card?.code == "b")
            one.card?.stamps.append(Stamp(value: ["shop": "s"]))
            let visit = realm.create(Visit.self, value: ["cards": [["code": "c"]]])
            let second = realm.create(Visit.self, value: visit)
            #expect(second.cards.map(\.code) == ["c"] && visit.cards.map(\.code) == ["c"], "duplicated (60)")
            let unmanaged = Member(value: one)
            #expect(unmanaged.card?.realm == nil && unmanaged.card?.stamps.first?.shop == "s" && one.card?.code == "a")
        }
        #expect(one.card?.code == "a")
    }

    @Test func rules61And62PrimaryKeys() throws {
        let realm = try fresh()
        let one = member(1)
        one.number = 5
        try realm.write {
            realm.add(one)
            realm.create(Member.self, value: ["name": "no number"])
            let texts =
                misuses { one.number = 6 } + misuses { one["number"] = 6 }
                + misuses { one.setValue(6, forKey: "number") }
            #expect(
                texts.count == 3 && texts.allSatisfy { $0.contains("can't be changed after an object is inserted") },
                "\(texts)")
        }
        #expect(one.number == 5 && realm.object(ofType: Member.self, forPrimaryKey: Int?.none)?.name == "no number")
        #expect(try misuses { _ = try realm.write { realm.create(Member.self, value: ["name": "again"]) } }.count == 1)
    }

    @Test func rules63And64DefaultsAreMadePerObject() throws {
        let realm = try makeRealm([Identified.self])
        let (one, two) = try realm.write { (realm.create(Identified.self), realm.create(Identified.self)) }
        #expect(one.key != two.key && one.oid != two.oid && one.made != two.made && one.zero == two.zero)
        #expect(abs(Sampler().date.timeIntervalSinceNow) < 60, "dates begin now")
    }

    @Test func rule65ObserversOfPropertiesRun() throws {
        let realm = try fresh()
        let one = member(1)
        Member.sets = []
        one.age = 20
        try realm.write {
            realm.add(one)
            one.age = 21
        }
        #expect(Member.sets == ["18 20", "20 21"])
    }

    // MARK: Deleting

    @Test func rules68And69DeletedObjects() throws {
        let (realm, other) = (try fresh(), try fresh())
        let (one, unmanaged) = (member(1), member(2))
        try realm.write { realm.add(one) }
        #expect(misuses { realm.delete(one) }.count == 1)
        #expect(try misuses { try other.write { other.delete(one) } }.count == 1)
        try realm.write {
            #expect(misuses { realm.delete(unmanaged) }.count == 1)
            realm.delete(one)
            #expect(misuses { realm.delete(one) }.count == 1)
        }
        #expect(one.isInvalidated && !one.isSameObject(as: unmanaged) && !one.description.isEmpty && one != unmanaged)
        let texts = misuses { _ = one.name } + misuses { _ = one["name"] }
        #expect(
            texts.count == 2 && texts.allSatisfy { $0.contains("deleted") || $0.contains("invalidated") }, "\(texts)")
        #expect(try misuses { try realm.write { one.name = "x" } }.count == 1)
    }

    @Test func rules70To74DeletingThroughCollections() throws {
        let realm = try fresh()
        let all = (1 ... 6).map { member($0, $0 < 4 ? "low" : "high") }
        let visit = Visit()
        try realm.write {
            realm.add(all)
            realm.add(visit)
            all[5].friends.append(objectsIn: [all[0], all[1], all[0]])
            all[5].best = all[0]
            visit.guests["two"] = all[1]
            visit.guests["three"] = all[2]
            visit.anything = .object(all[1])
        }
        try realm.write { realm.delete(all[0]) }
        #expect(all[5].friends.map(\.number) == [2] && all[5].best == nil, "links become nil (73)")
        try realm.write { realm.delete(all[5].friends) }
        #expect(all[5].friends.isEmpty && all[1].isInvalidated, "the list is left empty (70)")
        #expect(visit.guests.count == 2 && visit.guests["two"]! == nil, "a map keeps the key (74)")
        #expect(visit.anything == .none, "mixed links become none (75)")
        try realm.write { realm.delete(visit.guests) }
        #expect(visit.guests.count == 2 && all[2].isInvalidated)
        try realm.write { realm.delete(realm.objects(Member.self).distinct(by: ["name"])) }
        #expect(realm.objects(Member.self).count == 2, "only those that stand for the others (71)")
        try realm.write { realm.delete(realm.objects(Member.self).lazy.filter { $0.name == "high" }) }
        #expect(realm.objects(Member.self).isEmpty, "lazily filtered (72)")
    }

    @Test func rules76To78DeletedParents() throws {
        let realm = try fresh()
        let visit = Visit()
        try realm.write {
            realm.add(visit)
            visit.cards.append(objectsIn: [Card(value: ["code": "a"]), Card(value: ["code": "b"])])
            visit.next = Visit(value: ["place": "later"])
        }
        let (cards, card, earlier) = (visit.cards, visit.cards[1], try #require(visit.next).earlier)
        let sorted = cards.sorted(byKeyPath: "code")
        #expect(sorted.count == 2 && earlier.count == 1)
        try realm.write { visit.cards.remove(at: 1) }
        #expect(card.isInvalidated && sorted.count == 1, "removed from its list, it is gone (77)")
        try realm.write { realm.delete(visit) }
        #expect(cards.isInvalidated && earlier.isEmpty)
        let found = misuses { if sorted.count != 0 || sorted.first != nil { Issue.record("not empty") } }
        #expect(found.isEmpty, "empty rather than misuse (78)")
    }

    @Test func rules80And81EverythingAndNothing() throws {
        let realm = try fresh()
        let one = member(1)
        try realm.write { realm.add(one) }
        var deleted: [Int] = []
        let token = realm.objects(Member.self).observe { if case .update(_, let gone, _, _) = $0 { deleted += gone } }
        realm.refresh()
        try realm.write { realm.deleteAll() }
        try realm.write {}
        #expect(one.isInvalidated && deleted == [0] && realm.isEmpty)
        token.invalidate()
        #expect(misuses { _ = realm.objects(Object.self) }.count == 1, "the base class is no model (81)")
    }

    // MARK: Identity

    @Test func rules84To87Equality() throws {
        let realm = try fresh()
        let one = member(1)
        let hash = one.hashValue
        let visit = Visit()
        try realm.write {
            realm.add(one)
            realm.add(visit)
        }
        #expect(one.hashValue == hash, "adding does not change it (86)")
        let again = try #require(realm.object(ofType: Member.self, forPrimaryKey: 1))
        #expect(again == one && again !== one && again.hashValue == hash && Set([one, again]).count == 1)
        let sameVisit = try #require(realm.objects(Visit.self).first)
        #expect(sameVisit != visit && sameVisit.isSameObject(as: visit), "without a key by instance (84)")
        let (frozen, frozenToo) = (visit.freeze(), sameVisit.freeze())
        #expect(frozen == frozenToo && Set([frozen, frozenToo]).count == 1, "frozen ones by row (85)")
        try realm.write { visit.place = "changed" }
        #expect(frozen != visit.freeze(), "at another version (119)")
        #expect(realm.objects(Visit.self) != realm.objects(Visit.self).filter("TRUEPREDICATE"), "results (87)")
    }

    // MARK: Names and schemas

    @Test func rules256To265NamesAndOrder() throws {
        #expect(Outer.Inner.className() == "Outer_Inner", "264")
        let realm = try makeRealm([Tall.self, Card.self, Stamp.self, Member.self])
        let names = realm.schema["Tall"]?.properties.map(\.name) ?? []
        #expect(names.first == "number" && names.last == "height", "265")
        let tall = Tall(value: ["number": 1, "name": "n", "card": ["code": "c"]])
        let text = tall.description
        #expect(text.hasPrefix("Tall {\n\tnumber = 1;\n\tname = n;") && text.contains("best = (null);"), "256: \(text)")
        #expect(text.contains("card = Card {\n\t\tcode = c;") && text.hasSuffix("}"))
    }

    @Test func rule267KeyPathsHaveNames() {
        #expect(_name(for: \Member.name) == "name" && _name(for: \Member.best?.name) == "best.name", "301")
        #expect(_name(for: \Member.best?.card?.code) == "best.card.code" && _name(for: \Member.friends) == "friends")
        #expect(_name(for: \Visit.guests) == "guests" && _name(for: \Visit.earlier) == "earlier")
        #expect(_name(for: \Member.friends[0].best!.name) == "friends.best.name", "through an element")
        #expect(_name(for: \Holder.items[3].wholes[0].name) == "items.wholes.name")
        #expect(_name(for: \Bare.holders[0].held!.list) == "holders.held.list", "declared with let")
        #expect(_name(for: \Train.spare["k"]!!.boss!.name) == "spare.boss.name", "through a value of a map")
        #expect(_name(for: \Visit.anything) == "anything" && _name(for: \Building.height) == "height")
    }

    @Test func rules268And269SchemasAreWhole() throws {
        #expect(throws: Realm.Error.self) { try makeRealm([Visit.self]) }
        let realm = try makeRealm([Identified.self])
        let texts = try misuses { try realm.write { realm.add(member(1)) } }
        #expect(texts.first?.contains("not managed by the Realm") == true)
    }
}
