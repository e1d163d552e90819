/// A value as bytes whose order, byte by byte, is that of `ValueOrdering`: equal values of any kind have equal bytes.
///
///     family + 1 | by family
///     numbers     nearest double 8 | sign and length 2 | its exact decimal digits | end; of NaN only the double
///     text, data  bytes, 0 as 0 255 | 0 0
///     list        each element | 0         map   each: 1, key as a text, value | 0
///
/// Made where values of many kinds are sorted; nothing of it is stored.
package enum OrderKey {
    package static func bytes(of view: ValueView) -> [UInt8] {
        var output: [UInt8] = []
        append(view, to: &output)
        return output
    }

    /// The first eight bytes as a number, without making the others; nil where there may be no more than eight, or
    /// where they are not at hand.
    package static func prefix(of view: ValueView) -> UInt64? {
        let family = UInt64(truncatingIfNeeded: ValueOrdering.family(view) + 1) << 56
        switch view.form {
        case .int: return family | code(Double(view.intValue)) >> 8
        case .float: return family | code(Double(view.floatValue)) >> 8
        case .double: return family | code(view.doubleValue) >> 8
        case .decimal: return family | code(view.decimalValue.doubleValue) >> 8
        case .timestamp: return family | (UInt64(bitPattern: view.intValue) ^ (1 << 63)) >> 8
        case .string, .data:
            let bytes = view.bytes
            guard bytes.count >= 7 else { return nil }
            var code: UInt64 = 0
            for index in 0 ..< 7 {
                // A zero is two bytes.
                if bytes[index] == 0 { return nil }
                code = code << 8 | UInt64(bytes[index])
            }
            return family | code
        case .bool, .identifier, .link, .list, .map, .null, nil: return nil
        }
    }

    private static func append(_ view: ValueView, to output: inout [UInt8]) {
        output.append(UInt8(truncatingIfNeeded: ValueOrdering.family(view) + 1))
        switch view.form {
        case .null, nil: break
        case .bool: output.append(view.boolValue ? 1 : 0)
        case .int, .float, .double, .decimal: appendNumber(view, to: &output)
        case .string, .data: appendText(view.bytes, to: &output)
        case .timestamp:
            append(UInt64(bitPattern: view.intValue) ^ (1 << 63), to: &output)
            append(view.aux, to: &output)
        case .identifier: view.withOwnBytes { output.append(contentsOf: $0) }
        case .link:
            append(view.aux, to: &output)
            append(UInt64(bitPattern: view.intValue) ^ (1 << 63), to: &output)
        case .list, .map:
            let document = NestedDocument(trusted: view.bytes)
            for index in 0 ..< document.count {
                if document.isMap {
                    output.append(1)
                    appendText(document.key(at: index), to: &output)
                }
                append(document.value(at: index), to: &output)
            }
            output.append(0)
        }
    }

    private static func appendText(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        for byte in bytes {
            output.append(byte)
            if byte == 0 { output.append(255) }
        }
        output.append(0)
        output.append(0)
    }

    private static func appendNumber(_ view: ValueView, to output: inout [UInt8]) {
        let nearest: Double =
            switch view.kind {
            case .int: Double(view.intValue)
            case .float: Double(view.floatValue)
            case .decimal: view.decimalValue.doubleValue
            default: view.doubleValue
            }
        // What is beyond all doubles is nearest to infinity, and yet has digits.
        let isFinite = view.kind == .decimal ? view.decimalValue.isFinite : nearest.isFinite
        append(code(nearest), to: &output)
        guard isFinite, let exact = ExactNumber(view) else {
            // An infinity itself is beyond what is nearest to it.
            if nearest.isInfinite { append(nearest < 0 ? UInt16.min : .max, to: &output) }
            return
        }
        guard exact.sign != 0 else { return append(UInt16(0x8000), to: &output) }
        let length = UInt16(truncatingIfNeeded: exact.length + 10_000)
        append(exact.sign > 0 ? 0x8000 + length : 0x8000 - length, to: &output)
        for digit in exact.digits { output.append(exact.sign > 0 ? digit + 1 : 254 - digit) }
        output.append(exact.sign > 0 ? 0 : 255)
    }

    private static func code(_ value: Double) -> UInt64 {
        if value.isNaN { return 0 }
        // Adding zero turns -0.0 into 0.0.
        let bits = (value + 0.0).bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }

    private static func append<T: FixedWidthInteger>(_ value: T, to output: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { output.append(contentsOf: $0) }
    }
}
