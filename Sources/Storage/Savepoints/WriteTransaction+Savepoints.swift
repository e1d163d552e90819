/// Savepoints: a write can go back to how it was at one, with everything that a commit would write, notify or answer.
/// What was read meanwhile stays read, and spill files keep the bytes that nobody names any more.
import MotteColumns
import MotteValues

extension WriteTransaction {
    package struct Savepoint: Equatable, Sendable {
        package let serial: UInt64

        package init(serial: UInt64) { self.serial = serial }
    }

    /// What `rollBack` has taken back.
    package struct RolledBack {
        /// By table the first key that is free again: objects from there on never were.
        package let firstKeys: [(table: TableKey, key: ObjectKey)]
        /// How many edits of nested lists and maps are left in the WAL.
        package let nestedEditCount: Int
        /// How many changes are left.
        package let changeCount: UInt64
    }

    /// Savepoints lie within each other: releasing one, or going back to it, ends those that began after it.
    package func savepoint() throws(DatabaseError) -> Savepoint {
        try requireOpen()
        try requireWhole()
        return Savepoint(
            serial: undo.begin(
                isUnchanged: isUnchanged, nestedEditCount: recorder.nestedEdits.count, changeCount: changeCount,
                undoneCount: undoneCount))
    }

    package func isOpen(_ savepoint: Savepoint) -> Bool { undo.isOpen(savepoint.serial) }

    package var hasSavepoints: Bool { undo.isActive }

    /// Keeps what has been done since.
    package func release(_ savepoint: Savepoint) throws(DatabaseError) {
        try requireOpen()
        guard isOpen(savepoint) else { throw Self.endedSavepoint() }
        undo.release(savepoint.serial)
    }

    /// Undoes what has been done since, and ends the savepoint.
    package func rollBack(to savepoint: Savepoint) throws(DatabaseError) -> RolledBack {
        try requireOpen()
        var firstKeys: [(table: TableKey, key: ObjectKey)] = []
        let level = undo.unwind(savepoint.serial) { entry throws(DatabaseError) in
            if case .table(let writer, let image) = entry {
                firstKeys.append((writer.layout.key, ObjectKey(image.state.nextKey)))
            }
            try undo(entry)
        }
        guard let level else { throw Self.endedSavepoint() }
        if !level.hasEntries { firstKeys = beginAgain() }
        recorder.cutNestedEdits(to: level.nestedEditCount)
        // What was borrowed or computed since is out of date.
        noteUndone(since: level.changeCount, undoneCount: level.undoneCount)
        return RolledBack(
            firstKeys: firstKeys, nestedEditCount: level.nestedEditCount, changeCount: standingChangeCount)
    }

    /// Whether going back to now is beginning again.
    private var isUnchanged: Bool { !hasChanges && migration == nil && !isCreatingEmbedded }

    private static func endedSavepoint() -> DatabaseError {
        DatabaseError(
            .invalidArgument, "this savepoint has been released, rolled back or ended with its write; make another")
    }

    /// A write that could not be brought back to a savepoint holds nobody knows what.
    func requireWhole() throws(DatabaseError) {
        if let failure = undo.failure {
            throw DatabaseError(
                failure.code, "changes of this write could not be undone; cancel it: \(failure.message)")
        }
        if let error = undo.incompleteness {
            throw DatabaseError(
                error.code,
                "a change of this write failed half-way; cancel the write, or go back to a savepoint from before it: "
                    + error.message)
        }
    }

    /// For what comes after the first change of a call, which has checked everything that a caller can have wrong.
    /// Should it fail, because the file cannot be read or the disk is full, a part has been done: then nothing of the
    /// write can be committed until it goes back to a savepoint from before.
    @inline(__always)
    func completing<R>(_ body: () throws(DatabaseError) -> R) throws(DatabaseError) -> R {
        do throws(DatabaseError) { return try body() } catch {
            undo.leftIncomplete(error)
            throw error
        }
    }

