/// The clauses after a predicate: `SORT(path [ASC|DESC], ...)` and `LIMIT(n)`, each at most once and in this order.
import MotteValues

extension Parser {
    mutating func clauses() throws(DatabaseError) -> Ordering {
        var ordering = Ordering.none
        while startsClause {
            switch keyword {
            case .sort:
                guard ordering.sort.isEmpty else { throw failure("a query has at most one SORT") }
                guard ordering.limit == nil else {
                    throw failure("SORT after LIMIT is not supported yet; sort first", .unsupported)
                }
                ordering.sort = try sortClause()
            case .limit:
                guard ordering.limit == nil else { throw failure("a query has at most one LIMIT") }
                ordering.limit = try limitClause()
            default: throw failure("DISTINCT is not supported yet", .unsupported)
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

    private mutating func direction() throws(DatabaseError) -> Bool {
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

    private mutating func limitClause() throws(DatabaseError) -> Ordering.Limit {
        advance()
        advance()
        let limit: Ordering.Limit
        if let argument = limitArgument() {
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
