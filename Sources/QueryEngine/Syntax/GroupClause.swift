/// `GROUP(...)` and what follows it.
///
///     groups     := GROUP([key {, key}]) [aggregate {, aggregate}] [HAVING condition] {clause}
///     clause     := SORT(...) | LIMIT(...) | OFFSET(...)
///     key        := path [BY unit [IN zone]] [AS name]  unit: second minute hour day week month quarter year
///     aggregate  := (COUNT | function(path) | COUNT(DISTINCT path) | PERCENTILE(path, number)) [AS name]
///     function   := COUNT SUM AVG MIN MAX STDDEV VAR MEDIAN
///     condition  := as a predicate, with columns in place of paths
///     column     := name | key | aggregate             one that is not among the columns is computed, and not shown
import MotteColumns
import MotteValues

extension Parser {
    var startsGroups: Bool { keyword == .group && following.kind == .openParenthesis }

    mutating func groupClause() throws(DatabaseError) -> Grouping {
        let start = token
        advance()
        advance()
        var grouping = Grouping()
        if !take(.closeParenthesis) {
            repeat {
                guard grouping.keys.count < Grouping.mostKeys else {
                    throw failure("groups have at most \(Grouping.mostKeys) keys")
                }
                var key = try groupKey()
                key.name = try columnName()
                grouping.keys.append(key)
            } while take(.comma)
            try expect(.closeParenthesis, "BY, AS, ',' or ')'")
        }
        if startsAggregate {
            repeat {
                guard grouping.aggregates.count < Grouping.mostAggregates else {
                    throw failure("groups have at most \(Grouping.mostAggregates) aggregates")
                }
                guard startsAggregate else { throw unexpected(Self.aggregateForms) }
                var aggregate = try groupAggregate()
                aggregate.name = try columnName()
                grouping.aggregates.append(aggregate)
            } while take(.comma)
        }
        grouping.shown = grouping.aggregates.count
        guard !grouping.keys.isEmpty || !grouping.aggregates.isEmpty else { throw unexpected(Self.aggregateForms) }
        if let name = grouping.repeatedTitle {
            throw source.error(
                .queryInvalid, "two columns of the groups are called '\(name)'; name one with AS", at: start.position)
        }
        if take(word: "having") { grouping.having = try groupCondition(&grouping) }
        try groupClauses(&grouping)
        return grouping
    }

    private static let aggregateForms = "COUNT, SUM(...), AVG(...), MIN(...), MAX(...) or another aggregate"

    private func isWord(_ word: String) -> Bool {
        guard case .name(let name, isQuoted: false) = token.kind else { return false }
        return name.utf8.count == word.utf8.count && name.lowercased() == word
    }

    private mutating func take(word: String) -> Bool {
        guard isWord(word) else { return false }
        advance()
        return true
    }

    // MARK: Columns

    private mutating func groupKey() throws(DatabaseError) -> Grouping.Key {
        let path = try path()
        guard take(word: "by") else { return Grouping.Key(path) }
        guard case .name(let word, isQuoted: false) = token.kind, let bucket = TimeBucket(rawValue: word.lowercased())
        else { throw unexpected("one of " + TimeBucket.allCases.map(\.rawValue).joined(separator: ", ")) }
        advance()
        guard take(keyword: .in) else { return Grouping.Key(path, by: bucket) }
        guard case .constant(.string(let zone)) = token.kind else {
            throw unexpected("the name of a time zone in quotes")
        }
        advance()
        return Grouping.Key(path, by: bucket, zone: zone)
    }

    private mutating func columnName() throws(DatabaseError) -> String? {
        guard take(word: "as") else { return nil }
        guard case .name(let name, _) = token.kind else { throw unexpected("a name for the column") }
        advance()
        return name
    }

    private var startsAggregate: Bool {
        guard case .name(let word, isQuoted: false) = token.kind, let function = Grouping.Function.named(word) else {
            return false
        }
        if following.kind == .openParenthesis { return true }
        return function == .count && following.kind != .dot && following.kind != .openBracket
    }

