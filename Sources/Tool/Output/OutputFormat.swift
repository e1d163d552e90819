/// What rows are printed as: tables for people, everything else for programs.
import ArgumentParser
import MotteExchange
import MotteValues

enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case table, box, markdown, json, jsonl, csv
    /// A file of Arrow's format for files, and the stream that is read as it comes.
    case arrow, arrows

    /// Rows of it are written one at a time, as change sets have them.
    var isLines: Bool { self == .table || self == .jsonl || self == .csv }
    var isBinary: Bool { self == .arrow || self == .arrows }

    init?(argument: String) {
        self.init(rawValue: argument.lowercased())
    }

    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    /// Asked for in many places, and why it is not one of them.
    static let noParquet = """
        Parquet is not written here: no library for it has an interface in C that could be loaded when it is used; \
        write arrow, and let DuckDB, polars or pyarrow make Parquet of it
        """
}

/// `--format` of commands that print rows, with an answer for Parquet.
struct FormatOption: ParsableArguments {
    @Option(help: ArgumentHelp("table, box, markdown, json, jsonl, csv, arrow or arrows.", valueName: "format"))
    var format = "table"

    var value: OutputFormat { OutputFormat(argument: format) ?? .table }

    func validate() throws {
        if format.lowercased() == "parquet" { throw ValidationError(OutputFormat.noParquet) }
        guard OutputFormat(argument: format) != nil else {
            throw ValidationError("there is no format '\(format)'; there are \(OutputFormat.names)")
        }
    }
}
