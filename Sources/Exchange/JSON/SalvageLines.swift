/// What can be read of a damaged file as JSON Lines, one object a line:
///
///     {"class": "Person", "key": 7, "values": {"name": "Ada", "friend": {"$link": ["Person", 3]}, "tags": ["a"]}}
///
/// A property that could not be read is left out. Values say their kind where JSON has no form for it, because the
/// schema may be lost.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package enum SalvageLines {
    /// Hands whole lines to `write`.
    package static func run(
        _ database: Database, progress: MaintenanceProgressHandler? = nil, to write: @escaping ByteSink.Receiver
    ) throws(DatabaseError) -> SalvageReport {
        var sink = ByteSink(write)
        return try run(DamagedFile(database), progress: progress, to: &sink)
    }

    private static func run(
        _ file: DamagedFile, progress: MaintenanceProgressHandler?, to sink: inout ByteSink
    ) throws(DatabaseError) -> SalvageReport {
        // A damaged file may have none to be read; names then are what salvage guesses.
        let schema = (try? file.database.snapshot())?.schema
        let report = try file.salvage(progress: progress) { (object) throws(DatabaseError) in
            line(object, schema, &sink)
            try sink.flushIfFull()
        }
        try sink.finish()
        return report
    }

    /// Of the file that options name, which may be damaged.
    package static func run(
        _ options: SessionOptions, progress: MaintenanceProgressHandler? = nil, to sink: inout ByteSink
    ) throws(DatabaseError) -> SalvageReport {
        try run(options.openForSalvage(), progress: progress, to: &sink)
    }

    private static func line(_ object: SalvagedObject, _ schema: Schema?, _ sink: inout ByteSink) {
        sink.append("{\"class\": ")
        JSONValueWriter.string(object.className, to: &sink)
        sink.append(", \"key\": ")
        sink.append(object.key)
        sink.append(", \"values\": {")
        for (position, property) in object.properties.enumerated() {
            if position > 0 { sink.append(", ") }
            JSONValueWriter.string(property.name, to: &sink)
            sink.append(": ")
            content(property.content, schema, &sink)
        }
        sink.append("}}\n")
    }

    private static func content(_ content: SalvagedContent, _ schema: Schema?, _ sink: inout ByteSink) {
        switch content {
        case .value(let single): value(single, schema, &sink)
        case .elements(let values): list(values, schema, &sink)
        case .entries(let entries): map(entries, schema, &sink)
        }
    }

    private static func list(_ values: [Value], _ schema: Schema?, _ sink: inout ByteSink) {
        sink.append("[")
        for (position, element) in values.enumerated() {
            if position > 0 { sink.append(", ") }
            value(element, schema, &sink)
        }
        sink.append("]")
    }

    private static func map(_ entries: [(key: String, value: Value)], _ schema: Schema?, _ sink: inout ByteSink) {
        sink.append("{")
        for (position, entry) in entries.enumerated() {
            if position > 0 { sink.append(", ") }
            JSONValueWriter.string(entry.key, to: &sink)
            sink.append(": ")
            value(entry.value, schema, &sink)
        }
        sink.append("}")
    }

    private static func value(_ single: Value, _ schema: Schema?, _ sink: inout ByteSink) {
        switch single {
        case .link(let link):
            sink.append("{\"$link\": [")
            JSONValueWriter.string(schema?[link.table]?.name ?? "table\(link.table.rawValue)", to: &sink)
            sink.append(", ")
            sink.append(link.key.rawValue)
            sink.append("]}")
        case .list(let values): list(values, schema, &sink)
        case .map(let entries): map(entries.map { ($0.key, $0.value) }, schema, &sink)
        default: single.withView { JSONValueWriter.mixed($0, to: &sink) }
        }
    }
}
