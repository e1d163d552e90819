/// A mixed value from JSON, where nothing but the text says what it is.
///
/// Integers are ints, or decimals where they have more than 64 bits; numbers with a point or an exponent are doubles;
/// arrays and objects are nested lists and maps; the rest has a mark: `{"$date": ...}`.
import MotteSchemaModel
import MotteStorage
import MotteValues

struct JSONMixedReader {
    let importer: JSONImport
    let arena: ByteArena
    let isLast: Bool
    /// Of a text in Arrow data: what refuses times.
    var cells: ArrowCells?

    /// nil when it links to an object that is not there yet.
    func read(_ reader: inout JSONReader) throws(DatabaseError) -> ValueView? {
        switch try reader.peek() {
        case .array, .object:
            if let view = try marked(&reader) { return view }
            if try isUnknownLink(reader) { return nil }
            guard let value = try nested(&reader) else { return nil }
            let document = arena.copy(NestedDocument.encode(value))
            return value.kind == .map ? .map(document) : .list(document)
        default: return try scalar(&reader)
        }
    }

    private func scalar(_ reader: inout JSONReader) throws(DatabaseError) -> ValueView {
        let scalars = JSONScalarReader(arena: arena)
        switch try reader.peek() {
        case .bool: return .bool(try reader.bool())
        case .string: return .string(try scalars.text(&reader))
        case .number: return try number(try reader.number())
        default:
            try reader.null()
            return .null
        }
    }

    private func number(_ number: JSONNumber) throws(DatabaseError) -> ValueView {
        guard number.isInteger else {
            guard let value = number.double else {
                throw DatabaseError(.wrongType, "\(number.string) is too large for a double")
            }
            return .double(value)
        }
        if let value = number.int { return .int(value) }
        guard let value = DecimalText.parse(number.text) else {
            throw DatabaseError(.wrongType, "\(number.string) has more digits than an int or a decimal")
        }
        return .decimal(value)
    }

    // MARK: Marks

    /// `{"$date": ...}` and its like; nil for every other array or object, and for a link to what is not there yet.
    private func marked(_ reader: inout JSONReader) throws(DatabaseError) -> ValueView? {
        guard try reader.peek() == .object, let mark = try importer.soleMark(reader) else { return nil }
        if mark == .link {
            var ahead = reader
            guard case .link(let link) = try importer.markedLink(&ahead, isLast: isLast) else { return nil }
            reader = ahead
            return .link(link)
        }
        guard let type = mark.type else {
            throw reader.failure("\"\(mark.name)\" names an object of a class; here, \"$link\" says which")
        }
        try reader.beginObject()
        _ = try reader.nextKey()
        let value = try JSONScalarReader(arena: arena).read(type, &reader)
        guard !value.isNull else { throw reader.failure("\"\(mark.name)\" has a value") }
        if let cells, value.kind == .timestamp { try cells.check(value.timestampValue) }
        _ = try reader.nextKey()
        return value
    }

    private func isUnknownLink(_ reader: JSONReader) throws(DatabaseError) -> Bool {
        var ahead = reader
        guard try ahead.peek() == .object else { return false }
        return try importer.soleMark(reader) == .link
    }

    // MARK: Nesting

    /// nil when a link in it is not there yet.
    private func nested(_ reader: inout JSONReader) throws(DatabaseError) -> Value? {
        switch try reader.peek() {
        case .array:
            var elements: [Value] = []
            try reader.beginArray()
            while try reader.nextElement() {
                guard let value = try nested(&reader) else { return nil }
                elements.append(value)
            }
            return .list(elements)
        case .object:
            if let view = try marked(&reader) { return view.owned }
            if try isUnknownLink(reader) { return nil }
            return try map(&reader)
        default: return try scalar(&reader).owned
        }
    }

    private func map(_ reader: inout JSONReader) throws(DatabaseError) -> Value? {
        var entries: [MapEntry] = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = String(decoding: JSONScalarReader(arena: arena).plain(key), as: UTF8.self)
            guard let value = try nested(&reader) else { return nil }
            entries.append(MapEntry(key: name, value: value))
        }
        try MapKeys.checkDistinct(entries.map(\.key), reader)
        return .map(entries)
    }
}

enum MapKeys {
    /// By bytes, as maps tell them apart.
    static func checkDistinct(_ keys: [String], _ reader: JSONReader) throws(DatabaseError) {
        let sorted = keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        for (key, next) in zip(sorted, sorted.dropFirst()) where key == next {
            throw reader.failure("the key \"\(String(decoding: key, as: UTF8.self))\" is given twice")
        }
    }
}
