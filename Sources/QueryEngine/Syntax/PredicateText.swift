/// A predicate back to text, in one canonical form: `parse(describe(x)) == x`.
///
/// With arguments given, their values take the place of `$0`, `$1`, ...
import MotteColumns
import MotteValues

package struct PredicateText {
    private let arguments: Arguments?
    /// Whose columns a condition on groups is about.
    private let grouping: Grouping?

    private init(_ arguments: Arguments?, _ grouping: Grouping? = nil) {
        self.arguments = arguments
        self.grouping = grouping
    }

    package static func describe(_ query: ParsedQuery, arguments: Arguments? = nil) -> String {
        let printer = PredicateText(arguments)
        var clauses = printer.text(query.ordering)
        if let grouping = query.grouping {
            clauses += (clauses.isEmpty ? "" : " ") + describe(grouping, arguments: arguments)
        }
        if query.predicate == .constant(true), !clauses.isEmpty { return clauses }
        return printer.text(query.predicate) + (clauses.isEmpty ? "" : " " + clauses)
    }

    package static func describe(_ predicate: Predicate, arguments: Arguments? = nil) -> String {
        PredicateText(arguments).text(predicate)
    }

    package static func describe(_ path: Predicate.Path) -> String { PredicateText(nil).text(path) }
    package static func describe(_ value: Value) -> String { PredicateText(nil).text(value) }

    static func describe(_ having: Predicate, _ grouping: Grouping, _ arguments: Arguments?) -> String {
        PredicateText(arguments, grouping).text(having)
    }

    static func describe(_ limit: Ordering.Limit, _ arguments: Arguments?) -> String {
        PredicateText(arguments).text(limit)
    }

    // MARK: Tree

    private func text(_ predicate: Predicate) -> String {
        switch predicate {
        case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): text(comparison)
        case .not(let inner): isSimple(inner) ? "NOT " + text(inner) : "NOT (" + text(inner) + ")"
        // Of nothing, and is true and or is false.
        case .and(let parts): parts.isEmpty ? "TRUEPREDICATE" : parts.map(inParentheses).joined(separator: " AND ")
        case .or(let parts): parts.isEmpty ? "FALSEPREDICATE" : parts.map(inAlternatives).joined(separator: " OR ")
        }
    }

    private func isSimple(_ predicate: Predicate) -> Bool {
        switch predicate {
        case .constant, .comparison, .not: true
        case .and, .or: false
        }
    }

    private func inParentheses(_ predicate: Predicate) -> String {
        isSimple(predicate) ? text(predicate) : "(" + text(predicate) + ")"
    }

    private func inAlternatives(_ predicate: Predicate) -> String {
        if case .and(let parts) = predicate, parts.count > 1 { return text(predicate) }
        return inParentheses(predicate)
    }

    private func text(_ comparison: Predicate.Comparison) -> String {
        let right = members(comparison).map(braced) ?? text(comparison.right)
        return text(comparison.left) + " " + comparison.operator.text + Self.text(comparison.options) + " " + right
    }

    /// Of a list that was given as one value.
    private func members(_ comparison: Predicate.Comparison) -> [Value]? {
        guard comparison.operator == .in || comparison.operator == .between else { return nil }
        switch comparison.right {
        case .constant(.list(let values), _): return values
        case .argument(let number, _):
            guard let arguments, number < arguments.values.count,
                case .value(.list(let values)) = arguments.values[number]
            else { return nil }
            return values
        case .constant, .path, .subquery, .shape, .list, .arithmetic, .now: return nil
        }
    }

    private func braced(_ values: [Value]) -> String { "{" + values.map { text($0) }.joined(separator: ", ") + "}" }

    private static func text(_ options: TextOptions) -> String {
        if options.isEmpty { return "" }
        let letters = (options.contains(.ignoresCase) ? "c" : "") + (options.contains(.ignoresDiacritics) ? "d" : "")
        return "[" + letters + "]"
    }

    private func text(_ operand: Predicate.Operand) -> String {
        switch operand {
        case .path(let path): text(path)
        case .subquery(let subquery):
            "SUBQUERY(" + text(subquery.collection) + ", $" + subquery.variable + ", " + text(subquery.predicate)
                + ").@count"
        case .constant(let value, _): text(value)
        case .shape(let shape, _): shape.text
        case .argument(let number, _): argument(number)
        case .list(let elements, _): "{" + elements.map(text).joined(separator: ", ") + "}"
        case .arithmetic(let arithmetic): computed(operand) ?? text(arithmetic)
        case .now: arguments?.now.map { text(.timestamp($0)) } ?? "now()"
        }
    }

    /// Where arguments are given: what has no paths is one value.
    private func computed(_ operand: Predicate.Operand) -> String? {
        guard let arguments, case .constant(let value, _) = operand.filled(with: arguments) else { return nil }
        return text(value)
    }

    /// With the parentheses that it takes, and no others.
    private func text(_ arithmetic: Predicate.Arithmetic) -> String {
        let sign = arithmetic.operator
        func part(_ operand: Predicate.Operand, isRight: Bool) -> String {
            guard case .arithmetic(let inner) = operand,
                inner.operator.bindsTightly != sign.bindsTightly ? sign.bindsTightly : isRight
            else { return text(operand) }
            return "(" + text(operand) + ")"
        }
        return part(arithmetic.left, isRight: false) + " " + sign.rawValue + " "
            + part(arithmetic.right, isRight: true)
    }

    private func argument(_ number: Int) -> String {
        guard let arguments, number < arguments.values.count else { return "$\(number)" }
        switch arguments.values[number] {
        case .value(let value): return text(value)
        case .list(let values): return braced(values)
        }
    }

    private func text(_ path: Predicate.Path) -> String {
        if let grouping, let column = path.column { return Self.column(column, grouping) }
        var words = path.names.map { Self.quoted($0.text) }
        if let variable = path.variable { words.insert("$" + variable, at: 0) }
        if words.isEmpty { words = ["SELF"] }
        words[words.count - 1] += path.subscripts.map(text).joined()
        if let aspect = path.aspect { words.append("@" + aspect.rawValue) }
        if let collectionOperator = path.collectionOperator { words.append("@" + collectionOperator.rawValue) }
        let joined = path.functions.reduce(words.joined(separator: ".")) { inner, function in
            guard case .part(let start, let count) = function else { return "\(function.word)(\(inner))" }
            return "\(function.word)(\(inner), \(start)\(count.map { ", \($0)" } ?? ""))"
        }
        return path.quantifier.map { $0.rawValue + " " + joined } ?? joined
    }

    private func text(_ place: Predicate.Subscript) -> String {
        switch place {
        case .key(let key): "[" + Self.quoted(key.text, "\"") + "]"
        case .index(let index): "[\(index)]"
        case .argument(let number, _): "[" + argument(number) + "]"
        case .all: "[*]"
        }
    }

    private func text(_ ordering: Ordering) -> String {
        ordering.clauses.map { clause in
            let (name, content) = parts(clause)
            return name + "(" + content + ")"
        }.joined(separator: " ")
    }

    private func parts(_ clause: Ordering.Clause) -> (name: String, content: String) {
        switch clause {
        case .sort(let keys):
            ("SORT", keys.map { text($0.path) + ($0.isAscending ? " ASC" : " DESC") }.joined(separator: ", "))
        case .distinct(let paths): ("DISTINCT", paths.map(text).joined(separator: ", "))
        case .limit(let limit): ("LIMIT", text(limit))
        case .offset(let offset): ("OFFSET", text(offset))
        }
    }

    private func text(_ limit: Ordering.Limit) -> String {
        switch limit {
        case .count(let count): "\(count)"
        case .argument(let number, _): argument(number)
        }
    }

    /// As plans write it.
    static func planText(_ clause: Ordering.Clause, _ arguments: Arguments) -> String {
        let (name, content) = PredicateText(arguments).parts(clause)
        return name.lowercased() + "(" + content + ")"
    }

    /// The same without the clause's name.
    static func planDetail(_ clause: Ordering.Clause, _ arguments: Arguments) -> String {
        PredicateText(arguments).parts(clause).1
    }

    // MARK: Words

    private func text(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): "\(value)"
        case .float(let value): text(Double(value))
        case .double(let value): text(value)
        case .string(let value): Self.quoted(value, "\"")
        case .data(let bytes): "X'" + bytes.map(Self.hex).joined() + "'"
        case .timestamp(let value): "T\(value.seconds):\(value.nanoseconds)"
        case .link(let value): "O\(value.table.rawValue):\(value.key.rawValue)"
        case .decimal(let value): "decimal(\(value.text))"
        case .objectID, .uuid:
            value.withView { view in
                let identifier = view.kind?.identifier
                return "\(identifier?.word ?? "")(\(identifier?.text(view) ?? ""))"
            }
        case .list(let elements): "[" + elements.map { text($0) }.joined(separator: ", ") + "]"
        case .map(let entries):
            "{" + entries.map { Self.quoted($0.key, "\"") + ": " + text($0.value) }.joined(separator: ", ") + "}"
        }
    }

    private func text(_ value: Double) -> String {
        if value.isNaN { return "+nan" }
        if value.isInfinite { return value < 0 ? "-inf" : "+inf" }
        return value.description
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    private static func quoted(_ name: String) -> String {
        let bytes = Array(name.utf8)
        guard let first = bytes.first, !Lexer.isDigit(first), bytes.allSatisfy(Lexer.isWordByte) else {
            return quoted(name, "`")
        }
        return Keyword.named(name) == nil ? name : quoted(name, "`")
    }

    private static func quoted(_ text: String, _ mark: Unicode.Scalar) -> String {
        var result = String(mark)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\0": result += "\\0"
            case mark, "\\":
                result += "\\"
                result.unicodeScalars.append(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        result.unicodeScalars.append(mark)
        return result
    }
}
