/// Arithmetic, value by value, as the documents describe it.
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

extension NaiveEvaluator {
    /// nil for comparisons without arithmetic.
    func arithmeticHolds(_ comparison: Predicate.Comparison, _ name: String, _ key: Int64) -> Bool? {
        guard Self.isArithmetic(comparison.left) || Self.isArithmetic(comparison.right) else { return nil }
        let left = computed(comparison.left, name, key)
        switch comparison.operator {
        case .in: return several(comparison.right).contains { Self.pairHolds(.equal, left, $0) }
        case .between:
            let bounds = several(comparison.right)
            return Self.pairHolds(.greaterOrEqual, left, bounds[0]) && Self.pairHolds(.lessOrEqual, left, bounds[1])
        default: return Self.pairHolds(comparison.operator, left, computed(comparison.right, name, key))
        }
    }

    private static func isArithmetic(_ operand: Predicate.Operand) -> Bool {
        if case .arithmetic = operand { return true }
        return false
    }

    private func computed(_ operand: Predicate.Operand, _ name: String, _ key: Int64) -> Value {
        switch operand {
        case .path(let path):
            return reach(name, key, path.names[...]).values.first ?? .null
        case .arithmetic(let arithmetic):
            // What is no number and no time is not computed with.
            let (left, right) = (computed(arithmetic.left, name, key), computed(arithmetic.right, name, key))
            guard Self.isComputed(left), Self.isComputed(right) else { return .null }
            return Self.apply(left, arithmetic.operator, right)
        default: return single(operand)
        }
    }

    private static func isComputed(_ value: Value) -> Bool { value.kind.isNumeric || value.kind == .timestamp }

    static func apply(_ left: Value, _ sign: Predicate.ArithmeticOperator, _ right: Value) -> Value {
        switch (left, right) {
        case (.null, _), (_, .null): return .null
        case (.timestamp(let one), .timestamp(let other)):
            guard sign == .subtract else { return .null }
            let whole = Int128(one.seconds) - Int128(other.seconds)
            guard let seconds = Int64(exactly: whole) else {
                return .double(Double(one.seconds) - Double(other.seconds))
            }
            return .double(Double(seconds) + Double(Int(one.nanoseconds) - Int(other.nanoseconds)) / 1e9)
        case (.timestamp(let time), let number): return moved(time, sign, number)
        case (let number, .timestamp(let time)): return sign == .add ? moved(time, sign, number) : .null
        case (.int(let one), .int(let other)):
            if sign == .divide, other == 0 { return .null }
            let (left, right) = (Int128(one), Int128(other))
            let result =
                switch sign {
                case .add: left + right
                case .subtract: left - right
                case .multiply: left * right
                case .divide: left / right
                }
            return Int64(exactly: result).map(Value.int) ?? .null
        case (.decimal, _), (_, .decimal):
            let (one, other) = (asDecimal(left) ?? .nan, asDecimal(right) ?? .nan)
            switch sign {
            case .add: return .decimal((one + other).decimal)
            case .subtract: return .decimal((one - other).decimal)
            case .multiply: return .decimal((one * other).decimal)
            case .divide: return .decimal((one / other).decimal)
            }
        default:
            let (one, other) = (number(left), number(right))
            switch sign {
            case .add: return .double(one + other)
            case .subtract: return .double(one - other)
            case .multiply: return .double(one * other)
            case .divide: return .double(one / other)
            }
        }
    }

    private static func moved(_ time: Timestamp, _ sign: Predicate.ArithmeticOperator, _ by: Value) -> Value {
        guard sign == .add || sign == .subtract else { return .null }
        let direction: Int128 = sign == .add ? 1 : -1
        var total = Int128(time.seconds) * 1_000_000_000 + Int128(time.nanoseconds)
        if case .int(let seconds) = by {
            total += direction * Int128(seconds) * 1_000_000_000
        } else {
            let seconds = number(by) * Double(direction)
            guard seconds >= -0x1p63, seconds < 0x1p63 else { return .null }
            let whole = seconds.rounded(.down)
            total += Int128(whole) * 1_000_000_000 + Int128(((seconds - whole) * 1e9).rounded())
        }
        var (seconds, nanoseconds) = total.quotientAndRemainder(dividingBy: 1_000_000_000)
        if nanoseconds < 0 {
            seconds -= 1
            nanoseconds += 1_000_000_000
        }
        return Int64(exactly: seconds).map {
            .timestamp(Timestamp(seconds: $0, nanoseconds: UInt32(nanoseconds)))
        } ?? .null
    }
}
