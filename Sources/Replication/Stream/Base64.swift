/// Bytes in JSON: RFC 4648, with padding.
enum Base64 {
    private static func digit(_ character: UInt8) -> UInt32? {
        switch character {
        case 0x41 ... 0x5A: UInt32(character) - 0x41
        case 0x61 ... 0x7A: UInt32(character) - 0x61 + 26
        case 0x30 ... 0x39: UInt32(character) - 0x30 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }

    /// nil where it is none.
    static func decoded(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count.isMultiple(of: 4) else { return nil }
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3)
        for start in stride(from: 0, to: characters.count, by: 4) {
            var group: UInt32 = 0
            for offset in start ..< start + 4 {
                let isPadding = offset >= characters.count - padding
                guard let digit = isPadding ? 0 : digit(characters[offset]) else { return nil }
                group = group << 6 | digit
            }
            for shift: UInt32 in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: group >> shift)) }
        }
        bytes.removeLast(padding)
        return bytes
    }
}
