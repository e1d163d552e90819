/// The plan of a query as a tree of steps: the last clause at the top, what rows are read from at the bottom.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

struct PlanTree {
    private let source: RowSource
    private let estimator: Estimator

    init(_ source: RowSource) {
        self.source = source
        estimator = Estimator(source)
    }

    /// The steps of one query.
    struct Tree {
        var top: PlanStep
        /// Below the clauses: the last condition, or what gives the rows.
        var selection: PlanStep
        var clauses: [PlanStep] = []

        init(_ selection: PlanStep) {
            top = selection
            self.selection = selection
        }
    }

    func tree(_ query: BoundQuery, _ plan: Plan) throws(DatabaseError) -> Tree {
        let view = try source.table(query.table)
        var tree = Tree(try selection(plan.access, plan.filter, view, visits: plan.visits))
        add(query, to: &tree)
        return tree
    }

    /// Where an index gives rows as the first clauses of the query want them.
    func tree(
        _ query: BoundQuery, along index: TableIndex, rows: Int, clauses: Int = 1
    ) throws(DatabaseError) -> Tree {
        let view = try source.table(query.table)
        let names = index.columns.map { column in
            view.type.properties.first { $0.columnKey == column.key }?.name ?? "?"
        }
        var tree = Tree(PlanStep(.index, names.joined(separator: ", "), rows: Double(rows)))
        add(query, to: &tree, given: clauses)
        return tree
    }

    /// Over rows that something else gives.
    func tree(_ query: BoundQuery, over input: PlanStep) throws(DatabaseError) -> Tree {
        let rows = input.estimatedRows
        var tree = Tree(try filtered(input, query.predicate, query.table, from: rows, visits: rows ?? 0))
        add(query, to: &tree)
        return tree
    }

    // MARK: Rows

    /// What gives the rows, and the conditions above it.
    private func selection(
        _ access: IndexAccess?, _ filter: BoundPredicate, _ view: TableView, visits: Int, _ text: String = ""
    ) throws(DatabaseError) -> PlanStep {
        if access == nil, case .constant(false) = filter { return PlanStep(.nothing, "", rows: 0, isCounted: true) }
        let first: PlanStep
        if let access {
            first = PlanStep(
                access.kind, access.text == PlanText.unnamed ? text : access.text, rows: Double(access.count),
                isCounted: access.countIsExact)
            if let targets = access.targets {
                first.lookups = [
                    PlanStep(
                        .targets, "\(targets.step.name): \(try source.table(targets.step.target).type.name)",
                        rows: Double(targets.count), isCounted: true,
                        input: try lookedUp(
                            targets.step.target, targets.predicate, visits: .max,
                            PlanText.behind(targets.step, access.text)))
                ]
            }
        } else {
            first = PlanStep(.scan, view.type.name, rows: Double(view.liveCount), isCounted: true)
        }
        return try filtered(first, filter, view.key, from: access?.count ?? view.liveCount, visits: visits, text)
    }

    private func filtered(
        _ input: PlanStep, _ filter: BoundPredicate, _ table: TableKey, from rows: Int?, visits: Int,
        _ text: String = ""
    ) throws(DatabaseError) -> PlanStep {
        if case .constant(true) = filter { return input }
        var parts = [filter]
        if case .and(let inner) = filter { parts = inner }
        var top = input
        for (part, fraction) in zip(parts, estimator.fractions(parts, of: table)) {
            let own = PlanText.text(part)
            let name = own == PlanText.unnamed ? text : own
            let step = PlanStep(.filter, name, rows: rows.map { Double($0) * fraction }, input: top)
            try addLookups(part, to: step, visits: visits, name)
            top = step
        }
        return top
    }

    /// What operators look for beside the rows, in the order in which they are made (`OperatorBuilder`).
    private func addLookups(
        _ predicate: BoundPredicate, to step: PlanStep, visits: Int, _ text: String
    ) throws(DatabaseError) {
        switch predicate {
        case .link(let path, let inner, _):
            step.lookups.append(try lookup(path, inner, visits: visits, text))
        case .anyObject(let path, let inner):
            if case .inverse = path.kind {
                let linking = try source.table(path.target)
                let visits = InverseLookup.pays(visits: visits, nextKey: linking.nextKey) ? visits &* 4 : .max
                step.lookups.append(try lookup(path, inner, visits: visits, text))
            } else {
                step.lookups.append(try lookup(path, inner, visits: visits &* 4, text))
            }
        case .comparison(let text, let inner): try addLookups(inner, to: step, visits: visits, text)
        case .not(let inner): try addLookups(inner, to: step, visits: visits, text)
        case .and(let parts), .or(let parts):
            for part in parts { try addLookups(part, to: step, visits: visits, text) }
        case .constant, .column, .object, .anyElement, .anyKey, .access, .aggregate, .geo, .paths, .arithmetic: break
        }
    }

