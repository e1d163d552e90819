// Every type through the steps of the matrix, and those steps that only some types take: orders, totals, primary keys.
import Foundation
import Motte
import Testing

extension TypeMatrix where T.PersistedType: SortableType {
    func sorting() {
        step("sorted") { held in
            try realm.write {
                realm.deleteAll()
                for (index, sample) in T.samples.enumerated() {
                    let value: [String: Any] = ["id": 9 - index, "value": sample, "list": Array(T.samples.reversed())]
                    realm.create(SampleHolder<T>.self, value: value)
                }
            }
            let all = realm.objects(SampleHolder<T>.self)
            held(all.sorted(byKeyPath: "value").map(\.value) == T.samples)
            held(all.sorted(by: \.value, ascending: false).map(\.value) == T.samples.reversed())
            held(Array(all[0].list.sorted()) == T.samples)
            held(all[0].list.distinct().count == T.samples.count)
            held(all.sectioned(by: \.value, ascending: false).allKeys == T.samples.reversed())
        }
    }
}

extension TypeMatrix where T.PersistedType: MinMaxType {
    func extremes() {
        step("least and greatest") { held in
            let value: [String: Any] = ["id": 0, "value": T.samples[0]]
            let holder = SampleHolder<T>(value: value)
            holder.list.append(objectsIn: T.samples)
            holder.set.insert(objectsIn: T.samples)
            for (index, sample) in T.samples.enumerated() { holder.map["k\(index)"] = sample }
            let (low, high) = (T.samples[0], T.samples[T.samples.count - 1])
            func extremes(line: Int = #line) {
                held(holder.list.min() == low, line: line)
                held(holder.list.max() == high, line: line)
                held(holder.set.min() == low, line: line)
                held(holder.set.max() == high, line: line)
                held(holder.map.min() == low, line: line)
                held(holder.map.max() == high, line: line)
            }
            extremes()
            try realm.write {
                realm.deleteAll()
                realm.add(holder)
                for (index, sample) in T.samples.enumerated() {
                    realm.create(SampleHolder<T>.self, value: ["id": 1 + index, "value": sample, "optional": sample])
                }
            }
            let all = realm.objects(SampleHolder<T>.self)
            let least: T? = all.min(ofProperty: "value")
            let greatest: T? = all.max(ofProperty: "optional")
            let none: T? = all.filter("id > 99").max(of: \.value)
            extremes()
            held(least == low)
            held(greatest == high)
            held(none == nil)
            held(all.min(of: \.value) == low)
        }
    }
}

extension TypeMatrix where T.PersistedType: AddableType {
    func sums() {
        step("sums") { held in
            let all = realm.objects(SampleHolder<T>.self)
            let unmanaged = SampleHolder<T>()
            unmanaged.list.append(objectsIn: T.samples)
            guard let holder = all.filter("id == 0").first else { return held(false) }
            let mean: Double? = holder.list.average()
            let unmanagedMean: Double? = unmanaged.list.average()
            let none: Double? = SampleHolder<T>().list.average()
            let total: Double = all.filter("id > 0").sum(ofProperty: "value")
            held(holder.list.sum() == unmanaged.list.sum())
            held(holder.set.sum() == unmanaged.list.sum())
            held(holder.map.sum() == unmanaged.list.sum())
            held(mean != nil && mean == unmanagedMean)
            held(none == nil)
            held(abs(total - (mean ?? 0) * Double(T.samples.count)) <= abs(total) * 1e-6)
        }
    }
}

