/// Arithmetic in a query: a tree of operators over paths, constants and arguments.
///
/// What of it has no paths is computed when the query is bound. The types of the parts decide what an operator means;
/// see `Quantity`.
import MotteValues

extension Predicate {
    package enum ArithmeticOperator: String, Sendable, CaseIterable {
        case add = "+", subtract = "-", multiply = "*", divide = "/"

        /// Before the others.
        var bindsTightly: Bool { self == .multiply || self == .divide }
    }

    package struct Arithmetic: Sendable, Equatable {
        package var left: Operand
        package var `operator`: ArithmeticOperator
        package var right: Operand
        /// Of the operator.
        package var position: SourcePosition

        package init(
            _ left: Operand, _ operator: ArithmeticOperator, _ right: Operand, position: SourcePosition = .none
        ) {
            self.left = left
            self.operator = `operator`
            self.right = right
            self.position = position
        }

        /// The result, where both sides are constants that the operator works on.
        var constant: Operand? {
            guard case .constant(let left, let position) = left, case .constant(let right, _) = right,
                let one = Quantity(left), let other = Quantity(right),
                QuantityKind.result(one.kind, `operator`, other.kind) != nil
            else { return nil }
            return .constant(Quantity.compute(one, `operator`, other).value, position)
        }
    }
}

extension Predicate {
    var asksForNow: Bool {
        switch self {
        case .constant: false
        case .not(let inner): inner.asksForNow
        case .and(let parts), .or(let parts): parts.contains { $0.asksForNow }
        case .comparison(let comparison): comparison.left.asksForNow || comparison.right.asksForNow
        }
    }
}

private extension Predicate.Operand {
    var asksForNow: Bool {
        switch self {
        case .now: true
        case .arithmetic(let arithmetic): arithmetic.left.asksForNow || arithmetic.right.asksForNow
        case .list(let elements, _): elements.contains { $0.asksForNow }
        case .subquery(let subquery): subquery.predicate.asksForNow
        case .path, .constant, .argument, .shape: false
        }
    }
}
