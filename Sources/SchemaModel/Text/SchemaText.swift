/// A schema as text: printed in one canonical form, parsed leniently. Used by conformance cases, the tool and tests.
///
///     Person {
///         id: int key,
///         name: string?,
///         mail: string? unique,
///         age: int indexed,
///         floor: int8?,
///         tags: list<string>,
///         marks: list<int?>,
///         seen: set<timestamp>,
///         names: map<string>,
///         anything: mixed,
///         home: link<Address>,
///         friend: link<Person>,
///         friends: list<Person>,
///         dogs: inverse<Dog.owner>,
///         indexed(name, age desc),
///         indexed(mail [c]),
///         unique(floor, name),
///     }
///     embedded Address { city: string }
///
/// Commas and line ends between properties are optional, `#` starts a comment to the end of the line. A name that is no
/// plain word, or that is the word of a type where a class is expected, stands in backquotes, where `` \` `` and `\\`
/// escape. A link is nullable without saying so, as are
/// the objects of a map and mixed values. Keys of maps are strings. An int has 64 bits unless it is an int8, int16 or
/// int32. Indexes of several properties, of values that descend or of texts without their case ([c]) or diacritics
/// ([d]) stand among the properties.
import MotteValues

package enum SchemaText {
    package static func print(_ schema: Schema) -> String {
        var text = ""
        for type in schema.objectTypes {
            text += (type.isEmbedded ? "embedded " : "") + quoted(type.name) + " {\n"
            for property in type.properties { text += "    " + print(property) + ",\n" }
            // Those of unique properties are said there; of other kinds there is no text.
            for index in type.indexes where index.uniqueProperty == nil {
                guard let form = index.orderedForm else { continue }
                text += "    \(form.isUnique ? "unique" : "indexed")(\(print(form.parts))),\n"
            }
            text += "}\n"
        }
        return text
    }

    /// `city [c], age desc`
    package static func print(_ parts: [IndexPart]) -> String {
        parts.map { part in
            quoted(part.name) + (part.folding.isEmpty ? "" : " [\(part.folding.letters)]")
                + (part.isDescending ? " desc" : "")
        }.joined(separator: ", ")
    }

    /// The same back; throws `.schemaInvalid`.
    package static func parseIndexParts(_ text: String) throws(DatabaseError) -> [IndexPart] {
        try SchemaParser.indexParts(text)
    }

    package static func print(_ property: Property) -> String {
        var text = quoted(property.name) + ": " + typeText(property)
        if property.isPrimaryKey { text += " key" }
        if property.isIndexed { text += " indexed" }
        if property.isUnique { text += " unique" }
        return text
    }

    /// The part after the colon, without marks.
    package static func typeText(_ property: Property) -> String {
        let target = quotedClass(property.target ?? "")
        switch (property.type, property.collection) {
        case (.linkingObjects, _): return "inverse<\(target).\(quoted(property.origin ?? ""))>"
        // The second forms are not valid schemas, but they are printed in messages about invalid ones.
        case (.link, .none): return property.isNullable ? "link<\(target)>" : "link<\(target)>!"
        case (.link, .map): return property.isNullable ? "map<\(target)>" : "map<\(target)>!"
        case (.link, let kind): return "\(kind.name)<\(target)\(property.isNullable ? "?" : "")>"
        case (.mixed, .none): return property.isNullable ? "mixed" : "mixed!"
        case (.mixed, let kind): return "\(kind.name)<\(property.isNullable ? "mixed" : "mixed!")>"
        case (let type, .none): return type.name + width(property) + (property.isNullable ? "?" : "")
        case (let type, let kind):
            return "\(kind.name)<\(type.name)\(width(property))\(property.isNullable ? "?" : "")>"
        }
    }

    private static func width(_ property: Property) -> String {
        property.width == .bits64 ? "" : "\(property.width.bits)"
    }

    /// Throws `.schemaInvalid` with line and column; the result is not validated.
    package static func parse(_ text: String) throws(DatabaseError) -> Schema {
        var parser = SchemaParser(text)
        return try parser.schema()
    }

    static let primitives: [(name: String, type: PropertyType, width: IntWidth)] =
        (PropertyType.scalars + [.mixed]).map { ($0.name, $0, .bits64) }
        + IntWidth.allCases.map { ("int\($0.bits)", .int, $0) }

    private static func quotedClass(_ name: String) -> String {
        primitives.contains { $0.name.hasSameBytes(as: name) } ? "`\(name)`" : quoted(name)
    }

    private static func quoted(_ name: String) -> String {
        let bytes = Array(name.utf8)
        if let first = bytes.first, !isDigit(first), bytes.allSatisfy(isWordByte) { return name }
        var text = "`"
        for character in name.unicodeScalars {
            if character == "`" || character == "\\" { text += "\\" }
            text.unicodeScalars.append(character)
        }
        return text + "`"
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// Letters, digits, underscore and everything beyond ASCII.
    static func isWordByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte >= 0x41 && byte <= 0x5A) || (byte >= 0x61 && byte <= 0x7A) || byte == 0x5F
            || byte >= 0x80
    }
}
