/// Editing lists: each edit is checked, keeps the backlinks in step, is recorded for the change log and done to the
/// elements (`ListEdit`). Its cost is that of the elements it names and a few nodes, however long the list is.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    package func listInsert(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, _ values: [ValueView]
    ) throws(DatabaseError) {
        try listSplice(table, column, key, at: index, removing: 0, inserting: values)
    }

    /// Takes `count` elements out and puts `values` in their place.
    package func listSplice(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, removing count: Int,
        inserting values: [ValueView]
    ) throws(DatabaseError) {
        var edit = try beginEdit(table, column, key)
        guard index >= 0, index <= edit.count else { throw outOfBounds(index, edit.count, insertion: true) }
        guard count >= 0, count <= edit.count - index else { throw outOfBounds(edit.count, edit.count) }
        let fitted = try values.mapFitting { value throws(DatabaseError) in try self.fittedElement(value, edit) }
        if count > 0 {
            // What is put in may be borrowed from what is taken out.
            if !fitted.isEmpty {
                try edit.insert(fitted, at: index + count)
                for value in fitted { linkAdded(edit, value) }
            }
            try removeElements(index ..< index + count, &edit)
        } else if !fitted.isEmpty {
            for value in fitted { linkAdded(edit, value) }
            try edit.insert(fitted, at: index)
        }
        recorder.listInserted(table, column, key, at: index, count: fitted.count)
        if count > 0 || !fitted.isEmpty { noteChange() }
    }

    package func listSet(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, _ value: ValueView
    ) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard index >= 0, index < edit.count else { throw outOfBounds(index, edit.count) }
        let fitted = try fittedElement(value, edit)
        if edit.column.index != nil { linkRemoved(edit, try edit.view(index)) }
        linkAdded(edit, fitted)
        try edit.set(index, fitted)
        recorder.listSet(table, column, key, at: index)
        noteChange()
    }

    package func listRemove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, count: Int = 1
    ) throws(DatabaseError) {
        var edit = try beginEdit(table, column, key)
        guard index >= 0, count >= 0, count <= edit.count, index <= edit.count - count,
            count == 0 || index < edit.count
        else { throw outOfBounds(index, edit.count) }
        guard count > 0 else { return }
        try removeElements(index ..< index + count, &edit)
        noteChange()
    }

    package func listMove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, from: Int, to: Int
    ) throws(DatabaseError) {
        var edit = try beginEdit(table, column, key)
        guard from >= 0, from < edit.count else { throw outOfBounds(from, edit.count) }
        guard to >= 0, to < edit.count else { throw outOfBounds(to, edit.count) }
        guard from != to else { return }
        try edit.move(from: from, to: to)
        recorder.listMoved(table, column, key, from: from, to: to)
        noteChange()
    }

    /// Two elements change places; the change log has it as the moves that lead there.
    package func listSwap(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ first: Int, _ second: Int
    ) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard first >= 0, first < edit.count else { throw outOfBounds(first, edit.count) }
        guard second >= 0, second < edit.count else { throw outOfBounds(second, edit.count) }
        guard first != second else { return }
        let low = min(first, second)
        let high = max(first, second)
        try edit.swap(low, high)
        recorder.listMoved(table, column, key, from: low, to: high)
        if high - low > 1 { recorder.listMoved(table, column, key, from: high - 1, to: low) }
        noteChange()
    }

    package func listClear(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard edit.count > 0 else { return }
        try listRemove(table, column, key, at: 0, count: edit.count)
    }

    /// Every occurrence of a link, because its target is being deleted.
    func removeFromList(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, link: ObjectKey) throws(DatabaseError)
    {
        var edit = try beginEdit(table, column, key)
        var found: [Int] = []
        try edit.forEach(0 ..< edit.count) { index, element in
            if !element.isNull, element.linkValue.key == link { found.append(index) }
        }
        for index in found.reversed() { try removeElements(index ..< index + 1, &edit) }
        if !found.isEmpty { noteChange() }
    }

    private func removeElements(_ range: Range<Int>, _ edit: inout ListEdit) throws(DatabaseError) {
        if edit.column.index != nil { try edit.forEach(range) { _, element in linkRemoved(edit, element) } }
        try edit.remove(range)
        recorder.listRemoved(edit.table, edit.column.key, edit.key, at: range.lowerBound, count: range.count)
    }

    /// A deleted object's list leaves nothing behind in the file.
    func forgetLongList(_ view: TableView, _ slot: Int, _ key: ObjectKey, _ place: RowLocation) throws(DatabaseError) {
        guard let writer = view.writer else { return }
        let id = LongListKey(slot: slot, owner: key)
        if let long = writer.longLists[id] { return long.drop() }
        let isExternal =
            if let changed = writer.overlay(place.cluster)?.columns[slot],
                case .lists(let builder) = changed.storage
            {
                builder.isExternal(place.slot)
            } else {
                try view.listChunk(slot: slot, place.cluster).isExternal(place.slot)
            }
        guard isExternal else { return }
        let long = try LongList(view.directory.makeLongListReader(slot, key), shape: listShape, storedCount: nil)
        long.drop()
        writer.longLists[id] = long
    }

    // MARK: One edit

    private func beginEdit(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> ListEdit {
        try requireOpen()
        let view = try self.table(table)
        return try ListEdit(view, try writer(table), try view.listSlot(column), key, listShape)
    }

    private func fittedElement(_ value: ValueView, _ edit: ListEdit) throws(DatabaseError) -> ValueView {
        let fitted = try ValueCheck.fitted(value, edit.column, edit.stored)
        if fitted.kindNumber == ValueKind.link.rawValue { try requireTarget(fitted.linkValue) }
        return fitted
    }

    private func linkAdded(_ edit: ListEdit, _ value: ValueView) {
        guard let index = edit.column.index, value.kindNumber == ValueKind.link.rawValue else { return }
        delta(index).add(IndexValue.link(to: value.linkValue.key), edit.key)
    }

    private func linkRemoved(_ edit: ListEdit, _ value: ValueView) {
        guard let index = edit.column.index, value.kindNumber == ValueKind.link.rawValue else { return }
        delta(index).remove(IndexValue.link(to: value.linkValue.key), edit.key)
    }

    private func outOfBounds(_ index: Int, _ count: Int, insertion: Bool = false) -> DatabaseError {
        DatabaseError(
            .outOfBounds,
            "index \(index) is outside the list, which has \(count) elements"
                + (insertion ? " (its end is index \(count))" : ""))
    }
}

extension Array {
    /// `map` with a typed throw.
    func mapFitting<T>(_ body: (Element) throws(DatabaseError) -> T) throws(DatabaseError) -> [T] {
        var result: [T] = []
        result.reserveCapacity(count)
        for element in self { result.append(try body(element)) }
        return result
    }
}
