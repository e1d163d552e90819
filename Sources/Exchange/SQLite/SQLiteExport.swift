/// A whole database as a SQLite file: tables, foreign keys, join tables, and the schema itself, from which
/// `SQLiteImport` makes the same database again. docs/sqlite.md describes the file.
///
/// Reads one version of the session, row by row, in one transaction of SQLite, whose cache bounds the memory. The file
/// gets its name when it has been read back (`NewSQLiteFile`).
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct SQLiteExport {
    private let session: Session
    private let source: RowSource
    private let shape: SQLiteShape
    private let progress: ((Int) throws(DatabaseError) -> Void)?
    /// Objects so far, those within others not counted.
    private var count = 0
    /// Rows of each table of the file.
    private var rows: [(table: String, count: Int)] = []

    /// Makes the file; what is there already stays, and is an error.
    package static func write(
        _ session: Session, to path: String, progress: ((Int) throws(DatabaseError) -> Void)? = nil
    ) throws(DatabaseError) {
        var export = try SQLiteExport(session, progress)
        try NewSQLiteFile.create(path) { file throws(DatabaseError) in
            try export.run(file)
            return export.rows
        }
    }

    private init(_ session: Session, _ progress: ((Int) throws(DatabaseError) -> Void)?) throws(DatabaseError) {
        self.session = session
        self.progress = session.reading(by: progress)
        source = try session.source()
        shape = SQLiteShape(source.schema)
    }

    private mutating func run(_ file: SQLiteConnection) throws(DatabaseError) {
        try file.execute("PRAGMA application_id = \(SQLiteShape.applicationID)")
        try file.execute("BEGIN")
        for statement in shape.definitions { try file.execute(statement) }
        try writeSchema(file)
        var binder = try SQLiteBinder(session, shape)
        for table in shape.tables {
            try write(table, file, &binder)
            try progress?(count)
        }
        for statement in shape.indexes { try file.execute(statement) }
        try file.execute("COMMIT")
    }

    private mutating func writeSchema(_ file: SQLiteConnection) throws(DatabaseError) {
        let insertion = try file.prepare(SQLiteShape.insertion(into: SQLiteShape.schemaTable, ["name", "value"]))
        func insert(_ name: String, _ bind: () throws(DatabaseError) -> Void) throws(DatabaseError) {
            try insertion.bind(1, text: name)
            try bind()
            try insertion.run()
        }
        try insert("form") { () throws(DatabaseError) in try insertion.bind(2, SQLiteShape.form) }
        try insert("schema") { () throws(DatabaseError) in
            try insertion.bind(2, text: SchemaText.print(source.schema))
        }
        let version = try session.schemaVersion
        try insert("schema_version") { () throws(DatabaseError) in
            try insertion.bind(2, Int64(bitPattern: version))
        }
        rows.append((SQLiteShape.schemaTable, 3))
    }

    // MARK: Objects

    /// The statement of a collection's table, and what it has written.
    private struct Elements {
        let field: SQLiteShape.Field
        let column: ColumnKey
        let insertion: SQLiteStatement
        var count = 0
    }

    private mutating func write(
        _ table: SQLiteShape.Table, _ file: SQLiteConnection, _ binder: inout SQLiteBinder
    ) throws(DatabaseError) {
        guard let key = table.type.tableKey else { return }
        let view = try source.table(key)
        let insertion = try file.prepare(SQLiteShape.insertion(into: table.name, SQLiteShape.columns(table)))
        var collections: [Elements] = []
        // Single values by their place in a row of the store, and whether something says what they are.
        var singles: [(slot: Int, isMixed: Bool)] = []
        for field in table.fields {
            guard let column = field.property.columnKey else { continue }
            if field.property.isCollection {
                let sql = SQLiteShape.insertion(into: field.name, SQLiteShape.columns(field))
                collections.append(Elements(field: field, column: column, insertion: try file.prepare(sql)))
            } else {
                singles.append((try view.layout.slot(column), field.typeColumn != nil))
            }
        }
        var order = KeyOrder(table, file)
        var written = 0
        for rowGroup in 0 ..< view.rowGroupCount {
            let group = try view.rowGroup(rowGroup)
            for slot in 0 ..< group.rowCount {
                if let live = group.liveWords, live[slot >> 6] & (1 << UInt64(slot & 63)) == 0 { continue }
                let object = ObjectKey(group.firstKey + Int64(slot))
                try insert(object, view, table.hasKeyColumn, singles, insertion, &binder)
                for index in collections.indices { try insert(object, view, &collections[index], &binder) }
                try order.note(object, view)
                written += 1
                if !table.type.isEmbedded {
                    count += 1
                    if count & 0xFFF == 0 { try progress?(count) }
                }
            }
        }
        rows.append((table.name, written))
        for collection in collections { rows.append((collection.field.name, collection.count)) }
        if !order.ascends { try order.write(view) }
    }

    private func insert(
        _ object: ObjectKey, _ view: TableView, _ hasKeyColumn: Bool, _ singles: [(slot: Int, isMixed: Bool)],
        _ insertion: SQLiteStatement, _ binder: inout SQLiteBinder
    ) throws(DatabaseError) {
        var index = 1
        if hasKeyColumn {
            try insertion.bind(index, object.rawValue)
            index += 1
        }
        guard let place = try view.locate(object) else {
            throw .corrupted("an object of \(view.type.name) is not where it is said to be")
        }
        for single in singles {
            let value = try view.value(slot: single.slot, at: place)
            if single.isMixed {
                try binder.bindMixed(value, to: insertion, index)
                index += 2
            } else {
                try binder.bind(value, to: insertion, index)
                index += 1
            }
        }
        try insertion.run()
    }

    // MARK: Collections

    private func insert(
        _ object: ObjectKey, _ view: TableView, _ elements: inout Elements, _ binder: inout SQLiteBinder
    ) throws(DatabaseError) {
        let count = try view.listCount(elements.column, object)
        guard count > 0 else { return }
        let owner = ObjectLink(table: view.key, key: object)
        let isMap = elements.field.property.isMap
        var position = 0
        while position < count {
            let values = isMap ? 1 : min(count - position, 256)
            for value in try pieces(view, elements, object, position ..< position + values) {
                try binder.bind(owner, to: elements.insertion, 1)
                if isMap {
                    let key = try view.mapKey(elements.column, object, position)
                    try elements.insertion.bindText(2, key, copied: true)
                } else {
                    try elements.insertion.bind(2, Int64(position))
                }
                if elements.field.property.type == .mixed {
                    try binder.bindMixed(value, to: elements.insertion, 3)
                } else {
                    try binder.bind(value, to: elements.insertion, 3)
                }
                try elements.insertion.run()
                position += 1
            }
        }
        elements.count += count
    }

    /// Some elements: a long list is not looked up again for each of them.
    private func pieces(
        _ view: TableView, _ elements: Elements, _ object: ObjectKey, _ range: Range<Int>
    ) throws(DatabaseError) -> [ValueView] {
        // What an open write has changed is lent for the length of the call only; single elements live longer.
        if session.isInWrite || range.count == 1 {
            var values: [ValueView] = []
            for index in range.prefix(session.isInWrite ? 1 : range.count) {
                values.append(try view.listElement(elements.column, object, index))
            }
            return values
        }
        let target = elements.field.target.flatMap { shape.tables[$0].type.tableKey?.rawValue }
        var values: [ValueView] = []
        try view.listValues(elements.column, object, from: range.lowerBound, limit: range.count) { chunk, range in
            for row in range {
                var value = chunk.view(row)
                if let target, !value.isNull { value.aux = target }
                values.append(value)
            }
        }
        return values
    }
}

