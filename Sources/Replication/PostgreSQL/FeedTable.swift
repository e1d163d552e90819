/// A class as a table of its own: `_key`, the object's key in the file, and a column a property. Links are the `_key`
/// of their target.
import MotteSchemaModel
import MotteStorage
import MotteValues

struct FeedTable {
    let stored: StoredTable
    let columns: [StoredColumn]

    /// PostgreSQL cuts longer names off.
    private static let longestName = 63
    static let key = "_key"
    /// For rows that come and go; no class may begin so.
    static let ownPrefix = "motte_feed"
    private static let gone = "\(ownPrefix)_gone"
    private static let stage = "\(ownPrefix)_stage"
    /// Columns that each table has by itself.
    private static let ownColumns = [key, "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"]

    init(_ stored: StoredTable) throws(DatabaseError) {
        self.stored = stored
        columns = stored.columns.filter { !$0.isMapKeys }
        for name in [stored.name] + columns.map(\.name) where name.utf8.count > Self.longestName {
            throw DatabaseError(
                .unsupported,
                "'\(name)' has more than \(Self.longestName) bytes, which PostgreSQL takes no names of; leave class "
                    + "\(stored.name) out with --class", className: stored.name)
        }
        if let taken = columns.first(where: { Self.ownColumns.contains(where: $0.name.hasSameBytes) }) {
            throw DatabaseError(
                .unsupported,
                "\(stored.name).\(taken.name) has a name that is taken in each table; leave class \(stored.name) out "
                    + "with --class", className: stored.name)
        }
        if stored.name.beginsWithBytes(of: Self.ownPrefix) {
            throw DatabaseError(
                .unsupported, "class \(stored.name) has a name that the feed takes itself; leave it out with --class",
                className: stored.name)
        }
    }

    var name: String { PostgresConnection.quoted(stored.name) }
    private var names: String {
        ([Self.key] + columns.map(\.name)).map(PostgresConnection.quoted).joined(separator: ", ")
    }

    // MARK: Making it

    /// The table as it was made; nil if there is none.
    func identity(_ connection: PostgresConnection) throws(DatabaseError) -> String? {
        try connection.run("SELECT to_regclass($1)::oid::text", [name]).first?[0]
    }

    func create(_ connection: PostgresConnection) throws(DatabaseError) {
        let columns = columns.map { ", \(PostgresConnection.quoted($0.name)) \(FeedValue.type($0))" }.joined()
        try connection.run("CREATE TABLE \(name) (\(Self.key) bigint PRIMARY KEY\(columns))")
    }

    /// Whether a column came, went or has another type than before.
    func adapt(_ connection: PostgresConnection) throws(DatabaseError) -> Bool {
        let found = try connection.run(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                + "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped", [name])
        var types: [NameKey: String] = [:]
        for row in found { if let name = row[0] { types[NameKey(name)] = row[1] } }
        var isChanged = false
        let present = types.keys.map(\.text).sorted { $0.precedesInBytes($1) }
        for name in present where !name.hasSameBytes(as: Self.key) {
            let column = columns.first { $0.name.hasSameBytes(as: name) }
            if let column, FeedValue.type(column) == types[NameKey(name)] { continue }
            // With views that need it, which the server names.
            try connection.run("ALTER TABLE \(self.name) DROP COLUMN \(PostgresConnection.quoted(name)) CASCADE")
            types[NameKey(name)] = nil
            isChanged = true
        }
        for column in columns where types[NameKey(column.name)] == nil {
            try connection.run(
                "ALTER TABLE \(name) ADD COLUMN \(PostgresConnection.quoted(column.name)) \(FeedValue.type(column))")
            isChanged = true
        }
        return isChanged
    }

    // MARK: Rows

    /// All objects, in place of what is there.
    func load(_ connection: PostgresConnection, _ snapshot: Snapshot) throws(DatabaseError) -> Int {
        try connection.run("DELETE FROM \(name)")
        let table = try snapshot.table(stored.key)
        var count = 0
        try connection.copy("COPY \(name) (\(names)) FROM STDIN") { rows throws(DatabaseError) in
            for key in 0 ..< table.nextKey where try table.locate(ObjectKey(key)) != nil {
                try append(table, ObjectKey(key), snapshot, to: &rows)
                count += 1
            }
        }
        return count
    }

