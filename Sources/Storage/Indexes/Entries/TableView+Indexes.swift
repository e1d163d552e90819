/// Look-ups by value: primary keys, indexed columns and backlinks. Answers are exact: where the index keeps a hash or a
/// shortened value, the rows found are compared with what was asked for.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension TableView {
    package func hasIndex(_ column: ColumnKey) -> Bool {
        guard let stored = layout.stored.column(column) else { return false }
        guard let index = stored.index, !stored.isLink else { return false }
        return !source.isDeferred(index)
    }

    package func find(primaryKey: ValueView) throws(DatabaseError) -> ObjectKey? {
        guard let slot = layout.primaryKeySlot else {
            throw DatabaseError(
                .noPrimaryKey, "\(layout.stored.name) does not have a primary key", className: layout.stored.name)
        }
        return try find(slot: slot, equal: primaryKey)
    }

    /// The first object with the value, in a column that has an index.
    package func find(_ column: ColumnKey, equal value: ValueView) throws(DatabaseError) -> ObjectKey? {
        try find(slot: try layout.slot(column), equal: value)
    }

    /// The first object whose column equals `value`; nil also for a value of another kind.
    func find(slot: Int, equal value: ValueView) throws(DatabaseError) -> ObjectKey? {
        let shape = layout.shapes[slot]
        guard let index = shape.index, shape.isOfKind(value) else { return nil }
        let source = source
        guard !source.isDeferred(index) else { return try scan(slot: slot, for: value) }
        source.counters.add(indexLookups: 1)
        let wanted = IndexValue(value, of: shape.type)
        guard let first = try source.firstKey(in: index, wanted) else { return nil }
        if wanted.isExact { return first }
        if try matches(slot, first.rawValue, value) { return first }
        var keys: [Int64] = []
        try source.indexView(index).keys(wanted, into: &keys)
        for key in keys where try matches(slot, key, value) { return ObjectKey(key) }
        return nil
    }

    /// In place of an index that is not built yet.
    private func scan(slot: Int, for value: ValueView) throws(DatabaseError) -> ObjectKey? {
        for rowGroup in 0 ..< rowGroupCount {
            let rows = try self.rowGroup(rowGroup)
            guard rows.liveCount > 0 else { continue }
            for key in rows.liveKeys where try matches(slot, key, value) { return ObjectKey(key) }
        }
        return nil
    }

    /// nil where the column has no index.
    package func indexCount(_ column: ColumnKey, equal value: ValueView) throws(DatabaseError) -> Int? {
        let slot = try layout.slot(column)
        let stored = layout.columns[slot]
        guard let index = stored.index, !stored.isLink, !source.isDeferred(index) else { return nil }
        guard layout.shapes[slot].isOfKind(value) else { return 0 }
        let wanted = IndexValue(value, of: layout.columns[slot].type)
        if wanted.isExact {
            source.counters.add(indexLookups: 1)
            return try source.indexView(index).count(wanted)
        }
        var keys: [Int64] = []
        try indexKeys(column, equal: value, into: &keys)
        return keys.count
    }

    /// Appends the keys of the objects whose column equals `value`, ascending. Only for columns with an index.
    package func indexKeys(_ column: ColumnKey, equal value: ValueView, into keys: inout [Int64]) throws(DatabaseError)
    {
        let slot = try layout.slot(column)
        let stored = layout.columns[slot]
        guard let index = stored.index, !stored.isLink, layout.shapes[slot].isOfKind(value) else { return }
        source.counters.add(indexLookups: 1)
        let wanted = IndexValue(value, of: layout.columns[slot].type)
        let start = keys.count
        try source.indexView(index).keys(wanted, into: &keys)
        guard !wanted.isExact else { return }
        try keepMatching(slot, value, &keys, from: start)
    }

    /// Takes out the keys whose rows only share the value's hash.
    private func keepMatching(
        _ slot: Int, _ value: ValueView, _ keys: inout [Int64], from start: Int
    ) throws(DatabaseError) {
        if layout.columns[slot].type == .string || layout.columns[slot].type == .data {
            return try keepTexts(slot, value.bytes, &keys, from: start)
        }
        var kept = start
        for position in start ..< keys.count where try matches(slot, keys[position], value) {
            keys[kept] = keys[position]
            kept += 1
        }
        keys.removeLast(keys.count - kept)
    }

    /// Rows found by one value lie far apart, so comparing them is waiting for memory. Looking first where the texts of
    /// many rows are and then what they are, without a decision in between, waits for many at once. Texts that the
    /// index does not hold whole have eight bytes or more.
    private func keepTexts(
        _ slot: Int, _ wanted: UnsafeRawBufferPointer, _ keys: inout [Int64], from start: Int
    ) throws(DatabaseError) {
        let most = 256
        let texts = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: most)
        defer { texts.deallocate() }
        var kept = start
        var next = start
        var chunk = ColumnChunk(emptyAt: UnsafeRawPointer(texts))
        var inChunk: Range<Int64> = 0 ..< 0
        while next < keys.count {
            let count = min(most, keys.count - next)
            for index in 0 ..< count {
                let key = keys[next &+ index]
                if !inChunk.contains(key) {
                    guard let place = position(ObjectKey(key)) else { throw Self.strayKey }
                    chunk = try self.chunk(slot: slot, place.rowGroup)
                    let first = key - Int64(place.slot)
                    inChunk = first ..< first + Int64(chunk.count)
                    guard inChunk.contains(key) else { throw Self.strayKey }
                }
                texts[index] = chunk.presentText(Int(key &- inChunk.lowerBound))
            }
            for index in 0 ..< count where ColumnChunk.areEqualTexts(texts[index], wanted) {
                keys[kept] = keys[next &+ index]
                kept += 1
            }
            next += count
        }
        keys.removeLast(keys.count - kept)
    }

    private static var strayKey: DatabaseError { .corrupted("an index refers to an object that never was") }

    // MARK: Backlinks

    /// How many links of `origin`'s column point to `key`; a list that links twice counts twice.
    package func backlinkCount(
        origin: TableKey, _ column: ColumnKey, _ key: ObjectKey
    ) throws(DatabaseError) -> Int {
        source.counters.add(indexLookups: 1)
        return try source.indexView(try backlinkIndex(origin, column)).count(IndexValue.link(to: key))
    }

    /// The same of several objects together; the index is looked for once.
    package func backlinkCount(
        origin: TableKey, _ column: ColumnKey, of keys: [Int64]
    ) throws(DatabaseError) -> Int {
        source.counters.add(indexLookups: keys.count)
        let view = try source.indexView(try backlinkIndex(origin, column))
        var count = 0
        for key in keys { count &+= try view.count(IndexValue.link(to: ObjectKey(key))) }
        return count
    }

    /// Appends the keys of `origin`'s objects that link to `key`, ascending, as often as they do.
    package func backlinks(
        origin: TableKey, _ column: ColumnKey, _ key: ObjectKey, into keys: inout [Int64]
    ) throws(DatabaseError) {
        source.counters.add(indexLookups: 1)
        try source.indexView(try backlinkIndex(origin, column)).keys(IndexValue.link(to: key), into: &keys)
    }

    /// The same for several objects, one after another.
    func lookUpBacklinks(
        origin: TableKey, _ column: ColumnKey, of targets: [Int64], into keys: inout [Int64]
    ) throws(DatabaseError) {
        source.counters.add(indexLookups: targets.count)
        let view = try source.indexView(try backlinkIndex(origin, column))
        for target in targets { try view.keys(IndexValue.link(to: ObjectKey(target)), into: &keys) }
    }

    /// The same for a column of mixed values, of which each may link several times.
    package func mixedBacklinks(
        origin: TableKey, _ column: ColumnKey, _ key: ObjectKey, into keys: inout [Int64]
    ) throws(DatabaseError) {
        source.counters.add(indexLookups: 1)
        let link = IndexValue.mixedLink(to: ObjectLink(table: self.key, key: key))
        try source.indexView(try mixedLinkIndex(origin, column)).keys(link, into: &keys)
    }

    /// Whether a link, list, set or map of `owner` leads to `key`.
    package func isLinked(
        from origin: TableKey, _ column: ColumnKey, _ owner: ObjectKey, isMixed: Bool, to key: ObjectKey
    ) throws(DatabaseError) -> Bool {
        source.counters.add(indexLookups: 1)
        if isMixed {
            let link = IndexValue.mixedLink(to: ObjectLink(table: self.key, key: key))
            return try source.indexView(try mixedLinkIndex(origin, column)).contains(link, owner)
        }
        return try source.indexView(try backlinkIndex(origin, column)).contains(IndexValue.link(to: key), owner)
    }

    private func mixedLinkIndex(_ origin: TableKey, _ column: ColumnKey) throws(DatabaseError) -> IndexKey {
        guard let table = source.catalog.table(origin) else { throw source.unknownTable(origin) }
        guard let index = table.column(column)?.linkIndex else {
            throw DatabaseError(
                .unknownProperty, "no property of mixed values of \(table.name) has key \(column.rawValue)",
                className: table.name)
        }
        return index
    }

    private func backlinkIndex(_ origin: TableKey, _ column: ColumnKey) throws(DatabaseError) -> IndexKey {
        guard let table = source.catalog.table(origin) else { throw source.unknownTable(origin) }
        guard let stored = table.column(column), stored.target == key, let index = stored.index else {
            throw DatabaseError(
                .unknownProperty, "no link property of \(table.name) has key \(column.rawValue)", className: table.name)
        }
        return index
    }

    private func matches(_ slot: Int, _ key: Int64, _ value: ValueView) throws(DatabaseError) -> Bool {
        guard let place = position(ObjectKey(key)) else { throw Self.strayKey }
        return ValueOrdering.compare(try self.value(slot: slot, at: place), value) == 0
    }
}
