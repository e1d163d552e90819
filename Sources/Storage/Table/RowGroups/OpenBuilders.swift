/// The columns that a write has opened to change values in them, and what becomes of them when they are many: all but
/// those of the last row group are encoded into the spill file, as full row groups of a bulk load are, and opened again
/// if they are changed again.
///
/// A change that goes through a table in order so holds a row group at a time, however large the table is. One that
/// goes about in it would encode the same columns over and over: each time that many had to be opened again, twice as
/// much may stay open, so what is encoded in all is at most some times what is opened.
///
/// Only between two calls that change something (`WriteTransaction.settle`): within one, builders are in use.
import MottePages

package final class OpenBuilders {
    private struct Entry {
        /// Which keeps this.
        weak var writer: TableWriter?
        let rowGroup: Int
        let slot: Int
        let column: DirtyColumn
        var bytes: Int
    }

    private var entries: [Entry] = []
    /// Patched where they are stored, so that what they are patches of must stay in memory.
    private var patched: [Entry] = []
    /// About: of the column that was opened last as it was then.
    @exclusivity(unchecked) package private(set) var bytes = 0
    @exclusivity(unchecked) private var mostBytes: Int
    private var sealedCount = 0
    private var reopenedCount = 0

    private static let greatest = 32 << 20

    init(_ plan: SpillPlan) { mostBytes = min(Self.greatest, plan.memoryBytes / 2) }

    @inline(__always)
    package var areMany: Bool { bytes > mostBytes }

    /// For tests.
    package var count: Int { entries.count }

    func note(_ writer: TableWriter, _ rowGroup: Int, _ slot: Int, _ column: DirtyColumn) {
        if let last = entries.indices.last { count(last) }
        entries.append(Entry(writer: writer, rowGroup: rowGroup, slot: slot, column: column, bytes: 0))
        count(entries.count - 1)
        if column.wasOpen { reopenedCount += 1 }
    }

    /// Of a column that is patched as it is stored.
    func notePatched(_ writer: TableWriter, _ rowGroup: Int, _ slot: Int, _ column: DirtyColumn) {
        patched.append(Entry(writer: writer, rowGroup: rowGroup, slot: slot, column: column, bytes: 0))
    }

    /// Copies of what is patched, so that the memory of pages can be given back. They count as open from here on.
    func detach() {
        for entry in patched {
            guard case .patched(let patch) = entry.column.storage else { continue }
            patch.detach()
            if let writer = entry.writer { note(writer, entry.rowGroup, entry.slot, entry.column) }
        }
        patched.removeAll()
    }

    /// It has grown since, when values came into it.
    private func count(_ index: Int) {
        let now = entries[index].column.allocatedBytes
        bytes += now - entries[index].bytes
        entries[index].bytes = now
    }

    func seal() {
        guard let last = entries.last else { return }
        if reopenedCount * 4 > sealedCount { mostBytes = min(mostBytes, .max / 2) * 2 }
        reopenedCount = 0
        sealedCount = 0
        guard areMany else { return }
        var kept: [Entry] = []
        for entry in entries {
            guard let writer = entry.writer else { continue }
            if writer === last.writer && entry.rowGroup == last.rowGroup || writer.isOpen(entry.rowGroup) {
                kept.append(entry)
            } else if writer.seal(entry.column, entry.slot, entry.rowGroup) {
                entry.column.wasOpen = true
                sealedCount += 1
            }
        }
        entries = kept
        bytes = 0
        for index in entries.indices {
            entries[index].bytes = 0
            count(index)
        }
        // Of the row group at hand alone: it can be as large as it likes.
        mostBytes = max(mostBytes, 2 * bytes)
    }
}
