/// A query of one class, compiled once and run often, each time against what its session shows then.
///
/// Binding another argument does not disturb results that were made before. In each run now() is when it runs.
///
/// The first match of `property == $0` is found by the property's index without a plan, which takes an eighth of the
/// time, so an argument that fits the property is not bound before something else is asked.
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

package final class PreparedQuery {
    package let session: Session
    package let table: TableKey
    private let parsed: ParsedQuery
    private var arguments: Arguments
    /// nil where another argument was given since.
    private var stage: ResultsStage?
    /// The property that is compared with the one argument, if that is all of the query.
    private let lookup: Property?

    package convenience init(
        _ session: Session, _ table: TableKey, _ text: String, _ arguments: Arguments
    ) throws(DatabaseError) {
        try self.init(session, table, try ParsedQuery.parse(text), arguments)
    }

    package init(
        _ session: Session, _ table: TableKey, _ query: ParsedQuery, _ arguments: Arguments
    ) throws(DatabaseError) {
        self.session = session
        self.table = table
        parsed = query
        let arguments = try arguments.fitted(to: query)
        self.arguments = arguments
        stage = try ResultsStage(parsed, arguments, target: table, session: session)
        lookup = try session.schema[table].flatMap { PreparedQuery.lookup(query, in: $0) }
    }

    init(_ session: Session, copying other: PreparedQuery) {
        self.session = session
        table = other.table
        arguments = other.arguments
        parsed = other.parsed
        stage = other.stage
        lookup = other.lookup
    }

    /// Types of which values are equal where they are of the same kind and have the same bytes.
    private static func lookup(_ query: ParsedQuery, in type: ObjectType) -> Property? {
        guard query.argumentCount == 1, query.ordering.clauses.isEmpty, query.grouping == nil,
            case .comparison(let comparison) = query.predicate, comparison.operator == .equal,
            comparison.options.isEmpty, case .path(let path) = comparison.left,
            case .argument(0, _) = comparison.right, let name = path.onlyName,
            let property = type.property(named: name), property.collection == .none
        else { return nil }
        switch property.type {
        case .int, .string, .uuid, .objectID: return property
        default: return nil
        }
    }

    package var argumentCount: Int { parsed.argumentCount }

    private func stageNow() throws(DatabaseError) -> ResultsStage {
        if let stage, !parsed.asksForNow { return stage }
        let made = try ResultsStage(parsed, arguments, target: table, session: session)
        stage = made
        return made
    }

    package func bind(_ position: Int, to value: Value) throws(DatabaseError) {
        try session.check()
        guard position >= 0, position < argumentCount else {
            throw DatabaseError(.outOfBounds, "there is no argument $\(position); the query has \(argumentCount)")
        }
        if let lookup, value.kind.rawValue == lookup.type.rawValue {
            stage = nil
            arguments.values[position] = .value(value)
            return
        }
        var changed = arguments
        changed.values[position] = .value(value)
        stage = try ResultsStage(parsed, changed, target: table, session: session)
        arguments = changed
    }

    /// The argument `$name`.
    package func bind(_ name: String, to value: Value) throws(DatabaseError) {
        guard let number = parsed.number(ofArgument: name) else {
            throw DatabaseError(.queryArgument, "the query has no argument $\(name)")
        }
        try bind(number, to: value)
    }

    /// Canonical text with arguments filled in.
    package func describe() throws(DatabaseError) -> String {
        try session.check()
        return try stageNow().text
    }

    /// How it would be evaluated now, in one line.
    package func explain() throws(DatabaseError) -> String { try stageNow().explain(try session.source()) }

    package func results() throws(DatabaseError) -> LiveResults {
        try session.check()
        return LiveResults(session, source: .table(table), stages: [try stageNow()])
    }

    /// Over the elements of a collection instead of all objects.
    package func results(over collection: LiveCollection) throws(DatabaseError) -> LiveResults {
        try session.check()
        guard collection.session === session else {
            throw DatabaseError(.invalidArgument, "the query and the collection belong to different sessions")
        }
        guard let target = collection.target else { throw collection.notObjects() }
        guard target == table else {
            throw DatabaseError(.invalidArgument, "the query is of another class than the elements")
        }
        return try collection.results().adding(try stageNow())
    }

    package func count() throws(DatabaseError) -> Int {
        try stageNow().count(try session.querySource(), session.queryWatch())
    }

    package func first() throws(DatabaseError) -> LiveObject? {
        if let lookup, let found = try firstByIndex(lookup) {
            return try found.key.map { key throws(DatabaseError) in try session.handle(table, key) }
        }
        guard let key = try stageNow().first(try session.source(), session.queryWatch()) else { return nil }
        return try session.handle(table, ObjectKey(key))
    }

    /// nil where the property has no index that could tell, or the value is none of its type.
    private func firstByIndex(_ property: Property) throws(DatabaseError) -> (key: ObjectKey?, Void)? {
        guard let column = property.columnKey, case .value(let value)? = arguments.values.first,
            value.kind.rawValue == property.type.rawValue
        else { return nil }
        try session.queryWatch()?.check()
        return try session.lentTable(table).read { table throws(DatabaseError) -> (key: ObjectKey?, Void)? in
            guard table.hasIndex(column) else { return nil }
            return try value.withView { view throws(DatabaseError) in (try table.find(column, equal: view), ()) }
        }
    }
}

extension Session {
    package func query(
        _ table: TableKey, _ text: String, _ arguments: Arguments = Arguments()
    ) throws(DatabaseError) -> PreparedQuery {
        try PreparedQuery(self, table, text, arguments)
    }

    /// All objects of a class.
    package func objects(_ table: TableKey) throws(DatabaseError) -> LiveResults {
        let schema = try schema
        guard schema[table] != nil else {
            throw DatabaseError(.unknownClass, "the file has no class with key \(table.rawValue)")
        }
        return LiveResults(self, source: .table(table), stages: [])
    }

    package func objects(_ className: String) throws(DatabaseError) -> LiveResults {
        try objects(try tableKey(className))
    }

    package func tableKey(_ className: String) throws(DatabaseError) -> TableKey {
        guard let key = try schema.type(named: className).tableKey else {
            throw DatabaseError(.internal, "class \(className) is in the schema but has no table")
        }
        return key
    }
}
