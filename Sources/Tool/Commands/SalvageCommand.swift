/// `motte salvage`: what can still be read of a damaged file, as JSON Lines.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteStorage
import MotteValues

struct SalvageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Write every object of a damaged file that can be read as a line of JSON; losses go to stderr.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Option(help: "Write there instead of standard output.") var output: String?
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func run() throws {
        try reportingErrors(file) {
            let damaged = try opening.options(file)
            let report = try writeOutput(output) { (sink) throws(DatabaseError) in
                try SalvageLines.run(damaged, progress: progressLine(progress), to: &sink)
            }
            for loss in report.losses { printError("lost: \(loss)") }
            printError("\(report.objects) objects, \(report.losses.count) losses")
        }
    }
}
