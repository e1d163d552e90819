/// A decimal floating-point number of 34 digits, as IEEE 754-2008 stores it (binary integer decimal, little-endian).
///
///     bit 127 sign | 14 bits exponent + 6176 | 113 bits coefficient       value = coefficient x 10^exponent
///     bits 126...123 all set: infinite (bit 122 clear) or not a number
///
/// Equality, order and hash go by the number, not by its form: 1.0 equals 1.00, -0 equals 0. NaN equals NaN, below
/// all numbers. Results are rounded half to even. A coefficient of more than 34 digits, which no operation makes, is 0.
package struct Decimal128: Sendable {
    package let low: UInt64
    package let high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    static let bias = 6_176
    static let greatestExponent = 6_111
    static let leastExponent = -6_176
    static let digitLimit = 34
    /// 10^34 - 1.
    static let greatestCoefficient = powers[34] - 1
    /// 10^0 ... 10^38.
    static let powers: [UInt128] = {
        var powers: [UInt128] = [1]
        for _ in 1 ... 38 { powers.append((powers.last ?? 1) * 10) }
        return powers
    }()

    package static let nan = Decimal128(low: 0, high: 0x7C00_0000_0000_0000)
    package static let infinity = Decimal128(low: 0, high: 0x7800_0000_0000_0000)
    package static let zero = Decimal128(Int64(0))

    // MARK: Parts

    package var isNegative: Bool { high >> 63 != 0 }
    package var isNaN: Bool { high & 0x7C00_0000_0000_0000 == 0x7C00_0000_0000_0000 }
    package var isInfinite: Bool { high & 0x7C00_0000_0000_0000 == 0x7800_0000_0000_0000 }
    package var isFinite: Bool { high & 0x7800_0000_0000_0000 != 0x7800_0000_0000_0000 }
    package var isZero: Bool { isFinite && coefficient == 0 }

    /// Of a finite number.
    package var exponent: Int {
        // The second form is for coefficients above 113 bits, of which none is canonical.
        let form = high & 0x6000_0000_0000_0000 == 0x6000_0000_0000_0000
        return Int((form ? high >> 47 : high >> 49) & 0x3FFF) - Self.bias
    }

    /// Of a finite number.
    package var coefficient: UInt128 {
        if high & 0x6000_0000_0000_0000 == 0x6000_0000_0000_0000 { return 0 }
        let value = UInt128(high & 0x0001_FFFF_FFFF_FFFF) << 64 | UInt128(low)
        return value > Self.greatestCoefficient ? 0 : value
    }

    /// A coefficient of at most 34 digits and an exponent in range.
    private init(negative: Bool, exact coefficient: UInt128, exponent: Int) {
        low = UInt64(truncatingIfNeeded: coefficient)
        high =
            (negative ? 1 << 63 : 0) | UInt64(exponent + Self.bias) << 49
            | UInt64(truncatingIfNeeded: coefficient >> 64)
    }

    /// Rounds to what fits. `isInexact` says that digits below `coefficient` were cut off already.
    init(negative: Bool, coefficient: UInt128, exponent: Int, isInexact: Bool = false) {
        self =
            Self.rounded(negative: negative, coefficient: coefficient, exponent: exponent, isInexact: isInexact).value
    }

    /// The same, and whether that is the very number.
    static func rounded(
        negative: Bool, coefficient: UInt128, exponent: Int, isInexact: Bool
    ) -> (value: Decimal128, isExact: Bool) {
        var coefficient = coefficient
        var exponent = exponent
        var sticky = isInexact
        var drop = max(0, digits(coefficient) - digitLimit)
        if exponent + drop < leastExponent { drop = leastExponent - exponent }
        if drop > 0 {
            if drop > 38 {
                sticky = sticky || coefficient != 0
                coefficient = 0
            } else {
                let (quotient, remainder) = coefficient.quotientAndRemainder(dividingBy: powers[drop])
                let half = powers[drop] / 2
                let isUp = remainder > half || (remainder == half && (sticky || quotient & 1 == 1))
                sticky = sticky || remainder != 0
                coefficient = quotient + (isUp ? 1 : 0)
                if coefficient > greatestCoefficient {
                    coefficient /= 10
                    exponent += 1
                }
            }
            exponent += drop
        }
        if coefficient == 0 { exponent = min(max(exponent, leastExponent), greatestExponent) }
        // A large exponent can borrow zeros of a short coefficient.
        while exponent > greatestExponent, coefficient <= greatestCoefficient / 10 {
            coefficient *= 10
            exponent -= 1
        }
        if exponent > greatestExponent { return (negative ? Decimal128.infinity.negated : .infinity, false) }
        return (Decimal128(negative: negative, exact: coefficient, exponent: exponent), !sticky)
    }

    static func digits(_ value: UInt128) -> Int {
        var count = 0
        while count < powers.count, powers[count] <= value { count += 1 }
        return count
    }

    // MARK: From and to binary numbers

    package init(_ value: Int64) {
        self.init(negative: value < 0, exact: UInt128(value.magnitude), exponent: 0)
    }

    /// To 34 digits.
    package init(_ value: Int128) {
        self.init(negative: value < 0, coefficient: value.magnitude, exponent: 0, isInexact: false)
    }

    /// The shortest decimal that reads back as the same double.
    package init(_ value: Double) {
        if value.isNaN {
            self = .nan
        } else if value.isInfinite {
            self = value < 0 ? Decimal128.infinity.negated : .infinity
        } else {
            self = Decimal128(parsing: value.description) ?? .nan
        }
    }

    /// The nearest double.
    package var doubleValue: Double {
        if isNaN { return .nan }
        if isInfinite { return isNegative ? -.infinity : .infinity }
        return Double((isNegative ? "-" : "") + "\(coefficient)e\(exponent)") ?? .nan
    }

    /// Exactly; nil when it is no whole number of 64 bits.
    package var int64Value: Int64? {
        guard isFinite else { return nil }
        var value = coefficient
        var exponent = exponent
        while exponent < 0, value % 10 == 0, value != 0 {
            value /= 10
            exponent += 1
        }
        if value == 0 { return 0 }
        guard exponent >= 0, exponent <= 19 else { return nil }
        let (scaled, overflow) = value.multipliedReportingOverflow(by: Self.powers[exponent])
        guard !overflow else { return nil }
        return isNegative ? (scaled <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- scaled) : nil) : Int64(exactly: scaled)
    }

    /// The greatest int of 64 bits that is not above it; nil where it lies outside of them.
    package var int64Below: Int64? {
        guard isFinite, Self.compare(self, -0x1p63) >= 0, Self.compare(self, 0x1p63) < 0 else { return nil }
        // Positive exponents make whole numbers, which are ints here.
        guard exponent < 0 else { return int64Value }
        let divisor = exponent >= -38 ? Self.powers[-exponent] : nil
        let (whole, rest) = divisor.map { coefficient.quotientAndRemainder(dividingBy: $0) } ?? (0, coefficient)
        let magnitude = isNegative && rest != 0 ? whole + 1 : whole
        return isNegative ? Int64(exactly: -Int128(magnitude)) : Int64(exactly: magnitude)
    }

    package var negated: Decimal128 { Decimal128(low: low, high: high ^ 1 << 63) }

    /// Without trailing zeros of the coefficient; of equal numbers the same.
    package var reduced: Decimal128 {
        if isNaN { return .nan }
        guard isFinite else { return isNegative ? Decimal128.infinity.negated : .infinity }
        var value = coefficient
        var exponent = exponent
        if value == 0 { return Decimal128(negative: false, exact: 0, exponent: 0) }
        while value % 10 == 0, exponent < Self.greatestExponent {
            value /= 10
            exponent += 1
        }
        return Decimal128(negative: isNegative, exact: value, exponent: exponent)
    }
}

