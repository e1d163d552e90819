/// Makes the bytes of a change batch, section by section. Classes that are named anywhere are described in front, with
/// the properties that values are given for.
import MotteValues

struct ChangeBatchWriter {
    private let catalog: Catalog
    private var sections: [(kind: ChangeBatchFormat.Section, bytes: [UInt8])] = []
    private var columns: [TableKey: Set<ColumnKey>] = [:]

    init(_ catalog: Catalog) { self.catalog = catalog }

    var isEmpty: Bool { sections.isEmpty }

    /// A table that is named: by a section, or by a link.
    mutating func note(_ table: TableKey) {
        if columns[table] == nil { columns[table] = [] }
    }

    mutating func note(_ table: TableKey, _ column: ColumnKey) { columns[table, default: []].insert(column) }

    mutating func add(_ kind: ChangeBatchFormat.Section, _ bytes: [UInt8]) { sections.append((kind, bytes)) }

    mutating func append(_ value: ValueView, to bytes: inout [UInt8]) {
        switch value.kind {
        case .link: note(value.linkValue.table)
        case .list, .map: MixedLinks.forEach(value) { note($0.table) }
        default: break
        }
        LoggedValue.append(value, longest: .max, to: &bytes)
    }

    static func append(_ runs: KeyRuns, to bytes: inout [UInt8]) {
        bytes.append(varint: runs.runs.count)
        var end: Int64 = 0
        for run in runs.runs {
            bytes.append(varint: UInt64(run.lowerBound - end))
            bytes.append(varint: run.count)
            end = run.upperBound
        }
    }

    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(varint: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    private func classes() -> [UInt8] {
        var bytes: [UInt8] = []
        let named = columns.keys.sorted().compactMap { catalog.table($0) }
        bytes.append(varint: named.count)
        for table in named {
            bytes.append(varint: UInt64(table.key.rawValue))
            Self.append(table.name, to: &bytes)
            bytes.append(table.isEmbedded ? 1 : 0)
            let used = table.columns.filter { columns[table.key]?.contains($0.key) ?? false }
            bytes.append(varint: used.count)
            for column in used {
                bytes.append(varint: UInt64(column.key.rawValue))
                Self.append(column.name, to: &bytes)
                bytes.append(UInt8(truncatingIfNeeded: column.type.rawValue))
                bytes.append(UInt8(truncatingIfNeeded: column.collection.rawValue))
                bytes.append((column.isNullable ? 1 : 0) | (column.isPrimaryKey ? 2 : 0))
            }
        }
        return bytes
    }

    /// All sections as bytes, and how many they are.
    mutating func finished() -> (bytes: [UInt8], count: Int) {
        if !columns.isEmpty { add(.classes, classes()) }
        // In the order in which they are added within a kind.
        let ordered = sections.enumerated().sorted {
            ($0.element.kind.rawValue, $0.offset) < ($1.element.kind.rawValue, $1.offset)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sections.reduce(0) { $0 + $1.bytes.count + 8 })
        for (_, section) in ordered { Self.append(section.kind, section.bytes, to: &bytes) }
        return (bytes, sections.count)
    }

    static func append(_ kind: ChangeBatchFormat.Section, _ section: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(kind.rawValue)
        bytes.append(kind == .inverse || kind == .replicas ? ChangeBatchFormat.optionalSection : 0)
        bytes.append(varint: section.count)
        bytes.append(contentsOf: section)
    }
}
