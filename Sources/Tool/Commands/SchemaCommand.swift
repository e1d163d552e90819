/// `motte schema`: the classes of a file, as the text that declares them.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print the classes of a file as schema text.")

    @Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions

    func run() throws {
        try reportingErrors(file) {
            if let realm = try realmFile(file, try reading.opening.key.bytes()) {
                return printLine(SchemaText.print(try RealmSchema(realm).schema))
            }
            printLine(SchemaText.print(try openFile(file, reading).schema))
        }
    }
}