    /// What went first, so that others may have what was unique of it.
    func apply(
        _ changes: ChangeSummary.Table, _ connection: PostgresConnection, _ snapshot: Snapshot
    ) throws(DatabaseError) -> Int {
        let table = try snapshot.table(stored.key)
        if !changes.deleted.isEmpty {
            try connection.run("CREATE TEMPORARY TABLE \(Self.gone) (first bigint, past bigint) ON COMMIT DROP")
            try connection.copy("COPY \(Self.gone) FROM STDIN") { rows throws(DatabaseError) in
                for run in changes.deleted.runs {
                    rows.bytes += "\(run.lowerBound)\t\(run.upperBound)".utf8
                    try rows.endRow()
                }
            }
            try connection.run(
                "DELETE FROM \(name) USING \(Self.gone) WHERE \(name).\(Self.key) >= \(Self.gone).first "
                    + "AND \(name).\(Self.key) < \(Self.gone).past")
            try connection.run("DROP TABLE \(Self.gone)")
        }
        var touched = KeyRuns()
        for key in changes.modifiedKeys { touched.append(key ..< key + 1) }
        touched.formUnion(changes.inserted)
        guard !touched.isEmpty else { return 0 }
        try connection.run("CREATE TEMPORARY TABLE \(Self.stage) (LIKE \(name)) ON COMMIT DROP")
        try connection.copy("COPY \(Self.stage) (\(names)) FROM STDIN") { rows throws(DatabaseError) in
            for run in touched.runs {
                for key in run where try table.locate(ObjectKey(key)) != nil {
                    try append(table, ObjectKey(key), snapshot, to: &rows)
                }
            }
        }
        let sets = columns.map { column in
            let name = PostgresConnection.quoted(column.name)
            return "\(name) = excluded.\(name)"
        }
        try connection.run(
            "INSERT INTO \(name) (\(names)) SELECT \(names) FROM \(Self.stage) ON CONFLICT (\(Self.key)) DO "
                + (sets.isEmpty ? "NOTHING" : "UPDATE SET " + sets.joined(separator: ", ")))
        try connection.run("DROP TABLE \(Self.stage)")
        return touched.count
    }

    private func append(
        _ table: TableView, _ key: ObjectKey, _ snapshot: Snapshot, to rows: inout CopyRows
    ) throws(DatabaseError) {
        rows.bytes += String(key.rawValue).utf8
        for column in columns {
            rows.bytes.append(UInt8(ascii: "\t"))
            if column.isList {
                FeedValue.appendEscaped(try collection(table, column, key, snapshot), to: &rows.bytes)
                continue
            }
            let value = try table.value(column.key, key)
            guard column.type == .mixed, !value.isNull else {
                FeedValue.append(value, to: &rows.bytes)
                continue
            }
            var json: [UInt8] = []
            FeedValue.json(value.owned, { snapshot.catalog.table($0)?.name }, to: &json)
            FeedValue.appendEscaped(json, to: &rows.bytes)
        }
        try rows.endRow()
    }

    private func collection(
        _ table: TableView, _ column: StoredColumn, _ key: ObjectKey, _ snapshot: Snapshot
    ) throws(DatabaseError) -> [UInt8] {
        let isMap = column.collection == .map
        var json = Array((isMap ? "{" : "[").utf8)
        var names: [String] = []
        if isMap {
            var keys: [[UInt8]] = []
            for index in 0 ..< (try table.listCount(column.key, key)) {
                keys.append([UInt8](try table.mapKey(column.key, key, index)))
            }
            names = FeedValue.names(keys)
        }
        for index in 0 ..< (try table.listCount(column.key, key)) {
            if index > 0 { json += ", ".utf8 }
            if isMap {
                FeedValue.quote(names[index], to: &json)
                json += ": ".utf8
            }
            let value = try table.listElement(column.key, key, index).owned
            if case .link(let link) = value, column.isLink {
                json += String(link.key.rawValue).utf8
            } else {
                FeedValue.json(value, { snapshot.catalog.table($0)?.name }, to: &json)
            }
        }
        json += (isMap ? "}" : "]").utf8
        return json
    }
}
