/// Reading a change batch: the change log says what changed, this version has the values.
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
    private let snapshot: Snapshot
    private let origin: ChangeOrigin
    private var writer: ChangeBatchWriter
    /// Of what leads back.
    private var inverse: (bytes: [UInt8], count: Int)?

    init(_ snapshot: Snapshot, origin: ChangeOrigin) throws(DatabaseError) {
        self.snapshot = snapshot
        self.origin = origin
        writer = ChangeBatchWriter(snapshot.catalog)
    }

    mutating func whole() throws(DatabaseError) -> ChangeBatch {
        try addSchema()
        for stored in snapshot.catalog.tables {
            let table = try snapshot.table(stored.key)
            var keys = KeyRuns()
            for group in 0 ..< table.rowGroupCount {
                let rows = try table.rowGroup(group)
                guard let words = rows.liveWords else {
                    if rows.rowCount > 0 { keys.append(rows.firstKey ..< rows.firstKey + Int64(rows.rowCount)) }
                    continue
                }
                for slot in 0 ..< rows.rowCount where words[slot / 64] >> UInt64(slot % 64) & 1 == 1 {
                    keys.append(rows.firstKey + Int64(slot) ..< rows.firstKey + Int64(slot) + 1)
                }
            }
            try addCreated(keys, table)
        }
        return try finish(from: Version(0), fromChecksum: 0, isWhole: true)
    }

    /// With `before`, which shows the version that the summary begins at, also what leads back to it.
    mutating func changes(
        _ summary: ChangeSummary, since before: Snapshot? = nil
    ) throws(DatabaseError) -> ChangeBatch {
        if summary.schemaChanged { try addSchema() }
        try add(summary)
        // The record of `from` itself may be gone.
        let checksum: UInt32
        if let first = summary.records.first {
            checksum = first.previous
        } else {
            checksum = try HistoryLog.checksum(of: summary.from, in: snapshot.pages)
        }
        if let before, !writer.isEmpty {
            var back = try ChangeBatchReading(before, origin: origin)
            try back.add(try summary.reversed(before))
            inverse = back.writer.finished()
        }
        return try finish(from: summary.from, fromChecksum: checksum, isWhole: false, before: before)
    }

    private mutating func add(_ summary: ChangeSummary) throws(DatabaseError) {
        for changed in summary.tables where snapshot.catalog.table(changed.table) != nil {
            let table = try snapshot.table(changed.table)
            try addCreated(changed.inserted, table)
            try addSet(changed, table)
            try addLists(changed, table)
            try addSets(changed, table)
            try addMaps(changed, table)
            guard !changed.deleted.isEmpty else { continue }
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
            toChecksum: newest?.checksum ?? 0, wallTime: newest?.wallTimeNanoseconds ?? 0,
            schemaChangedIn: snapshot.catalog.changedIn)
        header.isWhole = isWhole
        var (bytes, count) = writer.finished()
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

    private mutating func addSchema() throws(DatabaseError) {
        guard let record = try snapshot.pages.get(PageKeys.catalog) else { return }
        writer.add(.schema, [UInt8](record.bytes))
    }

    private mutating func head(_ table: TableView, _ column: StoredColumn? = nil) -> [UInt8] {
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
        ChangeBatchWriter.append(keys, to: &bytes)
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
                    writer.append(Self.linked(chunk.view(row), column), to: &bytes)
                }
                key += max(1, count)
            }
        }
        return bytes
    }

    /// Links lie in their column without the class they belong to.
    private static func linked(_ value: ValueView, _ column: StoredColumn) -> ValueView {
        guard value.kindNumber == ValueKind.link.rawValue, let target = column.target else { return value }
        return .link(ObjectLink(table: target, key: value.linkValue.key))
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
                owners.begin(key)
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
            writer.append(try table.listElement(column.key, key, index), to: &bytes)
        }
    }

    private mutating func addElements(
        _ table: TableView, _ column: StoredColumn, _ key: ObjectKey, _ range: Range<Int>, to bytes: inout [UInt8]
    ) throws(DatabaseError) {
        var found = 0
        var values: [UInt8] = []
        var writer = self.writer
        try table.listValues(column.key, key, from: range.lowerBound, limit: range.count) { chunk, elements in
            for index in elements {
                writer.append(Self.linked(chunk.view(index), column), to: &values)
                found += 1
            }
        }
        self.writer = writer
        guard found == range.count else {
            throw .corrupted("a list of \(table.layout.stored.name) has fewer elements than the change log says")
        }
        bytes.append(contentsOf: values)
    }

    /// Objects with what is said of each, named by the gap from the one before.
    private struct Owners {
        var bytes: [UInt8] = []
        private(set) var count = 0
        private var next: Int64 = 0

        mutating func begin(_ key: Int64) {
            bytes.append(varint: UInt64(key - next))
            next = key + 1
            count += 1
        }
    }

    private mutating func add(_ owners: Owners, _ table: TableView, _ column: StoredColumn) {
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

    // MARK: Objects that changed

    private mutating func addSet(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        for part in changed.columns {
            guard let column = table.layout.stored.column(part.column), !column.isList else { continue }
            var bytes = head(table, column)
            bytes.append(varint: part.keys.count)
            var next: Int64 = 0
            for key in part.keys {
                bytes.append(varint: UInt64(key - next))
                next = key + 1
            }
            for key in part.keys {
                writer.append(try table.value(column.key, ObjectKey(key)), to: &bytes)
            }
            writer.add(.set, bytes)
        }
    }

    private mutating func addLists(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        var done: Set<ColumnKey> = []
        for name in changed.lists.map(\.column) where done.insert(name).inserted {
            guard let column = table.layout.stored.column(name), column.collection == .list else { continue }
            var owners = Owners()
            for list in changed.lists where list.column == name {
                let count = try table.listCount(name, ObjectKey(list.owner))
                guard let replay = ListEdits(list.operations, newCount: count) else {
                    throw .corrupted("the change log has edits that do not fit a list of \(table.layout.stored.name)")
                }
                let edits = replay.edits
                guard !edits.isEmpty else { continue }
                owners.begin(list.owner)
                owners.bytes.append(varint: replay.oldCount)
                owners.bytes.append(varint: edits.count)
                for edit in edits { try add(edit, table, column, ObjectKey(list.owner), to: &owners.bytes) }
            }
            add(owners, table, column)
        }
    }

    private mutating func add(
        _ edit: ListEdits.Edit, _ table: TableView, _ column: StoredColumn, _ key: ObjectKey, to bytes: inout [UInt8]
    ) throws(DatabaseError) {
        switch edit {
        case .insert(let index, let count):
            bytes.append(1)
            bytes.append(varint: index)
            bytes.append(varint: count)
            try addElements(table, column, key, index ..< index + count, to: &bytes)
        case .remove(let index, let count):
            bytes.append(2)
            bytes.append(varint: index)
            bytes.append(varint: count)
        case .set(let index, let count):
            bytes.append(3)
            bytes.append(varint: index)
            bytes.append(varint: count)
            try addElements(table, column, key, index ..< index + count, to: &bytes)
        case .move(let index, let destination):
            bytes.append(4)
            bytes.append(varint: index)
            bytes.append(varint: destination)
        }
    }

    private mutating func addSets(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        var done: Set<ColumnKey> = []
        for name in changed.lists.map(\.column) where done.insert(name).inserted {
            guard let column = table.layout.stored.column(name), column.collection == .set else { continue }
            var owners = Owners()
            for list in changed.lists where list.column == name {
                let count = try table.listCount(name, ObjectKey(list.owner))
                owners.begin(list.owner)
                owners.bytes.append(varint: count)
                try addElements(table, column, ObjectKey(list.owner), 0 ..< count, to: &owners.bytes)
            }
            add(owners, table, column)
        }
    }

    private mutating func addMaps(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        var done: Set<ColumnKey> = []
        for name in changed.maps.map(\.column) where done.insert(name).inserted {
            guard let column = table.layout.stored.column(name), column.collection == .map else { continue }
            var owners = Owners()
            for map in changed.maps where map.column == name && !map.changes.isEmpty {
                owners.begin(map.owner)
                owners.bytes.append(varint: map.changes.count)
                for change in map.changes {
                    let place = try change.key.withBytes { key throws(DatabaseError) in
                        try table.mapFind(name, ObjectKey(map.owner), key)
                    }
                    owners.bytes.append(varint: change.key.count)
                    owners.bytes.append(contentsOf: change.key)
                    owners.bytes.append(place == nil ? 2 : 1)
                    guard let place else { continue }
                    writer.append(try table.listElement(name, ObjectKey(map.owner), place), to: &owners.bytes)
                }
            }
            add(owners, table, column)
        }
    }
}
