/// Numbers of every kind as exact fractions, for what queries are held against: nothing here asks the engine how
/// numbers are compared, added or rounded.
import MotteValues

/// A natural number of any size.
struct Whole: Equatable {
    /// Least significant first, without zeros at the end.
    private var words: [UInt32] = []

    init(_ value: UInt128) {
        var rest = value
        while rest > 0 {
            words.append(UInt32(truncatingIfNeeded: rest))
            rest >>= 32
        }
    }

    var isZero: Bool { words.isEmpty }
    private var bitCount: Int { words.count * 32 - (words.last?.leadingZeroBitCount ?? 0) }

    private mutating func trim() { while words.last == 0 { words.removeLast() } }

    func power(_ base: UInt32, _ exponent: Int) -> Whole {
        var result = self
        for _ in 0 ..< exponent {
            var carry: UInt64 = 0
            for index in result.words.indices {
                let product = UInt64(result.words[index]) * UInt64(base) + carry
                result.words[index] = UInt32(truncatingIfNeeded: product)
                carry = product >> 32
            }
            if carry > 0 { result.words.append(UInt32(carry)) }
        }
        return result
    }

    static func compare(_ left: Whole, _ right: Whole) -> Int {
        if left.words.count != right.words.count { return left.words.count < right.words.count ? -1 : 1 }
        for (one, two) in zip(left.words.reversed(), right.words.reversed()) where one != two {
            return one < two ? -1 : 1
        }
        return 0
    }

    static func + (left: Whole, right: Whole) -> Whole {
        var sum = Whole(0)
        var carry: UInt64 = 0
        for index in 0 ..< max(left.words.count, right.words.count) {
            let one = index < left.words.count ? UInt64(left.words[index]) : 0
            let two = index < right.words.count ? UInt64(right.words[index]) : 0
            sum.words.append(UInt32(truncatingIfNeeded: one + two + carry))
            carry = (one + two + carry) >> 32
        }
        if carry > 0 { sum.words.append(UInt32(carry)) }
        return sum
    }

    /// `right` is not larger.
    static func - (left: Whole, right: Whole) -> Whole {
        var difference = left
        var borrow: Int64 = 0
        for index in left.words.indices {
            var word = Int64(left.words[index]) - borrow
            if index < right.words.count { word -= Int64(right.words[index]) }
            borrow = word < 0 ? 1 : 0
            difference.words[index] = UInt32(truncatingIfNeeded: word)
        }
        difference.trim()
        return difference
    }

    static func * (left: Whole, right: Whole) -> Whole {
        var product = Whole(0)
        product.words = Array(repeating: 0, count: left.words.count + right.words.count)
        for (place, one) in left.words.enumerated() {
            var carry: UInt64 = 0
            for (index, two) in right.words.enumerated() {
                let sum = UInt64(one) * UInt64(two) + UInt64(product.words[place + index]) + carry
                product.words[place + index] = UInt32(truncatingIfNeeded: sum)
                carry = sum >> 32
            }
            product.words[place + right.words.count] = UInt32(carry)
        }
        product.trim()
        return product
    }

    /// Bit by bit.
    func divided(by divisor: Whole) -> (quotient: Whole, rest: Whole) {
        var quotient = Whole(0), rest = Whole(0)
        for bit in stride(from: bitCount - 1, through: 0, by: -1) {
            rest = rest + rest
            if words[bit / 32] >> UInt32(bit % 32) & 1 == 1 { rest = rest + Whole(1) }
            quotient = quotient + quotient
            if Whole.compare(rest, divisor) >= 0 {
                rest = rest - divisor
                quotient = quotient + Whole(1)
            }
        }
        return (quotient, rest)
    }

    /// In base ten.
    var text: String {
        var rest = words
        var pieces: [String] = []
        while !rest.isEmpty {
            var remainder: UInt64 = 0
            for index in rest.indices.reversed() {
                let value = remainder << 32 | UInt64(rest[index])
                rest[index] = UInt32(truncatingIfNeeded: value / 1_000_000_000)
                remainder = value % 1_000_000_000
            }
            while rest.last == 0 { rest.removeLast() }
            let piece = "\(remainder)"
            pieces.append(rest.isEmpty ? piece : String(repeating: "0", count: 9 - piece.count) + piece)
        }
        return pieces.isEmpty ? "0" : pieces.reversed().joined()
    }
}

