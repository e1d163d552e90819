/// `motte FILE`: statements and commands one after the other, from a terminal or from a script.
///
/// On a terminal a mistake is reported and the next line is read. A script ends with its first mistake, and a write
/// that was begun and not committed is undone.
import ArgumentParser
import CMotteShim
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

final class Shell {
    let file: String
    let opening: OpenOptions
    let session: Session
    var output = ShellOutput()
    var format: OutputFormat
    var limit: Int
    var isTimed = false
    /// By name, as they were written.
    var parameters: [String: String] = [:]
    private var history = ShellHistory()
    private var line = 0
    private var depth = 0

    private static let deepestRead = 16

    init(_ file: String, _ opening: OpenOptions) throws {
        self.file = file
        self.opening = opening
        do { session = try openFile(file, opening, readOnly: false) } catch let error as DatabaseError {
            guard [.permissionDenied, .readOnly].contains(error.code) else { throw error }
            session = try openFile(file, opening)
            printError("note: the file cannot be written; it is open for reading only")
        }
        format = output.isTerminal ? .box : .table
        limit = output.isTerminal ? 100 : 0
        Console.isShell = true
        // Who leaves a pager early does not leave the shell; programs that it runs end by it as ever.
        signal(SIGPIPE) { _ in }
    }

    // MARK: Reading

    /// False when a script failed.
    func run() -> Bool {
        motte_shim_catch_interruption()
        // Of a session of its own, so that nothing refuses.
        try? session.onQueryProgress { () throws(DatabaseError) in try Console.checkInterruption() }
        guard output.isTerminal else { return runScript() }
        if motte_shim_edit_load({ ShellCompletion.complete($0, $1) }) == 0 {
            history.load()
        } else {
            printError("note: lines are edited and kept with libedit (package libedit2), which is not installed")
        }
        printLine("motte \(MotteCommand.configuration.version), \(file); .help says what there is")
        var pending = ""
        while true {
            prepareCompletion(pending)
            var wasInterrupted: Int32 = 0
            let mark = session.isInWrite ? "*" : ""
            let prompt = pending.isEmpty ? "motte\(mark)> " : "  ...\(mark)> "
            guard let read = motte_shim_read_line(prompt, &wasInterrupted) else {
                printLine("")
                guard wasInterrupted != 0 else { return true }
                pending = ""
                continue
            }
            let text = String(cString: read)
            free(read)
            if pending.isEmpty, text.beginsWithBytes(of: ".") { history.add(text) }
            guard take(text, &pending, inHistory: true) != .quit else { return true }
        }
    }

    private func runScript() -> Bool {
        var pending = ""
        var wasInterrupted: Int32 = 0
        while let read = motte_shim_read_line("", &wasInterrupted) {
            line += 1
            let text = String(cString: read)
            free(read)
            switch take(text, &pending) {
            case .done: continue
            case .quit: return true
            case .failed: return false
            }
        }
        if wasInterrupted != 0 { exit(130) }
        return finish(pending)
    }

    /// What has no semicolon at the end of a script is a statement too.
    private func finish(_ pending: String) -> Bool {
        let rest = StatementText.trimmed(pending)
        return rest.isEmpty ? true : attempt { () throws(DatabaseError) in try self.execute(rest) }
    }

    func run(text: String) -> Bool {
        var pending = ""
        for part in text.parts(between: "\n") {
            switch take(part, &pending) {
            case .done: continue
            case .quit: return true
            case .failed: return false
            }
        }
        return finish(pending)
    }

    private enum Outcome {
        case done, quit, failed
    }

    /// One more line; what has no semicolon yet stays in `pending`.
    private func take(_ text: String, _ pending: inout String, inHistory: Bool = false) -> Outcome {
        if pending.isEmpty {
            let command = StatementText.trimmed(text)
            let isComment = command.beginsWithBytes(of: "--") || command.beginsWithBytes(of: "#")
            if command.isEmpty || isComment { return .done }
            if let dotted = command.behindBytes(of: ".") {
                let words = StatementText.arguments(dotted)
                if words.first == "quit" || words.first == "exit" { return .quit }
                let isWhole = words.first != "read" && words.first != "output"
                return attempt(isWhole: isWhole) { () throws(DatabaseError) in try self.command(words) }
                    ? .done : .failed
            }
        }
        pending += pending.isEmpty ? text : "\n" + text
        while let statement = StatementText.take(from: &pending) {
            if inHistory { history.add(statement + ";") }
            guard !StatementText.trimmed(statement).isEmpty else { continue }
            guard attempt({ () throws(DatabaseError) in try self.execute(statement) }) else {
                // What stands behind a mistake may rely on what was to be done.
                pending = ""
                return .failed
            }
        }
        if StatementText.trimmed(pending).isEmpty { pending = "" }
        return .done
    }

