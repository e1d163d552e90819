// Type × container × operation: the same steps for every type that can be stored, as a property, an optional, an
// element of each collection and a mixed value, unmanaged, managed and frozen. A failure names the type and the step.
import Foundation
import Motte
import Testing

/// The steps for one type.
struct TypeMatrix<T: Sampled>: HolderMatrix {
    let realm: Realm
    var subject: String { "\(T.self)" }
    private var low: T { T.samples[0] }
    private var high: T { T.samples[T.samples.count - 1] }
    private var count: Int { T.samples.count }

    init() throws { realm = try makeRealm([SampleHolder<T>.self]) }

    func fill(_ holder: SampleHolder<T>) {
        holder.value = low
        holder.optional = high
        holder.list.append(objectsIn: T.samples)
        holder.optionals.append(objectsIn: [low, nil])
        holder.set.insert(objectsIn: T.samples + [low])
        holder.optionalSet.insert(objectsIn: [low, nil, low])
        holder.map["a"] = low
        holder.map["b"] = high
        holder.optionalMap["a"] = .some(low)
        holder.optionalMap["b"] = .some(nil)
        holder.box.value = high
        holder["any"] = low
    }

    func isFilled(_ holder: SampleHolder<T>, _ held: Held, line: Int) {
        held(holder.value == low, line: line)
        held(holder.optional == high, line: line)
        held(Array(holder.list) == T.samples, line: line)
        held(Array(holder.optionals) == [low, nil], line: line)
        held(Set(holder.set) == Set(T.samples), line: line)
        held(Set(holder.optionalSet) == [low, nil], line: line)
        held(holder.map["a"] == low && holder.map["b"] == high, line: line)
        held(holder.map.count == 2, line: line)
        held(holder.optionalMap["a"] == .some(.some(low)), line: line)
        held(holder.optionalMap["b"] == .some(.none), line: line)
        held(holder.box.value == high, line: line)
        held(holder.any == mixed(low), line: line)
    }

    private func mixed(_ value: T) -> AnyRealmValue {
        let other = SampleHolder<T>()
        other["any"] = value
        return other.any
    }

