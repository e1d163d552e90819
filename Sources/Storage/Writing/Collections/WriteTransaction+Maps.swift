/// Editing maps. A map is two lists in step: its keys, sorted by their bytes, in a column that users do not see, and
/// beside it the values. The change log has the keys that came, changed and went.
import MotteColumns
import MotteSchemaModel
import MotteValues

struct MapEdit {
    var values: ListEdit
    var keys: ListEdit

    func find(_ mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> (index: Int, isThere: Bool) {
        try keys.find(.string(mapKey))
    }

    func keyText(_ index: Int) throws(DatabaseError) -> String {
        String(decoding: try keys.view(index).bytes, as: UTF8.self)
    }
}

extension WriteTransaction {
    /// True if the key is new.
    @discardableResult
    package func mapPut(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ mapKey: UnsafeRawBufferPointer, _ value: ValueView
    ) throws(DatabaseError) -> Bool {
        let before = changeCount
        defer { settle(since: before) }
        return try withOwned(mapKey, value) { mapKey, value throws(DatabaseError) in
            try putOwned(table, column, key, mapKey, value)
        }
    }

    private func putOwned(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ mapKey: UnsafeRawBufferPointer, _ value: ValueView
    ) throws(DatabaseError) -> Bool {
        var map = try beginMap(table, column, key)
        let stored = map.values.column
        try ValueCheck.checkMapKey(mapKey, stored, map.values.stored)
        if isOwner(stored), !adoptsEmbedded { return try putEmbedded(&map, mapKey, value) }
        let fitted = try fittedElement(value, map.values)
        return try put(&map, mapKey, fitted)
    }

    /// False if there is no such key.
    @discardableResult
    package func mapRemove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ mapKey: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> Bool {
        let before = changeCount
        defer { settle(since: before) }
        var map = try beginMap(table, column, key)
        let found = try map.find(mapKey)
        guard found.isThere else { return false }
        try completing { () throws(DatabaseError) in
            recorder.mapChanged(table, column, key, mapKey, .removed)
            try removeEntries(found.index ..< found.index + 1, &map)
        }
        return true
    }

    package func mapClear(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        var map = try beginMap(table, column, key)
        guard map.keys.count > 0 else { return }
        try completing { () throws(DatabaseError) in
            try map.keys.forEach(0 ..< map.keys.count) { _, mapKey in
                recorder.mapChanged(table, column, key, mapKey.bytes, .removed)
            }
            try removeEntries(0 ..< map.keys.count, &map)
        }
    }

    private func removeEntries(_ range: Range<Int>, _ map: inout MapEdit) throws(DatabaseError) {
        let children = try embeddedChildren(range, map.values)
        try map.values.forEach(range) { index, value throws(DatabaseError) in
            try recordEnd(of: value, map.values, at: .key(map.keyText(index)))
            unindex(value, map.values.column, map.values.key)
        }
        try map.values.remove(range)
        try map.keys.remove(range)
        noteChange()
        try deleteAll(children)
    }

    // MARK: Parts of other edits

    func beginMap(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> MapEdit {
        try requireOpen()
        let view = try self.table(table)
        try view.requireCollection(.map, try view.listSlot(column))
        return try openMap(table, column, key)
    }

    func openMap(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> MapEdit {
        let values = try openEdit(table, column, key)
        guard let keyColumn = values.column.keyColumn else {
            throw DatabaseError(.internal, "the map \(values.stored.name).\(values.column.name) has no keys")
        }
        let keys = try openEdit(table, keyColumn, key)
        guard keys.count == values.count else {
            throw .corrupted("the map \(values.stored.name).\(values.column.name) has not as many keys as values")
        }
        return MapEdit(values: values, keys: keys)
    }

    /// `value` fits the map.
    func put(
        _ map: inout MapEdit, _ mapKey: UnsafeRawBufferPointer, _ value: ValueView
    ) throws(DatabaseError) -> Bool {
        let found = try map.find(mapKey)
        guard !found.isThere else {
            try setMapValue(&map, found.index, value)
            return false
        }
        try map.values.requireRoom()
        try map.keys.requireRoom()
        return try completing { () throws(DatabaseError) in
            index(value, map.values.column, map.values.key)
            recorder.mapChanged(map.values.table, map.values.column.key, map.values.key, mapKey, .inserted)
            // The value first: it may be borrowed from the map.
            try map.values.insert([value], at: found.index)
            try map.keys.insert([.string(mapKey)], at: found.index)
            noteChange()
            return true
        }
    }

    /// `isWhole`: not merely something nested in it has changed.
    func setMapValue(
        _ map: inout MapEdit, _ index: Int, _ value: ValueView, isWhole: Bool = true
    ) throws(DatabaseError) {
        let values = map.values
        let old = try values.view(index)
        let mapKey = try map.keys.view(index).bytes
        if isWhole { try recordEnd(of: old, values, at: .key(map.keyText(index))) }
        unindex(old, values.column, values.key)
        self.index(value, values.column, values.key)
        recorder.mapChanged(values.table, values.column.key, values.key, mapKey, .modified)
        try completing { () throws(DatabaseError) in try map.values.set(index, value) }
        noteChange()
    }
}
