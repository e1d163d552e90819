/// `motte copy` and `motte compact`: a file without its free pages, beside it or in its place.
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
    @OptionGroup var reading: ReadOptions
    @ArgumentParser.Argument(help: "The new file; there must not be one.") var target: String
    @Option(help: "A file with the key of the new file, which without it has the same key or none.")
    var newKeyFile: String?
    @Flag(help: "The new file is not encrypted.") var plain = false
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func run() throws {
        try reportingErrors(file) {
            let session = try openFile(file, reading)
            try session.copy(to: target, encryption: try encryption(), progress: progressLine(progress))
            let version = try session.version.rawValue
            printLine("copied version \(version), \(fileBytes(file)) bytes to \(fileBytes(target))")
        }
    }

    func validate() throws {
        if plain, newKeyFile != nil { throw ValidationError("--plain and --new-key-file contradict each other") }
    }

    private func encryption() throws -> CopyEncryption {
        if plain { return .plain }
        return try newKeyFile.map { .key(try KeyOption.read($0)) } ?? .same
    }
}

struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Rewrite a file without its free pages; nobody may have it open, unless --online is given.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Flag(help: "Give back space while others read and write, in small commits.") var online = false
    @Option(help: ArgumentHelp("With --online, move about so much at most (bytes, or 64M).", valueName: "size"))
    var max: String?
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func validate() throws {
        guard let max else { return }
        if !online { throw ValidationError("--max is for --online") }
        if SessionOptions.byteCount(max) == nil { throw ValidationError("--max is a size, such as 64M") }
    }

    func run() throws {
        try reportingErrors(file) {
            if online { return try runOnline() }
            let outcome = try Session.compact(opening.options(file), progress: progressLine(progress))
            printLine("compacted \(outcome.bytesBefore) bytes to \(outcome.bytesAfter)")
        }
    }

    private func runOnline() throws {
        var options = try opening.options(file)
        options.noCreate = true
        let session = try Session.open(options)
        let outcome = try session.compactOnline(
            mostBytes: max.flatMap { SessionOptions.byteCount($0) }, progress: progressLine(progress))
        printLine("compacted \(outcome.bytesBefore) bytes to \(outcome.bytesAfter)")
        if outcome.heldBytes > 0 {
            printLine(
                "\(outcome.heldBytes) bytes stay for older versions that somebody shows; 'motte readers' says who")
        }
    }
}

func fileBytes(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
}
