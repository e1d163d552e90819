/// What a write would have to take back to be as it was at its savepoints: one entry for each thing that changes for
/// the first time, made before it changes, and undone last first.
///
/// Entries are about what a write consists of, and each part of it is changed in one place only:
///
///     rows       appending, and killing, in `TableWriter`; rows that came after the savepoint are cut off again, so
///                that nothing that happens to them needs an entry
///     cells      one value of an older row (`noteCell`), or its list while that is short (`noteListRow`)
///     long lists edits by their inverse; what replaces a tree whole by the tree (`LongList.Image`)
///     indexes    `IndexDelta`: entries are a multiset, so an added one is undone by removing it
///     the record `ChangeRecorder` and what it consists of
///
/// A savepoint of a write that has changed nothing needs no entries: going back to it is beginning again, and all that
/// a bulk load costs more within one is a look at `isActive`, as without a savepoint. One thread, that of its write.
import MotteColumns
import MotteValues

package final class UndoLog {
    enum Entry {
        case table(TableWriter, TableWriter.Image)
        case installed(TableWriter, Int, before: DirtyRowGroup?)
        case rows(TableWriter, DirtyRowGroup, index: Int, count: Int, LiveBitmap?, isLiveChanged: Bool)
        case live(DirtyRowGroup, LiveBitmap?, isChanged: Bool)
        /// The commit would not have written it.
        case unchanged(DirtyColumn)
        case cell(TableWriter, slot: Int, rowGroup: Int, row: Int, SavedCell)
        case listRow(TableWriter, slot: Int, rowGroup: Int, row: Int, ListChunkBuilder.SavedRow)
        /// The list was as it is in the file, or was not there.
        case longListAdded(TableWriter, LongListKey)
        case longLists(TableWriter, [LongListKey: LongList])
        case longListImage(LongList, LongList.Image)
        case longListInserted(LongList, Range<Int>)
        case longListRemoved(LongList, at: Int, ChunkBuilder)
        case longListSet(LongList, Int, ChunkBuilder)
        case indexAdded(IndexDelta, IndexEntry, isNull: Bool)
        case indexAddedMany(IndexDelta, ContiguousArray<IndexEntry>)
        case indexRemoved(IndexDelta, IndexEntry, isNull: Bool)
        case indexCleared(IndexDelta, IndexDelta.Image)
        case index(PendingIndex, mark: Int)
        case recorded(RecordedTable, RecordedTable.Image)
        case recordedValue(RecordedColumn, RecordedColumn.Last)
        case recordedList(RecordedLists, RecordedLists.Last)
        case recordedMap(RecordedMaps, RecordedMaps.Last)
        case recordedNested(RecordedNested, owner: Int64)
    }

    /// An open savepoint.
    struct Level {
        let serial: UInt64
        /// False where the write had changed nothing. Levels without entries lie outside of those that have some.
        let hasEntries: Bool
        let firstEntry: Int
        let nestedEditCount: Int
        /// Changes that the write had then, and those among them that had been undone.
        let changeCount: UInt64
        let undoneCount: UInt64
        /// Lists of old rows that have an entry.
        var listRows: Set<ListRow> = []
    }

    struct ListRow: Hashable {
        let writer: ObjectIdentifier
        let slot: Int
        let rowGroup: Int
        let row: Int
    }

    private static let serials = Locked<UInt64>(ofProcess: 0)
    @exclusivity(unchecked) private(set) var isActive = false
    /// Of the innermost savepoint that has entries; none is 0.
    @exclusivity(unchecked) private(set) var serial: UInt64 = 0
    @exclusivity(unchecked) private var entries: [Entry] = []
    private var levels: [Level] = []
    package var entryCount: Int { entries.count }
    /// Why the write can only be cancelled: it could not be brought back to a savepoint.
    package private(set) var failure: DatabaseError?
    /// The first call that failed after it had changed something, and how many entries there were then.
    private var incomplete: (error: DatabaseError, entryCount: Int)?
    package var incompleteness: DatabaseError? { incomplete?.error }

    @inline(__always)
    func append(_ entry: @autoclosure () -> Entry) {
        if isActive { entries.append(entry()) }
    }

    /// True the first time that a savepoint notes a list.
    func isFirst(_ row: ListRow) -> Bool {
        guard isActive else { return false }
        return levels[levels.count - 1].listRows.insert(row).inserted
    }

    /// What cannot be undone any more where it has been done in part.
    func cannotUndo(_ error: DatabaseError) {
        if isActive { fail(error) }
    }

    func fail(_ error: DatabaseError) { failure = failure ?? error }

    func leftIncomplete(_ error: DatabaseError) {
        if incomplete == nil { incomplete = (error, isActive ? entries.count : -1) }
    }

    // MARK: Savepoints

    func begin(isUnchanged: Bool, nestedEditCount: Int, changeCount: UInt64, undoneCount: UInt64) -> UInt64 {
        // Not of one write: an old number must not stand for a savepoint of a later one.
        let serial = UndoLog.serials.withLock { last in
            last += 1
            return last
        }
        levels.append(
            Level(
                serial: serial, hasEntries: isActive || !isUnchanged, firstEntry: entries.count,
                nestedEditCount: nestedEditCount, changeCount: changeCount, undoneCount: undoneCount))
        followInnermost()
        return serial
    }

    private func followInnermost() {
        isActive = levels.last?.hasEntries ?? false
        serial = isActive ? levels[levels.count - 1].serial : 0
    }

    func isOpen(_ serial: UInt64) -> Bool { levels.contains { $0.serial == serial } }

    /// Forgets the savepoint and those within it; what they would undo is up to the one around them.
    func release(_ serial: UInt64) {
        guard let index = levels.firstIndex(where: { $0.serial == serial }) else { return }
        levels.removeSubrange(index...)
        followInnermost()
        if !isActive { entries.removeAll(keepingCapacity: entries.capacity <= 4_096) }
    }

    func releaseAll() {
        if let first = levels.first { release(first.serial) }
    }

    /// The entries since then, last first, while `body` undoes them nothing is noted; then the savepoint is gone.
    func unwind(_ serial: UInt64, _ body: (Entry) throws(DatabaseError) -> Void) -> Level? {
        guard let index = levels.firstIndex(where: { $0.serial == serial }) else { return nil }
        let level = levels[index]
        isActive = false
        if !level.hasEntries {
            // Whatever could not be undone goes with all the rest.
            failure = nil
            incomplete = nil
            entries.removeAll()
        } else if let known = incomplete, known.entryCount >= level.firstEntry {
            incomplete = nil
        }
        do throws(DatabaseError) {
            while entries.count > level.firstEntry { try body(entries.removeLast()) }
        } catch { fail(error) }
        if entries.count > level.firstEntry { entries.removeSubrange(level.firstEntry...) }
        release(serial)
        return level
    }
}
