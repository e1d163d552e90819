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
    @OptionGroup var key: KeyOption
    @Option(help: "Write there instead of standard output.") var output: String?
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func run() throws {
        try reportingErrors(file) {
            let target = try openOutput(output)
            var options = SessionOptions(path: file)
            options.encryptionKey = try key.bytes()
            var sink = ByteSink(writer(target))
            let report = try SalvageLines.run(options, progress: progressLine(progress), to: &sink)
            for loss in report.losses { printError("lost: \(loss)") }
            printError("\(report.objects) objects, \(report.losses.count) losses")
        }
    }

    private func writer(_ target: Int32) -> (UnsafeRawBufferPointer) throws(DatabaseError) -> Void {
        { (bytes) throws(DatabaseError) in
            guard writeAll(bytes, to: target) else { throw DatabaseError(.inputOutput, "could not write the objects") }
        }
    }
}
