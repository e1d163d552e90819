/// What can be asked of lists, sets, maps and inverse links: counts, members, totals, keys and values.
import Foundation
import MotteQueryEngine
import MotteValues

extension Query {
    /// Whether the collection has the value: `value IN collection`.
    fileprivate func has(_ value: Any?) -> Query<Bool> {
        let asked = compare(.equal, value)
        guard case .condition(.comparison(let comparison), let reach) = asked.node,
            case .path(var path) = comparison.left, path.quantifier == .any
        else { return asked }
        path.quantifier = nil
        return Query<Bool>(.condition(.comparison(.init(comparison.right, .in, .path(path))), reaching: reach))
    }

    /// Elements within bounds, which is what the smallest and the largest of them tell.
    fileprivate func spans<Bound>(_ range: Range<Bound>) -> Query<Bool> {
        total(.min, Bound.self).compare(.greaterOrEqual, range.lowerBound)
            && total(.max, Bound.self).compare(.less, range.upperBound)
    }
    fileprivate func spans<Bound>(_ range: ClosedRange<Bound>) -> Query<Bool> {
        total(.min, Bound.self).compare(.greaterOrEqual, range.lowerBound)
            && total(.max, Bound.self).compare(.lessOrEqual, range.upperBound)
    }
}

extension Query where T: RealmCollection {
    /// A property of the elements; a comparison holds if it does for any of them.
    public subscript<V>(dynamicMember keyPath: KeyPath<T.Element, V>) -> Query<V> where T.Element: ObjectBase {
        property(keyPath, V.self)
    }

    /// The number of elements.
    public var count: Query<Int> { total(.count) }

    /// Whether the value is among the elements.
    public func contains(_ value: T.Element) -> Query<Bool> { has(value) }
    /// Whether any of these values is among the elements.
    public func containsAny<U: Sequence>(in collection: U) -> Query<Bool> where U.Element == T.Element {
        compare(.in, toAnyOf: collection)
    }
    /// Whether any element equals the value. `!=` asks whether any differs, so that both may hold.
    public static func == (left: Query<T>, right: T.Element) -> Query<Bool> { left.compare(.equal, right) }
    /// Whether any element differs from the value.
    public static func != (left: Query<T>, right: T.Element) -> Query<Bool> { left.compare(.notEqual, right) }
}

extension Query where T: RealmCollection, T.Element: Comparable {
    /// Whether all elements are in the range, whose upper bound does not belong to it; false when there is none.
    public func contains(_ range: Range<T.Element>) -> Query<Bool> { spans(range) }
    /// Whether all elements are in the range, both bounds included; false when there is none.
    public func contains(_ range: ClosedRange<T.Element>) -> Query<Bool> { spans(range) }
}

extension Query where T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: Comparable {
    /// Whether all elements are in the range, whose upper bound does not belong to it; false when there is none.
    public func contains(_ range: Range<T.Element.Wrapped>) -> Query<Bool> { spans(range) }
    /// Whether all elements are in the range, both bounds included; false when there is none.
    public func contains(_ range: ClosedRange<T.Element.Wrapped>) -> Query<Bool> { spans(range) }
}

extension Query where T: RealmCollection, T.Element.PersistedType: _QueryNumeric {
    /// Whether any element is greater than the value.
    public static func > (left: Query<T>, right: T.Element) -> Query<Bool> { left.compare(.greater, right) }
    /// Whether any element is greater than or equal to the value.
    public static func >= (left: Query<T>, right: T.Element) -> Query<Bool> { left.compare(.greaterOrEqual, right) }
    /// Whether any element is less than the value.
    public static func < (left: Query<T>, right: T.Element) -> Query<Bool> { left.compare(.less, right) }
    /// Whether any element is less than or equal to the value.
    public static func <= (left: Query<T>, right: T.Element) -> Query<Bool> { left.compare(.lessOrEqual, right) }
    /// The smallest element.
    public var min: Query<T.Element> { total(.min) }
    /// The greatest element.
    public var max: Query<T.Element> { total(.max) }
    /// The average of the elements.
    public var avg: Query<T.Element> { total(.avg) }
    /// The sum of the elements.
    public var sum: Query<T.Element> { total(.sum) }
}

extension Query where T: RealmKeyedCollection {
    /// Whether any of these values is among the elements.
    public func containsAny<U: Sequence>(in collection: U) -> Query<Bool> where U.Element == T.Value {
        compare(.in, toAnyOf: collection)
    }
    /// Whether the value is among the elements.
    public func contains(_ value: T.Value) -> Query<Bool> { has(value) }
    /// The values of the map; a comparison holds if it does for any of them.
    public var values: Query<T.Value> { changed { $0.aspect = .values } }
    /// The value of a key.
    public subscript(key: T.Key) -> Query<T.Value> {
        changed { $0.subscripts.append(.key(QueryPredicate.Name(key._mapKeyText, position: .none))) }
    }
    /// The number of elements.
    public var count: Query<Int> { total(.count) }
}

extension Query where T: RealmKeyedCollection, T.Key == String {
    /// The keys of the map; a comparison holds if it does for any of them.
    public var keys: Query<String> { changed { $0.aspect = .keys } }
}

extension Query where T: RealmKeyedCollection, T.Value: Comparable {
    /// Whether all elements are in the range, whose upper bound does not belong to it; false when there is none.
    public func contains(_ range: Range<T.Value>) -> Query<Bool> { spans(range) }
    /// Whether all elements are in the range, both bounds included; false when there is none.
    public func contains(_ range: ClosedRange<T.Value>) -> Query<Bool> { spans(range) }
}

extension Query where T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: Comparable {
    /// Whether all elements are in the range, whose upper bound does not belong to it; false when there is none.
    public func contains(_ range: Range<T.Value.Wrapped>) -> Query<Bool> { spans(range) }
    /// Whether all elements are in the range, both bounds included; false when there is none.
    public func contains(_ range: ClosedRange<T.Value.Wrapped>) -> Query<Bool> { spans(range) }
}

extension Query where T: RealmKeyedCollection, T.Value.PersistedType: _QueryNumeric {
    /// The smallest element.
    public var min: Query<T.Value> { total(.min) }
    /// The greatest element.
    public var max: Query<T.Value> { total(.max) }
    /// The average of the elements.
    public var avg: Query<T.Value> { total(.avg) }
    /// The sum of the elements.
    public var sum: Query<T.Value> { total(.sum) }
}