/// The order of the objects of a class whose rows SQLite has in the order of their primary keys: written down where the
/// two differ, which they mostly do not.
private struct KeyOrder {
    private let file: SQLiteConnection
    private let className: String
    private let column: ColumnKey?
    private var last: Int64?
    private(set) var ascends = true

    init(_ table: SQLiteShape.Table, _ file: SQLiteConnection) {
        self.file = file
        className = table.type.name
        column = table.isOrderedByKey ? table.primaryKey.flatMap { table.fields[$0].property.columnKey } : nil
    }

    mutating func note(_ object: ObjectKey, _ view: TableView) throws(DatabaseError) {
        guard ascends, let column else { return }
        let key = try view.value(column, object).intValue
        if let last, key < last { ascends = false }
        last = key
    }

    func write(_ view: TableView) throws(DatabaseError) {
        guard let column else { return }
        let insertion = try file.prepare(
            SQLiteShape.insertion(into: SQLiteShape.orderTable, ["class", "position", "key"]))
        var position: Int64 = 0
        for rowGroup in 0 ..< view.rowGroupCount {
            let group = try view.rowGroup(rowGroup)
            for slot in 0 ..< group.rowCount {
                if let live = group.liveWords, live[slot >> 6] & (1 << UInt64(slot & 63)) == 0 { continue }
                let key = try view.value(column, ObjectKey(group.firstKey + Int64(slot))).intValue
                try insertion.bind(1, text: className)
                try insertion.bind(2, position)
                try insertion.bind(3, key)
                try insertion.run()
                position += 1
            }
        }
    }
}
