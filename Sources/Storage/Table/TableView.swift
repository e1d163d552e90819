/// The rows of one class as of a snapshot or an open write: what queries and objects read through.
///
/// Chunk-wise reading serves scans, row-wise reading single objects. In a write it shows the changes made so far; what
/// it lends (chunks, string bytes) is then valid until the next change of the table. One thread at a time, like the
/// source it comes from.
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct RowGroupView {
    package let firstKey: Int64
    package let rowCount: Int
    /// How many of the rows exist.
    package let liveCount: Int
    /// nil where all rows exist. Bits past `rowCount` are 0.
    package let liveWords: [UInt64]?
}

package struct RowLocation: Equatable {
    package let rowGroup: Int
    package let slot: Int
}

package final class TableView {
    package let layout: TableLayout
    package let key: TableKey
    let directory: TableDirectory
    package let writer: TableWriter?
    /// Indexes are found through the source, which knows of changes not yet committed.
    unowned let source: RowSource

    init(directory: TableDirectory, writer: TableWriter?, source: RowSource) {
        layout = directory.layout
        key = directory.layout.key
        self.directory = directory
        self.writer = writer
        self.source = source
    }

    package var type: ObjectType { layout.type }
    package var liveCount: Int { Int((writer?.state ?? directory.state).liveCount) }
    package var nextKey: Int64 { (writer?.state ?? directory.state).nextKey }
    /// Of the next object that is made.
    package var nextNewKey: Int64 { writer?.nextNewKey ?? nextKey }
    /// The last commit that touched the table; of a write the one before it.
    var modifiedIn: UInt64 { (writer?.state ?? directory.state).modifiedIn }
    package var rowGroupSize: Int { writer?.rowGroupSize ?? directory.rowGroupSize }
    package var rowGroupCount: Int { writer?.rowGroupCount ?? directory.rowGroupCount }

    /// First key of the rows that are in the open row group; equal to `nextKey` when there is none.
    private var openGroupFirstKey: Int64 { (writer?.state ?? directory.state).openGroupFirstKey }
    private var regularCount: Int { writer?.regularCount ?? directory.regularCount }

    // MARK: Row groups

    package func rowGroup(_ index: Int) throws(DatabaseError) -> RowGroupView {
        let first = writer?.firstKey(index) ?? directory.firstKey(index)
        if let overlay = writer?.overlay(index) {
            return RowGroupView(
                firstKey: first, rowCount: overlay.rowCount, liveCount: overlay.liveCount,
                liveWords: overlay.live?.words)
        }
        let rowCount = directory.rowCount(index)
        let live = try directory.liveBitmap(index)
        return RowGroupView(
            firstKey: first, rowCount: rowCount, liveCount: live?.liveCount ?? rowCount, liveWords: live?.words)
    }

    /// A column of one value per row. Not to be asked for row groups without live rows.
    package func chunk(_ column: ColumnKey, _ rowGroup: Int) throws(DatabaseError) -> ColumnChunk {
        try chunk(slot: try layout.slot(column), rowGroup)
    }

    package func chunk(slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ColumnChunk {
        let chunk = try uncheckedChunk(slot, rowGroup)
        if chunk.hasLongTexts { try chunk.checkLongTexts() }
        return chunk
    }

    /// One that is known already, with all that belongs to it; nil where it would have to be read, and in a write.
    package func knownChunk(slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ColumnChunk? {
        guard writer == nil, let chunk = directory.knownChunk(slot, rowGroup) else { return nil }
        if chunk.hasLongTexts { try chunk.checkLongTexts() }
        return chunk
    }

    /// The same for several row groups, up to the first of which it is not known at once; how many.
    package func copyKnownChunks(
        slot: Int, _ range: Range<Int>, into chunks: UnsafeMutablePointer<ColumnChunk>
    ) -> Int {
        writer == nil && !range.isEmpty ? directory.copyKnownChunks(slot, range, into: chunks) : 0
    }

    /// Its long values have not been looked at.
    private func uncheckedChunk(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ColumnChunk {
        if let writer, let changed = writer.overlay(rowGroup)?.columns[slot] {
            writer.lent.any = true
            return try changed.currentChunk(layout.columns[slot].kind, writer.longValues(slot))
        }
        return try directory.chunk(slot, rowGroup)
    }

    /// The committed chunk that a key's value lies in and the key of its first row, for whoever reads more of it
    /// without asking again. nil where a row may be missing, where values are lists or long, and for links.
    package func plainRun(
        _ column: ColumnKey, around key: ObjectKey
    ) throws(DatabaseError) -> (chunk: ColumnChunk, firstKey: Int64)? {
        guard writer == nil, let place = position(key), try directory.liveBitmap(place.rowGroup) == nil else {
            return nil
        }
        let slot = try layout.slot(column)
        guard !layout.columns[slot].isList, layout.columns[slot].target == nil else { return nil }
        let chunk = try directory.chunk(slot, place.rowGroup)
        return chunk.hasLongTexts ? nil : (chunk, directory.firstKey(place.rowGroup))
    }

    package func listChunk(_ column: ColumnKey, _ rowGroup: Int) throws(DatabaseError) -> ListChunk {
        try listChunk(slot: try layout.slot(column), rowGroup)
    }

    package func listChunk(slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ListChunk {
        let chunk = try uncheckedListChunk(slot, rowGroup)
        if chunk.elements.hasLongTexts { try chunk.elements.checkLongTexts() }
        return chunk
    }

    private func uncheckedListChunk(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ListChunk {
        if let writer, let changed = writer.overlay(rowGroup)?.columns[slot] {
            writer.lent.any = true
            return try changed.currentListChunk(layout.columns[slot].kind, writer.longValues(slot))
        }
        return try directory.listChunk(slot, rowGroup)
    }

    // MARK: Rows

    /// nil when no such object exists (any more).
    package func locate(_ key: ObjectKey) throws(DatabaseError) -> RowLocation? {
        guard let place = position(key) else { return nil }
        if let overlay = writer?.overlay(place.rowGroup) {
            if let live = overlay.live, !live.isLive(place.slot) { return nil }
        } else if try !directory.isLive(place.rowGroup, place.slot) {
            return nil
        }
        return place
    }

    /// Where the key's row is or was, whether it is live or not.
    @inline(__always)
    func position(_ key: ObjectKey) -> RowLocation? {
        let raw = key.rawValue
        guard raw >= 0, raw < nextKey else { return nil }
        if raw >= openGroupFirstKey { return RowLocation(rowGroup: regularCount, slot: Int(raw - openGroupFirstKey)) }
        let (rowGroup, slot) = Int(raw).quotientAndRemainder(dividingBy: rowGroupSize)
        return RowLocation(rowGroup: rowGroup, slot: slot)
    }

    package func requireLocation(_ key: ObjectKey) throws(DatabaseError) -> RowLocation {
        guard let place = try locate(key) else {
            throw DatabaseError(
                .objectDeleted, "this \(layout.stored.name) has been deleted; see whether it is valid before",
                className: layout.stored.name)
        }
        return place
    }

    /// One property of one object. Borrowed bytes live until the source moves or the table changes.
    package func value(_ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> ValueView {
        try value(slot: try layout.slot(column), at: try requireLocation(key))
    }

    package func value(slot: Int, at place: RowLocation) throws(DatabaseError) -> ValueView {
        guard !layout.shapes[slot].isList else { throw isList(slot) }
        var view: ValueView
        switch writer?.overlay(place.rowGroup)?.columns[slot]?.storage {
        case .values(let builder)?:
            try builder.checkLongText(place.slot)
            view = builder.view(place.slot)
            // It moves when more is put into it.
            writer?.lent.any = true
        case .patched(let patch)?:
            view = patch.view(place.slot)
            writer?.lent.any = true
        case .lists, .sealed, nil:
            let chunk = try uncheckedChunk(slot, place.rowGroup)
            try chunk.checkLongText(place.slot)
            view = chunk.view(place.slot)
        }
        // In mixed columns links carry their class themselves.
        if view.kindNumber == ValueKind.link.rawValue, let target = layout.shapes[slot].target {
            view.aux = target.rawValue
        }
        return view
    }

    /// Whether the value is kept outside of its chunk.
    func isLongText(slot: Int, at place: RowLocation) throws(DatabaseError) -> Bool {
        if case .values(let builder)? = writer?.overlay(place.rowGroup)?.columns[slot]?.storage {
            return builder.isLong(place.slot)
        }
        return try uncheckedChunk(slot, place.rowGroup).longReference(place.slot) != nil
    }

    @inline(never)
    private func isList(_ slot: Int) -> DatabaseError {
        DatabaseError(
            .wrongType, "\(layout.stored.name).\(layout.columns[slot].name) is a list; open it as a list",
            className: layout.stored.name, propertyName: layout.columns[slot].name)
    }

    // MARK: Lists

    package func listCount(_ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> Int {
        let slot = try listSlot(column)
        let place = try requireLocation(key)
        if let long = changedLongList(slot, key) { return long.count }
        if let changed = writer?.overlay(place.rowGroup)?.columns[slot], case .lists(let builder) = changed.storage {
            return builder.elementCount(place.slot)
        }
        return try elementCount(try uncheckedListChunk(slot, place.rowGroup), place.slot)
    }

    /// Callers reserve memory for so many elements.
    private func elementCount(_ chunk: ListChunk, _ row: Int) throws(DatabaseError) -> Int {
        let count = chunk.elementCount(row)
        guard count <= LongListShape.mostLeafElements || !chunk.isExternal(row) || count <= directory.mostListElements
        else {
            throw .corrupted("a list of \(layout.stored.name) has more elements than the file can hold")
        }
        return count
    }

    package func listElement(_ column: ColumnKey, _ key: ObjectKey, _ index: Int) throws(DatabaseError) -> ValueView {
        let slot = try listSlot(column)
        var result: ValueView?
        if let long = changedLongList(slot, key) {
            if index >= 0, index < long.count { result = try long.view(index) }
        } else if let builder = try changedElements(slot, key) {
            if index >= 0, index < builder.count {
                try builder.checkLongText(index)
                result = builder.view(index)
            }
        } else {
            try listValues(column, key, from: index, limit: 1) { chunk, range in
                if let position = range.first { result = chunk.view(position) }
            }
        }
        guard var result else {
            let count = try listCount(column, key)
            throw DatabaseError(.outOfBounds, "index \(index) is outside the list, which has \(count) elements")
        }
        if result.kindNumber == ValueKind.link.rawValue, let target = layout.columns[slot].target {
            result.aux = target.rawValue
        }
        return result
    }

    /// A long list that this write has changed.
    private func changedLongList(_ slot: Int, _ key: ObjectKey) -> LongList? {
        guard let writer, let long = writer.longLists[LongListKey(slot: slot, owner: key)], long.isActive else {
            return nil
        }
        writer.lent.any = true
        return long
    }

    /// The elements of a short list as this write has changed them, nil where they are as stored.
    private func changedElements(_ slot: Int, _ key: ObjectKey) throws(DatabaseError) -> ChunkBuilder? {
        guard let writer else { return nil }
        writer.lent.any = true
        let place = try requireLocation(key)
        guard let changed = writer.overlay(place.rowGroup)?.columns[slot], case .lists(let builder) = changed.storage,
            !builder.isExternal(place.slot)
        else { return nil }
        return builder.cell(place.slot)
    }

    /// Calls `body` with runs of elements, in order: all of them, or `limit` from `first` on.
    package func listValues(
        _ column: ColumnKey, _ key: ObjectKey, from first: Int = 0, limit: Int = .max,
        _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        guard first >= 0, limit > 0 else { return }
        let slot = try listSlot(column)
        let place = try requireLocation(key)
        if let long = changedLongList(slot, key) {
            let end = limit < long.count - first ? first + limit : long.count
            return first < end ? try long.forEach(first ..< end, body) : ()
        }
        if let builder = try changedElements(slot, key) { return try lend(builder, slot, first, limit, body) }
        let chunk = try uncheckedListChunk(slot, place.rowGroup)
        let count = try elementCount(chunk, place.slot)
        let end = limit < count - first ? first + limit : count
        guard first < end else { return }
        guard chunk.isExternal(place.slot) else {
            let start = chunk.range(place.slot).lowerBound
            try chunk.elements.checkLongTexts(start + first ..< start + end)
            return try body(chunk.elements, start + first ..< start + end)
        }
        try directory.longList(slot, key).forEach(first ..< end, of: count, body)
    }

    private func lend(
        _ builder: ChunkBuilder, _ slot: Int, _ first: Int, _ limit: Int,
        _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let end = limit < builder.count - first ? first + limit : builder.count
        guard first < end else { return }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let bytes = builder.encode(key: none)
        var long: LongTexts?
        try bytes.withBytes { bytes throws(DatabaseError) in
            let chunk = try ColumnChunk(
                validating: bytes, kind: layout.columns[slot].kind, key: none, long: writer?.longValues(slot),
                keeping: &long)
            try chunk.checkLongTexts(first ..< end)
            try body(chunk, first ..< end)
        }
        withExtendedLifetime(long) {}
    }

    func listSlot(_ column: ColumnKey) throws(DatabaseError) -> Int {
        let slot = try layout.slot(column)
        guard layout.columns[slot].isList else {
            throw DatabaseError(
                .wrongType, "\(layout.stored.name).\(layout.columns[slot].name) is not a list",
                className: layout.stored.name, propertyName: layout.columns[slot].name)
        }
        return slot
    }
}
