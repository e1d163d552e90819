/// Reading the line format of the conformance cases: a cursor over one line, and literals with their memory.
///
/// Values are views over bytes that the arena keeps, so that a case can also say what no Swift string can hold. The
/// format is described in docs/testing.md; bindings/c/tests/case_text.c reads the same.
import MotteValues

/// Why a case failed: what it expected and what it found.
struct CaseFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Bytes of the literals of one case.
final class CaseArena {
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    deinit {
        for block in blocks { block.deallocate() }
    }

    func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
        block.copyBytes(from: bytes)
        blocks.append(block)
        return UnsafeRawBufferPointer(rebasing: block[0 ..< bytes.count])
    }
}

enum Literal {
    case single(ValueView)
    case list([ValueView])

    var text: String {
        switch self {
        case .single(let value): Self.text(value)
        case .list(let values): "[" + values.map(Self.text).joined(separator: ", ") + "]"
        }
    }

    static func text(_ view: ValueView) -> String { text(view.owned) }

    private static func text(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .float(let value): "\(value)f"
        case .double(let value): "\(value)"
        case .string(let value): "\"\(value)\""
        case .data(let value): "data \(value)"
        case .timestamp(let value): "ts(\(value.seconds),\(value.nanoseconds))"
        case .link(let value): "class \(value.table.rawValue) key \(value.key.rawValue)"
        case .decimal(let value): "dec\"\(value.text)\""
        case .objectID(let value): "objectId\"\(value.text)\""
        case .uuid(let value): "uuid\"\(value.text)\""
        case .list(let values): "[" + values.map(text).joined(separator: ", ") + "]"
        case .map(let entries):
            "{" + entries.map { "\"\($0.key)\": " + text($0.value) }.joined(separator: ", ") + "}"
        }
    }

    /// Equal in kind and payload.
    func isSame(as other: Literal) -> Bool {
        switch (self, other) {
        case (.single(let left), .single(let right)): Self.isSame(left, right)
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { Self.isSame($0, $1) }
        default: false
        }
    }

    private static func isSame(_ left: ValueView, _ right: ValueView) -> Bool {
        guard left.kindNumber == right.kindNumber else { return false }
        // Documents of equal values are equal, with the types of what is in them.
        if left.kind == .list || left.kind == .map { return left.bytes.elementsEqual(right.bytes) }
        return ValueOrdering.compare(left, right) == 0
    }
}

struct CaseCursor {
    typealias Resolve = (inout CaseCursor) throws -> ValueView

    private let bytes: [UInt8]
    private var position = 0
    let arena: CaseArena

    init(_ line: String, _ arena: CaseArena) {
        bytes = Array(line.utf8)
        self.arena = arena
    }

    var rest: String { String(decoding: bytes[position...], as: UTF8.self) }
    private var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

    // MARK: Words

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a") ... UInt8(ascii: "z"), UInt8(ascii: "A") ... UInt8(ascii: "Z"),
            UInt8(ascii: "0") ... UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    mutating func skipBlanks() {
        while next == UInt8(ascii: " ") { position += 1 }
    }

    mutating func isAtEnd() -> Bool {
        skipBlanks()
        return position == bytes.count || next == UInt8(ascii: "#")
    }

    /// What is left of the line, which is then read.
    mutating func takeRest() -> String {
        skipBlanks()
        defer { position = bytes.count }
        return rest
    }

    /// Steps over `text` if it is next; a word must end there.
    mutating func accept(_ text: String) -> Bool {
        skipBlanks()
        let wanted = Array(text.utf8)
        let end = position + wanted.count
        guard end <= bytes.count, Array(bytes[position ..< end]) == wanted else { return false }
        let following = end < bytes.count ? bytes[end] : 0
        if Self.isNameByte(wanted[wanted.count - 1]), Self.isNameByte(following) || following == UInt8(ascii: "-") {
            return false
        }
        position = end
        return true
    }

    mutating func need(_ text: String) throws {
        if !accept(text) { throw CaseFailure("expected '\(text)' at '\(rest)'") }
    }

    mutating func isNext(_ text: String) -> Bool {
        var ahead = self
        return ahead.accept(text)
    }

    mutating func acceptName() -> String? {
        skipBlanks()
        let start = position
        if Self.isDigit(next) { return nil }
        while Self.isNameByte(next) || (next == UInt8(ascii: "-") && position > start) { position += 1 }
        return position == start ? nil : String(decoding: bytes[start ..< position], as: UTF8.self)
    }

    mutating func needName() throws -> String {
        guard let name = acceptName() else { throw CaseFailure("expected a name at '\(rest)'") }
        return name
    }

    /// A primary key: in `Person/1.name` the dot is not part of a number.
    mutating func needKey(_ resolve: Resolve) throws -> ValueView {
        Self.isDigit(next) || next == UInt8(ascii: "-") ? .int(try needInteger()) : try needValue(resolve)
    }

    mutating func needInteger() throws -> Int64 {
        skipBlanks()
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        while Self.isDigit(next) { position += 1 }
        guard let number = Int64(String(decoding: bytes[start ..< position], as: UTF8.self)) else {
            throw CaseFailure("expected a whole number at '\(rest)'")
        }
        return number
    }

    /// Text in backquotes, taken as it stands.
    mutating func needText() throws -> String {
        try need("`")
        guard let end = bytes[position...].firstIndex(of: UInt8(ascii: "`")) else {
            throw CaseFailure("text without its closing backquote")
        }
        defer { position = end + 1 }
        return String(decoding: bytes[position ..< end], as: UTF8.self)
    }

