/// The double nearest to a decimal of at most 19 digits, without big numbers: what texts of numbers mostly are.
///
///     12   0.25   98.54162487462388   -7e3
///
/// Small ones are one exact division or product. Sixteen and more digits with a fraction are multiplied by 64 bits of
/// the reciprocal of a power of five; what is not known is then less than two in the last place of 63 bits, of which a
/// double keeps 53. Where that decides how to round, 128 bits are divided instead.
enum NearestDouble {
    /// `digits` times ten to the `power`; nil where that takes another way.
    @inline(__always)
    static func value(_ digits: UInt64, _ power: Int) -> Double? {
        // Both numbers and their product or quotient are exact or rounded once.
        if digits <= 1 << 53, power >= -22, power <= 22 {
            let whole = Double(digits)
            return power < 0 ? whole / tables.tens[-power] : whole * tables.tens[power]
        }
        guard power < 0, power >= -19, digits != 0 else { return nil }
        return product(digits, -power) ?? quotient(digits, -power)
    }

    /// Ten to the `power`, 0 to 22.
    static func ten(_ power: Int) -> Double { tables.tens[power] }

    /// `digits` over ten to the `places`, unless rounding hangs on what the product leaves out.
    static func product(_ digits: UInt64, _ places: Int) -> Double? {
        let shift = digits.leadingZeroBitCount
        let high = (digits << UInt64(shift)).multipliedFullWidth(by: tables.reciprocals[places]).high
        // The exact product is at least `high` and less than `high` + 2.
        let excess = UInt64(11 - high.leadingZeroBitCount)
        let rest = high & ((1 << excess) - 1)
        let half: UInt64 = 1 << (excess - 1)
        var top = high >> excess
        if rest > half {
            top += 1
        } else if rest + 2 > half {
            return nil
        }
        return scaled(top, Int(excess) + 1 - tables.fiveBits[places] - shift - places)
    }

    /// The same with what is rounded having a bit for everything below it.
    static func quotient(_ digits: UInt64, _ places: Int) -> Double? {
        var divisor: UInt64 = 1
        for _ in 0 ..< places { divisor &*= 10 }
        let shift = digits.leadingZeroBitCount
        let (quotient, remainder) = (UInt128(digits << UInt64(shift)) << 64)
            .quotientAndRemainder(dividingBy: UInt128(divisor))
        // The quotient has more than 63 bits, because the dividend has 128 and the divisor at most 64.
        let excess = 64 - quotient.leadingZeroBitCount
        guard excess >= 0 else { return nil }
        var top = UInt64(truncatingIfNeeded: quotient >> UInt128(excess))
        if remainder != 0 || quotient & ((1 << UInt128(excess)) - 1) != 0 { top |= 1 }
        return scaled(top, excess - 64 - shift)
    }

    /// Times two to an exponent that leaves the result far from both ends of what a double holds.
    @inline(__always)
    private static func scaled(_ whole: UInt64, _ exponent: Int) -> Double {
        Double(whole) * Double(bitPattern: UInt64(1_023 + exponent) << 52)
    }

    private struct Tables: @unchecked Sendable {  // @unchecked: written once, before anybody has them
        let tens = UnsafeMutablePointer<Double>.allocate(capacity: 23)
        /// Of five to the n, the 64 bits of its reciprocal that begin with the first that is set, cut off.
        let reciprocals = UnsafeMutablePointer<UInt64>.allocate(capacity: 20)
        /// By how many bits those are too large: 2 to the 63 + that, over five to the n, cut off.
        let fiveBits = UnsafeMutablePointer<Int>.allocate(capacity: 20)

        init() {
            var ten = 1.0
            for power in 0 ... 22 {
                tens[power] = ten
                ten *= 10
            }
            var five: UInt128 = 1
            for power in 0 ... 19 {
                let bits = power == 0 ? 0 : 128 - five.leadingZeroBitCount
                reciprocals[power] = UInt64((1 << UInt128(63 + bits)) / five)
                fiveBits[power] = bits
                five *= 5
            }
        }
    }

    private static let tables = Tables()
}
