/// Reading a change batch: the change log says what changed, this version has the values.
import CMotteShim
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

extension Database {
    /// By which batches name the file they were read from.
    package func origin() throws(DatabaseError) -> ChangeOrigin {
        let identity = try pages.header.historyEpoch
        return ChangeOrigin(high: identity.high, low: identity.low)
    }

    /// What changed after `from` up to what `snapshot` shows; from version 0, everything that it shows.
    package func changeBatch(from: Version, to snapshot: Snapshot) throws(DatabaseError) -> ChangeBatch {
        var reading = try ChangeBatchReading(snapshot, origin: try origin())
        guard from.rawValue > 0 else { return try reading.whole() }
        guard from <= snapshot.version else {
            throw DatabaseError(
                .historyUnavailable,
                "there is no version \(from.rawValue) yet, the newest is \(snapshot.version.rawValue): if the file had "
                    + "it once, it was replaced by an older one; read everything, from version 0")
        }
        return try reading.changes(try loggedChanges(from: from, to: snapshot))
    }

    func loggedChanges(from: Version, to snapshot: Snapshot) throws(DatabaseError) -> ChangeSummary {
        if let summary = try changes(from: from, to: snapshot) { return summary }
        let oldest = try HistoryLog.oldestVersion(in: snapshot.pages)
        throw DatabaseError(
            .historyUnavailable,
            "the change log no longer reaches back to version \(from.rawValue), only to "
                + "\((oldest ?? snapshot.version).rawValue - (oldest == nil ? 0 : 1)); read everything, from "
                + "version 0, and keep changes from then on")
    }
}

struct ChangeBatchReading {
    let snapshot: Snapshot
    private let origin: ChangeOrigin
    var writer: ChangeBatchWriter
    /// Of what leads back.
    private var inverse: (bytes: [UInt8], count: Int)?
    private var breaksSchema = false
    /// Of a difference of two files; nil: objects go by their keys.
    var naming: BatchNaming?

    init(_ snapshot: Snapshot, origin: ChangeOrigin) throws(DatabaseError) {
        self.snapshot = snapshot
        self.origin = origin
        writer = ChangeBatchWriter(snapshot.catalog)
    }

    mutating func whole() throws(DatabaseError) -> ChangeBatch {
        try addSchema()
        for stored in snapshot.catalog.tables {
            let table = try snapshot.table(stored.key)
            try addCreated(try table.liveRuns(), table)
        }
        return try finish(from: Version(0), fromChecksum: 0, isWhole: true)
    }

    /// With `before`, which shows the version that the summary begins at, also what leads back to it.
    mutating func changes(
        _ summary: ChangeSummary, since before: Snapshot? = nil
    ) throws(DatabaseError) -> ChangeBatch {
        if summary.schemaChanged { try addSchema() }
        let reversed = try before.map { before throws(DatabaseError) in try summary.reversed(before) }
        // Of a batch that may be applied again later nothing else may be taken that has come since.
        try add(reversed.map { summary.deleting(only: $0) } ?? summary)
        try addReplicas(summary.replicaPages)
        // The record of `from` itself may be gone.
        var checksum: UInt32
        if let first = summary.records.first {
            checksum = first.previous
        } else {
            checksum = try HistoryLog.checksum(of: summary.from, in: snapshot.pages)
        }
        checksum = try TakenVersions.checksum(checksum, of: summary.from, origin, in: snapshot.pages)
        if let before, let reversed, !writer.isEmpty {
            var back = try ChangeBatchReading(before, origin: origin)
            try back.add(reversed)
            inverse = back.writer.finished()
        }
        breaksSchema = summary.breaksSchema
        return try finish(from: summary.from, fromChecksum: checksum, isWhole: false, before: before)
    }

    /// Pages that the file keeps of other files; those of classes that are gone are left out.
    private mutating func addReplicas(_ keys: [[UInt8]]) throws(DatabaseError) {
        var pages: [UInt8] = []
        var count = 0
        for key in keys {
            guard let part = ReplicaPages.part(key)?.part, let page = try snapshot.pages.get(key) else { continue }
            if case .names(let table, _) = part {
                guard snapshot.catalog.table(table) != nil else { continue }
                writer.note(table)
            }
            pages.append(varint: key.count)
            pages.append(contentsOf: key)
            pages.append(varint: page.bytes.count)
            pages.append(contentsOf: page.bytes)
            count += 1
        }
        guard count > 0 else { return }
        var bytes: [UInt8] = []
        bytes.append(varint: count)
        writer.add(.replicas, bytes + pages)
    }

