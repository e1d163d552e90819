/// Arithmetic on the sides of comparisons, by precedence.
///
///     sum      := product {(+ | -) product}
///     product  := factor {(* | /) factor}
///     factor   := '(' sum ')' | - factor | now '(' ')' | operand
import MotteValues

extension Parser {
    /// One side of a comparison.
    mutating func sum() throws(DatabaseError) -> Predicate.Operand {
        var left = try product()
        while token.kind == .plus || token.kind == .minus {
            left = try arithmetic(left, token.kind == .plus ? .add : .subtract) {
                parser throws(DatabaseError) in try parser.product()
            }
        }
        return left
    }

    private mutating func product() throws(DatabaseError) -> Predicate.Operand {
        var left = try factor()
        while token.kind == .star || token.kind == .slash {
            left = try arithmetic(left, token.kind == .star ? .multiply : .divide) {
                parser throws(DatabaseError) in try parser.factor()
            }
        }
        return left
    }

    private mutating func arithmetic(
        _ left: Predicate.Operand, _ sign: Predicate.ArithmeticOperator,
        _ right: (inout Parser) throws(DatabaseError) -> Predicate.Operand
    ) throws(DatabaseError) -> Predicate.Operand {
        let position = token.position
        // Trees of them are walked recursively.
        operatorCount += 1
        guard operatorCount <= Predicate.deepest else {
            throw failure("a comparison has at most \(Predicate.deepest) arithmetic operators")
        }
        advance()
        return .arithmetic(.init(left, sign, try right(&self), position: position))
    }

    private mutating func factor() throws(DatabaseError) -> Predicate.Operand {
        switch token.kind {
        case .openParenthesis:
            advance()
            let inner = try nested { parser throws(DatabaseError) in try parser.sum() }
            try expect(.closeParenthesis, "an operator or ')'")
            return inner
        case .minus:
            let zero = Predicate.Operand.constant(.int(0), token.position)
            return try nested { parser throws(DatabaseError) in
                try parser.arithmetic(zero, .subtract) { parser throws(DatabaseError) in try parser.factor() }
            }
        case .name(let word, isQuoted: false)
        where following.kind == .openParenthesis && word.lowercased() == "now":
            let position = token.position
            advance()
            advance()
            try expect(.closeParenthesis, "')'")
            return .now(position)
        default: return try operand()
        }
    }

    /// Whether the parenthesis here opens a part of a sum: an operator of arithmetic or comparison follows its end.
    var opensSum: Bool {
        guard token.kind == .openParenthesis else { return false }
        let (next, second) = behindParentheses
        switch next.kind {
        case .plus, .minus, .star, .slash, .comparison: return true
        case .not: return Self.isWordOperator(second)
        default: return Self.isWordOperator(next)
        }
    }
}
