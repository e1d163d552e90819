/// The clauses after a predicate, applied one after another as they are written: an order, the first of each, the
/// first few.
///
///     age > 20 SORT(age DESC) DISTINCT(name) LIMIT(10)      the oldest of each name, ten of them
///     age > 20 LIMIT(10) SORT(name)                         the first ten that match, by name
///     age > 20 SORT(name) OFFSET(20) LIMIT(10)              the third ten
import MotteValues

package struct Ordering: Sendable, Equatable {
    package enum Clause: Sendable, Equatable {
        /// Stable: what is level keeps the order it has.
        case sort([SortKey])
        /// The first of those that agree in all paths; nulls agree. `SELF` tells objects apart.
        case distinct([Predicate.Path])
        case limit(Limit)
        /// Without the first so many.
        case offset(Limit)
    }

    package var clauses: [Clause]

    package init(_ clauses: [Clause] = []) { self.clauses = clauses }

    package init(sort: [SortKey] = [], limit: Limit? = nil) {
        clauses = sort.isEmpty ? [] : [.sort(sort)]
        if let limit { clauses.append(.limit(limit)) }
    }

    /// As they are stored, all of them.
    package static let none = Ordering([])

    package var isEmpty: Bool { clauses.isEmpty }

    /// Whether what comes after may be merged with what was asked before: only orders can.
    package var onlySorts: Bool {
        clauses.allSatisfy { if case .sort = $0 { true } else { false } }
    }

    package struct SortKey: Sendable, Equatable {
        package var path: Predicate.Path
        package var isAscending: Bool

        package init(_ path: Predicate.Path, isAscending: Bool = true) {
            self.path = path
            self.isAscending = isAscending
        }
    }

    /// A number of elements.
    package enum Limit: Sendable, Equatable {
        case count(Int)
        case argument(Int, SourcePosition = .none)
    }
}

/// Query text after parsing; with the text, because later errors point into it.
package struct ParsedQuery: Sendable {
    package let predicate: Predicate
    /// Whether the text says which objects; without that, all match. What was built rather than written says it.
    package let hasCondition: Bool
    package let ordering: Ordering
    /// What the matches are put together to; nil where they are asked for themselves.
    package let grouping: Grouping?
    package let source: QuerySource
    /// The highest argument number + 1.
    package let argumentCount: Int
    /// `$age`, by the order in which they come first; their numbers follow those that are written, and end the count.
    package let namedArguments: [Predicate.Name]

    /// Whether its matches depend on when it is made.
    package var asksForNow: Bool { predicate.asksForNow }

    package init(
        predicate: Predicate, hasCondition: Bool = true, ordering: Ordering, grouping: Grouping? = nil,
        source: QuerySource, argumentCount: Int, namedArguments: [Predicate.Name] = []
    ) {
        self.predicate = predicate
        self.hasCondition = hasCondition
        self.ordering = ordering
        self.grouping = grouping
        self.source = source
        self.argumentCount = argumentCount
        self.namedArguments = namedArguments
    }

    /// The same text and arguments, read as something else.
    package func replacing(predicate: Predicate, ordering: Ordering, grouping: Grouping?) -> ParsedQuery {
        ParsedQuery(
            predicate: predicate, hasCondition: hasCondition, ordering: ordering, grouping: grouping, source: source,
            argumentCount: argumentCount, namedArguments: namedArguments)
    }

    /// A query that was built rather than written.
    package init(_ predicate: Predicate, ordering: Ordering = .none, grouping: Grouping? = nil) {
        self.init(
            predicate: predicate, ordering: ordering, grouping: grouping, source: .none,
            argumentCount: Arguments.count(in: predicate, ordering))
    }

    /// The objects alone that are grouped.
    package var withoutGroups: ParsedQuery {
        replacing(predicate: predicate, ordering: ordering, grouping: nil)
    }

    /// Where objects are wanted.
    package func requireObjects() throws(DatabaseError) {
        guard grouping != nil else { return }
        throw DatabaseError(
            .queryInvalid, "GROUP gives groups, and objects are wanted here; ask for the groups of the query")
    }

    package static func parse(_ text: String) throws(DatabaseError) -> ParsedQuery { try Parser.parse(text) }
}
