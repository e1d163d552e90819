/// One step of results: a predicate, an order and a limit, bound to the class of the elements.
///
/// Steps follow each other: narrowing and ordering join the step before them while that has no limit, so that filters
/// of filters are one query; after a limit a new step begins.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct ResultsStage {
    /// Arguments have been filled in.
    package let predicate: Predicate
    package let sort: [Ordering.SortKey]
    package let limit: Int?
    package let bound: BoundQuery
    package let target: TableKey

    package init(
        _ query: ParsedQuery, _ arguments: Arguments, target: TableKey, session: Session
    ) throws(DatabaseError) {
        let schema = try session.schema
        // Bound with its own text first, so that errors point into it.
        let bound = try BoundQuery.bind(query, table: target, schema: schema, arguments: arguments)
        predicate = query.predicate.filled(with: arguments)
        sort = query.ordering.sort
        limit = bound.limit
        self.bound = bound
        self.target = target
    }

    private init(
        predicate: Predicate, sort: [Ordering.SortKey], limit: Int?, target: TableKey, schema: Schema
    ) throws(DatabaseError) {
        self.predicate = predicate
        self.sort = sort
        self.limit = limit
        self.target = target
        let ordering = Ordering(sort: sort, limit: limit.map(Ordering.Limit.count))
        bound = try BoundQuery.bind(
            ParsedQuery(predicate, ordering: ordering), table: target, schema: schema, arguments: Arguments())
    }

    /// Only a limit.
    static func limit(_ limit: Int, target: TableKey, schema: Schema) throws(DatabaseError) -> ResultsStage {
        try ResultsStage(predicate: .constant(true), sort: [], limit: limit, target: target, schema: schema)
    }

    /// This step and the next as one, nil when that would mean something else.
    func joined(with next: ResultsStage, schema: Schema) throws(DatabaseError) -> ResultsStage? {
        guard limit == nil else { return nil }
        return try ResultsStage(
            predicate: predicate.narrowed(by: next.predicate), sort: next.sort + sort, limit: next.limit,
            target: target,
            schema: schema)
    }

    /// The same without its limit; observers need what lies beyond it.
    package func withoutLimit(schema: Schema) throws(DatabaseError) -> ResultsStage {
        if limit == nil { return self }
        return try ResultsStage(predicate: predicate, sort: sort, limit: nil, target: target, schema: schema)
    }

    package var isSorted: Bool { !sort.isEmpty }

    /// Canonical text with arguments filled in.
    package var text: String {
        PredicateText.describe(
            ParsedQuery(predicate, ordering: Ordering(sort: sort, limit: limit.map(Ordering.Limit.count))))
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

    /// With constants in the place of arguments.
    func filled(with arguments: Arguments) -> Predicate {
        switch self {
        case .constant: return self
        case .not(let inner): return .not(inner.filled(with: arguments))
        case .and(let parts): return .and(parts.map { $0.filled(with: arguments) })
        case .or(let parts): return .or(parts.map { $0.filled(with: arguments) })
        case .comparison(var comparison):
            comparison.left = comparison.left.filled(with: arguments)
            comparison.right = comparison.right.filled(with: arguments)
            return .comparison(comparison)
        }
    }
}

extension Predicate.Operand {
    func filled(with arguments: Arguments) -> Predicate.Operand {
        switch self {
        case .path, .constant: return self
        case .list(let elements, let position): return .list(elements.map { $0.filled(with: arguments) }, position)
        case .argument(let number, let position):
            // Binding has made sure that there are as many as are asked for.
            guard number < arguments.values.count else { return self }
            switch arguments.values[number] {
            case .value(let value): return .constant(value, position)
            case .list(let values): return .list(values.map { .constant($0, position) }, position)
            }
        }
    }
}
