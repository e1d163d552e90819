/// Minimum, maximum, sum and average of a property, or of the elements themselves.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

package enum _CollectionTotals {
    /// What a property of the elements is called in the store.
    static func columnName(_ name: String, of shape: _Shape) -> String {
        guard let type = shape.target else { return name }
        return ClassFields.of(type).field(named: name)?.columnName ?? name
    }

    /// nil of nothing. An average asked for as an integer is rounded toward zero.
    static func value<T: _HasPersistedType>(
        of handle: _CollectionHandle?, _ unmanaged: @autoclosure () -> [some RealmCollectionValue],
        _ operation: AggregateOperation, _ property: String?
    ) -> T? {
        let outcome = attempt(or: .null) { () throws(DatabaseError) in
            guard let handle else { return try Unmanaged.total(unmanaged(), operation, property) }
            return try total(handle.live, operation, property)
        }
        if outcome.isNull { return nil }
        if operation == .average, T._shape.type == .int, case .double(let average) = outcome,
            let whole = Int64(exactly: average.rounded(.towardZero))
        {
            return T._decode(_Stored(.int(whole), handle?.session))
        }
        return outcome.withView { T._decode(_Stored($0, handle?.session)) }
    }

    private static func total(
        _ live: LiveCollection, _ operation: AggregateOperation, _ property: String?
    ) throws(DatabaseError) -> Value {
        guard let property, property != "self" else { return try live.aggregate(operation) }
        guard let target = live.target, let type = try live.session.schema[target] else {
            throw DatabaseError(.wrongType, "a collection of values has no property '\(property)'")
        }
        guard let declared = type.property(named: property) else {
            throw DatabaseError(
                .unknownProperty, "Invalid property name '\(property)': \(type.name) has none", className: type.name,
                propertyName: property)
        }
        guard let column = declared.columnKey else {
            throw DatabaseError(.wrongType, "there is no total of '\(property)', which is computed")
        }
        return try live.aggregate(operation, column)
    }

    /// `@count`, `@sum.age` and their like, as `value(forKeyPath:)` knows them.
    static func total<C: RealmCollection>(of collection: C, _ path: String) -> Any? {
        guard path.hasPrefix("@") else { return nil }
        let parts = path.dropFirst().split(separator: ".", maxSplits: 1)
        guard let name = parts.first else { return nil }
        if name == "count" { return collection.count }
        if name == "unionOfObjects" || name == "distinctUnionOfObjects", parts.count == 2 {
            let all = collection.value(forKeyPath: String(parts[1])) as? [Any] ?? []
            return name == "unionOfObjects" ? all : distinct(all)
        }
        let operations: [Substring: AggregateOperation] = ["min": .min, "max": .max, "sum": .sum, "avg": .average]
        guard let operation = operations[name] else { return nil }
        let property = parts.count == 2 ? collection._columnName(String(parts[1])) : nil
        let outcome = attempt(or: .null) { () throws(DatabaseError) in
            guard let handle = collection._managed else {
                return try Unmanaged.total(collection._unmanaged, operation, property)
            }
            return try total(handle.live, operation, property)
        }
        return AnyRealmValue.dynamicValue(of: outcome)
    }

    /// Each once, in the order of their first occurrences.
    private static func distinct(_ values: [Any]) -> [Any] {
        var seen: Set<AnyHashable> = []
        return values.filter { value in (value as? AnyHashable).map { seen.insert($0).inserted } ?? true }
    }

    /// Of values that are in no store.
    private enum Unmanaged {
        static func total<Element: RealmCollectionValue>(
            _ elements: [Element], _ operation: AggregateOperation, _ property: String?
        ) throws(DatabaseError) -> Value {
            var values: [Value] = []
            var isMixed = Element._shape.type == .mixed
            for element in elements {
                var value: Any? = element
                if let property, property != "self" {
                    value = nil
                    if let object = element._linkedObject {
                        let name = publicName(property, of: object)
                        value = object.value(forKey: name)
                        isMixed = ClassFields.of(type(of: object)).field(named: name)?.shape.type == .mixed
                    }
                }
                if let stored = Dynamic.storedValue(value), !stored.isNull { values.append(stored) }
            }
            switch operation {
            case .count: return .int(Int64(values.count))
            // Of mixed values only the numbers take part.
            case .min: return (isMixed ? values.filter(\.kind.isNumeric) : values).min { $0 < $1 } ?? .null
            case .max: return (isMixed ? values.filter(\.kind.isNumeric) : values).max { $0 < $1 } ?? .null
            case .sum where isMixed: return .decimal(mixedSum(values))
            case .average where isMixed:
                let count = values.count { $0.kind.isNumeric }
                return count == 0
                    ? .null : .decimal(mixedSum(values).dividing(by: MotteValues.Decimal128(Int64(count))))
            case .sum: return try sum(values)
            case .average:
                guard !values.isEmpty else { return .null }
                switch try sum(values) {
                case .int(let sum): return .double(Double(sum) / Double(values.count))
                case .double(let sum): return .double(sum / Double(values.count))
                case .decimal(let sum):
                    return .decimal(sum.dividing(by: MotteValues.Decimal128(Int64(values.count))))
                default: return .null
                }
            }
        }

        /// Key paths become the names of columns, which are what managed objects are asked for.
        private static func publicName(_ name: String, of object: ObjectBase) -> String {
            let fields = ClassFields.of(type(of: object))
            return fields.field(named: name) == nil ? fields.field(inColumn: name)?.name ?? name : name
        }

        /// Of the numbers among them, as a managed collection has it.
        private static func mixedSum(_ values: [Value]) -> MotteValues.Decimal128 {
            values.reduce(.zero) { sum, value in
                switch value {
                case .int(let number): sum.adding(MotteValues.Decimal128(number))
                case .float(let number): sum.adding(MotteValues.Decimal128(Double(number)))
                case .double(let number): sum.adding(MotteValues.Decimal128(number))
                case .decimal(let number): sum.adding(number)
                default: sum
                }
            }
        }

        private static func sum(_ values: [Value]) throws(DatabaseError) -> Value {
            var ints: Int64 = 0
            var doubles = 0.0
            var decimals = MotteValues.Decimal128.zero
            var kinds: Set<ValueKind> = []
            for value in values {
                kinds.insert(value.kind)
                switch value {
                case .int(let value):
                    let (sum, overflow) = ints.addingReportingOverflow(value)
                    guard !overflow else {
                        throw DatabaseError(.overflow, "the sum does not fit 64 bits")
                    }
                    ints = sum
                    decimals = decimals.adding(MotteValues.Decimal128(value))
                case .float(let value): doubles += Double(value)
                case .double(let value): doubles += value
                case .decimal(let value): decimals = decimals.adding(value)
                default: throw DatabaseError(.wrongType, "there is no sum of \(value.kind.name) values")
                }
            }
            if kinds.contains(.decimal) {
                return .decimal(decimals.adding(MotteValues.Decimal128(doubles)))
            }
            return kinds.isSubset(of: [.int]) ? .int(ints) : .double(doubles + Double(ints))
        }
    }
}

