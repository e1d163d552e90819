/// The rows of one table as a write transaction is changing them: an overlay of dirty clusters over the committed
/// directory. Knows nothing of indexes, links or history; `WriteTransaction` keeps those in step.
///
/// New rows go to the tail while few arrive and to clusters of their own once more than `Tail.rowLimit` are there
/// ("folding"). The overlay is not consumed by encoding it: a commit that fails leaves the write as it was.
import MotteColumns
import MottePages
import MotteValues

final class TableWriter {
    // Exclusivity: one thread at a time, like the write it belongs to; each row of many looks at these.
    let directory: TableDirectory
    @exclusivity(unchecked) private(set) var state: TableState
    private(set) var dirty = DirtyClusters()
    private(set) var touched = false
    /// Lists too long for their column's chunk, as far as this write has touched them.
    var longLists: [LongListKey: LongList] = [:]
    @exclusivity(unchecked) private var openCluster: DirtyCluster?

    var layout: TableLayout { directory.layout }
    var rowsPerCluster: Int { state.rowsPerCluster(ofFile: directory.rowsPerClusterOfFile) }

    let undo: UndoLog
    let lent: LentRows
    /// The savepoint that has an image of this, and the first key of the rows that came after it.
    @exclusivity(unchecked) var savedAt: UInt64 = 0
    @exclusivity(unchecked) var firstNewKey: Int64 = .max

    /// Where full clusters wait for the commit.
    private let spool: PageSpool
    private let pendingLongValues: PendingLongValues
    private var longSources: [WrittenLongValues?]

    /// The tail as the write before has left it, until it is touched.
    private var keptTail: Handover.Tail?

    init(
        _ directory: TableDirectory, _ spool: PageSpool, _ long: PendingLongValues, _ keptTail: Handover.Tail?,
        _ undo: UndoLog, _ lent: LentRows
    ) {
        self.undo = undo
        self.lent = lent
        self.directory = directory
        self.keptTail = keptTail
        plan = keptTail?.plan
        self.spool = spool
        pendingLongValues = long
        longSources = Array(repeating: nil, count: directory.layout.columns.count)
        state = directory.state
    }

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
    private func capacity(_ cluster: Int) -> Int {
        mode == .tail && cluster == regularCount ? tailRowLimit : rowsPerCluster
    }

    // MARK: Geometry, as the write sees it

    var regularCount: Int { Int((state.tailFirstKey + Int64(rowsPerCluster) - 1) / Int64(rowsPerCluster)) }
    var tailRowCount: Int { Int(state.nextKey - state.tailFirstKey) }
    var clusterCount: Int { regularCount + (tailRowCount > 0 ? 1 : 0) }

    func firstKey(_ cluster: Int) -> Int64 {
        cluster < regularCount ? Int64(cluster) * Int64(rowsPerCluster) : state.tailFirstKey
    }

    func rowCount(_ cluster: Int) -> Int {
        if let overlay = overlay(cluster) { return overlay.rowCount }
        return directory.rowCount(cluster)
    }

    @inline(__always)
    func overlay(_ cluster: Int) -> DirtyCluster? { dirty[cluster] }

    // MARK: Touching

    /// Whether the commit has something of this table to write.
    var isWritten: Bool { touched || !longLists.isEmpty }

    var touchedClusters: [Int] {
        var clusters: [Int] = []
        for (cluster, overlay) in dirty.enumerated() where overlay != nil { clusters.append(cluster) }
        return clusters
    }

    func dirtyCluster(_ cluster: Int) throws(DatabaseError) -> DirtyCluster {
        if let overlay = overlay(cluster) { return overlay }
        if let tail = takeKeptTail(cluster) {
            install(tail, at: cluster)
            return tail
        }
        let made = DirtyCluster(
            firstKey: firstKey(cluster), rowCount: directory.rowCount(cluster), live: try directory.liveBitmap(cluster),
            columnCount: layout.columns.count)
        install(made, at: cluster)
        return made
    }

    private func install(_ cluster: DirtyCluster, at index: Int) {
        noteTable()
        undo.append(.installed(self, index, before: dirty[index]))
        touched = true
        dirty[index] = cluster
    }

    /// The tail without reading it, where the write before has left it.
    private func takeKeptTail(_ cluster: Int) -> DirtyCluster? {
        guard mode == .tail, cluster == regularCount, let kept = keptTail else { return nil }
        keptTail = nil
        guard kept.cluster.firstKey == state.tailFirstKey, kept.cluster.rowCount == tailRowCount else {
            assertionFailure("a tail was kept for another version")
            return nil
        }
        for (slot, column) in kept.cluster.columns.enumerated() where layout.columns[slot].kind.mayBeLong {
            column?.join(longValues(slot))
        }
        return kept.cluster
    }

