/// Every object that can still be read of a damaged file, one by one, with the properties that can be read.
///
/// Nothing is believed that is not needed: a chunk that fails its checksum loses its properties of those objects and no
/// others, live bitmaps that are damaged count as "all live", a table's state is made up from its chunks if need be,
/// and a schema that cannot be read is made up too, with numbers for names. A chunk that is not there means default
/// values only where no page was lost that may have led to it; otherwise its properties are lost too.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

package enum SalvagedContent {
    case value(Value)
    case elements([Value])
    /// In the order of the keys.
    case entries([(key: String, value: Value)])
}

package struct SalvagedObject {
    package let className: String
    package let key: Int64
    package let properties: [(name: String, content: SalvagedContent)]
}

package struct SalvageReport: Sendable {
    package internal(set) var objects = 0
    /// Sentences about what could not be read.
    package internal(set) var losses: [String] = []
}

extension DamagedFile {
    /// Calls `visit` with each object of the newest version; what it throws ends the walk.
    package func salvage(
        progress: MaintenanceProgressHandler? = nil, _ visit: (SalvagedObject) throws(DatabaseError) -> Void
    ) throws(DatabaseError) -> SalvageReport {
        let newest = try database.pages.snapshot()
        var losses = losses
        let catalog: Catalog
        do throws(DatabaseError) {
            guard let record = try newest.get(PageKeys.catalog) else {
                throw .corrupted("the stored schema is missing")
            }
            catalog = try Catalog.decode(record.bytes)
        } catch {
            losses.append("the schema: \(error.damage); classes and properties go by their numbers")
            catalog = try Catalog.guessed(from: newest)
        }
        if older.contains([UInt8](PageKeys.catalog)) {
            losses.append("the schema may be of an older version: classes and properties that came since are lost")
        }
        let source = Snapshot(
            pages: newest, catalog: catalog, counters: database.counters,
            rowGroupSize: try database.pages.header.rowGroupSize)
        var walk = SalvageWalk(source, losses, self, progress)
        return try walk.run(visit)
    }
}

private struct SalvageWalk {
    let source: Snapshot
    var report = SalvageReport()
    let gaps: [KeyGap]
    let older: Set<[UInt8]>
    let progress: MaintenanceProgressHandler?
    private var tableWithoutBitmaps: TableKey?

    init(_ source: Snapshot, _ losses: [String], _ file: DamagedFile, _ progress: MaintenanceProgressHandler?) {
        self.source = source
        report.losses = losses
        gaps = file.gaps
        older = file.older
        self.progress = progress
    }

    mutating func run(_ visit: (SalvagedObject) throws(DatabaseError) -> Void) throws(DatabaseError) -> SalvageReport {
        let tables = source.catalog.tables
        for (number, table) in tables.enumerated() {
            do throws(DatabaseError) {
                let view = try view(of: table)
                for rowGroup in 0 ..< view.rowGroupCount {
                    if rowGroup & 0xFF == 0xFF {
                        // Classes are steps of a thousand parts.
                        let done = number * 1_000 + rowGroup * 1_000 / view.rowGroupCount
                        try progress?(MaintenanceProgress(done: done, total: tables.count * 1_000))
                    }
                    try salvage(view, rowGroup, visit)
                }
            } catch {
                // Errors of damaged bytes are caught where they are met; what comes here is the visitor's.
                guard error.code == .corrupted || error.code == .unsupportedFormat else { throw error }
                report.losses.append("class \(table.name): \(error.damage)")
            }
            try progress?(MaintenanceProgress(done: (number + 1) * 1_000, total: tables.count * 1_000))
        }
        report.losses += source.replicationLosses
        return report
    }

    /// Whether a page of the store is missing that may have been there.
    private func isLost(_ key: [UInt8]) throws(DatabaseError) -> Bool {
        guard isInGap(key) else { return false }
        return try source.pages.get(key) == nil
    }

    private func isInGap(_ key: [UInt8]) -> Bool { gaps.contains { $0.contains(key) } }

    private func checkIsNotLost(
        _ view: TableView, _ column: ColumnKey, _ rowGroup: Int
    ) throws(DatabaseError) {
        guard rowGroup < view.directory.regularCount else { return }
        if try isLost(PageKeys.chunk(view.key, column, rowGroup)) {
            throw .corrupted("it was on a damaged page, or below one")
        }
    }

