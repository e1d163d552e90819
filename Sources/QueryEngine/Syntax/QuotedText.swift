/// What stands in quotes, a text or a name in backquotes, with the escapes of the query language. What has such texts
/// beside queries, as the shell's statements do, reads them here, so that one spelling means one text everywhere.
import MotteValues

package struct QuotedText {
    package private(set) var text = ""
    /// Behind the quote that ends it.
    package private(set) var end: Int
    private let bytes: [UInt8]
    private let source: QuerySource

    /// A quote stands at `start`; `bytes` are those of the source.
    package init(_ bytes: [UInt8], at start: Int, in source: QuerySource) throws(DatabaseError) {
        self.bytes = bytes
        self.source = source
        end = start
        text = try read()
    }

    private func peek(_ ahead: Int = 0) -> UInt8? {
        end + ahead < bytes.count ? bytes[end + ahead] : nil
    }

    private func failure(_ message: String, at offset: Int) -> DatabaseError {
        source.error(.querySyntax, message, at: SourcePosition(offset))
    }

    private mutating func read() throws(DatabaseError) -> String {
        let start = end
        let mark = peek()
        var content: [UInt8] = []
        end += 1
        while let byte = peek() {
            end += 1
            if byte == mark { return String(decoding: content, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                try escape(into: &content)
            } else {
                content.append(byte)
            }
        }
        throw failure("this quotation does not end", at: start)
    }

    private mutating func escape(into content: inout [UInt8]) throws(DatabaseError) {
        let start = end - 1
        guard let byte = peek() else { throw failure("this quotation does not end", at: start) }
        end += 1
        switch byte {
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "0"): content.append(0x00)
        case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "/"):
            content.append(byte)
        case UInt8(ascii: "u"): try unicodeEscape(start, into: &content)
        default:
            throw failure("unknown escape; a backslash itself is written \\\\", at: start)
        }
    }

    /// Four digits, a pair of surrogates, or `\u{1F600}`.
    private mutating func unicodeEscape(_ start: Int, into content: inout [UInt8]) throws(DatabaseError) {
        var value: UInt32
        if peek() == UInt8(ascii: "{") {
            end += 1
            value = hexNumber(most: 6) ?? .max
            if peek() == UInt8(ascii: "}") { end += 1 } else { value = .max }
        } else {
            value = hexNumber(most: 4, least: 4) ?? .max
            if value >= 0xD800, value < 0xDC00, peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") {
                end += 2
                let low = hexNumber(most: 4, least: 4) ?? 0
                value = low >= 0xDC00 && low < 0xE000 ? 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00) : .max
            }
        }
        guard let scalar = Unicode.Scalar(value) else { throw failure("this is no character", at: start) }
        content.append(contentsOf: Array(String(scalar).utf8))
    }

    private mutating func hexNumber(most: Int, least: Int = 1) -> UInt32? {
        var value: UInt32 = 0, count = 0
        while count < most, let byte = peek(), let digit = Lexer.hexDigit(byte) {
            value = value << 4 | UInt32(digit)
            end += 1
            count += 1
        }
        return count >= least ? value : nil
    }
}
