/// `motte info`: what is in a file.
import ArgumentParser
import Foundation
import MotteLiveObjects
import MotteValues

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Print version, size, classes with their numbers of objects, and indexes.")

    @Argument(help: "The file.") var file: String
    @Flag(help: "Also print what reading it took: chunks decoded, rows evaluated, index look-ups.") var counters = false

    func run() throws {
        try reportingErrors {
            let session = try openFile(file)
            let size = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
            printLine("file      \(file)")
            printLine("size      \(size) bytes")
            printLine("version   \(try session.version.rawValue)")
            for type in try session.schema.objectTypes {
                guard let table = type.tableKey else { continue }
                let count = try session.objects(table).count()
                let indexed = type.properties.filter(\.hasIndex).map(\.name)
                let indexes = indexed.isEmpty ? "" : "  indexed: \(indexed.joined(separator: ", "))"
                printLine("class     \(type.name): \(count) objects, \(type.properties.count) properties\(indexes)")
            }
            guard counters else { return }
            let reading = session.counters.read()
            printLine(
                "counters  chunks decoded \(reading.chunksDecoded), rows evaluated \(reading.rowsEvaluated), "
                    + "index look-ups \(reading.indexLookups), log records read \(reading.logRecordsRead), "
                    + "full re-runs \(reading.fullReruns)")
        }
    }
}
