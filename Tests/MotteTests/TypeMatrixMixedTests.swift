// Mixed values through the steps of the matrix: each kind of value as a property, in a box and as an element of each
// collection, unmanaged, managed and frozen. They have no optional form, since `.none` is their null; what is nested
// in them, and objects, have tests of their own.
import Foundation
import Motte
import Testing

class AnyHolder: Object, MatrixHolder {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var value: AnyRealmValue
    @Persisted var list: List<AnyRealmValue>
    @Persisted var set: MutableSet<AnyRealmValue>
    @Persisted var map: Map<String, AnyRealmValue>
    let box = RealmProperty<AnyRealmValue>()
}

class AnyHolderView: Projection<AnyHolder> {
    @Projected(\AnyHolder.value) var shown
}

private struct MixedMatrix: HolderMatrix {
    let realm: Realm
    var subject: String { "\(value)" }
    let value: AnyRealmValue
    /// What may stand for it by name.
    let plain: Any
    let other = AnyRealmValue.string("other")

    init(_ value: AnyRealmValue, _ plain: Any) throws {
        realm = try makeRealm([AnyHolder.self])
        self.value = value
        self.plain = plain
    }

    func fill(_ holder: AnyHolder) {
        holder.value = value
        holder.list.append(objectsIn: [value, other])
        holder.set.insert(objectsIn: [value, other, value])
        holder.map["a"] = value
        holder.map["b"] = other
        holder.box.value = value
    }

    func isFilled(_ holder: AnyHolder, _ held: Held, line: Int) {
        held(holder.value == value, line: line)
        held(Array(holder.list) == [value, other], line: line)
        held(Set(holder.set) == [value, other] && holder.set.count == 2, line: line)
        held(holder.map["a"] == value && holder.map["b"] == other && holder.map.count == 2, line: line)
        held(holder.box.value == value, line: line)
    }

    private func dictionary(_ id: Int, _ value: Any) -> [String: Any] {
        [
            "id": id, "value": value, "list": [value, other] as [Any], "set": [value, other] as [Any],
            "map": ["a": value, "b": other] as [String: Any], "box": value,
        ]
    }

    func run() throws {
        unmanaged()
        creating()
        updating()
        changing()
        byName()
        asking()
        telling()
        versions()
    }

    private func unmanaged() {
        step("unmanaged") { held in isFilled(filled(1), held) }
        step("unmanaged from values") { held in
            isFilled(AnyHolder(value: dictionary(1, value)), held)
            isFilled(AnyHolder(value: dictionary(1, plain)), held)
            isFilled(AnyHolder(value: filled(1)), held)
        }
        step("unmanaged looking") { held in
            let holder = filled(1)
            held(holder.list.index(of: value) == 0)
            held(holder.list.contains(value) && holder.set.contains(other))
            held(holder.description.contains("value = "))
            held(NSPredicate(format: "value == %@", argumentArray: [plain]).evaluate(with: holder))
        }
    }