    private mutating func view(of table: StoredTable) throws(DatabaseError) -> TableView {
        do throws(DatabaseError) {
            let key = PageKeys.tableState(table.key)
            // A state that is missing altogether reads as an empty class.
            if try source.pages.get(key) == nil {
                let hasChunks = try source.hasChunks(table.key)
                if hasChunks || isInGap(key) { throw .corrupted("it is missing") }
            }
            let view = try source.table(table.key)
            // One from an older page does not know what was added since to chunks that are there.
            if isInGap(key),
                view.directory.state.nextKey < (try source.guessedState(of: table)).nextKey
            {
                throw .corrupted("it is older than its chunks")
            }
            if older.contains(key) {
                report.losses.append(
                    "the state of class \(table.name) may be of an older version: objects from "
                        + "\(view.directory.state.nextKey) on that were added since are lost")
            }
            return view
        } catch {
            report.losses.append(
                "the state of class \(table.name): \(error.damage); its objects are counted again, and those behind "
                    + "the last chunk that is left are lost")
            let state = try source.guessedState(of: table)
            let directory = TableDirectory(
                TableLayout(table, catalog: source.catalog), pages: source.pages,
                rowGroupSize: source.rowGroupSize, counters: source.counters, state: state)
            return TableView(directory: directory, writer: nil, source: source)
        }
    }

    private mutating func salvage(
        _ view: TableView, _ rowGroup: Int, _ visit: (SalvagedObject) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let name = view.type.name
        let first = view.directory.firstKey(rowGroup)
        let count = view.directory.rowCount(rowGroup)
        var keys: [Int64]
        do throws(DatabaseError) { keys = try liveKeys(view, rowGroup) } catch {
            report.losses.append(
                "which objects of \(name) from \(first) are deleted: \(error.damage); all are taken")
            keys = Array(first ..< first + Int64(count))
        }
        let state = view.directory.state
        // Most row groups have none, so this is said once for a class.
        if state.liveCount < state.nextKey, rowGroup < view.directory.regularCount, tableWithoutBitmaps != view.key,
            try isLost(PageKeys.liveBitmap(view.key, rowGroup))
        {
            tableWithoutBitmaps = view.key
            report.losses.append(
                "which objects of \(name) from \(first) on are deleted: some of it may have been on a damaged page, "
                    + "or below one; where it is missing all are taken")
        }
        guard !keys.isEmpty else { return }
        letGo(view)
        var columns = try columns(view, rowGroup, isFirst: true)
        guard !columns.isEmpty else { return }
        for key in keys {
            // Long values take more than their row group.
            if letGo(view) { columns = try self.columns(view, rowGroup, isFirst: false) }
            var properties: [(String, SalvagedContent)] = []
            for (slot, chunk) in columns {
                let column = view.layout.columns[slot]
                if let chunk {
                    do throws(DatabaseError) {
                        properties.append((column.name, .value(try Self.value(chunk, Int(key - first), column))))
                    } catch {
                        report.losses.append(
                            "\(name).\(column.name) of object \(key): \(error.damage)")
                    }
                } else if let content = elements(view, slot, rowGroup, key) {
                    properties.append((column.name, content))
                }
            }
            report.objects += 1
            try visit(SalvagedObject(className: name, key: key, properties: properties))
        }
    }

    /// Lets memory go where it is wanted for other pages; true where chunks have to be asked for again.
    @discardableResult
    private func letGo(_ view: TableView) -> Bool {
        guard source.isMemoryWanted else { return false }
        if !source.has(view.directory) { view.directory.forgetPlaces() }
        source.releaseMemory()
        return true
    }

    /// The chunks that can be read; nil for collections. What is lost is reported the first time.
    private mutating func columns(
        _ view: TableView, _ rowGroup: Int, isFirst: Bool
    ) throws(DatabaseError) -> [(slot: Int, chunk: ColumnChunk?)] {
        var columns: [(slot: Int, chunk: ColumnChunk?)] = []
        for (slot, column) in view.layout.columns.enumerated() where !column.isMapKeys {
            do throws(DatabaseError) {
                try checkIsNotLost(view, column.key, rowGroup)
                if let keys = column.keyColumn { try checkIsNotLost(view, keys, rowGroup) }
                if column.collection == .none {
                    columns.append((slot, try view.directory.chunk(slot, rowGroup)))
                } else {
                    _ = try view.directory.listChunk(slot, rowGroup)
                    if let keys = column.keyColumn {
                        _ = try view.directory.listChunk(try view.layout.slot(keys), rowGroup)
                    }
                    columns.append((slot, nil))
                }
            } catch {
                guard isFirst else { continue }
                let first = view.directory.firstKey(rowGroup)
                let last = first + Int64(view.directory.rowCount(rowGroup)) - 1
                report.losses.append(
                    "\(view.type.name).\(column.name) of objects \(first) to \(last): " + error.damage)
            }
        }
        return columns
    }

