/// `motte info`: what a file is and what is in it.
import ArgumentParser
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Print identity, format, version, sizes, readers, and classes with their numbers of objects.")

    @Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions
    @Flag(help: "Also print what reading it took: chunks decoded, rows evaluated, index look-ups.") var counters = false

    func run() throws {
        try reportingErrors(file) {
            if let realm = try realmFile(file, try reading.opening.key.bytes()) { return printRealmFile(realm) }
            let session = try openFile(file, reading)
            let pages = try session.database.pages
            let header = try pages.header
            let sizes = try pages.statistics()
            printLine("file      \(file)")
            printLine("uuid      \(header.fileUUID)")
            printLine("format    \(Database.fileFormat), \(header.rowGroupSize) rows per row group")
            printLine(
                "size      \(sizes.fileBytes) bytes, \(sizes.usedBytes) in use, \(sizes.freeBytes) free; "
                    + "pages of \(sizes.pageBytes)")
            let catalog = try session.source().catalog
            printLine("version   \(try session.version.rawValue), schema version \(catalog.schemaVersion)")
            // This very command is one of them.
            let readers = try pages.readers().map { "\($0.processID)" }
            printLine("readers   \(readers.count), processes \(Set(readers).sorted().joined(separator: ", "))")
            try printClasses(session, rowGroupSize: header.rowGroupSize)
            if counters { printCounters(session) }
        }
    }

    private func printClasses(_ session: Session, rowGroupSize: Int) throws {
        for type in try session.schema.objectTypes {
            guard let table = try type.tableKey.map(session.table) else { continue }
            // Classes with wide values have fewer than the file says.
            let own = table.rowGroupSize
            let rows = own == rowGroupSize ? "" : ", \(own) rows per row group"
            let indexed = type.properties.filter(\.hasIndex).map(\.name)
            let indexes = indexed.isEmpty ? "" : "  indexed: \(indexed.joined(separator: ", "))"
            let unique = type.properties.filter(\.isUnique).map(\.name)
            let uniques = unique.isEmpty ? "" : "  unique: \(unique.joined(separator: ", "))"
            let forms = type.indexes.filter { $0.uniqueProperty == nil }.compactMap(\.orderedForm)
            let ordered = forms.map { "  \($0.isUnique ? "unique" : "indexed")(\(SchemaText.print($0.parts)))" }
                .joined()
            let kind = type.isEmbedded ? "embedded  " : "class     "
            printLine(
                "\(kind)\(type.name): \(table.liveCount) objects, \(type.properties.count) properties\(rows)\(indexes)"
                    + uniques + ordered)
        }
    }

    private func printCounters(_ session: Session) {
        let reading = session.counters.read()
        printLine(
            "counters  chunks decoded \(reading.chunksDecoded), rows evaluated \(reading.rowsEvaluated), "
                + "index look-ups \(reading.indexLookups), log records read \(reading.logRecordsRead), "
                + "full re-runs \(reading.fullReruns)")
    }
}
