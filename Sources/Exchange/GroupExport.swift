/// Groups as texts: CSV with a header, and JSON with an object for each group.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct GroupExport {
    private let session: Session
    private let table: GroupTable
    private var json: JSONExport
    private var csv: CSVExport

    package init(_ session: Session, _ table: GroupTable) throws(DatabaseError) {
        self.session = session
        self.table = table
        json = try JSONExport(session)
        csv = try CSVExport(session, [])
    }

    package func header(to sink: inout ByteSink) {
        for (index, column) in table.columns.enumerated() {
            if index > 0 { sink.append(",") }
            column.name.withUTF8Bytes { csv.field($0, to: &sink) }
        }
        sink.append("\n")
    }

    /// A line of CSV: null is an empty field, a link the primary key of its target.
    package mutating func csv(_ row: Int, to sink: inout ByteSink) throws(DatabaseError) {
        for (index, column) in table.columns.enumerated() {
            if index > 0 { sink.append(",") }
            let view = table.view(index, row)
            var text = ByteSink()
            if column.type == .mixed {
                try json.mixed(view, to: &text)
            } else {
                if view.isNull { continue }
                try PlainText.write(view, in: session, to: &text)
            }
            text.bytes.withUnsafeBytes { csv.field($0, to: &sink) }
        }
        sink.append("\n")
    }

    /// An object with a name for each column.
    package mutating func json(_ row: Int, to sink: inout ByteSink) throws(DatabaseError) {
        sink.append("{")
        for (index, column) in table.columns.enumerated() {
            if index > 0 { sink.append(",") }
            JSONValueWriter.string(column.name, to: &sink)
            sink.append(":")
            let view = table.view(index, row)
            if column.type == .mixed {
                try json.mixed(view, to: &sink)
            } else if view.kind == .link {
                try json.reference(view.linkValue, to: &sink)
            } else {
                JSONValueWriter.plain(view, to: &sink)
            }
        }
        sink.append("}")
    }

    /// As people read them.
    package func cells(_ row: Int) throws(DatabaseError) -> [String] {
        var cells: [String] = []
        for index in table.columns.indices {
            cells.append(try PlainText.text(table.view(index, row).owned, in: session))
        }
        return cells
    }
}