    /// After the commit: the tail as it has been written, or as it was kept where nobody has touched it.
    func handOverTail() -> Handover.Tail? {
        guard mode == .tail, tailRowCount > 0 else { return nil }
        guard let tail = overlay(regularCount) else { return keptTail }
        guard tail.leaveWrite() else { return nil }
        return Handover.Tail(
            layout: layout, cluster: tail, plan: plan.flatMap { $0.isTurned(to: tail) ? $0 : nil })
    }

    func values(_ slot: Int, _ cluster: Int) throws(DatabaseError) -> (column: DirtyColumn, builder: ChunkBuilder) {
        let overlay = try dirtyCluster(cluster)
        if let column = overlay.columns[slot], case .values(let builder) = column.storage { return (column, builder) }
        let stored = layout.columns[slot]
        let builder = makeBuilder(slot, capacity: capacity(cluster))
        if let column = overlay.columns[slot] {
            builder.load(try column.currentChunk(stored.kind, longValues(slot)))
            column.reopen(.values(builder))
            return (column, builder)
        }
        builder.load(try directory.chunk(slot, cluster))
        let column = DirtyColumn(.values(builder))
        overlay.columns[slot] = column
        return (column, builder)
    }

    func lists(_ slot: Int, _ cluster: Int) throws(DatabaseError) -> (column: DirtyColumn, builder: ListChunkBuilder) {
        let overlay = try dirtyCluster(cluster)
        if let column = overlay.columns[slot], case .lists(let builder) = column.storage { return (column, builder) }
        let stored = layout.columns[slot]
        let builder = makeListBuilder(slot, capacity: capacity(cluster))
        if let column = overlay.columns[slot] {
            builder.load(try column.currentListChunk(stored.kind, longValues(slot)))
            column.reopen(.lists(builder))
            return (column, builder)
        }
        builder.load(try directory.listChunk(slot, cluster))
        let column = DirtyColumn(.lists(builder))
        overlay.columns[slot] = column
        return (column, builder)
    }

    // MARK: Rows

    /// Where new rows go. A write starts with the tail and turns to clusters for good when the tail is full.
    enum AppendMode { case tail, clusters }
    @exclusivity(unchecked) private(set) var mode = AppendMode.tail
    private var tailRowLimit: Int { min(Tail.rowLimit, rowsPerCluster) }

    /// The cluster that the next row is appended to, with all its columns loaded and room for at least one row.
    func clusterForAppend() throws(DatabaseError) -> DirtyCluster {
        noteTable()
        let cluster = try openClusterForAppend()
        if undo.isActive {
            noteAppending(to: cluster, at: mode == .tail ? regularCount : Int(cluster.firstKey) / rowsPerCluster)
        }
        return cluster
    }

    private func openClusterForAppend() throws(DatabaseError) -> DirtyCluster {
        if mode == .tail {
            if tailRowCount < tailRowLimit {
                if let openCluster { return openCluster }
                return tailRowCount > 0 ? try openForAppend(regularCount) : open(emptyCluster(), at: regularCount)
            }
            try foldTail()
        }
        if let full = openCluster {
            chooseRowsPerCluster(by: full)
            if room(for: full) > 0 { return full }
            seal(full)
        }
        return try openRegularCluster()
    }

