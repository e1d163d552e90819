/// Whole databases as files that other programs read, and back: SQLite files (docs/sqlite.md) and JSON with its schema
/// (docs/json.md).
import Foundation
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

extension Realm {
    /// Everything that the realm shows as a new SQLite file: tables, foreign keys, join tables, and the schema, of
    /// which `convert(fromSQLiteFile:toFile:)` makes the same database again. An existing file is an error.
    public func writeSQLite(toFile fileURL: URL) throws {
        try Self.checkIsNew(fileURL)
        try translating(fileURL.path) { try SQLiteExport.write(core.session, to: fileURL.path) }
    }

    /// Everything that the realm shows as one JSON document with the schema, of which `convert(fromJSONFile:toFile:)`
    /// makes the same database again. An existing file is an error.
    public func writeJSON(toFile fileURL: URL) throws {
        try Self.checkIsNew(fileURL)
        try translating(fileURL.path) {
            try OutputFile.create(fileURL.path) { (sink) throws(DatabaseError) in
                var export = try JSONExport(core.session)
                try export.store(as: .array, to: &sink)
            }
        }
    }

    /// Makes a new database of a SQLite file: of one that an export has made, the same database, of any other a class
    /// for each table. Answers what is not kept, a sentence each that begins with its table. A failure leaves nothing.
    @discardableResult
    public static func convert(
        fromSQLiteFile source: URL, toFile fileURL: URL, encryptionKey: Data? = nil
    ) throws -> [String] {
        try checkIsNew(fileURL)
        return try translating(source.path) {
            let source = try SQLiteSource(source.path)
            try make(fileURL, source.schema, source.schemaVersion, encryptionKey) { session in
                _ = try SQLiteImport.run(source, session)
            }
            return source.notes
        }
    }

    /// Makes a new database of JSON with its schema, as `writeJSON(toFile:)` and other exports write it, in one
    /// document or in lines. A failure leaves nothing.
    public static func convert(
        fromJSONFile source: URL, toFile fileURL: URL, encryptionKey: Data? = nil
    ) throws {
        try checkIsNew(fileURL)
        try translating(source.path) {
            let input = try InputFile(source.path)
            defer { withExtendedLifetime(input) {} }
            guard let header = try StoreDumpHeader(input.bytes) else {
                throw DatabaseError(
                    .invalidArgument, "'\(source.path)' has no schema: it is no export of a whole database",
                    path: source.path)
            }
            try make(fileURL, header.schema, header.schemaVersion, encryptionKey) { session in
                try JSONImport(session, into: nil).run(input.bytes)
            }
        }
    }

    private static func checkIsNew(_ url: URL) throws {
        guard !FileManager.default.fileExists(atPath: url.path) else {
            throw Error(.fileExists, "there is a file at '\(url.path)' already", path: url.path)
        }
    }

    private static func make(
        _ url: URL, _ schema: MotteSchemaModel.Schema, _ version: UInt64?, _ encryptionKey: Data?,
        _ fill: (Session) throws -> Void
    ) throws {
        var options = SessionOptions(path: url.path, schema: schema)
        options.schemaVersion = version
        options.encryptionKey = encryptionKey.map { [UInt8]($0) }
        do {
            let session = try Session.open(options)
            // What was committed is there, and what was not is deleted below.
            defer { _ = try? session.close() }
            try session.beginWrite()
            do {
                try fill(session)
                try session.commit()
            } catch {
                if session.isInWrite { try session.cancel() }
                throw error
            }
        } catch {
            // What failed is what is reported.
            _ = try? Session.deleteFile(options)
            throw error
        }
    }
}
