/// New rows of a write: to the open row group while few arrive, to row groups of their own once more than
/// `OpenGroup.rowLimit` are there ("folding").
///
/// What has to be read for it is read before anything changes (`makeReady`), so that a file that cannot be read leaves
/// the write as it was. Keys that were given out before are passed over: their rows are dead from the beginning.
import MotteColumns
import MottePages
import MotteValues

extension TableWriter {
    var openGroupRowLimit: Int { min(OpenGroup.rowLimit, rowGroupSize) }

    /// Reads everything that appending so many rows needs; after it, appending them cannot fail.
    func makeReady(forAppending rows: Int) throws(DatabaseError) {
        noteTable()
        if mode == .openGroup {
            let limit = Int64(openGroupRowLimit)
            let places = nextNewKey - state.openGroupFirstKey
            if places > limit || Int64(rows) > limit - places { try foldOpenGroup() }
        }
        if state.nextKey < leastKey { try passOverKeys() }
        _ = try openRowGroupForAppend()
    }

    /// The row group that the next row is appended to, with all its columns loaded and room for at least one row.
    func rowGroupForAppend() throws(DatabaseError) -> DirtyRowGroup {
        noteTable()
        if state.nextKey < leastKey { try makeReady(forAppending: 1) }
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
        // Rows that never lived say nothing.
        if rowGroup.liveCount == 0 || rowGroup.hasWideColumn(ifRows: rowGroupSize) { state.ownRowGroupSize = small }
    }

    // MARK: Opening

    private func open(_ rowGroup: DirtyRowGroup, at index: Int) -> DirtyRowGroup {
        install(rowGroup, at: index)
        openRowGroup = rowGroup
        return rowGroup
    }

    private func emptyRowGroup() -> DirtyRowGroup {
        let rowGroup = DirtyRowGroup(firstKey: state.nextKey, rowCount: 0, live: nil, columnCount: layout.columns.count)
        addBuilders(to: rowGroup, capacity: capacity(regularCount))
        return rowGroup
    }

    /// With a default for each row that there is.
    private func addBuilders(to rowGroup: DirtyRowGroup, capacity: Int) {
        for (slot, stored) in layout.columns.enumerated() {
            if stored.isList {
                let builder = makeListBuilder(slot, capacity: capacity)
                builder.appendRows(rowGroup.rowCount)
                rowGroup.columns[slot] = DirtyColumn(.lists(builder))
            } else {
                let builder = spareBuilder(slot) ?? makeBuilder(slot, capacity: capacity)
                builder.appendDefaults(rowGroup.rowCount)
                rowGroup.columns[slot] = DirtyColumn(.values(builder))
            }
        }
    }

    private func spareBuilder(_ slot: Int) -> ChunkBuilder? {
        defer { spares[slot] = nil }
        return spares[slot]
    }

    private func openForAppend(_ rowGroup: Int) throws(DatabaseError) -> DirtyRowGroup {
        let open = try loaded(rowGroup)
        openRowGroup = open
        return open
    }

    /// With builders for all columns.
    private func loaded(_ rowGroup: Int) throws(DatabaseError) -> DirtyRowGroup {
        for (slot, stored) in layout.columns.enumerated() {
            if stored.isList { _ = try lists(slot, rowGroup) } else { _ = try values(slot, rowGroup) }
        }
        return try dirtyRowGroup(rowGroup)
    }

    /// The last row group if it has room, else a new one. Only while there is no open row group.
    private func openRegularRowGroup() throws(DatabaseError) -> DirtyRowGroup {
        assert(openGroupRowCount == 0)
        if let last = lastWithRoom {
            let rowGroup = try areAllDead(last) ? open(deadRowGroup(last), at: last) : try openForAppend(last)
            chooseRowGroupSize(by: rowGroup)
            if room(for: rowGroup) > 0 { return rowGroup }
        }
        return open(emptyRowGroup(), at: regularCount)
    }

    /// The last of the row groups that the open row group follows, where it is not full.
    private var lastWithRoom: Int? {
        let last = regularCount - 1
        return last >= 0 && rowCount(last) < rowGroupSize ? last : nil
    }

    private func areAllDead(_ rowGroup: Int) throws(DatabaseError) -> Bool {
        if let overlay = overlay(rowGroup) { return overlay.liveCount == 0 }
        return try directory.liveBitmap(rowGroup)?.liveCount == 0
    }

