/// Values as a SQLite file has them, on their way into it: by the type that a property declares, or beside a column
/// that says what a mixed value is.
///
///     bool         0, 1                          string, data           text, blob
///     int          integer                       timestamp              '2013-01-01 10:00:00.25', UTC
///     float        real                          decimal                '1.50'
///     double       real; NaN is the text 'NaN',  objectId, uuid         text
///                  -0.0 the blob x'2D302E30'     list, map in mixed     JSON, as in docs/json.md
///
/// SQLite makes NULL of a NaN, and 0 of -0.0 in a column of reals; the blob reads as -0.0 where it is cast to REAL.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

struct SQLiteBinder {
    static let linkPrefix = "link:"

    private let source: RowSource
    private let shape: SQLiteShape
    private let tableIndexes: [TableKey: Int]
    /// What an open write has changed is lent for the length of a call only.
    private let copies: Bool
    private var nested: JSONExport
    private var text = ByteSink()

    init(_ session: Session, _ shape: SQLiteShape) throws(DatabaseError) {
        source = try session.source()
        self.shape = shape
        copies = session.isInWrite
        nested = try JSONExport(session)
        var indexes: [TableKey: Int] = [:]
        for (index, table) in shape.tables.enumerated() {
            if let key = table.type.tableKey { indexes[key] = index }
        }
        tableIndexes = indexes
    }

    /// Everything but what only a mixed value can be.
    mutating func bind(
        _ view: ValueView, to statement: SQLiteStatement, _ index: Int
    ) throws(DatabaseError) {
        switch view.form {
        case .null, nil: try statement.bindNull(index)
        case .bool: try statement.bind(index, view.boolValue ? 1 : 0 as Int64)
        case .int: try statement.bind(index, view.intValue)
        case .float: try bind(Double(view.floatValue), to: statement, index)
        case .double: try bind(view.doubleValue, to: statement, index)
        case .string: try statement.bindText(index, view.bytes, copied: copies)
        case .data: try statement.bindBlob(index, view.bytes, copied: copies)
        case .link: try bind(view.linkValue, to: statement, index)
        case .timestamp, .decimal, .identifier, .list, .map:
            text.removeAll()
            try write(view)
            try text.bytes.withBytes { bytes throws(DatabaseError) in
                try statement.bindText(index, bytes, copied: true)
            }
        }
    }

    private mutating func write(_ view: ValueView) throws(DatabaseError) {
        switch view.form {
        case .timestamp: TimeText.writeSQL(view.timestampValue, to: &text)
        case .decimal: text.append(text: DecimalText.text(view.decimalValue))
        case .identifier: text.append(text: view.kind?.identifier?.text(view) ?? "")
        default: try nested.mixed(view, to: &text)
        }
    }

    private func bind(_ value: Double, to statement: SQLiteStatement, _ index: Int) throws(DatabaseError) {
        if value.isNaN {
            try Self.notANumber.withBytes { bytes throws(DatabaseError) in
                try statement.bindText(index, bytes, copied: false)
            }
        } else if value == 0, value.sign == .minus {
            try Self.minusZero.withBytes { bytes throws(DatabaseError) in
                try statement.bindBlob(index, bytes, copied: false)
            }
        } else {
            try statement.bind(index, value)
        }
    }

    static let notANumber: StaticString = "NaN"
    static let minusZero: StaticString = "-0.0"

    /// What refers to an object: its primary key, or the number of an object without one.
    mutating func bind(_ link: ObjectLink, to statement: SQLiteStatement, _ index: Int) throws(DatabaseError) {
        let table = shape.tables[try tableIndex(link.table)]
        guard let primaryKey = table.primaryKey, let column = table.fields[primaryKey].property.columnKey else {
            return try statement.bind(index, link.key.rawValue)
        }
        try bind(try source.table(link.table).value(column, link.key), to: statement, index)
    }

    private func tableIndex(_ key: TableKey) throws(DatabaseError) -> Int {
        if let index = tableIndexes[key] { return index }
        throw .corrupted("a link leads to a class with the key \(key.rawValue), which is not there")
    }

    /// The value, and behind it what it is.
    mutating func bindMixed(
        _ view: ValueView, to statement: SQLiteStatement, _ index: Int
    ) throws(DatabaseError) {
        try bind(view, to: statement, index)
        switch view.kind {
        case .null, nil: try statement.bindNull(index + 1)
        case .link:
            let type = shape.tables[try tableIndex(view.linkValue.table)].type
            try statement.bind(index + 1, text: Self.linkPrefix + type.name)
        case .some(let kind): try statement.bind(index + 1, text: kind.name)
        }
    }
}

extension StaticString {
    fileprivate func withBytes(
        _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try body(UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount))
    }
}