    private func dictionary(_ id: Int, _ values: [Any]) -> [String: Any] {
        let (low, high) = (values[0], values[values.count - 1])
        return [
            "id": id, "value": low, "optional": high, "list": values, "optionals": [low, NSNull()] as [Any],
            "set": values + [low], "optionalSet": [low, NSNull()] as [Any],
            "map": ["a": low, "b": high] as [String: Any], "optionalMap": ["a": low, "b": NSNull()] as [String: Any],
            "box": high, "any": T.samples[0],
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
        views()
    }

    // MARK: Steps

    private func unmanaged() {
        step("initial values") { held in
            let holder = SampleHolder<T>()
            held(holder.optional == nil)
            held(holder.list.isEmpty)
            held(holder.map.count == 0)
            held(holder.box.value == nil)
            held(holder.value == holder.value)
            held(holder.any == .none)
        }
        step("unmanaged") { held in isFilled(filled(1), held) }
        step("unmanaged from values") { held in isFilled(SampleHolder<T>(value: dictionary(1, T.samples)), held) }
        step("unmanaged from stored forms") { held in
            isFilled(SampleHolder<T>(value: dictionary(1, T.storedForms)), held)
        }
        step("unmanaged from an object") { held in isFilled(SampleHolder<T>(value: filled(1)), held) }
        step("unmanaged descriptions") { held in
            let holder = filled(1)
            held(holder.description.contains("value = "))
            held(holder.list.description.hasPrefix("List<"))
        }
        step("unmanaged looking") { held in
            let holder = filled(1)
            held(holder.list.index(of: high) == count - 1)
            held(holder.set.contains(low))
            held(holder.list.contains(high))
            held(holder.list.index(matching: NSPredicate(format: "SELF == %@", argumentArray: [high])) == count - 1)
            held(NSPredicate(format: "value == %@", argumentArray: [low]).evaluate(with: holder))
            held(NSPredicate(format: "ANY list == %@", argumentArray: [high]).evaluate(with: holder))
            held(NSPredicate(format: "optional IN %@", argumentArray: [T.samples]).evaluate(with: holder))
        }
    }

    private func creating() {
        adding()
        step("created of values") { held in
            isFilled(try realm.write { realm.create(SampleHolder<T>.self, value: dictionary(2, T.samples)) }, held)
        }
        step("created of stored forms") { held in
            isFilled(try realm.write { realm.create(SampleHolder<T>.self, value: dictionary(3, T.storedForms)) }, held)
        }
        step("created of an unmanaged object") { held in
            let source = filled(4)
            let made = try realm.write { realm.create(SampleHolder<T>.self, value: source) }
            isFilled(made, held)
            held(source.realm == nil)
            held(source.list.realm == nil)
            isFilled(source, held)
        }
        step("created of a managed object of another realm") { held in
            let other = try makeRealm([SampleHolder<T>.self])
            let source = try other.write { other.create(SampleHolder<T>.self, value: dictionary(5, T.samples)) }
            isFilled(try realm.write { realm.create(SampleHolder<T>.self, value: source) }, held)
        }
        step("created by name") { held in
            let made = try realm.write {
                realm.dynamicCreate(SampleHolder<T>.className(), value: dictionary(6, T.storedForms))
            }
            let typed = try #require(realm.object(ofType: SampleHolder<T>.self, forPrimaryKey: 6))
            isFilled(typed, held)
            held(made["value"] != nil)
            held((made["list"] as? any RealmCollection)?.count == count)
        }
        step("created with defaults") { held in
            let made = try realm.write { realm.create(SampleHolder<T>.self, value: ["id": 7]) }
            held(made.optional == nil)
            held(made.list.isEmpty)
            held(made.value == made.value)
            held(made.box.value == nil)
        }
        step("created of values in their order") { held in
            let values: [Any] = [8, low, high, T.samples]
            let made = try realm.write { realm.create(SampleHolder<T>.self, value: values) }
            held(made.value == low)
            held(made.optional == high)
            held(Array(made.list) == T.samples)
        }
    }

    private func updating() {
        step("updated with what is equal") { held in
            let first = try #require(realm.object(ofType: SampleHolder<T>.self, forPrimaryKey: 1))
            let received = try changes(of: first) {
                try realm.write {
                    let value: [String: Any] = ["id": 1, "value": low, "optional": high]
                    realm.create(SampleHolder<T>.self, value: value, update: .modified)
                }
                try realm.write {
                    let stored = T.storedForms
                    let value: [String: Any] = ["id": 1, "value": stored[0], "list": stored]
                    realm.create(SampleHolder<T>.self, value: value, update: .modified)
                }
                try realm.write { realm.add(filled(1), update: .modified) }
            }
            held(Set(received.keys).isSubset(of: ["set", "optionalSet", "map", "optionalMap"]))
            held(first.value == low)
            held(Array(first.list) == T.samples)
        }
        for policy in [Realm.UpdatePolicy.modified, .all] {
            step("updated, \(policy)") { held in
                let value: [String: Any] = ["id": 1, "value": T.storedForms[count - 1], "list": [T.storedForms[0]]]
                let made = try realm.write { realm.create(SampleHolder<T>.self, value: value, update: policy) }
                held(made.value == high)
                held(Array(made.list) == [low])
                held(made.optional == high)
                let back = filled(1)
                try realm.write { realm.add(back, update: policy) }
                isFilled(back, held)
                isFilled(made, held)
            }
        }
    }

    private func changing() {
        step("changed") { held in
            let holder = try realm.write { realm.create(SampleHolder<T>.self, value: ["id": 20]) }
            try realm.write { fill(holder) }
            isFilled(holder, held)
            try realm.write {
                holder.value = high
                holder.optional = nil
                holder.list[0] = high
                holder.list.insert(low, at: 0)
                holder.set.remove(low)
                holder.map["a"] = high
                holder.map.removeObject(for: "b")
                holder.optionals[1] = high
                holder.box.value = nil
                holder["any"] = high
            }
            held(holder.value == high)
            held(holder.optional == nil)
            held(Array(holder.list.prefix(2)) == [low, high])
            held(!holder.set.contains(low))
            held(holder.set.contains(high))
            held(holder.map["a"] == high)
            held(holder.map["b"] == nil)
            held(holder.optionals[1] == high)
            held(holder.box.value == nil)
            held(holder.any == mixed(high))
            let copy = try realm.write { () -> SampleHolder<T> in
                let copy = realm.create(SampleHolder<T>.self, value: ["id": 21])
                (copy.list, copy.map) = (holder.list, holder.map)
                copy.set = holder.set
                return copy
            }
            held(Array(copy.list) == Array(holder.list))
            held(copy.map["a"] == high)
            held(copy.set.count == holder.set.count)
            try realm.write { realm.delete([holder, copy]) }
        }
    }

    private func byName() {
        byName { holder, held in
            held(holder["value"] as? T == low)
            held(holder.value(forKey: "optional") as? T == high)
            held((holder["list"] as? List<T>).map { Array($0) } == T.samples)
            held((holder["map"] as? Map<String, T>)?["b"] == high)
            held(holder["box"] as? T == high)
            held(holder.value(forKeyPath: "list.@count") as? Int == count)
            held(holder.map.value(forKey: "a") as? T == low)
            held(holder.list.value(forKey: "self").compactMap { $0 as? T } == T.samples)
            for values in [T.samples, T.storedForms] as [[Any]] {
                let (low, high) = (values[0], values[values.count - 1])
                holder["value"] = high
                holder.setValue(low, forKey: "optional")
                holder["list"] = [high]
                holder["set"] = [high]
                holder["map"] = ["z": high]
                holder["box"] = low
                holder.map.setValue(low, forKey: "y")
                held(holder.value == self.high)
                held(holder.optional == self.low)
                held(Array(holder.list) == [self.high])
                held(Array(holder.set) == [self.high])
                held(holder.map["z"] == self.high)
                held(holder.box.value == self.low)
                held(holder.map["y"] == self.low)
                held(holder.map.count == 2)
                holder["optional"] = nil
                held(holder["optional"] == nil && holder.optional == nil)
            }
        }
    }

    private func asking() {
        step("found") { held in
            try realm.write {
                realm.deleteAll()
                for (index, sample) in T.samples.enumerated() {
                    let holder = filled(index)
                    holder.value = sample
                    holder.list.removeAll()
                    holder.list.append(sample)
                    holder.set.removeAll()
                    holder.set.insert(sample)
                    holder.map["a"] = sample
                    holder["any"] = sample
                    if index == 0 { holder.optional = nil }
                    realm.add(holder)
                }
                let all = realm.objects(SampleHolder<T>.self)
                for holder in all { holder.friends.append(objectsIn: all) }
            }
            let all = realm.objects(SampleHolder<T>.self)
            func ids(_ found: Results<SampleHolder<T>>) -> [Int] { found.map(\.id) }
            let (one, others) = ([count - 1], Array(0 ..< count - 1))
            let (low, high) = (low, high)
            held(ids(all.where { $0.value == high }) == one)
            held(ids(all.where { $0.value != high }) == others)
            held(ids(all.where { $0.value.in([high]) }) == one)
            held(ids(all.where { $0.optional == nil }) == [0])
            held(ids(all.where { $0.optional == high }) == Array(1 ..< count))
            held(ids(all.where { $0.list.contains(high) }) == one)
            held(ids(all.where { $0.set.contains(high) }) == one)
            held(ids(all.where { $0.map["a"] == high }) == one)
            held(ids(all.where { $0.list.containsAny(in: [high]) }) == one)
            held(ids(all.where { $0.optionals.contains(low) }).count == count)
            for arguments in [[high]] as [[Any]] {
                held(ids(all.filter(NSPredicate(format: "value == %@", argumentArray: arguments))) == one)
                held(ids(all.filter(NSPredicate(format: "ANY list == %@", argumentArray: arguments))) == one)
                held(ids(all.filter("ANY set == %@", arguments[0])) == one)
                held(ids(all.filter("map['a'] == %@", arguments[0])) == one)
                held(ids(all.filter("any == %@", arguments[0])) == one)
                held(ids(all.filter("%@ IN list", arguments[0])) == one)
                held(ids(all.filter("value IN %@", [high])) == one)
                held(ids(all.filter("box == %@", arguments[0])).count == count)
                held(ids(all.filter("ANY admirers.value == %@", arguments[0])).count == count)
                held(ids(all.filter("SUBQUERY(friends, $f, $f.value == %@).@count == 1", arguments[0])).count == count)
            }
            held(ids(all.distinct(by: ["value"])).count == count)
            held(ids(all.distinct(by: ["optional"])) == [0, 1])
            held(all[0].admirers.count == count)
            held(all.value(forKey: "value").map { ($0 as? [Any])?.compactMap { $0 as? T } == T.samples } ?? false)
            let keys = all.sectioned(by: { $0.value }, sortDescriptors: [SortDescriptor(keyPath: "id")]).allKeys
            held(keys == T.samples)
            held(all[0].list.filter("SELF == %@", low).count == 1)
            held(all[0].list.index(of: low) == 0)
            held(all[0].list.index(matching: "SELF == %@", low) == 0)
        }
    }

    private func telling() {
        step("notified of changes") { held in
            let holder = try #require(realm.object(ofType: SampleHolder<T>.self, forPrimaryKey: 0))
            let (low, high) = (low, high)
            let received = try changes(of: holder) {
                try elsewhere(0) { holder in
                    holder.value = high
                    holder.optional = low
                    holder.box.value = low
                    holder.list.append(high)
                }
            }
            held(received["value"]?.old as? T == low)
            held(received["value"]?.new as? T == high)
            held(received["optional"]?.old == nil)
            held(received["optional"]?.new as? T == low)
            held(received["box"]?.old as? T == high)
            held(received["box"]?.new as? T == low)
            held(received["list"] != nil && received["list"]?.new == nil)
        }
    }

    private func versions() {
        step("frozen and thawed") { held in
            let holder = filled(50)
            try realm.write { realm.add(holder) }
            let frozen = holder.freeze()
            try realm.write { holder.value = high }
            let thawed = try #require(frozen.thaw())
            isFilled(frozen, held)
            held(thawed.value == high)
            held(try elementsElsewhere(of: holder.list) == T.samples)
            held(holder.description.contains("value = "))
            held(holder.list.freeze().count == count)
            held(holder.map.freeze()["b"] == high)
        }
    }

    private func views() {
        step("projected") { held in
            let holder = try #require(realm.object(ofType: SampleHolder<T>.self, forPrimaryKey: 50))
            try realm.write {
                holder.value = low
                holder.friends.append(holder)
            }
            let view = SampleHolderView<T>(projecting: holder)
            held(view.shown == low)
            held(view.perhaps == high)
            held(view.value(forKey: "shown") as? T == low)
            held(Array(view.friendly) == [low])
            held(view == SampleHolderView<T>(projecting: holder))
            try realm.write {
                view.shown = high
                view.setValue(low, forKey: "perhaps")
                view.friendly[0] = high
            }
            held(holder.value == high)
            held(holder.optional == low)
            held(view.freeze().shown == high)
            held(realm.objects(SampleHolderView<T>.self).filter("value == %@", high).count >= 1)
        }
    }
}
