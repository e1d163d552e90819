/// Collects what a write transaction changes, for its change record.
///
/// Only the net effect counts: an object created and deleted in the transaction leaves no trace, one that is created
/// and modified was created, a property that is set twice has the first value before and the last after. Rows inserted
/// together cost one run, whatever their number; a modification costs its key and images.
///
/// Object keys are never reused, so a key at or above the first one inserted in the transaction is new.
///
/// Owned by the write transaction; one thread.
import MottePages
import MotteValues

package final class ChangeRecorder {
    private let policy: ChangeLogPolicy
    @exclusivity(unchecked) private var tables: [RecordedTable] = []
    @exclusivity(unchecked) private var latest: RecordedTable?
    private var changesSchema = false
    /// The schema is changed in a way that batches of changes do not carry over.
    var breaksSchema = false
    /// Keys of the pages that the commit writes of what the file keeps of others, ascending.
    var replicaPages: [[UInt8]] = []
    private let undo: UndoLog?

    package convenience init(policy: ChangeLogPolicy = ChangeLogPolicy()) { self.init(policy: policy, undo: nil) }

    init(policy: ChangeLogPolicy = ChangeLogPolicy(), undo: UndoLog?) {
        self.policy = policy
        self.undo = undo
    }

    func cutNestedEdits(to count: Int) {
        if count < nestedEdits.count { nestedEdits.removeSubrange(count...) }
    }

    /// Before rows of a table come or go.
    private func noteRows(_ table: RecordedTable) {
        guard let undo, undo.isActive, table.savedAt != undo.serial else { return }
        table.savedAt = undo.serial
        undo.append(.recorded(table, table.image))
    }

    /// Edits in and around nested lists and maps in the order they were made, of new objects too.
    var nestedEdits: [NestedEditLogEntry] = []

    package var isEmpty: Bool { tables.isEmpty && !changesSchema }
    /// To a file that has a limit.
    var effect: PageBatch.Effect {
        if changesSchema || tables.contains(where: { !$0.inserted.isEmpty }) { return .adds }
        return tables.contains { !$0.deleted.isEmpty || !$0.deletedRuns.isEmpty } ? .deletes : .changes
    }

    package func schemaChanged() { changesSchema = true }

    package func inserted(_ table: TableKey, _ key: ObjectKey) { inserted(table, first: key, count: 1) }

    package func inserted(_ table: TableKey, first: ObjectKey, count: Int) {
        guard count > 0 else { return }
        let recorded = self.table(table)
        noteRows(recorded)
        recorded.inserted.append(first.rawValue ..< first.rawValue + Int64(count))
    }

    package func deleted(_ table: TableKey, _ key: ObjectKey) {
        let recorded = self.table(table)
        noteRows(recorded)
        recorded.deleted.append(key.rawValue)
    }

    /// A whole range was deleted. It may include keys that had been deleted before.
    package func deleted(_ table: TableKey, _ keys: Range<Int64>) {
        let recorded = self.table(table)
        noteRows(recorded)
        recorded.deletedRuns.formUnion(KeyRuns(keys))
    }

    package func modified(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, old: ValueView, new: ValueView
    ) {
        let recorded = self.table(table)
        guard recorded.isOld(key) else { return }
        let values = recorded.column(column)
        if let undo, undo.isActive { undo.append(.recordedValue(values, values.last(key.rawValue))) }
        values.append(key.rawValue, old, new, policy)
    }

    package func listInserted(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, at index: Int, count: Int) {
        if count > 0 { listChanged(table, column, owner, .insert(at: index, count: count)) }
    }

    package func listRemoved(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, at index: Int, count: Int) {
        if count > 0 { listChanged(table, column, owner, .remove(at: index, count: count)) }
    }

    package func listSet(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, at index: Int) {
        listChanged(table, column, owner, .set(at: index))
    }

    /// `destination` is the position after the element has been taken out.
    package func listMoved(
        _ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, from index: Int, to destination: Int
    ) {
        listChanged(table, column, owner, .move(from: index, to: destination))
    }

    package func listCleared(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, count: Int) {
        if count > 0 { listChanged(table, column, owner, .clear(count: count)) }
    }

    package func mapChanged(
        _ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, _ mapKey: UnsafeRawBufferPointer,
        _ kind: MapChange.Kind
    ) {
        let recorded = self.table(table)
        guard recorded.isOld(owner) else { return }
        let maps = recorded.mapColumn(column)
        if let undo, undo.isActive { undo.append(.recordedMap(maps, maps.last(owner.rawValue, mapKey))) }
        maps.append(owner.rawValue, mapKey, kind)
    }

    package func nestedChanged(
        _ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, _ operation: NestedOperation
    ) {
        nestedEdits.append(NestedEditLogEntry(table: table, column: column, owner: owner, edit: .nested(operation)))
        let recorded = self.table(table)
        guard recorded.isOld(owner) else { return }
        let nested = recorded.nestedColumn(column)
        if let undo, undo.isActive { undo.append(.recordedNested(nested, owner: owner.rawValue)) }
        nested.append(owner.rawValue, operation)
    }

    private func listChanged(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, _ operation: ListOperation) {
        let recorded = self.table(table)
        guard recorded.isOld(owner) else { return }
        let lists = recorded.listColumn(column)
        if let undo, undo.isActive { undo.append(.recordedList(lists, lists.last(owner.rawValue))) }
        lists.append(owner.rawValue, operation)
    }

    private func table(_ key: TableKey) -> RecordedTable {
        if let latest, latest.key == key { return latest }
        let found: RecordedTable
        if let known = tables.first(where: { $0.key == key }) {
            found = known
        } else {
            found = RecordedTable(key)
            tables.append(found)
        }
        latest = found
        return found
    }

    package func checkInvariants() throws(DatabaseError) {
        try Invariant.require(
            Set(tables.map(\.key)).count == tables.count, "record-1: a change record has each class once")
        for table in tables { try table.checkInvariants() }
    }

    /// The record and its bytes. `previous` is the checksum of the record before it, 0 if there is none.
    package func record(
        version: Version, previous: UInt32, wallTimeNanoseconds: Int64, origin: ChangeOrigin
    ) -> (record: ChangeRecord, bytes: [UInt8]) {
        let changes = tables.count > 1 ? tables.sorted { $0.key < $1.key } : tables
        return ChangeRecord.encoding(
            changes.map(\.changes).filter { !$0.isEmpty }, replicaPages: replicaPages, schemaChanged: changesSchema,
            breaksSchema: breaksSchema, version: version, previous: previous,
            wallTimeNanoseconds: wallTimeNanoseconds, origin: origin)
    }

    package func encode(
        version: Version, previous: UInt32, wallTimeNanoseconds: Int64, origin: ChangeOrigin
    ) -> [UInt8] {
        record(version: version, previous: previous, wallTimeNanoseconds: wallTimeNanoseconds, origin: origin).bytes
    }
}
