/// What can be asked of single values: order, ranges, texts, totals, raw values, places.
import Foundation
import MotteQueryEngine
import MotteValues

extension Query where T: _HasPersistedType, T.PersistedType: _QueryOrdered {
    /// Whether the property is greater than the value.
    public static func > (left: Query, right: T) -> Query<Bool> { left.compare(.greater, right) }
    /// Whether the property is greater than the other property.
    public static func > (left: Query, right: Query) -> Query<Bool> { left.compare(.greater, to: right) }
    /// Whether the property is greater than or equal to the value.
    public static func >= (left: Query, right: T) -> Query<Bool> { left.compare(.greaterOrEqual, right) }
    /// Whether the property is greater than or equal to the other property.
    public static func >= (left: Query, right: Query) -> Query<Bool> { left.compare(.greaterOrEqual, to: right) }
    /// Whether the property is less than the value.
    public static func < (left: Query, right: T) -> Query<Bool> { left.compare(.less, right) }
    /// Whether the property is less than the other property.
    public static func < (left: Query, right: Query) -> Query<Bool> { left.compare(.less, to: right) }
    /// Whether the property is less than or equal to the value.
    public static func <= (left: Query, right: T) -> Query<Bool> { left.compare(.lessOrEqual, right) }
    /// Whether the property is less than or equal to the other property.
    public static func <= (left: Query, right: Query) -> Query<Bool> { left.compare(.lessOrEqual, to: right) }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryNumeric {
    /// The smallest value of the property over all elements of the collection that the path passes.
    public var min: Query { total(.min) }
    /// The greatest value of the property over all elements of the collection that the path passes.
    public var max: Query { total(.max) }
    /// The average of the property over all elements of the collection that the path passes.
    public var avg: Query { total(.avg) }
    /// The sum of the property over all elements of the collection that the path passes.
    public var sum: Query { total(.sum) }
}

// MARK: Ranges

extension Query {
    fileprivate func isWithin<Bound>(_ range: Range<Bound>) -> Query<Bool> {
        compare(.greaterOrEqual, range.lowerBound) && compare(.less, range.upperBound)
    }
    fileprivate func isWithin<Bound>(_ range: ClosedRange<Bound>) -> Query<Bool> {
        compare(.between, toAnyOf: [range.lowerBound, range.upperBound])
    }
}

extension Query where T: Comparable {
    /// Whether the value is in the range, whose upper bound does not belong to it.
    public func contains(_ range: Range<T>) -> Query<Bool> { isWithin(range) }
    /// Whether the value is in the range, both bounds included.
    public func contains(_ range: ClosedRange<T>) -> Query<Bool> { isWithin(range) }
}

extension Query where T: OptionalProtocol, T.Wrapped: Comparable {
    /// Whether the value is in the range, whose upper bound does not belong to it.
    public func contains(_ range: Range<T.Wrapped>) -> Query<Bool> { isWithin(range) }
    /// Whether the value is in the range, both bounds included.
    public func contains(_ range: ClosedRange<T.Wrapped>) -> Query<Bool> { isWithin(range) }
}

// MARK: Texts

extension Query where T: _HasPersistedType, T.PersistedType: _QueryString {
    /// Whether the text matches a pattern: `*` stands for any characters, `?` for one.
    public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
        compare(.like, value, caseInsensitive ? .caseInsensitive : [])
    }
    /// Whether the text matches the pattern that another property holds.
    public func like<U>(_ column: Query<U>, caseInsensitive: Bool = false) -> Query<Bool> {
        compare(.like, to: column, caseInsensitive ? .caseInsensitive : [])
    }
    /// Whether the whole text matches a regular expression.
    public func matches(_ pattern: String, caseInsensitive: Bool = false) -> Query<Bool> {
        compare(.matches, pattern, caseInsensitive ? .caseInsensitive : [])
    }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryBinary {
    /// Whether the text contains the other one.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> { compare(.contains, value, options) }
    /// Whether the text contains that of another property.
    public func contains<U>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U: _Persistable, U.PersistedType: _QueryBinary { compare(.contains, to: column, options) }
    /// Whether the text begins with the other one.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        compare(.beginsWith, value, options)
    }
    /// Whether the text begins with that of another property.
    public func starts<U>(with column: Query<U>, options: StringOptions = []) -> Query<Bool> {
        compare(.beginsWith, to: column, options)
    }
    /// Whether the text ends with the other one.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> { compare(.endsWith, value, options) }
    /// Whether the text ends with that of another property.
    public func ends<U>(with column: Query<U>, options: StringOptions = []) -> Query<Bool> {
        compare(.endsWith, to: column, options)
    }
    /// Whether the texts are equal, in case and accents as the options say.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> { compare(.equal, value, options) }
    /// Whether the text equals that of another property, in case and accents as the options say.
    public func equals<U>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool> {
        compare(.equal, to: column, options)
    }
    /// Whether the texts differ, in case and accents as the options say.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        compare(.notEqual, value, options)
    }
    /// Whether the text differs from that of another property, in case and accents as the options say.
    public func notEquals<U>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool> {
        compare(.notEqual, to: column, options)
    }
}