    // MARK: Dead rows

    /// In place of a row group whose rows are all dead: what is stored of them is not read any more, since they refer
    /// to long values and long lists that are gone.
    private func deadRowGroup(_ rowGroup: Int) -> DirtyRowGroup {
        let made = DirtyRowGroup(
            firstKey: firstKey(rowGroup), rowCount: rowCount(rowGroup), live: LiveBitmap(allDead: rowCount(rowGroup)),
            columnCount: layout.columns.count)
        made.liveChanged = true
        addBuilders(to: made, capacity: capacity(rowGroup))
        for column in made.columns { column?.markChanged() }
        return made
    }

    /// Marks every row dead. Nothing that is stored of them, or that the write has of them, is used again.
    func killAll() throws(DatabaseError) {
        // All that is read comes first.
        var doomed: [Int] = []
        for rowGroup in 0 ..< rowGroupCount where try !areAllDead(rowGroup) { doomed.append(rowGroup) }
        for rowGroup in doomed {
            // The open row group is written whole.
            if mode == .openGroup, rowGroup == regularCount {
                install(deadRowGroup(rowGroup), at: rowGroup)
            } else {
                install(deadRows(firstKey(rowGroup), rowCount(rowGroup)), at: rowGroup)
            }
        }
        forgetRows()
    }

    /// Without columns: they are deleted with the commit (C3).
    private func deadRows(_ firstKey: Int64, _ count: Int) -> DirtyRowGroup {
        let made = DirtyRowGroup(
            firstKey: firstKey, rowCount: count, live: LiveBitmap(allDead: count), columnCount: layout.columns.count)
        made.liveChanged = true
        return made
    }

    /// Gives the keys up to `leastKey` to rows that are dead from the beginning. A full row group of such rows is a few
    /// bytes in the file.
    private func passOverKeys() throws(DatabaseError) {
        while state.nextKey < leastKey {
            let missing = leastKey - state.nextKey
            let rowGroup = try openRowGroupForAppend()
            // Opening may have chosen it.
            let size = rowGroupSize
            if mode == .rowGroups, rowGroup.rowCount == 0, rowGroup.firstKey > 0, missing >= size {
                // Its builders are for the next one that needs some.
                for (slot, column) in rowGroup.columns.enumerated() {
                    if case .values(let builder)? = column?.storage { spares[slot] = builder }
                }
                let index = regularCount
                openRowGroup = nil
                dirty[index] = deadRows(state.nextKey, size)
                state.nextKey += Int64(size)
                state.openGroupFirstKey = state.nextKey
                continue
            }
            let index = mode == .openGroup ? regularCount : Int(rowGroup.firstKey) / size
            if undo.isActive { noteAppending(to: rowGroup, at: index) }
            let count = Int(min(missing, Int64(room(in: rowGroup))))
            let first = rowGroup.rowCount
            for column in rowGroup.columns {
                switch column?.storage {
                case .values(let builder): builder.appendDefaults(count)
                case .lists(let builder): builder.appendRows(count)
                case .patched, .sealed, nil: continue  // Never: an open row group has builders.
                }
                column?.markChanged()
            }
            finishAppend(rowGroup, rows: count)
            state.liveCount -= Int64(count)
            if rowGroup.live == nil { rowGroup.live = LiveBitmap(allLive: rowGroup.rowCount) }
            for row in first ..< rowGroup.rowCount { rowGroup.live?.kill(row) }
            rowGroup.liveChanged = true
        }
    }

    // MARK: Appending

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

    /// Moves the open row group's rows to row groups. Where something cannot be read, nothing has changed.
    func foldOpenGroup() throws(DatabaseError) {
        guard mode == .openGroup else { return }
        noteTable()
        // What the first rows go to; further row groups are new.
        if let last = lastWithRoom, try !areAllDead(last) { _ = try loaded(last) }
        guard openGroupRowCount > 0 else {
            openRowGroup = nil
            mode = .rowGroups
            return
        }
        let index = regularCount
        let openGroup = try loaded(index)
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
            let target: DirtyRowGroup
            do throws(DatabaseError) { target = try openRegularRowGroup() } catch {
                // Never, after what was read above.
                undo.leftIncomplete(error)
                throw error
            }
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
}
