/// What lists, results and backlinks have in common: elements by position, live or frozen.
///
/// One base class so that every language binding has one kind of collection handle. Elements are objects (their keys)
/// or values. Nothing is computed before the first look; what was computed is kept until the session's view epoch
/// moves.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package class LiveCollection {
    package enum Kind: UInt32, Sendable {
        case list = 1
        case set = 2
        case map = 3
        case results = 4
        case backlinks = 5
        /// In a mixed value.
        case nestedList = 6
        case nestedMap = 7
    }

    package let session: Session
    package let kind: Kind
    /// `.link` for objects.
    package let elementType: PropertyType
    package let isElementNullable: Bool
    /// Class of the elements, if they are objects.
    package let target: TableKey?

    init(
        _ session: Session, _ kind: Kind, elementType: PropertyType, isElementNullable: Bool, target: TableKey?
    ) {
        self.session = session
        self.kind = kind
        self.elementType = elementType
        self.isElementNullable = isElementNullable
        self.target = target
    }

    package var isFrozen: Bool { session.isFrozen }
    /// False once the object that it belongs to was deleted, or the session closed. A yes or no, for who wants no more.
    package final var isValid: Bool { (try? exists()) ?? false }
    /// Whether membership and order are fixed.
    package var isSnapshot: Bool { false }

    // MARK: For subclasses

    /// Whether the object that a list or backlinks belong to is there. Throws where that cannot be said.
    package func exists() throws(DatabaseError) -> Bool {
        if session.isClosed { try session.check() }
        return true
    }

    package func count() throws(DatabaseError) -> Int { 0 }

    /// Borrowed until the session's view epoch moves. An object that a snapshot still lists although it was deleted is
    /// null.
    package func value(at index: Int) throws(DatabaseError) -> ValueView { throw outOfBounds(index, try count()) }

    /// Keys of all elements, in order. Only of objects.
    package func keys() throws(DatabaseError) -> [Int64] { throw notObjects() }

    /// The key at a position, whether or not the object still exists.
    package func key(at index: Int) throws(DatabaseError) -> ObjectKey {
        let keys = try keys()
        guard index >= 0, index < keys.count else { throw outOfBounds(index, keys.count) }
        return ObjectKey(keys[index])
    }

    /// First position of a key, nil when it is not in there.
    package func index(of key: ObjectKey) throws(DatabaseError) -> Int? { try keys().firstIndex(of: key.rawValue) }

    /// Calls `body` with runs of values of elements `first ..< first + limit`, in order: chunk, rows, position of the
    /// first of them. A nil column stands for the elements themselves.
    func forEachRun(
        _ column: ColumnKey?, from first: Int, limit: Int,
        _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try forEachRun(ofObjects: column, from: first, limit: limit, body)
    }

    /// A total over a column by the query engine, nil where it has to be made element by element.
    func vectorized(_ operation: AggregateOperation, _ column: ColumnKey) throws(DatabaseError) -> Value? { nil }

    /// What results over this collection read from.
    func resultsSource() throws(DatabaseError) -> ResultsSource { throw notObjects() }

    /// What it consists of apart from its session; nil when it is gone.
    package func plan() throws(DatabaseError) -> CollectionPlan? { nil }

    /// The same collection in the frozen counterpart of its session, within a write as it was before that.
    package final func freeze() throws(DatabaseError) -> LiveCollection {
        let frozen = try session.sharedFrozen()
        return frozen === session ? self : try self.frozen(in: frozen)
    }

    /// The same collection in `frozen`, the frozen counterpart of its session.
    package func frozen(in frozen: Session) throws(DatabaseError) -> LiveCollection {
        throw DatabaseError(.internal, "a collection must say what it is in a frozen session")
    }

    // MARK: Elements

    /// The object at a position; nil for one of a snapshot that was deleted meanwhile, for null, and for a mixed value
    /// that is no link.
    package func object(at index: Int) throws(DatabaseError) -> LiveObject? {
        guard let target else {
            guard elementType == .mixed else { throw notObjects() }
            return try session.object(linkedBy: try value(at: index))
        }
        let key = try key(at: index)
        let exists = try session.lentTable(target).read { table throws(DatabaseError) in try table.locate(key) != nil }
        return exists ? try session.handle(target, key) : nil
    }

    package func first() throws(DatabaseError) -> LiveObject? { try count() > 0 ? try object(at: 0) : nil }

    /// First position of a value or link; nil also for a value of another type.
    package func find(_ value: ValueView) throws(DatabaseError) -> Int? {
        guard let target else {
            for index in 0 ..< (try count()) where try ValueOrdering.compare(self.value(at: index), value) == 0 {
                return index
            }
            return nil
        }
        guard value.kind == .link, value.linkValue.table == target else {
            _ = try count()
            return nil
        }
        return try index(of: value.linkValue.key)
    }

    // MARK: Results over this

    package func results() throws(DatabaseError) -> LiveResults {
        LiveResults(session, source: try resultsSource(), stages: [])
    }

    /// Narrowed by query text, which may end in SORT, DISTINCT and LIMIT.
    package func filter(_ text: String, _ arguments: Arguments = Arguments()) throws(DatabaseError) -> LiveResults {
        let query = try ParsedQuery.parse(text)
        let arguments = try arguments.fitted(to: query)
        return try narrowed(by: query, arguments)
    }

    package func narrowed(by query: ParsedQuery, _ arguments: Arguments = Arguments()) throws(DatabaseError)
        -> LiveResults
    {
        guard let target else {
            let bound = try ValueQuery.bind(query, type: elementType, name: valueName, arguments: arguments)
            return try results().adding(.query(bound))
        }
        let stage = try ResultsStage(query, arguments, target: target, session: session)
        return try results().adding(stage)
    }

    /// In another order; ties keep the order they had.
    package func sorted(by keys: [(path: String, isAscending: Bool)]) throws(DatabaseError) -> LiveResults {
        guard target != nil else { return try sortedValues(keys) }
        let sort = keys.map { Ordering.SortKey(Predicate.Path(dotted: $0.path), isAscending: $0.isAscending) }
        return try narrowed(by: ParsedQuery(.constant(true), ordering: Ordering(sort: sort)))
    }

    private func sortedValues(_ keys: [(path: String, isAscending: Bool)]) throws(DatabaseError) -> LiveResults {
        guard keys.count == 1, ["self", "SELF"].contains(where: keys[0].path.hasSameBytes) else {
            throw DatabaseError(.queryInvalid, "a collection of values is sorted by 'self' only")
        }
        return try results().adding(.sort(isAscending: keys[0].isAscending))
    }

    /// The first of equal values each, in the order they have; objects are compared by identity.
    package func distinct() throws(DatabaseError) -> LiveResults { try results().adding(.distinct) }

    /// The first of those that agree in all properties, each a path through links; "self" is the element itself.
    package func distinct(by paths: [String]) throws(DatabaseError) -> LiveResults {
        let areSelf = paths.allSatisfy { path in ["self", "SELF"].contains(where: path.hasSameBytes) }
        if areSelf { return try distinct() }
        guard target != nil else {
            throw DatabaseError(.queryInvalid, "distinct values are compared by 'self' only")
        }
        let clause = Ordering.Clause.distinct(paths.map { Predicate.Path(dotted: $0) })
        return try narrowed(by: ParsedQuery(.constant(true), ordering: Ordering([clause])))
    }

    /// What messages call the elements of a collection of values.
    var valueName: String { "SELF" }

    package func sorted(by path: String, ascending: Bool = true) throws(DatabaseError) -> LiveResults {
        try sorted(by: [(path, ascending)])
    }

    /// The first `limit` elements.
    package func limited(to limit: Int) throws(DatabaseError) -> LiveResults {
        guard limit >= 0 else { throw DatabaseError(.invalidArgument, "a limit of \(limit) is negative") }
        return try results().adding(.limit(limit))
    }

    /// The same elements, fixed: later changes of values are seen, changes of membership and order are not.
    package func snapshot() throws(DatabaseError) -> LiveResults {
        if let target { return LiveResults(session, source: .fixed(target, try keys()), stages: []) }
        return LiveResults(
            session, source: .fixedValues(try fixedValues(), elementType, isElementNullable), stages: [])
    }

    /// Copies of all elements; links for objects.
    func fixedValues() throws(DatabaseError) -> FixedValues {
        let count = try count()
        let values = FixedValues(capacity: count)
        for index in 0 ..< count { values.append(try value(at: index)) }
        return values
    }

    // MARK: Objects

    /// Deletes every object in it and says how many.
    @discardableResult
    package func deleteObjects() throws(DatabaseError) -> Int {
        guard let target else { throw notObjects() }
        _ = try session.requireWrite()
        if let wholeTable { return try session.deleteAll(wholeTable) }
        return try session.delete(target, try keys())
    }

    /// The class whose objects this is all of.
    var wholeTable: TableKey? { nil }

    /// Whether it has all objects of its class, in the order of their keys.
    package var isWholeClass: Bool { wholeTable != nil }

    // MARK: Errors

    func outOfBounds(_ index: Int, _ count: Int) -> DatabaseError {
        DatabaseError(.outOfBounds, "index \(index) is outside the collection, which has \(count) elements")
    }

    func notObjects() -> DatabaseError {
        DatabaseError(.wrongType, "this is a collection of \(elementType.name) values, not of objects")
    }
}

extension Predicate.Path {
    /// `friend.name`; empty parts are refused when they are looked up.
    init(dotted text: String) {
        if text.hasSameBytes(as: "self") || text.hasSameBytes(as: "SELF") {
            self.init([])
            return
        }
        self.init(text.parts(between: "."))
    }
}
