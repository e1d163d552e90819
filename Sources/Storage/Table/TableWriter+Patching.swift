/// Columns of stored row groups of which a write changes a few values: patched as they are stored, so that a commit of
/// one object neither decodes nor encodes the other rows.
import MotteColumns
import MotteValues

extension TableWriter {
    /// Every so many commits a chunk is encoded again all the same: values that came one by one may repeat each other
    /// by then, or lie nearer to each other.
    private static let commitsBetweenEncodings: UInt64 = 32

    /// The column of a value that is about to be replaced by one that fits it. The builder is nil where the column is
    /// patched: there no savepoint is open, and nothing has to be noted for one.
    func column(
        _ slot: Int, _ place: RowLocation, taking value: ValueView
    ) throws(DatabaseError) -> (column: DirtyColumn, builder: ChunkBuilder?) {
        if let column = try patchedColumn(slot, place, taking: value) { return (column, nil) }
        let (column, builder) = try values(slot, place.rowGroup)
        return (column, builder)
    }

    private func patchedColumn(
        _ slot: Int, _ place: RowLocation, taking value: ValueView
    ) throws(DatabaseError) -> DirtyColumn? {
        // The open row group is kept in builders, and encoded whole.
        guard !undo.isActive, place.rowGroup < directory.regularCount else { return nil }
        if let column = overlay(place.rowGroup)?.columns[slot] {
            switch column.storage {
            case .patched(let patch): return takes(patch, slot, place.slot, value) ? column : nil
            case .sealed: return try patchedAgain(column, slot, place, taking: value)
            case .values, .lists: return nil
            }
        }
        guard commitVersion % Self.commitsBetweenEncodings != 0 else { return nil }
        let chunk = try directory.chunk(slot, place.rowGroup)
        guard let patch = ChunkPatch(chunk), takes(patch, slot, place.slot, value) else { return nil }
        let rowGroup = try dirtyRowGroup(place.rowGroup)
        guard rowGroup.rowCount == patch.count else { return nil }
        let column = DirtyColumn(.patched(patch))
        rowGroup.columns[slot] = column
        opened.notePatched(self, place.rowGroup, slot, column)
        return column
    }

    /// One that was encoded for want of memory: a patch of it holds a few values, where a builder would hold all.
    private func patchedAgain(
        _ column: DirtyColumn, _ slot: Int, _ place: RowLocation, taking value: ValueView
    ) throws(DatabaseError) -> DirtyColumn? {
        let chunk = try column.currentChunk(layout.columns[slot].kind, longValues(slot))
        guard let patch = ChunkPatch(chunk), takes(patch, slot, place.slot, value),
            overlay(place.rowGroup)?.rowCount == patch.count
        else { return nil }
        column.reopen(.patched(patch))
        return column
    }

    private func takes(_ patch: ChunkPatch, _ slot: Int, _ row: Int, _ value: ValueView) -> Bool {
        patch.takes(row, value, longLimit: longValues(slot)?.limit ?? .max)
    }
}