extension RealmCollection {
    /// The smallest value of a property over all elements; nil when there is none. Null is passed over. A name that the
    /// class lacks is misuse, and so is a managed property that is no number, date or mixed value.
    public func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
        _CollectionTotals.value(of: _managed, _unmanaged, .min, _columnName(property))
    }
    /// The greatest value of a property over all elements; nil when there is none. Null is passed over. A name that the
    /// class lacks is misuse, and so is a managed property that is no number, date or mixed value.
    public func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
        _CollectionTotals.value(of: _managed, _unmanaged, .max, _columnName(property))
    }
    /// The sum of a property over all elements, zero when there is none. Null is passed over. A sum of ints that does
    /// not fit 64 bits is misuse.
    public func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType {
        _CollectionTotals.value(of: _managed, _unmanaged, .sum, _columnName(property)) ?? T._default()
    }
    /// The average of a property over all elements; nil when there is none. Null is passed over. Asked for as an
    /// integer type, it is rounded toward zero.
    public func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType {
        _CollectionTotals.value(of: _managed, _unmanaged, .average, _columnName(property))
    }

    /// What a property is called in the store.
    func _columnName(_ name: String) -> String {
        _managed == nil ? name : _CollectionTotals.columnName(name, of: Element._shape)
    }
}

extension RealmCollection where Element: ObjectBase {
    /// The smallest value of a property over all elements; nil when there is none. Null is passed over.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        min(ofProperty: _name(for: keyPath))
    }
    /// The greatest value of a property over all elements; nil when there is none. Null is passed over.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        max(ofProperty: _name(for: keyPath))
    }
    /// The sum of a property over all elements, zero when there is none. Null is passed over. A sum of ints that does
    /// not fit 64 bits is misuse.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T where T.PersistedType: AddableType {
        sum(ofProperty: _name(for: keyPath))
    }
    /// The average of a property over all elements; nil when there is none. Null is passed over. Asked for as an
    /// integer type, it is rounded toward zero.
    public func average<T: _HasPersistedType>(
        of keyPath: KeyPath<Element, T>
    ) -> T? where T.PersistedType: AddableType { average(ofProperty: _name(for: keyPath)) }
}

extension RealmCollection where Element.PersistedType: MinMaxType {
    /// The smallest element; nil when there is none. Null is passed over.
    public func min() -> Element? { _CollectionTotals.value(of: _managed, _unmanaged, .min, nil) }
    /// The greatest element; nil when there is none. Null is passed over.
    public func max() -> Element? { _CollectionTotals.value(of: _managed, _unmanaged, .max, nil) }
}

extension RealmCollection where Element.PersistedType: AddableType {
    /// The sum of the elements, zero when there is none. Null is passed over. A sum of ints that does not fit 64 bits
    /// is misuse.
    public func sum() -> Element { _CollectionTotals.value(of: _managed, _unmanaged, .sum, nil) ?? Element._default() }
    /// The average of the elements; nil when there is none. Null is passed over. Asked for as an integer type, it is
    /// rounded toward zero.
    public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType {
        _CollectionTotals.value(of: _managed, _unmanaged, .average, nil)
    }
}
