/// Typed conditions: `where { $0.age > 5 && $0.owner.name.starts(with: "A") }` builds the tree that query text parses
/// to, without going through text.
///
/// A query of a property's type is the path to it; a `Query<Bool>` is a condition. A path that passes a collection
/// means any of its elements; `($0.dogs.age > 5).count > 2` counts those that meet a condition.
import Foundation
import MotteQueryEngine
import MotteValues

/// The way to a value. Opaque to programs.
package struct QueryPath {
    package var names: [String] = []
    /// How many of the names lead to the first collection on the way, that name included.
    var collectionDepth: Int?
    var subscripts: [QueryPredicate.Subscript] = []
    var aspect: QueryPredicate.Aspect?
    var total: QueryPredicate.CollectionOperator?

    func appending(_ name: String, isCollection: Bool) -> QueryPath {
        var path = self
        path.names += name.parts(between: ".").filter { !$0.isEmpty }
        if isCollection, path.collectionDepth == nil { path.collectionDepth = path.names.count }
        return path
    }

    var operand: QueryPredicate.Operand {
        // A total is one value, and so is what a key or an index names.
        let isSingle = total != nil || !(subscripts.isEmpty || subscripts.contains(.all))
        let isMany = collectionDepth != nil || subscripts.contains(.all)
        let quantifier: QueryPredicate.Quantifier? = isMany && !isSingle ? .any : nil
        var operand = QueryPredicate.Path(
            names, quantifier: quantifier, subscripts: subscripts, aspect: aspect, collectionOperator: total)
        if let collectionDepth {
            operand.names[collectionDepth - 1] = .init(
                names[collectionDepth - 1], position: QueryPredicate.collectionEnd)
        }
        return .path(operand)
    }
}

/// What a condition touches besides its properties.
package struct QueryReach {
    /// The collections that its paths pass, by the names that lead to them.
    var collections: Set<[String]> = []
    /// The files of the objects that it compares with.
    var files: Set<UInt64> = []
    /// The values of its constants as the program gave them, by the positions of these.
    private(set) var given: [Int: Any] = [:]

    init(collections: Set<[String]> = []) { self.collections = collections }

    func union(_ other: QueryReach) -> QueryReach {
        var reach = self
        reach.collections.formUnion(other.collections)
        reach.files.formUnion(other.files)
        reach.given.merge(other.given) { one, _ in one }
        return reach
    }

    private static let last = Locked(ofProcess: QueryPredicate.collectionEnd.utf8Offset ?? 0)

    /// The position of the constant.
    mutating func note(_ asked: Dynamic.Asked, _ value: Any?) -> SourcePosition {
        files.formUnion(asked.files)
        // No text has them: they are negative.
        let position = Self.last.withLock { last in
            last -= 1
            return last
        }
        given[position] = Dynamic.flattened(value) ?? NSNull()
        return SourcePosition(position)
    }
}

package enum QueryNode {
    case path(QueryPath)
    case condition(QueryPredicate, reaching: QueryReach)
    /// The count of elements that meet a condition.
    case subquery(QueryPredicate.Subquery, reaching: QueryReach)
    case arithmetic(QueryPredicate.Arithmetic, reaching: QueryReach)
    /// What cannot be asked, with the reason.
    case invalid(String)
}

/// What `where` closures are written in: `dogs.where { $0.age > 3 && $0.name.starts(with: "R") }`.
@dynamicMemberLookup
public struct Query<T> {
    package let node: QueryNode

    package init(_ node: QueryNode) { self.node = node }

    static func _root(_ isObject: Bool) -> Query { Query(.path(QueryPath())) }

    public static func _constructForTesting() -> Query<T> { Query(.path(QueryPath())) }

    /// The condition as filter text with `%@` for its values.
    public func _constructPredicate() -> (String, [Any]) {
        var text = QueryFormat(given: reach.given)
        switch node {
        case .condition(let predicate, _): text.add(predicate)
        case .path(let path): text.add(Query.isTrue(path))
        case .subquery(let subquery, _): text.add(.subquery(subquery))
        case .arithmetic(let arithmetic, _): text.add(.arithmetic(arithmetic))
        case .invalid(let message): misuse(message, .invalidInput)
        }
        return (text.format, text.values)
    }

    /// What the engine runs on a file; nil for none.
    package func parsed(for file: UInt64?) throws(DatabaseError) -> ParsedQuery {
        switch node {
        case .condition(let predicate, let reach):
            if let file, !reach.files.isSubset(of: [file]) { throw FilterFormat.foreignObject }
            return ParsedQuery(predicate)
        case .path(let path): return ParsedQuery(Query.isTrue(path))
        case .subquery: throw DatabaseError(.queryInvalid, "compare the count of the subquery with a number")
        case .arithmetic: throw DatabaseError(.queryInvalid, "compare what is computed with a value")
        case .invalid(let message): throw DatabaseError(.queryInvalid, message)
        }
    }

