/// Names in SQL: quoted, and distinct as SQLite tells names apart, to which ASCII letters of either case are the same.
///
/// A name stays as it is if it can; one that is taken gets `_2`, `_3` and so on. The same schema has the same names, so
/// that an import finds what an export has made.
struct SQLiteNames {
    private var taken: Set<[UInt8]> = []

    /// Of tables and indexes, which share their names: what the file needs itself is taken.
    static var ofTables: SQLiteNames {
        var names = SQLiteNames()
        for name in [SQLiteShape.schemaTable, SQLiteShape.orderTable] { names.taken.insert(folded(name)) }
        return names
    }

    mutating func name(_ wanted: String) -> String {
        // SQLite keeps names for itself that begin so.
        let isReserved = Self.folded(wanted).starts(with: "sqlite_".utf8)
        let base = isReserved ? "_" + wanted : wanted
        var name = base
        var number = 2
        while !taken.insert(Self.folded(name)).inserted {
            name = "\(base)_\(number)"
            number += 1
        }
        return name
    }

    static func folded(_ name: String) -> [UInt8] {
        name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
    }

    static func isSame(_ left: String, _ right: String) -> Bool { folded(left) == folded(right) }

    /// As an identifier of SQL, whatever it consists of.
    static func quoted(_ name: String) -> String { quoted(name, by: "\"") }

    /// As a text of SQL.
    static func literal(_ text: String) -> String { quoted(text, by: "'") }

    private static func quoted(_ text: String, by mark: Unicode.Scalar) -> String {
        var quoted = String.UnicodeScalarView()
        quoted.append(mark)
        for scalar in text.unicodeScalars {
            quoted.append(scalar)
            if scalar == mark { quoted.append(mark) }
        }
        quoted.append(mark)
        return String(quoted)
    }
}
