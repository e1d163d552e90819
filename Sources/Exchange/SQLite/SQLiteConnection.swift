/// One connection to a SQLite file, through libsqlite3 that is loaded when the first is made. One thread at a time uses
/// it and its statements; it is closed when the last of them has gone.
///
/// Every failure is a `DatabaseError` that names the file as its user did.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class SQLiteConnection {
    package enum Purpose {
        case reading, making
    }

    /// As the user named it, for messages; what is being made has another name meanwhile.
    let path: String
    fileprivate let handle: OpaquePointer

    package init(_ file: String, for purpose: Purpose, naming path: String? = nil) throws(DatabaseError) {
        try Self.load()
        self.path = path ?? file
        // SQLite takes ":memory:" and the empty path for something else.
        let place = file.utf8.first == UInt8(ascii: "/") ? file : "./" + file
        var handle: OpaquePointer?
        let code = motte_shim_sqlite_open(place, purpose == .making ? 1 : 0, &handle)
        guard let handle else {
            throw DatabaseError(.outOfMemory, "there is no memory to open '\(self.path)'", path: self.path)
        }
        guard code == 0 else {
            let error = Self.failure(code, handle, self.path)
            motte_shim_sqlite_close(handle)
            throw error
        }
        self.handle = handle
    }

    deinit { motte_shim_sqlite_close(handle) }

    private static func load() throws(DatabaseError) {
        guard motte_shim_sqlite_load() == 0 else {
            let why = String(cString: motte_shim_sqlite_problem())
            throw DatabaseError(
                .unsupported,
                "SQLite files need SQLite's library (libsqlite3.so.0, package libsqlite3-0); install it: \(why)")
        }
    }

    /// 3040001 is 3.40.1.
    var libraryVersion: Int { Int(motte_shim_sqlite_version()) }

    package func execute(_ sql: String) throws(DatabaseError) { try check(motte_shim_sqlite_execute(handle, sql)) }

    func prepare(_ sql: String) throws(DatabaseError) -> SQLiteStatement { try SQLiteStatement(self, sql) }

    /// The first column of the first row.
    package func int(_ sql: String) throws(DatabaseError) -> Int64? {
        let row = try prepare(sql)
        return try row.step() ? row.int(0) : nil
    }

    package func text(_ sql: String) throws(DatabaseError) -> String? {
        let row = try prepare(sql)
        return try row.step() ? row.text(0) : nil
    }

    // MARK: Failures

    @inline(__always)
    func check(_ code: Int32) throws(DatabaseError) {
        guard code != 0 else { return }
        throw failure(code)
    }

    func failure(_ code: Int32) -> DatabaseError { Self.failure(code, handle, path) }

    private static func failure(_ code: Int32, _ handle: OpaquePointer, _ path: String) -> DatabaseError {
        let number = motte_shim_sqlite_errno(handle)
        let what = String(cString: motte_shim_sqlite_message(handle))
        let (kind, advice) = meaning(Int(code & 0xFF), number)
        return DatabaseError(kind, "'\(path)': \(what)\(advice)", path: path, systemError: number)
    }

    private static func meaning(_ code: Int, _ number: Int32) -> (ErrorCode, String) {
        switch code {
        case MOTTE_SHIM_SQLITE_FULL: return (.diskFull, "; make room and try again")
        case MOTTE_SHIM_SQLITE_IO_ERROR, MOTTE_SHIM_SQLITE_CANNOT_OPEN: return system(number)
        case MOTTE_SHIM_SQLITE_PERMISSION: return (.permissionDenied, "; check the permissions")
        case MOTTE_SHIM_SQLITE_READ_ONLY:
            return (
                .permissionDenied,
                "; a program has left it in the middle of a change, or its directory cannot be written: "
                    + "open it once with sqlite3, or copy it"
            )
        case MOTTE_SHIM_SQLITE_BUSY, MOTTE_SHIM_SQLITE_LOCKED:
            return (.busy, "; another program is changing it: try again when it has finished")
        case MOTTE_SHIM_SQLITE_NO_MEMORY: return (.outOfMemory, "")
        case MOTTE_SHIM_SQLITE_CORRUPT:
            return (.corrupted, "; this SQLite file is damaged: restore it from a copy, or run sqlite3's .recover")
        case MOTTE_SHIM_SQLITE_NOT_A_DATABASE:
            return (.unsupportedFormat, "; it is no SQLite file, or an encrypted one")
        case MOTTE_SHIM_SQLITE_TOO_BIG: return (.valueTooLarge, "; SQLite takes no value or row of that size")
        default: return (.unsupportedFormat, "")
        }
    }

    private static func system(_ number: Int32) -> (ErrorCode, String) {
        let says = number == 0 ? "" : " (\(String(cString: strerror(number))))"
        switch number {
        case ENOENT, ENOTDIR: return (.fileNotFound, says + "; check the path")
        case EACCES, EPERM, EROFS: return (.permissionDenied, says + "; check the permissions")
        case ENOSPC, EDQUOT, EFBIG: return (.diskFull, says + "; make room and try again")
        default: return (.inputOutput, says)
        }
    }
}