    mutating func add(_ summary: ChangeSummary) throws(DatabaseError) {
        for changed in summary.tables where snapshot.catalog.table(changed.table) != nil {
            let table = try snapshot.table(changed.table)
            try addCreated(changed.inserted, table)
            try addSet(changed, table)
            try addLists(changed, table)
            try addSets(changed, table)
            try addMaps(changed, table)
            guard !changed.deleted.isEmpty else { continue }
            if let naming {
                for run in changed.deleted.runs { for key in run { naming.note(table.key, key) } }
            }
            var bytes = head(table)
            ChangeBatchWriter.append(changed.deleted, to: &bytes)
            writer.add(.deleted, bytes)
        }
    }

    private mutating func finish(
        from: Version, fromChecksum: UInt32, isWhole: Bool, before: Snapshot? = nil
    ) throws(DatabaseError) -> ChangeBatch {
        let newest = try Self.record(of: snapshot)
        var header = ChangeBatch.Header(
            origin: origin, from: from, to: snapshot.version, fromChecksum: fromChecksum,
            toChecksum: try TakenVersions.checksum(
                newest?.checksum ?? 0, of: snapshot.version, origin, in: snapshot.pages),
            wallTime: newest?.wallTimeNanoseconds ?? 0,
            schemaChangedIn: snapshot.catalog.changedIn)
        header.isWhole = isWhole
        header.breaksSchema = breaksSchema
        return try finish(header, before, writer.finished())
    }

    /// The difference of two files, with what leads back.
    mutating func finish(
        difference back: ChangeBatchReading, _ before: Snapshot, _ other: ChangeOrigin
    ) throws(DatabaseError) -> ChangeBatch {
        var back = back
        if !writer.isEmpty { inverse = back.writer.finished() }
        let sections = writer.finished()
        var header = ChangeBatch.Header(
            origin: origin, from: before.version, to: snapshot.version,
            fromChecksum: Self.mark(inverse?.bytes ?? [], origin, before.version),
            toChecksum: Self.mark(sections.bytes, other, snapshot.version),
            wallTime: try Self.record(of: snapshot)?.wallTimeNanoseconds ?? 0,
            schemaChangedIn: snapshot.catalog.changedIn)
        header.isDifference = true
        return try finish(header, before, sections)
    }

