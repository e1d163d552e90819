/// Rows of a SQLite file as lines of a dump (docs/json.md), which `JSONImport` reads: one object a line, its
/// collections and embedded objects within it.
///
/// One line is in memory at a time. A value that its property cannot hold is named by table and column.
import MotteSchemaModel
import MotteValues

final class SQLiteRows {
    /// Objects within each other, as deep as they can be written as JSON.
    private static let depthLimit = JSONReader.depthLimit / 2

    private let source: SQLiteSource
    private var classes: [SQLiteClass] { source.classes }
    /// Statements that nobody steps now, by their text: embedded objects of a class may lie within each other.
    private var idle: [NameKey: [SQLiteStatement]] = [:]
    private var depth = 0

    init(_ source: SQLiteSource) { self.source = source }

    /// `body` gets each statement that gives rows of a class.
    func statements(
        of type: SQLiteClass, _ body: (SQLiteStatement) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        for sql in type.rows { try body(try source.file.prepare(sql)) }
    }

    /// The object in a row, as a line of a dump.
    func line(_ type: SQLiteClass, _ row: SQLiteStatement, to sink: inout ByteSink) throws(DatabaseError) {
        sink.append("{\"$class\":")
        JSONValueWriter.string(type.name, to: &sink)
        if let column = type.numberColumn {
            sink.append(",\"$key\":")
            sink.append(row.int(column))
        }
        for field in type.fields {
            sink.append(",")
            try property(field, type, row, to: &sink)
        }
        sink.append("}\n")
    }

    private func property(
        _ field: SQLiteField, _ type: SQLiteClass, _ row: SQLiteStatement, to sink: inout ByteSink
    ) throws(DatabaseError) {
        field.prefix.withUnsafeBytes { sink.append($0) }
        do throws(DatabaseError) {
            if let elements = field.elements {
                try collection(elements, field, of: row, type.ownerColumn, to: &sink)
            } else {
                try value(field.reading, row, field.column, to: &sink)
            }
        } catch {
            throw DatabaseError(
                error.code, "\(type.name).\(field.name): \(error.message)", path: error.details.path,
                className: type.name, propertyName: field.name)
        }
    }

    // MARK: Statements

    private func statement(_ sql: String) throws(DatabaseError) -> SQLiteStatement {
        if let statement = idle[NameKey(sql)]?.popLast() { return statement }
        return try source.file.prepare(sql)
    }

    private func giveBack(_ statement: SQLiteStatement, _ sql: String) {
        statement.reset()
        idle[NameKey(sql), default: []].append(statement)
    }

    // MARK: Collections and embedded objects

    private func collection(
        _ elements: SQLiteField.Elements, _ field: SQLiteField, of owner: SQLiteStatement, _ ownerColumn: Int,
        to sink: inout ByteSink
    ) throws(DatabaseError) {
        guard !elements.isEmpty else { return elements.isMap ? sink.append("{}") : sink.append("[]") }
        let row = try statement(elements.sql)
        try row.bind(1, column: ownerColumn, of: owner)
        elements.isMap ? sink.append("{") : sink.append("[")
        var isFirst = true
        while try row.step() {
            if !isFirst { sink.append(",") }
            isFirst = false
            if elements.isMap {
                try key(row, to: &sink)
                try value(field.reading, row, 1, to: &sink)
            } else {
                try value(field.reading, row, 0, to: &sink)
            }
        }
        elements.isMap ? sink.append("}") : sink.append("]")
        giveBack(row, elements.sql)
    }

    private func key(_ row: SQLiteStatement, to sink: inout ByteSink) throws(DatabaseError) {
        guard row.storage(0) == .text else { throw DatabaseError(.wrongType, "a key of a map is no text") }
        JSONValueWriter.string(row.bytes(0), to: &sink)
        sink.append(":")
    }

    private func embedded(
        _ type: SQLiteClass, _ owner: SQLiteStatement, _ column: Int, to sink: inout ByteSink
    ) throws(DatabaseError) {
        guard depth < Self.depthLimit else {
            throw DatabaseError(
                .invalidArgument, "objects of \(type.name) lie more than \(Self.depthLimit) deep within each other")
        }
        let row = try statement(type.row)
        try row.bind(1, column: column, of: owner)
        guard try row.step() else {
            throw DatabaseError(.invalidArgument, "there is no row of table \(type.table) that it refers to")
        }
        depth += 1
        sink.append("{")
        for (index, field) in type.fields.enumerated() {
            if index > 0 { sink.append(",") }
            try property(field, type, row, to: &sink)
        }
        sink.append("}")
        depth -= 1
        giveBack(row, type.row)
    }

    // MARK: Values

    private func value(
        _ reading: SQLiteReading, _ row: SQLiteStatement, _ column: Int, to sink: inout ByteSink
    ) throws(DatabaseError) {
        if row.isNull(column) { return sink.append("null") }
        switch reading {
        case .plain(let type), .link(let type):
            guard let view = SQLiteValue.view(row, column, type) else {
                throw DatabaseError(.wrongType, "\(SQLiteValue.shown(row, column)) is not \(type.name)")
            }
            JSONValueWriter.plain(view, to: &sink)
        case .linkByNumber: try number(row, column, to: &sink)
        case .embedded(let index): try embedded(classes[index], row, column, to: &sink)
        case .mixed(isTyped: false): JSONValueWriter.mixed(SQLiteValue.view(row, column), to: &sink)
        case .mixed(isTyped: true): try mixed(row, column, to: &sink)
        }
    }

