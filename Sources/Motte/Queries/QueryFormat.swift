/// Conditions as filter text with `%@` for their values, in the form in which RealmSwift's own queries print.
import Foundation
import MotteQueryEngine
import MotteValues

extension QueryPredicate {
    /// Where no text has anything: a bool property that is a condition by itself, and not compared with true.
    static var bareBool: SourcePosition { SourcePosition(-1) }
    /// The same of the name of a collection that a path passes.
    static var collectionEnd: SourcePosition { SourcePosition(-2) }
}

struct QueryFormat {
    private(set) var format = ""
    private(set) var values: [Any] = []
    /// By the positions of constants.
    private let given: [Int: Any]
    private var subqueryCount = 0
    /// What the variables of the subqueries around are called here.
    private var variables: [String: String] = [:]

    init(given: [Int: Any]) { self.given = given }

    /// As the program gave it.
    private func value(_ constant: Value, _ position: SourcePosition) -> Any {
        position.utf8Offset.flatMap { given[$0] } ?? AnyRealmValue.dynamicValue(of: constant) ?? NSNull()
    }

    mutating func add(_ predicate: QueryPredicate) {
        switch predicate {
        case .constant(let isTrue): format += isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .not(.comparison(let comparison)):
            if let name = Self.bareBool(comparison) { format += "\(name) == false" } else { add(comparison, "NOT ") }
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

    /// The path of a bool property that is a condition by itself.
    private static func bareBool(_ comparison: QueryPredicate.Comparison) -> String? {
        guard comparison.position.utf8Offset == QueryPredicate.bareBool.utf8Offset,
            case .path(let path) = comparison.left
        else { return nil }
        var text = QueryFormat(given: [:])
        text.add(path)
        return text.format
    }

    private mutating func add(_ comparison: QueryPredicate.Comparison, _ prefix: String = "") {
        if prefix.isEmpty, let name = Self.bareBool(comparison) { return format += "\(name) == true" }
        format += "(" + prefix
        add(comparison.left)
        var options = ""
        if comparison.options.contains(.ignoresCase) { options += "c" }
        if comparison.options.contains(.ignoresDiacritics) { options += "d" }
        let isShape = comparison.operator == .geoWithin
        format += " \(isShape ? "IN" : comparison.operator.text)\(options.isEmpty ? "" : "[\(options)]") "
        if comparison.operator == .in, let values = constants(comparison.right) {
            add("%@", values)
        } else {
            add(comparison.right)
        }
        format += ")"
    }

    /// The values of a list that has nothing else.
    private func constants(_ operand: QueryPredicate.Operand) -> [Any]? {
        guard case .list(let elements, _) = operand else { return nil }
        var values: [Any] = []
        for element in elements {
            guard case .constant(let constant, let position) = element else { return nil }
            values.append(value(constant, position))
        }
        return values
    }

    mutating func add(_ operand: QueryPredicate.Operand) {
        switch operand {
        case .path(let path): add(path)
        case .constant(let constant, let position): add("%@", value(constant, position))
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
        case .shape(let shape, _):
            if let value = shape.value { add("%@", value) } else { format += shape.text }
        case .now: format += "now()"
        case .arithmetic(let arithmetic):
            format += "("
            add(arithmetic.left)
            format += " \(arithmetic.operator.rawValue) "
            add(arithmetic.right)
            format += ")"
        // Conditions are built with their values in them.
        case .argument(let number, _): format += "$\(number)"
        }
    }

    private mutating func add(_ path: QueryPredicate.Path) {
        // Any element of a mixed value is asked for by its subscript.
        let isAny = path.subscripts.contains(.all) && !path.names.contains { Self.isCollection($0) }
        if let quantifier = path.quantifier, !isAny { format += quantifier.rawValue + " " }
        var names = path.names.map(\.text)
        if let total = path.collectionOperator {
            let place = path.names.lastIndex { Self.isCollection($0) } ?? names.count - 1
            names.insert("@" + total.rawValue, at: max(place, 0) + (names.isEmpty ? 0 : 1))
        }
        if let variable = path.variable { names.insert("$" + (variables[variable] ?? variable), at: 0) }
        if path.aspect == .keys { names.append("@allKeys") }
        if path.aspect == .values { names.append("@allValues") }
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

    private static func isCollection(_ name: QueryPredicate.Name) -> Bool {
        name.position.utf8Offset == QueryPredicate.collectionEnd.utf8Offset
    }

    private mutating func add(_ text: String, _ value: Any) {
        format += text
        values.append(value)
    }
}