    /// A property of type Bool alone, which prints as that.
    static func isTrue(_ path: QueryPath) -> QueryPredicate {
        .comparison(.init(path.operand, .equal, .constant(.bool(true)), position: QueryPredicate.bareBool))
    }

    // MARK: Paths

    package func member<V>(_ name: String, _ type: V.Type) -> Query<V> {
        guard case .path(let path) = node else { return Query<V>(.invalid("only paths have properties")) }
        if !path.subscripts.isEmpty {
            return Query<V>(.invalid("a path ends at the value of a map's key"))
        }
        return Query<V>(.path(path.appending(name, isCollection: V.self is any _CollectionValue.Type)))
    }

    /// The compiler lets through members of a type of the program's own, which is no class whatever it is stored as.
    func property<Root: ObjectBase, V>(_ keyPath: KeyPath<Root, V>, _ type: V.Type) -> Query<V> {
        // Asked of the key path, whose own type is what it really begins with.
        guard Swift.type(of: keyPath).rootType is ObjectBase.Type else {
            return Query<V>(
                .invalid(
                    "'\(keyPath)' is no persisted property; ask for what the type is stored as: "
                        + "$0.name.persistableValue"
                ))
        }
        return member(_name(for: keyPath), V.self)
    }

    package func changed<V>(_ type: V.Type = V.self, _ change: (inout QueryPath) -> Void) -> Query<V> {
        switch node {
        case .path(var path):
            change(&path)
            return Query<V>(.path(path))
        case .invalid(let message): return Query<V>(.invalid(message))
        case .condition, .subquery, .arithmetic: return Query<V>(.invalid("this can only be asked of a property"))
        }
    }

    package func total<V>(_ total: QueryPredicate.CollectionOperator, _ type: V.Type = V.self) -> Query<V> {
        changed { $0.total = total }
    }

    /// A property of the object. A comparison of it is a condition; a `Bool` property is one by itself.
    public subscript<V>(dynamicMember keyPath: KeyPath<T, V>) -> Query<V> where T: ObjectBase {
        property(keyPath, V.self)
    }
    /// A map property. It is compared by its values, keys or count, or by the value of one key.
    public subscript<V: RealmKeyedCollection>(dynamicMember keyPath: KeyPath<T, V>) -> Query<V> where T: ObjectBase {
        property(keyPath, V.self)
    }
    /// A list, set or inverse links. A comparison holds if it does for any element.
    public subscript<V: RealmCollectionBase>(dynamicMember keyPath: KeyPath<T, V>) -> Query<V> where T: ObjectBase {
        property(keyPath, V.self)
    }

    // MARK: Comparing

    var operand: QueryPredicate.Operand? {
        switch node {
        case .path(let path): path.operand
        case .subquery(let subquery, _): .subquery(subquery)
        case .arithmetic(let arithmetic, _): .arithmetic(arithmetic)
        case .condition, .invalid: nil
        }
    }

    var reach: QueryReach {
        switch node {
        case .path(let path):
            QueryReach(collections: path.collectionDepth.map { [Array(path.names[..<$0])] } ?? [])
        case .condition(_, let reach), .arithmetic(_, let reach), .subquery(_, let reach): reach
        case .invalid: QueryReach()
        }
    }

    /// Whether it stands for several values.
    private var passesCollection: Bool {
        guard case .path(let path) = node else { return false }
        return path.collectionDepth != nil && path.total == nil && path.subscripts.isEmpty
    }

    var reason: String {
        if case .invalid(let message) = node { return message }
        return "a condition cannot be compared"
    }

    package func compare(
        _ operation: QueryPredicate.Operator, _ value: Any?, _ options: StringOptions = []
    ) -> Query<Bool> {
        guard let left = operand else { return Query<Bool>(.invalid(reason)) }
        if operation == .equal || operation == .notEqual, let embedded = Self.embedded(value) {
            return members(of: embedded, operation)
        }
        guard let asked = Dynamic.asked(value) else { return Query<Bool>(.invalid(Self.unusable(value))) }
        var reach = reach
        let constant = QueryPredicate.Operand.constant(asked.value, reach.note(asked, value))
        return Query<Bool>(
            .condition(.comparison(.init(left, operation, constant, options: options.engine)), reaching: reach))
    }

