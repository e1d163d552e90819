/// What a write has done in and around lists and maps inside mixed values, one after the other: whoever holds one of
/// them follows it by this. Not stored; the change log has its own form.
import MotteValues

package struct NestedEditLogEntry: Sendable {
    package enum Edit: Sendable {
        case nested(NestedOperation)
        /// Of the list of mixed values around it.
        case list(ListOperation)
        /// Of the map of mixed values around it.
        case removedKey(String)
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

    /// An edit of a list or map of mixed values, which the change log knows of by itself.
    package func noteMixed(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, _ edit: NestedEditLogEntry.Edit)
    {
        recorder.nestedEdits.append(NestedEditLogEntry(table: table, column: column, owner: owner, edit: edit))
    }
}
