/// Commands of the shell that begin with a dot.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues

extension Shell {
    func command(_ words: [String]) throws(DatabaseError) {
        let name = words.first ?? ""
        let arguments = Array(words.dropFirst())
        guard let command = ShellCommandName(rawValue: name) else {
            throw DatabaseError(.invalidArgument, "there is no command '.\(name)'; .help lists them")
        }
        if command.isOfProgram { return try runProgram(name, arguments) }
        switch command {
        case .help: try output.paged { () throws(DatabaseError) in printLine(ShellCommandName.summary) }
        case .schema: try showSchema(arguments.first)
        case .mode:
            guard let format = arguments.first.flatMap(OutputFormat.init(argument:)), !format.isBinary else {
                throw DatabaseError(
                    .invalidArgument, ".mode is table, box, markdown, json, jsonl or csv; .export writes Arrow")
            }
            self.format = format
        case .limit:
            guard let limit = arguments.first.flatMap({ Int($0) }), limit >= 0 else {
                throw DatabaseError(.invalidArgument, ".limit is a number of rows, 0 for all")
            }
            self.limit = limit
        case .timer: isTimed = try isOn(arguments, ".timer")
        case .pager: try setPager(arguments)
        case .param: try setParameter(arguments)
        case .output: try output.redirect(to: arguments.first)
        case .read:
            guard let path = arguments.first else { throw DatabaseError(.invalidArgument, ".read which file?") }
            try read(path)
        case .watch: try watch(arguments)
        default: break
        }
    }

    private func isOn(_ arguments: [String], _ name: String) throws(DatabaseError) -> Bool {
        switch arguments.first {
        case "on": return true
        case "off": return false
        default: throw DatabaseError(.invalidArgument, "\(name) is on or off")
        }
    }

    private func setPager(_ arguments: [String]) throws(DatabaseError) {
        switch arguments.first {
        case "on": output.pager = ShellOutput().pager ?? "more"
        case "off": output.pager = nil
        case nil: printLine(output.pager ?? "off")
        default: output.pager = arguments.joined(separator: " ")
        }
    }

    private func setParameter(_ arguments: [String]) throws(DatabaseError) {
        guard let name = arguments.first else {
            for name in parameters.keys.sorted() { printLine("$\(name) \(parameters[name] ?? "")") }
            return
        }
        guard NamedParameters.isName(name), arguments.count > 1 else {
            throw DatabaseError(.invalidArgument, "write .param NAME VALUE; $NAME in queries is that value then")
        }
        let text = arguments.dropFirst().joined(separator: " ")
        // One that cannot be read is refused here and not in the queries.
        _ = try TypedText.value(text, in: session)
        parameters[name] = text
    }

    private func showSchema(_ name: String?) throws(DatabaseError) {
        var schema = try session.schema
        if let name { schema = Schema([try objectType(name, in: session)]) }
        try output.paged { () throws(DatabaseError) in printLine(SchemaText.print(schema)) }
    }

    private func watch(_ arguments: [String]) throws(DatabaseError) {
        guard let name = arguments.first else { throw DatabaseError(.invalidArgument, ".watch which class?") }
        guard !session.isInWrite else {
            throw DatabaseError(.alreadyInWrite, "a write is open, in which nothing of others shows; end it first")
        }
        let results = try prepared(name, arguments.dropFirst().joined(separator: " ")).results()
        let rows = try RowText(try objectType(name, in: session), columns: nil, session)
        try Watch(format: format.isLines ? format : .table).run(results, rows)
    }

    /// `.import Person people.csv` is `motte import FILE Person people.csv`.
    private func runProgram(_ name: String, _ arguments: [String]) throws(DatabaseError) {
        guard !session.isInWrite else {
            throw DatabaseError(.alreadyInWrite, ".\(name) is a transaction of its own; commit or roll back first")
        }
        var all = [name, file] + arguments
        if let key = opening.key.path { all += ["--key-file", key] }
        if let directory = opening.lockDirectory { all += ["--lock-directory", directory] }
        if let memory = opening.memory { all += ["--memory", memory] }
        if let timeout = opening.openTimeout { all += ["--open-timeout", "\(timeout)"] }
        if let threads = opening.queryThreads { all += ["--query-threads", "\(threads)"] }
        do {
            var command = try MotteCommand.parseAsRoot(all)
            try command.run()
        } catch let error as ExitCode {
            try Console.checkInterruption()
            // What went wrong was said, and one is also the answer of a comparison.
            if error != .success, name != "diff" || error.rawValue > 1 { throw DatabaseError(.callback, "") }
        } catch {
            let message = MotteCommand.fullMessage(for: error)
            if MotteCommand.exitCode(for: error) == .success { return printLine(message) }
            throw DatabaseError(.invalidArgument, message)
        }
    }
}