    package func compare<U>(
        _ operation: QueryPredicate.Operator, to other: Query<U>, _ options: StringOptions = []
    ) -> Query<Bool> {
        guard let left = operand else { return Query<Bool>(.invalid(reason)) }
        guard let right = other.operand else { return Query<Bool>(.invalid(other.reason)) }
        if passesCollection, other.passesCollection {
            return Query<Bool>(
                .invalid(
                    "Comparing two collection columns is not permitted. Compare one with a value, or their counts"))
        }
        return Query<Bool>(
            .condition(
                .comparison(.init(left, operation, right, options: options.engine)),
                reaching: reach.union(other.reach)))
    }

    package func compare(_ operation: QueryPredicate.Operator, toAnyOf values: some Sequence) -> Query<Bool> {
        guard let left = operand else { return Query<Bool>(.invalid(reason)) }
        var constants: [QueryPredicate.Operand] = []
        var reach = reach
        for value in values {
            guard let asked = Dynamic.asked(value) else { return Query<Bool>(.invalid(Self.unusable(value))) }
            constants.append(.constant(asked.value, reach.note(asked, value)))
        }
        return Query<Bool>(.condition(.comparison(.init(left, operation, .list(constants))), reaching: reach))
    }

    func within(_ shape: some RLMGeospatial) -> Query<Bool> {
        guard case .path = node, let place = operand else { return Query<Bool>(.invalid(reason)) }
        guard let shape = GeoShape(shape) else { return Query<Bool>(.invalid(Self.unusable(shape))) }
        return Query<Bool>(.condition(.comparison(.init(place, .geoWithin, .shape(shape))), reaching: reach))
    }

    package static func unusable(_ value: Any?) -> String {
        "a value of type \(type(of: value)) cannot be used in a query"
    }

    // MARK: Embedded objects by their members

    /// An unmanaged embedded object, also behind a type of the program's own.
    private static func embedded(_ value: Any?) -> EmbeddedObject? {
        guard let value = Dynamic.flattened(value) as? any _HasPersistedType,
            let object = value._linkedObject as? EmbeddedObject, object.live == nil
        else { return nil }
        return object
    }

    private func members(of object: EmbeddedObject, _ operation: QueryPredicate.Operator) -> Query<Bool> {
        guard case .path(let path) = node else { return Query<Bool>(.invalid(reason)) }
        var reach = reach
        var parts: [QueryPredicate] = []
        for field in ClassFields.of(type(of: object)).fields where field.shape.type != .linkingObjects {
            let value = field.value(of: object)
            guard !field.isCollection, field.shape.type != .link, let asked = Dynamic.asked(value) else {
                return Query<Bool>(
                    .invalid(
                        "\(type(of: object).className()) cannot be compared as a whole: "
                            + "'\(field.name)' is a link or holds many"))
            }
            let member = path.appending(field.name, isCollection: false).operand
            parts.append(.comparison(.init(member, .equal, .constant(asked.value, reach.note(asked, value)))))
        }
        let all: QueryPredicate = parts.count == 1 ? parts[0] : parts.isEmpty ? .constant(true) : .and(parts)
        return Query<Bool>(.condition(operation == .equal ? all : .not(all), reaching: reach))
    }

    /// Whether the property equals the value; nil stands for null. Texts are compared by their UTF-8 bytes. An
    /// unmanaged embedded object is compared property by property; any other unmanaged object is equal to nothing. An
    /// object of another file is misuse.
    public static func == (left: Query, right: T) -> Query<Bool> { left.compare(.equal, right) }
    /// Whether both properties have equal values. Two paths that both pass a collection are misuse.
    public static func == (left: Query, right: Query) -> Query<Bool> { left.compare(.equal, to: right) }
    /// Whether the property differs from the value; nil stands for null. Where the path passes a collection: whether
    /// any element does.
    public static func != (left: Query, right: T) -> Query<Bool> { left.compare(.notEqual, right) }
    /// Whether both properties have different values. Two paths that both pass a collection are misuse.
    public static func != (left: Query, right: Query) -> Query<Bool> { left.compare(.notEqual, to: right) }

    /// Whether the property equals any of these values; false when there is none. An unmanaged object is equal to
    /// nothing; one of another file is misuse.
    public func `in`<U: Sequence>(_ collection: U) -> Query<Bool> where U.Element == T {
        compare(.in, toAnyOf: collection)
    }
}

// MARK: Joining

extension Query where T == Bool {
    /// A condition, be it a property of type Bool or one that was made.
    private var condition: QueryPredicate? {
        switch node {
        case .condition(let predicate, _): predicate
        case .path(let path): Query.isTrue(path)
        case .subquery, .arithmetic, .invalid: nil
        }
    }

    private var failure: String {
        if case .invalid(let message) = node { return message }
        return "this is not a condition"
    }

