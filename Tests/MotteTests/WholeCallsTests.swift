// Calls that are refused leave nothing behind: no object, no value, no element, and what was to be added is unmanaged
// as before. Each way to refuse a value in each call that takes one.
import Foundation
import Motte
import MotteValues
import Testing

class Cask: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var content: AnyRealmValue
    @Persisted var list: List<AnyRealmValue>
    @Persisted var map: Map<String, AnyRealmValue>
    @Persisted var next: Cask?
    @Persisted var inside: List<Cask>
    @Persisted var numbers: List<Int>
}

/// Values that no store takes.
enum RefusedValue: String, CaseIterable, Sendable {
    case tooLarge, tooLargeInAList, tooLargeInAMap, tooDeep, badKey, foreign

    func spoil(_ cask: Cask, foreign: Cask) {
        let large = AnyRealmValue.data(Data(count: 17 << 20))
        switch self {
        case .tooLarge: cask.content = large
        case .tooLargeInAList: cask.list.append(objectsIn: [.int(1), large])
        case .tooLargeInAMap:
            cask.map["a"] = .int(1)
            cask.map["b"] = large
        case .tooDeep:
            var value = AnyRealmValue.int(1)
            for _ in 0 ..< 102 { value = .fromArray([value]) }
            cask.content = value
        case .badKey: cask.content = .fromDictionary(["ok": 1, "$bad": 2])
        case .foreign: cask.next = foreign
        }
    }
}

@Suite(.serialized) struct WholeCallsTests {
    private func fresh() throws -> (realm: Realm, kept: Cask, foreign: Cask) {
        let realm = try makeRealm([Cask.self]), other = try makeRealm([Cask.self])
        let kept = try realm.write {
            realm.create(Cask.self, value: ["id": 1, "name": "kept", "numbers": [1], "list": [7], "content": "c"])
        }
        return (realm, kept, try other.write { other.create(Cask.self, value: ["id": 100]) })
    }

    private func expectKept(_ realm: Realm, _ kept: Cask, at location: SourceLocation = #_sourceLocation) {
        #expect(realm.objects(Cask.self).map(\.id) == [1], sourceLocation: location)
        #expect(kept.name == "kept" && kept.content == .string("c") && kept.next == nil, sourceLocation: location)
        #expect(kept.list.map(\.intValue) == [7] && kept.map.isEmpty, sourceLocation: location)
        #expect(Array(kept.numbers) == [1] && kept.inside.isEmpty, sourceLocation: location)
    }

    /// An object that reaches two others, the last of which is refused.
    private func chain(_ refused: RefusedValue, _ foreign: Cask) -> Cask {
        let bad = Cask(value: ["id": 4, "name": "bad", "numbers": [4, 5]])
        refused.spoil(bad, foreign: foreign)
        let middle = Cask(value: ["id": 3, "numbers": [3]])
        middle.next = bad
        let first = Cask(value: ["id": 2, "name": "first", "numbers": [2]])
        first.inside.append(objectsIn: [Cask(value: ["id": 5]), middle])
        return first
    }

    @Test(arguments: RefusedValue.allCases)
    func addingIsWhole(_ refused: RefusedValue) throws {
        let (realm, kept, foreign) = try fresh()
        try realm.write {
            let first = chain(refused, foreign)
            let middle = first.inside[1]
            #expect(misuses { realm.add(first) }.count == 1, "\(refused)")
            expectKept(realm, kept)
            #expect(first.realm == nil && middle.realm == nil && first.inside.count == 2)
            #expect(first.name == "first" && Array(first.numbers) == [2] && first.inside[1].next?.name == "bad")
            #expect(Array(middle.next?.numbers ?? List()) == [4, 5])

            let update = chain(refused, foreign)
            update.id = 1
            for policy in [Realm.UpdatePolicy.modified, .all] {
                #expect(misuses { realm.add(update, update: policy) }.count == 1)
                expectKept(realm, kept)
                #expect(update.realm == nil)
            }
            #expect(misuses { realm.add([Cask(value: ["id": 8]), Cask(value: ["id": 9]), first]) }.count == 1)
            expectKept(realm, kept)
            #expect(misuses { kept.next = first }.count == 1)
            expectKept(realm, kept)
            #expect(misuses { kept.inside.append(objectsIn: [Cask(value: ["id": 8]), first]) }.count == 1)
            expectKept(realm, kept)
            #expect(misuses { kept.content = .object(first) }.count == 1)
            #expect(misuses { kept.list.append(objectsIn: [1, .object(first)]) }.count == 1)
            #expect(misuses { kept.map["k"] = .object(first) }.count == 1)
            expectKept(realm, kept)

            // What was refused can be mended and added.
            let mended = first.inside[1].next
            mended?.content = .none
            mended?.list.removeAll()
            mended?.map.removeAll()
            mended?.next = nil
            realm.add(first)
            #expect(first.realm != nil && realm.objects(Cask.self).count == 5)
            #expect(Array(first.numbers) == [2] && Array(first.inside[1].next?.numbers ?? List()) == [4, 5])
        }
        #expect(realm.objects(Cask.self).sorted(byKeyPath: "id").map(\.id) == [1, 2, 3, 4, 5])
    }

    @Test func creatingIsWhole() throws {
        let (realm, kept, foreign) = try fresh()
        try realm.write {
            // The first two would do, and the third has the key of the first.
            let values: [String: Any] = ["id": 2, "inside": [["id": 6], foreign, ["id": 6]]]
            #expect(misuses { realm.create(Cask.self, value: values) }.count >= 1)
            expectKept(realm, kept)
        }
        let large = Data(count: 17 << 20)
        var deep: Any = 1
        for _ in 0 ..< 102 { deep = [deep] }
        let wrong: [(String, Any)] = [
            ("content", large), ("list", [1, large]), ("map", ["a": 1, "b": large]), ("content", deep),
            ("content", ["$bad": 1]), ("map", ["a.b": 1]), ("name", 5), ("numbers", [1, "x"]), ("numbers", 5),
            ("inside", [["id": 6], ["id": 7, "name": 1]]), ("next", ["id": 7, "next": ["id": 8, "content": large]]),
            ("next", 5),
        ]
        try realm.write {
            for (name, value) in wrong {
                var values: [String: Any] = ["id": 2, "name": "n", "next": ["id": 3]]
                values[name] = value
                let given = values
                let created = misuses { #expect(realm.create(Cask.self, value: given).realm == nil) }
                #expect(created.count >= 1, "\(name)")
                expectKept(realm, kept)
                var changed: [String: Any] = ["id": 1, "numbers": [9], "next": ["id": 3]]
                changed[name] = value
                let changes = changed
                for policy in [Realm.UpdatePolicy.modified, .all] {
                    let updated = misuses { realm.create(Cask.self, value: changes, update: policy) }
                    #expect(updated.count >= 1, "\(name)")
                    expectKept(realm, kept)
                }
                let dynamic = misuses { _ = realm.dynamicCreate("Cask", value: given) }
                #expect(dynamic.count >= 1, "\(name)")
                expectKept(realm, kept)
            }
        }
        expectKept(realm, kept)
    }

    @Test func observersReceiveNothingOfIt() throws {
        let (realm, kept, foreign) = try fresh()
        var changes = 0
        let token = realm.objects(Cask.self).observe { if case .update = $0 { changes += 1 } }
        realm.refresh()
        try realm.write { #expect(misuses { realm.add(chain(.foreign, foreign)) }.count == 1) }
        realm.refresh()
        #expect(changes == 0)
        expectKept(realm, kept)
        token.invalidate()
    }
}
