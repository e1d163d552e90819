/// The rows of one table as a write transaction is changing them: an overlay of dirty row groups over the committed
/// directory. Knows nothing of indexes, links or history; `WriteTransaction` keeps those in step.
///
/// New rows go to the open row group while few arrive and to row groups of their own once more than
/// `OpenGroup.rowLimit` are there ("folding"). The overlay is not consumed by encoding it: a commit that fails leaves
/// the write as it was.
import MotteColumns
import MottePages
import MotteValues

final class TableWriter {
    // Exclusivity: one thread at a time, like the write it belongs to; each row of many looks at these.
    let directory: TableDirectory
    @exclusivity(unchecked) private(set) var state: TableState
    @exclusivity(unchecked) private(set) var dirty = DirtyRowGroups()
    @exclusivity(unchecked) private(set) var touched = false
    /// Lists too long for their column's chunk, as far as this write has touched them.
    var longLists: [LongListKey: LongList] = [:]
    @exclusivity(unchecked) private var openRowGroup: DirtyRowGroup?

    var layout: TableLayout { directory.layout }
    var rowGroupSize: Int { state.rowGroupSize(ofFile: directory.rowGroupSizeOfFile) }

    let undo: UndoLog
    let lent: LentRows
    /// The savepoint that has an image of this, and the first key of the rows that came after it.
    @exclusivity(unchecked) var savedAt: UInt64 = 0
    @exclusivity(unchecked) var firstNewKey: Int64 = .max

    /// Where full row groups wait for the commit.
    private let spill: SpillFile
    let opened: OpenBuilders
    private let pendingLongValues: PendingLongValues
    @exclusivity(unchecked) private var longSources: [WrittenLongValues?]

    /// The open row group as the write before has left it, until it is touched.
    @exclusivity(unchecked) private var keptOpenGroup: KeptBuilders.OpenGroup?

    init(
        _ directory: TableDirectory, _ spill: SpillFile, _ long: PendingLongValues,
        _ keptOpenGroup: KeptBuilders.OpenGroup?,
        _ undo: UndoLog, _ lent: LentRows, _ opened: OpenBuilders
    ) {
        self.undo = undo
        self.lent = lent
        self.opened = opened
        self.directory = directory
        self.keptOpenGroup = keptOpenGroup
        plan = keptOpenGroup?.plan
        self.spill = spill
        pendingLongValues = long
        longSources = Array(repeating: nil, count: directory.layout.columns.count)
        state = directory.state
    }

    /// Of the commit that this write will make.
    var commitVersion: UInt64 { pendingLongValues.version }

    /// nil for columns whose values are never long.
    func longValues(_ slot: Int) -> WrittenLongValues? {
        if let source = longSources[slot] { return source }
        guard let stored = directory.longSource(slot) else { return nil }
        let source = WrittenLongValues(over: stored, pendingLongValues)
        longSources[slot] = source
        return source
    }

    func makeBuilder(_ slot: Int, capacity: Int) -> ChunkBuilder {
        let stored = layout.columns[slot]
        return ChunkBuilder(
            kind: stored.kind, nullable: stored.isNullable, capacity: capacity, long: longValues(slot))
    }

    private func makeListBuilder(_ slot: Int, capacity: Int) -> ListChunkBuilder {
        let stored = layout.columns[slot]
        return ListChunkBuilder(
            elementKind: stored.kind, nullable: stored.isNullable, capacity: capacity, long: longValues(slot))
    }

    /// How many rows its builders have room for from the beginning.
    private func capacity(_ rowGroup: Int) -> Int {
        mode == .openGroup && rowGroup == regularCount ? openGroupRowLimit : rowGroupSize
    }

    // MARK: Geometry, as the write sees it

    var regularCount: Int { Int((state.openGroupFirstKey + Int64(rowGroupSize) - 1) / Int64(rowGroupSize)) }
    var openGroupRowCount: Int { Int(state.nextKey - state.openGroupFirstKey) }
    var rowGroupCount: Int { regularCount + (openGroupRowCount > 0 ? 1 : 0) }