// MARK: - Order

extension Decimal128: Comparable, Hashable {
    package static func == (left: Decimal128, right: Decimal128) -> Bool { compare(left, right) == 0 }
    package static func < (left: Decimal128, right: Decimal128) -> Bool { compare(left, right) < 0 }

    package func hash(into hasher: inout Hasher) {
        let canonical = reduced
        hasher.combine(canonical.low)
        hasher.combine(canonical.high)
    }

    /// Negative, zero or positive; NaN first.
    package static func compare(_ left: Decimal128, _ right: Decimal128) -> Int {
        if left.isNaN || right.isNaN { return (right.isNaN ? 1 : 0) - (left.isNaN ? 1 : 0) }
        let sign = left.sign
        let other = right.sign
        if sign != other || sign == 0 { return sign < other ? -1 : sign > other ? 1 : 0 }
        return sign * compareMagnitudes(left, right)
    }

    /// Two words whose order, the first one first, is that of the numbers; equal for equal ones.
    package var orderKey: (UInt64, UInt64) {
        if isNaN { return (0, 0) }
        var key: UInt128 = 0
        if isInfinite {
            key = UInt128.max >> 1
        } else if coefficient != 0 {
            // All 34 digits, so that the exponent tells how long the number is.
            let shift = Self.digitLimit - Self.digits(coefficient)
            let length = UInt128(exponent - shift - Self.leastExponent + 64)
            key = length << 113 | coefficient * Self.powers[shift]
        }
        let whole = isNegative && key != 0 ? (1 << 127) - key : (1 << 127) + key
        return (UInt64(truncatingIfNeeded: whole >> 64), UInt64(truncatingIfNeeded: whole))
    }

