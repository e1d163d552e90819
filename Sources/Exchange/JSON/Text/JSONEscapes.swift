/// Escapes in JSON strings, both ways. Reading them never needs more bytes than they took.
import MotteValues

enum JSONEscapes {
    /// The code unit of `\uXXXX` at an offset, nil where there is none.
    static func unit(_ start: UnsafePointer<UInt8>, _ offset: Int, _ count: Int) -> UInt32? {
        guard offset + 6 <= count, start[offset] == UInt8(ascii: "\\"), start[offset + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt32 = 0
        for index in offset + 2 ..< offset + 6 {
            guard let digit = Hexadecimal.digit(start[index]) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// A checked text without its escapes, into as many bytes as it has; answers how many are used.
    static func decode(_ raw: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>) -> Int {
        guard let start = raw.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
        var from = 0
        var to = 0
        while from < raw.count {
            let byte = start[from]
            guard byte == UInt8(ascii: "\\"), from + 1 < raw.count else {
                output[to] = byte
                (from, to) = (from + 1, to + 1)
                continue
            }
            if start[from + 1] == UInt8(ascii: "u") {
                var scalar = unit(start, from, raw.count) ?? 0xFFFD
                from += 6
                if scalar & 0xFC00 == 0xD800, let low = unit(start, from, raw.count) {
                    scalar = 0x1_0000 + (scalar & 0x3FF) << 10 + (low & 0x3FF)
                    from += 6
                }
                for unit in UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter {
                    output[to] = unit
                    to += 1
                }
                continue
            }
            output[to] =
                switch start[from + 1] {
                case UInt8(ascii: "b"): 0x08
                case UInt8(ascii: "f"): 0x0C
                case UInt8(ascii: "n"): 0x0A
                case UInt8(ascii: "r"): 0x0D
                case UInt8(ascii: "t"): 0x09
                default: start[from + 1]
                }
            (from, to) = (from + 2, to + 1)
        }
        return to
    }

    /// What a byte is written as where it cannot stand for itself; 0 for `\u00XX`.
    static func short(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0x22, 0x5C: byte
        case 0x08: UInt8(ascii: "b")
        case 0x0C: UInt8(ascii: "f")
        case 0x0A: UInt8(ascii: "n")
        case 0x0D: UInt8(ascii: "r")
        case 0x09: UInt8(ascii: "t")
        default: 0
        }
    }
}