    /// Says what went wrong.
    private func attempt(isWhole: Bool = true, _ body: () throws(DatabaseError) -> Void) -> Bool {
        Console.beginStatement()
        let start = Self.now()
        let isTimed = isTimed
        defer { if isTimed { printError(Self.seconds(Self.now() - start)) } }
        do throws(DatabaseError) {
            if !session.isInWrite { _ = try session.refresh() }
            // Of a file of statements, each has its own.
            let output = output
            try isWhole ? output.run(body) : body()
            try Console.checkOutput()
            return true
        } catch {
            if error.message == Console.interruption.message {
                // Also who leaves a pager early has interrupted the statement, and knows that.
                if motte_shim_is_interrupted() != 0 { printError("interrupted") }
            } else if !error.message.isEmpty {
                let place = output.isTerminal || line == 0 ? "" : "line \(line): "
                printError(Colour.text("error: ", Colour.red, on: 2) + place + error.message)
            }
            return false
        }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    private static func seconds(_ microseconds: Int64) -> String {
        let digits = String(microseconds % 1_000_000)
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - digits.count))\(digits) s"
    }

    private func prepareCompletion(_ pending: String) {
        // Without a schema there is nothing to complete.
        let schema = (try? session.schema) ?? Schema([])
        let before = pending.isEmpty ? "" : pending + " "
        ShellCompletion.current.withLock { $0 = ShellCompletion(schema: schema, pending: before) }
    }

    // MARK: Statements

    private func execute(_ text: String) throws(DatabaseError) {
        let schema = try session.schema
        let statement = try Statement.parse(text) { name in schema[name] != nil }
        switch statement {
        case .select(let name, let columns, let query): try select(name, columns, query)
        case .total(let name, let operation, let property, let query): try total(name, operation, property, query)
        case .explain(let name, let query, let isAnalyzed): try explain(name, query, isAnalyzed)
        case .insert(let name, let json):
            let type = try objectType(name, in: session)
            try Edit.run(session) { () throws(DatabaseError) in
                "\(try Edit.insert(session, type, [json], .error).created) inserted"
            }
        case .update(let name, let values, let query):
            let type = try objectType(name, in: session)
            try Edit.run(session) { () throws(DatabaseError) in
                "\(try Edit.update(session, type, try prepared(name, query).results(), values)) updated"
            }
        case .delete(let name, let query):
            try Edit.run(session) { () throws(DatabaseError) in
                "\(try prepared(name, query).results().deleteObjects()) deleted"
            }
        case .begin: try session.beginWrite()
        case .commit: try session.commit()
        case .rollback: try session.cancel()
        }
    }

    func prepared(_ name: String, _ text: String) throws(DatabaseError) -> PreparedQuery {
        _ = try objectType(name, in: session)
        return try session.query(try session.tableKey(name), text, try givenParameters(of: try ParsedQuery.parse(text)))
    }

    /// The values that `.param` has given to those that the query has.
    private func givenParameters(of query: ParsedQuery) throws(DatabaseError) -> Arguments {
        let given = parameters.filter { query.number(ofArgument: $0.key) != nil }
        return Arguments(try NamedParameters.values(given, in: session))
    }

    /// The plan in one line and as a tree; of groups the tree.
    private func explain(_ name: String, _ text: String, _ isAnalyzed: Bool) throws(DatabaseError) {
        _ = try objectType(name, in: session)
        let query = try ParsedQuery.parse(text)
        if query.grouping != nil {
            let groups = try session.objects(name).groups(text, try givenParameters(of: query))
            return printLine(try groups.explain(isAnalyzed: isAnalyzed).text)
        }
        let prepared = try prepared(name, text)
        printLine(try prepared.explain())
        printLine(try prepared.results().explain(isAnalyzed: isAnalyzed).text)
    }

    private func select(_ name: String, _ columns: ColumnList?, _ query: String) throws(DatabaseError) {
        let type = try objectType(name, in: session)
        let results = try prepared(name, query).results()
        var writer = ResultWriter(rows: try RowText(type, columns: columns, session), format: format, limit: limit)
        writer.isColoured = output.isColoured && output.file == nil
        try output.paged { () throws(DatabaseError) in
            var sink = ByteSink { piece throws(DatabaseError) in try Console.write(piece) }
            let (shown, total) = try writer.write(results, to: &sink)
            try sink.finish()
            if shown < total { printError("note: \(total - shown) more; .limit 0 prints all") }
        }
    }

    private func total(
        _ name: String, _ operation: AggregateOperation, _ property: String?, _ query: String
    ) throws(DatabaseError) {
        let prepared = try prepared(name, query)
        guard let property else { return printLine("\(try prepared.count())") }
        let column = try objectType(name, in: session).requiredProperty(named: property).columnKey
        printLine(try PlainText.text(try prepared.results().aggregate(operation, column), in: session))
    }

    /// The statements of another file.
    func read(_ path: String) throws(DatabaseError) {
        guard depth < Self.deepestRead else {
            throw DatabaseError(.invalidArgument, "'\(path)' is read by a file that it reads itself")
        }
        let input = try InputFile(path)
        let text = input.text
        let outer = line
        depth += 1
        defer {
            depth -= 1
            line = outer
        }
        // Which line of it was wrong is said; the rest is not done.
        guard run(text: text) else { throw DatabaseError(.callback, "the statements of '\(path)' end there") }
    }
}
