/// `motte verify`: everything in a file looked at; exit code 1 when something is wrong.
import ArgumentParser
import MotteLiveObjects
import MotteStorage
import MotteValues

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Look at everything in a file and name what is wrong.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func run() throws {
        let report = try reportingErrors(file) {
            try openFile(file, reading).committedSnapshot().verify(progress: progressLine(progress))
        }
        printLine(report.text)
        if !report.isSound { throw ExitCode(1) }
    }
}

/// One line on stderr, written over; nil if nobody wants it.
func progressLine(_ isWanted: Bool) -> ((MaintenanceProgress) -> Void)? {
    guard isWanted else { return nil }
    return { progress in
        let end = progress.done == progress.total ? "\n" : ""
        _ = writeAll("\r\(progress.done) of \(progress.total)\(end)", to: 2)
    }
}
