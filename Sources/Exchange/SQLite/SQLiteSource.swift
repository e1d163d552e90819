/// A SQLite file that is imported: its classes, how their rows are read, and what cannot be kept.
///
/// What `SQLiteExport` made says its schema itself, and comes back whole. Of any other file the declared tables are
/// taken (`SQLiteTables`). The file is checked before anything is read of it, and stays one version meanwhile.
import CMotteShim
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class SQLiteSource {
    package let path: String
    package let schema: Schema
    /// The number that users gave the schema; nil where the file is no export of Motte's.
    package let schemaVersion: UInt64?
    /// What cannot be kept, a sentence each that begins with its table.
    package let notes: [String]
    let file: SQLiteConnection
    let classes: [SQLiteClass]

    package init(_ path: String) throws(DatabaseError) {
        self.path = path
        guard try Self.isOne(path) else {
            throw DatabaseError(.unsupportedFormat, "'\(path)' is no SQLite file, or an encrypted one", path: path)
        }
        let file = try SQLiteConnection(path, for: .reading)
        self.file = file
        // Nothing that a file declares is run: neither functions in its constraints nor those in its views.
        try file.execute(
            """
            PRAGMA trusted_schema = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA cell_size_check = ON;
            PRAGMA cache_size = -16384; BEGIN
            """)
        if let problem = try file.damage() {
            throw DatabaseError(
                .corrupted,
                "'\(path)': \(problem); this SQLite file is damaged: restore it from a copy, or run sqlite3's .recover",
                path: path)
        }
        if try file.hasTable(SQLiteShape.schemaTable) {
            (schema, schemaVersion) = try Self.storedSchema(file)
            let shape = SQLiteShape(schema)
            notes = try Self.differences(shape, file)
            classes = try SQLiteClass.all(of: shape, file)
        } else {
            let tables = try SQLiteTables(file)
            (schema, schemaVersion, notes, classes) = (tables.schema, nil, tables.notes, tables.classes)
        }
    }

    /// Whether a file begins as SQLite's do. One that is not there or cannot be read is an error; nothing is read of a
    /// pipe, where it would be missing afterwards.
    package static func isOne(_ path: String) throws(DatabaseError) -> Bool {
        let descriptor = motte_shim_open(path, O_RDONLY | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            let number = errno
            throw DatabaseError(
                number == ENOENT || number == ENOTDIR
                    ? .fileNotFound : number == EACCES ? .permissionDenied : .inputOutput,
                "cannot read '\(path)': \(String(cString: strerror(number))); check the path and its permissions",
                path: path, systemError: number)
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
        let magic = Array("SQLite format 3\u{0}".utf8)
        var head = [UInt8](repeating: 0, count: magic.count)
        return read(descriptor, &head, head.count) == head.count && head == magic
    }

    // MARK: What an export wrote

    private static func storedSchema(_ file: SQLiteConnection) throws(DatabaseError) -> (Schema, UInt64) {
        func value(_ name: String) -> String {
            "SELECT value FROM \(SQLiteShape.schemaTable) WHERE name = \(SQLiteNames.literal(name))"
        }
        guard let form = try file.int(value("form")), let text = try file.text(value("schema")) else {
            throw DatabaseError(
                .unsupportedFormat,
                "'\(file.path)': its table 'motte_schema' has no schema; it was changed since the export",
                path: file.path)
        }
        guard form == SQLiteShape.form else {
            throw DatabaseError(
                .unsupportedFormat,
                "'\(file.path)' has form \(form), this library reads form \(SQLiteShape.form); use a newer one",
                path: file.path)
        }
        let version = try file.int(value("schema_version")) ?? 0
        return (try SchemaText.parse(text).validated(), UInt64(bitPattern: version))
    }

    /// Tables and columns that were added since; what is missing is an error.
    private static func differences(
        _ shape: SQLiteShape, _ file: SQLiteConnection
    ) throws(DatabaseError) -> [String] {
        var expected: [[UInt8]: [String]] = [
            SQLiteNames.folded(SQLiteShape.schemaTable): ["name", "value"],
            SQLiteNames.folded(SQLiteShape.orderTable): ["class", "position", "key"],
        ]
        for table in shape.tables {
            expected[SQLiteNames.folded(table.name)] = SQLiteShape.columns(table)
            for field in table.fields where field.property.isCollection {
                expected[SQLiteNames.folded(field.name)] = SQLiteShape.columns(field)
            }
        }
        var notes: [String] = []
        for name in try file.tableNames() {
            guard let columns = expected.removeValue(forKey: SQLiteNames.folded(name)) else {
                if !SQLiteNames.folded(name).starts(with: "sqlite_".utf8) {
                    notes.append("\(name): this table was added after the export and is not imported")
                }
                continue
            }
            let known = Set(columns.map(SQLiteNames.folded))
            let found = try file.columnNames(of: name)
            for column in columns where !found.contains(where: { SQLiteNames.isSame($0, column) }) {
                throw changed(file, "table \(name) has no column \(column)")
            }
            for column in found where !known.contains(SQLiteNames.folded(column)) {
                notes.append("\(name): the column \(column) was added after the export and is not imported")
            }
        }
        if let missing = expected.keys.min(by: { $0.lexicographicallyPrecedes($1) }) {
            throw changed(file, "there is no table \(String(decoding: missing, as: UTF8.self))")
        }
        return try notes + ownerless(shape, file)
    }

    private static func changed(_ file: SQLiteConnection, _ what: String) -> DatabaseError {
        DatabaseError(
            .unsupportedFormat,
            "'\(file.path)' was changed since the export: \(what), which its schema needs; to import it as any other "
                + "SQLite file, drop its table 'motte_schema'", path: file.path)
    }

    /// Embedded objects are imported within their owners.
    private static func ownerless(
        _ shape: SQLiteShape, _ file: SQLiteConnection
    ) throws(DatabaseError) -> [String] {
        var notes: [String] = []
        for (index, embedded) in shape.tables.enumerated() where embedded.type.isEmbedded {
            var owned: Int64 = 0
            for table in shape.tables {
                for field in table.fields where field.target == index {
                    let isMany = field.property.isCollection
                    let column = SQLiteNames.quoted(isMany ? SQLiteShape.Element.target : field.name)
                    let name = SQLiteNames.quoted(isMany ? field.name : table.name)
                    owned += try file.int("SELECT count(\(column)) FROM \(name)") ?? 0
                }
            }
            let count = try file.int("SELECT count(*) FROM \(SQLiteNames.quoted(embedded.name))") ?? 0
            guard count > owned else { continue }
            notes.append(
                "\(embedded.name): \(count - owned) objects of this embedded class belong to no object and are not "
                    + "imported")
        }
        return notes
    }
}

extension SQLiteConnection {
    /// In the order in which they were made.
    func tableNames() throws(DatabaseError) -> [String] {
        try texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    }

    func hasTable(_ name: String) throws(DatabaseError) -> Bool {
        try tableNames().contains { SQLiteNames.isSame($0, name) }
    }

    func columnNames(of table: String) throws(DatabaseError) -> [String] {
        try texts("SELECT name FROM pragma_table_info(\(SQLiteNames.literal(table)))")
    }

    /// The first column of all rows.
    func texts(_ sql: String) throws(DatabaseError) -> [String] {
        let row = try prepare(sql)
        var texts: [String] = []
        while try row.step() { texts.append(row.text(0) ?? "") }
        return texts
    }
}