    /// With the bitmap of this row group alone: a damaged one must not bring back what others say is deleted.
    private func liveKeys(_ view: TableView, _ rowGroup: Int) throws(DatabaseError) -> [Int64] {
        // A damaged row group is what salvage is for: the other way to its rows follows.
        if let rows = try? view.rowGroup(rowGroup) { return rows.liveKeys }
        let first = view.directory.firstKey(rowGroup)
        let count = view.directory.rowCount(rowGroup)
        let all = first ..< first + Int64(count)
        let bitmap: LiveBitmap
        if rowGroup < view.directory.regularCount {
            let key = PageKeys.liveBitmap(view.key, rowGroup)
            guard let found = try source.pages.get(key) else { return Array(all) }
            bitmap = try LiveBitmap.decode(found.bytes, key: key, rowCount: count, isOlder: true)
        } else {
            let key = PageKeys.openGroup(view.key)
            guard let openGroup = try source.pages.get(key) else { return [] }
            let directory = try OpenGroup.decode(openGroup.bytes, pageKey: key)
            guard !directory.live.isEmpty else { return Array(all) }
            bitmap = try LiveBitmap.decode(
                UnsafeRawBufferPointer(rebasing: openGroup.bytes[directory.live]), key: key, rowCount: count,
                isOlder: true)
        }
        // Rows that came after an older one count as live.
        return all.filter { Int($0 - first) >= bitmap.rowCount || bitmap.isLive(Int($0 - first)) }
    }

    private static func value(
        _ chunk: ColumnChunk, _ row: Int, _ column: StoredColumn
    ) throws(DatabaseError) -> Value {
        try chunk.checkLongText(row)
        var view = chunk.view(row)
        if view.kindNumber == ValueKind.link.rawValue, let target = column.target { view.aux = target.rawValue }
        return view.owned
    }

    /// As many elements as can be read; of a long list with a damaged part those before it, and nil where that is
    /// none: an empty list would be a value.
    private mutating func elements(_ view: TableView, _ slot: Int, _ rowGroup: Int, _ key: Int64) -> SalvagedContent? {
        let column = view.layout.columns[slot]
        guard let values = self.values(view, slot, rowGroup, key) else { return nil }
        // A map whose column of keys is lost has elements at most.
        guard let keys = column.keyColumn, let keySlot = try? view.layout.slot(keys) else { return .elements(values) }
        guard let names = self.values(view, keySlot, rowGroup, key) else { return nil }
        // Where some are lost, the others still pair up from the beginning.
        return .entries(
            zip(names, values).map { name, value in
                if case .string(let text) = name { return (text, value) }
                return ("", value)
            })
    }

    private mutating func values(_ view: TableView, _ slot: Int, _ rowGroup: Int, _ key: Int64) -> [Value]? {
        let column = view.layout.columns[slot]
        var values: [Value] = []
        do throws(DatabaseError) {
            let chunk = try view.directory.listChunk(slot, rowGroup)
            let row = Int(key - view.directory.firstKey(rowGroup))
            if chunk.isExternal(row) {
                let count = chunk.elementCount(row)
                try view.directory.longList(slot, ObjectKey(key)).forEach(
                    0 ..< count, of: count
                ) { (part, range) throws(DatabaseError) in
                    for element in range { values.append(try Self.value(part, element, column)) }
                }
            } else {
                for element in chunk.range(row) { values.append(try Self.value(chunk.elements, element, column)) }
            }
        } catch {
            report.losses.append(
                "\(view.type.name).\(column.name) of object \(key) after \(values.count) elements: "
                    + error.damage)
            if values.isEmpty { return nil }
        }
        return values
    }
}

