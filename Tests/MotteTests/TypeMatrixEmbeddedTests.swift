// The matrix for types that are stored as embedded objects: as a property, an optional, elements of lists and values of
// maps, in `value:`, `create`, updates, by name, in queries, observed and frozen.
import Foundation
import Motte
import Testing

class DotRow: EmbeddedObject {
    @Persisted var x = 0
    @Persisted var y = 0
}

protocol Dotted: Sampled, Equatable where PersistedType == DotRow {
    static func at(_ x: Int, _ y: Int) -> Self
}

struct Dot: CustomPersistable, Dotted {
    typealias PersistedType = DotRow
    var x = 0, y = 0
    init(_ x: Int, _ y: Int) { (self.x, self.y) = (x, y) }
    init(persistedValue: DotRow) { (x, y) = (persistedValue.x, persistedValue.y) }
    var persistableValue: DotRow { DotRow(value: [x, y]) }
    static func at(_ x: Int, _ y: Int) -> Dot { Dot(x, y) }
    static var samples: [Dot] { [Dot(1, 2), Dot(3, 4)] }
}

struct PickyDot: FailableCustomPersistable, Dotted {
    typealias PersistedType = DotRow
    var x = 0, y = 0
    init(_ x: Int, _ y: Int) { (self.x, self.y) = (x, y) }
    init?(persistedValue: DotRow) {
        guard persistedValue.x != 13 else { return nil }
        (x, y) = (persistedValue.x, persistedValue.y)
    }
    var persistableValue: DotRow { DotRow(value: [x, y]) }
    static func at(_ x: Int, _ y: Int) -> PickyDot { PickyDot(x, y) }
    static var samples: [PickyDot] { [PickyDot(1, 2), PickyDot(3, 4)] }
}

class DotHolder<T: Dotted>: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var value: T
    @Persisted var optional: T?
    @Persisted var list: List<T>
    @Persisted var map: Map<String, T?>
    override class func className() -> String { "DotHolder" + T.label }
}

private struct DotMatrix<T: Dotted>: SteppedMatrix {
    let realm: Realm
    var subject: String { "\(T.self)" }
    init() throws { realm = try makeRealm([DotHolder<T>.self, DotRow.self]) }

    private let low = T.at(1, 2)
    private let high = T.at(3, 4)

    private func dictionary(_ id: Int, _ one: Any, _ two: Any) -> [String: Any] {
        [
            "id": id, "value": one, "optional": two, "list": [one, two] as [Any],
            "map": ["a": one, "b": NSNull()] as [String: Any],
        ]
    }

    private func isFilled(_ holder: DotHolder<T>, _ what: String) {
        #expect(holder.value == low && holder.optional == high, "\(T.self): \(what)")
        #expect(Array(holder.list) == [low, high], "\(T.self): \(what)")
        #expect(holder.map["a"] == .some(.some(low)) && holder.map.count == 2, "\(T.self): \(what)")
    }

    func run() {
        let stored: (Any, Any) = (["x": 1, "y": 2], ["x": 3, "y": 4])
        let rows: (Any, Any) = (DotRow(value: [1, 2]), DotRow(value: [3, 4]))
        let forms: [(String, Any, Any)] = [
            ("values", low, high), ("dictionaries", stored.0, stored.1), ("embedded objects", rows.0, rows.1),
        ]
        for (index, (name, one, two)) in forms.enumerated() {
            step("unmanaged of \(name)") { _ in isFilled(DotHolder<T>(value: dictionary(index, one, two)), name) }
            step("created of \(name)") { _ in
                let made = try realm.write { realm.create(DotHolder<T>.self, value: dictionary(index, one, two)) }
                isFilled(made, name)
                for policy in [Realm.UpdatePolicy.modified, .all] {
                    let again = try realm.write {
                        realm.create(DotHolder<T>.self, value: dictionary(index, one, two), update: policy)
                    }
                    isFilled(again, "\(name), \(policy)")
                }
            }
            step("by name of \(name)") { _ in
                let holder = DotHolder<T>(value: ["id": 20 + index])
                for round in 0 ..< 2 {
                    if round == 1 { try realm.write { realm.add(holder) } }
                    if round == 1 { realm.beginWrite() }
                    for (key, value) in dictionary(0, one, two) where key != "id" { holder[key] = value }
                    if round == 1 { try realm.commitWrite() }
                    isFilled(holder, "\(name), round \(round)")
                    #expect(holder["value"] as? T == low && holder["optional"] as? T == high)
                    #expect(holder.list.value(forKeyPath: "@count").first as? Int == 2)
                }
            }
        }
        step("added and changed") { _ in
            let holder = DotHolder<T>(value: dictionary(30, low, high))
            let copy = try realm.write { () -> DotHolder<T> in
                realm.add(holder)
                return realm.create(DotHolder<T>.self, value: DotHolder<T>(value: dictionary(31, low, high)))
            }
            isFilled(holder, "added")
            isFilled(copy, "copied")
            let frozen = holder.freeze()
            try realm.write {
                (holder.value, holder.optional) = (high, nil)
                holder.list[0] = high
                holder.list.append(low)
                holder.map["b"] = .some(high)
            }
            #expect(holder.value == high && holder.optional == nil && Array(holder.list) == [high, high, low])
            #expect(holder.map["b"] == .some(.some(high)) && holder.description.contains("x: 3"))
            isFilled(frozen, "frozen")
            try realm.write { realm.add(DotHolder<T>(value: dictionary(30, low, high)), update: .modified) }
            isFilled(holder, "updated")
        }
        step("asked") { _ in
            let all = realm.objects(DotHolder<T>.self)
            let (low, high) = (low, high)
            #expect(all.where { $0.value == low }.count == all.count && all.where { $0.value == high }.isEmpty)
            #expect(all.filter("value.x == 1 AND optional.y == 4").count == all.count)
            #expect(all.filter("ANY list.x == 3").count == all.count && all.sorted(byKeyPath: "value.x").count > 1)
            #expect(all.filter("optional == nil").isEmpty)
        }
    }
}

@Suite struct TypeMatrixEmbeddedTests {
    @Test func everywhere() throws {
        try DotMatrix<Dot>().run()
        try DotMatrix<PickyDot>().run()
    }
}