/// By the type's key, as itself and in its stored form.
private func keys<T: Sampled>(_ type: T.Type) throws where T.PersistedType: _PrimaryKey {
    let realm = try makeRealm([SampleKeyed<T>.self])
    let messages = try misuses {
        try realm.write {
            for (index, form) in T.storedForms.enumerated() {
                realm.create(SampleKeyed<T>.self, value: ["key": form, "note": "\(index)"])
            }
            for (sample, form) in zip(T.samples, T.storedForms) {
                realm.create(SampleKeyed<T>.self, value: ["key": sample], update: .modified)
                realm.create(SampleKeyed<T>.self, value: ["key": form], update: .all)
                realm.add(SampleKeyed<T>(value: ["key": sample, "note": "again"]), update: .modified)
            }
        }
        let all = realm.objects(SampleKeyed<T>.self)
        #expect(all.count == T.samples.count && all.map(\.key) == T.samples, "\(T.self)")
        for sample in T.samples {
            let found = realm.object(ofType: SampleKeyed<T>.self, forPrimaryKey: sample)
            #expect(found?.key == sample && found?.note == "again", "\(T.self)")
            #expect(found?.hashValue == all.where { $0.key == sample }.first?.hashValue, "\(T.self)")
        }
    }
    #expect(messages.isEmpty, "\(T.self): \(messages)")
    let again = try misuses {
        try realm.write { () -> Void in realm.create(SampleKeyed<T>.self, value: ["key": T.samples[0]]) }
    }
    #expect(again.count == 1, "\(T.self)")
}

@Suite struct TypeMatrixTests {
    private static func all<Base: SampledBase>(_ base: Base.Type) throws {
        try TypeMatrix<Base>().run()
        try TypeMatrix<WrappedSample<Base>>().run()
        try TypeMatrix<FailingSample<Base>>().run()
    }

    private static func sorted<Base: SampledBase & SortableType>(_ base: Base.Type) throws {
        try TypeMatrix<Base>().sorting()
        try TypeMatrix<WrappedSample<Base>>().sorting()
        try TypeMatrix<FailingSample<Base>>().sorting()
    }

    private static func ordered<Base: SampledBase & MinMaxType>(_ base: Base.Type) throws {
        try TypeMatrix<Base>().extremes()
        try TypeMatrix<WrappedSample<Base>>().extremes()
        try TypeMatrix<FailingSample<Base>>().extremes()
    }

    private static func added<T: Sampled>(_ type: T.Type) throws
    where T.PersistedType: MinMaxType, T.PersistedType: AddableType {
        let matrix = try TypeMatrix<T>()
        matrix.extremes()
        matrix.sums()
    }

    private static func number<Base: SampledBase & SortableType & MinMaxType & AddableType>(_ base: Base.Type) throws {
        try sorted(base)
        try added(Base.self)
        try added(WrappedSample<Base>.self)
        try added(FailingSample<Base>.self)
    }

    private static func keyed<Base: SampledBase & _PrimaryKey>(_ base: Base.Type) throws {
        try keys(Base.self)
        try keys(WrappedSample<Base>.self)
        try keys(FailingSample<Base>.self)
    }

