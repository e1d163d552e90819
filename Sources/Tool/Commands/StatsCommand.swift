/// `motte stats`: of each column of a class how many values it has, how many differ, and what they range over.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Print of each column of a class what is in it.",
        discussion: """
            How many objects have a value and how many null, how many values differ, the least, the greatest and the
            average of numbers and times; of texts and data the shortest and the longest in bytes, of collections the
            fewest and the most elements.
              motte stats people.motte Person
              motte stats people.motte Person --where 'age > 30' --format jsonl
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions
    @Argument(help: "The class.") var className: String
    @Option(name: .customLong("where"), help: "Only of the objects that match.") var query: String?
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var output: FormatOption
    @Flag(help: "Do not count how many values differ, which takes memory for them.") var noDistinct = false

    func validate() throws {
        guard !output.value.isBinary else { throw ValidationError("stats are printed as text; choose another format") }
    }

    func run() throws {
        try reportingErrors(file) {
            let session = try openReadable(file, reading)
            _ = try objectType(className, in: session)
            let values = try parameters.arguments(in: session)
            let results = try session.query(try session.tableKey(className), query ?? "", values).results()
            try ColumnStatistics.print(results, as: output.value, countsDistinct: !noDistinct)
        }
    }
}

struct ColumnStatistics {
    private static let header = ["column", "type", "values", "nulls", "distinct", "min", "max", "average"]
    private static let isRight = [false, false, true, true, true, true, true, true]

    static func print(
        _ results: LiveResults, as format: OutputFormat, countsDistinct: Bool = true
    ) throws(DatabaseError) {
        let session = results.session
        guard let target = results.target, let type = try session.schema[target] else { return }
        var rows: [[String]] = []
        for property in type.storedProperties {
            try Console.checkInterruption()
            rows.append(try row(property, type, results, countsDistinct))
        }
        var sink = ByteSink { piece throws(DatabaseError) in try Console.write(piece) }
        switch format {
        case .json, .jsonl, .csv: machine(rows, format, &sink)
        default:
            var table = TableText(format, header: header, isRight: isRight)
            for row in rows { table.measure(row) }
            table.begin(&sink, isColoured: Colour.isWanted(on: 1))
            for row in rows { table.row(row, &sink) }
            table.end(&sink)
        }
        try sink.finish()
    }

    // MARK: One column

    private static func row(
        _ property: Property, _ type: ObjectType, _ results: LiveResults, _ countsDistinct: Bool
    ) throws(DatabaseError) -> [String] {
        let name = property.isCollection ? "\(property.collection.name) of \(valueName(property))" : valueName(property)
        let total = try results.count()
        guard !property.isCollection, let column = property.columnKey else {
            let (least, most, sum) = try sizes(property, type, results)
            let average = total > 0 ? "\(Double(sum) / Double(total))" : ""
            let bounds = total > 0 ? ["\(least)", "\(most)"] : ["", ""]
            return [property.name, name, "\(sum)", "0", ""] + bounds + [average]
        }
        var count = 0
        if case .int(let number) = try results.aggregate(.count, column) { count = Int(number) }
        var row = [property.name, name, "\(count)", "\(total - count)"]
        row.append(
            countsDistinct && property.type != .mixed
                ? "\(try distinct(property, results) - (count < total ? 1 : 0))" : "")
        switch property.type {
        case .int, .float, .double, .decimal, .timestamp:
            for operation in [AggregateOperation.min, .max, .average] {
                if property.type == .timestamp, operation == .average {
                    row.append("")
                } else {
                    row.append(try PlainText.text(try results.aggregate(operation, column), in: results.session))
                }
            }
        case .string, .data:
            let (least, most, sum) = try lengths(column, results)
            row += count > 0 ? ["\(least)", "\(most)", "\(Double(sum) / Double(count))"] : ["", "", ""]
        default: row += ["", "", ""]
        }
        return row
    }

    private static func valueName(_ property: Property) -> String {
        property.type == .link ? property.target ?? "link" : property.type.name
    }

    private static func distinct(_ property: Property, _ results: LiveResults) throws(DatabaseError) -> Int {
        try results.distinct(by: [property.name]).count()
    }

    /// Elements of collections.
    private static func sizes(
        _ property: Property, _ type: ObjectType, _ results: LiveResults
    ) throws(DatabaseError) -> (least: Int, most: Int, sum: Int) {
        var (least, most, sum) = (Int.max, 0, 0)
        for index in 0 ..< (try results.count()) {
            guard let object = try results.object(at: index) else { continue }
            let count = try object.collection(property.name).count()
            least = Swift.min(least, count)
            most = Swift.max(most, count)
            sum += count
        }
        return (least, most, sum)
    }

    /// Bytes of texts and data.
    private static func lengths(
        _ column: ColumnKey, _ results: LiveResults
    ) throws(DatabaseError) -> (least: Int, most: Int, sum: Int) {
        var (least, most, sum) = (Int.max, 0, 0)
        let piece = 4_096
        let texts = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: piece)
        texts.initialize(repeating: UnsafeRawBufferPointer(start: nil, count: 0), count: piece)
        defer { texts.deallocate() }
        var first = 0
        while true {
            let got = try results.readBytes(column, first: first, count: piece, into: texts)
            if got == 0 { return (least, most, sum) }
            for index in 0 ..< got where texts[index].baseAddress != nil {
                least = Swift.min(least, texts[index].count)
                most = Swift.max(most, texts[index].count)
                sum += texts[index].count
            }
            first += got
        }
    }

    // MARK: For programs

    private static func machine(_ rows: [[String]], _ format: OutputFormat, _ sink: inout ByteSink) {
        if format == .csv { sink.append(text: header.joined(separator: ",") + "\n") }
        if format == .json { sink.append("[") }
        for (index, row) in rows.enumerated() {
            if format == .csv {
                sink.append(text: row.map(csv).joined(separator: ",") + "\n")
                continue
            }
            if format == .json { index > 0 ? sink.append(",\n ") : sink.append("\n ") }
            sink.append("{")
            for (place, cell) in row.enumerated() {
                if place > 0 { sink.append(",") }
                sink.append(text: "\"\(header[place])\":")
                JSONText.write(cell, isText: place < 2, to: &sink)
            }
            sink.append("}")
            if format == .jsonl { sink.append("\n") }
        }
        if format == .json { sink.append("\n]\n") }
    }

    private static func csv(_ cell: String) -> String {
        guard cell.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else {
            return cell
        }
        return "\"" + cell.parts(between: "\"").joined(separator: "\"\"") + "\""
    }

    private enum JSONText {
        /// A number as it is, anything else as a string, nothing as null.
        static func write(_ cell: String, isText: Bool, to sink: inout ByteSink) {
            if cell.isEmpty, !isText { return sink.append("null") }
            if !isText, Double(cell)?.isFinite ?? false { return sink.append(text: cell) }
            sink.append("\"")
            for scalar in cell.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { sink.append("\\") }
                if scalar.value < 0x20 {
                    let digits = String(scalar.value, radix: 16)
                    sink.append(text: "\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
                } else {
                    sink.append(text: String(scalar))
                }
            }
            sink.append("\"")
        }
    }
}
