/// A query of one class, compiled once and run often, each time against what its session shows then.
///
/// Binding another argument does not disturb results that were made before. In each run now() is when it runs.
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

package final class PreparedQuery {
    package let session: Session
    package let table: TableKey
    private let parsed: ParsedQuery
    private var arguments: Arguments
    private var stage: ResultsStage

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
    }

    init(_ session: Session, copying other: PreparedQuery) {
        self.session = session
        table = other.table
        arguments = other.arguments
        parsed = other.parsed
        stage = other.stage
    }

    package var argumentCount: Int { parsed.argumentCount }

    private func stageNow() throws(DatabaseError) -> ResultsStage {
        if parsed.asksForNow { stage = try ResultsStage(parsed, arguments, target: table, session: session) }
        return stage
    }

    package func bind(_ position: Int, to value: Value) throws(DatabaseError) {
        try session.check()
        guard position >= 0, position < argumentCount else {
            throw DatabaseError(.outOfBounds, "there is no argument $\(position); the query has \(argumentCount)")
        }
        var changed = arguments
        changed.values[position] = .value(value)
        stage = try ResultsStage(parsed, changed, target: table, session: session)
        arguments = changed
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
        guard let key = try stageNow().first(try session.source(), session.queryWatch()) else { return nil }
        return try session.handle(table, ObjectKey(key))
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
