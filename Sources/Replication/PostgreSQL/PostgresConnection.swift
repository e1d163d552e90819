/// A connection to a PostgreSQL server by libpq, which is loaded when the first one is opened. What the server refuses
/// is an error with its own words; after one a connection may be closed (`isOpen`), and another one is to be opened.
import CMottePostgres
import MotteValues

final class PostgresConnection {
    private let handle: OpaquePointer

    init(_ address: String) throws(DatabaseError) {
        guard motte_postgres_load() == 0 else {
            throw DatabaseError(
                .unsupported,
                "feeding PostgreSQL needs its client library (libpq.so.5, package libpq5); install it: "
                    + String(cString: motte_postgres_problem()))
        }
        guard let handle = motte_postgres_open(address) else {
            throw DatabaseError(.outOfMemory, "there is no memory for a connection to PostgreSQL")
        }
        self.handle = handle
        guard isOpen else { throw DatabaseError(.inputOutput, "PostgreSQL cannot be reached: \(message)") }
        // Of the release that can store infinite decimals.
        guard motte_postgres_version(handle) >= 140_000 else {
            throw DatabaseError(
                .unsupported,
                "the server is PostgreSQL \(motte_postgres_version(handle) / 10_000); 14 or newer is needed")
        }
        // What is sent is UTF-8, whatever the user, the database or the address says.
        try run("SET client_encoding TO 'UTF8'")
    }

    deinit { motte_postgres_close(handle) }

    /// Something failed of which the server has said nothing: what it would say next is not known.
    private var isLost = false

    var isOpen: Bool { !isLost && motte_postgres_is_open(handle) != 0 }

    /// One line.
    private var message: String {
        let all = String(cString: motte_postgres_message(handle))
        return all.split(separator: "\n").joined(separator: "; ")
    }

    /// Without a code it is the client library's: the server can go while it is sent rows, which is noticed as a
    /// failure to send.
    private func failure(_ code: String) -> DatabaseError {
        if code.isEmpty { isLost = true }
        guard isOpen else { return DatabaseError(.inputOutput, "the connection to PostgreSQL is gone: \(message)") }
        // Class 53: it has no more disk or memory; 57: it is being shut down.
        let isPassing = code.hasPrefix("53") || code.hasPrefix("57") || code.hasPrefix("40")
        return DatabaseError(isPassing ? .inputOutput : .invalidArgument, "PostgreSQL refuses: \(message)")
    }

    /// The rows, if there are any.
    @discardableResult
    func run(_ sql: String, _ parameters: [String?] = []) throws(DatabaseError) -> [[String?]] {
        let texts = parameters.map { text in text.map { Array($0.utf8CString) } }
        let all = texts.compactMap { $0 }.flatMap { $0 }
        let result: OpaquePointer? = all.withUnsafeBufferPointer { all in
            var start = 0
            let pointers = texts.map { text -> UnsafePointer<CChar>? in
                guard let text, let base = all.baseAddress else { return nil }
                defer { start += text.count }
                return base + start
            }
            return pointers.withUnsafeBufferPointer {
                motte_postgres_run(handle, sql, Int32($0.count), $0.baseAddress)
            }
        }
        return try rows(result)
    }

    private func rows(_ result: OpaquePointer?) throws(DatabaseError) -> [[String?]] {
        defer { if let result { motte_postgres_free(result) } }
        let status = motte_postgres_status(result)
        guard status != 0 else { throw failure(String(cString: motte_postgres_code(result))) }
        guard status == 2 else { return [] }
        return (0 ..< motte_postgres_rows(result)).map { row in
            (0 ..< motte_postgres_columns(result)).map { column in
                motte_postgres_value(result, row, column).map { String(cString: $0) }
            }
        }
    }

    /// Copies the rows that `body` makes, piece by piece.
    func copy(
        _ sql: String, _ body: (inout CopyRows) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try run(sql)
        var rows = CopyRows(handle)
        do throws(DatabaseError) {
            try body(&rows)
            try rows.flush()
        } catch {
            let ended = motte_postgres_end_copy(handle, "the sender failed")
            let code = ended.map { String(cString: motte_postgres_code($0)) } ?? ""
            if let ended { motte_postgres_free(ended) }
            // 57014 is the answer to what has just been said: the rows are taken back.
            throw code == "57014" && error.code != .inputOutput ? error : failure(code)
        }
        let ended = motte_postgres_end_copy(handle, nil)
        _ = try self.rows(ended)
    }

    /// Whole or not at all. What became of a transaction whose commit got no answer is seen by its position.
    func transaction<Result>(
        _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        try run("BEGIN")
        do throws(DatabaseError) {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // A connection that is gone has rolled back.
            if isOpen { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    static func quoted(_ name: String) -> String {
        "\"" + name.parts(between: "\"").joined(separator: "\"\"") + "\""
    }
}

/// Rows in the text format of COPY, sent in pieces.
struct CopyRows {
    private let handle: OpaquePointer
    var bytes: [UInt8] = []
    private static let pieceBytes = 64 << 10

    init(_ handle: OpaquePointer) { self.handle = handle }

    mutating func endRow() throws(DatabaseError) {
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count >= Self.pieceBytes { try flush() }
    }

    mutating func flush() throws(DatabaseError) {
        let sent = bytes.withUnsafeBytes { bytes in
            motte_postgres_copy(handle, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
        }
        bytes.removeAll(keepingCapacity: true)
        guard sent == 0 else { throw DatabaseError(.inputOutput, "PostgreSQL takes no more rows") }
    }
}
