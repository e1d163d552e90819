/// Conditions as filter text with `%@` for their values, in the form in which RealmSwift's own queries print.
import Foundation
import MotteQueryEngine
import MotteValues

struct QueryFormat {
    private(set) var format = ""
    private(set) var values: [Any] = []
    private var subqueryCount = 0
    /// What the variables of the subqueries around are called here.
    private var variables: [String: String] = [:]

    mutating func add(_ predicate: QueryPredicate) {
        switch predicate {
        case .constant(let isTrue): format += isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .not(let inner):
            format += "NOT "
            add(inner)
        case .and(let parts): join(parts, "&&")
        case .or(let parts): join(parts, "||")
        case .comparison(let comparison): add(comparison)
        }
    }

    /// As binary operators nest.
    private mutating func join(_ parts: [QueryPredicate], _ connective: String) {
        guard let last = parts.last, parts.count > 1 else { return parts.first.map { add($0) } ?? () }
        format += "("
        join(Array(parts.dropLast()), connective)
        format += " \(connective) "
        add(last)
        format += ")"
    }

    private mutating func add(_ comparison: QueryPredicate.Comparison) {
        format += "("
        add(comparison.left)
        var options = ""
        if comparison.options.contains(.ignoresCase) { options += "c" }
        if comparison.options.contains(.ignoresDiacritics) { options += "d" }
        format += " \(comparison.operator.text)\(options.isEmpty ? "" : "[\(options)]") "
        add(comparison.right)
        format += ")"
    }

    mutating func add(_ operand: QueryPredicate.Operand) {
        switch operand {
        case .path(let path): add(path)
        case .constant(let value, _):
            format += "%@"
            values.append(AnyRealmValue.dynamicValue(of: value) ?? NSNull())
        case .list(let elements, _):
            format += "{"
            for (index, element) in elements.enumerated() {
                if index > 0 { format += ", " }
                add(element)
            }
            format += "}"
        case .subquery(let subquery):
            subqueryCount += 1
            let outer = variables
            variables[subquery.variable] = "col\(subqueryCount)"
            format += "SUBQUERY("
            add(subquery.collection)
            format += ", $col\(subqueryCount), "
            add(subquery.predicate)
            format += ").@count"
            variables = outer
        case .shape(let shape, _): format += shape.text
        // Conditions are built with their values in them.
        case .argument(let number, _): format += "$\(number)"
        }
    }

    private mutating func add(_ path: QueryPredicate.Path) {
        format += path.quantifier.map { $0.rawValue + " " } ?? ""
        var names = path.names.map(\.text)
        if let variable = path.variable { names.insert("$" + (variables[variable] ?? variable), at: 0) }
        if path.aspect == .keys { names.append("@allKeys") }
        if path.aspect == .values { names.append("@allValues") }
        if let total = path.collectionOperator { names.append("@" + total.rawValue) }
        format += names.isEmpty ? "SELF" : names.joined(separator: ".")
        for part in path.subscripts {
            switch part {
            case .key(let name): add("[%@]", name.text)
            case .index(let index): add("[%@]", index)
            case .all: add("[%K]", "#any")
            case .argument(let number, _): format += "[$\(number)]"
            }
        }
    }

    private mutating func add(_ text: String, _ value: Any) {
        format += text
        values.append(value)
    }
}