    private func undo(_ entry: UndoLog.Entry) throws(DatabaseError) {
        switch entry {
        case .table(let writer, let image): writer.restore(image)
        case .installed(let writer, let index, let before): writer.reinstall(before, at: index)
        case .rows(let writer, let rowGroup, let index, let count, let live, let isLiveChanged):
            try writer.cutOff(rowGroup, index, rows: count)
            rowGroup.live = live
            rowGroup.liveChanged = isLiveChanged
        case .live(let rowGroup, let live, let isChanged):
            rowGroup.live = live
            rowGroup.liveChanged = isChanged
        case .unchanged(let column): column.markUnchanged()
        case .cell(let writer, let slot, let rowGroup, let row, let saved):
            let (column, builder) = try writer.values(slot, rowGroup)
            builder.restore(row, saved)
            column.markChanged()
        case .listRow(let writer, let slot, let rowGroup, let row, let saved):
            let (column, builder) = try writer.lists(slot, rowGroup)
            builder.restore(row, saved)
            column.markChanged()
        case .longListAdded(let writer, let id): writer.longLists[id] = nil
        case .longLists(let writer, let lists): writer.longLists = lists
        case .longListImage(let list, let image): list.restore(image)
        case .longListInserted(let list, let range): try list.remove(range)
        case .longListRemoved(let list, let index, let carried): try list.insert(ListValues(of: carried), at: index)
        case .longListSet(let list, let index, let carried): try list.set(index, carried, 0)
        case .indexAdded(let delta, let entry, let isNull): delta.undoAdding(entry, isNull: isNull)
        case .indexAddedMany(let delta, let entries): for entry in entries { delta.undoAdding(entry, isNull: false) }
        case .indexRemoved(let delta, let entry, let isNull): delta.undoRemoving(entry, isNull: isNull)
        case .indexCleared(let delta, let image): delta.restore(image)
        case .index(let pending, let mark): pending.rollBack(to: mark)
        case .recorded(let table, let image): table.restore(image)
        case .recordedValue(let column, let last): column.undo(last)
        case .recordedList(let lists, let last): lists.undo(last)
        case .recordedMap(let maps, let last): maps.undo(last)
        case .recordedNested(let nested, let owner): nested.undo(owner)
        }
    }
}

// MARK: Rows

extension TableWriter {
    /// What changes with the rows, but for the rows.
    struct Image {
        let state: TableState
        let touched: Bool
        let mode: AppendMode
        let isCleared: Bool
    }

    /// Before anything of the table changes.
    func noteTable() {
        guard undo.isActive, savedAt != undo.serial else { return }
        undo.append(
            .table(self, Image(state: state, touched: touched, mode: mode, isCleared: isCleared)))
        savedAt = undo.serial
        firstNewKey = state.nextKey
    }

    /// Whether the row came after the savepoint and goes whatever becomes of it.
    private func isNew(_ rowGroup: Int, _ row: Int) -> Bool { firstKey(rowGroup) + Int64(row) >= firstNewKey }

    /// Before rows are appended to a row group whose columns are open.
    func noteAppending(to rowGroup: DirtyRowGroup, at index: Int) {
        guard undo.isActive, rowGroup.savedAt != undo.serial else { return }
        rowGroup.savedAt = undo.serial
        undo.append(
            .rows(
                self, rowGroup, index: index, count: rowGroup.rowCount, rowGroup.live,
                isLiveChanged: rowGroup.liveChanged)
        )
        for column in rowGroup.columns { if let column { noteColumn(column) } }
    }

    private func noteColumn(_ column: DirtyColumn) {
        if !column.isChanged { undo.append(.unchanged(column)) }
    }

    /// Before a value changes.
    func noteCell(_ slot: Int, _ rowGroup: Int, _ row: Int, _ column: DirtyColumn, _ builder: ChunkBuilder) {
        guard undo.isActive else { return }
        noteTable()
        noteColumn(column)
        guard !isNew(rowGroup, row) else { return }
        undo.append(.cell(self, slot: slot, rowGroup: rowGroup, row: row, builder.saved(row)))
    }

    /// Before the elements of a list change that lie in its column's chunk, or their number.
    func noteListRow(_ slot: Int, _ rowGroup: Int, _ row: Int, _ column: DirtyColumn, _ builder: ListChunkBuilder) {
        guard undo.isActive else { return }
        noteTable()
        noteColumn(column)
        let id = UndoLog.ListRow(writer: ObjectIdentifier(self), slot: slot, rowGroup: rowGroup, row: row)
        guard !isNew(rowGroup, row), undo.isFirst(id) else { return }
        undo.append(.listRow(self, slot: slot, rowGroup: rowGroup, row: row, builder.saved(row)))
    }

    func noteLive(_ rowGroup: DirtyRowGroup) {
        undo.append(.live(rowGroup, rowGroup.live, isChanged: rowGroup.liveChanged))
    }

    /// Before a long list is changed for which nothing has been written yet.
    func noteLongList(_ id: LongListKey, _ list: LongList) {
        if undo.isActive, !list.isChanged { undo.append(.longListAdded(self, id)) }
    }

    /// Keeps a long list that the write has opened.
    func add(_ list: LongList, _ id: LongListKey) {
        undo.append(.longListAdded(self, id))
        longLists[id] = list
    }

    // MARK: Undoing

    func cutOff(_ rowGroup: DirtyRowGroup, _ index: Int, rows: Int) throws(DatabaseError) {
        // A row group that was empty goes as a whole.
        if rows > 0 {
            for (slot, stored) in layout.columns.enumerated() {
                if stored.isList {
                    let (column, builder) = try lists(slot, index)
                    builder.truncate(to: rows)
                    column.markChanged()
                } else {
                    let (column, builder) = try values(slot, index)
                    builder.truncate(to: rows)
                    column.markChanged()
                }
            }
        }
        rowGroup.rowCount = rows
    }
}
