/// What results, lists and inverse links have in common: a live, lazy, random-access collection.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteValues

/// What may be an element: scalars and objects.
public protocol RealmCollectionValue: Hashable, _OptionalPersistable {}
extension Bool: RealmCollectionValue {}
extension Int: RealmCollectionValue {}
extension Int8: RealmCollectionValue {}
extension Int16: RealmCollectionValue {}
extension Int32: RealmCollectionValue {}
extension Int64: RealmCollectionValue {}
extension Float: RealmCollectionValue {}
extension Double: RealmCollectionValue {}
extension String: RealmCollectionValue {}
extension Data: RealmCollectionValue {}
extension Date: RealmCollectionValue {}
extension Object: RealmCollectionValue {}

public protocol RealmCollection<Element>: RandomAccessCollection where Element: RealmCollectionValue, Index == Int {
    /// The engine's collection and session; nil while unmanaged.
    var _live: _LiveCollection? { get }
}

/// Opaque to programs.
public struct _LiveCollection {
    package let live: LiveCollection
    package let session: RealmSession
}

extension RealmCollection {
    package func required() -> _LiveCollection {
        guard let live = _live else {
            preconditionFailure("This method may only be called on collections managed by a realm")
        }
        return live
    }

    public var realm: Realm? { _live.map { Realm($0.session) } }
    public var isFrozen: Bool { _live?.session.session.isFrozen ?? false }
    public var isInvalidated: Bool { _live.map { !$0.live.isValid } ?? false }

    package func element(_ value: Value, _ session: RealmSession) -> Element? {
        let holder = ObjectBase()
        holder.session = session
        return Element._optional(_StoredValue(value), holder)
    }

    // MARK: Narrowing and ordering

    /// By query text with `%@` or `$0` arguments; the result is live and lazy.
    public func filter(_ text: String, _ arguments: Any...) -> Results<Element> {
        let live = required()
        return Results(misuse { try live.live.filter(text, Arguments(queryArguments(arguments))) }, live.session)
    }

    public func sorted(byKeyPath path: String, ascending: Bool = true) -> Results<Element> {
        let live = required()
        return Results(misuse { try live.live.sorted(by: path, ascending: ascending) }, live.session)
    }

    /// By the first key path, ties by the next.
    public func sorted(by descriptors: [SortDescriptor]) -> Results<Element> {
        let live = required()
        return Results(
            misuse { try live.live.sorted(by: descriptors.map { (path: $0.keyPath, isAscending: $0.ascending) }) },
            live.session)
    }

    // MARK: Totals

    public func min<T: _Scalar>(ofProperty property: String) -> T? { total(.min, property).flatMap { T(_stored: $0) } }
    public func max<T: _Scalar>(ofProperty property: String) -> T? { total(.max, property).flatMap { T(_stored: $0) } }
    public func sum<T: _Scalar>(ofProperty property: String) -> T {
        total(.sum, property).flatMap { T(_stored: $0) } ?? T._default()
    }
    public func average(ofProperty property: String) -> Double? {
        total(.average, property).flatMap { Double(_stored: $0) }
    }

    private func total(_ operation: AggregateOperation, _ property: String) -> _StoredValue? {
        let live = required()
        let value: Value = misuse {
            guard let target = live.live.target,
                let column = try live.session.session.schema[target]?.property(named: property)?.columnKey
            else { preconditionFailure("Invalid property name: '\(property)'") }
            return try live.live.aggregate(operation, column)
        }
        return value.isNull ? nil : _StoredValue(value)
    }

    // MARK: Observing

    /// Tells the initial state first, then every change, at the realm's delivery points.
    public func observe(_ block: @escaping (RealmCollectionChange<Self>) -> Void) -> NotificationToken {
        let live = required()
        return live.session.token { try live.live.observe { block(RealmCollectionChange($0, of: self)) } }
    }
}

extension RealmCollection where Element: Object {
    /// First position of an object.
    public func index(of object: Element) -> Int? {
        guard let live = _live else { return firstIndex { $0 == object } }
        guard let other = object.live else { return nil }
        return misuse { try live.live.index(of: other.key) }
    }

    /// By a typed condition: `where { $0.age > 5 }`.
    public func `where`(_ condition: (Query<Element>) -> Query<Bool>) -> Results<Element> {
        let live = required()
        let predicate = condition(Query<Element>(.path([]))).predicate
        return Results(misuse { try live.live.narrowed(by: ParsedQuery(predicate)) }, live.session)
    }
}

public struct SortDescriptor: Sendable, Equatable, ExpressibleByStringLiteral {
    public let keyPath: String
    public let ascending: Bool

    public init(keyPath: String, ascending: Bool = true) {
        self.keyPath = keyPath
        self.ascending = ascending
    }

    public init(stringLiteral keyPath: String) { self.init(keyPath: keyPath) }
    public func reversed() -> SortDescriptor { SortDescriptor(keyPath: keyPath, ascending: !ascending) }
}

package func queryArguments(_ arguments: [Any]) -> [Argument] {
    arguments.map { argument in
        if let value = storedValue(argument) { return .value(value) }
        if let list = argument as? [Any] { return .list(list.map { storedValue($0) ?? .null }) }
        preconditionFailure("\(type(of: argument)) cannot be an argument of a query")
    }
}