    /// Full clusters of a bulk load wait for the commit as encoded bytes, a fraction of what their builders take; the
    /// builders go on to the next cluster.
    private func seal(_ cluster: DirtyCluster) {
        let index = Int(cluster.firstKey) / rowsPerCluster
        for (slot, stored) in layout.columns.enumerated() {
            guard let column = cluster.columns[slot] else { continue }
            let key = PageKeys.chunk(layout.key, stored.key, index)
            if let builder = column.seal(key: key, into: spool) {
                builder.removeAll()
                spares[slot] = builder
            }
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

    /// How many rows `cluster` still takes before `clusterForAppend` must be asked again.
    func room(in cluster: DirtyCluster) -> Int {
        mode == .tail ? tailRowLimit - cluster.rowCount : room(for: cluster)
    }

    /// Of a regular cluster that is open. The first one stops where it is time to choose.
    private func room(for cluster: DirtyCluster) -> Int {
        let mayChoose = cluster.firstKey == 0 && cluster.rowCount < FileHeader.fewRowsPerCluster
        return (mayChoose ? min(rowsPerCluster, FileHeader.fewRowsPerCluster) : rowsPerCluster) - cluster.rowCount
    }

    /// When the first cluster has as many rows as small clusters have, its values tell whether the table gets small
    /// ones: both ways it is the same cluster until then.
    private func chooseRowsPerCluster(by cluster: DirtyCluster) {
        let small = FileHeader.fewRowsPerCluster
        guard cluster.firstKey == 0, rowsPerCluster > small, cluster.rowCount == small else { return }
        if cluster.hasWideColumn(ifRows: rowsPerCluster) { state.ownRowsPerCluster = small }
    }

    private func open(_ cluster: DirtyCluster, at index: Int) -> DirtyCluster {
        install(cluster, at: index)
        openCluster = cluster
        return cluster
    }

    private func emptyCluster() -> DirtyCluster {
        let cluster = DirtyCluster(firstKey: state.nextKey, rowCount: 0, live: nil, columnCount: layout.columns.count)
        let capacity = capacity(regularCount)
        for (slot, stored) in layout.columns.enumerated() {
            cluster.columns[slot] = DirtyColumn(
                stored.isList
                    ? .lists(makeListBuilder(slot, capacity: capacity))
                    : .values(spareBuilder(slot) ?? makeBuilder(slot, capacity: capacity)))
        }
        return cluster
    }

    private func spareBuilder(_ slot: Int) -> ChunkBuilder? {
        defer { spares[slot] = nil }
        return spares[slot]
    }

    private func openForAppend(_ cluster: Int) throws(DatabaseError) -> DirtyCluster {
        for (slot, stored) in layout.columns.enumerated() {
            if stored.isList { _ = try lists(slot, cluster) } else { _ = try values(slot, cluster) }
        }
        let open = try dirtyCluster(cluster)
        openCluster = open
        return open
    }

    /// The last cluster if it has room, else a new one. Only while there is no tail.
    private func openRegularCluster() throws(DatabaseError) -> DirtyCluster {
        assert(tailRowCount == 0)
        let last = regularCount - 1
        if last >= 0, rowCount(last) < rowsPerCluster {
            let cluster = try openForAppend(last)
            chooseRowsPerCluster(by: cluster)
            if room(for: cluster) > 0 { return cluster }
        }
        return open(emptyCluster(), at: regularCount)
    }

    /// Called after the values of `rows` rows have been appended to every column of `cluster`.
    @inline(__always)
    func finishAppend(_ cluster: DirtyCluster, rows: Int) {
        cluster.rowCount += rows
        if cluster.live != nil {
            cluster.live?.extend(to: cluster.rowCount)
            cluster.liveChanged = true
        }
        state.nextKey += Int64(rows)
        state.liveCount += Int64(rows)
        if mode == .clusters { state.tailFirstKey = state.nextKey }
    }

    /// Moves the tail's rows to clusters.
    func foldTail() throws(DatabaseError) {
        guard mode == .tail else { return }
        noteTable()
        guard tailRowCount > 0 else {
            mode = .clusters
            return
        }
        let index = regularCount
        let tail = try openForAppend(index)
        let rows = tail.rowCount
        // To be undone, the tail stays as it is: its lists are copied then.
        undo.append(.installed(self, index, before: tail))
        dirty[index] = nil
        openCluster = nil
        mode = .clusters
        // From here on the write has no tail: its rows are appended again, to clusters.
        let next = state.nextKey
        let liveCount = state.liveCount
        state.nextKey = state.tailFirstKey
        var row = 0
        while row < rows {
            let target = try openRegularCluster()
            noteAppending(to: target, at: Int(target.firstKey) / rowsPerCluster)
            let count = min(rows - row, room(for: target))
            for slot in layout.columns.indices {
                Self.copyRows(
                    from: tail.columns[slot], row ..< row + count, to: target.columns[slot],
                    copyingLists: undo.isActive)
            }
            let before = target.rowCount
            finishAppend(target, rows: count)
            if let tailLive = tail.live {
                for slot in 0 ..< count where !tailLive.isLive(row + slot) {
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

    /// Marks a row dead. Its values stay until the cluster is rewritten.
    func kill(_ cluster: Int, _ slot: Int) throws(DatabaseError) {
        guard state.liveCount > 0 else {
            throw .corrupted("state of table \(layout.key.rawValue) counts fewer objects than there are (table-1)")
        }
        noteTable()
        let overlay = try dirtyCluster(cluster)
        noteLive(overlay)
        if overlay.live == nil { overlay.live = LiveBitmap(allLive: overlay.rowCount) }
        overlay.live?.kill(slot)
        overlay.liveChanged = true
        state.liveCount -= 1
    }

    // MARK: Deleting all

    /// Every row was deleted: long lists and other pages of single rows are deleted by prefix when this is committed.
    private(set) var isCleared = false

    func isOpen(_ cluster: Int) -> Bool { openCluster != nil && overlay(cluster) === openCluster }

    /// A fresh overlay instead of the one there may be.
    func replace(_ cluster: Int) -> DirtyCluster {
        let made = DirtyCluster(
            firstKey: firstKey(cluster), rowCount: rowCount(cluster), live: nil, columnCount: layout.columns.count)
        install(made, at: cluster)
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
        openCluster = nil
        plan = nil
        keptTail = nil
        savedAt = 0
        firstNewKey = .max
    }

    func reinstall(_ cluster: DirtyCluster?, at index: Int) { dirty[index] = cluster }

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
