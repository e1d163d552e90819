/// Objects as lines and cells: what tables, CSV and JSON Lines are made of.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct RowText {
    let session: Session
    let columns: [ColumnPath]

    /// The named columns, or all stored ones.
    init(_ type: ObjectType, columns: ColumnList?, _ session: Session) throws(DatabaseError) {
        self.session = session
        self.columns = try columns?.columns(of: type, in: try session.schema) ?? ColumnPath.stored(of: type)
    }

    init(_ columns: [ColumnPath], _ session: Session) {
        self.session = session
        self.columns = columns
    }

    var names: [String] { columns.map(\.text) }

    /// A collection shows how many it holds, a link the primary key of what it links to.
    func cells(_ object: LiveObject) throws(DatabaseError) -> [String] {
        var cells: [String] = []
        cells.reserveCapacity(columns.count)
        for column in columns { cells.append(try cell(column, object)) }
        return cells
    }

    private func cell(_ column: ColumnPath, _ object: LiveObject) throws(DatabaseError) -> String {
        guard let owner = try column.owner(of: object.link, in: session) else { return "" }
        guard column.property.collection == .none, let key = column.property.columnKey else {
            let count = try session.object(owner.table, at: owner.key)?.collection(column.property.name).count()
            return "\(count ?? 0)"
        }
        return try PlainText.text(try session.value(owner.table, key, owner.key).owned, in: session)
    }

    /// Whether a column is lined up to the right: numbers, and counts of collections.
    var isRight: [Bool] { columns.map { $0.property.isCollection || $0.property.type.isNumeric } }

    func line(_ object: LiveObject, _ format: OutputFormat) throws(DatabaseError) -> String {
        var sink = ByteSink()
        switch format {
        case .csv:
            var export = try CSVExport(session, columns)
            try export.row(object.link, to: &sink)
        case .jsonl, .json:
            var export = try JSONExport(session)
            try export.columns(columns, of: object.link, to: &sink)
        default: return try cells(object).map(TableText.oneLine).joined(separator: "  ")
        }
        let line = sink.string
        return line.beforeBytes(of: "\n") ?? line
    }
}