    func firstKey(_ rowGroup: Int) -> Int64 {
        rowGroup < regularCount ? Int64(rowGroup) * Int64(rowGroupSize) : state.openGroupFirstKey
    }

    func rowCount(_ rowGroup: Int) -> Int {
        if let overlay = overlay(rowGroup) { return overlay.rowCount }
        return directory.rowCount(rowGroup)
    }

    @inline(__always)
    func overlay(_ rowGroup: Int) -> DirtyRowGroup? { dirty[rowGroup] }

    // MARK: Touching

    /// Whether the commit has something of this table to write.
    var isWritten: Bool { touched || !longLists.isEmpty }

    var touchedRowGroups: [Int] {
        var rowGroups: [Int] = []
        for (rowGroup, overlay) in dirty.enumerated() where overlay != nil { rowGroups.append(rowGroup) }
        return rowGroups
    }

    func dirtyRowGroup(_ rowGroup: Int) throws(DatabaseError) -> DirtyRowGroup {
        if let overlay = overlay(rowGroup) { return overlay }
        if let openGroup = takeKeptOpenGroup(rowGroup) {
            install(openGroup, at: rowGroup)
            return openGroup
        }
        let made = DirtyRowGroup(
            firstKey: firstKey(rowGroup), rowCount: directory.rowCount(rowGroup),
            live: try directory.liveBitmap(rowGroup),
            columnCount: layout.columns.count)
        install(made, at: rowGroup)
        return made
    }

    private func install(_ rowGroup: DirtyRowGroup, at index: Int) {
        noteTable()
        undo.append(.installed(self, index, before: dirty[index]))
        touched = true
        dirty[index] = rowGroup
    }

    /// The open row group without reading it, where the write before has left it.
    private func takeKeptOpenGroup(_ rowGroup: Int) -> DirtyRowGroup? {
        guard mode == .openGroup, rowGroup == regularCount, let kept = keptOpenGroup else { return nil }
        keptOpenGroup = nil
        guard kept.rowGroup.firstKey == state.openGroupFirstKey, kept.rowGroup.rowCount == openGroupRowCount else {
            assertionFailure("an open row group was kept for another version")
            return nil
        }
        for (slot, column) in kept.rowGroup.columns.enumerated() where layout.columns[slot].kind.mayBeLong {
            column?.join(longValues(slot))
        }
        return kept.rowGroup
    }

    /// After the commit: the open row group as it has been written, or as it was kept where nobody has touched it.
    func handOverOpenGroup() -> KeptBuilders.OpenGroup? {
        guard mode == .openGroup, openGroupRowCount > 0 else { return nil }
        guard let openGroup = overlay(regularCount) else { return keptOpenGroup }
        guard openGroup.leaveWrite() else { return nil }
        return KeptBuilders.OpenGroup(
            layout: layout, rowGroup: openGroup, plan: plan.flatMap { $0.isTurned(to: openGroup) ? $0 : nil })
    }

