/// JSON by RFC 8259 from bytes in memory, one token at a time: nothing is built, nothing is allocated.
///
/// Strict: no comments, no trailing commas, no NaN, no lone surrogates, only well-formed UTF-8. The caller walks: it
/// begins an object or array and asks for the next key or element until there is none. Texts are ranges of the source;
/// only those with escapes have to be copied. A mistake is named with its line and column (in bytes, from 1).
import MotteValues

/// What a value begins like.
package enum JSONKind: Sendable {
    case null, bool, number, string, array, object

    package var name: String {
        switch self {
        case .null: "null"
        case .bool: "a bool"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// A string as it stands between its quotes.
package struct JSONText {
    package let raw: UnsafeRawBufferPointer
    package let hasEscapes: Bool
}

package struct JSONReader {
    /// Containers in containers that are read; also what keeps recursion over a document from ending the stack.
    package static let depthLimit = 256

    let start: UnsafePointer<UInt8>
    let count: Int
    package private(set) var position: Int
    /// Of the first byte.
    private let firstLine: Int
    private var depth = 0
    /// Whether a container was just begun: its first key or element has no comma before it.
    private var isFresh = false

    /// The bytes outlive the reader and its texts.
    package init(_ bytes: UnsafeRawBufferPointer, firstLine: Int = 1) {
        // An empty buffer has no address; the reader never looks at it.
        start =
            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            ?? UnsafePointer(bitPattern: UInt(MemoryLayout<Int>.alignment)).unsafelyUnwrapped  // never nil: not 0
        count = bytes.count
        position = 0
        self.firstLine = firstLine
    }

    // MARK: Structure

    /// The kind of the value that comes next.
    package mutating func peek() throws(DatabaseError) -> JSONKind {
        skipSpace()
        guard position < count else { throw failure("the text ends where a value is expected") }
        switch start[position] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), 0x30 ... 0x39: return .number
        default: throw failure("expected a value, found \(found())")
        }
    }

    package var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position >= count
        }
    }

    package mutating func beginObject() throws(DatabaseError) { try begin(UInt8(ascii: "{"), "an object") }
    package mutating func beginArray() throws(DatabaseError) { try begin(UInt8(ascii: "["), "an array") }

    private mutating func begin(_ opening: UInt8, _ what: String) throws(DatabaseError) {
        skipSpace()
        guard position < count, start[position] == opening else { throw failure("expected \(what), found \(found())") }
        guard depth < Self.depthLimit else {
            throw failure("more than \(Self.depthLimit) objects and arrays within each other")
        }
        // What is read is walked again when it is stored.
        guard StackGuard.hasRoom(for: depth * 600) else {
            throw failure("too many objects and arrays within each other for the stack of this thread")
        }
        depth += 1
        position += 1
        isFresh = true
    }

    /// The next key, its colon read; nil at the end of the object, which is read too.
    package mutating func nextKey() throws(DatabaseError) -> JSONText? {
        guard try next(closing: UInt8(ascii: "}"), "'}'") else { return nil }
        skipSpace()
        guard position < count, start[position] == UInt8(ascii: "\"") else {
            throw failure("expected a name in double quotes, found \(found())")
        }
        let key = try string()
        if position < count, start[position] == UInt8(ascii: ":") {
            position += 1
            return key
        }
        skipSpace()
        guard position < count, start[position] == UInt8(ascii: ":") else {
            throw failure("expected ':' after a name, found \(found())")
        }
        position += 1
        return key
    }

    /// Whether another element follows; false at the end of the array, which is read too.
    package mutating func nextElement() throws(DatabaseError) -> Bool {
        guard try next(closing: UInt8(ascii: "]"), "']'") else { return false }
        skipSpace()
        if position < count, start[position] == UInt8(ascii: "]") { throw failure("a comma before ']'") }
        return true
    }

    private mutating func next(closing: UInt8, _ name: String) throws(DatabaseError) -> Bool {
        skipSpace()
        guard position < count else { throw failure("the text ends where \(name) is expected") }
        let byte = start[position]
        if byte == closing {
            position += 1
            depth -= 1
            isFresh = false
            return false
        }
        if isFresh {
            isFresh = false
            return true
        }
        guard byte == UInt8(ascii: ",") else { throw failure("expected ',' or \(name), found \(found())") }
        position += 1
        return true
    }

    // MARK: What is written as it mostly is

    /// Reads a key and its colon if these very bytes come next, behind a comma where one is due; otherwise nothing.
    @inline(__always)
    mutating func take(key: UnsafeRawBufferPointer) -> Bool {
        var at = position
        if !isFresh {
            guard at < count, start[at] == UInt8(ascii: ",") else { return false }
            at &+= 1
            if at < count, start[at] == 0x20 { at &+= 1 }
        }
        let size = key.count
        guard size > 0, count &- at >= size, Self.isSame(start + at, key) else { return false }
        position = at &+ size
        isFresh = false
        return true
    }

    @inline(__always)
    private static func isSame(_ bytes: UnsafePointer<UInt8>, _ key: UnsafeRawBufferPointer) -> Bool {
        let bytes = UnsafeRawPointer(bytes)
        // unsafelyUnwrapped: a key has bytes.
        let key = (start: key.baseAddress.unsafelyUnwrapped, count: key.count)
        guard key.count >= 8 else {
            for index in 0 ..< key.count {
                let byte = bytes.load(fromByteOffset: index, as: UInt8.self)
                if byte != key.start.load(fromByteOffset: index, as: UInt8.self) { return false }
            }
            return true
        }
        var different: UInt64 = 0
        var index = 0
        while index < key.count {
            // The last eight overlap those before them.
            let offset = min(index, key.count &- 8)
            different |=
                bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                ^ key.start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            index &+= 8
        }
        return different == 0
    }

    /// A property's value in the usual form, before a comma or the end of the object; nil, with nothing but space read,
    /// for all others.
    @inline(__always)
    mutating func quick(_ reading: QuickReading) -> ValueView? {
        skipSpace()
        var end = position
        let value = reading == .text ? quickText(&end) : PlainScan.value(reading, start, &end, count)
        guard let value, end < count, start[end] == UInt8(ascii: ",") || start[end] == UInt8(ascii: "}") else {
            return nil
        }
        position = end
        return value
    }

    /// ASCII without escapes.
    @inline(__always)
    private func quickText(_ end: inout Int) -> ValueView? {
        guard end < count, start[end] == UInt8(ascii: "\"") else { return nil }
        end &+= 1
        let first = end
        let beyondASCII = Self.skipPlain(start, &end, count)
        guard beyondASCII < 0x80, end < count, start[end] == UInt8(ascii: "\"") else { return nil }
        end &+= 1
        return .string(UnsafeRawBufferPointer(start: start + first, count: end &- first &- 1))
    }

    // MARK: Values

    package mutating func null() throws(DatabaseError) { try literal("null") }

    package mutating func bool() throws(DatabaseError) -> Bool {
        skipSpace()
        if position < count, start[position] == UInt8(ascii: "t") {
            try literal("true")
            return true
        }
        try literal("false")
        return false
    }

    private mutating func literal(_ word: StaticString) throws(DatabaseError) {
        skipSpace()
        let size = word.utf8CodeUnitCount
        guard count - position >= size else { throw failure("expected a value, found \(found())") }
        for index in 0 ..< size where start[position + index] != word.utf8Start[index] {
            throw failure("expected \(word), found \(found())")
        }
        if position + size < count, Self.isWordByte(start[position + size]) {
            throw failure("expected \(word), found \(found())")
        }
        position += size
    }

    package mutating func number() throws(DatabaseError) -> JSONNumber {
        skipSpace()
        let rest = UnsafeBufferPointer(start: start + position, count: count - position)
        guard let number = JSONNumber(prefixOf: rest) else { throw failure("expected a number, found \(found())") }
        let end = position + number.text.count
        if end < count, Self.isWordByte(start[end]) || start[end] == UInt8(ascii: ".") {
            throw failure("expected a number, found \(found())")
        }
        position = end
        return number
    }

    package mutating func string() throws(DatabaseError) -> JSONText {
        skipSpace()
        guard position < count, start[position] == UInt8(ascii: "\"") else {
            throw failure("expected a string, found \(found())")
        }
        position += 1
        let first = position
        var hasEscapes = false
        var beyondASCII: UInt8 = 0
        let end = min(count, first &+ Self.longestString)
        while true {
            beyondASCII |= Self.skipPlain(start, &position, end)
            guard position < end else {
                throw end < count ? tooLong(at: first - 1) : failure("a string is never closed", at: first - 1)
            }
            let byte = start[position]
            if byte == UInt8(ascii: "\"") { break }
            guard byte == UInt8(ascii: "\\") else {
                throw failure(
                    "a control character in a string; write it as \\u00\(byte < 16 ? "0" : "")"
                        + String(byte, radix: 16))
            }
            hasEscapes = true
            try escape()
        }
        let raw = UnsafeRawBufferPointer(start: start + first, count: position - first)
        if beyondASCII >= 0x80, !UTF8Validation.isValid(raw) {
            let (line, column) = place(of: first - 1)
            throw DatabaseError(.invalidUTF8, "line \(line), column \(column): a string is not valid UTF-8")
        }
        position += 1
        return JSONText(raw: raw, hasEscapes: hasEscapes)
    }

    /// Between its quotes, each byte of the longest value written with an escape.
    private static let longestString = 6 * (16 << 20)

    private func tooLong(at offset: Int) -> DatabaseError {
        let (line, column) = place(of: offset)
        return DatabaseError(
            .valueTooLarge,
            "line \(line), column \(column): a string of more than \(Self.longestString) bytes; a value has at most"
                + " 16 MB"
        )
    }

    /// To the next quote, backslash or control character, eight bytes at a time. What is returned is below 0x80 if all
    /// bytes on the way were; it may count some that follow, too.
    @inline(__always)
    private static func skipPlain(_ start: UnsafePointer<UInt8>, _ position: inout Int, _ count: Int) -> UInt8 {
        var seen: UInt64 = 0
        while position &+ 8 <= count {
            let word = UnsafeRawPointer(start + position).loadUnaligned(as: UInt64.self).littleEndian
            seen |= word
            let special =
                PlainScan.zeros(word ^ (PlainScan.ones &* 0x22)) | PlainScan.zeros(word ^ (PlainScan.ones &* 0x5C))
                | ((word &- PlainScan.ones &* 0x20) & ~word & PlainScan.highBits)
            if special != 0 {
                // The lowest mark is exact: a borrow only spoils the bytes above it.
                position &+= special.trailingZeroBitCount >> 3
                return seen & PlainScan.highBits == 0 ? 0 : 0x80
            }
            position &+= 8
        }
        while position < count {
            let byte = start[position]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
            seen |= UInt64(byte)
            position &+= 1
        }
        return seen & PlainScan.highBits == 0 ? 0 : 0x80
    }

    private mutating func escape() throws(DatabaseError) {
        guard position + 1 < count else { throw failure("the text ends within an escape") }
        switch start[position + 1] {
        case UInt8(ascii: "u"):
            guard let unit = JSONEscapes.unit(start, position, count) else {
                throw failure("\\u is followed by four hexadecimal digits")
            }
            position += 6
            guard unit & 0xF800 == 0xD800 else { return }
            guard unit & 0xFC00 == 0xD800, let low = JSONEscapes.unit(start, position, count), low & 0xFC00 == 0xDC00
            else { throw failure("half of a surrogate pair, which stands for no character", at: position - 6) }
            position += 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        default: throw failure("there is no such escape; a backslash is written \\\\")
        }
    }

    /// Checks and passes over one value; answers its bytes.
    package mutating func skip() throws(DatabaseError) -> UnsafeRawBufferPointer {
        let kind = try peek()
        let first = position
        switch kind {
        case .null: try null()
        case .bool: _ = try bool()
        case .number: _ = try number()
        case .string: _ = try string()
        case .array:
            try beginArray()
            while try nextElement() { _ = try skip() }
        case .object:
            try beginObject()
            while try nextKey() != nil { _ = try skip() }
        }
        return UnsafeRawBufferPointer(start: start + first, count: position - first)
    }

    /// Before an object that was read, and where the reader stands behind.
    mutating func goBack(toObjectAt offset: Int) { position = offset }

    // MARK: Where and what

    @inline(__always)
    mutating func skipSpace() {
        while position < count {
            let stop = min(count, position &+ InputFile.pieceBytes)
            while position < stop {
                let byte = start[position]
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
                position += 1
            }
            // Nothing but blanks for that long.
            InputFile.letGo(before: start + position)
        }
    }

    /// UTF-8's mark of byte order, which some programs put before everything.
    package mutating func skipByteOrderMark() {
        if position == 0, count >= 3, start[0] == 0xEF, start[1] == 0xBB, start[2] == 0xBF { position = 3 }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5A) || (byte >= 0x61 && byte <= 0x7A)
            || byte == 0x5F || byte >= 0x80
    }

    private func found() -> String {
        guard position < count else { return "the end" }
        let byte = start[position]
        guard byte > 0x20, byte < 0x7F else { return "byte 0x" + String(byte, radix: 16) }
        var end = position
        while end < count, end - position < 20, Self.isWordByte(start[end]), start[end] < 0x80 { end += 1 }
        if end == position { end += 1 }
        return "'"
            + String(decoding: UnsafeBufferPointer(start: start + position, count: end - position), as: UTF8.self)
            + "'"
    }

    package var line: Int { place(of: position).line }

    /// Of the position, when the line at an offset before it is known.
    func line(from line: Int, at offset: Int) -> Int {
        var line = line
        for index in offset ..< max(min(position, count), offset) where start[index] == 0x0A { line += 1 }
        return line
    }

    func place(of offset: Int) -> (line: Int, column: Int) {
        var line = firstLine
        var column = 1
        for index in 0 ..< min(offset, count) {
            if start[index] == 0x0A {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
        return (line, column)
    }

    package func failure(_ problem: String, at offset: Int? = nil) -> DatabaseError {
        let (line, column) = place(of: offset ?? position)
        return DatabaseError(.invalidArgument, "line \(line), column \(column): \(problem)")
    }
}