    /// By name a managed collection takes what its elements are stored as, like a property, and so do new objects; what
    /// no value of the type can be made of is stored, and reading it is what fails.
    private static func refused<Base: SampledBase>(_ base: Base.Type) throws {
        typealias T = FailingSample<Base>
        let realm = try makeRealm([SampleHolder<T>.self])
        let (sound, refused) = (Base.samples[0], Base.refused)
        let values: [String: Any] = [
            "list": [sound, refused], "optionals": [refused, NSNull()] as [Any], "set": [refused],
            "optionalSet": [refused, NSNull()] as [Any], "map": ["a": refused, "b": sound],
            "optionalMap": ["a": refused, "b": NSNull()] as [String: Any],
        ]
        func check(_ holder: SampleHolder<T>, line: Int = #line) throws {
            let place = "\(T.self), line \(line)"
            #expect(holder.list.count == 2 && holder.optionals.count == 2 && holder.set.count == 1, "\(place)")
            let value = T(persistedValue: sound)
            #expect(holder.list[0] == value && holder.map["b"] == value, "\(place)")
            for read in [{ _ = holder.list[1] }, { _ = holder.set[0] }] as [() -> Void] {
                #expect(misuses(read).count == 1, "\(place)")
            }
            #expect(holder.map["a"] == nil && Set(holder.map.keys) == ["a", "b"], "\(place)")
            #expect(Array(holder.optionals) == [nil, nil] && holder.optionalSet.count == 2, "\(place)")
            #expect(holder.optionalMap["a"] == .some(nil) && holder.optionalMap["b"] == .some(nil), "\(place)")
            let all = realm.objects(SampleHolder<T>.self).filter("id == %@", holder.id)
            for query in ["ANY list == %@", "ANY set == %@", "map['a'] == %@", "ANY optionals == %@"] {
                #expect(all.filter(query, refused).count == 1, "\(place): \(query)")
            }
            #expect(all.filter("ANY optionals == nil").count == 1, "\(place)")
        }
        let holder = try realm.write {
            realm.create(SampleHolder<T>.self, value: values.merging(["id": 1]) { $1 })
        }
        try check(holder)
        let empty = try realm.write { realm.create(SampleHolder<T>.self, value: ["id": 2]) }
        try realm.write { for (name, value) in values { empty[name] = value } }
        try check(empty)
        try realm.write {
            empty.map.removeAll()
            empty.map.setValue(refused, forKey: "a")
            empty.map.setValue(sound, forKey: "b")
            let value = values.merging(["id": 1, "list": [sound]]) { $1 }
            realm.create(SampleHolder<T>.self, value: value, update: .modified)
        }
        try check(empty)
        #expect(holder.list.count == 1 && holder.optionals.count == 2)
        // What fits neither, and what is in no store.
        let other: Any = sound is String ? 1 : "no such value"
        #expect(try misuses { try realm.write { empty["list"] = [other] } }.count == 1, "\(T.self)")
        #expect(try misuses { try realm.write { empty.map.setValue(other, forKey: "c") } }.count == 1, "\(T.self)")
        #expect(misuses { _ = SampleHolder<T>(value: values) }.count == 1, "\(T.self)")
        try check(empty)
    }

    @Test(arguments: bases.indices) func elementsThatAFailableTypeRefuses(_ index: Int) throws {
        try Self.refused(Self.bases[index])
    }

    static var bases: [any SampledBase.Type] {
        [
            Int.self, Int8.self, Int16.self, Int32.self, Int64.self, Float.self, Double.self, CGFloat.self,
            String.self, Data.self, Date.self, UUID.self, ObjectId.self, Decimal128.self,
        ]
    }

    @Test(arguments: bases.indices) func everywhere(_ index: Int) throws { try Self.all(Self.bases[index]) }

    @Test func boolsAndEnumsEverywhere() throws {
        try TypeMatrix<Bool>().run()
        try TypeMatrix<WrappedSample<Bool>>().run()
        try TypeMatrix<NumberCase>().run()
        try TypeMatrix<TextCase>().run()
    }

    @Test func inOrder() throws {
        try Self.number(Int.self)
        try Self.number(Int8.self)
        try Self.number(Int16.self)
        try Self.number(Int32.self)
        try Self.number(Int64.self)
        try Self.number(Float.self)
        try Self.number(Double.self)
        try Self.number(CGFloat.self)
        try Self.number(Decimal128.self)
        try Self.sorted(String.self)
        try Self.sorted(Data.self)
        try Self.sorted(Date.self)
        try Self.ordered(Date.self)
        try TypeMatrix<NumberCase>().sorting()
        try TypeMatrix<TextCase>().sorting()
        try TypeMatrix<NumberCase>().extremes()
    }

    @Test func asPrimaryKeys() throws {
        try Self.keyed(Int.self)
        try Self.keyed(Int8.self)
        try Self.keyed(Int16.self)
        try Self.keyed(Int32.self)
        try Self.keyed(Int64.self)
        try Self.keyed(String.self)
        try Self.keyed(UUID.self)
        try Self.keyed(ObjectId.self)
        try keys(NumberCase.self)
        try keys(TextCase.self)
    }
}
