// Adding and creating beside the peer: `create` copies what is unmanaged, `.modified` changes embedded objects where
// they are, objects that link to each other end, and text becomes decimals and identifiers.
import Foundation
import Motte
import Testing

class Ringed: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var next: Ringed?
    @Persisted var others: List<Ringed>
    @Persisted var named: Map<String, Ringed?>
    @Persisted var marks: List<Int>
    @Persisted var any: AnyRealmValue
    @Persisted var stone: RingStone?
    @Persisted var stones: List<RingStone>
    @Persisted var places: Map<String, RingStone?>
    let unmanaged = RealmProperty<AnyRealmValue>()
}

class RingStone: EmbeddedObject {
    @Persisted var colour = ""
    @Persisted var carats = 1
    @Persisted var of: Ringed?
    @Persisted var cuts: List<Int>
}

class TextKinds: Object {
    @Persisted(primaryKey: true) var id: ObjectId
    @Persisted var decimal: Decimal128
    @Persisted var decimals: List<Decimal128?>
    @Persisted var other: ObjectId?
    @Persisted var ids: MutableSet<ObjectId>
    @Persisted var uuid: UUID
    @Persisted var uuids: Map<String, UUID>
}

private let ringed: [ObjectBase.Type] = [Ringed.self, RingStone.self]

