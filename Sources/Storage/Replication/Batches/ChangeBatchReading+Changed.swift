/// Objects that were there and changed, as sections of a batch.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension ChangeBatchReading {
    // MARK: Objects that changed

    /// What is said of objects, in the order in which the batch calls them.
    private func called<Change>(
        _ changes: [Change], _ table: TableView, _ owner: (Change) -> Int64
    ) throws(DatabaseError) -> [(Int64, Change)] {
        guard naming != nil else { return changes.map { (owner($0), $0) } }
        var called: [(Int64, Change)] = []
        for change in changes { called.append((try name(table, owner(change)), change)) }
        return called.sorted { $0.0 < $1.0 }
    }

    mutating func addSet(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        for part in changed.columns {
            guard let column = table.layout.stored.column(part.column), !column.isList else { continue }
            var bytes = head(table, column)
            bytes.append(varint: part.keys.count)
            var next: Int64 = 0
            let ordered = try named(table, part.keys)
            for (name, _) in ordered {
                bytes.append(varint: UInt64(name - next))
                next = name + 1
            }
            for (_, key) in ordered { try append(try table.value(column.key, ObjectKey(key)), column, to: &bytes) }
            writer.add(.set, bytes)
        }
    }

    mutating func addLists(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        var done: Set<ColumnKey> = []
        for columnKey in changed.lists.map(\.column) where done.insert(columnKey).inserted {
            guard let column = table.layout.stored.column(columnKey), column.collection == .list else { continue }
            var owners = Owners()
            for (owner, list) in try called(changed.lists.filter { $0.column == column.key }, table, \.owner) {
                let count = try table.listCount(column.key, ObjectKey(list.owner))
                guard let replay = ListEdits(list.operations, newCount: count) else {
                    throw .corrupted("the change log has edits that do not fit a list of \(table.layout.stored.name)")
                }
                let edits = replay.edits
                guard !edits.isEmpty else { continue }
                owners.begin(owner)
                owners.bytes.append(varint: replay.oldCount)
                owners.bytes.append(varint: edits.count)
                for edit in edits { try add(edit, table, column, ObjectKey(list.owner), to: &owners.bytes) }
            }
            add(owners, table, column)
        }
    }

    mutating func add(
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

    mutating func addSets(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        var done: Set<ColumnKey> = []
        for columnKey in changed.lists.map(\.column) where done.insert(columnKey).inserted {
            guard let column = table.layout.stored.column(columnKey), column.collection == .set else { continue }
            var owners = Owners()
            for (owner, list) in try called(changed.lists.filter { $0.column == column.key }, table, \.owner) {
                let count = try table.listCount(column.key, ObjectKey(list.owner))
                owners.begin(owner)
                owners.bytes.append(varint: count)
                try addElements(table, column, ObjectKey(list.owner), 0 ..< count, to: &owners.bytes)
            }
            add(owners, table, column)
        }
    }

    mutating func addMaps(_ changed: ChangeSummary.Table, _ table: TableView) throws(DatabaseError) {
        var done: Set<ColumnKey> = []
        for columnKey in changed.maps.map(\.column) where done.insert(columnKey).inserted {
            guard let column = table.layout.stored.column(columnKey), column.collection == .map else { continue }
            var owners = Owners()
            let maps = changed.maps.filter { $0.column == column.key && !$0.changes.isEmpty }
            for (owner, map) in try called(maps, table, \.owner) {
                owners.begin(owner)
                owners.bytes.append(varint: map.changes.count)
                for change in map.changes {
                    let place = try change.key.withBytes { key throws(DatabaseError) in
                        try table.mapFind(column.key, ObjectKey(map.owner), key)
                    }
                    owners.bytes.append(varint: change.key.count)
                    owners.bytes.append(contentsOf: change.key)
                    owners.bytes.append(place == nil ? 2 : 1)
                    guard let place else { continue }
                    let element = try table.listElement(column.key, ObjectKey(map.owner), place)
                    try append(element, column, to: &owners.bytes)
                }
            }
            add(owners, table, column)
        }
    }
}
