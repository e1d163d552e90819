/// Typed conditions: `where { $0.age > 5 && $0.owner.name.starts(with: "A") }` builds the tree that query text parses
/// to.
import MotteQueryEngine
import MotteValues

package enum QueryNode {
    case path([String], Predicate.Quantifier? = nil, Predicate.CollectionOperator? = nil)
    case predicate(Predicate)
}

@dynamicMemberLookup
public struct Query<T> {
    package let node: QueryNode

    package init(_ node: QueryNode) { self.node = node }

    /// A bare bool property means that it is true.
    package var predicate: Predicate {
        switch node {
        case .predicate(let predicate): predicate
        case .path: .comparison(Predicate.Comparison(operand, .equal, .constant(.bool(true))))
        }
    }

    package var operand: Predicate.Operand {
        switch node {
        case .path(let names, let quantifier, let collection):
            .path(Predicate.Path(names, quantifier: quantifier, collectionOperator: collection))
        case .predicate: preconditionFailure("A condition cannot be compared with a value")
        }
    }

    fileprivate func appending(_ name: String, through quantifier: Predicate.Quantifier? = nil) -> QueryNode {
        guard case .path(let names, let known, _) = node else { preconditionFailure("A condition has no properties") }
        return .path(names + [name], known ?? quantifier)
    }

    fileprivate func compare(_ op: Predicate.Operator, _ value: Value, ignoresCase: Bool = false) -> Query<Bool> {
        Query<Bool>(
            .predicate(.comparison(Predicate.Comparison(operand, op, .constant(value), ignoresCase: ignoresCase))))
    }

    fileprivate func value(_ value: Any?) -> Value {
        guard let stored = storedValue(value) else {
            preconditionFailure("\(value as Any) cannot be compared with in a query")
        }
        return stored
    }
}

// MARK: Properties

extension Query where T: Object {
    public subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> {
        Query<V>(appending(KeyPathRecorder.name(of: member)))
    }
}

extension Query {
    /// Through a link.
    public subscript<Wrapped: Object, V>(dynamicMember member: KeyPath<Wrapped, V>) -> Query<V> where T == Wrapped? {
        Query<V>(appending(KeyPathRecorder.name(of: member)))
    }
}

extension Query where T: RealmCollection, T.Element: Object {
    /// Any element of a collection.
    public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> {
        Query<V>(appending(KeyPathRecorder.name(of: member), through: .any))
    }
}

extension Query where T: RealmCollection {
    public var count: Query<Int> {
        guard case .path(let names, _, _) = node else { preconditionFailure("A condition has no count") }
        return Query<Int>(.path(names, nil, .count))
    }
}

// MARK: Comparison

public func == <V: _Scalar>(left: Query<V>, right: V) -> Query<Bool> { left.compare(.equal, right._storedScalar.value) }
public func != <V: _Scalar>(left: Query<V>, right: V) -> Query<Bool> {
    left.compare(.notEqual, right._storedScalar.value)
}
public func < <V: _Scalar & Comparable>(left: Query<V>, right: V) -> Query<Bool> {
    left.compare(.less, right._storedScalar.value)
}
public func <= <V: _Scalar & Comparable>(left: Query<V>, right: V) -> Query<Bool> {
    left.compare(.lessOrEqual, right._storedScalar.value)
}
public func > <V: _Scalar & Comparable>(left: Query<V>, right: V) -> Query<Bool> {
    left.compare(.greater, right._storedScalar.value)
}
public func >= <V: _Scalar & Comparable>(left: Query<V>, right: V) -> Query<Bool> {
    left.compare(.greaterOrEqual, right._storedScalar.value)
}

public func == <V>(left: Query<V?>, right: V?) -> Query<Bool> { left.compare(.equal, left.value(right)) }
public func != <V>(left: Query<V?>, right: V?) -> Query<Bool> { left.compare(.notEqual, left.value(right)) }
public func < <V: _Scalar & Comparable>(left: Query<V?>, right: V) -> Query<Bool> {
    left.compare(.less, right._storedScalar.value)
}
public func <= <V: _Scalar & Comparable>(left: Query<V?>, right: V) -> Query<Bool> {
    left.compare(.lessOrEqual, right._storedScalar.value)
}
public func > <V: _Scalar & Comparable>(left: Query<V?>, right: V) -> Query<Bool> {
    left.compare(.greater, right._storedScalar.value)
}
public func >= <V: _Scalar & Comparable>(left: Query<V?>, right: V) -> Query<Bool> {
    left.compare(.greaterOrEqual, right._storedScalar.value)
}

extension Query where T: _Scalar {
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T {
        let list = values.map { Predicate.Operand.constant($0._storedScalar.value) }
        return Query<Bool>(.predicate(.comparison(Predicate.Comparison(operand, .in, .list(list)))))
    }
}

extension Query where T: _Scalar & Comparable {
    public func contains(_ range: ClosedRange<T>) -> Query<Bool> {
        self >= range.lowerBound && self <= range.upperBound
    }
    public func contains(_ range: Range<T>) -> Query<Bool> { self >= range.lowerBound && self < range.upperBound }
}

// MARK: Logic

public prefix func ! (query: Query<Bool>) -> Query<Bool> { Query<Bool>(.predicate(.not(query.predicate))) }
public func && (left: Query<Bool>, right: Query<Bool>) -> Query<Bool> {
    Query<Bool>(.predicate(.and([left.predicate, right.predicate])))
}
public func || (left: Query<Bool>, right: Query<Bool>) -> Query<Bool> {
    Query<Bool>(.predicate(.or([left.predicate, right.predicate])))
}

// MARK: Text

public struct StringOptions: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let caseInsensitive = StringOptions(rawValue: 1)
}

public protocol _QueryString {}
extension String: _QueryString {}
extension Optional: _QueryString where Wrapped == String {}

extension Query where T: _QueryString {
    public func contains(_ text: String, options: StringOptions = []) -> Query<Bool> { match(.contains, text, options) }
    public func starts(with text: String, options: StringOptions = []) -> Query<Bool> {
        match(.beginsWith, text, options)
    }
    public func ends(with text: String, options: StringOptions = []) -> Query<Bool> { match(.endsWith, text, options) }
    public func equals(_ text: String, options: StringOptions = []) -> Query<Bool> { match(.equal, text, options) }
    public func like(_ pattern: String, caseInsensitive: Bool = false) -> Query<Bool> {
        match(.like, pattern, caseInsensitive ? .caseInsensitive : [])
    }

    private func match(_ op: Predicate.Operator, _ text: String, _ options: StringOptions) -> Query<Bool> {
        compare(op, .string(text), ignoresCase: options.contains(.caseInsensitive))
    }
}
