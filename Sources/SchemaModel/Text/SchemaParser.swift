/// Reads the form that `SchemaText` describes; one function per rule of its grammar.
///
///     schema   := class*
///     class    := 'embedded'? name '{' ((property | index) ','?)* '}'
///     property := name ':' type mark*
///     type     := primitive '?'? | ('list' | 'set' | 'map') '<' (primitive | class) '?'? '>'
///               | 'link' '<' class '>' '!'?
///               | 'inverse' '<' class '.' name '>'
///     mark     := 'key' | 'indexed' | 'unique'
///     index    := ('indexed' | 'unique') '(' parts ')'
///     parts    := name ('asc' | 'desc')? (',' name ('asc' | 'desc')?)*
import MotteValues

struct SchemaParser {
    private enum Token {
        case word(String)
        case quoted(String)
        case mark(UInt8)
        case end
    }

    private let bytes: [UInt8]
    private var position = 0
    /// Start of the token in `token`, for messages.
    private var tokenStart = 0
    private var token = Token.end

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func schema() throws(DatabaseError) -> Schema {
        try advance()
        var types: [ObjectType] = []
        while true {
            if case .end = token { return Schema(types) }
            types.append(try objectType())
        }
    }

    private mutating func objectType() throws(DatabaseError) -> ObjectType {
        var name = try name("a class name")
        var isEmbedded = false
        if name == "embedded", !isMark("{") {
            isEmbedded = true
            name = try self.name("a class name")
        }
        try expect("{")
        var properties: [Property] = []
        var indexes: [IndexDeclaration] = []
        while !isMark("}") {
            if beginsIndex {
                indexes.append(try index())
            } else {
                properties.append(try property())
            }
            if isMark(",") { try advance() }
        }
        try advance()
        return ObjectType(name: name, properties: properties, isEmbedded: isEmbedded, indexes: indexes)
    }

    /// Whether what follows is an index and no property or mark.
    private var beginsIndex: Bool {
        guard case .word(let word) = token, word == "indexed" || word == "unique" else { return false }
        return isNext("(")
    }

    private mutating func index() throws(DatabaseError) -> IndexDeclaration {
        guard case .word(let word) = token else { throw unexpected("'indexed' or 'unique'") }
        try advance()
        try expect("(")
        let parts = try parts()
        try expect(")")
        return .ordered(parts, isUnique: word == "unique")
    }

    private mutating func parts() throws(DatabaseError) -> [IndexPart] {
        var parts: [IndexPart] = []
        repeat {
            let name = try name("a property name")
            let folding = try folding()
            var isDescending = false
            if case .word(let word) = token, word == "asc" || word == "desc" {
                isDescending = word == "desc"
                try advance()
            }
            parts.append(IndexPart(name, isDescending: isDescending, folding: folding))
        } while try accept(",")
        return parts
    }

    /// `[c]`, `[d]` or `[cd]`, or nothing.
    private mutating func folding() throws(DatabaseError) -> TextOptions {
        guard try accept("[") else { return [] }
        guard case .word(let word) = token, let folding = TextOptions(letters: word) else {
            throw unexpected("'c', 'd' or 'cd'")
        }
        try advance()
        try expect("]")
        return folding
    }

    /// What stands between the parentheses of an index, alone.
    static func indexParts(_ text: String) throws(DatabaseError) -> [IndexPart] {
        var parser = SchemaParser(text)
        try parser.advance()
        let parts = try parser.parts()
        guard case .end = parser.token else { throw parser.unexpected("',', '[c]', 'asc', 'desc' or the end") }
        return parts
    }

    private mutating func property() throws(DatabaseError) -> Property {
        let name = try name("a property name or '}'")
        try expect(":")
        var property = try type(of: name)
        while true {
            guard case .word(let word) = token, !isNext(":"), !beginsIndex else { return property }
            switch word {
            case "key": property.isPrimaryKey = true
            case "indexed": property.isIndexed = true
            case "unique": property.isUnique = true
            default: throw unexpected("'key', 'indexed', 'unique' or the next property")
            }
            try advance()
        }
    }

    private mutating func type(of name: String) throws(DatabaseError) -> Property {
        let expected =
            "a type: bool, int, int8, int16, int32, float, double, string, data, timestamp, decimal, objectId, uuid,"
            + " mixed, list<...>, set<...>, map<...>, link<...> or inverse<...>"
        guard case .word(let word) = token else { throw unexpected(expected) }
        if let primitive = Self.primitive(word) {
            try advance()
            // Mixed values are nullable without saying so.
            let isNullable = try accept("?") || primitive.type == .mixed
            return Property(name: name, type: primitive.type, width: primitive.width, isNullable: isNullable)
        }
        let kinds: [String: CollectionKind] = ["list": .list, "set": .set, "map": .map]  // names: ASCII
        guard kinds[word] != nil || word == "link" || word == "inverse" else { throw unexpected(expected) }
        try advance()
        try expect("<")
        if let kind = kinds[word] { return try collection(name, kind) }
        switch word {
        case "link": return try link(name)
        default: return try inverse(name)
        }
    }

