/// `motte export`: a whole database as a dump or as a SQLite file, or the objects of a class as JSON Lines, a JSON
/// array, CSV or Arrow.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum ExportFormat: String, CaseIterable {
    case jsonl, json, csv, sqlite, arrow, arrows

    static func named(_ text: String) throws -> ExportFormat {
        if text.lowercased() == "parquet" { throw ValidationError(OutputFormat.noParquet) }
        guard let format = ExportFormat(rawValue: text.lowercased()) else {
            throw ValidationError(
                "there is no format '\(text)'; there are \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return format
    }

    var isArrow: Bool { self == .arrow || self == .arrows }
}

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export a whole database, or the objects of a class.",
        discussion: """
            Without a class, everything is written as JSON Lines with the schema first, as one JSON document, or as a
            new SQLite file; 'motte import' makes the same database of each again.
              motte export people.motte > dump.jsonl
              motte export people.motte --format sqlite --output people.sqlite
              motte export people.motte Person --where 'age > 30' --format csv --columns name,best_friend.name
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions
    @Argument(help: "The class; everything without one.") var className: String?
    @Option(
        help: "jsonl, json, csv, sqlite, arrow (a file) or arrows (a stream).",
        transform: ExportFormat.named) var format = ExportFormat.jsonl
    @Option(name: .customLong("where"), help: "Only the objects that match, in the query's order.") var query: String?
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var columns: ColumnOption
    @Option(help: "CSV: what separates fields, one character.") var delimiter = ","
    @Option(help: "CSV: a text that imports take for null, and that is quoted therefore.") var null = "NA"
    @Flag(help: "JSON: linked objects in place, not as references.") var nested = false
    @Option(help: "Where to write; standard output without it.") var output: String?
    @Flag(help: "No progress on stderr.") var quiet = false

    func validate() throws {
        try checkDelimiter(delimiter)
        if className == nil, format == .csv || format.isArrow || query != nil || columns.text != nil || nested {
            throw ValidationError(
                "a whole database is exported as jsonl, json or sqlite; name a class for another format")
        }
        if format == .sqlite, className != nil {
            throw ValidationError("a SQLite file is made of a whole database; leave out the class")
        }
        if format == .sqlite, output == nil { throw ValidationError("name the SQLite file with --output") }
        if nested, format == .csv || format.isArrow {
            throw ValidationError("CSV and Arrow have no nested objects; leave out --nested")
        }
        if query == nil, !parameters.named.isEmpty { throw ValidationError("--param is for --where") }
    }

    func run() throws {
        try reportingErrors(file) {
            let session = try openReadable(file, reading)
            if format == .sqlite, let output { return try writeSQLite(session, output) }
            try writeOutput(output) { (sink) throws(DatabaseError) in try write(session, &sink) }
        }
    }

    private func write(_ session: Session, _ sink: inout ByteSink) throws(DatabaseError) {
        if let className { return try export(try objectType(className, in: session), session, &sink) }
        let progress = ProgressReport("objects", isSilent: quiet || output == nil)
        var export = try JSONExport(session)
        try export.store(as: format == .json ? .array : .lines, to: &sink) { (count) throws(DatabaseError) in
            try progress.show(count, nil)
        }
        progress.finish()
    }

    private func writeSQLite(_ session: Session, _ path: String) throws(DatabaseError) {
        // The new file has a name of its own until it is whole, which is not to be left behind.
        Console.catchEnd(true)
        defer { Console.catchEnd(false) }
        let total = try session.storedObjectCount()
        let progress = ProgressReport("objects", isSilent: quiet)
        defer { progress.finish() }
        try SQLiteExport.write(session, to: path) { (count) throws(DatabaseError) in
            try progress.show(count, fraction(count, total))
        }
    }

    private func export(
        _ type: ObjectType, _ session: Session, _ sink: inout ByteSink
    ) throws(DatabaseError) {
        guard let table = type.tableKey else { return }
        let results = try session.query(table, query ?? "", parameters.arguments(in: session)).results()
        let paths = try columns.list()?.columns(of: type, in: try session.schema)
        if format == .csv {
            var options = CSVExport.Options()
            options.delimiter = CSVDelimiter.byte(delimiter) ?? 0x2C
            options.null = null
            var export = try CSVExport(session, paths ?? ColumnPath.stored(of: type), options)
            return try export.collection(results, to: &sink)
        }
        if format.isArrow {
            if output == nil, isatty(1) == 1 {
                throw DatabaseError(.invalidArgument, "Arrow is not for terminals; name a file with --output")
            }
            let rows = RowText(paths ?? ColumnPath.stored(of: type), session)
            let writer = ResultWriter(rows: rows, format: format == .arrow ? .arrow : .arrows, limit: 0)
            try writer.write(results, to: &sink)
            return
        }
        var options = JSONExport.Options()
        options.links = nested ? .nested : .references
        var export = try JSONExport(session, options)
        try export.collection(results, form: format == .json ? .array : .lines, columns: paths, to: &sink)
    }
}

/// Text to a new file, which is there when all of it is, or to standard output.
func writeOutput<Result>(
    _ path: String?, _ body: (inout ByteSink) throws(DatabaseError) -> Result
) throws(DatabaseError) -> Result {
    if let path { return try OutputFile.create(path, body) }
    var sink = ByteSink { piece throws(DatabaseError) in try Console.write(piece) }
    let result = try body(&sink)
    try sink.finish()
    return result
}
