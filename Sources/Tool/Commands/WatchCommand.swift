/// `motte watch`: change sets of a query as other processes commit.
import ArgumentParser
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print what changes in the results of a query as other processes commit.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @ArgumentParser.Argument(help: "The class.") var className: String
    @ArgumentParser.Argument(help: "The query; all objects without one.") var text = "TRUEPREDICATE"
    @Option(help: "End after that many change sets; 0, as without it: never.") var count = 0
    @Option(help: "End after that many seconds without a change; 0, as without it: never.") var timeout = 0.0
    @Option(help: "table, csv or jsonl, for the rows that came or changed.") var format = OutputFormat.table
    @OptionGroup var parameters: ParameterOptions

    func validate() throws {
        guard count >= 0, timeout >= 0, timeout <= OpenOptions.longestTimeout else {
            throw ValidationError("--count and --timeout are numbers from 0 on")
        }
        guard format.isLines else { throw ValidationError("rows of a watch are table, csv or jsonl") }
    }

    func run() throws {
        // A signal is how this ends; lines are written at once, and nothing of this is worth keeping.
        signal(SIGINT) { _ in _exit(0) }
        signal(SIGTERM) { _ in _exit(0) }
        try reportingErrors(file) {
            // Observing claims a place in the file's sidecar, so that the log of changes is kept for this reader.
            let session = try openFile(file, opening, readOnly: false)
            let type = try objectType(className, in: session)
            guard let table = type.tableKey else { return }
            var watch = Watch(format: format)
            watch.count = count
            if timeout > 0 { watch.timeoutMilliseconds = Int64((timeout * 1_000).rounded(.up)) }
            let results = try session.query(table, text, parameters.arguments(in: session)).results()
            try watch.run(results, RowText(type, columns: nil, session))
        }
    }
}

/// What a watch prints, here and in the shell, where Ctrl-C ends it and not the program.
struct Watch {
    let format: OutputFormat
    /// 0, and a negative timeout: never.
    var count = 0
    var timeoutMilliseconds: Int64 = -1
    private static let interruptionMilliseconds: Int64 = 200

    init(format: OutputFormat) { self.format = format }

    func run(_ results: LiveResults, _ rows: RowText) throws(DatabaseError) {
        let token = try results.observe()
        var seen = 0
        while !Console.isInterrupted {
            if case .changes(let changes) = try token.next() {
                try show(changes, results, rows)
                if !changes.isInitial { seen += 1 }
                if count > 0, seen >= count { return }
                continue
            }
            let limit = Console.isShell ? Self.interruptionMilliseconds : timeoutMilliseconds
            guard try results.session.waitForChange(timeoutMilliseconds: limit) else {
                if Console.isShell { continue }
                return
            }
            _ = try results.session.refresh()
        }
    }

    private func show(_ changes: ChangeSet, _ results: LiveResults, _ rows: RowText) throws(DatabaseError) {
        if changes.isInitial { return printLine("watching \(try results.count()) objects") }
        printLine(
            "version \(changes.toVersion.rawValue): deleted \(changes.deletions), inserted \(changes.insertions), "
                + "modified \(changes.modificationsNew)")
        for (sign, positions) in [("+", changes.insertions), ("~", changes.modificationsNew)] {
            for position in positions {
                guard let object = try results.object(at: position) else { continue }
                printLine("\(sign) \(try rows.line(object, format))")
            }
        }
    }
}
