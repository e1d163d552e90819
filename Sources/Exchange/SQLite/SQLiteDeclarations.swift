/// What a SQLite file declares of its tables: columns, keys, indexes, foreign keys, and constraints that an import does
/// not keep.
import MotteValues

struct DeclaredColumn {
    let name: String
    /// In capitals; empty where none is declared.
    let type: String
    let isNotNull: Bool
    /// Its place in the primary key, from 1; 0 outside of it.
    let keyPosition: Int
    let hasDefault: Bool
    let isGenerated: Bool
}

struct DeclaredIndex {
    let name: String
    let isUnique: Bool
    /// Made for a primary key.
    let isOfPrimaryKey: Bool
    /// Of all rows by columns: neither partial nor by expressions.
    let isPlain: Bool
    let columns: [Column]

    struct Column {
        let name: String
        let isDescending: Bool
        /// In capitals: BINARY unless something else is declared.
        let collation: String
    }
}

struct DeclaredForeignKey {
    let columns: [String]
    let table: String
    /// nil: its primary key.
    let targets: [String?]
    let hasAction: Bool
}

package struct DeclaredTable {
    let name: String
    let isWithoutRowID: Bool
    let columns: [DeclaredColumn]
    let indexes: [DeclaredIndex]
    let foreignKeys: [DeclaredForeignKey]
    /// CHECK and the like, as they are called.
    let constraints: [String]

    var primaryKey: [DeclaredColumn] { columns.filter { $0.keyPosition > 0 } }

    /// A name of the number that SQLite gives each row; nil where columns have all its names, or there is none.
    var rowID: String? {
        guard !isWithoutRowID else { return nil }
        return ["rowid", "_rowid_", "oid"].first { name in !columns.contains { SQLiteNames.isSame($0.name, name) } }
    }

    func column(_ name: String) -> DeclaredColumn? { columns.first { SQLiteNames.isSame($0.name, name) } }

    // MARK: From the file

    init(
        _ name: String, isWithoutRowID: Bool, _ sql: String, _ file: SQLiteConnection
    ) throws(DatabaseError) {
        self.name = name
        self.isWithoutRowID = isWithoutRowID
        let table = SQLiteNames.literal(name)
        columns = try Self.columns(of: table, file)
        indexes = try Self.indexes(of: table, file)
        foreignKeys = try Self.foreignKeys(of: table, file)
        constraints = Self.words(sql).filter { ["CHECK", "COLLATE", "AUTOINCREMENT"].contains($0) }
            .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func columns(
        of table: String, _ file: SQLiteConnection
    ) throws(DatabaseError) -> [DeclaredColumn] {
        let row = try file.prepare(
            "SELECT name, upper(type), \"notnull\", pk, dflt_value IS NOT NULL, hidden "
                + "FROM pragma_table_xinfo(\(table)) WHERE hidden <> 1")
        var columns: [DeclaredColumn] = []
        while try row.step() {
            columns.append(
                DeclaredColumn(
                    name: row.text(0) ?? "", type: row.text(1) ?? "", isNotNull: row.int(2) != 0,
                    keyPosition: Int(row.int(3)), hasDefault: row.int(4) != 0, isGenerated: row.int(5) != 0))
        }
        return columns
    }

    private static func indexes(of table: String, _ file: SQLiteConnection) throws(DatabaseError) -> [DeclaredIndex] {
        let row = try file.prepare(
            "SELECT name, \"unique\", origin = 'pk', partial FROM pragma_index_list(\(table)) ORDER BY seq DESC")
        var indexes: [DeclaredIndex] = []
        while try row.step() {
            let name = row.text(0) ?? ""
            let key = try file.prepare(
                "SELECT cid, name, \"desc\", upper(coll) FROM pragma_index_xinfo(\(SQLiteNames.literal(name))) "
                    + "WHERE key = 1 ORDER BY seqno")
            var columns: [DeclaredIndex.Column] = []
            var isPlain = row.int(3) == 0
            while try key.step() {
                // An expression has no name.
                if key.int(0) < 0 { isPlain = false }
                columns.append(
                    DeclaredIndex.Column(
                        name: key.text(1) ?? "an expression", isDescending: key.int(2) != 0,
                        collation: key.text(3) ?? "BINARY"))
            }
            indexes.append(
                DeclaredIndex(
                    name: name, isUnique: row.int(1) != 0, isOfPrimaryKey: row.int(2) != 0, isPlain: isPlain,
                    columns: columns))
        }
        return indexes
    }

    private static func foreignKeys(
        of table: String, _ file: SQLiteConnection
    ) throws(DatabaseError) -> [DeclaredForeignKey] {
        let row = try file.prepare(
            "SELECT id, \"table\", \"from\", \"to\", on_delete <> 'NO ACTION' OR on_update <> 'NO ACTION' "
                + "FROM pragma_foreign_key_list(\(table)) ORDER BY id DESC, seq")
        var keys: [DeclaredForeignKey] = []
        var last: Int64?
        while try row.step() {
            let id = row.int(0)
            let isSame = id == last
            let before = isSame ? keys.popLast() : nil
            last = id
            keys.append(
                DeclaredForeignKey(
                    columns: (before?.columns ?? []) + [row.text(2) ?? ""], table: row.text(1) ?? "",
                    targets: (before?.targets ?? []) + [row.text(3)], hasAction: row.int(4) != 0))
        }
        return keys
    }

    /// The words of a statement in capitals, without what is quoted, and without comments.
    package static func words(_ sql: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var closing: UInt8?
        var comment: (isLine: Bool, isOpen: Bool) = (false, false)
        var last: UInt8 = 0
        for byte in Array(sql.utf8) + [0x20] {
            defer { last = byte }
            if comment.isOpen {
                if comment.isLine ? byte == 0x0A : last == UInt8(ascii: "*") && byte == UInt8(ascii: "/") {
                    comment.isOpen = false
                }
                continue
            }
            if let mark = closing {
                if byte == mark { closing = nil }
                continue
            }
            let isWordByte = byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte == 0x5F || byte >= 0x80
            if isWordByte || byte >= 0x30 && byte <= 0x39 {
                word.append(byte >= 0x61 && byte <= 0x7A ? byte & 0xDF : byte)
                continue
            }
            if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
            word = []
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): closing = byte
            case UInt8(ascii: "["): closing = UInt8(ascii: "]")
            case UInt8(ascii: "-") where last == byte: comment = (true, true)
            case UInt8(ascii: "*") where last == UInt8(ascii: "/"): comment = (false, true)
            default: break
            }
        }
        return words
    }
}
