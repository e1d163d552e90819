/// Decimals as text: digits, the point moved into them as far as the exponent goes, what is left of it behind an `E`.
extension Decimal128 {
    /// "3.75", "3E-1", "1.23E6", "NaN", "Inf", "-Inf".
    package var text: String {
        if isNaN { return "NaN" }
        if isInfinite { return isNegative ? "-Inf" : "Inf" }
        var digits = "\(coefficient)"
        var exponent = exponent
        // The point goes left a digit at a time until the exponent is used up or one digit stands before it.
        let moves = exponent < 0 ? min(-exponent, digits.count - 1) : exponent > 0 ? digits.count - 1 : 0
        if moves > 0 {
            digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -moves))
            exponent += moves
        }
        if exponent > 0, digits.contains(".") {
            while digits.hasSuffix("0") { digits.removeLast() }
            if digits.hasSuffix(".") { digits.removeLast() }
        }
        return (isNegative ? "-" : "") + digits + (exponent == 0 ? "" : "E\(exponent)")
    }

    /// As a whole number without exponent; nil when it has a fraction or is too long to write so.
    package var plainText: String? {
        guard isFinite else { return nil }
        let canonical = reduced
        guard canonical.exponent >= 0, canonical.exponent <= 40 else { return canonical.isZero ? "0" : nil }
        return (canonical.isNegative ? "-" : "") + "\(canonical.coefficient)"
            + String(repeating: "0", count: canonical.exponent)
    }

    /// Digits with an optional sign, point and exponent, or NaN, Inf, Infinity in any case; nil for anything else.
    /// Rounded to what fits, as RealmSwift does.
    package init?(parsing text: String) {
        guard let read = Decimal128.reading(text) else { return nil }
        self = read.value
    }

    /// The number, and whether it is the very one that is written: texts may say more than 34 digits can.
    package static func reading(_ text: String) -> (value: Decimal128, isExact: Bool)? {
        var bytes = Array(text.utf8)[...]
        var negative = false
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            negative = sign == UInt8(ascii: "-")
            bytes = bytes.dropFirst()
        }
        let word = String(decoding: bytes, as: UTF8.self).lowercased()
        if word == "nan" { return (.nan, true) }
        if word == "inf" || word == "infinity" { return (negative ? Decimal128.infinity.negated : .infinity, true) }
        var coefficient: UInt128 = 0
        var exponent = 0
        var digitCount = 0
        var isInexact = false
        var hasPoint = false
        while let byte = bytes.first {
            if byte == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
            } else if byte >= 0x30, byte <= 0x39 {
                digitCount += 1
                if coefficient < powers[36] {
                    coefficient = coefficient * 10 + UInt128(byte - 0x30)
                    if hasPoint { exponent -= 1 }
                } else {
                    isInexact = isInexact || byte != 0x30
                    if !hasPoint { exponent += 1 }
                }
            } else {
                break
            }
            bytes = bytes.dropFirst()
        }
        guard digitCount > 0 else { return nil }
        if let mark = bytes.first {
            guard mark | 0x20 == UInt8(ascii: "e") else { return nil }
            bytes = bytes.dropFirst()
            guard let written = parsedExponent(bytes) else { return nil }
            exponent += written
        }
        return rounded(negative: negative, coefficient: coefficient, exponent: exponent, isInexact: isInexact)
    }

    /// Kept within what can still be added to without overflow.
    private static func parsedExponent(_ bytes: ArraySlice<UInt8>) -> Int? {
        var digits = bytes
        var negative = false
        if let sign = digits.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            negative = sign == UInt8(ascii: "-")
            digits = digits.dropFirst()
        }
        guard !digits.isEmpty else { return nil }
        var value = 0
        for byte in digits {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            value = min(value * 10 + Int(byte - 0x30), 1_000_000)
        }
        return negative ? -value : value
    }
}
