/// Plain values from JSON: what a property of each type takes, and what may stand in a mixed value.
///
/// Nothing is converted that does not mean the same: a string is no number, 1.5 is no int, 1.0 is. Texts are borrowed
/// from the source or copied to the arena.
import MotteSchemaModel
import MotteValues

struct JSONScalarReader {
    let arena: ByteArena

    /// A value of a declared type other than a link; null where there is null.
    func read(_ type: PropertyType, _ reader: inout JSONReader) throws(DatabaseError) -> ValueView {
        let kind = try reader.peek()
        switch (type, kind) {
        case (_, .null):
            try reader.null()
            return .null
        case (.bool, .bool): return .bool(try reader.bool())
        case (.int, .number):
            let number = try reader.number()
            guard let value = number.int else {
                throw wrong("\(number.string) is not an int of 64 bits")
            }
            return .int(value)
        case (.float, .number):
            let number = try reader.number()
            guard let value = number.float else { throw wrong("\(number.string) is too large for a float") }
            return .float(value)
        case (.double, .number):
            let number = try reader.number()
            guard let value = number.double else { throw wrong("\(number.string) is too large for a double") }
            return .double(value)
        case (.float, .string): return .float(try special(try text(&reader), "float"))
        case (.double, .string): return .double(try special(try text(&reader), "double"))
        case (.string, .string): return .string(try text(&reader))
        case (.data, .string): return .data(try data(try text(&reader)))
        case (.timestamp, .string): return .timestamp(try timestamp(try text(&reader)))
        case (.decimal, .string): return .decimal(try decimal(try text(&reader)))
        case (.decimal, .number): return .decimal(try decimal(try reader.number().text))
        case (_, .string):
            guard let identifier = type.valueKind?.identifier else {
                throw wrong("expected \(type.name), found \(kind.name)")
            }
            return try value(try text(&reader), identifier)
        default: throw wrong("expected \(type.name), found \(kind.name)")
        }
    }

    /// A string without its escapes.
    func text(_ reader: inout JSONReader) throws(DatabaseError) -> UnsafeRawBufferPointer {
        plain(try reader.string())
    }

    func plain(_ text: JSONText) -> UnsafeRawBufferPointer {
        guard text.hasEscapes else { return text.raw }
        let place = arena.allocate(text.raw.count)
        return UnsafeRawBufferPointer(start: place, count: JSONEscapes.decode(text.raw, into: place))
    }

    // MARK: Types that JSON writes as strings

    private func special<Number: BinaryFloatingPoint>(
        _ text: UnsafeRawBufferPointer, _ name: String
    ) throws(DatabaseError) -> Number {
        if text.elementsEqual("NaN".utf8) { return .nan }
        if text.elementsEqual("Infinity".utf8) { return .infinity }
        if text.elementsEqual("-Infinity".utf8) { return -.infinity }
        throw wrong("expected \(name), found a string; only \"NaN\", \"Infinity\" and \"-Infinity\" are written so")
    }

    func data(_ text: UnsafeRawBufferPointer) throws(DatabaseError) -> UnsafeRawBufferPointer {
        let place = arena.allocate(Base64.capacity(text.count))
        guard let count = Base64.decode(text, into: place) else { throw wrong("\(Self.shown(text)) is not base64") }
        return UnsafeRawBufferPointer(start: place, count: count)
    }

    func timestamp(_ text: UnsafeRawBufferPointer) throws(DatabaseError) -> Timestamp {
        guard let time = TimeText.parse(text) else {
            throw wrong("\(Self.shown(text)) is not a time with its zone, as 2013-01-01T10:00:00Z")
        }
        return time
    }

    func decimal(_ text: UnsafeRawBufferPointer) throws(DatabaseError) -> Decimal128 {
        guard let value = DecimalText.parse(text) else {
            throw wrong("\(Self.shown(text)) is not a decimal of at most 34 digits")
        }
        return value
    }

    private func value(
        _ text: UnsafeRawBufferPointer, _ identifier: IdentifierType
    ) throws(DatabaseError) -> ValueView {
        guard let value = identifier.value(String(decoding: text, as: UTF8.self)) else {
            throw wrong("\(Self.shown(text)) is not \(identifier.description)")
        }
        return value
    }

    func wrong(_ problem: String) -> DatabaseError { DatabaseError(.wrongType, problem) }

    static func shown(_ text: UnsafeRawBufferPointer) -> String {
        let shown = String(decoding: text.prefix(60), as: UTF8.self)
        return "\"\(shown)\(text.count > 60 ? "..." : "")\""
    }
}
