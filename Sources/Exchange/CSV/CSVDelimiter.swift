/// What separates the fields of a text, where nobody says it: the comma if the header has one, else what the header and
/// the records behind it have equally often.
package enum CSVDelimiter {
    private static let others: [UInt8] = [UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|")]
    private static let records = 20

    /// Neither a quote nor a line end, which have a meaning of their own.
    package static func isAllowed(_ byte: UInt8) -> Bool { byte < 0x80 && byte != 0x22 && byte != 0x0A && byte != 0x0D }

    /// One ASCII character, or `\\t`; nil where a text is none that separates fields.
    package static func byte(_ text: String) -> UInt8? {
        if text == "\\t" { return 0x09 }
        guard let byte = text.utf8.first, text.utf8.count == 1, isAllowed(byte) else { return nil }
        return byte
    }

    package static func guess(_ bytes: UnsafeRawBufferPointer) -> UInt8 {
        let comma = UInt8(ascii: ",")
        if fieldCount(bytes, comma, records: 1) ?? 0 > 1 { return comma }
        var best = (delimiter: comma, count: 1)
        for delimiter in others {
            guard let count = fieldCount(bytes, delimiter, records: records), count > best.count else { continue }
            best = (delimiter, count)
        }
        return best.delimiter
    }

    /// Of the header; nil where one of the first records has another number, or is no CSV.
    private static func fieldCount(_ bytes: UnsafeRawBufferPointer, _ delimiter: UInt8, records: Int) -> Int? {
        var reader = CSVReader(bytes, delimiter: delimiter)
        var fields: [CSVField] = []
        var count: Int?
        for _ in 0 ..< records {
            // A text that is no CSV with this delimiter may be one with another.
            guard let isThere = try? reader.next(&fields) else { return nil }
            guard isThere else { break }
            if let count, fields.count != count { return nil }
            count = fields.count
        }
        return count
    }
}