@Suite struct PeerAddingTests {
    @Test func createCopiesUnmanagedObjects() throws {
        let realm = try makeRealm(ringed)
        let unmanaged = Ringed(value: ["id": 2])
        let second = Ringed(value: ["id": 3])
        let stone = RingStone(value: ["colour": "red"])
        let original = Ringed()
        original.id = 1
        original.next = unmanaged
        original.others.append(objectsIn: [unmanaged, second])
        original.named["x"] = second
        original.marks.append(objectsIn: [1, 2])
        original.any = .object(second)
        original.stone = stone
        original.stones.append(RingStone(value: ["colour": "blue"]))
        original.places["k"] = RingStone(value: ["colour": "green"])
        let copy = try realm.write { realm.create(Ringed.self, value: original) }
        #expect(realm.objects(Ringed.self).count == 3, "each once")
        #expect(copy.others.map(\.id) == [2, 3] && copy.next?.id == 2 && copy.named["x"]??.id == 3)
        #expect(copy.any.object(Ringed.self)?.id == 3 && copy.stone?.colour == "red")
        #expect(copy.stones.first?.colour == "blue" && copy.places["k"]??.colour == "green")
        for object in [original, unmanaged, second] { #expect(object.realm == nil) }
        #expect(stone.realm == nil && original.stones.realm == nil && original.stones[0].realm == nil)
        #expect(original.marks.realm == nil && original.others.realm == nil && original.named.realm == nil)
        original.marks.append(3)
        original.others.removeAll()
        #expect(copy.marks.count == 2 && copy.others.count == 2)

        let nested = Ringed(value: ["id": 11])
        let value: [String: Any] = ["id": 10, "next": nested, "others": [nested], "stone": stone, "any": nested]
        let made = try realm.write { realm.create(Ringed.self, value: value, update: .modified) }
        #expect(nested.realm == nil && stone.realm == nil && made.next?.id == 11 && made.stone?.colour == "red")
        #expect(made.others.first?.id == 11 && made.any.object(Ringed.self)?.id == 11)
    }

    @Test func createCopiesCycles() throws {
        let realm = try makeRealm(ringed)
        let (one, two) = (Ringed(value: ["id": 1]), Ringed(value: ["id": 2]))
        (one.next, two.next) = (two, one)
        one.others.append(one)
        let copy = try realm.write { realm.create(Ringed.self, value: one) }
        #expect(realm.objects(Ringed.self).count == 2 && copy.next?.next?.id == 1 && copy.others.first?.id == 1)
        #expect(one.realm == nil && two.realm == nil)
    }

    @Test func unmanagedObjectsMadeOfOthersHaveTheirOwnCollections() {
        let one = Ringed(value: ["id": 1, "marks": [1, 2]])
        let two = Ringed(value: one)
        two.marks.append(3)
        two.named["a"] = nil as Ringed?
        #expect(one.marks.count == 2 && two.marks.count == 3 && one.named.count == 0)
    }

    @Test func modifiedChangesEmbeddedElementsInPlace() throws {
        let realm = try makeRealm(ringed)
        let colours = { (names: [String]) in names.map { RingStone(value: ["colour": $0, "cuts": [1, 2]]) } }
        let first = Ringed(value: ["id": 1])
        first.stones.append(objectsIn: colours(["a", "b", "c"]))
        first.places["k"] = colours(["p"])[0]
        try realm.write { realm.add(first) }
        let (stones, place) = (Array(first.stones), try #require(first.places["k"] ?? nil))
        var modified: [Int] = []
        let token = realm.objects(Ringed.self).observe { change in
            if case .update(_, _, _, let found) = change { modified += found }
        }
        realm.refresh()

        let again = Ringed(value: ["id": 1])
        again.stones.append(objectsIn: colours(["a", "b", "c"]))
        again.places["k"] = colours(["p"])[0]
        try realm.write { realm.add(again, update: .modified) }
        #expect(modified.isEmpty, "nothing differs")

        let changed = Ringed(value: ["id": 1])
        changed.stones.append(objectsIn: colours(["a", "x"]))
        changed.places["k"] = colours(["q"])[0]
        try realm.write { realm.add(changed, update: .modified) }
        #expect(modified == [0] && stones.map(\.isInvalidated) == [false, false, true] && !place.isInvalidated)
        #expect(stones[1].colour == "x" && stones[1].cuts.count == 2 && place.colour == "q")

        let longer = Ringed(value: ["id": 1])
        longer.stones.append(objectsIn: colours(["a", "y", "z"]))
        try realm.write { realm.add(longer, update: .modified) }
        #expect(stones[1].colour == "y" && first.stones.map(\.colour) == ["a", "y", "z"])

        try realm.write {
            let elements: [[String: Any]] = [["carats": 5], ["colour": "w"], ["colour": "v"], ["colour": "u"]]
            realm.create(Ringed.self, value: ["id": 1, "stones": elements], update: .modified)
        }
        #expect(stones[0].carats == 5 && stones[0].colour == "a" && stones[1].colour == "w")
        #expect(first.stones.map(\.colour) == ["a", "w", "v", "u"], "what is not named stays")
        try realm.write {
            realm.create(Ringed.self, value: ["id": 1, "stones": [["colour": "n"]]], update: .all)
        }
        #expect(stones[0].isInvalidated && first.stones.map(\.colour) == ["n"] && first.stones[0].carats == 1)
        token.invalidate()
    }

    @Test func modifiedChangesAnEmbeddedObjectInPlaceByAnother() throws {
        let realm = try makeRealm(ringed)
        let one = try realm.write {
            realm.create(Ringed.self, value: ["id": 1, "stone": ["colour": "a", "cuts": [1]]])
        }
        let stone = try #require(one.stone)
        let other = RingStone(value: ["colour": "b", "cuts": [1, 2]])
        try realm.write { realm.create(Ringed.self, value: ["id": 1, "stone": other], update: .modified) }
        #expect(!stone.isInvalidated && stone.colour == "b" && Array(stone.cuts) == [1, 2] && other.realm == nil)
    }

    @Test func addedCyclesEnd() throws {
        let realm = try makeRealm(ringed)
        weak var first: Ringed?
        weak var second: Ringed?
        weak var third: Ringed?
        weak var fourth: Ringed?
        weak var stone: RingStone?
        try autoreleasepool {
            let ring = (1 ... 4).map { Ringed(value: ["id": $0]) }
            (first, second, third, fourth) = (ring[0], ring[1], ring[2], ring[3])
            (ring[0].next, ring[1].next) = (ring[1], ring[0])
            ring[2].any = .object(ring[2])
            ring[3].unmanaged.value = .object(ring[3])
            let own = RingStone()
            own.of = ring[0]
            ring[0].stone = own
            stone = own
            try realm.write { realm.add(ring) }
            #expect(ring[0].next === nil || ring[0].next?.id == 2)
            #expect(ring[0].stone?.of?.id == 1 && ring[3].unmanaged.value.object(Ringed.self)?.id == 4)
        }
        #expect(first == nil && second == nil && third == nil && fourth == nil && stone == nil)
        #expect(realm.objects(Ringed.self).map { $0.next?.id } == [2, 1, nil, nil])
    }

    @Test func textBecomesDecimalsAndIdentifiers() throws {
        let realm = try makeRealm([TextKinds.self])
        let (id, other) = ("507f1f77bcf86cd799439011", "507f1f77bcf86cd799439012")
        let uuid = "00000000-0000-0000-0000-00000000000A"
        let digits = "1234567890.123456789012345678901234"
        let value: [String: Any] = [
            "id": id, "decimal": digits, "decimals": ["1.50", NSNull(), 2], "other": other, "ids": [id, other, id],
            "uuid": uuid, "uuids": ["k": uuid],
        ]
        let made = try realm.write { realm.create(TextKinds.self, value: value) }
        for object in [made, TextKinds(value: value)] {
            #expect(object.id.stringValue == id && object.decimal.stringValue == digits)
            #expect(object.decimals.map { $0?.stringValue } == ["1.50", nil, "2"] && object.ids.count == 2)
            #expect(object.other?.stringValue == other && object.uuid.uuidString == uuid)
            #expect(object.uuids["k"] == object.uuid)
        }
        var received = 0
        let token = realm.objects(TextKinds.self).observe { if case .update = $0 { received += 1 } }
        realm.refresh()
        try realm.write {
            realm.create(TextKinds.self, value: ["id": id, "decimal": digits, "uuid": uuid], update: .modified)
        }
        #expect(realm.objects(TextKinds.self).count == 1 && received == 0, "the same object, by its key as text")
        try realm.write { made["decimal"] = "7.5" }
        #expect(made.decimal == 7.5 && received == 1)
        for bad: [String: Any] in [["id": "no id"], ["decimal": "no number"], ["uuid": "no uuid"], ["other": ""]] {
            #expect(misuses { _ = TextKinds(value: bad) }.count == 1, "\(bad)")
        }
        token.invalidate()
    }
}
