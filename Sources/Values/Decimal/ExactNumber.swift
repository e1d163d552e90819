/// A finite number of any kind by its decimal digits, all of them: 0.d1 d2 d3 ... x 10^length, without zeros at either
/// end. Every double has finitely many, at most 767.
struct ExactNumber {
    let sign: Int
    let length: Int
    let digits: [UInt8]

    /// nil for NaN, infinities and what is no number.
    init?(_ view: ValueView) {
        switch view.kind {
        case .int: self.init(negative: view.intValue < 0, Naturals(UInt128(view.intValue.magnitude)), exponent: 0)
        case .float: self.init(Double(view.floatValue))
        case .double: self.init(view.doubleValue)
        case .decimal:
            let value = view.decimalValue
            guard value.isFinite else { return nil }
            self.init(negative: value.isNegative, Naturals(value.coefficient), exponent: value.exponent)
        default: return nil
        }
    }

    private init?(_ value: Double) {
        guard value.isFinite else { return nil }
        let isNormal = value.exponentBitPattern > 0
        var significand = UInt64(value.significandBitPattern) | (isNormal ? 1 << 52 : 0)
        var power = max(Int(value.exponentBitPattern), 1) - 1_075
        let zeros = significand == 0 ? 0 : significand.trailingZeroBitCount
        significand >>= UInt64(zeros)
        power += zeros
        var number = Naturals(UInt128(significand))
        // x / 2^n is x * 5^n / 10^n.
        if power >= 0 { number.multiply(by: 2, times: power) } else { number.multiply(by: 5, times: -power) }
        self.init(negative: value < 0, number, exponent: min(power, 0))
    }

    private init(negative: Bool, _ number: Naturals, exponent: Int) {
        var digits = number.decimalDigits
        length = digits.count + exponent
        while digits.last == 0 { digits.removeLast() }
        sign = digits.isEmpty ? 0 : negative ? -1 : 1
        self.digits = digits
    }
}

/// A whole number of any size, as far as exact comparisons need it.
struct Naturals {
    /// Least significant first.
    private var words: [UInt32] = []

    init(_ value: UInt128) {
        var rest = value
        while rest > 0 {
            words.append(UInt32(truncatingIfNeeded: rest))
            rest >>= 32
        }
    }

    /// `factor` is 2, 5 or 10.
    mutating func multiply(by factor: UInt32, times: Int) {
        // As many at a time as fit a word.
        let step = factor == 10 ? 9 : factor == 5 ? 13 : 30
        var power: UInt32 = 1
        for _ in 0 ..< step { power *= factor }
        for _ in 0 ..< times / step { multiply(power) }
        for _ in 0 ..< times % step { multiply(factor) }
    }

    private mutating func multiply(_ factor: UInt32) {
        var carry: UInt64 = 0
        for index in words.indices {
            let product = UInt64(words[index]) * UInt64(factor) + carry
            words[index] = UInt32(truncatingIfNeeded: product)
            carry = product >> 32
        }
        if carry > 0 { words.append(UInt32(carry)) }
    }

    static func compare(_ left: Naturals, _ right: Naturals) -> Int {
        if left.words.count != right.words.count { return left.words.count < right.words.count ? -1 : 1 }
        for (one, two) in zip(left.words.reversed(), right.words.reversed()) where one != two {
            return one < two ? -1 : 1
        }
        return 0
    }

    /// Most significant first, none for zero.
    var decimalDigits: [UInt8] {
        var rest = words
        var digits: [UInt8] = []
        while !rest.isEmpty {
            var remainder: UInt64 = 0
            for index in rest.indices.reversed() {
                let value = remainder << 32 | UInt64(rest[index])
                rest[index] = UInt32(truncatingIfNeeded: value / 1_000_000_000)
                remainder = value % 1_000_000_000
            }
            while rest.last == 0 { rest.removeLast() }
            for _ in 0 ..< 9 {
                digits.append(UInt8(truncatingIfNeeded: remainder % 10))
                remainder /= 10
            }
        }
        while digits.last == 0 { digits.removeLast() }
        return digits.reversed()
    }
}
