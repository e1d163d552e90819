/// One step of results: a predicate and the clauses behind it, bound to the class of the elements.
///
/// Steps follow each other. A filter joins the step before it while that has only been put in order, so that filters of
/// filters are one query; behind a limit, or behind a distinct, it begins a new step. Clauses always join.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct ResultsStage: Sendable {
    /// Arguments have been filled in.
    package let predicate: Predicate
    package let ordering: Ordering
    package let bound: BoundQuery
    package let target: TableKey

    package init(
        _ query: ParsedQuery, _ arguments: Arguments, target: TableKey, session: Session
    ) throws(DatabaseError) {
        let schema = try session.schema
        // What now() is stays what it was, however long the results live.
        let arguments = arguments.timed
        // Bound with its own text first, so that errors point into it.
        bound = try BoundQuery.bind(query, table: target, schema: schema, arguments: arguments)
        predicate = query.predicate.filled(with: arguments)
        ordering = query.ordering.filled(with: arguments)
        self.target = target
    }

    private init(
        predicate: Predicate, ordering: Ordering, target: TableKey, schema: Schema
    ) throws(DatabaseError) {
        self.predicate = predicate
        self.ordering = ordering
        self.target = target
        bound = try BoundQuery.bind(
            ParsedQuery(predicate, ordering: ordering), table: target, schema: schema, arguments: Arguments())
    }

    /// Only a clause.
    static func clause(
        _ clause: Ordering.Clause, target: TableKey, schema: Schema
    ) throws(DatabaseError) -> ResultsStage {
        try ResultsStage(predicate: .constant(true), ordering: Ordering([clause]), target: target, schema: schema)
    }

    /// This step and the next as one, nil when that would mean something else.
    func joined(with next: ResultsStage, schema: Schema) throws(DatabaseError) -> ResultsStage? {
        guard ordering.onlySorts || next.predicate == .constant(true) else { return nil }
        return try ResultsStage(
            predicate: predicate.narrowed(by: next.predicate), ordering: ordering.followed(by: next.ordering),
            target: target, schema: schema)
    }

    /// Of one with an order and a limit at most, the same without its limit; observers need what lies beyond it.
    package func withoutLimit(schema: Schema) throws(DatabaseError) -> ResultsStage {
        if bound.limit == nil { return self }
        let sorts = Ordering(ordering.clauses.filter { if case .limit = $0 { false } else { true } })
        return try ResultsStage(predicate: predicate, ordering: sorts, target: target, schema: schema)
    }

    package var limit: Int? { bound.limit }
    package var isSorted: Bool { !bound.sort.isEmpty }

    /// Canonical text with arguments filled in.
    package var text: String { PredicateText.describe(ParsedQuery(predicate, ordering: ordering)) }
}

extension Ordering {
    /// Orders in a row become one, so that results that are sorted again and again do not grow.
    func followed(by next: Ordering) -> Ordering {
        var all = clauses
        for clause in next.clauses {
            switch (clause, all.last) {
            case (.sort(let keys), .sort(let earlier)?):
                let ties = earlier.filter { key in !keys.contains { $0.path == key.path } }
                all[all.count - 1] = .sort(keys + ties)
            case (.limit(.count(let limit)), .limit(.count(let earlier))?):
                all[all.count - 1] = .limit(.count(min(limit, earlier)))
            default: all.append(clause)
            }
        }
        return Ordering(all)
    }
}

extension Predicate {
    func narrowed(by other: Predicate) -> Predicate {
        switch (self, other) {
        case (.constant(true), _): other
        case (_, .constant(true)): self
        case (.and(let left), .and(let right)): .and(left + right)
        case (.and(let left), _): .and(left + [other])
        case (_, .and(let right)): .and([self] + right)
        default: .and([self, other])
        }
    }
}
