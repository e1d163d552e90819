/// Comma-separated values by RFC 4180 from bytes in memory: quoted fields, doubled quotes, line ends inside quotes.
///
/// Strict, so that nothing is read as something else: a quote in the middle of a field, text after a closing quote and
/// a quote that is never closed are errors. Fields are ranges of the source; only those with doubled quotes are copied.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

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
    let start: UnsafePointer<UInt8>
    let count: Int
    private let delimiter: UInt8
    /// The delimiter eight times.
    private let delimiters: UInt64
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
        delimiters = PlainScan.ones &* UInt64(delimiter)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The same text from where a record begins.
    init(_ other: CSVReader, at position: Int, line: Int) {
        self = other
        self.position = position
        nextLine = line
    }

    /// To where a record begins. A copy of the reader for each record would wait for all that was written before it.
    @inline(__always)
    mutating func goBack(to position: Int, line: Int) {
        self.position = position
        nextLine = line
    }

    /// Of the record that comes next.
    var followingLine: Int { nextLine }

    /// Behind the first line feed from an offset on.
    func lineStart(after offset: Int) -> Int {
        guard offset < count, let found = memchr(start + offset, 0x0A, count - offset) else { return count }
        return UnsafeRawPointer(found) - UnsafeRawPointer(start) + 1
    }

    var isAtEnd: Bool { position >= count }

    /// What was read so far need not stay in memory.
    func letGo() { InputFile.letGo(before: start + position) }

    /// The next record's fields into `fields`; false at the end.
    package mutating func next(_ fields: inout [CSVField]) throws(DatabaseError) -> Bool {
        fields.removeAll(keepingCapacity: true)
        guard begin() else { return false }
        while true {
            fields.append(try field())
            // Also a delimiter at the very end, which stands before one more empty field.
            if endsField() { continue }
            endRecord()
            return true
        }
    }

    // MARK: Field by field

    /// The record that comes next is the one of `line`; false at the end.
    @inline(__always)
    mutating func begin() -> Bool {
        guard position < count else { return false }
        line = nextLine
        return true
    }

    /// Whether the field ends before another one of its record; the delimiter is read.
    @inline(__always)
    mutating func endsField() -> Bool {
        guard position < count, start[position] == delimiter else { return false }
        position &+= 1
        return true
    }

    /// Past the end of a record, whose last field has been read; false where there is none.
    @inline(__always) @discardableResult
    mutating func endRecord() -> Bool {
        guard position < count else { return true }
        let byte = start[position]
        guard byte == 0x0A || byte == 0x0D else { return false }
        position &+= 1
        if byte == 0x0D, position < count, start[position] == 0x0A { position &+= 1 }
        nextLine &+= 1
        return true
    }

    /// Whether a field may end at an offset.
    @inline(__always)
    func isFieldEnd(_ offset: Int) -> Bool {
        guard offset < count else { return true }
        let byte = start[offset]
        return byte == delimiter || byte == 0x0A || byte == 0x0D
    }

    /// Past what was read in place; a field ends there.
    @inline(__always)
    mutating func move(to offset: Int) { position = offset }

    /// An int, double or bool that is a whole field and is written as it mostly is.
    @inline(__always)
    mutating func quick(_ reading: QuickReading) -> ValueView? {
        var end = position
        guard let value = PlainScan.value(reading, start, &end, count), isFieldEnd(end) else { return nil }
        position = end
        return value
    }

    /// A field without quotes; nil, with nothing read, where there are some.
    @inline(__always)
    mutating func plainField() -> UnsafeRawBufferPointer? {
        let first = position
        let end = plainEnd(first)
        if end < count, start[end] == UInt8(ascii: "\"") { return nil }
        position = end
        return UnsafeRawBufferPointer(start: start + first, count: end &- first)
    }

    /// Where the first delimiter, end of a line or quote is; eight bytes at a time past everything else.
    @inline(__always)
    private func plainEnd(_ first: Int) -> Int {
        var at = first
        while true {
            while at &+ 8 <= count {
                let word = UnsafeRawPointer(start + at).loadUnaligned(as: UInt64.self).littleEndian
                let marks =
                    PlainScan.zeros(word ^ delimiters) | PlainScan.zeros(word ^ (PlainScan.ones &* 0x22))
                    | ((word &- PlainScan.ones &* 0x0E) & ~word & PlainScan.highBits)
                if marks != 0 {
                    // The lowest mark is exact: a borrow only spoils the bytes above it.
                    at &+= marks.trailingZeroBitCount >> 3
                    break
                }
                at &+= 8
            }
            guard at < count else { return count }
            let byte = start[at]
            if byte == delimiter || byte == 0x0A || byte == 0x0D || byte == UInt8(ascii: "\"") { return at }
            at &+= 1
        }
    }

    mutating func field() throws(DatabaseError) -> CSVField {
        let first = position
        guard first < count, start[first] == UInt8(ascii: "\"") else {
            position = plainEnd(first)
            if position < count, start[position] == UInt8(ascii: "\"") {
                throw failure("a quote in the middle of a field; quote the whole field, and double the quotes inside")
            }
            return CSVField(
                raw: UnsafeRawBufferPointer(start: start + first, count: position - first), isQuoted: false,
                hasDoubledQuotes: false)
        }
        position += 1
        var hasDoubledQuotes = false
        while true {
            skipQuoted()
            guard position < count else { throw failure("a quoted field is never closed") }
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
    }

    /// Eight bytes at a time past everything but quotes and line feeds.
    @inline(__always)
    private mutating func skipQuoted() {
        while position &+ 8 <= count {
            let word = UnsafeRawPointer(start + position).loadUnaligned(as: UInt64.self).littleEndian
            let marks =
                PlainScan.zeros(word ^ (PlainScan.ones &* 0x22)) | PlainScan.zeros(word ^ (PlainScan.ones &* 0x0A))
            if marks != 0 {
                position &+= marks.trailingZeroBitCount >> 3
                return
            }
            position &+= 8
        }
    }

    /// Anything else after the closing quote would be lost.
    private func checkFieldEnds() throws(DatabaseError) {
        guard isFieldEnd(position) else {
            throw failure("text follows a closing quote; quote the whole field, and double the quotes inside")
        }
    }

    private func failure(_ problem: String) -> DatabaseError {
        DatabaseError(.invalidArgument, "line \(line): \(problem)")
    }
}