/// numerator / denominator x 10^exponent, infinite, or not a number.
enum Exact {
    case finite(isNegative: Bool, Whole, Whole, exponent: Int)
    case infinite(isNegative: Bool)
    case nan

    static let zero = Exact(Int128(0))

    init(_ value: Int128) {
        self = .finite(isNegative: value < 0, Whole(value.magnitude), Whole(1), exponent: 0)
    }

    init(_ value: Double) {
        if value.isNaN {
            self = .nan
        } else if value.isInfinite {
            self = .infinite(isNegative: value < 0)
        } else {
            let magnitude = value.magnitude
            let power = magnitude == 0 ? 0 : Int(magnitude.exponent) - 52
            // Exact: a significand is below 2, with 52 bits behind the point.
            let significand = magnitude == 0 ? 0 : UInt128(magnitude.significand * 0x1p52)
            let numerator = Whole(significand).power(2, max(power, 0))
            self = .finite(isNegative: value < 0, numerator, Whole(1).power(2, max(-power, 0)), exponent: 0)
        }
    }

    init(_ value: Decimal128) {
        if value.isNaN {
            self = .nan
        } else if value.isInfinite {
            self = .infinite(isNegative: value.isNegative)
        } else {
            self = .finite(
                isNegative: value.isNegative, Whole(value.coefficient), Whole(1), exponent: value.exponent)
        }
    }

    /// nil for what is no number.
    init?(_ value: Value) {
        switch value {
        case .int(let value): self.init(Int128(value))
        case .float(let value): self.init(Double(value))
        case .double(let value): self.init(value)
        case .decimal(let value): self.init(value)
        default: return nil
        }
    }

    /// Written as digits with a point and an exponent, as Swift writes doubles.
    init(decimal text: String) {
        var digits = text.lowercased()
        var exponent = 0
        if let mark = digits.firstIndex(of: "e") {
            exponent = Int(digits[digits.index(after: mark)...]) ?? 0
            digits = String(digits[..<mark])
        }
        let isNegative = digits.hasPrefix("-")
        if isNegative { digits.removeFirst() }
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 2 { exponent -= parts[1].count }
        let whole = UInt128(parts.joined()) ?? 0
        self = .finite(isNegative: isNegative, Whole(whole), Whole(1), exponent: exponent)
    }

    /// Beside a decimal, a double is the shortest decimal that reads as the same double.
    static func asDecimal(_ value: Double) -> Exact {
        value.isFinite ? Exact(decimal: value.description) : Exact(value)
    }

    var isNaN: Bool { if case .nan = self { true } else { false } }
    var isFinite: Bool { if case .finite = self { true } else { false } }

    var magnitude: Exact {
        switch self {
        case .finite(_, let numerator, let denominator, let exponent):
            .finite(isNegative: false, numerator, denominator, exponent: exponent)
        case .infinite: .infinite(isNegative: false)
        case .nan: .nan
        }
    }

    var negated: Exact {
        switch self {
        case .finite(let isNegative, let numerator, let denominator, let exponent):
            .finite(isNegative: !isNegative, numerator, denominator, exponent: exponent)
        case .infinite(let isNegative): .infinite(isNegative: !isNegative)
        case .nan: .nan
        }
    }

    /// NaN is below all others and equal to itself.
    static func compare(_ left: Exact, _ right: Exact) -> Int {
        switch (left, right) {
        case (.nan, .nan): return 0
        case (.nan, _): return -1
        case (_, .nan): return 1
        case (.infinite(let one), .infinite(let two)): return one == two ? 0 : one ? -1 : 1
        case (.infinite(let isNegative), _): return isNegative ? -1 : 1
        case (_, .infinite(let isNegative)): return isNegative ? 1 : -1
        case (
            .finite(let isNegative, let top, let bottom, let exponent),
            .finite(let otherIsNegative, let otherTop, let otherBottom, let otherExponent)
        ):
            let one = top.isZero ? 0 : isNegative ? -1 : 1
            let two = otherTop.isZero ? 0 : otherIsNegative ? -1 : 1
            if one != two || one == 0 { return one < two ? -1 : one > two ? 1 : 0 }
            let shift = exponent - otherExponent
            return one
                * Whole.compare(
                    (top * otherBottom).power(10, max(shift, 0)), (otherTop * bottom).power(10, max(-shift, 0)))
        }
    }

