/// What arithmetic computes with, value by value, and what its operators mean.
///
///     int, int                 int; a quotient drops its fraction
///     a decimal and a number   decimal, by the rules of decimals
///     other numbers            double; a float is the double of the same value
///     time - time              double: seconds
///     time + number, time - number, number + time     time: the number is seconds
///
/// Null with anything is null. What an int cannot hold, a division of ints by zero and a time beyond all times have no
/// value, which is null, too. Mixed values are as what they hold; between what does not go together there is no value.
/// A mixed value that is no number and no time is not null for that: compared as a whole it differs from null.
import MotteSchemaModel
import MotteValues

package enum QuantityKind: Sendable {
    case null, int, double, decimal, time
    /// Known value by value.
    case mixed

    init?(_ type: PropertyType) {
        switch type {
        case .int: self = .int
        case .float, .double: self = .double
        case .decimal: self = .decimal
        case .timestamp: self = .time
        case .mixed: self = .mixed
        default: return nil
        }
    }

    var isNumber: Bool { self == .int || self == .double || self == .decimal }

    /// nil where the operator does not work on the two.
    static func result(
        _ left: QuantityKind, _ sign: Predicate.ArithmeticOperator, _ right: QuantityKind
    ) -> QuantityKind? {
        if left == .null || right == .null { return .null }
        if left == .mixed || right == .mixed { return .mixed }
        switch (left, right) {
        case (.time, .time): return sign == .subtract ? .double : nil
        case (.time, _): return sign == .add || sign == .subtract ? .time : nil
        case (_, .time): return sign == .add ? .time : nil
        case (.decimal, _), (_, .decimal): return .decimal
        case (.int, .int): return .int
        default: return .double
        }
    }
}

package enum Quantity: Sendable {
    case null
    case int(Int64)
    case double(Double)
    case decimal(Decimal128)
    case time(Timestamp)
    /// A text, a list or anything else that is not computed with.
    case other

    /// nil for what is no number, time or null.
    package init?(_ value: Value) {
        self = value.withView { Quantity(view: $0) }
        if case .other = self { return nil }
    }

    @inline(__always)
    init(view: ValueView) {
        switch view.kindNumber {
        case ValueKind.null.rawValue: self = .null
        case ValueKind.int.rawValue: self = .int(view.intValue)
        case ValueKind.float.rawValue: self = .double(Double(view.floatValue))
        case ValueKind.double.rawValue: self = .double(view.doubleValue)
        case ValueKind.decimal.rawValue: self = .decimal(view.decimalValue)
        case ValueKind.timestamp.rawValue: self = .time(view.timestampValue)
        default: self = .other
        }
    }

    package var kind: QuantityKind {
        switch self {
        case .null: .null
        case .int: .int
        case .double: .double
        case .decimal: .decimal
        case .time: .time
        case .other: .mixed
        }
    }

    package var value: Value {
        switch self {
        case .null, .other: .null
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .decimal(let value): .decimal(value)
        case .time(let value): .timestamp(value)
        }
    }

    /// For comparing. What is not computed with stands for itself as something that no number and no time equals.
    var view: ValueView {
        switch self {
        case .other: .bool(true)
        case .null: .null
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .decimal(let value): .decimal(value)
        case .time(let value): .timestamp(value)
        }
    }

    package static func compute(
        _ left: Quantity, _ sign: Predicate.ArithmeticOperator, _ right: Quantity
    ) -> Quantity {
        switch (left, right) {
        case (.int(let one), .int(let other)): return compute(one, sign, other).map(Quantity.int) ?? .null
        case (.double(let one), .double(let other)): return .double(compute(one, sign, other))
        case (.int(let one), .double(let other)): return .double(compute(Double(one), sign, other))
        case (.double(let one), .int(let other)): return .double(compute(one, sign, Double(other)))
        case (.time(let one), .time(let other)): return sign == .subtract ? .double(seconds(one, other)) : .null
        case (.time(let time), .int(let seconds)): return moved(time, sign, by: seconds).map(Quantity.time) ?? .null
        case (.time(let time), .double(let seconds)): return moved(time, sign, by: seconds).map(Quantity.time) ?? .null
        case (.time(let time), .decimal(let seconds)):
            return moved(time, sign, by: seconds.doubleValue).map(Quantity.time) ?? .null
        case (.int, .time), (.double, .time), (.decimal, .time):
            return sign == .add ? compute(right, sign, left) : .null
        case (.decimal(let one), .decimal(let other)): return .decimal(compute(one, sign, other))
        case (.decimal(let one), .int(let other)): return .decimal(compute(one, sign, Decimal128(other)))
        case (.int(let one), .decimal(let other)): return .decimal(compute(Decimal128(one), sign, other))
        case (.decimal(let one), .double(let other)): return .decimal(compute(one, sign, Decimal128(other)))
        case (.double(let one), .decimal(let other)): return .decimal(compute(Decimal128(one), sign, other))
        case (.null, _), (_, .null), (.other, _), (_, .other): return .null
        }
    }

    /// nil where there is no such int.
    @inline(__always)
    static func compute(_ left: Int64, _ sign: Predicate.ArithmeticOperator, _ right: Int64) -> Int64? {
        let (result, overflow) =
            switch sign {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            case .divide: left.dividedReportingOverflow(by: right)
            }
        return overflow ? nil : result
    }

    @inline(__always)
    static func compute(_ left: Double, _ sign: Predicate.ArithmeticOperator, _ right: Double) -> Double {
        switch sign {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        case .divide: left / right
        }
    }

    private static func compute(
        _ left: Decimal128, _ sign: Predicate.ArithmeticOperator, _ right: Decimal128
    ) -> Decimal128 {
        switch sign {
        case .add: left.adding(right)
        case .subtract: left.subtracting(right)
        case .multiply: left.multiplying(by: right)
        case .divide: left.dividing(by: right)
        }
    }

    // MARK: Times

    /// From `start` to `end`.
    @inline(__always)
    static func seconds(_ end: Timestamp, _ start: Timestamp) -> Double {
        let (whole, overflow) = end.seconds.subtractingReportingOverflow(start.seconds)
        let nanoseconds = Int64(end.nanoseconds) - Int64(start.nanoseconds)
        if overflow { return Double(end.seconds) - Double(start.seconds) }
        return Double(whole) + Double(nanoseconds) / 1e9
    }

    /// nil where there is no such time.
    @inline(__always)
    static func moved(
        _ time: Timestamp, _ sign: Predicate.ArithmeticOperator, by seconds: Int64
    ) -> Timestamp? {
        guard sign == .add || sign == .subtract, let moved = compute(time.seconds, sign, seconds) else { return nil }
        return Timestamp(seconds: moved, nanoseconds: time.nanoseconds)
    }

    /// To the nanosecond next to it.
    @inline(__always)
    static func moved(
        _ time: Timestamp, _ sign: Predicate.ArithmeticOperator, by seconds: Double
    ) -> Timestamp? {
        guard sign == .add || sign == .subtract else { return nil }
        let distance = sign == .add ? seconds : -seconds
        let whole = distance.rounded(.down)
        guard let wholeSeconds = Int64(exactly: whole) else { return nil }
        let nanoseconds = Int64(time.nanoseconds) + Int64(((distance - whole) * 1e9).rounded())
        // No double is so near the largest one that the carry is too much.
        let carry = nanoseconds / 1_000_000_000
        guard let moved = compute(time.seconds, .add, wholeSeconds + carry) else { return nil }
        return Timestamp(seconds: moved, nanoseconds: UInt32(nanoseconds % 1_000_000_000))
    }
}
