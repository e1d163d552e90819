/// A SQLite file that is there when all of it is: written under a temporary name, flushed, read back by SQLite itself,
/// and named at the end. It replaces nothing: what has its name already, or gets it meanwhile, stays.
///
/// SQLite keeps no old pages meanwhile, because nobody reads the file before it has its name, and what a crash leaves
/// has another one.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum NewSQLiteFile {
    private static let cacheKilobytes = 16 << 10

    /// `body` answers how many rows each table has got.
    static func create(
        _ path: String, _ body: (SQLiteConnection) throws(DatabaseError) -> [(table: String, count: Int)]
    ) throws(DatabaseError) {
        var facts = stat()
        guard lstat(path, &facts) != 0 else { throw exists(path) }
        let temporary = "\(path).writing-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        let descriptor = motte_shim_open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw OutputFile.failure(path) }
        defer {
            unlink(temporary)
            close(descriptor)
        }
        let rows = try fill(temporary, path, body)
        guard fsync(descriptor) == 0 else { throw OutputFile.failure(path) }
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        try check(temporary, path, rows)
        try name(temporary, path)
    }

    private static func fill(
        _ temporary: String, _ path: String,
        _ body: (SQLiteConnection) throws(DatabaseError) -> [(table: String, count: Int)]
    ) throws(DatabaseError) -> [(table: String, count: Int)] {
        let file = try SQLiteConnection(temporary, for: .making, naming: path)
        try file.execute(
            """
            PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
            PRAGMA foreign_keys = OFF; PRAGMA cache_size = -\(cacheKilobytes)
            """)
        return try body(file)
    }

    // MARK: Reading it back

    private static func check(
        _ temporary: String, _ path: String, _ rows: [(table: String, count: Int)]
    ) throws(DatabaseError) {
        let file = try SQLiteConnection(temporary, for: .reading, naming: path)
        if let problem = try file.damage() { throw unreadable(path, problem) }
        for (table, count) in rows {
            let found = try file.int("SELECT count(*) FROM \(SQLiteNames.quoted(table))")
            guard found == Int64(count) else {
                throw unreadable(path, "table \(table) has \(found ?? 0) rows of \(count)")
            }
        }
        if let table = try file.text("PRAGMA foreign_key_check") {
            throw unreadable(path, "a row of table \(table) refers to one that is not there")
        }
    }

    private static func unreadable(_ path: String, _ what: String) -> DatabaseError {
        DatabaseError(
            .inputOutput, "what was written for '\(path)' does not read back: \(what); no file was made", path: path)
    }

    // MARK: Its name

    private static func name(_ temporary: String, _ path: String) throws(DatabaseError) {
        // A second name rather than a rename, which would replace what somebody else has just made.
        if link(temporary, path) != 0 {
            let number = errno
            var facts = stat()
            guard number != EEXIST, lstat(path, &facts) != 0 else { throw exists(path) }
            // Not all file systems have second names.
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(number), rename(temporary, path) == 0 else {
                throw OutputFile.failure(path)
            }
        }
        try OutputFile.flushFolder(of: path)
    }

    private static func exists(_ path: String) -> DatabaseError {
        DatabaseError(
            .invalidArgument,
            "there is a file '\(path)' already; an export to SQLite replaces nothing: remove it or name another",
            path: path)
    }
}

extension SQLiteConnection {
    /// What SQLite finds wrong with the file; nil when nothing is.
    func damage() throws(DatabaseError) -> String? {
        let found = try text("PRAGMA quick_check(1)")
        return found == "ok" ? nil : found ?? "it could not be checked"
    }
}