    private mutating func collection(
        _ propertyName: String, _ kind: CollectionKind
    ) throws(DatabaseError) -> Property {
        var property = Property(name: propertyName, type: .link, collection: kind)
        if case .word(let word) = token, let primitive = Self.primitive(word) {
            property.type = primitive.type
            property.width = primitive.width
            try advance()
        } else {
            property.target = try name("an element type or a class name")
        }
        // So are mixed values, and objects in maps.
        property.isNullable =
            try accept("?") || property.type == .mixed || (kind == .map && property.type == .link)
        try expect(">")
        return property
    }

    private mutating func link(_ propertyName: String) throws(DatabaseError) -> Property {
        let target = try name("a class name")
        try expect(">")
        return Property(name: propertyName, type: .link, isNullable: !(try accept("!")), target: target)
    }

    private mutating func inverse(_ propertyName: String) throws(DatabaseError) -> Property {
        let target = try name("a class name")
        try expect(".")
        let origin = try name("a property name")
        try expect(">")
        return Property(name: propertyName, type: .linkingObjects, target: target).listing(origin: origin)
    }

    private static func primitive(_ word: String) -> (type: PropertyType, width: IntWidth)? {
        SchemaText.primitives.first { $0.name.hasSameBytes(as: word) }.map { ($0.type, $0.width) }
    }
}

// MARK: - Tokens

extension SchemaParser {
    private mutating func name(_ expected: String) throws(DatabaseError) -> String {
        switch token {
        case .word(let name), .quoted(let name):
            try advance()
            return name
        case .mark, .end:
            throw unexpected(expected)
        }
    }

    private func isMark(_ character: Unicode.Scalar) -> Bool {
        if case .mark(let byte) = token { return byte == UInt8(ascii: character) }
        return false
    }

    private mutating func accept(_ character: Unicode.Scalar) throws(DatabaseError) -> Bool {
        guard isMark(character) else { return false }
        try advance()
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(DatabaseError) {
        guard try accept(character) else { throw unexpected("'\(character)'") }
    }

    /// Whether the current word is followed by this: a colon where it names the next property and is no mark.
    private func isNext(_ character: Unicode.Scalar) -> Bool {
        var ahead = position
        while ahead < bytes.count, Self.isSpace(bytes[ahead]) { ahead += 1 }
        return ahead < bytes.count && bytes[ahead] == UInt8(ascii: character)
    }

    private mutating func advance() throws(DatabaseError) {
        skipSpaceAndComments()
        tokenStart = position
        guard position < bytes.count else {
            token = .end
            return
        }
        let byte = bytes[position]
        if byte == UInt8(ascii: "`") {
            token = .quoted(try quotedName())
        } else if SchemaText.isWordByte(byte) {
            while position < bytes.count, SchemaText.isWordByte(bytes[position]) { position += 1 }
            token = .word(String(decoding: bytes[tokenStart ..< position], as: UTF8.self))
        } else {
            position += 1
            token = .mark(byte)
        }
    }

    private mutating func quotedName() throws(DatabaseError) -> String {
        position += 1
        var name: [UInt8] = []
        while position < bytes.count {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "`") { return String(decoding: name, as: UTF8.self) }
            if byte == UInt8(ascii: "\\"), position < bytes.count {
                byte = bytes[position]
                position += 1
            }
            name.append(byte)
        }
        throw failure("this backquote is not closed")
    }

    private mutating func skipSpaceAndComments() {
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "#") {
                while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
            } else if Self.isSpace(bytes[position]) {
                position += 1
            } else {
                return
            }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }

    private func unexpected(_ expected: String) -> DatabaseError {
        let found =
            switch token {
            case .word(let word): "'\(word)'"
            case .quoted(let name): "`\(name)`"
            case .mark(let byte): "'\(Unicode.Scalar(byte))'"
            case .end: "the end"
            }
        return failure("expected \(expected), found \(found)")
    }

    private func failure(_ problem: String) -> DatabaseError {
        var line = 1
        var column = 1
        for byte in bytes[..<tokenStart] {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
        return DatabaseError(
            .schemaInvalid, "schema text, line \(line), column \(column): \(problem)", queryOffset: tokenStart)
    }
}
