/// Sums, products and quotients of decimals, correctly rounded to 34 digits, half to even.
extension Decimal128 {
    package func adding(_ other: Decimal128) -> Decimal128 {
        if isNaN || other.isNaN { return .nan }
        if isInfinite || other.isInfinite {
            if isInfinite, other.isInfinite { return isNegative == other.isNegative ? self : .nan }
            return isInfinite ? self : other
        }
        // `large` has the larger exponent; it is brought down towards the other's as far as there is room.
        let (large, small) = exponent >= other.exponent ? (self, other) : (other, self)
        if large.coefficient == 0 {
            let difference = large.exponent - small.exponent
            if small.coefficient == 0 {
                return Decimal128(
                    negative: large.isNegative && small.isNegative, coefficient: 0, exponent: small.exponent)
            }
            return difference >= 0 ? small : large
        }
        // 38 digits hold 34 and four more; what lies below those only decides rounding.
        let room = 37 - Self.digits(large.coefficient)
        let shift = min(room, large.exponent - small.exponent)
        let left = large.coefficient * Self.powers[shift]
        let exponent = large.exponent - shift
        var right = small.coefficient
        var isInexact = false
        let drop = exponent - small.exponent
        if drop > 0 {
            if drop > 38 {
                isInexact = right != 0
                right = 0
            } else {
                let (quotient, remainder) = right.quotientAndRemainder(dividingBy: Self.powers[drop])
                isInexact = remainder != 0
                right = quotient
            }
        }
        if large.isNegative == small.isNegative {
            return Decimal128(
                negative: large.isNegative, coefficient: left + right, exponent: exponent, isInexact: isInexact)
        }
        if left >= right {
            // What was cut off the subtrahend makes the difference a little smaller than it looks.
            let difference = left - right - (isInexact ? 1 : 0)
            let isZero = difference == 0 && !isInexact
            return Decimal128(
                negative: isZero ? false : large.isNegative, coefficient: difference, exponent: exponent,
                isInexact: isInexact)
        }
        return Decimal128(
            negative: small.isNegative, coefficient: right - left, exponent: exponent, isInexact: isInexact)
    }

    package func subtracting(_ other: Decimal128) -> Decimal128 { adding(other.negated) }

    package func multiplying(by other: Decimal128) -> Decimal128 {
        if isNaN || other.isNaN { return .nan }
        let negative = isNegative != other.isNegative
        if isInfinite || other.isInfinite {
            if isZero || other.isZero { return .nan }
            return negative ? Decimal128.infinity.negated : .infinity
        }
        // At most 68 digits, of which 38 are kept.
        let product = coefficient.multipliedFullWidth(by: other.coefficient)
        let drop = max(0, Self.digits(coefficient) + Self.digits(other.coefficient) - 38)
        let divisor = Self.powers[drop]
        guard product.high < divisor else { return .nan }
        let (kept, rest) = divisor.dividingFullWidth((product.high, product.low))
        return Decimal128(
            negative: negative, coefficient: kept, exponent: exponent + other.exponent + drop, isInexact: rest != 0)
    }

    package func dividing(by other: Decimal128) -> Decimal128 {
        if isNaN || other.isNaN { return .nan }
        let negative = isNegative != other.isNegative
        if isInfinite { return other.isInfinite ? .nan : negative ? Decimal128.infinity.negated : .infinity }
        if other.isInfinite { return Decimal128(negative: negative, coefficient: 0, exponent: Self.leastExponent) }
        if other.isZero { return isZero ? .nan : negative ? Decimal128.infinity.negated : .infinity }
        let ideal = exponent - other.exponent
        if isZero { return Decimal128(negative: negative, coefficient: 0, exponent: ideal) }
        // Scaled so that the quotient has 35 to 37 digits, one more than counts.
        let shift = max(0, 36 - Self.digits(coefficient) + Self.digits(other.coefficient))
        let first = min(shift, 38 - Self.digits(coefficient))
        let scaled = coefficient * Self.powers[first]
        let wide = scaled.multipliedFullWidth(by: Self.powers[shift - first])
        let divisor = other.coefficient
        guard wide.high < divisor else { return .nan }
        let (quotient, remainder) = divisor.dividingFullWidth((wide.high, wide.low))
        var result = quotient
        var exponent = ideal - shift
        if remainder == 0 {
            // An exact quotient is as short as it can be, no shorter than the operands ask.
            while exponent < ideal, result % 10 == 0 {
                result /= 10
                exponent += 1
            }
        }
        return Decimal128(negative: negative, coefficient: result, exponent: exponent, isInexact: remainder != 0)
    }
}
