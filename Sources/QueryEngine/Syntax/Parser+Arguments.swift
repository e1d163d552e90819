/// Arguments, and the lists of values and bounds that they stand in.
import MotteValues

extension Parser {
    /// Of a token that is one: `$0`, or a name that no SUBQUERY around has given to its elements.
    mutating func argument(_ token: Token) throws(DatabaseError) -> Int? {
        switch token.kind {
        case .argument(let number):
            argumentCount = max(argumentCount, number + 1)
            return number
        case .variable(let name):
            guard isArgument(token) else { return nil }
            if let known = namedArguments.firstIndex(where: { $0.text.utf8.elementsEqual(name.utf8) }) {
                return numberedCount + known
            }
            guard numberedCount + namedArguments.count < Arguments.most else {
                throw failure("a query has at most \(Arguments.most) arguments")
            }
            namedArguments.append(.init(name, position: token.position))
            return numberedCount + namedArguments.count - 1
        default: return nil
        }
    }

    func isArgument(_ token: Token) -> Bool {
        switch token.kind {
        case .argument: true
        case .variable(let name): !variables.contains { $0.utf8.elementsEqual(name.utf8) }
        default: false
        }
    }

    mutating func limitArgument() throws(DatabaseError) -> (number: Int, position: SourcePosition)? {
        let position = token.position
        guard let number = try argument(token) else { return nil }
        advance()
        return (number, position)
    }

    mutating func elements() throws(DatabaseError) -> [Predicate.Operand] {
        advance()
        var elements: [Predicate.Operand] = []
        if take(.closeBrace) { return elements }
        while true {
            let start = token
            let element = try nested { parser throws(DatabaseError) in try parser.sum() }
            switch element {
            case .constant, .argument, .arithmetic, .now: elements.append(element)
            case .path, .list, .subquery, .shape:
                throw source.error(.querySyntax, "a list in braces holds values and arguments only", at: start.position)
            }
            if take(.closeBrace) { return elements }
            try expect(.comma, "',' or '}'")
        }
    }

    // MARK: Bounds

    /// `{a, b}`, `a AND b`, or an argument that is a list.
    mutating func bounds() throws(DatabaseError) -> Predicate.Operand {
        let start = token
        let first = try sum()
        switch first {
        case .list(let elements, _):
            guard elements.count == 2 else {
                throw source.error(.querySyntax, "BETWEEN needs two bounds: {low, high}", at: start.position)
            }
            return first
        case .constant, .argument, .arithmetic, .now:
            if token.kind == .and, followingIsValue(isSurelyBound: !isArgument(first)), !isListArgument(first) {
                advance()
                return .list([first, try sum()], start.position)
            }
            if case .argument = first { return first }
            throw unexpected("AND and the upper bound")
        case .path, .subquery, .shape:
            throw source.error(.querySyntax, "BETWEEN needs two constants or arguments", at: start.position)
        }
    }

    /// In `x BETWEEN $0 AND 1 + 2 == y` the comparison after AND is one of its own, so $0 must be a list. So it is
    /// where a property follows, which no bound has.
    private func isListArgument(_ first: Predicate.Operand) -> Bool {
        guard isArgument(first) else { return false }
        var depth = 0
        var isOperand = true
        var ahead = 1
        while true {
            let token = peek(ahead)
            ahead += 1
            switch token.kind {
            case .constant, .argument: isOperand = false
            case .plus, .minus, .star, .slash: isOperand = true
            case .openParenthesis: depth += 1
            case .closeParenthesis:
                if depth == 0 { return false }
                depth -= 1
            case .comparison, .not: return true
            case .variable where isArgument(token) && peek(ahead).kind != .dot: isOperand = false
            case .name(let word, isQuoted: false) where isOperand && Self.isBoundWord(word, before: peek(ahead)):
                isOperand = false
            case .name, .variable: return isOperand || Self.isWordOperator(token)
            default: return false
            }
        }
    }

    private static func isBoundWord(_ word: String, before next: Token) -> Bool {
        if word.lowercased() == "now" { return next.kind == .openParenthesis }
        switch Keyword.named(word) {
        case .null, .nil, .nan, .inf, .infinity: return true
        default: return false
        }
    }

    private func isArgument(_ operand: Predicate.Operand) -> Bool {
        if case .argument = operand { return true }
        return false
    }

    private func followingIsValue(isSurelyBound: Bool) -> Bool {
        switch following.kind {
        case .constant: return true
        case .argument, .variable: return isArgument(following) && peek(2).kind != .dot
        case .openParenthesis, .minus: return isSurelyBound
        case .name(let word, isQuoted: false): return Self.isBoundWord(word, before: peek(2))
        default: return false
        }
    }
}
