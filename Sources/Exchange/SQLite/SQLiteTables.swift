/// The tables of an ordinary SQLite file as classes: columns as properties, a primary key of one column, foreign keys
/// of one column as links, indexes, unique ones too (`SQLiteIndexes`). What cannot be kept is said, table by table.
import MotteSchemaModel
import MotteValues

struct SQLiteTables {
    private(set) var notes: [String] = []
    private(set) var classes: [SQLiteClass] = []
    private(set) var schema = Schema.empty

    private let file: SQLiteConnection
    private var tables: [Table] = []

    /// A table on its way to a class.
    private struct Table {
        let declared: DeclaredTable
        let className: String
        var properties: [Property]
        /// Expressions by property.
        var values: [String]
        var readings: [SQLiteReading]
        var indexes: [IndexDeclaration] = []
        /// Whether links refer to its rows by their numbers.
        var isNumbered = false

        var primaryKey: Int? { properties.firstIndex { $0.isPrimaryKey } }
    }

    /// Virtual tables list themselves since then.
    private static let oldestLibrary = 3_037_000

    init(_ file: SQLiteConnection) throws(DatabaseError) {
        self.file = file
        guard file.libraryVersion >= Self.oldestLibrary else {
            throw DatabaseError(
                .unsupported, "to import '\(file.path)', SQLite's library must be 3.37 or newer; update libsqlite3-0",
                path: file.path)
        }
        try readTables()
        for index in tables.indices { try makeLinks(index) }
        for index in tables.indices { try addIndexes(index) }
        for table in tables { finish(table) }
        schema = try Schema(
            tables.map { ObjectType(name: $0.className, properties: $0.properties, indexes: $0.indexes) }
        ).validated()
        try noteTheRest()
    }

    private mutating func note(_ table: String, _ what: String) { notes.append("\(table): \(what)") }

    // MARK: Columns

    private mutating func readTables() throws(DatabaseError) {
        let row = try file.prepare(
            """
            SELECT m.name, l.type, l.wr, m.sql FROM sqlite_master AS m JOIN pragma_table_list AS l ON l.name = m.name
            WHERE m.type = 'table' AND l.schema = 'main' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY m.rowid
            """)
        var names = DistinctNames()
        while try row.step() {
            let name = row.text(0) ?? ""
            switch row.text(1) ?? "" {
            case "virtual": note(name, "a virtual table, whose rows are computed, is not imported")
            // What a virtual table keeps its rows in.
            case "shadow": continue
            default:
                let declared = try DeclaredTable(name, isWithoutRowID: row.int(2) != 0, row.text(3) ?? "", file)
                try add(declared, names.name(name, limit: SchemaValidation.classNameBytes))
            }
        }
    }

    private mutating func add(_ declared: DeclaredTable, _ className: String) throws(DatabaseError) {
        if !className.hasSameBytes(as: declared.name) { note(declared.name, "the class is called \(className)") }
        let types = try SQLiteColumnTypes(declared, file)
        let key = declared.primaryKey
        var names = DistinctNames()
        var table = Table(declared: declared, className: className, properties: [], values: [], readings: [])
        for (index, column) in declared.columns.enumerated() {
            let (type, isSurprise) = try types.type(index)
            let name = names.name(column.name, limit: SchemaValidation.propertyNameBytes)
            if !name.hasSameBytes(as: column.name) {
                note(declared.name, "the column \(column.name) is the property \(name)")
            }
            if isSurprise {
                note(declared.name, "\(column.name) is declared \(column.type) and holds other values: \(type.name)")
            }
            if column.isGenerated {
                note(declared.name, "\(column.name) is computed; its values are kept, the rule is not")
            }
            // The number of a row is never NULL, whatever is declared.
            let isKey = column.keyPosition > 0 && key.count == 1
            let isRowID = isKey && column.type == "INTEGER" && !declared.isWithoutRowID
            var property = Property(
                name: name, type: type, isNullable: type == .mixed || !(column.isNotNull || isRowID))
            if isKey {
                if let why = keyProblem(type, types.nullCount(index)) {
                    note(declared.name, "the primary key \(column.name) \(why); it is an ordinary property")
                } else {
                    property.isPrimaryKey = true
                    property.isNullable = types.nullCount(index) > 0
                }
            }
            table.properties.append(property)
            table.values.append("t." + SQLiteNames.quoted(column.name))
            table.readings.append(type == .mixed ? .mixed(isTyped: false) : .plain(type))
        }
        tables.append(table)
    }

    private func keyProblem(_ type: PropertyType, _ nulls: Int64) -> String? {
        if !type.canBePrimaryKey { return "is \(type.name), which no primary key can be" }
        return nulls > 1 ? "is NULL in \(nulls) rows" : nil
    }

    // MARK: Indexes

    private mutating func addIndexes(_ index: Int) throws(DatabaseError) {
        let made = try SQLiteIndexes(tables[index].declared, tables[index].properties, file)
        tables[index].properties = made.properties
        tables[index].indexes = made.indexes
        for what in made.notes { note(tables[index].declared.name, what) }
    }

    // MARK: Links

    private mutating func makeLinks(_ index: Int) throws(DatabaseError) {
        let declared = tables[index].declared
        for key in declared.foreignKeys {
            let columns = key.columns.joined(separator: ", ")
            if let problem = try link(key, index) {
                note(declared.name, "the foreign key \(columns) to \(key.table) is no link: \(problem)")
            } else if key.hasAction {
                note(declared.name, "what ON DELETE or ON UPDATE says of \(columns) is not kept")
            }
        }
    }

