/// Objects as lines: aligned columns for people, CSV and JSON Lines for programs.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case table, csv, jsonl
}

struct RowText {
    let session: Session
    let columns: [ColumnPath]

    /// The named columns, whose links are followed by dots, or all stored ones that hold one value.
    init(_ type: ObjectType, columns: String?, _ session: Session) throws {
        self.session = session
        guard let columns else {
            self.columns = ColumnPath.stored(of: type).filter { $0.property.collection == .none }
            return
        }
        let schema = try session.schema
        self.columns = try columns.split(separator: ",").map { try ColumnPath(String($0), of: type, in: schema) }
    }

    var names: [String] { columns.map(\.text) }

    /// A collection shows how many it holds, a link the primary key of what it links to.
    func cells(_ object: LiveObject) throws -> [String] {
        try columns.map { column in
            guard let owner = try column.owner(of: object.link, in: session) else { return "" }
            guard column.property.collection == .none, let key = column.property.columnKey else {
                let count = try session.object(owner.table, at: owner.key)?.collection(column.property.name).count()
                return "\(count ?? 0)"
            }
            return try PlainText.text(try session.value(owner.table, key, owner.key).owned, in: session)
        }
    }

    func line(_ object: LiveObject, _ format: OutputFormat) throws -> String {
        var sink = ByteSink()
        switch format {
        case .table: return try cells(object).map(AlignedTable.oneLine).joined(separator: "  ")
        case .csv:
            var export = try CSVExport(session, columns)
            try export.row(object.link, to: &sink)
        case .jsonl:
            var export = try JSONExport(session)
            try export.columns(columns, of: object.link, to: &sink)
        }
        let line = sink.string
        return line.hasSuffix("\n") ? String(line.dropLast()) : line
    }

    func csvHeader() throws -> String {
        var sink = ByteSink()
        try CSVExport(session, columns).header(to: &sink)
        return String(sink.string.dropLast())
    }
}

/// Rows as columns wide enough for what is in them.
struct AlignedTable {
    private var rows: [[String]]

    init(header: [String]) { rows = [header] }

    mutating func add(_ row: [String]) { rows.append(row.map(Self.shortened)) }

    static func oneLine(_ cell: String) -> String { String(cell.map { $0.isNewline ? " " : $0 }) }

    /// On one line, and not too long.
    private static func shortened(_ cell: String) -> String {
        let line = oneLine(cell)
        return line.count > 40 ? line.prefix(37) + "..." : line
    }

    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            // Only at the end: a first cell that is empty keeps its place.
            var line = zip(row, widths).map { text, width in text + String(repeating: " ", count: width - text.count) }
                .joined(separator: "  ")
            while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
            return line
        }
    }
}
