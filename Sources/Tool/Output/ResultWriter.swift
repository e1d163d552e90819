/// Results as text, row by row, or as Arrow, batch by batch, so that memory does not grow with them. Tables are gone
/// through twice: once for their widths.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct ResultWriter {
    let rows: RowText
    let format: OutputFormat
    /// At most that many; 0 for all.
    let limit: Int
    var isColoured = false

    /// Answers how many rows there are and how many of them were written.
    @discardableResult
    func write(_ results: LiveResults, to sink: inout ByteSink) throws(DatabaseError) -> (shown: Int, total: Int) {
        let total = try results.count()
        let shown = limit > 0 ? min(limit, total) : total
        switch format {
        case .table, .box, .markdown: try writeTable(results, shown, &sink)
        case .csv:
            var export = try CSVExport(rows.session, rows.columns)
            export.header(to: &sink)
            try forEach(results, shown, &sink) { (object, sink, _) throws(DatabaseError) in
                try export.row(object.link, to: &sink)
            }
        case .json, .jsonl:
            let isArray = format == .json
            var export = try JSONExport(rows.session)
            if isArray { sink.append("[") }
            try forEach(results, shown, &sink) { (object, sink, index) throws(DatabaseError) in
                if isArray { index > 0 ? sink.append(",\n ") : sink.append("\n ") }
                try export.columns(rows.columns, of: object.link, to: &sink)
                if !isArray { sink.append("\n") }
            }
            if isArray { shown > 0 ? sink.append("\n]\n") : sink.append("]\n") }
        case .arrow, .arrows:
            let form: ArrowFileExport.Form = format == .arrow ? .file : .stream
            try ArrowFileExport.write(
                shown < total ? try results.limited(to: shown) : results, columns: rows.names, as: form, to: &sink
            ) { () throws(DatabaseError) in try Console.checkInterruption() }
        }
        try sink.flushIfFull()
        return (shown, total)
    }

    private func writeTable(_ results: LiveResults, _ shown: Int, _ sink: inout ByteSink) throws(DatabaseError) {
        var table = TableText(format, header: rows.names, isRight: rows.isRight)
        try forEach(results, shown, &sink) { (object, _, _) throws(DatabaseError) in
            table.measure(try rows.cells(object))
        }
        table.begin(&sink, isColoured: isColoured)
        try forEach(results, shown, &sink) { (object, sink, _) throws(DatabaseError) in
            table.row(try rows.cells(object), &sink)
        }
        table.end(&sink)
    }

    private func forEach(
        _ results: LiveResults, _ count: Int, _ sink: inout ByteSink,
        _ body: (LiveObject, inout ByteSink, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        for index in 0 ..< count {
            try Console.checkInterruption()
            guard let object = try results.object(at: index) else { continue }
            try body(object, &sink, index)
            try sink.flushIfFull()
        }
    }
}
