/// `motte insert`, `update` and `delete`: objects by hand. Each is one transaction, all of it or nothing, and
/// `--dry-run` does everything but commit.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct InsertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "insert", abstract: "Add objects to a class.",
        discussion: """
            One object of NAME=VALUE pairs, or as many as a JSON object, an array or JSON Lines have. A value is read
            by the type of its property, a link is the primary key of its target; json: before it means JSON.
              motte insert people.motte Person id=7 name=Ada seen=2013-01-01T10:00:00Z
              motte insert people.motte Person '{"id": 8, "name": "Bob", "tags": ["new"]}'
              motte insert people.motte Person - < more.jsonl
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Argument(help: "The class.") var className: String
    @Argument(help: "NAME=VALUE pairs of one object, or JSON; '-': JSON from standard input.") var values: [String] = []
    @Option(help: "What happens to a primary key that is taken: error, modified or all.") var update = ImportPolicy
        .error
    @Flag(help: "Say what would be done, and change nothing.") var dryRun = false

    func run() throws {
        try reportingErrors(file) {
            let session = try openFile(file, opening, readOnly: false)
            let type = try objectType(className, in: session)
            try Edit.run(session, dryRun: dryRun) { () throws(DatabaseError) in
                let (created, updated) = try Edit.insert(session, type, values, update.policy)
                let what = updated > 0 ? ", \(updated) updated" : ""
                return "\(created) inserted\(what)"
            }
        }
    }
}

struct UpdateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change properties of the objects that match a query.",
        discussion: """
              motte update people.motte Person 'name == "Ada"' --set age=37 --set best_friend=8
              motte update people.motte Person 'seen < $since' --param since=timestamp:2013-01-01T00:00:00Z \\
                --set tags='["old"]' --dry-run
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Argument(help: "The class.") var className: String
    @Argument(help: "The query; --all instead for all objects.") var text: String?
    @Argument(help: "Values for $0, $1, ... of the query.") var arguments: [String] = []
    @OptionGroup var parameters: ParameterOptions
    @Option(help: ArgumentHelp("A new value, as often as there are some.", valueName: "name=value")) var set: [String]
    @Flag(help: "All objects of the class.") var all = false
    @Flag(help: "Say what would be done, and change nothing.") var dryRun = false

    func validate() throws {
        guard !set.isEmpty else { throw ValidationError("say what to change, with --set NAME=VALUE") }
        for entry in set where !entry.utf8.contains(UInt8(ascii: "=")) {
            throw ValidationError("--set '\(entry)' is no NAME=VALUE")
        }
        try Edit.checkSelection(text, all)
    }

    func run() throws {
        try reportingErrors(file) {
            let session = try openFile(file, opening, readOnly: false)
            let type = try objectType(className, in: session)
            try Edit.run(session, dryRun: dryRun) { () throws(DatabaseError) in
                let values = try parameters.arguments(arguments, in: session)
                let table = try session.tableKey(className)
                let results = try session.query(table, text ?? "", values).results()
                return "\(try Edit.update(session, type, results, set.map(Edit.pair))) updated"
            }
        }
    }
}

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete the objects that match a query.",
        discussion: """
            Links to what is deleted become null, and it disappears from lists.
              motte delete people.motte Person 'age < 0' --dry-run
              motte delete people.motte Person --all
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Argument(help: "The class.") var className: String
    @Argument(help: "The query; --all instead for all objects.") var text: String?
    @Argument(help: "Values for $0, $1, ... of the query.") var arguments: [String] = []
    @OptionGroup var parameters: ParameterOptions
    @Flag(help: "All objects of the class.") var all = false
    @Flag(help: "Say what would be done, and change nothing.") var dryRun = false

    func validate() throws { try Edit.checkSelection(text, all) }

    func run() throws {
        try reportingErrors(file) {
            let session = try openFile(file, opening, readOnly: false)
            _ = try objectType(className, in: session)
            try Edit.run(session, dryRun: dryRun) { () throws(DatabaseError) in
                let values = try parameters.arguments(arguments, in: session)
                let table = try session.tableKey(className)
                return "\(try session.query(table, text ?? "", values).results().deleteObjects()) deleted"
            }
        }
    }
}

/// What commands and the shell's statements do alike.
enum Edit {
    /// In a write of its own, or as a part of the one that is open; `body` says what it has done.
    static func run(
        _ session: Session, dryRun: Bool = false, _ body: () throws(DatabaseError) -> String
    ) throws(DatabaseError) {
        if session.isInWrite {
            return printLine(try session.atomically { () throws(DatabaseError) in try body() })
        }
        try session.beginWrite()
        do throws(DatabaseError) {
            let outcome = try body()
            if dryRun {
                try session.cancel()
                return printLine("\(outcome); nothing was changed (dry run)")
            }
            try session.commit()
            printLine(outcome)
        } catch {
            if session.isInWrite { try session.cancel() }
            throw error
        }
    }

    static func pair(_ text: String) -> PropertyAssignments.Given {
        let parts = text.parts(between: "=", most: 1)
        return PropertyAssignments.Given(parts[0], parts.count == 2 ? parts[1] : "")
    }

    /// A query that was forgotten would mean everything.
    static func checkSelection(_ text: String?, _ all: Bool) throws {
        guard (text == nil) == all else {
            throw ValidationError("give a query, or --all for all objects of the class")
        }
    }

    static func insert(
        _ session: Session, _ type: ObjectType, _ values: [String], _ policy: UpdatePolicy
    ) throws(DatabaseError) -> (created: Int, updated: Int) {
        let table = try session.tableKey(type.name)
        var options = JSONImport.Options()
        options.policy = policy
        let importer = try JSONImport(session, into: table, options)
        if values == ["-"] {
            let input = try InputFile(standardInput: ())
            defer { withExtendedLifetime(input) {} }
            do throws(DatabaseError) { try importer.run(input.bytes) } catch {
                throw ExchangeError.named("standard input", error)
            }
        } else {
            if !isJSON(values), let wrong = values.first(where: { !$0.utf8.contains(UInt8(ascii: "=")) }) {
                throw DatabaseError(.invalidArgument, "'\(wrong)' is neither NAME=VALUE nor a JSON object")
            }
            let text =
                isJSON(values)
                ? values.joined(separator: "\n") : try PropertyAssignments(session, table, values.map(pair)).object
            do throws(DatabaseError) {
                try text.withUTF8Bytes { bytes throws(DatabaseError) in try importer.run(bytes) }
            } catch { throw text.contains("\n") ? error : PropertyAssignments.withoutLine(error) }
        }
        return (importer.outcome.created, importer.outcome.updated)
    }

    private static func isJSON(_ values: [String]) -> Bool {
        guard let first = values.first?.first(where: { !$0.isWhitespace }) else { return false }
        return first == "{" || first == "["
    }

    static func update(
        _ session: Session, _ type: ObjectType, _ results: LiveResults, _ values: [PropertyAssignments.Given]
    ) throws(DatabaseError) -> Int {
        let table = try session.tableKey(type.name)
        let assignments = try PropertyAssignments(session, table, values)
        // What is assigned may be what is asked for.
        let keys = try results.keys()
        for key in keys {
            try Console.checkInterruption()
            try assignments.assign(to: ObjectKey(key))
        }
        try assignments.finish()
        return keys.count
    }
}
