/// Comma-separated values by RFC 4180 from bytes in memory: quoted fields, doubled quotes, line ends inside quotes.
///
/// Strict, so that nothing is read as something else: a quote in the middle of a field, text after a closing quote and
/// a quote that is never closed are errors. Fields are ranges of the source; only those with doubled quotes are copied.
import MotteValues

package struct CSVField {
    /// Without the quotes around it.
    let raw: UnsafeRawBufferPointer
    package let isQuoted: Bool
    let hasDoubledQuotes: Bool

    func text(_ arena: ByteArena) -> UnsafeRawBufferPointer {
        guard hasDoubledQuotes else { return raw }
        let place = arena.allocate(raw.count)
        var count = 0
        var index = 0
        while index < raw.count {
            place[count] = raw[index]
            count += 1
            index += raw[index] == UInt8(ascii: "\"") ? 2 : 1
        }
        return UnsafeRawBufferPointer(start: place, count: count)
    }

    package var string: String {
        let arena = ByteArena()
        defer { withExtendedLifetime(arena) {} }
        return String(decoding: text(arena), as: UTF8.self)
    }
}

package struct CSVReader {
    private let start: UnsafePointer<UInt8>
    private let count: Int
    private let delimiter: UInt8
    package private(set) var position = 0
    /// Of the record read last, counting from 1.
    package private(set) var line = 0
    private var nextLine = 1

    /// The bytes outlive the reader and its fields.
    package init(_ bytes: UnsafeRawBufferPointer, delimiter: UInt8) {
        start =
            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            // unsafelyUnwrapped: 8 is an address, which is never looked at because the buffer is empty.
            ?? UnsafePointer(bitPattern: 8).unsafelyUnwrapped
        count = bytes.count
        self.delimiter = delimiter
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The next record's fields into `fields`; false at the end.
    package mutating func next(_ fields: inout [CSVField]) throws(DatabaseError) -> Bool {
        fields.removeAll(keepingCapacity: true)
        guard position < count else { return false }
        line = nextLine
        while true {
            fields.append(try field())
            guard position < count else { return true }
            let end = start[position]
            position += 1
            // Also one at the very end, which stands before one more empty field.
            if end == delimiter { continue }
            if end == 0x0D, position < count, start[position] == 0x0A { position += 1 }
            nextLine += 1
            return true
        }
    }

    private func plain(_ first: Int, _ end: Int) -> CSVField {
        CSVField(
            raw: UnsafeRawBufferPointer(start: start + first, count: end - first), isQuoted: false,
            hasDoubledQuotes: false)
    }

    private mutating func field() throws(DatabaseError) -> CSVField {
        let first = position
        guard first < count, start[first] == UInt8(ascii: "\"") else {
            while position < count {
                let byte = start[position]
                if byte == delimiter || byte == 0x0A || byte == 0x0D { break }
                if byte == UInt8(ascii: "\"") {
                    throw failure(
                        "a quote in the middle of a field; quote the whole field, and double the quotes inside")
                }
                position += 1
            }
            return plain(first, position)
        }
        position += 1
        var hasDoubledQuotes = false
        while position < count {
            let byte = start[position]
            if byte == UInt8(ascii: "\"") {
                guard position + 1 < count, start[position + 1] == byte else {
                    let raw = UnsafeRawBufferPointer(start: start + first + 1, count: position - first - 1)
                    position += 1
                    try checkFieldEnds()
                    return CSVField(raw: raw, isQuoted: true, hasDoubledQuotes: hasDoubledQuotes)
                }
                hasDoubledQuotes = true
                position += 1
            }
            if byte == 0x0A { nextLine += 1 }
            position += 1
        }
        throw failure("a quoted field is never closed")
    }

    /// Anything else after the closing quote would be lost.
    private func checkFieldEnds() throws(DatabaseError) {
        guard position < count else { return }
        let byte = start[position]
        guard byte == delimiter || byte == 0x0A || byte == 0x0D else {
            throw failure("text follows a closing quote; quote the whole field, and double the quotes inside")
        }
    }

    private func failure(_ problem: String) -> DatabaseError {
        DatabaseError(.invalidArgument, "line \(line): \(problem)")
    }
}
