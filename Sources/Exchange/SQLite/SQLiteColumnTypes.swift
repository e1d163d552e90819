/// What a column of an ordinary SQLite table becomes: its declared type, where all its values are such, else what they
/// are; where they are of several kinds, mixed, so that none is lost.
///
/// SQLite lets any column hold anything, so all values are looked at.
import MotteSchemaModel
import MotteValues

struct SQLiteColumnTypes {
    /// How many values of a column are what.
    private struct Counts {
        var integers: Int64 = 0
        var reals: Int64 = 0
        var texts: Int64 = 0
        var blobs: Int64 = 0
        /// Integers other than 0 and 1, and those that a double cannot hold for sure.
        var noBools: Int64 = 0
        var noDoubles: Int64 = 0

        var all: Int64 { integers + reals + texts + blobs }
    }

    private let file: SQLiteConnection
    private let table: DeclaredTable
    private var counts: [Counts] = []
    private(set) var rowCount: Int64 = 0

    private static let columnsAtOnce = 100

    init(_ table: DeclaredTable, _ file: SQLiteConnection) throws(DatabaseError) {
        self.table = table
        self.file = file
        var first = 0
        while first < table.columns.count {
            let columns = table.columns[first ..< min(first + Self.columnsAtOnce, table.columns.count)]
            try count(columns)
            first += columns.count
        }
    }

    private mutating func count(_ columns: ArraySlice<DeclaredColumn>) throws(DatabaseError) {
        var sums = ["count(*)"]
        for column in columns {
            let name = SQLiteNames.quoted(column.name)
            for storage in ["integer", "real", "text", "blob"] { sums.append("total(typeof(\(name)) = '\(storage)')") }
            sums.append("total(typeof(\(name)) = 'integer' AND \(name) NOT IN (0, 1))")
            sums.append("total(typeof(\(name)) = 'integer' AND \(name) NOT BETWEEN -\(1 << 53) AND \(1 << 53))")
        }
        let row = try file.prepare("SELECT \(sums.joined(separator: ", ")) FROM \(SQLiteNames.quoted(table.name))")
        guard try row.step() else { return }
        rowCount = row.int(0)
        for index in 0 ..< columns.count {
            let first = 1 + index * 6
            counts.append(
                Counts(
                    integers: row.int(first), reals: row.int(first + 1), texts: row.int(first + 2),
                    blobs: row.int(first + 3), noBools: row.int(first + 4), noDoubles: row.int(first + 5)))
        }
    }

    /// Rows in which the column is NULL.
    func nullCount(_ index: Int) -> Int64 { rowCount - counts[index].all }

    /// Its type, and whether it is another one than was declared.
    func type(_ index: Int) throws(DatabaseError) -> (type: PropertyType, isSurprise: Bool) {
        let declared = Self.declared(table.columns[index].type)
        let counts = counts[index]
        if counts.all == 0 { return (declared ?? .mixed, false) }
        if let declared, try fits(declared, index) { return (declared, false) }
        let found: PropertyType =
            if counts.integers == counts.all {
                .int
            } else if counts.integers + counts.reals == counts.all, counts.noDoubles == 0 {
                .double
            } else if counts.texts == counts.all {
                .string
            } else if counts.blobs == counts.all {
                .data
            } else {
                .mixed
            }
        // Integers in a column for numbers of any kind are what was to be expected.
        return (found, declared != nil && !(declared == .double && found == .int))
    }

    private func fits(_ type: PropertyType, _ index: Int) throws(DatabaseError) -> Bool {
        let counts = counts[index]
        switch type {
        case .bool: return counts.integers == counts.all && counts.noBools == 0
        case .int: return counts.integers == counts.all
        case .double: return counts.reals > 0 && counts.integers + counts.reals == counts.all && counts.noDoubles == 0
        case .string: return counts.texts == counts.all
        case .data: return counts.blobs == counts.all
        case .timestamp, .uuid:
            guard counts.texts == counts.all else { return false }
            return try isEvery(table.columns[index].name, type)
        default: return false
        }
    }

    private func isEvery(_ column: String, _ type: PropertyType) throws(DatabaseError) -> Bool {
        let name = SQLiteNames.quoted(column)
        let row = try file.prepare("SELECT \(name) FROM \(SQLiteNames.quoted(table.name)) WHERE \(name) IS NOT NULL")
        while try row.step() {
            if SQLiteValue.view(row, 0, type) == nil { return false }
        }
        return true
    }

    /// By the words that programs use, then by the affinity that SQLite gives a type; nil where nothing is declared.
    static func declared(_ type: String) -> PropertyType? {
        func has(_ words: String...) -> Bool { words.contains { type.contains($0) } }
        if type.isEmpty { return nil }
        if has("BOOL") { return .bool }
        if has("UUID", "GUID") { return .uuid }
        if has("DATE", "TIME") { return .timestamp }
        if has("INT") { return .int }
        if has("CHAR", "CLOB", "TEXT", "STRING", "JSON") { return .string }
        if has("BLOB", "BINARY") { return .data }
        return .double
    }
}

extension String {
    fileprivate func contains(_ word: String) -> Bool {
        let bytes = Array(utf8)
        let word = Array(word.utf8)
        guard bytes.count >= word.count else { return false }
        return (0 ... bytes.count - word.count).contains { bytes[$0 ..< $0 + word.count].elementsEqual(word) }
    }
}