    // MARK: Literals

    mutating func needLiteral(_ resolve: Resolve) throws -> Literal {
        if accept("[") { return .list(try values(until: "]", resolve)) }
        return .single(try needValue(resolve))
    }

    mutating func acceptArguments(_ resolve: Resolve) throws -> [ValueView] {
        accept("(") ? try values(until: ")", resolve) : []
    }

    private mutating func values(until close: String, _ resolve: Resolve) throws -> [ValueView] {
        var values: [ValueView] = []
        while !accept(close) {
            if !values.isEmpty { try need(",") }
            values.append(try needValue(resolve))
        }
        return values
    }

    mutating func needValue(_ resolve: Resolve) throws -> ValueView {
        skipBlanks()
        if accept("null") { return .null }
        if accept("true") { return .bool(true) }
        if accept("false") { return .bool(false) }
        if accept("ts(") {
            let seconds = try needInteger()
            try need(",")
            let nanoseconds = try needInteger()
            try need(")")
            return .timestamp(Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds)))
        }
        if next == UInt8(ascii: "\"") {
            let text = try stringBytes()
            let count = accept("*") ? Int(try needInteger()) : 1
            return .string(arena.keep(count == 1 ? text : Array(repeatElement(text, count: count).joined())))
        }
        if accept("x\"") { return .data(arena.keep(try dataBytes())) }
        if let value = try named() { return value }
        if accept("[") { return nested(.list(try values(until: "]", resolve).map(\.owned))) }
        if accept("{") { return try map(resolve) }
        let isWord = Self.isNameByte(next) && !Self.isDigit(next) && !isNext("nan") && !isNext("inf") && !isNext("inff")
        if next == UInt8(ascii: "@") || isWord { return try resolve(&self) }
        return try number()
    }

    /// `dec"3.75"`, `objectId"24 digits"`, `uuid"36 characters"`.
    private mutating func named() throws -> ValueView? {
        for word in ["dec", "objectId", "uuid"] where accept(word + "\"") {
            position -= 1
            let text = String(decoding: try stringBytes(), as: UTF8.self)
            let value: ValueView? =
                switch word {
                case "dec": Decimal128(parsing: text).map(ValueView.decimal)
                case "objectId": ObjectID(parsing: text).map(ValueView.objectID)
                default: UUIDBytes(parsing: text).map(ValueView.uuid)
                }
            guard let value else { throw CaseFailure("'\(text)' is no \(word)") }
            return value
        }
        return nil
    }

    /// The rest of `{"key": value, ...}`.
    private mutating func map(_ resolve: Resolve) throws -> ValueView {
        var entries: [MapEntry] = []
        while !accept("}") {
            if !entries.isEmpty { try need(",") }
            skipBlanks()
            let key = String(decoding: try stringBytes(), as: UTF8.self)
            try need(":")
            entries.append(MapEntry(key: key, value: try needValue(resolve).owned))
        }
        return nested(.map(entries))
    }

    /// A list or map as one value; its bytes live as long as the case.
    func nested(_ value: Value) -> ValueView {
        let document = arena.keep(NestedDocument.encode(value))
        return value.kind == .map ? .map(document) : .list(document)
    }

    /// A value whose bytes live as long as the case.
    func kept(_ value: Value) -> ValueView {
        switch value {
        case .string(let text): .string(arena.keep(Array(text.utf8)))
        case .data(let bytes): .data(arena.keep(bytes))
        case .list, .map: nested(value)
        default: value.withView { $0 }
        }
    }

    private mutating func hexDigit() throws -> UInt8 {
        defer { position += 1 }
        switch next {
        case UInt8(ascii: "0") ... UInt8(ascii: "9"): return next - UInt8(ascii: "0")
        case UInt8(ascii: "a") ... UInt8(ascii: "f"): return next - UInt8(ascii: "a") + 10
        default: throw CaseFailure("no hexadecimal digit in lower case at '\(rest)'")
        }
    }

    private mutating func stringBytes() throws -> [UInt8] {
        var text: [UInt8] = []
        position += 1
        while next != UInt8(ascii: "\"") {
            guard position < bytes.count else { throw CaseFailure("a string without its closing quote") }
            var byte = next
            position += 1
            if byte == UInt8(ascii: "\\") {
                byte = next
                position += 1
                switch byte {
                case UInt8(ascii: "n"): byte = 10
                case UInt8(ascii: "t"): byte = 9
                case UInt8(ascii: "x"): byte = try hexDigit() * 16 + hexDigit()
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): break
                default: throw CaseFailure("unknown escape at '\(rest)'")
                }
            }
            text.append(byte)
        }
        position += 1
        return text
    }

    private mutating func dataBytes() throws -> [UInt8] {
        var data: [UInt8] = []
        while next != UInt8(ascii: "\"") { data.append(try hexDigit() * 16 + hexDigit()) }
        position += 1
        return data
    }

    private mutating func number() throws -> ValueView {
        let start = position
        while Self.isNameByte(next) || "-.+".utf8.contains(next) { position += 1 }
        let text = String(decoding: bytes[start ..< position], as: UTF8.self)
        if text.hasSuffix("f"), !text.hasSuffix("inf"), let value = Float(text.dropLast()) { return .float(value) }
        if text.hasSuffix("inff"), let value = Float(text.dropLast()) { return .float(value) }
        if let value = Int64(text) { return .int(value) }
        if let value = Double(text) { return .double(value) }
        throw CaseFailure("expected a value at '\(text)'")
    }
}
