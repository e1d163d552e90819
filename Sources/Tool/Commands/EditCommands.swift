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
            try Edit.requireCondition(text)
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
            try Edit.requireCondition(text)
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