    /// Whether the condition does not hold.
    public static prefix func ! (query: Query) -> Query<Bool> {
        guard let condition = query.condition else { return Query(.invalid(query.failure)) }
        return Query(.condition(.not(condition), reaching: query.reach))
    }
    /// Whether both conditions hold.
    public static func && (left: Query, right: Query) -> Query<Bool> { join(left, right) { .and($0) } }
    /// Whether one of the conditions holds, or both.
    public static func || (left: Query, right: Query) -> Query<Bool> { join(left, right) { .or($0) } }

    private static func join(_ left: Query, _ right: Query, _ make: ([QueryPredicate]) -> QueryPredicate) -> Query<Bool>
    {
        guard let first = left.condition else { return Query(.invalid(left.failure)) }
        guard let second = right.condition else { return Query(.invalid(right.failure)) }
        let joined = make([first, second])
        let reach = left.reach.union(right.reach)
        // Chains are one level, as the parser makes them.
        switch (joined, first) {
        case (.and, .and(let parts)): return Query(.condition(.and(parts + [second]), reaching: reach))
        case (.or, .or(let parts)): return Query(.condition(.or(parts + [second]), reaching: reach))
        default: return Query(.condition(joined, reaching: reach))
        }
    }

    /// How many elements of the collection that the condition passes meet it: `($0.dogs.age > 5).count > 2`. The
    /// condition must pass one collection, and only that.
    public var count: Query<Int> {
        guard let condition else { return Query<Int>(.invalid(failure)) }
        guard let collection = reach.collections.first else {
            return Query<Int>(.invalid("Subqueries will only work over collections: the condition passes none"))
        }
        guard reach.collections.count == 1 else {
            return Query<Int>(.invalid("Subqueries must contain a single collection."))
        }
        let scope = SubqueryScope(collection: collection, around: condition)
        guard let inner = scope.relative(condition) else {
            return Query<Int>(.invalid("all paths of a subquery must go through \(collection.joined(separator: "."))"))
        }
        // What is compared with the count is about no collection any more.
        var reach = reach
        reach.collections = []
        return Query<Int>(
            .subquery(
                QueryPredicate.Subquery(QueryPredicate.Path(collection), scope.variable, inner), reaching: reach))
    }
}

/// Turns a condition that passes a collection into one about its elements.
private struct SubqueryScope {
    let variable: String
    let collection: [String]

    /// Subqueries within each other have variables of their own.
    init(collection: [String], around condition: QueryPredicate) {
        self.collection = collection
        variable = "element\(Self.depth(condition))"
    }

    private static func depth(_ predicate: QueryPredicate) -> Int {
        switch predicate {
        case .not(let inner): depth(inner)
        case .and(let parts), .or(let parts): parts.map(depth).max() ?? 0
        case .comparison(let comparison): max(depth(comparison.left), depth(comparison.right))
        default: 0
        }
    }

    private static func depth(_ operand: QueryPredicate.Operand) -> Int {
        switch operand {
        case .subquery(let subquery): depth(subquery.predicate) + 1
        case .arithmetic(let arithmetic): max(depth(arithmetic.left), depth(arithmetic.right))
        default: 0
        }
    }

    func relative(_ predicate: QueryPredicate) -> QueryPredicate? {
        switch predicate {
        case .not(let inner): return relative(inner).map { .not($0) }
        case .and(let parts): return all(parts).map { .and($0) }
        case .or(let parts): return all(parts).map { .or($0) }
        case .comparison(var comparison):
            guard let left = relative(comparison.left), let right = relative(comparison.right) else { return nil }
            comparison.left = left
            comparison.right = right
            return .comparison(comparison)
        default: return predicate
        }
    }

    private func all(_ parts: [QueryPredicate]) -> [QueryPredicate]? {
        let inner = parts.compactMap(relative)
        return inner.count == parts.count ? inner : nil
    }

    private func relative(_ operand: QueryPredicate.Operand) -> QueryPredicate.Operand? {
        switch operand {
        case .arithmetic(var arithmetic):
            guard let left = relative(arithmetic.left), let right = relative(arithmetic.right) else { return nil }
            arithmetic.left = left
            arithmetic.right = right
            return .arithmetic(arithmetic)
        case .subquery(var subquery):
            // A collection that is not of the elements is one of theirs by its name, as in RealmSwift.
            subquery.collection = relative(subquery.collection) ?? subquery.collection
            subquery.collection.variable = variable
            return .subquery(subquery)
        case .path(let path):
            return relative(path).map { .path($0) }
        default: return operand
        }
    }

    /// nil for a path that does not go through the collection.
    private func relative(_ path: QueryPredicate.Path) -> QueryPredicate.Path? {
        guard path.names.count >= collection.count,
            zip(path.names, collection).allSatisfy({ $0.text.hasSameBytes(as: $1) })
        else { return nil }
        var path = path
        path.names = Array(path.names[collection.count...])
        path.variable = variable
        path.quantifier = nil
        return path
    }
}
