/// What a database looks like as tables of SQLite: a function of its schema alone, so that an import finds what an
/// export has made. docs/sqlite.md says it with examples.
///
/// A class is a table, a collection another one that names owner and position (or key). Objects are referred to by
/// their primary key; where a class has none, or one that may be null, by `"$key"`, which no property can be called.
import MotteSchemaModel
import MotteValues

struct SQLiteShape {
    static let schemaTable = "motte_schema"
    static let orderTable = "motte_order"
    static let keyColumn = "$key"
    /// Number of this shape.
    static let form: Int64 = 1
    /// What `file` and others know such a file by: "MOTT".
    static let applicationID = 0x4D4F_5454

    struct Field {
        let property: Property
        /// The column of a single value, the table of a collection.
        let name: String
        /// Of a single mixed value: the column that says what it is.
        let typeColumn: String?
        /// Index in `tables` of the class of links.
        let target: Int?
    }

    struct Table {
        let type: ObjectType
        let name: String
        let hasKeyColumn: Bool
        /// Stored properties in the order of their declaration.
        let fields: [Field]

        /// Index in `fields` of the property that others refer to the object by.
        var primaryKey: Int? { hasKeyColumn ? nil : fields.firstIndex { $0.property.isPrimaryKey } }
        /// The column that others refer to.
        var referenceColumn: String { primaryKey.map { fields[$0].name } ?? SQLiteShape.keyColumn }
        var referenceType: PropertyType { primaryKey.map { fields[$0].property.type } ?? .int }
        /// Whether rows come in the order of that column, which may be another one than that of the objects.
        var isOrderedByKey: Bool { primaryKey.map { fields[$0].property.type == .int } ?? false }
    }

    /// Columns of the tables of collections.
    enum Element {
        static let owner = "owner"
        static let position = "position"
        static let key = "key"
        static let value = "value"
        static let typeOfValue = "value_type"
        static let target = "target"
    }

    let tables: [Table]
    /// Statements that make the indexes, once all rows are there.
    let indexes: [String]

    init(_ schema: Schema) {
        var names = SQLiteNames.ofTables
        let tableNames = schema.objectTypes.map { names.name($0.name) }
        var indexOfClass: [NameKey: Int] = [:]
        for (index, type) in schema.objectTypes.enumerated() { indexOfClass[NameKey(type.name)] = index }
        var tables: [Table] = []
        for (index, type) in schema.objectTypes.enumerated() {
            var columns = SQLiteNames()
            let properties = type.storedProperties
            let own = properties.map { $0.isCollection ? "" : columns.name($0.name) }
            let fields = properties.enumerated().map { position, property in
                Field(
                    property: property,
                    name: property.isCollection
                        ? names.name("\(type.name)_\(property.name)") : own[position],
                    typeColumn: property.type == .mixed && !property.isCollection
                        ? columns.name(own[position] + "_type") : nil,
                    target: property.target.flatMap { indexOfClass[NameKey($0)] })
            }
            let needsKey = type.primaryKey?.isNullable ?? true
            tables.append(
                Table(type: type, name: tableNames[index], hasKeyColumn: needsKey, fields: fields))
        }
        self.tables = tables
        indexes = Self.indexes(tables, &names)
    }

    // MARK: Tables

    /// Statements that make all of them.
    var definitions: [String] {
        var statements = [
            "CREATE TABLE \(Self.schemaTable) (name TEXT NOT NULL PRIMARY KEY, value)",
            "CREATE TABLE \(Self.orderTable) (class TEXT NOT NULL, position INTEGER NOT NULL, key INTEGER NOT NULL, "
                + "PRIMARY KEY (class, position)) WITHOUT ROWID",
        ]
        for table in tables {
            statements.append(definition(table))
            for field in table.fields where field.property.isCollection { statements.append(definition(field, table)) }
        }
        return statements
    }

    private func definition(_ table: Table) -> String {
        var columns: [String] = []
        if table.hasKeyColumn { columns.append("\(SQLiteNames.quoted(Self.keyColumn)) INTEGER PRIMARY KEY") }
        for field in table.fields where !field.property.isCollection {
            let property = field.property
            let mark =
                !property.isPrimaryKey ? "" : table.hasKeyColumn ? " UNIQUE" : " PRIMARY KEY"
            // NOT NULL is not said of what SQLite calls its rowid: it never is.
            let isRowID = property.isPrimaryKey && !table.hasKeyColumn && property.type == .int
            let isNullable = property.isNullable || isRowID
            columns.append(column(field.name, property, isNullable: isNullable, field.target) + mark)
            if let typeColumn = field.typeColumn { columns.append("\(SQLiteNames.quoted(typeColumn)) TEXT") }
        }
        // A class of nothing but collections or inverses has its key at least.
        return "CREATE TABLE \(SQLiteNames.quoted(table.name)) (\(columns.joined(separator: ", ")))"
    }

