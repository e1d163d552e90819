/// Decimals as text that keeps every digit: 1.50 and 1.5 are equal, and come back as what they were.
///
///     -12   0.05   1.50   120E3   5E-40   NaN   Infinity
import MotteValues

package enum DecimalText {
    package static func text(_ value: Decimal128) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value.isNegative ? "-Infinity" : "Infinity" }
        let sign = value.isNegative ? "-" : ""
        var digits = "\(value.coefficient)"
        let exponent = value.exponent
        if exponent == 0 { return sign + digits }
        guard exponent < 0, exponent >= -34 else { return sign + digits + "E\(exponent)" }
        let places = -exponent
        if digits.utf8.count <= places {
            digits = String(repeating: "0", count: places - digits.utf8.count + 1) + digits
        }
        digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -places))
        return sign + digits
    }

    /// nil for what is no decimal, and for digits that a decimal cannot hold exactly.
    package static func parse(_ text: UnsafeRawBufferPointer) -> Decimal128? {
        switch text.count {
        case 3 where text.elementsEqual("NaN".utf8): return .nan
        case 8 where text.elementsEqual("Infinity".utf8): return .infinity
        case 9 where text.elementsEqual("-Infinity".utf8): return Decimal128.infinity.negated
        default: break
        }
        guard let number = JSONNumber(exactly: text), number.significantDigits <= 34 else { return nil }
        // In the words of the grammar above, whatever else the type itself reads.
        guard let (value, isExact) = Decimal128.reading(number.string), isExact else { return nil }
        return value
    }
}
