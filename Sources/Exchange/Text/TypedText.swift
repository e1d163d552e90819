/// A value from a text of its own, such as an argument of a command: its type is named, or the text says it.
///
///     12   2.5   true   null   Ada         an int, a double, a bool, null; everything else is a string
///     string:12   timestamp:2013-01-01T10:00:00Z   uuid:01234567-89ab-cdef-0123-456789abcdef
///     json:[1, 2, 3]   json:{"$link": ["Person", 5]}         as in mixed values, lists among them
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

package enum TypedText {
    private static let types = PropertyType.scalars

    /// Links in `json:` are looked up in the session.
    package static func value(_ text: String, in session: Session) throws(DatabaseError) -> Value {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return plain(text) }
        let name = String(text[..<mark])
        let rest = String(text[text.utf8.index(after: mark)...])
        if name == "json" { return try json(rest, session) }
        guard let type = types.first(where: { $0.name.hasSameBytes(as: name) }) else { return plain(text) }
        let arena = ByteArena()
        let value = rest.withUTF8Bytes { CSVCell.value($0, type, arena)?.owned }
        guard let value else {
            throw DatabaseError(
                .invalidArgument,
                "'\(shown(rest))' is not \(type.name); write string:\(shown(text)) for that very text")
        }
        return value
    }

    private static func plain(_ text: String) -> Value {
        switch text {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default: break
        }
        // By the grammar of JSON, so that 007, 1_000 and nan stay texts.
        let number: Value? = text.withUTF8Bytes { bytes in
            guard let number = JSONNumber(exactly: bytes) else { return nil }
            if number.isInteger, let int = number.int { return .int(int) }
            if number.isInteger, let decimal = DecimalText.parse(bytes) { return .decimal(decimal) }
            return number.double.map(Value.double)
        }
        return number ?? .string(text)
    }

    private static func json(_ text: String, _ session: Session) throws(DatabaseError) -> Value {
        let importer = try JSONImport(session, into: nil)
        let bytes = Array(text.utf8)
        return try bytes.withBytes { bytes throws(DatabaseError) in
            var reader = JSONReader(bytes)
            let mixed = JSONMixedReader(importer: importer, arena: ByteArena(), isLast: true)
            guard let value = try mixed.read(&reader)?.owned else {
                throw DatabaseError(.invalidArgument, "'\(shown(text))' links to an object that is not there")
            }
            guard reader.isAtEnd else {
                throw DatabaseError(.invalidArgument, "text follows the value in '\(shown(text))'")
            }
            return value
        }
    }

    private static func shown(_ text: String) -> String {
        text.unicodeScalars.count > 60 ? String(text.unicodeScalars.prefix(57)) + "..." : text
    }
}