    static func + (left: Exact, right: Exact) -> Exact {
        switch (left, right) {
        case (.nan, _), (_, .nan): return .nan
        case (.infinite(let one), .infinite(let two)): return one == two ? left : .nan
        case (.infinite, _): return left
        case (_, .infinite): return right
        case (
            .finite(let isNegative, let top, let bottom, let exponent),
            .finite(let otherIsNegative, let otherTop, let otherBottom, let otherExponent)
        ):
            let least = min(exponent, otherExponent)
            let one = (top * otherBottom).power(10, exponent - least)
            let two = (otherTop * bottom).power(10, otherExponent - least)
            let below = bottom * otherBottom
            if isNegative == otherIsNegative {
                return .finite(isNegative: isNegative, one + two, below, exponent: least)
            }
            switch Whole.compare(one, two) {
            case 0: return .finite(isNegative: false, Whole(0), below, exponent: least)
            case 1: return .finite(isNegative: isNegative, one - two, below, exponent: least)
            default: return .finite(isNegative: otherIsNegative, two - one, below, exponent: least)
            }
        }
    }

    static func - (left: Exact, right: Exact) -> Exact { left + right.negated }

    static func * (left: Exact, right: Exact) -> Exact {
        switch (left, right) {
        case (.nan, _), (_, .nan): return .nan
        case (
            .finite(let isNegative, let top, let bottom, let exponent),
            .finite(let otherIsNegative, let otherTop, let otherBottom, let otherExponent)
        ):
            return .finite(
                isNegative: isNegative != otherIsNegative, top * otherTop, bottom * otherBottom,
                exponent: exponent + otherExponent)
        default:
            if left.isZero || right.isZero { return .nan }
            return .infinite(isNegative: left.isNegative != right.isNegative)
        }
    }

    static func / (left: Exact, right: Exact) -> Exact {
        switch (left, right) {
        case (.nan, _), (_, .nan), (.infinite, .infinite): return .nan
        case (.infinite, _): return .infinite(isNegative: left.isNegative != right.isNegative)
        case (_, .infinite):
            return .finite(isNegative: left.isNegative != right.isNegative, Whole(0), Whole(1), exponent: 0)
        case (
            .finite(_, let top, let bottom, let exponent),
            .finite(_, let otherTop, let otherBottom, let otherExponent)
        ):
            let isNegative = left.isNegative != right.isNegative
            if otherTop.isZero { return top.isZero ? .nan : .infinite(isNegative: isNegative) }
            return .finite(
                isNegative: isNegative, top * otherBottom, bottom * otherTop, exponent: exponent - otherExponent)
        }
    }

    var isZero: Bool { if case .finite(_, let top, _, _) = self { top.isZero } else { false } }
    var isNegative: Bool {
        switch self {
        case .finite(let isNegative, _, _, _), .infinite(let isNegative): isNegative
        case .nan: false
        }
    }

    /// Rounded half to even to so many digits: the digits, and the power of ten that they are multiplied with.
    private func rounded(to count: Int) -> (digits: String, exponent: Int)? {
        guard case .finite(_, let top, let bottom, var exponent) = self else { return nil }
        if top.isZero { return ("0", 0) }
        // Enough digits before the point.
        var scaled = top
        let missing = max(0, count + 2 + bottom.text.utf8.count - top.text.utf8.count)
        scaled = scaled.power(10, missing)
        exponent -= missing
        let (quotient, rest) = scaled.divided(by: bottom)
        let all = Array(quotient.text.utf8)
        guard all.count > count else { return (quotient.text, exponent) }
        let kept = all[..<count], cut = all[count...]
        exponent += cut.count
        let isHalf = cut.first == 0x35 && cut.dropFirst().allSatisfy { $0 == 0x30 } && rest.isZero
        let isUp = isHalf ? (kept.last ?? 0) % 2 == 1 : (cut.first ?? 0x30) >= 0x35
        let value = UInt128(String(decoding: kept, as: UTF8.self)) ?? 0
        return ("\(value + (isUp ? 1 : 0))", exponent)
    }

