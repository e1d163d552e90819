/// Objects of another realm, of another class and of no realm, in every place that takes an object.
import Foundation
import Motte
import MotteValues
import Testing

class Guest: Object {
    @Persisted var n = 0
    @Persisted var friend: Guest?
    @Persisted var list: Motte.List<Guest>
    @Persisted var set: MutableSet<Guest>
    @Persisted var map: Map<String, Guest?>
    @Persisted var any: AnyRealmValue
    @Persisted var anyList: Motte.List<AnyRealmValue>
    @Persisted var anySet: MutableSet<AnyRealmValue>
    @Persisted var texts: Motte.List<String>
    @Persisted var numbers: MutableSet<Int>
    @Persisted var room: GuestRoom?
    @Persisted var rooms: Motte.List<GuestRoom>
    @Persisted(originProperty: "friend") var admirers: LinkingObjects<Guest>
}
class GuestRoom: EmbeddedObject {
    @Persisted var number = 0
    @Persisted var owner: Guest?
}
class Stranger: Object { @Persisted var count = 7 }
class KeyedGuest: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var n = 0
    @Persisted var next: KeyedGuest?
}

@Suite struct OtherRealmTests {
    private static let types = [Guest.self, GuestRoom.self, Stranger.self, KeyedGuest.self] as [ObjectBase.Type]

    /// In two realms an object each with the same key, which is in all collections of its own.
    private func two() throws -> (own: Guest, foreign: Guest) {
        let realms = [try makeRealm(Self.types), try makeRealm(Self.types)]
        let guests = try realms.map { realm in
            try realm.write {
                let guest = Guest()
                realm.add(guest)
                guest.friend = guest
                guest.list.append(guest)
                guest.set.insert(guest)
                guest.map["a"] = guest
                guest.any = .object(guest)
                guest.anyList.append(.object(guest))
                guest.anySet.insert(.object(guest))
                guest.room = GuestRoom(value: ["number": 1])
                guest.rooms.append(GuestRoom(value: ["number": 2]))
                return guest
            }
        }
        return (guests[0], guests[1])
    }

    @Test func areFoundNowhere() throws {
        let (own, foreign) = try two()
        let all = try #require(own.realm).objects(Guest.self)
        #expect(all.index(of: own) == 0 && all.index(of: foreign) == nil)
        #expect(own.list.index(of: own) == 0 && own.list.index(of: foreign) == nil)
        #expect(own.admirers.index(of: own) == 0 && own.admirers.index(of: foreign) == nil)
        #expect(AnyRealmCollection(own.list).index(of: foreign) == nil)
        #expect(own.set.contains(own) && !own.set.contains(foreign) && !own.set.contains(Guest()))
        #expect(own.anyList.index(of: .object(own)) == 0 && own.anyList.index(of: .object(foreign)) == nil)
        #expect(own.anySet.contains(.object(own)) && !own.anySet.contains(.object(foreign)))
        #expect(!own.anySet.contains(.object(Guest())) && own.anyList.index(of: .object(Guest())) == nil)
        #expect(!own.set.intersects(foreign.set) && !own.set.isSubset(of: foreign.set))
        #expect(own.set.isSubset(of: own.set) && own.set.intersects(own.set))
    }