    private func lookup(
        _ path: PathStep, _ inner: BoundPredicate, visits: Int, _ text: String
    ) throws(DatabaseError) -> PlanStep {
        let found = try lookedUp(path.target, inner, visits: visits, PlanText.behind(path, text))
        let name = try source.table(path.target).type.name
        return PlanStep(
            .targets, "\(path.name): \(name)", rows: found.estimatedRows.map(Double.init), input: found)
    }

    /// The objects of a class that pass: all of them, by an index or a scan, or only those of the row groups that few
    /// rows lead to (`KeySelection`).
    private func lookedUp(
        _ table: TableKey, _ predicate: BoundPredicate, visits: Int, _ text: String
    ) throws(DatabaseError) -> PlanStep {
        let view = try source.table(table)
        guard visits >= view.rowGroupCount else {
            let reached = PlanStep(.reached, view.type.name, rows: Double(min(visits, view.liveCount)))
            return try filtered(reached, predicate, table, from: reached.estimatedRows, visits: visits &* 8, text)
        }
        let access = try IndexChoice.choose(predicate, view, source)
        return try selection(
            access, access?.rest ?? predicate, view, visits: access?.count ?? Int(view.nextKey), text)
    }

    // MARK: Clauses

    /// The first `given` of them are done by an index.
    private func add(_ query: BoundQuery, to tree: inout Tree, given: Int = 0) {
        // Clauses that were joined have one step for all of them.
        let names = Self.names(query)
        for (number, step) in query.steps.enumerated() {
            let rows = tree.top.estimatedRows.map(Double.init)
            let detail = number < names.count ? names[number] : ""
            let made: PlanStep
            switch step {
            case .sort:
                // As far as the clauses behind it need it.
                let most = BoundQuery.enough(for: query.steps[(number + 1)...])
                let isGiven = number < given
                made = PlanStep(
                    .sort,
                    isGiven
                        ? "\(detail), as the index has it" : most.map { "\(detail), the first \($0)" } ?? detail,
                    rows: rows.map { min($0, most.map(Double.init) ?? .infinity) }, input: tree.top)
            case .distinct(let paths):
                let isGiven = number < given
                made = PlanStep(
                    .distinct, isGiven ? "\(detail), as the index has it" : detail,
                    rows: isGiven ? rows : rows.map { estimator.combinations(paths, rows: $0) }, input: tree.top)
            case .limit(let limit):
                made = PlanStep(.limit, "\(limit)", rows: rows.map { min($0, Double(limit)) }, input: tree.top)
            case .offset(let offset):
                made = PlanStep(.offset, "\(offset)", rows: rows.map { max(0, $0 - Double(offset)) }, input: tree.top)
            }
            tree.clauses.append(made)
            tree.top = made
        }
    }

    private static func names(_ query: BoundQuery) -> [String] {
        let clauses = query.parsed.ordering.clauses
        if clauses.count == query.steps.count {
            return clauses.map { PredicateText.planDetail($0, query.arguments) }
        }
        return query.steps.map { step in
            switch step {
            case .sort(let keys):
                keys.map { $0.path.text + ($0.isAscending ? " ASC" : " DESC") }.joined(separator: ", ")
            case .distinct(let paths): paths.map(\.text).joined(separator: ", ")
            case .limit(let count), .offset(let count): "\(count)"
            }
        }
    }

    // MARK: Groups

    /// Groups of the rows of `input`: where they are put together, and where they are arranged, with HAVING, SORT and
    /// LIMIT of groups.
    func groups(_ grouping: BoundGrouping, over input: PlanStep) -> PlanStep {
        let rows = input.estimatedRows.map(Double.init)
        let expected =
            grouping.keys.isEmpty ? 1 : rows.map { estimator.combinations(grouping.keys.map(\.path), rows: $0) }
        return PlanStep(.group, grouping.text, rows: expected, input: input)
    }
}

extension BoundPath {
    /// As it is written.
    var text: String {
        let end = name.parts(between: ".").dropFirst().joined(separator: ".")
        var names = steps.map(\.name)
        if case .object = self.end {
            return names.isEmpty ? "SELF" : names.joined(separator: ".")
        }
        names.append(end)
        return names.joined(separator: ".")
    }
}
