/// SQLite in WAL mode, prepared statements throughout; with full synchronisation, or beside commits that are not
/// flushed with `synchronous=NORMAL`.
import CSQLite
import Glibc

final class SQLiteEngine: Engine {
    let name = "SQLite"
    private let isRelaxed: Bool
    private var database: OpaquePointer?
    private var path = ""
    private var statements: [String: OpaquePointer] = [:]

    init(isRelaxed: Bool = false) { self.isRelaxed = isRelaxed }

    private func open(_ path: String) throws {
        close()
        self.path = path
        try check(sqlite3_open(path, &database))
        try execute("PRAGMA journal_mode=WAL")
        try execute("PRAGMA synchronous=\(isRelaxed ? "NORMAL" : "FULL")")
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
            throw BenchError(String(cString: sqlite3_errmsg(database)))
        }
    }

    private func execute(_ sql: String) throws { try check(sqlite3_exec(database, sql, nil, nil, nil)) }

    func prepare(_ sql: String) throws -> OpaquePointer {
        if let known = statements[sql] {
            sqlite3_reset(known)
            return known
        }
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(database, sql, -1, &statement, nil))
        guard let statement else { throw BenchError("no statement for \(sql)") }
        statements[sql] = statement
        return statement
    }

    /// Without a copy: the texts of the data live as long as the process.
    private func bind(_ statement: OpaquePointer, _ index: Int32, _ text: UnsafeRawBufferPointer) {
        let start = text.baseAddress?.assumingMemoryBound(to: CChar.self)
        sqlite3_bind_text(statement, index, start, Int32(text.count), nil)
    }

    private func step(_ statement: OpaquePointer) throws {
        try check(sqlite3_step(statement))
        sqlite3_reset(statement)
    }

    func number(_ sql: String, _ bindings: (OpaquePointer) -> Void = { _ in }) throws -> Int {
        let statement = try prepare(sql)
        bindings(statement)
        try check(sqlite3_step(statement))
        defer { sqlite3_reset(statement) }
        return Int(sqlite3_column_int64(statement, 0))
    }

    private func bindFive(_ statement: OpaquePointer, from first: Int32, _ row: Int, _ data: PersonData) {
        bind(statement, first, data.names[row])
        sqlite3_bind_int64(statement, first + 1, data.ages[row])
        sqlite3_bind_double(statement, first + 2, data.scores[row])
        sqlite3_bind_int(statement, first + 3, data.active[row] ? 1 : 0)
        bind(statement, first + 4, data.cityColumn[row])
    }

    func bulkInsert(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/w1.sqlite")
        try execute("CREATE TABLE person (name TEXT, age INT, score REAL, active INT, city TEXT)")
        return try seconds {
            try execute("BEGIN")
            let insert = try prepare("INSERT INTO person VALUES (?,?,?,?,?)")
            for row in 0 ..< data.count {
                bindFive(insert, from: 1, row, data)
                try step(insert)
            }
            try execute("COMMIT")
        }
    }

    func bulkInsertWithKey(_ data: PersonData, _ ids: [Int64], areAscending: Bool, in path: String) throws -> Double {
        try open(path + ".sqlite")
        try execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, age INT, score REAL, active INT, city TEXT)")
        return try seconds {
            try execute("BEGIN")
            let insert = try prepare("INSERT INTO person VALUES (?,?,?,?,?,?)")
            for row in 0 ..< data.count {
                sqlite3_bind_int64(insert, 1, ids[row])
                bindFive(insert, from: 2, row, data)
                try step(insert)
            }
            try execute("COMMIT")
        }
    }

    private let insertSQL = "INSERT INTO person VALUES (?,?,?,?,?,?,?,?)"

    func load(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/person.sqlite")
        try execute(
            """
            CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, age INT, score REAL, active INT, city TEXT,
                created INT, best_friend INT);
            CREATE TABLE tag (person INT, position INT, tag TEXT, PRIMARY KEY (person, position)) WITHOUT ROWID;
            """)
        return try seconds {
            try execute("BEGIN")
            let insert = try prepare(insertSQL)
            let tag = try prepare("INSERT INTO tag VALUES (?,?,?)")
            for row in 0 ..< data.count {
                bindPerson(insert, Int64(row), row, data)
                try step(insert)
                for (position, text) in data.tags[row].enumerated() {
                    sqlite3_bind_int64(tag, 1, Int64(row))
                    sqlite3_bind_int64(tag, 2, Int64(position))
                    try text.withUnsafeBytes { bytes in
                        bind(tag, 3, bytes)
                        try step(tag)
                    }
                }
            }
            try execute("COMMIT")
        }
    }

    private func bindPerson(_ insert: OpaquePointer, _ id: Int64, _ row: Int, _ data: PersonData) {
        sqlite3_bind_int64(insert, 1, id)
        bindFive(insert, from: 2, row, data)
        sqlite3_bind_int64(insert, 7, data.created[row])
        if data.bestFriends[row] < 0 {
            sqlite3_bind_null(insert, 8)
        } else {
            sqlite3_bind_int64(insert, 8, data.bestFriends[row])
        }
    }

    func commitOne(id: Int64, _ data: PersonData) throws {
        let insert = try prepare(insertSQL)
        bindPerson(insert, id, Int(id) % data.count, data)
        try step(insert)
    }

    func find(id: Int64) throws -> (age: Int64, score: Double)? {
        let find = try prepare("SELECT age, score FROM person WHERE id = ?")
        sqlite3_bind_int64(find, 1, id)
        defer { sqlite3_reset(find) }
        guard sqlite3_step(find) == SQLITE_ROW else { return nil }
        return (sqlite3_column_int64(find, 0), sqlite3_column_double(find, 1))
    }

    /// The first column of up to a hundred rows.
    func answer(_ sql: String) throws -> [Int64] {
        let statement = try prepare(sql)
        defer { sqlite3_reset(statement) }
        var found: [Int64] = []
        while found.count < 100, sqlite3_step(statement) == SQLITE_ROW {
            found.append(sqlite3_column_int64(statement, 0))
        }
        return found
    }

    func iterate() throws -> Int64 {
        let all = try prepare("SELECT age, name FROM person")
        defer { sqlite3_reset(all) }
        var sum: Int64 = 0
        while sqlite3_step(all) == SQLITE_ROW {
            sum &+= sqlite3_column_int64(all, 0)
            _ = sqlite3_column_text(all, 1)
            sum &+= Int64(sqlite3_column_bytes(all, 1))
        }
        return sum
    }

    func countOlder(than age: Int64) throws -> Int {
        try number("SELECT count(*) FROM person WHERE age > ?") { sqlite3_bind_int64($0, 1, age) }
    }

    func count(city: [UInt8]) throws -> Int {
        try city.withUnsafeBytes { city in
            try number("SELECT count(*) FROM person WHERE city = ?") { bind($0, 1, city) }
        }
    }

    func indexCities() throws { try execute("CREATE INDEX city ON person (city)") }

    func sumScores() throws -> Double {
        let sum = try prepare("SELECT sum(score) FROM person")
        try check(sqlite3_step(sum))
        defer { sqlite3_reset(sum) }
        return sqlite3_column_double(sum, 0)
    }

    func countFriendsOlder(than age: Int64) throws -> Int {
        try number("SELECT count(*) FROM person p JOIN person f ON p.best_friend = f.id WHERE f.age > ?") {
            sqlite3_bind_int64($0, 1, age)
        }
    }

    func updateAges(ids: [Int64]) throws { try execute("UPDATE person SET age = age + 1 WHERE id = ?", ids) }

    func rename(id: Int64, to name: [UInt8]) throws {
        try execute("BEGIN")
        let statement = try prepare("UPDATE person SET name = ? WHERE id = ?")
        try name.withUnsafeBytes { name in
            bind(statement, 1, name)
            sqlite3_bind_int64(statement, 2, id)
            try step(statement)
        }
        try execute("COMMIT")
    }

    func delete(ids: [Int64]) throws { try execute("DELETE FROM person WHERE id = ?", ids) }

    private func execute(_ sql: String, _ ids: [Int64]) throws {
        try execute("BEGIN")
        let statement = try prepare(sql)
        for id in ids {
            sqlite3_bind_int64(statement, 1, id)
            try step(statement)
        }
        try execute("COMMIT")
    }

    func makeReader() throws -> () throws -> Void {
        let other = SQLiteEngine()
        try other.open(path)
        return { _ = try other.countOlder(than: 50) }
    }

    func reopen() throws { try open(path) }

    func fileSize() throws -> Int {
        try execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return sizeOfFile(path)
    }

    func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close(database)
        database = nil
    }
}
