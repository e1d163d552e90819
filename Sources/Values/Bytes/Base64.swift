/// Bytes as base64 by RFC 4648, padded; read strictly, so that every byte run has one text.
package enum Base64 {
    package static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// 0 ... 63, 255 for what is no digit.
    private static let digits: [UInt8] = {
        var digits = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { digits[Int(character)] = UInt8(value) }
        return digits
    }()

    /// How many bytes a text of that many characters can stand for.
    package static func capacity(_ count: Int) -> Int { count / 4 * 3 }

    /// nil where the text is no base64; output has room for `capacity`.
    package static func decode(_ text: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>) -> Int? {
        guard text.count % 4 == 0 else { return nil }
        return digits.withUnsafeBufferPointer { digits in
            var written = 0
            var index = 0
            while index < text.count {
                let isLast = index + 4 == text.count
                let padding = isLast ? (text[index + 3] == 0x3D ? (text[index + 2] == 0x3D ? 2 : 1) : 0) : 0
                var bits = 0
                for offset in 0 ..< 4 - padding {
                    let digit = digits[Int(text[index + offset])]
                    guard digit < 64 else { return nil }
                    bits |= Int(digit) << (18 - 6 * offset)
                }
                // Bits that no byte takes are zero: otherwise two texts would mean the same.
                if padding == 2, bits & 0xFFFF != 0 { return nil }
                if padding == 1, bits & 0xFF != 0 { return nil }
                for offset in 0 ..< 3 - padding {
                    output[written] = UInt8(truncatingIfNeeded: bits >> (16 - 8 * offset))
                    written += 1
                }
                index += 4
            }
            return written
        }
    }

    /// nil where the text is none.
    package static func decoded(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count >= 4 else { return characters.isEmpty ? [] : nil }
        var count: Int?
        // Four characters are three bytes.
        let output = [UInt8](unsafeUninitializedCapacity: capacity(characters.count)) { output, written in
            guard let start = output.baseAddress else { return }
            count = characters.withBytes { decode($0, into: start) }
            written = count ?? 0
        }
        return count == nil ? nil : output
    }
}
