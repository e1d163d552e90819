/// How results and groups are found, as a tree of steps: what `explain` shows.
///
/// An explanation is about evaluating them again. What the session keeps of them, or an observer, is neither used nor
/// changed by it.
import MotteQueryEngine
import MotteStorage
import MotteValues

/// An explanation and what it is of.
package struct PlanReport {
    let explanation: Explanation
    let title: String

    /// For people.
    package var text: String { explanation.text(title) }
    /// For programs.
    package var json: String { explanation.json(title) }
}

extension LiveCollection {
    /// How the elements are found. `isAnalyzed` runs the query, to say how many rows each step had and what it took.
    package func explain(isAnalyzed: Bool) throws(DatabaseError) -> PlanReport {
        let results = try results()
        return try results.session.explained(results.title, isAnalyzed) { () throws(DatabaseError) in
            try results.plan(isRun: isAnalyzed).top
        }
    }
}

extension LiveGroups {
    /// How the groups are made.
    package func explain(isAnalyzed: Bool) throws(DatabaseError) -> PlanReport {
        try session.explained(base.title + " " + grouping.text, isAnalyzed) { () throws(DatabaseError) in
            try base.plan(grouping, isRun: isAnalyzed)
        }
    }
}

extension Session {
    fileprivate func explained(
        _ title: String, _ isAnalyzed: Bool, _ make: () throws(DatabaseError) -> PlanStep
    ) throws(DatabaseError) -> PlanReport {
        try check()
        let start = MonotonicClock.nanoseconds
        let top = try make()
        let nanoseconds = MonotonicClock.nanoseconds &- start
        return PlanReport(
            explanation: Explanation(top: top, nanoseconds: isAnalyzed ? nanoseconds : nil), title: title)
    }
}

extension LiveResults {
    /// The class and the query, as written.
    fileprivate var title: String {
        // Without a schema the query fails where it is asked.
        let name = target.flatMap { target in (try? session.schema)?[target]?.name } ?? source.words
        let clauses = stages.map(\.text).filter { !$0.isEmpty && $0 != "TRUEPREDICATE" }
        return clauses.isEmpty ? name : name + ": " + clauses.joined(separator: " ")
    }

    /// `keys` only where it was run.
    fileprivate func plan(isRun: Bool) throws(DatabaseError) -> (top: PlanStep, keys: [Int64]) {
        guard let target else { return (try valuePlan(isRun: isRun), []) }
        let rows = try session.source()
        let watch = session.queryWatch()
        var rest = stages[...]
        var found: (top: PlanStep, keys: [Int64])
        if case .table(let table) = source {
            let first = Executor(rest.popFirst()?.bound ?? .all(table), rows, watch)
            found = isRun ? try first.analyze() : (try first.explain(), [])
        } else {
            found = try elements(target, isRun: isRun)
        }
        for stage in rest {
            let executor = stage.executor(rows, watch)
            found =
                isRun
                ? try executor.analyze(among: found.keys, found.top) : (try executor.explain(over: found.top), [])
        }
        return found
    }

    /// What the stages begin with where that is no class.
    private func elements(_ target: TableKey, isRun: Bool) throws(DatabaseError) -> (top: PlanStep, keys: [Int64]) {
        let start = MonotonicClock.nanoseconds
        var keys = try source.keys(session)
        if case .fixed = source {
            let view = try session.source().table(target)
            keys = try keys.filtered { key throws(DatabaseError) in try view.locate(ObjectKey(key)) != nil }
        }
        let top = PlanStep(.elements, source.words, rows: Double(keys.count), isCounted: true)
        if isRun { top.note(rows: keys.count, nanoseconds: MonotonicClock.nanoseconds &- start) }
        return (top, keys)
    }

    /// Of a collection of values: its elements, and what is done with them one after another.
    private func valuePlan(isRun: Bool) throws(DatabaseError) -> PlanStep {
        let count = try source.valueCount()
        var top = PlanStep(.elements, source.words, rows: Double(count), isCounted: true)
        if isRun { top.note(rows: count, nanoseconds: 0) }
        var order = Array(0 ..< count)
        for stage in valueStages {
            let next = stage.step(over: top)
            if isRun {
                let start = MonotonicClock.nanoseconds
                order = try stage.apply(to: order, source)
                next.note(rows: order.count, nanoseconds: MonotonicClock.nanoseconds &- start)
            }
            top = next
        }
        return top
    }

    fileprivate func plan(_ grouping: BoundGrouping, isRun: Bool) throws(DatabaseError) -> PlanStep {
        guard let target else { throw notObjects() }
        let rows = try session.source()
        let watch = session.queryWatch()
        if case .table(let table) = source, stages.count <= 1 {
            return try Executor(stages.first?.bound ?? .all(table), rows, watch).explain(grouping, isRun: isRun)
        }
        let below = try plan(isRun: isRun)
        return try Executor(.all(target), rows, watch).explain(
            grouping, isRun: isRun, of: below.keys, over: below.top)
    }
}

extension ResultsSource {
    /// For plans.
    fileprivate var words: String {
        switch self {
        case .table: ""
        case .list(let list): list.valueName
        case .nested: "of a mixed value"
        case .backlinks: "backlinks"
        case .section: "a section"
        case .fixed, .fixedValues: "a snapshot"
        }
    }
}

extension ValueStage {
    fileprivate func step(over input: PlanStep) -> PlanStep {
        let rows = input.estimatedRows.map(Double.init)
        switch self {
        case .query(let query):
            return PlanStep(.filter, PredicateText.describe(query.parsed), rows: rows.map { $0 * 0.3 }, input: input)
        case .sort(let isAscending):
            return PlanStep(.sort, isAscending ? "SELF ASC" : "SELF DESC", rows: rows, input: input)
        case .limit(let limit):
            return PlanStep(.limit, "\(limit)", rows: rows.map { min($0, Double(limit)) }, input: input)
        case .distinct: return PlanStep(.distinct, "SELF", rows: rows, input: input)
        }
    }
}
