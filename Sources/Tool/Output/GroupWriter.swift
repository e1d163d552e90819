/// Groups in the forms that objects are printed in.
import MotteExchange
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

struct GroupWriter {
    let format: OutputFormat
    /// At most that many; 0 for all.
    let limit: Int
    var isColoured = false

    /// Answers how many groups there are and how many of them were written.
    @discardableResult
    func write(_ groups: LiveGroups, to sink: inout ByteSink) throws(DatabaseError) -> (shown: Int, total: Int) {
        let table = try groups.table()
        let shown = limit > 0 ? min(limit, table.count) : table.count
        var export = try GroupExport(groups.session, table)
        switch format {
        case .table, .box, .markdown: try writeTable(table, export, shown, &sink)
        case .csv:
            export.header(to: &sink)
            for row in 0 ..< shown {
                try Console.checkInterruption()
                try export.csv(row, to: &sink)
                try sink.flushIfFull()
            }
        case .json, .jsonl:
            let isArray = format == .json
            if isArray { sink.append("[") }
            for row in 0 ..< shown {
                try Console.checkInterruption()
                if isArray { row > 0 ? sink.append(",\n ") : sink.append("\n ") }
                try export.json(row, to: &sink)
                if !isArray { sink.append("\n") }
                try sink.flushIfFull()
            }
            if isArray { shown > 0 ? sink.append("\n]\n") : sink.append("]\n") }
        case .arrow, .arrows:
            let form: ArrowFileExport.Form = format == .arrow ? .file : .stream
            try ArrowFileExport.write(
                try ArrowExport.groups(groups, atMost: shown), as: form, to: &sink
            ) { () throws(DatabaseError) in try Console.checkInterruption() }
        }
        try sink.flushIfFull()
        return (shown, table.count)
    }

    private func writeTable(
        _ table: GroupTable, _ export: GroupExport, _ shown: Int, _ sink: inout ByteSink
    ) throws(DatabaseError) {
        var text = TableText(format, header: table.columns.map(\.name), isRight: table.columns.map(\.type.isNumeric))
        for row in 0 ..< shown { text.measure(try export.cells(row)) }
        text.begin(&sink, isColoured: isColoured)
        for row in 0 ..< shown {
            try Console.checkInterruption()
            text.row(try export.cells(row), &sink)
            try sink.flushIfFull()
        }
        text.end(&sink)
    }
}