// MARK: Links and mixed values

extension Query where T: OptionalProtocol {
    /// A property of the linked object.
    public subscript<V>(dynamicMember keyPath: KeyPath<T.Wrapped, V>) -> Query<V> where T.Wrapped: ObjectBase {
        property(keyPath, V.self)
    }
}

extension Query where T: OptionalProtocol, T.Wrapped: EmbeddedObject {
    /// Whether the point of GeoJSON that is embedded here is in a box, circle or polygon.
    public func geoWithin<U: RLMGeospatial>(_ shape: U) -> Query<Bool> { within(shape) }
}

extension Query where T == AnyRealmValue {
    /// The element at an index of the list that the value holds.
    public subscript(index: Int) -> Query<AnyRealmValue> { changed { $0.subscripts.append(.index(index)) } }
    /// The value of a key of the dictionary that the value holds.
    public subscript(key: String) -> Query<AnyRealmValue> {
        changed { $0.subscripts.append(.key(QueryPredicate.Name(key, position: .none))) }
    }
    /// Any element or value of the list or map.
    public var any: Query<AnyRealmValue> { changed { $0.subscripts.append(.all) } }

    /// Whether the text contains the other one.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> { compare(.contains, value, options) }
    /// Whether the text begins with the other one.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        compare(.beginsWith, value, options)
    }
    /// Whether the text ends with the other one.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> { compare(.endsWith, value, options) }
    /// Whether the texts are equal, in case and accents as the options say.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> { compare(.equal, value, options) }
    /// Whether the texts differ, in case and accents as the options say.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        compare(.notEqual, value, options)
    }
    /// Whether a stored text matches a pattern: `?` is one character, `*` any number of them.
    public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
        compare(.like, value, caseInsensitive ? .caseInsensitive : [])
    }
}

// MARK: What a value is stored as

extension Query where T: PersistableEnum, T.RawValue: _RealmSchemaDiscoverable {
    /// The stored form, to be compared with raw values of the enumeration.
    public var rawValue: Query<T.RawValue> { changed { _ in } }
}
extension Query where T: OptionalProtocol, T.Wrapped: PersistableEnum, T.Wrapped.RawValue: _RealmSchemaDiscoverable {
    /// The stored form, to be compared with raw values of the enumeration.
    public var rawValue: Query<T.Wrapped.RawValue?> { changed { _ in } }
}
extension Query where T: RealmCollection, T.Element: PersistableEnum, T.Element.RawValue: RealmCollectionValue {
    /// The stored form, to be compared with raw values of the enumeration.
    public var rawValue: Query<AnyRealmCollection<T.Element.RawValue>> { changed { _ in } }
}
extension Query where T: RealmKeyedCollection, T.Value: PersistableEnum, T.Value.RawValue: RealmCollectionValue {
    /// The stored form, to be compared with raw values of the enumeration.
    public var rawValue: Query<Map<T.Key, T.Value.RawValue>> { changed { _ in } }
}
extension Query
where
    T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: PersistableEnum,
    T.Element.Wrapped.RawValue: _RealmCollectionValueInsideOptional
{
    /// The stored form, to be compared with raw values of the enumeration.
    public var rawValue: Query<AnyRealmCollection<T.Element.Wrapped.RawValue?>> { changed { _ in } }
}
extension Query
where
    T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: PersistableEnum,
    T.Value.Wrapped.RawValue: _RealmCollectionValueInsideOptional
{
    /// The stored form, to be compared with raw values of the enumeration.
    public var rawValue: Query<Map<T.Key, T.Value.Wrapped.RawValue?>> { changed { _ in } }
}

extension Query where T: _HasPersistedType {
    /// The stored form, to be compared with values of the type that is stored.
    public var persistableValue: Query<T.PersistedType> { changed { _ in } }
}
extension Query where T: RealmCollection {
    /// The stored form, to be compared with values of the type that is stored.
    public var persistableValue: Query<AnyRealmCollection<T.Element.PersistedType>> { changed { _ in } }
}
extension Query where T: RealmKeyedCollection {
    /// The stored form, to be compared with values of the type that is stored.
    public var persistableValue: Query<Map<T.Key, T.Value.PersistedType>> { changed { _ in } }
}
