/// How the rows of a class are read from a SQLite file: the statement that gives them, and what each column becomes.
import MotteSchemaModel
import MotteValues

/// What a column of a row becomes.
enum SQLiteReading {
    case plain(PropertyType)
    /// The column behind it says what it is; otherwise it is as SQLite has it.
    case mixed(isTyped: Bool)
    /// By a primary key of that type, or by the number of an object without one.
    case link(PropertyType)
    case linkByNumber
    /// The object itself, by the index of its class.
    case embedded(Int)

    /// Columns that it reads.
    var width: Int {
        if case .mixed(isTyped: true) = self { return 2 }
        return 1
    }
}

struct SQLiteField {
    /// Elements by owner: of lists and sets in their order, of maps their keys first.
    struct Elements {
        let sql: String
        let isMap: Bool
        /// Nothing is asked of a table without rows.
        let isEmpty: Bool
    }

    let name: String
    /// `"name":` as JSON.
    let prefix: [UInt8]
    let reading: SQLiteReading
    /// Of the first column, for what is no collection.
    let column: Int
    let elements: Elements?

    init(_ name: String, _ reading: SQLiteReading, column: Int, elements: Elements? = nil) {
        self.name = name
        self.reading = reading
        self.column = column
        self.elements = elements
        var sink = ByteSink()
        JSONValueWriter.string(name, to: &sink)
        sink.append(":")
        prefix = sink.bytes
    }
}

struct SQLiteClass {
    /// Of the class, and of its table.
    let name: String
    let table: String
    let isEmbedded: Bool
    /// One after another: all rows, in the order of the objects.
    let rows: [String]
    /// Of an embedded class: the row with a key.
    let row: String
    /// The column with the number of the object, for a class without primary key that is linked to.
    let numberColumn: Int?
    /// The column that owners of elements are found by.
    let ownerColumn: Int
    let fields: [SQLiteField]

    // MARK: Of what an export wrote

    static func all(of shape: SQLiteShape, _ file: SQLiteConnection) throws(DatabaseError) -> [SQLiteClass] {
        var classes: [SQLiteClass] = []
        for table in shape.tables { classes.append(try SQLiteClass(table, shape, file)) }
        return classes
    }

    private init(
        _ table: SQLiteShape.Table, _ shape: SQLiteShape, _ file: SQLiteConnection
    ) throws(DatabaseError) {
        name = table.type.name
        self.table = table.name
        isEmbedded = table.type.isEmbedded
        var fields: [SQLiteField] = []
        var column = table.hasKeyColumn ? 1 : 0
        var owner = 0
        for field in table.fields {
            let reading = Self.reading(field, shape)
            if field.property.isPrimaryKey, !table.hasKeyColumn { owner = column }
            if field.property.isCollection {
                fields.append(
                    SQLiteField(
                        field.property.name, reading, column: 0, elements: try Self.elements(of: field, file)))
            } else {
                fields.append(SQLiteField(field.property.name, reading, column: column))
                column += reading.width
            }
        }
        self.fields = fields
        ownerColumn = owner
        numberColumn = table.hasKeyColumn && !table.type.isEmbedded ? 0 : nil
        let columns = SQLiteShape.columns(table).map { "t." + SQLiteNames.quoted($0) }.joined(separator: ", ")
        let source = "\(SQLiteNames.quoted(table.name)) AS t"
        row = "SELECT \(columns) FROM \(source) WHERE t.\(SQLiteNames.quoted(table.referenceColumn)) = ?"
        rows = try Self.rows(table, columns, source, file)
    }

    /// Rows are in the order of their objects; where that of the primary key is another one, the export wrote it down.
    private static func rows(
        _ table: SQLiteShape.Table, _ columns: String, _ source: String, _ file: SQLiteConnection
    ) throws(DatabaseError) -> [String] {
        // Not in the order of an index, which SQLite takes where it has all columns.
        let all = "SELECT \(columns) FROM \(source) NOT INDEXED"
        guard table.isOrderedByKey else { return [all] }
        let order = SQLiteShape.orderTable
        let name = SQLiteNames.literal(table.type.name)
        guard try file.int("SELECT count(*) FROM \(order) WHERE class = \(name)") ?? 0 > 0 else { return [all] }
        let key = "t." + SQLiteNames.quoted(table.referenceColumn)
        return [
            "SELECT \(columns) FROM \(order) AS o CROSS JOIN \(source) ON \(key) = o.key WHERE o.class = \(name) "
                + "ORDER BY o.position",
            "SELECT \(columns) FROM \(source) WHERE \(key) NOT IN (SELECT key FROM \(order) WHERE class = \(name))",
        ]
    }

    private static func reading(_ field: SQLiteShape.Field, _ shape: SQLiteShape) -> SQLiteReading {
        if field.property.type == .mixed { return .mixed(isTyped: true) }
        guard let index = field.target else { return .plain(field.property.type) }
        let target = shape.tables[index]
        if target.type.isEmbedded { return .embedded(index) }
        return target.hasKeyColumn ? .linkByNumber : .link(target.referenceType)
    }

    private static func elements(
        of field: SQLiteShape.Field, _ file: SQLiteConnection
    ) throws(DatabaseError) -> SQLiteField.Elements {
        let isMap = field.property.isMap
        let columns = SQLiteShape.columns(field).dropFirst(isMap ? 1 : 2).joined(separator: ", ")
        let name = SQLiteNames.quoted(field.name)
        let place = isMap ? SQLiteShape.Element.key : SQLiteShape.Element.position
        return SQLiteField.Elements(
            sql: "SELECT \(columns) FROM \(name) WHERE \(SQLiteShape.Element.owner) = ? ORDER BY \(place)",
            isMap: isMap, isEmpty: try file.int("SELECT 1 FROM \(name) LIMIT 1") == nil)
    }

    // MARK: Of any other table

    /// `columns` are expressions about `t`, in the order of the fields behind the number.
    init(name: String, table: String, numberedBy number: String?, columns: [String], _ fields: [SQLiteField]) {
        self.name = name
        self.table = table
        isEmbedded = false
        let all = ((number.map { [$0] } ?? []) + columns).joined(separator: ", ")
        rows = ["SELECT \(all) FROM \(SQLiteNames.quoted(table)) AS t NOT INDEXED"]
        row = ""
        numberColumn = number == nil ? nil : 0
        ownerColumn = 0
        self.fields = fields
    }
}