    private func creating() {
        adding()
        step("created") { held in
            let other = try makeRealm([AnyHolder.self])
            let source = try other.write { other.create(AnyHolder.self, value: dictionary(5, plain)) }
            for form in [dictionary(2, value), dictionary(3, plain), filled(4), source] as [Any] {
                isFilled(try realm.write { realm.create(AnyHolder.self, value: form) }, held)
            }
            _ = try realm.write { realm.dynamicCreate("AnyHolder", value: dictionary(6, plain)) }
            isFilled(try #require(realm.object(ofType: AnyHolder.self, forPrimaryKey: 6)), held)
            let empty = try realm.write { realm.create(AnyHolder.self, value: ["id": 7]) }
            held(empty.value == .none && empty.box.value == .none && empty.list.isEmpty)
        }
    }

    private func updating() {
        step("updated") { held in
            let first = try #require(realm.object(ofType: AnyHolder.self, forPrimaryKey: 1))
            let received = try changes(of: first) {
                try realm.write {
                    let same: [String: Any] = ["id": 1, "value": plain, "list": [plain, other], "box": plain]
                    realm.create(AnyHolder.self, value: same, update: .modified)
                }
            }
            held(received.isEmpty)
            for policy in [Realm.UpdatePolicy.modified, .all] {
                try realm.write {
                    let changes: [String: Any] = ["id": 1, "value": other, "list": [other], "map": ["z": plain]]
                    realm.create(AnyHolder.self, value: changes, update: policy)
                }
                held(first.value == other && Array(first.list) == [other] && first.map.count == 1)
                held(first.map["z"] == value && first.box.value == value)
                try realm.write { realm.add(filled(1), update: policy) }
                isFilled(first, held)
            }
        }
    }

    private func changing() {
        step("changed") { held in
            let holder = try realm.write { realm.create(AnyHolder.self, value: ["id": 20]) }
            try realm.write { fill(holder) }
            isFilled(holder, held)
            try realm.write {
                holder.value = other
                holder.list[0] = other
                holder.list.insert(value, at: 0)
                holder.set.remove(value)
                holder.map["a"] = other
                holder.map.removeObject(for: "b")
                holder.box.value = .none
            }
            held(holder.value == other && Array(holder.list) == [value, other, other])
            held(Array(holder.set) == [other] && holder.map["a"] == other && holder.map["b"] == nil)
            held(holder.box.value == .none)
            let copy = try realm.write { () -> AnyHolder in
                let copy = realm.create(AnyHolder.self, value: ["id": 21])
                (copy.list, copy.map) = (holder.list, holder.map)
                copy.set = holder.set
                return copy
            }
            held(Array(copy.list) == [value, other, other] && copy.map["a"] == other && copy.set.count == 1)
            try realm.write { realm.delete([holder, copy]) }
        }
    }

    private func byName() {
        byName { holder, held in
            // What is read by name is what may be given by name.
            held(AnyHolder(value: ["value": holder["value"] ?? NSNull()]).value == value)
            held((holder["list"] as? List<AnyRealmValue>).map { Array($0) } == [value, other])
            held((holder["map"] as? Map<String, AnyRealmValue>)?["a"] == value)
            held(holder.value(forKeyPath: "list.@count") as? Int == 2)
            for form in [value, plain] as [Any] {
                holder["value"] = other
                holder["value"] = form
                holder["list"] = [form]
                holder["set"] = [form]
                holder["map"] = ["z": form]
                holder["box"] = form
                held(holder.value == value && Array(holder.list) == [value] && Array(holder.set) == [value])
                held(holder.map["z"] == value && holder.box.value == value)
                if value != .none {
                    holder.map.setValue(form, forKey: "y")
                    held(holder.map["y"] == value && holder.map.count == 2)
                }
                holder["value"] = nil
                held(holder.value == .none && holder["value"] == nil)
            }
        }
    }

    private func asking() {
        step("found") { held in
            try realm.write {
                realm.deleteAll()
                realm.add(filled(1))
                realm.create(AnyHolder.self, value: ["id": 2, "value": other, "box": other, "map": ["a": other]])
            }
            let all = realm.objects(AnyHolder.self)
            held(all.where { $0.value == value }.map(\.id) == [1])
            held(all.where { $0.list.contains(value) }.map(\.id) == [1])
            held(all.where { $0.map["a"] == value }.map(\.id) == [1])
            for query in [
                "value == %@", "ANY list == %@", "ANY set == %@", "map['a'] == %@", "box == %@", "%@ IN list",
            ] {
                for form in [value, plain] as [Any] { held(all.filter(query, form).map(\.id) == [1]) }
            }
            held(all.filter("value IN %@", [value, .string("none of them")]).map(\.id) == [1])
            held(all.distinct(by: ["value"]).count == 2)
            held(all.sorted(byKeyPath: "value").count == 2)
            held(all[0].list.filter("SELF == %@", plain).count == 1)
            held(all.sectioned(by: { "\($0.value)" }, sortDescriptors: [SortDescriptor(keyPath: "id")]).count == 2)
        }
    }

    private func telling() {
        step("notified of changes") { held in
            let holder = try #require(realm.object(ofType: AnyHolder.self, forPrimaryKey: 1))
            let received = try changes(of: holder) {
                try elsewhere(1) { holder in
                    holder.value = .string("new")
                    holder.box.value = .string("new")
                    holder.list.append(.string("new"))
                }
            }
            held(AnyHolder(value: ["value": received["value"]?.old ?? NSNull()]).value == value)
            held(AnyHolder(value: ["value": received["value"]?.new ?? NSNull()]).value == .string("new"))
            held(
                received["box"] != nil && received["list"] != nil && received["list"]?.new == nil
                    && received["map"] == nil)
        }
    }

    private func versions() {
        step("frozen, thawed and projected") { held in
            let holder = filled(50)
            try realm.write { realm.add(holder) }
            let frozen = holder.freeze()
            let view = AnyHolderView(projecting: holder)
            held(view.shown == value)
            try realm.write { view.shown = other }
            held(holder.value == other)
            isFilled(frozen, held)
            held(try #require(frozen.thaw()).value == other)
            held(try elementsElsewhere(of: holder.list) == [value, other])
            held(holder.map.freeze()["b"] == other)
        }
    }
}

@Suite struct TypeMatrixMixedTests {
    private static let identifier = "507f1f77bcf86cd799439011"

    private static func kinds() throws -> [(value: AnyRealmValue, plain: Any)] {
        let (data, date) = (Data([1, 2]), Date(timeIntervalSince1970: 1.5))
        let id = try ObjectId(string: identifier)
        let uuid = try #require(UUID(uuidString: "00000000-0000-0000-0000-000000000007"))
        let decimal = try Decimal128(string: "2.50")
        return [
            (.none, NSNull()), (.bool(true), true), (.int(7), 7), (.float(0.25), Float(0.25)), (.double(0.1), 0.1),
            (.string("b"), "b"), (.data(data), data), (.date(date), date), (.objectId(id), id),
            (.decimal128(decimal), decimal), (.uuid(uuid), uuid),
        ]
    }

    @Test(arguments: 0 ..< 11) func everywhere(_ index: Int) throws {
        let kinds = try Self.kinds()
        #expect(kinds.count == 11)
        try MixedMatrix(kinds[index].value, kinds[index].plain).run()
    }
}
