/// Conditions as filter text with `%@` for their values, in the form in which RealmSwift's own queries print.
import Foundation
import MotteQueryEngine
import MotteValues

struct QueryFormat {
    private(set) var format = ""
    private(set) var values: [Any] = []

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
        case .path(let path): format += Self.text(path)
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
            format += "SUBQUERY(\(Self.text(subquery.collection)), $\(subquery.variable), "
            add(subquery.predicate)
            format += ").@count"
        default: format += "?"
        }
    }

    private static func text(_ path: QueryPredicate.Path) -> String {
        var text = path.quantifier.map { $0.rawValue + " " } ?? ""
        var names = path.names.map(\.text)
        if let variable = path.variable { names.insert("$" + variable, at: 0) }
        if path.aspect == .keys { names.append("@allKeys") }
        if path.aspect == .values { names.append("@allValues") }
        if let total = path.collectionOperator { names.append("@" + total.rawValue) }
        text += names.isEmpty ? "SELF" : names.joined(separator: ".")
        for part in path.subscripts {
            switch part {
            case .key(let name): text += "['\(name.text)']"
            case .index(let index): text += "[\(index)]"
            case .all: text += "[*]"
            case .argument(let number, _): text += "[$\(number)]"
            }
        }
        return text
    }
}