    func values(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> (column: DirtyColumn, builder: ChunkBuilder) {
        let overlay = try dirtyRowGroup(rowGroup)
        if let column = overlay.columns[slot], case .values(let builder) = column.storage { return (column, builder) }
        let stored = layout.columns[slot]
        let builder = makeBuilder(slot, capacity: capacity(rowGroup))
        if let column = overlay.columns[slot] {
            if case .patched(let patch) = column.storage {
                patch.load(into: builder)
            } else {
                builder.load(try column.currentChunk(stored.kind, longValues(slot)))
            }
            column.reopen(.values(builder))
            note(column, slot, rowGroup)
            return (column, builder)
        }
        builder.load(try directory.chunk(slot, rowGroup))
        let column = DirtyColumn(.values(builder))
        overlay.columns[slot] = column
        note(column, slot, rowGroup)
        return (column, builder)
    }

    func lists(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> (column: DirtyColumn, builder: ListChunkBuilder) {
        let overlay = try dirtyRowGroup(rowGroup)
        if let column = overlay.columns[slot], case .lists(let builder) = column.storage { return (column, builder) }
        let stored = layout.columns[slot]
        let builder = makeListBuilder(slot, capacity: capacity(rowGroup))
        if let column = overlay.columns[slot] {
            builder.load(try column.currentListChunk(stored.kind, longValues(slot)))
            column.reopen(.lists(builder))
            note(column, slot, rowGroup)
            return (column, builder)
        }
        builder.load(try directory.listChunk(slot, rowGroup))
        let column = DirtyColumn(.lists(builder))
        overlay.columns[slot] = column
        note(column, slot, rowGroup)
        return (column, builder)
    }

    /// The rows of the open row group are encoded together.
    private func note(_ column: DirtyColumn, _ slot: Int, _ rowGroup: Int) {
        if mode == .rowGroups || rowGroup < regularCount { opened.note(self, rowGroup, slot, column) }
    }

    /// False where it is not what the commit would write, or is encoded already.
    func seal(_ column: DirtyColumn, _ slot: Int, _ rowGroup: Int) -> Bool {
        guard overlay(rowGroup)?.columns[slot] === column else { return false }
        return column.seal(key: PageKeys.chunk(layout.key, layout.columns[slot].key, rowGroup), into: spill)
    }

    /// Where nodes of stored long lists are is no longer known, so that their memory can be given back.
    func forgetLists() { for list in longLists.values { list.reader.forgetPlaces() } }

    // MARK: Rows

    /// Where new rows go. A write starts with the open row group and turns to row groups for good when the open row
    /// group is full.
    enum AppendMode { case openGroup, rowGroups }
    @exclusivity(unchecked) private(set) var mode = AppendMode.openGroup
    private var openGroupRowLimit: Int { min(OpenGroup.rowLimit, rowGroupSize) }

    /// The row group that the next row is appended to, with all its columns loaded and room for at least one row.
    func rowGroupForAppend() throws(DatabaseError) -> DirtyRowGroup {
        noteTable()
        let rowGroup = try openRowGroupForAppend()
        if undo.isActive {
            noteAppending(to: rowGroup, at: mode == .openGroup ? regularCount : Int(rowGroup.firstKey) / rowGroupSize)
        }
        return rowGroup
    }

    private func openRowGroupForAppend() throws(DatabaseError) -> DirtyRowGroup {
        if mode == .openGroup {
            if openGroupRowCount < openGroupRowLimit {
                if let openRowGroup { return openRowGroup }
                return openGroupRowCount > 0 ? try openForAppend(regularCount) : open(emptyRowGroup(), at: regularCount)
            }
            try foldOpenGroup()
        }
        if let full = openRowGroup {
            chooseRowGroupSize(by: full)
            if room(for: full) > 0 { return full }
            seal(full)
        }
        return try openRegularRowGroup()
    }

    /// Full row groups of a bulk load wait for the commit as encoded bytes, a fraction of what their builders take; the
    /// builders go on to the next row group.
    private func seal(_ rowGroup: DirtyRowGroup) {
        let index = Int(rowGroup.firstKey) / rowGroupSize
        for (slot, stored) in layout.columns.enumerated() {
            guard let column = rowGroup.columns[slot] else { continue }
            let former = column.storage
            guard column.seal(key: PageKeys.chunk(layout.key, stored.key, index), into: spill),
                case .values(let builder) = former
            else { continue }
            builder.removeAll()
            spares[slot] = builder
        }
    }

    private lazy var spares = [ChunkBuilder?](repeating: nil, count: layout.columns.count)

    @exclusivity(unchecked) private var plan: RowPlan?
    @exclusivity(unchecked) private var columnsWithoutPlan: [ColumnKey]?

    /// For rows with values for these columns; nil where there is nothing plain about them.
    func rowPlan(_ columns: [ColumnKey]) -> RowPlan? {
        if let plan, plan.columns == columns { return plan }
        if let columnsWithoutPlan, columnsWithoutPlan == columns { return nil }
        plan = RowPlan(layout, columns)
        if plan == nil { columnsWithoutPlan = columns }
        return plan
    }

    /// How many rows `rowGroup` still takes before `rowGroupForAppend` must be asked again.
    func room(in rowGroup: DirtyRowGroup) -> Int {
        mode == .openGroup ? openGroupRowLimit - rowGroup.rowCount : room(for: rowGroup)
    }

    /// Of a regular row group that is open. The first one stops where it is time to choose.
    private func room(for rowGroup: DirtyRowGroup) -> Int {
        let mayChoose = rowGroup.firstKey == 0 && rowGroup.rowCount < FileHeader.fewRowsPerRowGroup
        return (mayChoose ? min(rowGroupSize, FileHeader.fewRowsPerRowGroup) : rowGroupSize) - rowGroup.rowCount
    }

    /// When the first row group has as many rows as small row groups have, its values tell whether the table gets small
    /// ones: both ways it is the same row group until then.
    private func chooseRowGroupSize(by rowGroup: DirtyRowGroup) {
        let small = FileHeader.fewRowsPerRowGroup
        guard rowGroup.firstKey == 0, rowGroupSize > small, rowGroup.rowCount == small else { return }
        if rowGroup.hasWideColumn(ifRows: rowGroupSize) { state.ownRowGroupSize = small }
    }

    private func open(_ rowGroup: DirtyRowGroup, at index: Int) -> DirtyRowGroup {
        install(rowGroup, at: index)
        openRowGroup = rowGroup
        return rowGroup
    }

    private func emptyRowGroup() -> DirtyRowGroup {
        let rowGroup = DirtyRowGroup(firstKey: state.nextKey, rowCount: 0, live: nil, columnCount: layout.columns.count)
        let capacity = capacity(regularCount)
        for (slot, stored) in layout.columns.enumerated() {
            rowGroup.columns[slot] = DirtyColumn(
                stored.isList
                    ? .lists(makeListBuilder(slot, capacity: capacity))
                    : .values(spareBuilder(slot) ?? makeBuilder(slot, capacity: capacity)))
        }
        return rowGroup
    }

    private func spareBuilder(_ slot: Int) -> ChunkBuilder? {
        defer { spares[slot] = nil }
        return spares[slot]
    }

    private func openForAppend(_ rowGroup: Int) throws(DatabaseError) -> DirtyRowGroup {
        for (slot, stored) in layout.columns.enumerated() {
            if stored.isList { _ = try lists(slot, rowGroup) } else { _ = try values(slot, rowGroup) }
        }
        let open = try dirtyRowGroup(rowGroup)
        openRowGroup = open
        return open
    }

    /// The last row group if it has room, else a new one. Only while there is no open row group.
    private func openRegularRowGroup() throws(DatabaseError) -> DirtyRowGroup {
        assert(openGroupRowCount == 0)
        let last = regularCount - 1
        if last >= 0, rowCount(last) < rowGroupSize {
            let rowGroup = try openForAppend(last)
            chooseRowGroupSize(by: rowGroup)
            if room(for: rowGroup) > 0 { return rowGroup }
        }
        return open(emptyRowGroup(), at: regularCount)
    }

    /// Called after the values of `rows` rows have been appended to every column of `rowGroup`.
    @inline(__always)
    func finishAppend(_ rowGroup: DirtyRowGroup, rows: Int) {
        rowGroup.rowCount += rows
        if rowGroup.live != nil {
            rowGroup.live?.extend(to: rowGroup.rowCount)
            rowGroup.liveChanged = true
        }
        state.nextKey += Int64(rows)
        state.liveCount += Int64(rows)
        if mode == .rowGroups { state.openGroupFirstKey = state.nextKey }
    }

    /// Moves the open row group's rows to row groups.
    func foldOpenGroup() throws(DatabaseError) {
        guard mode == .openGroup else { return }
        noteTable()
        guard openGroupRowCount > 0 else {
            mode = .rowGroups
            return
        }
        let index = regularCount
        let openGroup = try openForAppend(index)
        let rows = openGroup.rowCount
        // To be undone, the open row group stays as it is: its lists are copied then.
        undo.append(.installed(self, index, before: openGroup))
        dirty[index] = nil
        openRowGroup = nil
        mode = .rowGroups
        // From here on the write has no open row group: its rows are appended again, to row groups.
        let next = state.nextKey
        let liveCount = state.liveCount
        state.nextKey = state.openGroupFirstKey
        var row = 0
        while row < rows {
            let target = try openRegularRowGroup()
            noteAppending(to: target, at: Int(target.firstKey) / rowGroupSize)
            let count = min(rows - row, room(for: target))
            for slot in layout.columns.indices {
                Self.copyRows(
                    from: openGroup.columns[slot], row ..< row + count, to: target.columns[slot],
                    copyingLists: undo.isActive)
            }
            let before = target.rowCount
            finishAppend(target, rows: count)
            if let openGroupLive = openGroup.live {
                for slot in 0 ..< count where !openGroupLive.isLive(row + slot) {
                    if target.live == nil { target.live = LiveBitmap(allLive: target.rowCount) }
                    target.live?.kill(before + slot)
                    target.liveChanged = true
                }
            }
            row += count
        }
        assert(state.nextKey == next)
        state.liveCount = liveCount
    }

    private static func copyRows(
        from source: DirtyColumn?, _ rows: Range<Int>, to target: DirtyColumn?, copyingLists: Bool
    ) {
        guard let source, let target else { return }
        switch (source.storage, target.storage) {
        case (.values(let from), .values(let to)): to.append(from, rows)
        case (.lists(let from), .lists(let to)): to.appendRows(from, rows, copying: copyingLists)
        default: assertionFailure("slots of one layout have one kind")
        }
        target.markChanged()
    }

    /// Marks a row dead. Its values stay until the row group is rewritten.
    func kill(_ rowGroup: Int, _ slot: Int) throws(DatabaseError) {
        guard state.liveCount > 0 else {
            throw .corrupted("state of table \(layout.key.rawValue) counts fewer objects than there are (table-1)")
        }
        noteTable()
        let overlay = try dirtyRowGroup(rowGroup)
        noteLive(overlay)
        if overlay.live == nil { overlay.live = LiveBitmap(allLive: overlay.rowCount) }
        overlay.live?.kill(slot)
        overlay.liveChanged = true
        state.liveCount -= 1
    }

    // MARK: Deleting all

    /// Every row was deleted: long lists and other pages of single rows are deleted by prefix when this is committed.
    private(set) var isCleared = false

    func isOpen(_ rowGroup: Int) -> Bool { openRowGroup != nil && overlay(rowGroup) === openRowGroup }

    /// A fresh overlay instead of the one there may be.
    func replace(_ rowGroup: Int) -> DirtyRowGroup {
        let made = DirtyRowGroup(
            firstKey: firstKey(rowGroup), rowCount: rowCount(rowGroup), live: nil, columnCount: layout.columns.count)
        install(made, at: rowGroup)
        return made
    }

    func forgetRows() {
        noteTable()
        undo.append(.longLists(self, longLists))
        longLists.removeAll()
        state.liveCount = 0
        isCleared = true
        touched = true
    }

    // MARK: Going back to a savepoint

    /// What is worked out from the rows is worked out again.
    func restore(_ image: Image) {
        state = image.state
        touched = image.touched
        mode = image.mode
        isCleared = image.isCleared
        openRowGroup = nil
        plan = nil
        keptOpenGroup = nil
        savedAt = 0
        firstNewKey = .max
    }

    func reinstall(_ rowGroup: DirtyRowGroup?, at index: Int) { dirty[index] = rowGroup }

    func stamp(_ version: UInt64) -> TableState {
        var stamped = state
        stamped.modifiedIn = version
        return stamped
    }
}

struct LongListKey: Hashable {
    let slot: Int
    let owner: ObjectKey
}
