/// `motte query`: the objects that match a query, their number, a total, or how the query would be run.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Query the objects of a class.",
        discussion: """
            Examples:
              motte query people.motte Person 'age > 30 SORT(name ASC) LIMIT(10)'
              motte query people.motte Person 'name == $0' Ada --format jsonl
              motte query people.motte Person 'zip == $0 AND seen > $1' string:12 timestamp:2013-01-01T10:00:00Z
              motte query people.motte Person 'age IN $0' 'json:[30, 36]'
              motte query people.motte Person 'age > $least' --param least=30 --format box
              motte query people.motte Person --avg age
              motte query people.motte Person 'GROUP(city) COUNT, AVG(age) SORT(COUNT DESC)' --format box
            """)

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions
    @ArgumentParser.Argument(help: "The class.") var className: String
    @ArgumentParser.Argument(help: "The query; all objects without one.") var text = "TRUEPREDICATE"
    @ArgumentParser.Argument(help: "Values for $0, $1, ...: numbers, true, false, null and texts, or TYPE:TEXT.")
    var arguments: [String] = []
    @Flag(help: "Print only how many match.") var count = false
    @Flag(help: "Print the plan, run it, and print what that took.") var explain = false
    @OptionGroup var columns: ColumnOption
    @Option(help: "Print at most that many; 0 for all.") var limit = 100
    @OptionGroup var output: FormatOption
    @OptionGroup var parameters: ParameterOptions
    @Option(help: "Print the sum of a property.") var sum: String?
    @Option(help: "Print the average of a property.") var avg: String?
    @Option(help: "Print the minimum of a property.") var min: String?
    @Option(help: "Print the maximum of a property.") var max: String?

    func run() throws {
        try reportingErrors(file) {
            let session = try openReadable(file, reading)
            let type = try objectType(className, in: session)
            guard let table = type.tableKey else { return }
            let values = try parameters.arguments(arguments, in: session)
            if try ParsedQuery.parse(text).grouping != nil {
                if explain { return try printPlan(of: try session.objects(className).groups(text, values)) }
                return try printGroups(text, values, session)
            }
            let prepared = try session.query(table, text, values)
            try refuseArrowOnTerminal()
            if explain { return try printPlan(prepared, session) }
            if count { return printLine("\(try prepared.count())") }
            let results = try prepared.results()
            for (name, operation) in [(sum, AggregateOperation.sum), (avg, .average), (min, .min), (max, .max)] {
                guard let name else { continue }
                let property = try type.requiredProperty(named: name)
                let rows = try RowText(type, columns: nil, session)
                let total = try results.aggregate(operation, property.columnKey)
                return printLine(try PlainText.text(total, in: rows.session))
            }
            try printRows(results, try RowText(type, columns: try columns.list(), session))
        }
    }

    func validate() throws {
        let wanted = [count, explain, sum != nil, avg != nil, min != nil, max != nil].count { $0 }
        guard wanted <= 1 else {
            throw ValidationError("give one of --count, --explain, --sum, --avg, --min and --max")
        }
        guard limit >= 0 else { throw ValidationError("--limit is not negative") }
    }

    private func printGroups(_ query: String, _ values: Arguments, _ session: Session) throws(DatabaseError) {
        guard [sum != nil, avg != nil, min != nil, max != nil, columns.text != nil].allSatisfy({ !$0 }) else {
            throw DatabaseError(
                .invalidArgument,
                "groups say themselves which columns they have: put aggregates behind GROUP(...), and leave out "
                    + "--columns, --sum, --avg, --min and --max")
        }
        let groups = try session.objects(className).groups(query, values)
        if count { return printLine("\(try groups.count())") }
        try refuseArrowOnTerminal()
        var writer = GroupWriter(format: output.value, limit: limit)
        writer.isColoured = Colour.isWanted(on: 1)
        var sink = ByteSink { piece throws(DatabaseError) in try Console.write(piece) }
        let (shown, total) = try writer.write(groups, to: &sink)
        try sink.finish()
        noteRest(shown, total)
    }

    private func refuseArrowOnTerminal() throws(DatabaseError) {
        guard output.value.isBinary, isatty(1) == 1 else { return }
        throw DatabaseError(.invalidArgument, "Arrow is not for terminals; send it to a file or a program")
    }

    private func printPlan(_ query: PreparedQuery, _ session: Session) throws {
        let report = try query.results().explain(isAnalyzed: true)
        // As plain values, for programs.
        if output.value == .json || output.value == .jsonl { return printLine(report.json) }
        printLine(try query.explain())
        let before = session.counters.read()
        let matches = try query.count()
        let after = session.counters.read()
        printLine(
            "\(matches) match; chunks decoded \(after.chunksDecoded - before.chunksDecoded), rows evaluated "
                + "\(after.rowsEvaluated - before.rowsEvaluated), index look-ups "
                + "\(after.indexLookups - before.indexLookups)"
        )
        printLine(report.text)
    }

    private func printPlan(of groups: LiveGroups) throws {
        let report = try groups.explain(isAnalyzed: true)
        printLine(output.value == .json || output.value == .jsonl ? report.json : report.text)
    }

    private func printRows(_ results: LiveResults, _ rows: RowText) throws(DatabaseError) {
        var writer = ResultWriter(rows: rows, format: output.value, limit: limit)
        writer.isColoured = Colour.isWanted(on: 1)
        var sink = ByteSink { piece throws(DatabaseError) in try Console.write(piece) }
        let (shown, total) = try writer.write(results, to: &sink)
        try sink.finish()
        noteRest(shown, total)
    }

    private func noteRest(_ shown: Int, _ total: Int) {
        guard shown < total else { return }
        // Among rows for programs it would be one of them.
        switch output.value {
        case .table, .box: printLine("... \(total - shown) more; --limit 0 prints all")
        default: printError("note: \(total - shown) more; --limit 0 prints all")
        }
    }
}
