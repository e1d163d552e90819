/// The rows of one table as a write transaction is changing them: an overlay of dirty row groups over the committed
/// directory. Knows nothing of indexes, links or history; `WriteTransaction` keeps those in step.
///
/// New rows go to the open row group while few arrive and to row groups of their own once more than
/// `OpenGroup.rowLimit` are there ("folding"). The overlay is not consumed by encoding it: a commit that fails leaves
/// the write as it was.
import MotteColumns
import MottePages
import MotteValues

package final class TableWriter {
    // Exclusivity: one thread at a time, like the write it belongs to; each row of many looks at these.
    let directory: TableDirectory
    @exclusivity(unchecked) var state: TableState
    @exclusivity(unchecked) var dirty = DirtyRowGroups()
    @exclusivity(unchecked) private(set) var touched = false
    /// Lists too long for their column's chunk, as far as this write has touched them.
    var longLists: [LongListKey: LongList] = [:]

    var layout: TableLayout { directory.layout }
    var rowGroupSize: Int { state.rowGroupSize(ofFile: directory.rowGroupSizeOfFile) }

    let undo: UndoLog
    let lent: LentRows
    /// The savepoint that has an image of this, and the first key of the rows that came after it.
    @exclusivity(unchecked) var savedAt: UInt64 = 0
    @exclusivity(unchecked) var firstNewKey: Int64 = .max

    /// Where full row groups wait for the commit.
    let spill: SpillFile
    let opened: OpenBuilders
    private let pendingLongValues: PendingLongValues
    @exclusivity(unchecked) private var longSources: [WrittenLongValues?]

    /// The open row group as the write before has left it, until it is touched.
    @exclusivity(unchecked) private var keptOpenGroup: KeptBuilders.OpenGroup?
    /// How many of its rows lived then.
    private var keptLiveCount: Int?

    init(
        _ directory: TableDirectory, _ spill: SpillFile, _ long: PendingLongValues,
        _ keptOpenGroup: KeptBuilders.OpenGroup?,
        _ undo: UndoLog, _ lent: LentRows, _ opened: OpenBuilders, leastKey: Int64
    ) {
        self.leastKey = leastKey
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

    func makeListBuilder(_ slot: Int, capacity: Int) -> ListChunkBuilder {
        let stored = layout.columns[slot]
        return ListChunkBuilder(
            elementKind: stored.kind, nullable: stored.isNullable, capacity: capacity, long: longValues(slot))
    }

    /// How many rows its builders have room for from the beginning.
    func capacity(_ rowGroup: Int) -> Int {
        mode == .openGroup && rowGroup == regularCount ? openGroupRowLimit : rowGroupSize
    }

    // MARK: Geometry, as the write sees it

    var regularCount: Int { Int((state.openGroupFirstKey + Int64(rowGroupSize) - 1) / Int64(rowGroupSize)) }
    var openGroupRowCount: Int { Int(state.nextKey - state.openGroupFirstKey) }
    /// Of the next row that is appended.
    var nextNewKey: Int64 { max(state.nextKey, leastKey) }
    /// No lower than `nextKey`.
    func setNextNewKey(_ key: Int64) { leastKey = key }
    var rowGroupCount: Int { regularCount + (openGroupRowCount > 0 ? 1 : 0) }

    func firstKey(_ rowGroup: Int) -> Int64 {
        rowGroup < regularCount ? Int64(rowGroup) * Int64(rowGroupSize) : state.openGroupFirstKey
    }

    func rowCount(_ rowGroup: Int) -> Int {
        if let overlay = overlay(rowGroup) { return overlay.rowCount }
        return directory.rowCount(rowGroup)
    }

    @inline(__always)
    package func overlay(_ rowGroup: Int) -> DirtyRowGroup? { dirty[rowGroup] }

    // MARK: Touching

    /// Whether the commit has something of this table to write.
    var isWritten: Bool { touched || !longLists.isEmpty }

    var touchedRowGroups: [Int] {
        var rowGroups: [Int] = []
        for (rowGroup, overlay) in dirty.enumerated() where overlay != nil { rowGroups.append(rowGroup) }
        return rowGroups
    }

    package func dirtyRowGroup(_ rowGroup: Int) throws(DatabaseError) -> DirtyRowGroup {
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

    func install(_ rowGroup: DirtyRowGroup, at index: Int) {
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
        keptLiveCount = kept.rowGroup.liveCount
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

    /// How many rows of a stored row group live.
    func storedLiveCount(_ rowGroup: Int) throws(DatabaseError) -> Int {
        if rowGroup == directory.regularCount, let keptLiveCount { return keptLiveCount }
        return try directory.liveBitmap(rowGroup)?.liveCount ?? directory.rowCount(rowGroup)
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
    @exclusivity(unchecked) var mode = AppendMode.openGroup
    /// The row group that new rows go to.
    @exclusivity(unchecked) var openRowGroup: DirtyRowGroup?
    /// Builders of row groups that wait as encoded bytes.
    lazy var spares = [ChunkBuilder?](repeating: nil, count: layout.columns.count)
    /// No new row gets a key below this one: those were given out before, to rows that are not in the file.
    @exclusivity(unchecked) private(set) var leastKey: Int64

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

    /// Whether the commit has the open row group to write. It may have been read for a change that failed.
    func isOpenGroupChanged(_ openGroup: DirtyRowGroup) -> Bool {
        openGroup.liveChanged || openGroup.rowCount != directory.openGroupRowCount
            || openGroup.firstKey != directory.state.openGroupFirstKey
            || openGroup.columns.contains { $0?.isChanged ?? false }
    }

    func isOpen(_ rowGroup: Int) -> Bool { openRowGroup != nil && overlay(rowGroup) === openRowGroup }

    func forgetRows() {
        noteTable()
        undo.append(.longLists(self, longLists))
        longLists.removeAll()
        state.liveCount = 0
        isCleared = true
        touched = true
        openRowGroup = nil
    }

    // MARK: Going back to a savepoint

    /// What is worked out from the rows is worked out again.
    func restore(_ image: Image) {
        leastKey = nextNewKey
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
