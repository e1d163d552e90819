/// Numbers, texts and truths in a JSON answer of a server, by the names they have wherever they stand in it. The server
/// writes blanks behind some colons and nowhere else, and the names looked for are not in what users have named.
package struct JSONNumbers {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Behind `"name":` and blanks.
    private func value(_ name: String) -> ArraySlice<UInt8>? {
        let wanted = Array("\"\(name)\":".utf8)
        guard bytes.count >= wanted.count else { return nil }
        for start in 0 ... bytes.count - wanted.count where bytes[start] == wanted[0] {
            if bytes[start ..< start + wanted.count].elementsEqual(wanted) {
                return bytes[(start + wanted.count)...].drop { $0 == UInt8(ascii: " ") }
            }
        }
        return nil
    }

    package func number(_ name: String) -> UInt64? {
        guard let digits = value(name)?.prefix(while: { (0x30 ... 0x39).contains($0) }), !digits.isEmpty else {
            return nil
        }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }

    package func text(_ name: String) -> String? {
        guard let value = value(name), value.first == UInt8(ascii: "\"") else { return nil }
        return String(decoding: value.dropFirst().prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
    }

    /// The first of an array of texts.
    func firstText(_ name: String) -> String? {
        guard let value = value(name), value.starts(with: Array("[\"".utf8)) else { return nil }
        return String(decoding: value.dropFirst(2).prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
    }

    package func isTrue(_ name: String) -> Bool { value(name)?.starts(with: Array("true".utf8)) ?? false }
}
