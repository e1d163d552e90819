/// `motte copy` and `motte compact`: a file without its free space, beside it or in its place.
import ArgumentParser
import MotteLiveObjects
import MotteStorage
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Write a compacted copy of a file, also while others write to it.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @ArgumentParser.Argument(help: "The new file; there must not be one.") var target: String
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func run() throws {
        try reportingErrors(file) {
            let session = try openFile(file)
            try session.copy(to: target, progress: progressLine(progress))
            let version = try session.version.rawValue
            printLine("copied version \(version), \(fileBytes(file)) bytes to \(fileBytes(target))")
        }
    }
}

struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Rewrite a file without its free space; nobody may have it open.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func run() throws {
        try reportingErrors(file) {
            let outcome = try Session.compact(SessionOptions(path: file), progress: progressLine(progress))
            printLine("compacted \(outcome.bytesBefore) bytes to \(outcome.bytesAfter)")
        }
    }
}

func fileBytes(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
}