    /// Tells a difference from others, by one half for each of its two files.
    private static func mark(_ sections: [UInt8], _ origin: ChangeOrigin, _ version: Version) -> UInt32 {
        var file: [UInt8] = []
        file.append(u64: origin.high)
        file.append(u64: origin.low)
        file.append(u64: version.rawValue)
        let checksum = sections.withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress, $0.count) }
        return file.withUnsafeBytes { motte_shim_crc32c(checksum, $0.baseAddress, $0.count) }
    }

    private func finish(
        _ header: ChangeBatch.Header, _ before: Snapshot?, _ sections: (bytes: [UInt8], count: Int)
    ) throws(DatabaseError) -> ChangeBatch {
        var (bytes, count) = sections
        if let inverse, let before {
            let wallTime = try Self.record(of: before)?.wallTimeNanoseconds ?? 0
            ChangeBatch.append(inverse: inverse.bytes, count: inverse.count, wallTime: wallTime, to: &bytes)
            count += 1
        }
        return try ChangeBatch(header.bytes(before: bytes, count: count))
    }

    static func record(of snapshot: Snapshot) throws(DatabaseError) -> ChangeRecord? {
        try HistoryLog.records(
            from: Version(max(1, snapshot.version.rawValue) - 1), to: snapshot.version, snapshot: snapshot.pages)?.last
    }

    mutating func addSchema() throws(DatabaseError) {
        guard let record = try snapshot.pages.get(PageKeys.catalog) else { return }
        writer.add(.schema, [UInt8](record.bytes))
    }

    mutating func head(_ table: TableView, _ column: StoredColumn? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(varint: UInt64(table.key.rawValue))
        guard let column else {
            writer.note(table.key)
            return bytes
        }
        writer.note(table.key, column.key)
        bytes.append(varint: UInt64(column.key.rawValue))
        return bytes
    }

    // MARK: Objects that came

    private mutating func addCreated(_ keys: KeyRuns, _ table: TableView) throws(DatabaseError) {
        guard !keys.isEmpty else { return }
        for run in keys.runs {
            for key in run { _ = try table.requireLocation(ObjectKey(key)) }
        }
        var bytes = head(table)
        var called = keys
        if naming != nil { called = KeyRuns(try named(table, keys.keys).map(\.name)) }
        ChangeBatchWriter.append(called, to: &bytes)
        let columns = table.layout.columns.enumerated().filter { !$0.element.isList }
        bytes.append(varint: columns.count)
        // So that no batch makes more objects than it has bytes.
        if columns.isEmpty { bytes.append(contentsOf: repeatElement(0, count: keys.count)) }
        for (slot, column) in columns {
            writer.note(table.key, column.key)
            bytes.append(varint: UInt64(column.key.rawValue))
            let values = try columnValues(keys, table, slot, column)
            bytes.append(varint: values.count)
            bytes.append(contentsOf: values)
        }
        writer.add(.created, bytes)
        for column in table.layout.columns where column.isList && !column.isMapKeys {
            try addCollections(keys, table, column)
        }
    }

    /// Row group by row group.
    private mutating func columnValues(
        _ keys: KeyRuns, _ table: TableView, _ slot: Int, _ column: StoredColumn
    ) throws(DatabaseError) -> [UInt8] {
        var bytes: [UInt8] = []
        for run in keys.runs {
            var key = run.lowerBound
            while key < run.upperBound {
                let place = try table.requireLocation(ObjectKey(key))
                let chunk = try table.chunk(slot: slot, place.rowGroup)
                let rows = try table.rowGroup(place.rowGroup)
                let count = min(run.upperBound, rows.firstKey + Int64(rows.rowCount)) - key
                for row in place.slot ..< place.slot + Int(count) {
                    try append(chunk.view(row), column, to: &bytes)
                }
                key += max(1, count)
            }
        }
        return bytes
    }

    // MARK: Names

    /// How the batch calls an object.
    func name(_ table: TableView, _ key: Int64) throws(DatabaseError) -> Int64 {
        try naming?.name(table.key, key) ?? key
    }

    /// In the order in which the batch calls them.
    func named(_ table: TableView, _ keys: [Int64]) throws(DatabaseError) -> [(name: Int64, key: Int64)] {
        guard naming != nil else { return keys.map { ($0, $0) } }
        var named: [(name: Int64, key: Int64)] = []
        for key in keys { named.append((try name(table, key), key)) }
        return named.sorted { $0.name < $1.name }  // names: of objects, numbers
    }

    mutating func append(
        _ stored: ValueView, _ column: StoredColumn, to bytes: inout [UInt8]
    ) throws(DatabaseError) {
        let value = column.linked(stored)
        guard let naming else { return writer.append(value, to: &bytes) }
        switch value.kind {
        case .link:
            let link = value.linkValue
            let name = ObjectKey(try naming.name(link.table, link.key.rawValue))
            writer.append(.link(ObjectLink(table: link.table, key: name)), to: &bytes)
        case .list, .map:
            let mapped = try value.owned.mapLinks { link throws(DatabaseError) in
                ObjectLink(table: link.table, key: ObjectKey(try naming.name(link.table, link.key.rawValue)))
            }
            mapped.withView { writer.append($0, to: &bytes) }
        default: writer.append(value, to: &bytes)
        }
    }

    /// By which primary keys objects that the batch calls are to be found.
    mutating func addKnown(
        _ table: TableView, _ known: [(name: Int64, table: TableView, key: ObjectKey)]
    ) throws(DatabaseError) {
        guard !known.isEmpty, let column = table.layout.stored.primaryKey else { return }
        var bytes = head(table, column)
        Self.append(names: known.map(\.name), to: &bytes)
        for object in known {
            guard let primary = object.table.layout.stored.primaryKey?.key else { continue }
            writer.append(try object.table.value(primary, object.key), to: &bytes)
        }
        writer.add(.known, bytes)
    }

    /// Where embedded objects that the batch calls are to be found.
    mutating func addPlaces(_ table: TableView, _ places: [Int64: EmbeddedPlace]) {
        let ordered = places.sorted { $0.key < $1.key }
        var bytes = head(table)
        Self.append(names: ordered.map(\.key), to: &bytes)
        for (_, place) in ordered {
            writer.note(place.table, place.column.key)
            bytes.append(varint: UInt64(place.table.rawValue))
            bytes.append(varint: UInt64(place.column.key.rawValue))
            bytes.append(varint: UInt64(place.owner))
            switch place.column.collection {
            case .map:
                bytes.append(varint: place.key.count)
                bytes.append(contentsOf: place.key)
            case .none: break
            default: bytes.append(varint: place.index)
            }
        }
        writer.add(.places, bytes)
    }

    private static func append(names: [Int64], to bytes: inout [UInt8]) {
        bytes.append(varint: names.count)
        var next: Int64 = 0
        for name in names {
            bytes.append(varint: UInt64(name - next))
            next = name + 1
        }
    }

    /// What lists, sets and maps of new objects hold; empty ones are left out.
    private mutating func addCollections(
        _ keys: KeyRuns, _ table: TableView, _ column: StoredColumn
    ) throws(DatabaseError) {
        var owners = Owners()
        for run in keys.runs {
            for key in run {
                let count = try table.listCount(column.key, ObjectKey(key))
                guard count > 0 else { continue }
                owners.begin(try name(table, key))
                switch column.collection {
                case .map: try addEntries(table, column, ObjectKey(key), count, to: &owners.bytes)
                case .set:
                    owners.bytes.append(varint: count)
                    try addElements(table, column, ObjectKey(key), 0 ..< count, to: &owners.bytes)
                default:
                    owners.bytes.append(varint: 0)
                    owners.bytes.append(varint: 1)
                    try add(.insert(at: 0, count: count), table, column, ObjectKey(key), to: &owners.bytes)
                }
            }
        }
        add(owners, table, column)
    }

    private mutating func addEntries(
        _ table: TableView, _ column: StoredColumn, _ key: ObjectKey, _ count: Int, to bytes: inout [UInt8]
    ) throws(DatabaseError) {
        bytes.append(varint: count)
        for index in 0 ..< count {
            let name = try table.mapKey(column.key, key, index)
            bytes.append(varint: name.count)
            bytes.append(contentsOf: name)
            bytes.append(1)
            try append(try table.listElement(column.key, key, index), column, to: &bytes)
        }
    }

    mutating func addElements(
        _ table: TableView, _ column: StoredColumn, _ key: ObjectKey, _ range: Range<Int>, to bytes: inout [UInt8]
    ) throws(DatabaseError) {
        var found = 0
        var values: [UInt8] = []
        var copy = self
        try table.listValues(
            column.key, key, from: range.lowerBound, limit: range.count
        ) { chunk, elements throws(DatabaseError) in
            for index in elements {
                try copy.append(chunk.view(index), column, to: &values)
                found += 1
            }
        }
        writer = copy.writer
        guard found == range.count else {
            throw .corrupted("a list of \(table.layout.stored.name) has fewer elements than the change log says")
        }
        bytes.append(contentsOf: values)
    }

    /// Objects with what is said of each, named by the gap from the one before.
    struct Owners {
        var bytes: [UInt8] = []
        private(set) var count = 0
        private var next: Int64 = 0

        mutating func begin(_ key: Int64) {
            bytes.append(varint: UInt64(key - next))
            next = key + 1
            count += 1
        }
    }

    mutating func add(_ owners: Owners, _ table: TableView, _ column: StoredColumn) {
        guard owners.count > 0 else { return }
        var bytes = head(table, column)
        bytes.append(varint: owners.count)
        bytes.append(contentsOf: owners.bytes)
        switch column.collection {
        case .map: writer.add(.maps, bytes)
        case .set: writer.add(.sets, bytes)
        default: writer.add(.lists, bytes)
        }
    }
}
