/// A SQLite file into a store that has its classes (`SQLiteSource.schema`).
///
/// Rows become lines of a dump and go to `JSONImport` some at a time, so that links, batches, policies and commits are
/// its own: what refers to a later row, in a cycle too, is set at the end. A mistake is named by table and row.
import MotteLiveObjects
import MotteValues

package enum SQLiteImport {
    private static let pieceBytes = 1 << 20

    /// In the session's open write, which whoever began it cancels when this fails.
    package static func run(
        _ source: SQLiteSource, _ session: Session, _ options: JSONImport.Options = JSONImport.Options()
    ) throws(DatabaseError) -> ImportOutcome {
        let importer = try JSONImport(session, into: nil, options)
        let rows = SQLiteRows(source)
        var places = RowPlaces(source.path)
        var sink = ByteSink()
        StoreDumpHeader.write(source.schema, to: &sink)
        do throws(DatabaseError) {
            for type in source.classes where !type.isEmbedded {
                places.begin(type.table)
                try rows.statements(of: type) { row throws(DatabaseError) in
                    while try row.step() {
                        places.advance()
                        do throws(DatabaseError) { try rows.line(type, row, to: &sink) } catch {
                            throw places.atLast(error)
                        }
                        guard sink.bytes.count >= pieceBytes else { continue }
                        try sink.bytes.withBytes { bytes throws(DatabaseError) in try importer.feed(bytes) }
                        sink.removeAll()
                    }
                }
            }
            try sink.bytes.withBytes { bytes throws(DatabaseError) in try importer.feed(bytes) }
            try importer.finish()
        } catch { throw places.named(error) }
        return importer.outcome
    }
}

/// Which row of which table a line of the dump is.
private struct RowPlaces {
    private let path: String
    /// Of the rows that follow each other in the dump: its first line, and the table.
    private var tables: [(line: Int, name: String)] = []
    /// The header is the first.
    private var line = 1

    init(_ path: String) { self.path = path }

    mutating func begin(_ table: String) { tables.append((line + 1, table)) }
    mutating func advance() { line += 1 }

    func atLast(_ error: DatabaseError) -> DatabaseError { with(error, error.message, at: line) }

    /// `line 7: ...` as `table Person, row 6: ...`.
    func named(_ error: DatabaseError) -> DatabaseError {
        guard let parts = error.message.behindBytes(of: "line ")?.parts(between: ":", most: 1), parts.count == 2,
            let number = Int(String(decoding: parts[0].utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
        else { return error }
        let rest = parts[1].utf8.drop { $0 == UInt8(ascii: " ") }
        return with(error, String(decoding: rest, as: UTF8.self), at: number)
    }

    private func with(_ error: DatabaseError, _ message: String, at line: Int) -> DatabaseError {
        guard let table = tables.last(where: { $0.line <= line }) else { return error }
        return DatabaseError(
            error.code, "'\(path)', table \(table.name), row \(line - table.line + 1): \(message)", path: path,
            className: error.details.className, propertyName: error.details.propertyName)
    }
}
