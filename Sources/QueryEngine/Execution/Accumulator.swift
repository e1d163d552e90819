/// Count, sum, minimum and maximum of values that come one by one, and what the functions make of them: the same rules
/// for all totals, of collections, of groups and in conditions.
///
///     nulls         take no part
///     ints          sums and averages are exact until they are given out
///     doubles       are added as they come; NaN is below all other numbers
///     mixed values  the numbers take part, and nothing else; sums are decimal: ints exactly, a double as the shortest
///                   decimal that reads as the same double
///     of nothing    sums are 0, all else is null
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct Accumulator {
    let type: PropertyType
    var count = 0
    var intSum: Int128 = 0
    var doubleSum = 0.0
    var decimalSum = Decimal128.zero
    var lowest = ValueView.null
    var highest = ValueView.null

    package init(_ type: PropertyType) { self.type = type }

    private var isDecimal: Bool { type == .decimal || type == .mixed }

    package mutating func add(_ view: ValueView) {
        if type == .mixed, view.kind?.isNumeric != true { return }
        switch view.kind {
        case .null, nil: return
        case .int: intSum += Int128(view.intValue)
        case .float: add(Double(view.floatValue))
        case .double: add(view.doubleValue)
        case .decimal: decimalSum = decimalSum.adding(view.decimalValue)
        default: break
        }
        count += 1
        bound(view)
    }

    /// Numbers of one chunk, which lie side by side.
    package mutating func add(_ chunk: ColumnChunk, _ rows: Range<Int>) {
        switch type.form {
        case .int:
            var low = Int64.max, high = Int64.min, sum: Int128 = 0, found = 0
            for row in rows where !chunk.isNull(row) {
                let value = chunk.int(row)
                sum += Int128(value)
                low = min(low, value)
                high = max(high, value)
                found += 1
            }
            guard found > 0 else { return }
            count += found
            intSum += sum
            bound(.int(low))
            bound(.int(high))
        default: for row in rows where !chunk.isNull(row) { add(chunk.view(row)) }
        }
    }

    private mutating func add(_ value: Double) {
        guard isDecimal else {
            doubleSum += value
            return
        }
        // Whole numbers are the same in both ways, and most are.
        if value.magnitude < 0x1p53, value == value.rounded(.towardZero) {
            intSum += Int128(Int64(value))
        } else {
            decimalSum = decimalSum.adding(Decimal128(value))
        }
    }

    private mutating func bound(_ view: ValueView) {
        if lowest.isNull || ValueOrdering.compare(view, lowest) < 0 { lowest = view }
        if highest.isNull || ValueOrdering.compare(view, highest) > 0 { highest = view }
    }

    // MARK: Results

    /// Only for numbers and timestamps, or for counts. `name` is for messages.
    package func result(
        _ function: Predicate.CollectionOperator, _ name: String
    ) throws(DatabaseError) -> Value {
        if function == .sum, type == .int, Int64(exactly: intSum) == nil {
            throw DatabaseError(
                .overflow, "the sum of \(name) does not fit in 64 bits; use the average, or fewer objects")
        }
        let view = view(function)
        if type == .float, view.kind == .double, function == .min || function == .max {
            return .float(Float(view.doubleValue))
        }
        return view.owned
    }

    /// For comparing: a sum of ints that does not fit in 64 bits is a decimal.
    package func view(_ function: Predicate.CollectionOperator) -> ValueView {
        switch function {
        case .count: return .int(Int64(count))
        case .min: return lowest
        case .max: return highest
        case .sum:
            if isDecimal { return .decimal(decimalTotal) }
            return type == .int ? Self.sum(intSum) : .double(doubleSum)
        case .avg:
            if count == 0 { return .null }
            if isDecimal { return .decimal(decimalTotal.dividing(by: Decimal128(Int64(count)))) }
            return .double(type == .int ? Self.average(intSum, Int64(count)) : doubleSum / Double(count))
        }
    }

    private var decimalTotal: Decimal128 { intSum == 0 ? decimalSum : decimalSum.adding(Decimal128(intSum)) }

    /// Of ints.
    static func sum(_ sum: Int128) -> ValueView { Int64(exactly: sum).map(ValueView.int) ?? .decimal(Decimal128(sum)) }

    /// The double that is next to the exact quotient.
    static func average(_ sum: Int128, _ count: Int64) -> Double {
        // Both are exact, and so the quotient is rounded once.
        if sum.magnitude < 1 << 53, count < 1 << 53 { return Double(sum) / Double(count) }
        // The quotient has more digits than a double; one more bit tells that something is left.
        let shift = max(0, sum.magnitude.leadingZeroBitCount - 1)
        let (quotient, rest) = (sum.magnitude << UInt128(shift)).quotientAndRemainder(dividingBy: UInt128(count))
        let average = Double(sign: .plus, exponent: -shift, significand: Double(quotient | (rest == 0 ? 0 : 1)))
        return sum < 0 ? -average : average
    }
}