    private func definition(_ field: Field, _ table: Table) -> String {
        let property = field.property
        let place = property.isMap ? "\(Element.key) TEXT NOT NULL" : "\(Element.position) INTEGER NOT NULL"
        let isLink = property.type == .link
        var columns = [
            "\(Element.owner) \(Self.declared(table.referenceType)) NOT NULL "
                + references(table, whenDeleted: "CASCADE"), place,
            column(
                isLink ? Element.target : Element.value, property, isNullable: property.isNullable, field.target,
                whenDeleted: property.isMap ? "SET NULL" : "CASCADE"),
        ]
        if property.type == .mixed { columns.append("\(Element.typeOfValue) TEXT") }
        let key = property.isMap ? Element.key : Element.position
        columns.append("PRIMARY KEY (\(Element.owner), \(key))")
        return "CREATE TABLE \(SQLiteNames.quoted(field.name)) (\(columns.joined(separator: ", "))) WITHOUT ROWID"
    }

    private func column(
        _ name: String, _ property: Property, isNullable: Bool, _ target: Int?, whenDeleted: String = "SET NULL"
    ) -> String {
        let quoted = SQLiteNames.quoted(name)
        let link = target.map { tables[$0] }
        var text = quoted
        let type = Self.declared(link?.referenceType ?? property.type)
        if !type.isEmpty { text += " " + type }
        if !isNullable { text += " NOT NULL" }
        if let link { return text + " " + references(link, whenDeleted: whenDeleted) }
        return property.type == .bool ? text + " CHECK (\(quoted) IN (0, 1))" : text
    }

    private func references(_ table: Table, whenDeleted: String) -> String {
        "REFERENCES \(SQLiteNames.quoted(table.name)) (\(SQLiteNames.quoted(table.referenceColumn))) "
            + "ON DELETE \(whenDeleted) DEFERRABLE INITIALLY DEFERRED"
    }

    /// A mixed value's column has no type, so that SQLite converts nothing.
    private static func declared(_ type: PropertyType) -> String {
        switch type.form {
        case .bool: "BOOLEAN"
        case .int: "INTEGER"
        case .float, .double: "REAL"
        case .data: "BLOB"
        case .string, .timestamp, .decimal, .identifier: "TEXT"
        case .null, .link, .list, .map, nil: ""
        }
    }

    // MARK: Indexes

    /// Of what is indexed, and of links, which are followed backwards and looked up when their targets are deleted.
    private static func indexes(_ tables: [Table], _ names: inout SQLiteNames) -> [String] {
        var statements: [String] = []
        func add(_ table: String, _ column: String, isUnique: Bool, _ name: String) {
            statements.append(
                "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(SQLiteNames.quoted(name)) "
                    + "ON \(SQLiteNames.quoted(table)) (\(SQLiteNames.quoted(column)))")
        }
        for table in tables {
            for field in table.fields {
                let isLink = field.property.type == .link
                guard isLink || field.property.isIndexed && !field.property.isPrimaryKey else { continue }
                let name = names.name("\(table.type.name)_\(field.property.name)_index")
                // An embedded object has one owner.
                let isUnique = field.target.map { tables[$0].type.isEmbedded } ?? false
                if field.property.isCollection {
                    add(field.name, Element.target, isUnique: isUnique, name)
                } else {
                    add(table.name, field.name, isUnique: isUnique, name)
                }
            }
        }
        for table in tables {
            // SQLite folds ASCII letters alone.
            for form in table.type.indexes.compactMap(\.orderedForm)
            where form.parts.allSatisfy({ $0.folding.isEmpty }) {
                let fields = form.parts.map { part in
                    table.fields.first { $0.property.name.hasSameBytes(as: part.name) && !$0.property.isCollection }
                }
                guard fields.allSatisfy({ $0 != nil }) else { continue }
                let columns = zip(fields, form.parts).map { field, part in
                    SQLiteNames.quoted(field?.name ?? "") + (part.isDescending ? " DESC" : "")
                }
                let properties = form.parts.map(\.name).joined(separator: "_")
                let name = names.name("\(table.type.name)_\(properties)_index")
                statements.append(
                    "CREATE \(form.isUnique ? "UNIQUE " : "")INDEX \(SQLiteNames.quoted(name)) "
                        + "ON \(SQLiteNames.quoted(table.name)) (\(columns.joined(separator: ", ")))")
            }
        }
        return statements
    }

    // MARK: Statements

    /// Of an object's own row: the key column if there is one, then single values with the types of mixed ones.
    static func columns(_ table: Table) -> [String] {
        var columns = table.hasKeyColumn ? [keyColumn] : []
        for field in table.fields where !field.property.isCollection {
            columns.append(field.name)
            if let typeColumn = field.typeColumn { columns.append(typeColumn) }
        }
        return columns
    }

    /// Of an element: its owner, its place, and what is there.
    static func columns(_ field: Field) -> [String] {
        let property = field.property
        let columns = [
            Element.owner, property.isMap ? Element.key : Element.position,
            property.type == .link ? Element.target : Element.value,
        ]
        return property.type == .mixed ? columns + [Element.typeOfValue] : columns
    }

    static func insertion(into table: String, _ columns: [String]) -> String {
        let names = columns.map(SQLiteNames.quoted).joined(separator: ", ")
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        return "INSERT INTO \(SQLiteNames.quoted(table)) (\(names)) VALUES (\(places))"
    }
}
