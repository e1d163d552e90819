/// One step of a plan as a tree: what it does, about how many rows are expected behind it, and, where the query was run
/// to measure it, how many there were and how long the step itself took.
///
/// Rows come from `input`; `lookups` are found beside it, such as the objects that links are tested to lead to. Made
/// for one explanation; whatever runs the query notes in it what it sees.
package final class PlanStep {
    package enum Kind: String, Sendable, CaseIterable {
        /// Every row of a class, and the rows that an index, backlinks or the query itself name.
        case scan, index, backlinks, objects, nothing
        /// The elements of a collection or of a snapshot.
        case elements
        case filter
        /// The objects behind one step of a path that pass, and the row groups of their class that few rows lead to.
        case targets, reached
        case sort, distinct, limit, offset
        case group
    }

    package let kind: Kind
    /// As in query text: a condition, a property, a number. Of a scan the class.
    package let detail: String
    /// nil where nothing is known.
    package let estimatedRows: Int?
    /// Whether that is the number, as an index counts it.
    package let isCounted: Bool
    package let input: PlanStep?
    package internal(set) var lookups: [PlanStep] = []

    /// Of a query that was run; nil where the step was not needed.
    package private(set) var rows: Int?
    /// With what its lookups took.
    private var wholeNanoseconds: Int64 = 0

    package init(
        _ kind: Kind, _ detail: String, rows: Double?, isCounted: Bool = false, input: PlanStep? = nil
    ) {
        self.kind = kind
        self.detail = detail
        estimatedRows = rows.map { Int(min(max(0, $0), 1e15).rounded()) }
        self.isCounted = isCounted
        self.input = input
    }

    /// Adds to what was seen.
    package func note(rows: Int, nanoseconds: Int64) {
        self.rows = (self.rows ?? 0) + rows
        wholeNanoseconds += nanoseconds
    }

    /// Time without more rows, as for reading an index.
    func note(nanoseconds: Int64) { wholeNanoseconds += nanoseconds }

    /// Of the step alone; 0 of what was not run.
    package var nanoseconds: Int64 {
        let below = kind == .targets ? input?.treeNanoseconds ?? 0 : 0
        return max(0, wholeNanoseconds - below - lookups.reduce(0) { $0 + $1.treeNanoseconds })
    }

    /// Of the step with all that it needs.
    package var treeNanoseconds: Int64 {
        nanoseconds + (input?.treeNanoseconds ?? 0) + lookups.reduce(0) { $0 + $1.treeNanoseconds }
    }
}