extension Snapshot {
    private func rowCount(_ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> Int? {
        guard let (kind, isList) = bytes.first.flatMap(ColumnKind.ofChunk) else { return nil }
        let source = StoredLongValues(TableKey(0), ColumnKey(0), pages)
        var texts: LongTexts?
        if isList {
            return
                // Whether it can be decoded is the question here; damaged chunks have no rows.
                (try? ListChunk(validating: bytes, elementKind: kind, key: key, long: source, keeping: &texts))?.count
        }
        // As above.
        return (try? ColumnChunk(validating: bytes, kind: kind, key: key, long: source, keeping: &texts))?.count
    }

    fileprivate func hasChunks(_ table: TableKey) throws(DatabaseError) -> Bool {
        let prefix = PageKeys.chunks(table)
        let cursor = try pages.makeCursor()
        let found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        if found, cursor.key.starts(with: prefix) { return true }
        return try pages.get(PageKeys.openGroup(table)) != nil
    }

    /// From the chunks and the open row group that are there; all rows count as live.
    fileprivate func guessedState(of table: StoredTable) throws(DatabaseError) -> TableState {
        var state = TableState()
        let prefix = PageKeys.chunks(table.key)
        var cursor = try pages.makeCursor()
        var found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        var rowGroups: [Int64: Int] = [:]
        while found, cursor.key.starts(with: prefix) {
            if cursor.key.count == 13 {
                let rowGroup = cursor.key[9 ..< 13].reduce(Int64(0)) { $0 << 8 | Int64($1) }
                // Only of a chunk that is whole.
                if let rows = rowCount(cursor.value.bytes, key: cursor.key), rows <= FileHeader.mostRowGroupSize {
                    rowGroups[rowGroup] = max(rowGroups[rowGroup] ?? 0, rows)
                }
            }
            if isMemoryWanted { cursor = try pages.makeCursor(at: cursor, after: { releaseMemory() }) }
            found = try cursor.next()
        }
        // All but the last are full.
        let highest = rowGroups.keys.max()
        let full = max(1, rowGroups.filter { $0.key != highest }.values.max() ?? rowGroupSize)
        // Somebody may have put a chunk further back than there can be row groups.
        let most = TableState.mostKeys(rowGroupSize: full, entries: pages.mostEntryCount)
        if let last = rowGroups.keys.filter({ $0 < most / Int64(full) }).max() {
            if full != rowGroupSize { state.ownRowGroupSize = full }
            state.nextKey = last * Int64(full) + Int64(min(rowGroups[last] ?? 0, full))
        }
        state.openGroupFirstKey = state.nextKey
        let key = PageKeys.openGroup(table.key)
        // A damaged open row group has no rows to be counted.
        if let openGroup = try pages.get(key), let directory = try? OpenGroup.decode(openGroup.bytes, pageKey: key) {
            let end = directory.firstKey + Int64(directory.rowCount)
            // An older one may have been folded into chunks since.
            if directory.firstKey >= state.nextKey, end <= most {
                state.openGroupFirstKey = directory.firstKey
                state.nextKey = end
            }
        }
        state.liveCount = max(0, state.nextKey - 1)
        return state
    }
}

extension Catalog {
    /// What chunks and open row groups say of a schema that is lost. Links lead nowhere, since their classes are not in
    /// chunks.
    fileprivate static func guessed(from pages: PageSnapshot) throws(DatabaseError) -> Catalog {
        var tables: [UInt32: [UInt32: (kind: ColumnKind, isList: Bool)]] = [:]
        func number(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
            bytes[offset ..< offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        func add(_ table: UInt32, _ column: UInt32, _ chunk: UnsafeRawBufferPointer) {
            guard let found = chunk.first.flatMap(ColumnKind.ofChunk), table < Catalog.keyLimit,
                column < StoredTable.columnKeyLimit
            else { return }
            tables[table, default: [:]][column] = found
        }
        var cursor = try pages.makeCursor()
        var found = try PageKeys.catalog.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found, let space = cursor.key.first, space <= KeySpace.chunks {
            if space == KeySpace.chunks, cursor.key.count == 13 {
                add(number(cursor.key, 1), number(cursor.key, 5), cursor.value.bytes)
            } else if space == KeySpace.openGroups, cursor.key.count == 5 {
                let table = number(cursor.key, 1)
                // A damaged open row group names no columns.
                let directory = try? OpenGroup.decode(cursor.value.bytes, pageKey: [UInt8](cursor.key))
                for column in directory?.columns ?? [] {
                    add(table, column.key.rawValue, UnsafeRawBufferPointer(rebasing: cursor.value.bytes[column.bytes]))
                }
            }
            if let hold = pages.hold, hold.isDue {
                cursor = try pages.makeCursor(at: cursor, after: { hold.renew() })
            }
            found = try cursor.next()
        }
        return Catalog(
            schemaVersion: 0, changedIn: 0, nextTableKey: (tables.keys.max() ?? 0) + 1, nextIndexKey: 1,
            tables: tables.keys.sorted().map { guessed($0, tables[$0] ?? [:]) })
    }

    private static func guessed(_ table: UInt32, _ columns: [UInt32: (kind: ColumnKind, isList: Bool)]) -> StoredTable {
        StoredTable(
            key: TableKey(table), name: "table\(table)", nextColumnKey: (columns.keys.max() ?? 0) + 1,
            columns: columns.keys.sorted().compactMap { key in
                guard let column = columns[key], let type = PropertyType(rawValue: UInt32(column.kind.rawValue)) else {
                    return nil
                }
                return StoredColumn(
                    key: ColumnKey(key), name: "column\(key)", type: type, collection: column.isList ? .list : .none,
                    isNullable: true, isPrimaryKey: false, isIndexed: false, target: nil, index: nil, kind: column.kind)
            }, inverses: [])
    }

}
