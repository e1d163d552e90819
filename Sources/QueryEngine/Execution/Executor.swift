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
    /// While the query is run to be explained.
    var measured: PlanTree.Tree?
    /// Of the last scan.
    package private(set) var threadsUsed = 1

    /// With a `watch`, what it watches over may end each of the calls below.
    package convenience init(_ query: BoundQuery, _ source: RowSource, _ watch: QueryWatch? = nil) {
        self.init(query, sharing: RunContext(source, watch))
    }

    /// Reads through what other queries have looked up already.
    package init(_ query: BoundQuery, sharing context: RunContext) {
        self.query = query
        self.context = context
    }

    package var source: RowSource { context.source }

    package func plan() throws(DatabaseError) -> Plan {
        if let madePlan { return madePlan }
        let made = try Plan.make(query, source)
        madePlan = made
        return made
    }

    // MARK: Over the class

    /// The matches, after all of the query's clauses; by key where none gives an order.
    package func keys() throws(DatabaseError) -> [Int64] { try keys(atMost: .max) }

    private func keys(atMost most: Int) throws(DatabaseError) -> [Int64] {
        defer { context.flushCounters() }
        let steps = query.steps + (most == .max ? [] : [.limit(most)])
        let wanted = BoundQuery.enough(for: steps[...])
        if wanted == 0 { return [] }
        if let found = try keysAlongIndex(steps) { return found }
        if let found = try distinctAlongIndex(steps) { return found }
        if let first = try firstInOrder(steps) { return try apply(steps[1...], to: first) }
        if let sorted = try sortedAsFound(steps) { return sorted }
        return try apply(steps[...], to: try selectedKeys(limit: wanted))
    }

    /// What a sort that the query begins with leaves for the limit behind it; nil where that takes all matches.
    private func firstInOrder(_ steps: [BoundQuery.Step]) throws(DatabaseError) -> [Int64]? {
        guard case .sort? = steps.first, let wanted = BoundQuery.enough(for: steps[1...]),
            wanted < (try source.table(query.table).liveCount) / 8,
            var top = TopRows(try sortOrder(), wanted: wanted)
        else { return nil }
        guard let measured else {
            if let found = try firstInOrderOnThreads(wanted) { return found }
            let run = try run(try plan())
            try context.keepingNothing { () throws(DatabaseError) in
                try run.forEachRowGroup { rows, words throws(DatabaseError) in
                    try top.add(rows, words)
                    return true
                }
            }
            return try top.result()
        }
        let start = MonotonicClock.nanoseconds
        var sorting: Int64 = 0
        try run(try plan()).forEachRowGroup { rows, words throws(DatabaseError) in
            let before = MonotonicClock.nanoseconds
            try top.add(rows, words)
            sorting &+= MonotonicClock.nanoseconds &- before
            return true
        }
        measured.noteSelection(since: start &+ sorting)
        let before = MonotonicClock.nanoseconds &- sorting
        let keys = try top.result()
        measured.note(clause: 0, rows: keys.count, since: before)
        return keys
    }

    /// A sort that the query begins with, of a file with more than may stay in memory: no array has all matches before
    /// they are in order, and what an offset cuts off is in none.
    private func sortedAsFound(_ steps: [BoundQuery.Step]) throws(DatabaseError) -> [Int64]? {
        guard measured == nil, case .sort? = steps.first,
            let (sort, base) = try sortOrder().sortAsFound(mostCount: try source.table(query.table).liveCount)
        else { return nil }
        let run = try run(try plan())
        return try context.keepingNothing { () throws(DatabaseError) in
            var sort = sort
            try run.forEachRowGroup { rows, words throws(DatabaseError) in
                for row in 0 ..< rows.rowCount where words[row >> 6] & (1 << UInt64(row & 63)) != 0 {
                    try sort.add(rows.firstKey + Int64(row), on: base)
                }
                return true
            }
            let wanted = BoundQuery.enough(for: steps[1...]) ?? .max
            guard steps.count > 1, case .offset(let offset) = steps[1] else {
                return try apply(steps[1...], to: try sort.finish(wanted, on: base))
            }
            return try apply(steps[2...], to: try sort.finish(wanted, skipping: offset, on: base))
        }
    }

    /// A sort with a limit behind it, of which an index has the first keys.
    private func keysAlongIndex(_ steps: [BoundQuery.Step]) throws(DatabaseError) -> [Int64]? {
        let start = measured == nil ? 0 : MonotonicClock.nanoseconds
        guard let walk = try walkAlongIndex(steps) else { return nil }
        measured?.noteWalk(rows: walk.keys.count, since: start)
        return try apply(steps[1...], to: walk.keys)
    }

    /// The walk itself, and the keys that it gives.
    func walkAlongIndex(
        _ steps: [BoundQuery.Step]
    ) throws(DatabaseError) -> (plan: OrderedWalkPlan, keys: [Int64])? {
        guard case .sort(let sort)? = steps.first, let limit = BoundQuery.enough(for: steps[1...]) else { return nil }
        let view = try source.table(query.table)
        // Going through most of an index is no faster than sorting.
        guard limit <= max(64, view.liveCount / 8), let walk = OrderedWalkPlan.choose(query.predicate, sort, view),
            let keys = try walk.keys(view, limit: limit)
        else { return nil }
        return (walk, keys)
    }

    /// What DISTINCT leaves, where an index says it.
    private func distinctAlongIndex(_ steps: [BoundQuery.Step]) throws(DatabaseError) -> [Int64]? {
        let start = measured == nil ? 0 : MonotonicClock.nanoseconds
        guard let walk = try distinctWalk(steps) else { return nil }
        measured?.noteWalk(rows: walk.keys.count, since: start, clauses: walk.plan.clauses)
        return try apply(steps[walk.plan.clauses...], to: walk.keys)
    }

    func distinctWalk(
        _ steps: [BoundQuery.Step]
    ) throws(DatabaseError) -> (plan: DistinctWalkPlan, keys: [Int64])? {
        let view = try source.table(query.table)
        guard let walk = DistinctWalkPlan.choose(query.predicate, steps, view), let keys = try walk.keys(view) else {
            return nil
        }
        return (walk, keys)
    }

    /// The clauses, one after another; an order directly before a limit is only worked out as far as that.
    private func apply(
        _ steps: ArraySlice<BoundQuery.Step>, to selected: [Int64]
    ) throws(DatabaseError) -> [Int64] {
        var keys = selected
        for (index, step) in zip(steps.indices, steps) {
            let start = measured == nil ? 0 : MonotonicClock.nanoseconds
            defer { measured?.note(clause: index, rows: keys.count, since: start) }
            switch step {
            case .limit(let limit): if limit < keys.count { keys.removeLast(keys.count - limit) }
            case .offset(let offset): keys.removeFirst(min(offset, keys.count))
            case .distinct(let paths): keys = try Distinct(context, query.table, paths).first(of: keys)
            case .sort(let sort):
                let wanted = BoundQuery.enough(for: steps[(index + 1)...])
                let order = index == 0 ? try sortOrder() : try SortOrder(context, query.table, sort)
                keys = try order.sorted(keys, limit: wanted)
            }
        }
        return keys
    }

    /// Without making the keys, where the clauses allow that.
    package func count() throws(DatabaseError) -> Int {
        guard query.isPlain else { return try keys().count }
        defer { context.flushCounters() }
        if query.limit == 0 { return 0 }
        let limit = query.limit ?? .max
        if query.selectsAll { return min(limit, try source.table(query.table).liveCount) }
        if let count = try IndexChoice.countInRanges(query.predicate, try source.table(query.table)) {
            return min(limit, count)
        }
        let plan = try Plan.make(query, source, isCount: true)
        if let access = plan.access, access.countIsExact, case .constant(true) = access.rest {
            return min(limit, access.count)
        }
        if limit == .max, let scan = try scanOnThreads(plan, perRow: 0) {
            return try scan.run { _ in CountPart() }.reduce(0) { $0 + $1.count }
        }
        var count = 0
        let run = try run(plan)
        try context.keepingNothing { () throws(DatabaseError) in
            try run.forEachRowGroup { rows, words in
                count += Selection.count(words, rows: rows.rowCount)
                return count < limit
            }
        }
        return min(limit, count)
    }

    package func first() throws(DatabaseError) -> Int64? { try keys(atMost: 1).first }

    func run(_ plan: Plan) throws(DatabaseError) -> SelectionRun {
        try SelectionRun(
            context, query.table, access: plan.access, rest: plan.filter, visits: plan.visits,
            measured: measured.map { MeasuredSelection(below: $0.selection) })
    }

    /// Ascending, at most `limit`.
    private func selectedKeys(limit: Int?) throws(DatabaseError) -> [Int64] {
        let most = limit ?? .max
        if limit == nil, let scan = try scanOnThreads(try plan(), perRow: 1) {
            return KeysPart.keys(try scan.run { _ in KeysPart() })
        }
        var keys: [Int64] = []
        let start = measured == nil ? 0 : MonotonicClock.nanoseconds
        defer { measured?.noteSelection(since: start) }
        let run = try run(try plan())
        try context.keepingNothing { () throws(DatabaseError) in
            try run.forEachRowGroup { rows, words in
                Selection.appendKeys(words, rows: rows.rowCount, first: rows.firstKey, to: &keys)
                return keys.count < most
            }
        }
        if keys.count > most { keys.removeLast(keys.count - most) }
        return keys
    }

    // MARK: Over a list of objects

    /// The matches among `base`, in its order until a clause changes that; an object that is in it twice stays twice.
    package func keys(among base: [Int64]) throws(DatabaseError) -> [Int64] {
        defer { context.flushCounters() }
        let passes = if let measured { try measured.matches(base, self) } else { try matches(base) }
        var keys: [Int64] = []
        for (index, key) in base.enumerated() where passes[index] { keys.append(key) }
        return try apply(query.steps[...], to: keys)
    }

    /// Whether each of some objects passes the predicate, regardless of the clauses; false for those that do not exist.
    /// Only their rows are evaluated: this is how results are patched.
    package func matches(_ keys: [Int64]) throws(DatabaseError) -> [Bool] {
        defer { context.flushCounters() }
        let ascending = keys.ascending
        let reader = try context.reader(query.table)
        return try passing(
            keys, SelectionRun(context, reader, keys: ascending, filter: try filter(visits: ascending.count)))
    }

    /// `run` is over the keys, ascending.
    func passing(_ keys: [Int64], _ run: SelectionRun) throws(DatabaseError) -> [Bool] {
        var found: [Int64] = []
        try context.keepingNothing { () throws(DatabaseError) in
            try run.forEachRowGroup { rows, words in
                Selection.appendKeys(words, rows: rows.rowCount, first: rows.firstKey, to: &found)
                return true
            }
        }
        var passes = [Bool](repeating: false, count: keys.count)
        if found.isEmpty { return passes }
        if keys.isStrictlyAscending {
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
        try Predicate.checkStack(for: query.stackBytes)
        if let rowFilter { return rowFilter }
        let made = try SelectionRun.makeFilter(context, query.table, query.predicate, visits: visits)
        rowFilter = .some(made)
        return made
    }

    // MARK: Order

    func sortOrder() throws(DatabaseError) -> SortOrder {
        if let order { return order }
        let made = try SortOrder(context, query.table, query.sort)
        order = made
        return made
    }

    // MARK: Aggregates

    /// Of one property over all matches.
    package func aggregate(
        _ function: Predicate.CollectionOperator, _ column: ColumnKey
    ) throws(DatabaseError) -> Value {
        defer { context.flushCounters() }
        let aggregation = try Aggregation(context, query.table, function, column)
        // Orders change nothing about totals.
        let onlySorts = query.steps.allSatisfy { if case .sort = $0 { true } else { false } }
        if !onlySorts { return try aggregation.overKeys(try keys()) }
        if let extreme = try extremeAlongIndex(function, column) { return extreme }
        if aggregation.canBeParts, let scan = try scanOnThreads(try plan(), perRow: 1) {
            let table = query.table
            let parts = try scan.run { context throws(DatabaseError) -> AggregationPart in
                let part = try Aggregation(context, table, function, column)
                part.becomePart()
                return AggregationPart(part)
            }
            aggregation.add(parts.map(\.totals))
            return try aggregation.result()
        }
        let run = try run(try plan())
        let add = { () throws(DatabaseError) in
            try run.forEachRowGroup { rows, words throws(DatabaseError) in
                try aggregation.add(rows, words)
                return true
            }
        }
        try context.keepingNothing(add)
        return try aggregation.result()
    }

    // MARK: Several threads

    /// nil where one thread does as well, where the query is measured, and where the file is larger than its budget of
    /// memory: each thread may keep a budget of pages from being taken while it waits for a processor.
    func scanOnThreads(
        _ plan: Plan, perRow: Double, from piece: Int = 0
    ) throws(DatabaseError) -> ParallelScan? {
        if measured != nil || source.exceedsMemory { return nil }
        let scan = try ParallelScan(context, query, plan, perRow: perRow, from: piece)
        threadsUsed = scan?.threadCount ?? 1
        return scan
    }

    /// Each thread keeps the first of its rows, and the first of all are among those.
    private func firstInOrderOnThreads(_ wanted: Int) throws(DatabaseError) -> [Int64]? {
        guard query.sort.allSatisfy({ $0.path.isColumn }),
            let scan = try scanOnThreads(try plan(), perRow: 2)
        else { return nil }
        let (table, sort) = (query.table, query.sort)
        let parts = try scan.run { context throws(DatabaseError) -> TopPart in
            guard let top = TopRows(try SortOrder(context, table, sort), wanted: wanted) else {
                throw DatabaseError(.internal, "an order whose first rows cannot be found in one pass")
            }
            return TopPart(top)
        }
        return try sortOrder().sorted(parts.flatMap(\.candidates).sorted(), limit: wanted)
    }

    /// Of types whose values an index has in full, and that the row has as they are.
    private func extremeAlongIndex(
        _ function: Predicate.CollectionOperator, _ column: ColumnKey
    ) throws(DatabaseError) -> Value? {
        guard function == .min || function == .max else { return nil }
        let view = try source.table(query.table)
        let type = view.layout.columns[try view.layout.slot(column)].type
        guard type == .int || type == .timestamp,
            let key = try OrderedWalkPlan.extreme(query.predicate, column, isLowest: function == .min, view)
        else { return nil }
        return try view.value(column, ObjectKey(key)).owned
    }

    /// Of one property over given objects, which must exist.
    package static func aggregate(
        _ function: Predicate.CollectionOperator, _ column: ColumnKey, of keys: [Int64], _ table: TableKey,
        _ source: RowSource, _ watch: QueryWatch? = nil
    ) throws(DatabaseError) -> Value {
        try Aggregation(RunContext(source, watch), table, function, column).overKeys(keys)
    }
}
