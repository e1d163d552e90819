/// Arithmetic after binding: paths without collections and constants, with what kind of value each part is.
import MotteColumns
import MotteSchemaModel
import MotteValues

package indirect enum BoundExpression: Sendable {
    case constant(Quantity)
    case path(BoundPath, QuantityKind)
    /// A number that the functions make of a text.
    case length(BoundPath, TextFunctions)
    case arithmetic(BoundExpression, Predicate.ArithmeticOperator, BoundExpression, QuantityKind)

    var kind: QuantityKind {
        switch self {
        case .constant(let value): value.kind
        case .length: .int
        case .path(_, let kind), .arithmetic(_, _, _, let kind): kind
        }
    }

    /// How many operators and paths there are.
    var size: Int {
        switch self {
        case .constant: 0
        case .path(let path, _), .length(let path, _): 1 + path.steps.count
        case .arithmetic(let left, _, let right, _): 1 + left.size + right.size
        }
    }

    /// Of one row, whose values at the ends of paths `read` knows.
    func value(_ read: (BoundPath) -> ValueView) -> Quantity {
        switch self {
        case .constant(let value): value
        case .path(let path, _): Quantity(view: read(path))
        case .length(let path, let functions): functions.apply(read(path)) { Quantity(view: $0) }
        case .arithmetic(let left, let sign, let right, _): Quantity.compute(left.value(read), sign, right.value(read))
        }
    }

    /// The constant as a number of the other side's kind, where that is the same number: such sides compare fastest.
    func matched(to other: BoundExpression) -> BoundExpression {
        guard case .constant(let value) = self else { return self }
        switch (value, other.kind) {
        case (.int(let int), .double):
            let double = Double(int)
            return Int64(exactly: double) == int ? .constant(.double(double)) : self
        case (.double(let double), .int): return Int64(exactly: double).map { .constant(.int($0)) } ?? self
        default: return self
        }
    }
}