    private func number(_ row: SQLiteStatement, _ column: Int, to sink: inout ByteSink) throws(DatabaseError) {
        guard row.storage(column) == .integer else {
            throw DatabaseError(.wrongType, "\(SQLiteValue.shown(row, column)) is no number of an object")
        }
        sink.append("{\"$key\":")
        sink.append(row.int(column))
        sink.append("}")
    }

    /// The column behind it says what it is: a type, or `link:` and a class.
    private func mixed(_ row: SQLiteStatement, _ column: Int, to sink: inout ByteSink) throws(DatabaseError) {
        guard let type = row.text(column + 1) else {
            return JSONValueWriter.mixed(SQLiteValue.view(row, column), to: &sink)
        }
        if type.utf8.starts(with: SQLiteBinder.linkPrefix.utf8) {
            let name = String(type.unicodeScalars.dropFirst(SQLiteBinder.linkPrefix.utf8.count))
            return try link(name, row, column, to: &sink)
        }
        // names: ASCII
        if type == ValueKind.list.name || type == ValueKind.map.name { return try nested(row, column, to: &sink) }
        // names: ASCII
        guard let property = PropertyType.scalars.first(where: { $0.name == type }) else {
            throw DatabaseError(.wrongType, "'\(type)' is no type of a value")
        }
        guard let view = SQLiteValue.view(row, column, property) else {
            throw DatabaseError(.wrongType, "\(SQLiteValue.shown(row, column)) is not \(type)")
        }
        JSONValueWriter.mixed(view, to: &sink)
    }

    private func link(
        _ name: String, _ row: SQLiteStatement, _ column: Int, to sink: inout ByteSink
    ) throws(DatabaseError) {
        let type = try source.schema.type(named: name)
        sink.append("{\"$link\":[")
        JSONValueWriter.string(name, to: &sink)
        sink.append(",")
        // As in `SQLiteShape.Table`.
        let key = type.primaryKey.flatMap { $0.isNullable ? nil : $0.type }
        try value(key.map(SQLiteReading.link) ?? .linkByNumber, row, column, to: &sink)
        sink.append("]}")
    }

    /// Is JSON already; here it must not end what it stands in.
    private func nested(_ row: SQLiteStatement, _ column: Int, to sink: inout ByteSink) throws(DatabaseError) {
        let text = row.bytes(column)
        var reader = JSONReader(text)
        let kind = try reader.peek()
        _ = try reader.skip()
        guard reader.isAtEnd, kind == .array || kind == .object else {
            throw DatabaseError(.invalidArgument, "a nested list or map is not JSON")
        }
        // A line of a dump has no line feeds; in JSON they stand between values only.
        for byte in text { sink.append(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
    }
}

/// Columns of rows as values.
enum SQLiteValue {
    /// As SQLite has it.
    static func view(_ row: SQLiteStatement, _ column: Int) -> ValueView {
        switch row.storage(column) {
        case .integer: .int(row.int(column))
        case .real: .double(row.double(column))
        case .text: .string(row.bytes(column))
        case .blob: .data(row.bytes(column))
        case .null: .null
        }
    }

    /// nil for what is no value of the type. Bytes are the row's.
    static func view(_ row: SQLiteStatement, _ column: Int, _ type: PropertyType) -> ValueView? {
        let storage = row.storage(column)
        switch (type.form, storage) {
        case (.bool, .integer):
            let value = row.int(column)
            return value == 0 || value == 1 ? .bool(value == 1) : nil
        case (.int, .integer): return .int(row.int(column))
        case (.double, _): return double(row, column).map(ValueView.double)
        case (.float, _):
            guard let value = double(row, column) else { return nil }
            return value.isNaN ? .float(.nan) : Float(exactly: value).map(ValueView.float)
        case (.string, .text): return .string(row.bytes(column))
        case (.data, .blob): return .data(row.bytes(column))
        case (.timestamp, .text): return TimeText.parseSQL(row.bytes(column)).map(ValueView.timestamp)
        case (.decimal, .text): return DecimalText.parse(row.bytes(column)).map(ValueView.decimal)
        case (.identifier, .text):
            return type.valueKind?.identifier?.value(String(decoding: row.bytes(column), as: UTF8.self))
        default: return nil
        }
    }

    private static func double(_ row: SQLiteStatement, _ column: Int) -> Double? {
        switch row.storage(column) {
        case .real: row.double(column)
        case .integer: Double(exactly: row.int(column))
        case .text: isSame(row.bytes(column), SQLiteBinder.notANumber) ? .nan : nil
        case .blob: isSame(row.bytes(column), SQLiteBinder.minusZero) ? -0.0 : nil
        case .null: nil
        }
    }

    private static func isSame(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        bytes.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// For messages.
    static func shown(_ row: SQLiteStatement, _ column: Int) -> String {
        switch row.storage(column) {
        case .integer: "\(row.int(column))"
        case .real: "\(row.double(column))"
        case .text: JSONScalarReader.shown(row.bytes(column))
        case .blob: "a blob of \(row.bytes(column).count) bytes"
        case .null: "NULL"
        }
    }
}
