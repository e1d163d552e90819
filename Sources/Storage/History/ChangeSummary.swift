/// What changed between two versions: the fold of the change records after one and through another.
///
/// Only the net effect counts, as within one record: an object inserted and deleted in the range is in neither set, and
/// inserted or deleted objects are not modified. Everything is sorted, so that positions in results are patched with
/// merges and searches. Since keys are never reused, the order of the records does not matter, except for lists and
/// values.
import MotteValues

package struct ChangeSummary: Equatable, Sendable {
    package struct Table: Equatable, Sendable {
        package let table: TableKey
        package let inserted: KeyRuns
        /// May name keys that no longer existed at `from`.
        package let deleted: KeyRuns
        /// By column, ascending; a changed list counts as a modification of its owner.
        package let columns: [Column]
        /// Every key that is in one of the columns, ascending.
        package let modifiedKeys: [Int64]
        /// By column, then owner.
        package let lists: [List]
        /// Changed keys of maps, by column, then owner.
        package let maps: [Map]
        /// Edits within mixed values, by column, then owner.
        package let nested: [Nested]

        /// The columns of an object that were set or, being lists, edited; ascending.
        package func columns(modifying key: Int64) -> [ColumnKey] {
            columns.compactMap { $0.contains(key) ? $0.column : nil }
        }

        /// Every inserted, deleted and modified key once, in no order.
        package func forEachTouchedKey(_ body: (Int64) -> Void) {
            for run in inserted.runs { for key in run { body(key) } }
            for run in deleted.runs { for key in run { body(key) } }
            for key in modifiedKeys { body(key) }
        }

        /// Which blocks of `blockRows` consecutive keys hold touched keys below `end`, without looking at each key of a
        /// run.
        package func touchedBlocks(of blockRows: Int, below end: Int64) -> Set<Int> {
            let size = Int64(max(1, blockRows))
            var blocks: Set<Int> = []
            for run in inserted.runs + deleted.runs where run.lowerBound < end {
                let last = (min(run.upperBound, end) - 1) / size
                for block in run.lowerBound / size ... last { blocks.insert(Int(block)) }
            }
            var next: Int64 = 0
            for key in modifiedKeys where key >= next {
                blocks.insert(Int(key / size))
                next = (key / size + 1) * size
            }
            return blocks
        }

        package func column(_ key: ColumnKey) -> Column? { columns.first { $0.column == key } }

        package func list(_ column: ColumnKey, _ owner: Int64) -> List? {
            lists.first { $0.column == column && $0.owner == owner }
        }

        package func map(_ column: ColumnKey, _ owner: Int64) -> Map? {
            maps.first { $0.column == column && $0.owner == owner }
        }

        package func nested(_ column: ColumnKey, _ owner: Int64) -> Nested? {
            nested.first { $0.column == column && $0.owner == owner }
        }
    }

    package struct Column: Equatable, Sendable {
        package let column: ColumnKey
        /// Ascending.
        package let keys: [Int64]

        package func contains(_ key: Int64) -> Bool { ChangeSummary.search(keys, key) != nil }
    }

    package struct List: Equatable, Sendable {
        package let column: ColumnKey
        package let owner: Int64
        package let operations: [ListOperation]
    }

    package struct Map: Equatable, Sendable {
        package let column: ColumnKey
        package let owner: Int64
        /// One for each key, ascending; the net effect.
        package let changes: [MapChange]
    }

    package struct Nested: Equatable, Sendable {
        package let column: ColumnKey
        package let owner: Int64
        package let operations: [NestedOperation]
    }

    package let from: Version
    package let to: Version
    package let schemaChanged: Bool
    /// In a way that batches of changes do not carry over.
    package let breaksSchema: Bool
    /// Touched tables, ascending.
    package let tables: [Table]
    /// Keys of the pages that were written of what the file keeps of others, ascending.
    let replicaPages: [[UInt8]]
    /// The records, oldest first, for the values they keep.
    package let records: [ChangeRecord]

    package var isEmpty: Bool { tables.isEmpty && !schemaChanged }

    /// How many things it names, more or less.
    var size: Int {
        var size = 0
        for table in tables {
            size += table.columns.reduce(table.inserted.runs.count + table.deleted.runs.count) { $0 + $1.keys.count }
            size += table.lists.reduce(0) { $0 + $1.operations.count } + table.maps.reduce(0) { $0 + $1.changes.count }
            size += table.nested.reduce(0) { $0 + $1.operations.count }
        }
        return size
    }

    package func table(_ key: TableKey) -> Table? { tables.first { $0.table == key } }

    /// `records` are those of the versions after `from` through `to`, oldest first.
    package init(_ records: [ChangeRecord], from: Version, to: Version) {
        self.from = from
        self.to = to
        self.records = records
        schemaChanged = records.contains { $0.schemaChanged }
        breaksSchema = records.contains { $0.breaksSchema }
        replicaPages =
            records.contains { !$0.replicaPages.isEmpty }
            ? Set(records.flatMap(\.replicaPages)).sorted { $0.lexicographicallyPrecedes($1) } : []
        var parts: [TableKey: [ChangeRecord.Table]] = [:]
        for record in records {
            for table in record.tables { parts[table.table, default: []].append(table) }
        }
        tables = parts.keys.sorted().compactMap { key in Self.fold(key, parts[key] ?? []) }
    }

    /// Of changes that no record tells of.
    init(_ tables: [Table], from: Version, to: Version) {
        self.from = from
        self.to = to
        self.tables = tables
        (schemaChanged, breaksSchema) = (false, false)
        (records, replicaPages) = ([], [])
    }

    // MARK: Values

    /// The property at `from`, if the log kept it; nil if it is unchanged or not known.
    package func oldValue(
        _ table: TableKey, _ column: ColumnKey, _ key: Int64
    ) throws(DatabaseError) -> LoggedValue? {
        for record in records {
            if let (part, index) = Self.find(table, column, key, in: record) { return try part.values(index)?.before }
        }
        return nil
    }

    /// The property at `to`, with the same limits.
    package func newValue(
        _ table: TableKey, _ column: ColumnKey, _ key: Int64
    ) throws(DatabaseError) -> LoggedValue? {
        for record in records.reversed() {
            if let (part, index) = Self.find(table, column, key, in: record) { return try part.values(index)?.after }
        }
        return nil
    }

    private static func find(
        _ table: TableKey, _ column: ColumnKey, _ key: Int64, in record: ChangeRecord
    ) -> (ChangeRecord.Column, Int)? {
        guard let changes = record.tables.first(where: { $0.table == table }),
            let part = changes.columns.first(where: { $0.column == column }), let index = search(part.keys, key)
        else { return nil }
        return (part, index)
    }

    // MARK: Folding

    private static func fold(_ key: TableKey, _ parts: [ChangeRecord.Table]) -> Table? {
        var inserted = KeyRuns()
        var deleted = KeyRuns()
        var columnKeys: [ColumnKey: [[Int64]]] = [:]
        var lists: [ListName: [ListOperation]] = [:]
        var maps: [ListName: MapChanges] = [:]
        var nested: [ListName: [NestedOperation]] = [:]
        for part in parts {
            inserted.formUnion(part.inserted)
            deleted.formUnion(part.deleted)
            for column in part.columns { columnKeys[column.column, default: []].append(column.keys) }
            for list in part.lists {
                lists[ListName(column: list.column, owner: list.owner), default: []].append(contentsOf: list.operations)
            }
            for map in part.maps {
                let name = ListName(column: map.column, owner: map.owner)
                for change in map.changes { maps[name, default: MapChanges()].add(change.key, change.kind) }
                if map.changes.isEmpty { maps[name] = maps[name] ?? MapChanges() }
            }
            for values in part.nested {
                nested[ListName(column: values.column, owner: values.owner), default: []] += values.operations
            }
        }
        let orderedLists = lists.keys.sorted()
        let orderedMaps = maps.keys.sorted()
        let orderedNested = nested.keys.sorted()
        for name in orderedLists + orderedMaps + orderedNested {
            columnKeys[name.column, default: []].append([name.owner])
        }
        let columns = columnKeys.keys.sorted().compactMap { column -> Column? in
            var keys = union(columnKeys[column] ?? [])
            keys = deleted.removing(from: inserted.removing(from: keys))
            return keys.isEmpty ? nil : Column(column: column, keys: keys)
        }
        func isKept(_ name: ListName) -> Bool { !inserted.contains(name.owner) && !deleted.contains(name.owner) }
        let table = Table(
            table: key, inserted: inserted.subtracting(deleted), deleted: deleted.subtracting(inserted),
            columns: columns, modifiedKeys: union(columns.map(\.keys)),
            lists: orderedLists.filter(isKept).map {
                List(column: $0.column, owner: $0.owner, operations: lists[$0] ?? [])
            },
            maps: orderedMaps.filter(isKept).map {
                Map(column: $0.column, owner: $0.owner, changes: maps[$0]?.sorted ?? [])
            },
            nested: orderedNested.filter(isKept).map {
                Nested(column: $0.column, owner: $0.owner, operations: nested[$0] ?? [])
            })
        return table.inserted.isEmpty && table.deleted.isEmpty && columns.isEmpty ? nil : table
    }

    private struct ListName: Hashable, Comparable {
        let column: ColumnKey
        let owner: Int64
        static func < (left: ListName, right: ListName) -> Bool {
            left.column != right.column ? left.column < right.column : left.owner < right.owner
        }
    }

    private static func union(_ runs: [[Int64]]) -> [Int64] {
        guard runs.count > 1 else { return runs.first ?? [] }
        var all = runs.flatMap { $0 }
        all.sort()
        var kept = 0
        for index in all.indices where index == 0 || all[index] != all[kept - 1] {
            all[kept] = all[index]
            kept += 1
        }
        all.removeSubrange(kept...)
        return all
    }

    fileprivate static func search(_ keys: [Int64], _ key: Int64) -> Int? {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < keys.count && keys[low] == key ? low : nil
    }
}