    private var sign: Int { isZero ? 0 : isNegative ? -1 : 1 }

    /// Of numbers other than 0 and NaN.
    private static func compareMagnitudes(_ left: Decimal128, _ right: Decimal128) -> Int {
        if left.isInfinite || right.isInfinite { return (left.isInfinite ? 1 : 0) - (right.isInfinite ? 1 : 0) }
        let one = left.coefficient
        let two = right.coefficient
        let length = digits(one) + left.exponent
        let otherLength = digits(two) + right.exponent
        if length != otherLength { return length < otherLength ? -1 : 1 }
        // The same length: the one with the larger exponent has fewer digits, and room for its zeros.
        let shift = left.exponent - right.exponent
        let scaled = shift > 0 ? one * powers[shift] : one
        let otherScaled = shift < 0 ? two * powers[-shift] : two
        return scaled < otherScaled ? -1 : scaled > otherScaled ? 1 : 0
    }

    /// Exact comparison with a double: by the double's own, unrounded value.
    package static func compare(_ decimal: Decimal128, _ double: Double) -> Int {
        if decimal.isNaN || double.isNaN { return (double.isNaN ? 1 : 0) - (decimal.isNaN ? 1 : 0) }
        let sign = decimal.sign
        let other = double == 0 ? 0 : double < 0 ? -1 : 1
        if sign != other || sign == 0 { return sign < other ? -1 : sign > other ? 1 : 0 }
        if double.isInfinite || decimal.isInfinite {
            return sign * ((decimal.isInfinite ? 1 : 0) - (double.isInfinite ? 1 : 0))
        }
        // Decided by the lengths in most cases; doubles have at most 309 digits before the point, 324 places after.
        let length = digits(decimal.coefficient) + decimal.exponent
        if length > 310 { return sign }
        if length < -325 { return -sign }
        let significand =
            UInt64(double.magnitude.significandBitPattern)
            | (double.isNormal ? 1 << 52 : 0)
        let power = max(Int(double.exponentBitPattern), 1) - 1_075
        // coefficient x 10^e against significand x 2^p, with negative powers moved to the other side.
        var left = Naturals(decimal.coefficient)
        var right = Naturals(UInt128(significand))
        if decimal.exponent >= 0 {
            left.multiply(by: 10, times: decimal.exponent)
        } else {
            right.multiply(by: 10, times: -decimal.exponent)
        }
        if power >= 0 { right.multiply(by: 2, times: power) } else { left.multiply(by: 2, times: -power) }
        return sign * Naturals.compare(left, right)
    }
}