    /// Why it cannot be one; the values are kept then.
    private mutating func link(_ key: DeclaredForeignKey, _ index: Int) throws(DatabaseError) -> String? {
        guard key.columns.count == 1, let name = key.columns.first, let wanted = key.targets.first else {
            return "it has several columns"
        }
        let position = tables[index].declared.columns.firstIndex { SQLiteNames.isSame($0.name, name) }
        let target = tables.firstIndex { SQLiteNames.isSame($0.declared.name, key.table) }
        guard let position, let target else { return "there is no such table" }
        let property = tables[index].properties[position]
        guard !property.isPrimaryKey else { return "it is the primary key" }
        guard property.type != .link else { return "the column has another one" }
        let parent = tables[target].declared
        let keys = parent.primaryKey
        guard let column = wanted ?? (keys.count == 1 ? keys.first?.name : nil), parent.column(column) != nil else {
            return "it refers to no single column"
        }
        let quoted = "p." + SQLiteNames.quoted(column)
        var reference = quoted
        var reading = SQLiteReading.linkByNumber
        let isByKey = tables[target].primaryKey.map { SQLiteNames.isSame(parent.columns[$0].name, column) } ?? false
        if isByKey, let primary = tables[target].primaryKey, !tables[target].properties[primary].isNullable {
            reading = .link(tables[target].properties[primary].type)
        } else {
            guard let rowID = parent.rowID else { return "the rows of \(parent.name) have no numbers" }
            let least = try file.int("SELECT min(\(rowID)) FROM \(SQLiteNames.quoted(parent.name))") ?? 0
            guard least >= 0 else { return "rows of \(parent.name) have negative numbers" }
            reference = "p.\(rowID)"
        }
        let child = "t." + SQLiteNames.quoted(name)
        // A link keeps neither which of several rows is meant nor how the value was written.
        let again = try file.int(
            "SELECT count(\(quoted)) - count(DISTINCT \(quoted)) FROM \(SQLiteNames.quoted(parent.name)) AS p")
        if let again, again > 0 { return "\(column) has the same value in several rows of \(parent.name)" }
        func found(_ condition: String) -> String {
            "(SELECT \(reference) FROM \(SQLiteNames.quoted(parent.name)) AS p WHERE \(quoted) = \(child)\(condition))"
        }
        func lacking(_ condition: String) throws(DatabaseError) -> Int64 {
            try file.int(
                "SELECT count(*) FROM \(SQLiteNames.quoted(tables[index].declared.name)) AS t "
                    + "WHERE \(child) IS NOT NULL AND \(found(condition)) IS NULL") ?? 0
        }
        let dangling = try lacking("")
        if dangling > 0 { return "\(dangling) rows refer to rows that are not there" }
        let written = " AND quote(\(quoted)) = quote(\(child))"
        let others = try lacking(written)
        if others > 0 { return "\(others) rows write the value in another way than the row that they refer to" }
        if case .linkByNumber = reading { tables[target].isNumbered = true }
        tables[index].properties[position] = Property(
            name: property.name, type: .link, isNullable: true, target: tables[target].className)
        tables[index].values[position] = found(written)
        tables[index].readings[position] = reading
        return nil
    }

    // MARK: The classes

    private mutating func finish(_ table: Table) {
        let number = table.isNumbered ? table.declared.rowID.map { "t." + $0 } : nil
        let first = number == nil ? 0 : 1
        let fields = table.properties.enumerated().map { index, property in
            SQLiteField(property.name, table.readings[index], column: first + index)
        }
        classes.append(
            SQLiteClass(
                name: table.className, table: table.declared.name, numberedBy: number, columns: table.values, fields))
        let defaults = table.declared.columns.filter { $0.hasDefault }.map(\.name)
        if !defaults.isEmpty {
            note(table.declared.name, "default values are not kept: \(defaults.joined(separator: ", "))")
        }
        for constraint in table.declared.constraints { note(table.declared.name, "\(constraint) is not kept") }
    }

    private mutating func noteTheRest() throws(DatabaseError) {
        let row = try file.prepare(
            "SELECT name, type, tbl_name FROM sqlite_master WHERE type IN ('view', 'trigger') ORDER BY rowid")
        while try row.step() {
            let name = row.text(0) ?? ""
            if row.text(1) == "view" {
                note(name, "a view is not imported")
            } else {
                note(row.text(2) ?? "", "the trigger \(name) is not kept")
            }
        }
    }
}

/// Names of tables and columns as those of classes and properties, whose rules are stricter; all distinct.
private struct DistinctNames {
    private var taken: Set<NameKey> = []

    mutating func name(_ wanted: String, limit: Int) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in wanted.unicodeScalars {
            scalars.append(scalar == "." || scalar.value < 0x20 || scalar.value == 0x7F ? "_" : scalar)
        }
        if let first = scalars.first, first == "@" || first == "$" { scalars.removeFirst() }
        if scalars.isEmpty { scalars.append("_") }
        if String(scalars).utf8.count > limit { scalars = cut(scalars, limit) }
        var name = String(scalars)
        var number = 2
        while !taken.insert(NameKey(name)).inserted {
            name = "\(String(cut(scalars, limit)))_\(number)"
            number += 1
        }
        return name
    }

    /// With room for a number.
    private func cut(_ scalars: String.UnicodeScalarView, _ limit: Int) -> String.UnicodeScalarView {
        var scalars = scalars
        while String(scalars).utf8.count > limit - 6 { scalars.removeLast() }
        return scalars
    }
}
