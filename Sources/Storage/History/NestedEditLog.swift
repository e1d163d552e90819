/// What a write has done in and around lists and maps inside mixed values, one after the other: whoever holds one of
/// them follows it by this. Not stored; the change log has its own form.
///
/// Whoever edits a list or set in a write, a program, an import or a batch of changes, has it recorded by what is here,
/// for the change log and for this.
import MotteValues

package struct NestedEditLogEntry: Sendable {
    package enum Edit: Sendable {
        /// Also the end of one whose key goes from the map of mixed values around it.
        case nested(NestedOperation)
        /// Of the list or set of mixed values around it.
        case list(ListOperation)
    }

    package let table: TableKey
    package let column: ColumnKey
    package let owner: ObjectKey
    package let edit: Edit

    package func isFor(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey) -> Bool {
        self.owner == owner && self.column == column && self.table == table
    }
}

extension WriteTransaction {
    package var nestedEditLog: [NestedEditLogEntry] { recorder.nestedEdits }

    /// Elements have come into a list or set, which has them.
    func recordInsertion(_ edit: ListEdit, at index: Int, count: Int) {
        recorder.listInserted(edit.table, edit.column.key, edit.key, at: index, count: count)
        // What comes last moves nothing: loads have nothing to remember.
        if index + count < edit.count { noteAround(edit, .insert(at: index, count: count)) }
    }

    func recordRemoval(_ edit: ListEdit, at index: Int, count: Int) {
        recorder.listRemoved(edit.table, edit.column.key, edit.key, at: index, count: count)
        noteAround(edit, .remove(at: index, count: count))
    }

    /// `destination` is the position after the element has been taken out.
    func recordMove(_ edit: ListEdit, from index: Int, to destination: Int) {
        recorder.listMoved(edit.table, edit.column.key, edit.key, from: index, to: destination)
        noteAround(edit, .move(from: index, to: destination))
    }

    private func noteAround(_ edit: ListEdit, _ operation: ListOperation) {
        guard edit.column.type == .mixed else { return }
        recorder.nestedEdits.append(
            NestedEditLogEntry(
                table: edit.table, column: edit.column.key, owner: edit.key, edit: .list(operation)))
    }

    /// An element of a list or map has got another value, or goes with its key: what it was, if a list or map, is no
    /// more. The change log has that too, or others would take what comes under the same key for it.
    func recordEnd(
        of old: ValueView, _ edit: ListEdit, at step: @autoclosure () throws(DatabaseError) -> NestedStep
    ) throws(DatabaseError) {
        guard old.kind == .list || old.kind == .map else { return }
        let operation = NestedOperation(path: [try step()], change: .replaced)
        recorder.nestedChanged(edit.table, edit.column.key, edit.key, operation)
    }
}
