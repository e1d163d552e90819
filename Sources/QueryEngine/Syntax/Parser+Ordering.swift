/// The clauses after a predicate: `SORT(path [ASC|DESC], ...)`, `DISTINCT(path, ...)`, `LIMIT(n)` and `OFFSET(n)`, any
/// number of them in any order.
import MotteValues

extension Parser {
    mutating func clauses() throws(DatabaseError) -> Ordering {
        var ordering = Ordering.none
        while startsClause {
            // Each is one pass over the matches.
            guard ordering.clauses.count < 16 else { throw failure("a query has at most 16 clauses") }
            switch keyword {
            case .sort: ordering.clauses.append(.sort(try sortClause()))
            case .limit: ordering.clauses.append(.limit(try countClause()))
            case .offset: ordering.clauses.append(.offset(try countClause()))
            default: ordering.clauses.append(.distinct(try distinctClause()))
            }
        }
        return ordering
    }

    private mutating func sortClause() throws(DatabaseError) -> [Ordering.SortKey] {
        advance()
        advance()
        var keys: [Ordering.SortKey] = []
        repeat {
            let path = try path()
            keys.append(.init(path, isAscending: try direction()))
        } while take(.comma)
        try expect(.closeParenthesis, "ASC, DESC, ',' or ')'")
        return keys
    }

    private mutating func distinctClause() throws(DatabaseError) -> [Predicate.Path] {
        advance()
        advance()
        var paths: [Predicate.Path] = []
        repeat { paths.append(try path()) } while take(.comma)
        try expect(.closeParenthesis, "',' or ')'")
        return paths
    }

    mutating func direction() throws(DatabaseError) -> Bool {
        guard case .name(let word, isQuoted: false) = token.kind else { return true }
        switch word.lowercased() {
        case "asc", "ascending":
            advance()
            return true
        case "desc", "descending":
            advance()
            return false
        default: throw unexpected("ASC or DESC")
        }
    }

    mutating func countClause() throws(DatabaseError) -> Ordering.Limit {
        advance()
        advance()
        let limit: Ordering.Limit
        if let argument = try limitArgument() {
            limit = .argument(argument.number, argument.position)
        } else if case .constant(.int(let count)) = token.kind, count >= 0 {
            advance()
            limit = .count(Int(count))
        } else {
            throw unexpected("a number that is not negative, or an argument,")
        }
        try expect(.closeParenthesis, "')'")
        return limit
    }
}