/// A prepared statement. Parameters count from 1, columns from 0; bytes of columns are borrowed until the next step.
final class SQLiteStatement {
    private let connection: SQLiteConnection
    private let handle: OpaquePointer

    fileprivate init(_ connection: SQLiteConnection, _ sql: String) throws(DatabaseError) {
        self.connection = connection
        var made: OpaquePointer?
        let code = sql.withUTF8Bytes { bytes in
            motte_shim_sqlite_prepare(
                connection.handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, &made)
        }
        try connection.check(code)
        guard let made else { throw DatabaseError(.internal, "an empty statement of SQL") }
        handle = made
    }

    deinit { motte_shim_sqlite_finalize(handle) }

    /// Whether there is a row.
    @inline(__always)
    func step() throws(DatabaseError) -> Bool {
        let code = motte_shim_sqlite_step(handle)
        if code == MOTTE_SHIM_SQLITE_ROW { return true }
        if code == MOTTE_SHIM_SQLITE_DONE { return false }
        throw connection.failure(code)
    }

    /// Of a statement without rows, which is ready for the next parameters.
    @inline(__always)
    func run() throws(DatabaseError) {
        let code = motte_shim_sqlite_step(handle)
        guard code == MOTTE_SHIM_SQLITE_DONE else { throw connection.failure(code) }
        motte_shim_sqlite_reset(handle)
    }

    func reset() { motte_shim_sqlite_reset(handle) }

    // MARK: Parameters

    func bindNull(_ index: Int) throws(DatabaseError) {
        try connection.check(motte_shim_sqlite_bind_null(handle, Int32(index)))
    }

    func bind(_ index: Int, _ value: Int64) throws(DatabaseError) {
        try connection.check(motte_shim_sqlite_bind_int(handle, Int32(index), value))
    }

    func bind(_ index: Int, _ value: Double) throws(DatabaseError) {
        try connection.check(motte_shim_sqlite_bind_double(handle, Int32(index), value))
    }

    /// The bytes stay where they are until the statement has run, unless they are copied.
    func bindText(_ index: Int, _ bytes: UnsafeRawBufferPointer, copied: Bool) throws(DatabaseError) {
        try connection.check(
            motte_shim_sqlite_bind_text(handle, Int32(index), bytes.baseAddress, bytes.count, copied ? 1 : 0))
    }

    func bindBlob(_ index: Int, _ bytes: UnsafeRawBufferPointer, copied: Bool) throws(DatabaseError) {
        try connection.check(
            motte_shim_sqlite_bind_blob(handle, Int32(index), bytes.baseAddress, bytes.count, copied ? 1 : 0))
    }

    func bind(_ index: Int, text: String) throws(DatabaseError) {
        try text.withUTF8Bytes { bytes throws(DatabaseError) in try bindText(index, bytes, copied: true) }
    }

    func bind(_ index: Int, column: Int, of row: SQLiteStatement) throws(DatabaseError) {
        try connection.check(motte_shim_sqlite_bind_column(handle, Int32(index), row.handle, Int32(column)))
    }

    // MARK: Columns

    enum Storage: Int32 {
        case integer = 1
        case real, text, blob, null
    }

    @inline(__always)
    func storage(_ column: Int) -> Storage { Storage(rawValue: motte_shim_sqlite_type(handle, Int32(column))) ?? .null }
    func isNull(_ column: Int) -> Bool { storage(column) == .null }
    func int(_ column: Int) -> Int64 { motte_shim_sqlite_int(handle, Int32(column)) }
    func double(_ column: Int) -> Double { motte_shim_sqlite_double(handle, Int32(column)) }

    /// Of a text or a blob.
    func bytes(_ column: Int) -> UnsafeRawBufferPointer {
        var size = 0
        let bytes = motte_shim_sqlite_bytes(handle, Int32(column), &size)
        return UnsafeRawBufferPointer(start: bytes, count: size)
    }

    /// nil for NULL.
    func text(_ column: Int) -> String? {
        isNull(column) ? nil : String(decoding: bytes(column), as: UTF8.self)
    }
}
