/// A plan for people: a table with a line for each step, what a step gets its rows from indented below it.
///
///     Person: age > 50 AND friend.city == "Rome" LIMIT(3)
///     step                              estimated     rows       ms
///     limit 3                                   3        3    0.001
///       filter friend.city == "Rome"           11        3    0.020
///       | targets friend: Person               40       38    0.080
///       |   index city == "Rome"              = 40      38    0.011
///         filter age > 50                     980      970    0.004
///           scan Person                      2000     2000    0.003
///     in all                                                   0.131
///
/// `=` before an estimate says that it was counted. Rows and times are there where the query was run.
import MotteValues

extension Explanation {
    /// `title` is what was asked, for the first line.
    package func text(_ title: String) -> String {
        var lines: [(name: String, step: PlanStep?)] = []
        Self.add(top, indent: "", mark: "", to: &lines)
        var rows: [[String]] = [["step", "estimated"] + (nanoseconds == nil ? [] : ["rows", "ms"])]
        for (name, step) in lines {
            var cells = [name, step?.estimatedRows.map { (step?.isCounted == true ? "= " : "") + "\($0)" } ?? ""]
            if nanoseconds != nil {
                cells.append(step?.rows.map { "\($0)" } ?? "")
                cells.append(step.flatMap { $0.rows == nil ? nil : Self.milliseconds($0.nanoseconds) } ?? "")
            }
            rows.append(cells)
        }
        if let nanoseconds { rows.append(["in all", "", "", Self.milliseconds(nanoseconds)]) }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let table = rows.map { cells in
            var line = ""
            for (column, cell) in cells.enumerated() {
                let space = String(repeating: " ", count: widths[column] - cell.count)
                line += column == 0 ? cell + space : "  " + space + cell
            }
            return line.withoutSpacesAtEnd
        }
        return ([title] + table).joined(separator: "\n")
    }

    private static func add(
        _ step: PlanStep, indent: String, mark: String, to lines: inout [(name: String, step: PlanStep?)]
    ) {
        let detail = shortened(step.detail)
        lines.append((indent + mark + step.kind.rawValue + (detail.isEmpty ? "" : " " + detail), step))
        for lookup in step.lookups { add(lookup, indent: indent + "  | ", mark: "", to: &lines) }
        if let input = step.input { add(input, indent: indent + "  ", mark: "", to: &lines) }
    }

    /// Long conditions would move all numbers out of sight.
    private static func shortened(_ detail: String) -> String {
        let most = 80
        // characters: what is shown is cut between them, and the two that end a line make one space
        let flat = String(detail.map { $0.isNewline ? " " : $0 })
        return flat.count <= most ? flat : String(flat.prefix(most - 3)) + "..."
    }

    private static func milliseconds(_ nanoseconds: Int64) -> String {
        let micros = (nanoseconds + 500) / 1_000
        let digits = String(micros % 1_000)
        return "\(micros / 1_000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
