/// `motte space` and `motte readers`: where a file's bytes are, and who keeps old versions of it.
import ArgumentParser
import MotteLiveObjects
import MotteStorage
import MotteValues

struct SpaceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "space", abstract: "Print how many bytes each class, its indexes and the change log take.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions

    func run() throws {
        try reportingErrors(file) {
            let session = try openFile(file, reading)
            let statistics = try session.database.spaceStatistics()
            for space in statistics.classes {
                printLine(
                    "\(space.name): \(space.objects) objects, \(space.bytes) bytes (values \(space.chunkBytes), "
                        + "long lists \(space.longListBytes), indexes \(space.indexBytes), "
                        + "large values \(space.largeValueBytes))")
            }
            printLine("change log: \(statistics.logRecords) records, \(statistics.logBytes) bytes")
            printLine("file: \(statistics.fileBytes) bytes, \(statistics.freeBytes) of them free")
        }
    }
}

struct ReadersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "readers", abstract: "Print which processes show which versions of a file.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions

    func run() throws {
        try reportingErrors(file) {
            let session = try openFile(file, opening)
            let readers = try session.database.readerStatistics().filter { !$0.isThisProcess }
            if readers.isEmpty { return printLine("no process has the file open") }
            for reader in readers {
                let age = reader.behindForNanoseconds.map { " for \(Double($0 / 1_000_000) / 1000) s" } ?? ""
                let behind = reader.versionsBehind == 0 ? "the newest" : "\(reader.versionsBehind) behind\(age)"
                printLine("process \(reader.processID): version \(reader.version.rawValue), \(behind)")
            }
        }
    }
}
