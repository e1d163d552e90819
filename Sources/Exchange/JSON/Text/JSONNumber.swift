/// A number as it is written, by the grammar of RFC 8259; exact until somebody asks for a rounded form.
///
///     -? ( 0 | [1-9][0-9]* ) ( . [0-9]+ )? ( [eE] [+-]? [0-9]+ )?
///
/// CSV reads its numbers by the same grammar, so that 00501, 0x1F and nan stay text.
import MotteValues

package struct JSONNumber {
    package let text: UnsafeRawBufferPointer
    /// No fraction and no exponent.
    package let isInteger: Bool
    /// Of the digits, the first nineteen that count; `digitsDropped` when there were more.
    private let significand: UInt64
    private let digitsDropped: Bool
    private let exponent: Int
    private let isNegative: Bool

    /// The longest number that the bytes begin with.
    init?(prefixOf bytes: UnsafeBufferPointer<UInt8>) {
        var at = 0
        let count = bytes.count
        var significand: UInt64 = 0
        var used = 0
        var dropped = false
        var droppedPlaces = 0
        @inline(__always) func isDigit(_ index: Int) -> Bool { index < count && bytes[index] &- 0x30 < 10 }
        @inline(__always) func take(_ digit: UInt8) {
            if used < 19 {
                significand = significand &* 10 &+ UInt64(digit)
                if significand != 0 { used += 1 }
            } else {
                dropped = dropped || digit != 0
                droppedPlaces += 1
            }
        }
        let isNegative = count > 0 && bytes[0] == UInt8(ascii: "-")
        if isNegative { at = 1 }
        guard isDigit(at) else { return nil }
        let isZero = bytes[at] == 0x30
        repeat {
            take(bytes[at] &- 0x30)
            at += 1
        } while isDigit(at)
        // A zero before other digits: 0 is the number, and whoever reads on finds a digit where none may be.
        if isZero, at > (isNegative ? 2 : 1) { return nil }
        var isInteger = true
        var fraction = 0
        if at < count, bytes[at] == UInt8(ascii: ".") {
            guard isDigit(at + 1) else { return nil }
            isInteger = false
            at += 1
            while isDigit(at) {
                take(bytes[at] &- 0x30)
                fraction += 1
                at += 1
            }
        }
        var exponent = 0
        if at < count, bytes[at] | 0x20 == UInt8(ascii: "e") {
            var next = at + 1
            let isBelow = next < count && bytes[next] == UInt8(ascii: "-")
            if isBelow || (next < count && bytes[next] == UInt8(ascii: "+")) { next += 1 }
            guard isDigit(next) else { return nil }
            isInteger = false
            while isDigit(next) {
                // Far beyond every type; kept from overflowing.
                if exponent < 1_000_000 { exponent = exponent * 10 + Int(bytes[next] &- 0x30) }
                next += 1
            }
            if isBelow { exponent = -exponent }
            at = next
        }
        text = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<at])
        self.isInteger = isInteger
        self.significand = significand
        digitsDropped = dropped
        self.exponent = exponent - fraction + droppedPlaces
        self.isNegative = isNegative
    }

    /// A number and nothing else.
    package init?(exactly bytes: UnsafeRawBufferPointer) {
        guard let number = JSONNumber(prefixOf: bytes.bindMemory(to: UInt8.self)), number.text.count == bytes.count
        else { return nil }
        self = number
    }

    /// nil when it is not an integer of 64 bits; 1.0 and 1e3 are.
    package var int: Int64? {
        var magnitude = significand
        guard magnitude != 0 else { return 0 }
        guard !digitsDropped else { return nil }
        var power = exponent
        while power > 0 {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            magnitude = product
            power -= 1
        }
        while power < 0 {
            let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
            guard remainder == 0 else { return nil }
            magnitude = quotient
            power += 1
        }
        if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
        return Int64(exactly: magnitude)
    }

    /// The nearest double; nil beyond the largest.
    package var double: Double? {
        if !digitsDropped, let value = NearestDouble.value(significand, exponent) { return isNegative ? -value : value }
        guard let value = Double(string), value.isFinite else { return nil }
        return value
    }

    /// The nearest float, rounded once; nil beyond the largest.
    package var float: Float? {
        if !digitsDropped, significand <= 1 << 24, exponent >= -10, exponent <= 10 {
            let whole = Float(significand)
            let power = Float(NearestDouble.ten(abs(exponent)))
            let value = exponent < 0 ? whole / power : whole * power
            return isNegative ? -value : value
        }
        guard let value = Float(string), value.isFinite else { return nil }
        return value
    }

    /// Digits from the first that is not zero to the last that is written.
    var significantDigits: Int {
        var count = 0
        for byte in text {
            if byte | 0x20 == UInt8(ascii: "e") { break }
            if byte &- 0x30 < 10, count > 0 || byte != 0x30 { count += 1 }
        }
        return count
    }

    package var string: String { String(decoding: text, as: UTF8.self) }
}