    @Test func combineWithNoSet() throws {
        let (own, foreign) = try two()
        let other = try own.realm?.write { own.realm?.create(Guest.self) }
        try own.realm?.write {
            own.set.insert(try #require(other))
            own.anySet.insert(.int(3))
            for combine in [own.set.formUnion, own.set.formIntersection, own.set.subtract] {
                #expect(misuses { combine(foreign.set) }.count == 1)
            }
            for combine in [own.anySet.formUnion, own.anySet.formIntersection, own.anySet.subtract] {
                #expect(misuses { combine(foreign.anySet) }.count == 1)
            }
            #expect(own.set.count == 2 && own.anySet.count == 2)
            // Values are the same everywhere.
            let numbers = Guest(value: ["numbers": [1, 2]]).numbers
            own.numbers.insert(objectsIn: [2, 3])
            own.numbers.formIntersection(numbers)
            #expect(Array(own.numbers) == [2])
            own.numbers.subtract(numbers)
            #expect(own.numbers.isEmpty)
        }
    }

    @Test func areRefusedByQueries() throws {
        let (own, foreign) = try two()
        let all = try #require(own.realm).objects(Guest.self)
        for value in [foreign, AnyRealmValue.object(foreign), AnyRealmValue.fromArray([.object(foreign)])] as [Any] {
            #expect(misuses { _ = all.filter("any == %@", value).count }.count == 1)
        }
        #expect(misuses { _ = all.where { $0.any == .object(foreign) }.count }.count == 1)
        #expect(misuses { _ = all.where { $0.friend == foreign }.count }.count == 1)
        #expect(misuses { _ = all.where { $0.friend.in([own, foreign]) }.count }.count == 1)
    }

    @Test func whatIsInNoRealmIsEqualToNothing() throws {
        let (own, _) = try two()
        let all = try #require(own.realm).objects(Guest.self)
        let none = Guest()
        #expect(all.filter("friend == %@", none).isEmpty && all.filter("friend != %@", none).count == 1)
        #expect(all.filter("friend IN %@", [none, own]).count == 1 && all.filter("ANY list == %@", none).isEmpty)
        #expect(all.filter("%@ IN list", none).isEmpty && all.filter("SELF == %@", none).isEmpty)
        #expect(all.filter("any == %@", none).isEmpty && all.filter("any != %@", none).count == 1)
        #expect(all.where { $0.friend == none }.isEmpty && all.where { $0.friend != none }.count == 1)
        #expect(all.where { $0.list.contains(none) }.isEmpty && all.where { $0.friend.in([none]) }.isEmpty)
        #expect(all.where { $0.any == .object(none) }.isEmpty && all.where { $0.map["a"] == none }.isEmpty)
        let unmanaged = Motte.List<Guest>()
        unmanaged.append(objectsIn: [Guest(value: ["friend": none]), Guest()])
        #expect(unmanaged.index { $0.friend == none } == 0)
    }

    @Test func areNotAssignedByName() throws {
        let (own, foreign) = try two()
        let realm = try #require(own.realm)
        let dynamic = try #require(realm.dynamicObjects("Guest").first)
        let before = realm.objects(Guest.self).count
        try realm.write {
            #expect(misuses { dynamic["any"] = foreign }.count == 1)
            #expect(misuses { dynamic["any"] = [foreign] }.count == 1)
            #expect(misuses { dynamic["friend"] = foreign }.count == 1)
            #expect(misuses { dynamic["friend"] = Stranger() }.count == 1)
            #expect(misuses { dynamic["list"] = [Stranger()] }.count == 1)
            #expect(misuses { dynamic["list"] = [foreign] }.count == 1)
        }
        #expect(own.any == .object(own) && own.friend?.isSameObject(as: own) == true && own.list.count == 1)
        #expect(realm.objects(Guest.self).count == before && realm.objects(Stranger.self).isEmpty)
    }

    // MARK: Creating

    @Test func anotherClassIsRefused() throws {
        let realm = try makeRealm(Self.types)
        try realm.write {
            let values: [[String: Any]] = [
                ["friend": Stranger()], ["list": [Stranger()]], ["map": ["a": Stranger()]],
            ]
            for value in values {
                #expect(misuses { realm.create(Guest.self, value: value) }.count == 1)
            }
            let numbers = Guest(value: ["numbers": [1]]).numbers
            #expect(misuses { realm.create(Guest.self, value: ["any": numbers]) }.count == 1)
        }
        #expect(realm.objects(Guest.self).isEmpty && realm.objects(Stranger.self).isEmpty)
        #expect(misuses { _ = Guest(value: ["texts": ["a": "b"]]) }.count == 1)
    }

    @Test func cyclesOfAnotherRealmAreCopiedOnce() throws {
        let (own, foreign) = try two()
        let realm = try #require(own.realm)
        let copy = try realm.write { realm.create(Guest.self, value: foreign) }
        #expect(realm.objects(Guest.self).count == 2)
        #expect(copy.friend?.isSameObject(as: copy) == true && copy.list.first?.isSameObject(as: copy) == true)
        #expect(copy.any == .object(copy) && copy.set.contains(copy) && copy.map["a"]??.isSameObject(as: copy) == true)
        #expect(copy.room?.number == 1 && copy.rooms.map(\.number) == [2])
    }

    @Test func embeddedObjectsBringTheirLinks() throws {
        let (own, foreign) = try two()
        try foreign.realm?.write { foreign.room?.owner = foreign }
        let realm = try #require(own.realm)
        let copy = try realm.write { realm.create(Guest.self, value: ["n": 5, "room": try #require(foreign.room)]) }
        let owner = try #require(copy.room?.owner)
        #expect(owner.realm == realm && owner.room?.owner?.isSameObject(as: owner) == true)
    }

    @Test func longChainsNeedNoStack() throws {
        let (realm, other) = (try makeRealm(Self.types), try makeRealm(Self.types))
        func chain(_ length: Int) -> KeyedGuest {
            var last = KeyedGuest(value: ["id": 0])
            for id in 1 ..< length {
                let next = KeyedGuest(value: ["id": id])
                next.next = last
                last = next
            }
            return last
        }
        let length = 4_000
        let added = chain(length)
        try realm.write { realm.add(added) }
        try other.write { other.create(KeyedGuest.self, value: added) }
        for realm in [realm, other] {
            let all = realm.objects(KeyedGuest.self)
            #expect(all.count == length && all.filter("next == nil").count == 1)
            #expect(all.filter("next.id == id - 1").count == length - 1)
        }
    }

    // MARK: Identity

    @Test func hashesStayAsTheyWere() throws {
        let realm = try makeRealm(Self.types)
        let hashedBefore = KeyedGuest(value: ["id": 1]), hashedAfter = KeyedGuest(value: ["id": 2])
        var set: Set<KeyedGuest> = [hashedBefore]
        try realm.write { realm.add([hashedBefore, hashedAfter]) }
        set.insert(hashedAfter)
        let same = try #require(realm.object(ofType: KeyedGuest.self, forPrimaryKey: 1))
        #expect(set.contains(same) && same.hashValue == hashedBefore.hashValue)
        try realm.write { realm.delete(realm.objects(KeyedGuest.self)) }
        #expect(set.contains(hashedBefore) && set.contains(hashedAfter) && hashedBefore == hashedBefore)
        realm.invalidate()
        #expect(set.contains(hashedBefore) && set.remove(hashedAfter) != nil && set.count == 1)
    }

    @Test func schemasWithANameTwiceEqualThemselves() throws {
        enum Other {
            class Double: Object {
                @Persisted var b = 0
                override class func _realmObjectName() -> String? { "Stranger" }
            }
        }
        let realm = try makeRealm([Stranger.self, Other.Double.self])
        let schema = realm.schema
        #expect(schema == schema)
    }

    @Test func unknownNamesOfValuesAreMisuse() throws {
        let (own, _) = try two()
        try own.realm?.write { own.texts.append("a") }
        #expect(misuses { _ = own.texts.value(forKey: "nonsense") }.count == 1)
        #expect(misuses { _ = own.numbers.value(forKey: "nonsense") }.count == 1)
        #expect(misuses { _ = Guest().list.value(forKey: "nonsense") }.count == 1)
        #expect(own.texts.value(forKey: "self") as? [String] == ["a"] && Guest().list.value(forKey: "n").isEmpty)
    }
}
