/// Runs a bound query against one state of a file. Made per run and cheap to make: nothing is read before the first
/// question. The source must not change while it is in use.
import MotteColumns
import MotteStorage
import MotteValues

package final class Executor {
    package let query: BoundQuery
    let context: RunContext
    private var madePlan: Plan?
    private var rowFilter: Operator??
    private var order: SortOrder?

    package init(_ query: BoundQuery, _ source: RowSource) {
        self.query = query
        context = RunContext(source)
    }

    package var source: RowSource { context.source }

    package func plan() throws(DatabaseError) -> Plan {
        if let madePlan { return madePlan }
        let made = try Plan.make(query, source)
        madePlan = made
        return made
    }

    // MARK: Over the class

    /// The matches in the query's order: sorted, else by key.
    package func keys() throws(DatabaseError) -> [Int64] {
        defer { context.flushCounters() }
        if query.limit == 0 { return [] }
        let unsorted = try selectedKeys(limit: query.sort.isEmpty ? query.limit : nil)
        return query.sort.isEmpty ? unsorted : try sortOrder().sorted(unsorted, limit: query.limit)
    }

    /// Without making the keys.
    package func count() throws(DatabaseError) -> Int {
        defer { context.flushCounters() }
        if query.limit == 0 { return 0 }
        let limit = query.limit ?? .max
        if query.selectsAll { return min(limit, try source.table(query.table).liveCount) }
        let plan = try plan()
        if let access = plan.access, access.countIsExact, case .constant(true) = access.rest {
            return min(limit, access.count)
        }
        var count = 0
        try run(plan).forEachCluster { rows, words in
            count += Selection.count(words, rows: rows.rowCount)
            return count < limit
        }
        return min(limit, count)
    }

    package func first() throws(DatabaseError) -> Int64? {
        defer { context.flushCounters() }
        if query.limit == 0 { return nil }
        if query.sort.isEmpty { return try selectedKeys(limit: 1).first }
        return try sortOrder().sorted(try selectedKeys(limit: nil), limit: 1).first
    }

    private func run(_ plan: Plan) throws(DatabaseError) -> SelectionRun {
        try SelectionRun(context, query.table, access: plan.access, rest: plan.filter, visits: plan.visits)
    }

    /// Ascending, at most `limit`.
    private func selectedKeys(limit: Int?) throws(DatabaseError) -> [Int64] {
        let most = limit ?? .max
        var keys: [Int64] = []
        try run(try plan()).forEachCluster { rows, words in
            Selection.appendKeys(words, rows: rows.rowCount, first: rows.firstKey, to: &keys)
            return keys.count < most
        }
        if keys.count > most { keys.removeLast(keys.count - most) }
        return keys
    }

    // MARK: Over a list of objects

    /// The matches among `base`, in its order unless the query sorts; an object that is in it twice stays twice.
    package func keys(among base: [Int64]) throws(DatabaseError) -> [Int64] {
        defer { context.flushCounters() }
        let passes = try matches(base)
        var keys: [Int64] = []
        for (index, key) in base.enumerated() where passes[index] { keys.append(key) }
        if !query.sort.isEmpty { return try sortOrder().sorted(keys, limit: query.limit) }
        return query.limit.map { Array(keys.prefix($0)) } ?? keys
    }

    /// Whether each of some objects passes the predicate, regardless of the limit; false for those that do not exist.
    /// Only their rows are evaluated: this is how results are patched.
    package func matches(_ keys: [Int64]) throws(DatabaseError) -> [Bool] {
        defer { context.flushCounters() }
        let ascending = keys.isStrictlyAscending ? keys : keys.sortedUnique
        let reader = try context.reader(query.table)
        let run = try SelectionRun(context, reader, keys: ascending, filter: try filter(visits: ascending.count))
        var found: [Int64] = []
        try run.forEachCluster { rows, words in
            Selection.appendKeys(words, rows: rows.rowCount, first: rows.firstKey, to: &found)
            return true
        }
        var passes = [Bool](repeating: false, count: keys.count)
        if found.isEmpty { return passes }
        if keys.count == ascending.count, keys.isStrictlyAscending {
            var next = 0
            for (index, key) in keys.enumerated() where next < found.count && found[next] == key {
                passes[index] = true
                next += 1
            }
        } else {
            let set = Set(found)
            for (index, key) in keys.enumerated() { passes[index] = set.contains(key) }
        }
        return passes
    }

    /// Kept between calls, with what it has found out about linked objects.
    private func filter(visits: Int) throws(DatabaseError) -> Operator? {
        if let rowFilter { return rowFilter }
        let made = try SelectionRun.makeFilter(context, query.table, query.predicate, visits: visits)
        rowFilter = .some(made)
        return made
    }

    // MARK: Order

    func sortOrder() throws(DatabaseError) -> SortOrder {
        if let order { return order }
        let made = try SortOrder(context, query)
        order = made
        return made
    }

    /// Negative, zero or positive as the query's sort puts `left` before, level with or after `right`. Level objects
    /// keep the order they have without it. Both must exist.
    package func compare(_ left: Int64, _ right: Int64) throws(DatabaseError) -> Int {
        try sortOrder().compare(left, right)
    }

    // MARK: Aggregates

    /// Of one property over all matches.
    package func aggregate(
        _ function: Predicate.CollectionOperator, _ column: ColumnKey
    ) throws(DatabaseError) -> Value {
        defer { context.flushCounters() }
        let aggregation = try Aggregation(context, query.table, function, column)
        if query.limit != nil { return try aggregation.overKeys(try keys()) }
        try run(try plan()).forEachCluster { rows, words throws(DatabaseError) in
            try aggregation.add(rows, words)
            return true
        }
        return try aggregation.result()
    }

    /// Of one property over given objects, which must exist.
    package static func aggregate(
        _ function: Predicate.CollectionOperator, _ column: ColumnKey, of keys: [Int64], _ table: TableKey,
        _ source: RowSource
    ) throws(DatabaseError) -> Value {
        try Aggregation(RunContext(source), table, function, column).overKeys(keys)
    }
}
