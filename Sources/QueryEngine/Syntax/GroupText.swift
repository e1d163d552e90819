/// Groups back to text: `parse(describe(x)) == x`.
import MotteColumns
import MotteValues

extension PredicateText {
    static func describe(_ grouping: Grouping, arguments: Arguments? = nil) -> String {
        var text = "GROUP(" + grouping.keys.map { path($0) }.joined(separator: ", ") + ")"
        let shown = grouping.aggregates.prefix(grouping.shown).map { aggregate($0) }
        if !shown.isEmpty { text += " " + shown.joined(separator: ", ") }
        if let having = grouping.having { text += " HAVING " + condition(having, grouping, arguments) }
        for clause in grouping.clauses { text += " " + self.text(clause, grouping, arguments) }
        return text
    }

    private static func name(_ name: String) -> String { describe(Predicate.Path([name])) }

    private static func path(_ key: Grouping.Key) -> String { key.text + (key.name.map { " AS " + name($0) } ?? "") }

    private static func aggregate(_ aggregate: Grouping.Aggregate) -> String {
        aggregate.text + (aggregate.name.map { " AS " + name($0) } ?? "")
    }

    private static func column(_ number: Int, _ grouping: Grouping) -> String {
        if number < grouping.keys.count { return grouping.keys[number].name.map(name) ?? grouping.keys[number].text }
        let aggregate = grouping.aggregates[number - grouping.keys.count]
        return aggregate.name.map(name) ?? aggregate.text
    }

    private static func condition(
        _ condition: Grouping.Condition, _ grouping: Grouping, _ arguments: Arguments?
    ) -> String {
        switch condition {
        case .constant(let value): return value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .not(let inner): return "NOT (" + self.condition(inner, grouping, arguments) + ")"
        case .and(let parts):
            return parts.map { "(" + self.condition($0, grouping, arguments) + ")" }.joined(separator: " AND ")
        case .or(let parts):
            return parts.map { "(" + self.condition($0, grouping, arguments) + ")" }.joined(separator: " OR ")
        case .comparison(let comparison):
            let right =
                switch comparison.right {
                case .column(let number): column(number, grouping)
                case .operand(let operand): self.operand(operand, arguments)
                }
            var options = comparison.options.contains(.ignoresCase) ? "c" : ""
            if comparison.options.contains(.ignoresDiacritics) { options += "d" }
            if !options.isEmpty { options = "[" + options + "]" }
            return column(comparison.column, grouping) + " " + comparison.operator.text + options + " " + right
        }
    }

    private static func operand(_ operand: Predicate.Operand, _ arguments: Arguments?) -> String {
        switch operand {
        case .constant(let value, _): return describe(value)
        case .argument(let number, _):
            guard let arguments, number < arguments.values.count else { return "$\(number)" }
            switch arguments.values[number] {
            case .value(.list(let values)), .list(let values):
                return "{" + values.map { describe($0) }.joined(separator: ", ") + "}"
            case .value(let value): return describe(value)
            }
        case .list(let elements, _):
            return "{" + elements.map { self.operand($0, arguments) }.joined(separator: ", ") + "}"
        default: return "?"
        }
    }

    private static func text(
        _ clause: Grouping.Clause, _ grouping: Grouping, _ arguments: Arguments?
    ) -> String {
        switch clause {
        case .sort(let keys):
            return "SORT("
                + keys.map { column($0.column, grouping) + ($0.isAscending ? " ASC" : " DESC") }.joined(separator: ", ")
                + ")"
        case .limit(.count(let count)): return "LIMIT(\(count))"
        case .limit(.argument(let number, let position)):
            return "LIMIT(" + operand(.argument(number, position), arguments) + ")"
        }
    }
}
