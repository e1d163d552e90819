/// Groups back to text: `parse(describe(x)) == x`.
import MotteColumns
import MotteValues

extension PredicateText {
    static func describe(_ grouping: Grouping, arguments: Arguments? = nil) -> String {
        var text = "GROUP(" + grouping.keys.map { path($0) }.joined(separator: ", ") + ")"
        let shown = grouping.aggregates.prefix(grouping.shown).map { aggregate($0) }
        if !shown.isEmpty { text += " " + shown.joined(separator: ", ") }
        if let having = grouping.having { text += " HAVING " + describe(having, grouping, arguments) }
        for clause in grouping.clauses { text += " " + self.text(clause, grouping, arguments) }
        return text
    }

    private static func name(_ name: String) -> String { describe(Predicate.Path([name])) }

    private static func path(_ key: Grouping.Key) -> String { key.text + (key.name.map { " AS " + name($0) } ?? "") }

    private static func aggregate(_ aggregate: Grouping.Aggregate) -> String {
        aggregate.text + (aggregate.name.map { " AS " + name($0) } ?? "")
    }

    static func column(_ number: Int, _ grouping: Grouping) -> String {
        if number < grouping.keys.count { return grouping.keys[number].name.map(name) ?? grouping.keys[number].text }
        let aggregate = grouping.aggregates[number - grouping.keys.count]
        return aggregate.name.map(name) ?? aggregate.text
    }

    private static func text(
        _ clause: Grouping.Clause, _ grouping: Grouping, _ arguments: Arguments?
    ) -> String {
        switch clause {
        case .sort(let keys):
            return "SORT("
                + keys.map { column($0.column, grouping) + ($0.isAscending ? " ASC" : " DESC") }.joined(separator: ", ")
                + ")"
        case .limit(let limit): return "LIMIT(" + describe(limit, arguments) + ")"
        case .offset(let offset): return "OFFSET(" + describe(offset, arguments) + ")"
        }
    }
}