    private mutating func groupAggregate() throws(DatabaseError) -> Grouping.Aggregate {
        let position = token.position
        guard case .name(let word, isQuoted: false) = token.kind, var function = Grouping.Function.named(word) else {
            throw unexpected(Self.aggregateForms)
        }
        advance()
        guard take(.openParenthesis) else { return Grouping.Aggregate(.count, position: position) }
        if function == .count {
            if take(.star) {
                try expect(.closeParenthesis, "')'")
                return Grouping.Aggregate(.count, position: position)
            }
            // A property may have that name: then nothing follows that could be one.
            if keyword == .distinct, case .name = following.kind {
                advance()
                function = .distinct
            }
        }
        let path = try path()
        if case .percentile = function {
            try expect(.comma, "',' and a number between 0 and 1")
            function = .percentile(try fraction())
        }
        try expect(.closeParenthesis, "')'")
        return Grouping.Aggregate(function, path, position: position)
    }

    private mutating func fraction() throws(DatabaseError) -> Double {
        var fraction: Double?
        switch token.kind {
        case .constant(.int(let value)): fraction = Double(value)
        case .constant(.double(let value)): fraction = value
        default: break
        }
        guard let fraction, fraction >= 0, fraction <= 1 else { throw unexpected("a number between 0 and 1") }
        advance()
        return fraction
    }

    /// The number of a column that is named, or written like one; an aggregate that is none becomes one.
    private mutating func column(_ grouping: inout Grouping) throws(DatabaseError) -> Int {
        let start = token
        if let named = namedColumn(grouping) { return named }
        if startsAggregate {
            let aggregate = try groupAggregate()
            let known = grouping.aggregates.firstIndex {
                $0.function == aggregate.function && $0.path == aggregate.path
            }
            if let known { return grouping.keys.count + known }
            guard grouping.aggregates.count < Grouping.mostAggregates else {
                throw failure("groups have at most \(Grouping.mostAggregates) aggregates")
            }
            grouping.aggregates.append(aggregate)
            return grouping.keys.count + grouping.aggregates.count - 1
        }
        let key = try groupKey()
        if let known = grouping.keys.firstIndex(where: {
            $0.path == key.path && $0.bucket == key.bucket && $0.zone.hasSameBytes(as: key.zone)
        }) {
            return known
        }
        throw source.error(
            .queryInvalid, "'\(key.text)' is neither a key nor a column of the groups", at: start.position)
    }

    /// What was named with AS goes by that name alone, whatever it may look like.
    private mutating func namedColumn(_ grouping: Grouping) -> Int? {
        guard case .name(let name, _) = token.kind else { return nil }
        switch following.kind {
        case .dot, .openBracket, .openParenthesis: return nil
        default: break
        }
        let isNamed = { (other: String?) in other.map { $0.utf8.elementsEqual(name.utf8) } ?? false }
        var found = grouping.keys.firstIndex { isNamed($0.name) }
        if found == nil {
            found = grouping.aggregates.prefix(grouping.shown).firstIndex { isNamed($0.name) }
                .map { $0 + grouping.keys.count }
        }
        if found != nil { advance() }
        return found
    }

    // MARK: Condition

    /// As a predicate is read, with columns where that has paths.
    private mutating func groupCondition(_ grouping: inout Grouping) throws(DatabaseError) -> Predicate {
        groupsAround = grouping
        defer {
            if let groupsAround { grouping = groupsAround }
            groupsAround = nil
        }
        return try disjunction()
    }

    /// In HAVING.
    mutating func groupColumn() throws(DatabaseError) -> Predicate.Operand {
        let position = token.position
        var grouping = groupsAround ?? Grouping()
        let column = try column(&grouping)
        groupsAround = grouping
        return .path(.init(column: column, position: position))
    }

    // MARK: Order

    private mutating func groupClauses(_ grouping: inout Grouping) throws(DatabaseError) {
        while startsClause {
            guard grouping.clauses.count < 16 else { throw failure("groups have at most 16 clauses") }
            switch keyword {
            case .sort:
                advance()
                advance()
                var keys: [Grouping.SortKey] = []
                repeat {
                    let column = try column(&grouping)
                    keys.append(Grouping.SortKey(column: column, isAscending: try direction()))
                } while take(.comma)
                try expect(.closeParenthesis, "ASC, DESC, ',' or ')'")
                grouping.clauses.append(.sort(keys))
            case .limit: grouping.clauses.append(.limit(try countClause()))
            case .offset: grouping.clauses.append(.offset(try countClause()))
            default: throw failure("groups are different already; DISTINCT stands before GROUP")
            }
        }
    }
}
