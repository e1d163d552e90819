/// The clauses after a predicate: in which order matches come, and how many.
///
///     age > 20 SORT(name ASC, friend.age DESC) LIMIT(10)
import MotteValues

package struct Ordering: Sendable, Equatable {
    package var sort: [SortKey]
    package var limit: Limit?

    package init(sort: [SortKey] = [], limit: Limit? = nil) {
        self.sort = sort
        self.limit = limit
    }

    /// As they are stored, all of them.
    package static let none = Ordering()

    package struct SortKey: Sendable, Equatable {
        package var path: Predicate.Path
        package var isAscending: Bool

        package init(_ path: Predicate.Path, isAscending: Bool = true) {
            self.path = path
            self.isAscending = isAscending
        }
    }

    package enum Limit: Sendable, Equatable {
        case count(Int)
        case argument(Int, SourcePosition = .none)
    }
}

/// Query text after parsing; with the text, because later errors point into it.
package struct ParsedQuery: Sendable {
    package let predicate: Predicate
    package let ordering: Ordering
    package let source: QuerySource
    /// The highest argument number + 1.
    package let argumentCount: Int

    package init(predicate: Predicate, ordering: Ordering, source: QuerySource, argumentCount: Int) {
        self.predicate = predicate
        self.ordering = ordering
        self.source = source
        self.argumentCount = argumentCount
    }

    /// A query that was built rather than written.
    package init(_ predicate: Predicate, ordering: Ordering = .none) {
        self.init(
            predicate: predicate, ordering: ordering, source: .none,
            argumentCount: Arguments.count(in: predicate, ordering))
    }

    package static func parse(_ text: String) throws(DatabaseError) -> ParsedQuery { try Parser.parse(text) }
}
