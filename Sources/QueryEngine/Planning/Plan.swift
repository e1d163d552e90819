/// How a query will be evaluated against a state of the file, as a value and as the one line that `explain` shows:
///
///     Flight: index(carrier == "UA", 58665 rows) filter(dep_delay > 60) sort(distance DESC) limit(10)
///
/// Clauses follow in the order in which they are applied.
import MotteColumns
import MotteStorage
import MotteValues

package struct Plan {
    /// nil where the table is scanned.
    let access: IndexAccess?
    /// Tested on the rows that the index gives, or on all.
    let filter: BoundPredicate
    /// About how many rows will be tested.
    let visits: Int
    package let text: String

    package var usesIndex: Bool { access != nil }

    /// `isCount`: of a count, which may need no keys.
    package static func make(
        _ query: BoundQuery, _ source: RowSource, isCount: Bool = false
    ) throws(DatabaseError) -> Plan {
        try Predicate.checkStack(for: query.stackBytes)
        let view = try source.table(query.table)
        let wanted = BoundQuery.enough(for: query.steps[...])
        let access = try IndexChoice.choose(query.predicate, view, source, wanted: wanted, isCount: isCount)
        let filter = try ordered(access?.rest ?? query.predicate, access?.count ?? view.liveCount, view, source)
        let visits = access?.count ?? Int(view.nextKey)
        return Plan(
            access: access, filter: filter, visits: visits, text: describe(query, access, filter, view))
    }

    /// Statistics are asked where so many rows are tested.
    private static let manyRows = 65_536

    /// The parts of a condition in the order in which they take the least time: those first that leave out many rows
    /// for what they cost. Of equal ones the first stays first.
    private static func ordered(
        _ filter: BoundPredicate, _ rows: Int, _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> BoundPredicate {
        guard case .and(let parts) = filter, rows >= manyRows else { return filter }
        let estimator = Estimator(source, isQuick: true)
        let ranked = parts.enumerated().map { index, part in
            let left = 1 - estimator.fraction(part, of: view.key)
            return (rank: CostEstimate.perRow(part) / max(left, 1e-3), index: index, part: part)
        }
        return .and(ranked.sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }.map(\.part))
    }

    private static func describe(
        _ query: BoundQuery, _ access: IndexAccess?, _ filter: BoundPredicate, _ view: TableView
    ) -> String {
        var words: [String] = []
        if let access {
            words.append("index(\(access.text), \(access.count) rows)")
        } else if case .constant(false) = filter {
            words.append("nothing")
        } else {
            words.append("scan(\(view.liveCount) rows)")
        }
        if case .constant = filter {} else { words.append("filter(\(PlanText.text(filter)))") }
        for clause in query.parsed.ordering.clauses { words.append(PredicateText.planText(clause, query.arguments)) }
        return view.type.name + ": " + words.joined(separator: " ")
    }
}

/// A bound predicate in words, in the order in which its parts are tested.
enum PlanText {
    static func text(_ predicate: BoundPredicate) -> String {
        switch predicate {
        case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let text, _): text
        case .not(let inner): "NOT " + inParentheses(inner)
        case .and(let parts): parts.map(inParentheses).joined(separator: " AND ")
        case .or(let parts): parts.map(inParentheses).joined(separator: " OR ")
        // Always inside a comparison, which has a text.
        case .column, .object, .link, .anyElement, .anyKey, .access, .anyObject, .aggregate, .geo, .paths,
            .arithmetic:
            unnamed
        }
    }

    /// What a part of a comparison is called.
    static let unnamed = "..."

    /// A comparison as the objects behind the first step of its path see it.
    static func behind(_ step: PathStep, _ text: String) -> String {
        text.behindBytes(of: step.name + ".") ?? text
    }

    private static func inParentheses(_ predicate: BoundPredicate) -> String {
        switch predicate {
        case .and, .or: "(" + text(predicate) + ")"
        default: text(predicate)
        }
    }
}
