/// `motte migrate`: a file brought to a schema given as text, or what that would do.
import ArgumentParser
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Bring a file to another schema, or print what that would do.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @ArgumentParser.Argument(help: "A file with the schema as text, as `motte schema` prints it.") var schema: String
    @Option(name: .customLong("schema-version"), help: "The new schema version; one more than the file's without it.")
    var schemaVersion: UInt64?
    @Flag(name: .customLong("dry-run"), help: "Print the plan and change nothing.") var dryRun = false
    @Option(help: "Class.old=new or Old=New: keeps the values under another name. May be repeated.")
    var rename: [String] = []
    @Option(help: "A class that goes with its objects if it is not in the schema. May be repeated.")
    var delete: [String] = []

    func run() throws {
        try reportingErrors(file) {
            let text = try openInput(schema).text
            var options = SessionOptions(path: file, schema: try SchemaText.parse(text))
            options.noCreate = true
            try opening.apply(to: &options)
            options.schemaVersion = try schemaVersion ?? openFile(file, opening).schemaVersion + 1
            options.migration.deletedTypes = delete
            for entry in rename { try add(entry, to: &options.migration.renames) }
            printLine(try Session.schemaPlan(options).text)
            if !dryRun { _ = try Session.open(options) }
        }
    }

    private func add(_ entry: String, to renames: inout SchemaRenames) throws {
        let sides = entry.parts(between: "=", most: 1)
        guard sides.count == 2, sides.allSatisfy({ !$0.isEmpty }) else {
            throw DatabaseError(.invalidArgument, "'\(entry)' is no rename; write Class.old=new or Old=New")
        }
        let path = sides[0].parts(between: ".", most: 1)
        if path.count == 2 {
            renames.renameProperty(of: path[0], from: path[1], to: sides[1])
        } else {
            renames.renameType(sides[0], to: sides[1])
        }
    }
}
