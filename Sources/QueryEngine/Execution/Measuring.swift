/// Running a query to see how many rows each step of its plan has and what it takes. Only then are there clocks between
/// the operators; a query that is not explained has none of this.
import MotteColumns
import MotteValues

/// The steps of one pass over rows: what gives them, and the conditions they pass one after another.
struct MeasuredSelection {
    let access: PlanStep
    let filters: [PlanStep]

    /// Those from `top` downwards.
    init(below top: PlanStep) {
        var filters: [PlanStep] = []
        var step = top
        while step.kind == .filter, let input = step.input {
            filters.append(step)
            step = input
        }
        access = step
        self.filters = filters.reversed()
    }

    /// Of a condition and the steps of its parts, each measured by itself.
    func makeFilter(
        _ context: RunContext, _ predicate: BoundPredicate, _ table: TableKey, visits: Int
    ) throws(DatabaseError) -> Operator? {
        if case .constant(true) = predicate { return nil }
        var parts = [predicate]
        if case .and(let inner) = predicate { parts = inner }
        guard parts.count == filters.count else {
            return try OperatorBuilder(context: context).make(predicate, table, visits: visits)
        }
        var operators: [Operator] = []
        for (part, step) in zip(parts, filters) {
            let builder = OperatorBuilder(context: context, lookups: MeasuredLookups(step.lookups))
            operators.append(MeasuredOperator(try builder.make(part, table, visits: visits), step))
        }
        return operators.count == 1 ? operators[0] : AndOperator(operators, try context.reader(table))
    }
}

/// The lookups of one step, handed out in the order in which operators are made for them.
final class MeasuredLookups {
    private var rest: ArraySlice<PlanStep>

    init(_ steps: [PlanStep]) { rest = steps[...] }

    func next() -> PlanStep? { rest.popFirst() }
}

final class MeasuredOperator: Operator {
    private let inner: Operator
    private let step: PlanStep

    init(_ inner: Operator, _ step: PlanStep) {
        self.inner = inner
        self.step = step
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let start = MonotonicClock.nanoseconds
        try inner.select(rows, candidates, into: words)
        let end = MonotonicClock.nanoseconds
        var passing = 0
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            passing &+= (words[index] & candidates[index]).nonzeroBitCount
        }
        step.note(rows: passing, nanoseconds: end &- start)
    }
}

extension PlanStep {
    /// What `body` takes, with the rows that come out of it.
    func measure<Result>(
        _ rows: (Result) -> Int, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let start = MonotonicClock.nanoseconds
        let result = try body()
        note(rows: rows(result), nanoseconds: MonotonicClock.nanoseconds &- start)
        return result
    }
}

extension PlanTree.Tree {
    /// What a clause left, and what it took.
    func note(clause index: Int, rows: Int, since start: Int64) {
        guard index < clauses.count else { return }
        clauses[index].note(rows: rows, nanoseconds: MonotonicClock.nanoseconds &- start)
    }

    /// Of rows that an index gives as the first clauses want them, so that these have nothing left to do.
    func noteWalk(rows: Int, since start: Int64, clauses done: Int = 1) {
        selection.note(rows: rows, nanoseconds: MonotonicClock.nanoseconds &- start)
        for clause in clauses.prefix(done) { clause.note(rows: rows, nanoseconds: 0) }
    }

    /// What giving the rows took beside their conditions.
    func noteSelection(since start: Int64) {
        let whole = MonotonicClock.nanoseconds &- start
        MeasuredSelection(below: selection).access.note(nanoseconds: max(0, whole &- selection.treeNanoseconds))
    }

    /// Which of the objects that other steps gave pass.
    func matches(_ keys: [Int64], _ executor: Executor) throws(DatabaseError) -> [Bool] {
        let steps = MeasuredSelection(below: selection)
        guard !steps.filters.isEmpty else { return try executor.matches(keys) }
        let context = executor.context
        let filter = try steps.makeFilter(
            context, executor.query.predicate, executor.query.table, visits: keys.count)
        let reader = try context.reader(executor.query.table)
        let run = SelectionRun(context, reader, keys: keys.ascending, filter: filter)
        return try executor.passing(keys, run)
    }
}

// MARK: -

/// A query and its plan as a tree; where it was run, with what was seen.
package struct Explanation {
    package let top: PlanStep
    /// Of the whole run, choosing the plan included; nil where nothing was run.
    package let nanoseconds: Int64?

    package init(top: PlanStep, nanoseconds: Int64?) {
        self.top = top
        self.nanoseconds = nanoseconds
    }
}

extension Executor {
    /// The plan over the class, or over rows that something else gives, as a tree.
    func tree(over input: PlanStep?) throws(DatabaseError) -> PlanTree.Tree {
        let tree = PlanTree(source)
        if let input { return try tree.tree(query, over: input) }
        if let walk = try walkAlongIndex(query.steps) {
            return try tree.tree(query, along: walk.plan.index, rows: walk.keys.count)
        }
        if let walk = try distinctWalk(query.steps) {
            return try tree.tree(query, along: walk.plan.index, rows: walk.keys.count, clauses: walk.plan.clauses)
        }
        return try tree.tree(query, try plan())
    }

    /// The plan as a tree, over the class or over what `input` gives.
    package func explain(over input: PlanStep? = nil) throws(DatabaseError) -> PlanStep {
        try tree(over: input).top
    }

    /// Runs the query and notes in the tree what it saw.
    package func analyze() throws(DatabaseError) -> (top: PlanStep, keys: [Int64]) {
        let tree = try tree(over: nil)
        measured = tree
        defer { measured = nil }
        return (tree.top, try keys())
    }

    /// The same among given objects.
    package func analyze(among base: [Int64], _ input: PlanStep) throws(DatabaseError) -> (top: PlanStep, keys: [Int64])
    {
        let tree = try tree(over: input)
        measured = tree
        defer { measured = nil }
        return (tree.top, try keys(among: base))
    }

    /// Groups of the query's rows, or of `keys`, which `input` gave.
    package func explain(
        _ grouping: BoundGrouping, isRun: Bool, of keys: [Int64]? = nil, over input: PlanStep? = nil
    ) throws(DatabaseError) -> PlanStep {
        let tree = input == nil ? try tree(over: nil) : nil
        let below = input ?? tree?.top
        guard let below else { throw DatabaseError(.internal, "a plan without steps") }
        let top = PlanTree(source).groups(grouping, over: below)
        guard isRun else { return top }
        measured = tree
        defer { measured = nil }
        let before = below.treeNanoseconds
        let start = MonotonicClock.nanoseconds
        let table = if let keys { try groups(grouping, of: keys) } else { try groups(grouping) }
        let whole = MonotonicClock.nanoseconds &- start
        top.note(rows: table.count, nanoseconds: max(0, whole &- (below.treeNanoseconds &- before)))
        return top
    }
}
