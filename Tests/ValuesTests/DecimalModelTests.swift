/// Decimal arithmetic beside digits of any number, rounded once at the end.
import MotteValues
import TestSupport
import Testing

@Suite struct DecimalModelTests {
    @Test func resultsAreThoseOfExactArithmeticRoundedOnce() throws {
        try PropertyTest.run(rounds: 4_000) { random, comment in
            let left = Exact.random(&random)
            let right = random.chance(20) ? left.nudged(&random) : Exact.random(&random)
            let (one, two) = (left.decimal, right.decimal)
            let note: Comment = "\(left.text) and \(right.text); \(comment)"
            #expect(one.adding(two) == left.adding(right).rounded, note)
            #expect(one.subtracting(two) == left.adding(right.negated).rounded, note)
            #expect(one.multiplying(by: two) == left.multiplying(right).rounded, note)
            if !right.isZero { #expect(one.dividing(by: two) == left.dividing(right).rounded, note) }
            let order = left.adding(right.negated)
            let expected = order.isZero ? 0 : order.isNegative ? -1 : 1
            #expect(Decimal128.compare(one, two).signum() == expected, note)
            #expect((one.orderKey < two.orderKey) == (expected < 0), note)
            #expect((one.orderKey == two.orderKey) == (expected == 0), note)
            if expected == 0 { #expect(one.hashValue == two.hashValue, note) }
            #expect(Decimal128(parsing: one.text) == one, note)
        }
    }

    @Test func orderKeysOrderAsValuesDo() throws {
        try PropertyTest.run(rounds: 4_000) { random, comment in
            let left = Self.value(&random, depth: 0)
            let right = random.chance(20) ? left : Self.value(&random, depth: 0)
            let (one, two) = (left.withView { OrderKey.bytes(of: $0) }, right.withView { OrderKey.bytes(of: $0) })
            let order = Value.compare(left, right)
            #expect((one == two) == (order == 0), "\(left) and \(right); \(comment)")
            #expect(one.lexicographicallyPrecedes(two) == (order < 0), "\(left) and \(right); \(comment)")
        }
    }

    private static func value(_ random: inout SeededRandom, depth: Int) -> Value {
        let doubles: [Double] = [
            0, -0.0, 1, 0.1, -0.1, 1.5, 1e300, -1e300, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
            9_007_199_254_740_992,
        ]
        switch random.below(depth < 2 ? 14 : 12) {
        case 0: return .null
        case 1: return .bool(random.chance(50))
        case 2: return .int(random.pick([0, 1, -1, .max, .min, 9_007_199_254_740_993, 3]))
        case 3: return .float(Float(random.pick(doubles)))
        case 4, 5: return .double(random.pick(doubles))
        case 6, 7:
            let texts = [
                "0", "0.1", "0.1000000000000000055511151231257827", "1E400", "-1E400", "1E-400", "-1E-400", "NaN",
                "Inf", "-Inf", "9007199254740993",
            ]
            return .decimal(Decimal128(parsing: random.pick(texts)) ?? .nan)
        case 8: return .string(random.pick(["", "a", "a\0", "a\0\u{1}", "ab", "b"]))
        case 9: return .data(random.pick([[], [0], [0, 0], [0, 1], [1], [255]]))
        case 10: return .timestamp(Timestamp(seconds: Int64(random.below(3)) - 1, nanoseconds: UInt32(random.below(2))))
        case 11:
            let (table, key) = (TableKey(UInt32(random.below(2))), ObjectKey(Int64(random.below(2))))
            return .link(ObjectLink(table: table, key: key))
        case 12: return .list((0 ..< random.below(3)).map { _ in value(&random, depth: depth + 1) })
        default:
            let keys = ["", "a", "a\0", "b"].filter { _ in random.chance(40) }
            return .map(keys.map { MapEntry(key: $0, value: value(&random, depth: depth + 1)) })
        }
    }
}

/// A decimal with as many digits as it takes: digits, most significant first, times a power of ten.
private struct Exact {
    var isNegative: Bool
    var digits: [Int]
    var exponent: Int
    /// Something that is not zero was cut off behind the digits.
    var hasRest = false

    var isZero: Bool { !hasRest && digits.allSatisfy { $0 == 0 } }
    var negated: Exact {
        var copy = self
        copy.isNegative.toggle()
        return copy
    }

    var text: String { (isNegative ? "-" : "") + digits.map(String.init).joined() + "E\(exponent)" }
    var decimal: Decimal128 { Decimal128(parsing: text) ?? .nan }

    static func random(_ random: inout SeededRandom) -> Exact {
        let length = random.chance(30) ? 34 : 1 + random.below(34)
        let style = random.below(3)
        let digits = (0 ..< length).map { _ in style == 0 ? 9 : style == 1 ? random.below(2) * 5 : random.below(10) }
        let exponent = random.chance(10) ? random.below(4_000) - 2_000 : random.below(80) - 40
        return Exact(isNegative: random.chance(50), digits: digits, exponent: exponent)
    }

    /// Nearly the same number.
    func nudged(_ random: inout SeededRandom) -> Exact {
        var copy = self
        copy.digits[copy.digits.count - 1] = random.below(10)
        if copy.digits.count < 34, random.chance(50) {
            copy.digits.append(0)
            copy.exponent -= 1
        }
        return copy
    }

    private func scaled(to exponent: Int) -> [Int] { digits + Array(repeating: 0, count: self.exponent - exponent) }

    func adding(_ other: Exact) -> Exact {
        let exponent = min(exponent, other.exponent)
        let (one, two) = (scaled(to: exponent), other.scaled(to: exponent))
        if isNegative == other.isNegative {
            return Exact(isNegative: isNegative, digits: Digits.sum(one, two), exponent: exponent)
        }
        if Digits.isLess(one, two) {
            return Exact(isNegative: other.isNegative, digits: Digits.difference(two, one), exponent: exponent)
        }
        return Exact(isNegative: isNegative, digits: Digits.difference(one, two), exponent: exponent)
    }

    func multiplying(_ other: Exact) -> Exact {
        var product: [Int] = []
        for digit in digits {
            product.append(0)
            for _ in 0 ..< digit { product = Digits.sum(product, other.digits) }
        }
        return Exact(isNegative: isNegative != other.isNegative, digits: product, exponent: exponent + other.exponent)
    }

    /// To 80 digits, long division.
    func dividing(_ other: Exact) -> Exact {
        var quotient: [Int] = []
        var rest: [Int] = []
        for place in 0 ..< digits.count + 80 {
            rest.append(place < digits.count ? digits[place] : 0)
            var digit = 0
            while !Digits.isLess(rest, other.digits) {
                rest = Digits.difference(rest, other.digits)
                digit += 1
            }
            quotient.append(digit)
        }
        return Exact(
            isNegative: isNegative != other.isNegative, digits: quotient, exponent: exponent - other.exponent - 80,
            hasRest: rest.contains { $0 != 0 })
    }

    /// To 34 digits, half to even.
    var rounded: Decimal128 {
        var digits = Array(digits.drop { $0 == 0 })
        var exponent = exponent
        if digits.count > 34 {
            let cut = digits[34...]
            let isHalf = cut.first == 5 && cut.dropFirst().allSatisfy { $0 == 0 } && !hasRest
            let isUp = isHalf ? digits[33] % 2 == 1 : cut.first.map { $0 >= 5 } ?? false
            exponent += cut.count
            digits = Array(digits[..<34])
            if isUp { digits = Digits.sum(digits, [1]) }
        }
        return Exact(isNegative: isNegative, digits: digits.isEmpty ? [0] : digits, exponent: exponent).decimal
    }
}

private enum Digits {
    private static func aligned(_ left: [Int], _ right: [Int]) -> ([Int], [Int]) {
        let count = max(left.count, right.count)
        func padded(_ digits: [Int]) -> [Int] { Array(repeating: 0, count: count - digits.count) + digits }
        return (padded(left), padded(right))
    }

    static func isLess(_ left: [Int], _ right: [Int]) -> Bool {
        let (one, two) = aligned(left, right)
        return one.lexicographicallyPrecedes(two)
    }

    static func sum(_ left: [Int], _ right: [Int]) -> [Int] {
        var result: [Int]
        let other: [Int]
        (result, other) = aligned(left, right)
        var carry = 0
        for index in result.indices.reversed() {
            let digit = result[index] + other[index] + carry
            result[index] = digit % 10
            carry = digit / 10
        }
        return carry > 0 ? [carry] + result : result
    }

    /// `left` is not less.
    static func difference(_ left: [Int], _ right: [Int]) -> [Int] {
        var result: [Int]
        let other: [Int]
        (result, other) = aligned(left, right)
        var borrow = 0
        for index in result.indices.reversed() {
            let digit = result[index] - other[index] - borrow
            result[index] = (digit + 10) % 10
            borrow = digit < 0 ? 1 : 0
        }
        return Array(result.drop { $0 == 0 })
    }
}