    /// The decimal next to it.
    var decimal: Decimal128 {
        guard let (digits, exponent) = rounded(to: 34) else {
            return isNaN ? .nan : isNegative ? Decimal128.infinity.negated : .infinity
        }
        return Decimal128(parsing: (isNegative ? "-" : "") + digits + "e\(exponent)") ?? .nan
    }

    /// The double next to it: of so many digits no double lies between them and the number.
    var double: Double {
        guard case .finite(_, let top, let bottom, let exponent) = self else {
            return isNaN ? .nan : isNegative ? -.infinity : .infinity
        }
        // Of all digits, and a last one that says whether there are more.
        let missing = max(0, 40 + bottom.text.utf8.count - top.text.utf8.count)
        let (quotient, rest) = top.power(10, missing).divided(by: bottom)
        let text = quotient.text + (rest.isZero ? "0" : "1")
        return Double((isNegative ? "-" : "") + text + "e\(exponent - missing - 1)") ?? .nan
    }
}

/// The order of values as the documents have it: null, bool, numbers, string, data, timestamp, objectId, uuid, link,
/// list, map.
enum DocumentedOrder {
    static func kind(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal: 2
        case .string: 3
        case .data: 4
        case .timestamp: 5
        case .objectID: 6
        case .uuid: 7
        case .link: 8
        case .list: 9
        case .map: 10
        }
    }

    static func compare(_ left: Value, _ right: Value) -> Int {
        let (one, other) = (kind(left), kind(right))
        if one != other { return one < other ? -1 : 1 }
        switch (left, right) {
        case (.null, _): return 0
        case (.bool(let one), .bool(let other)): return order(one ? 1 : 0, other ? 1 : 0)
        case (.int(let one), .int(let other)): return order(one, other)
        case (.double(let one), .double(let other)) where !one.isNaN && !other.isNaN: return order(one, other)
        case (.string(let one), .string(let other)): return bytes(Array(one.utf8), Array(other.utf8))
        case (.data(let one), .data(let other)): return bytes(one, other)
        case (.timestamp(let one), .timestamp(let other)):
            return one.seconds == other.seconds
                ? order(one.nanoseconds, other.nanoseconds) : order(one.seconds, other.seconds)
        case (.link(let one), .link(let other)):
            return one.table == other.table
                ? order(one.key.rawValue, other.key.rawValue) : order(one.table.rawValue, other.table.rawValue)
        case (.list(let one), .list(let other)):
            for (first, second) in zip(one, other) {
                let order = compare(first, second)
                if order != 0 { return order }
            }
            return order(one.count, other.count)
        case (.map(let one), .map(let other)):
            let sorted = { (entries: [MapEntry]) in
                entries.sorted { bytes(Array($0.key.utf8), Array($1.key.utf8)) < 0 }
            }
            for (first, second) in zip(sorted(one), sorted(other)) {
                let keys = bytes(Array(first.key.utf8), Array(second.key.utf8))
                if keys != 0 { return keys }
                let order = compare(first.value, second.value)
                if order != 0 { return order }
            }
            return order(one.count, other.count)
        default:
            if let one = Exact(left), let other = Exact(right) { return Exact.compare(one, other) }
            return bytes(ownBytes(left), ownBytes(right))
        }
    }

    static func areEqual(_ left: Value, _ right: Value) -> Bool { compare(left, right) == 0 }

    /// Of identifiers.
    private static func ownBytes(_ value: Value) -> [UInt8] { value.withView { $0.withOwnBytes { Array($0) } } }

    private static func bytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }
}
