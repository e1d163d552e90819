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
        let before = changeCount
        defer { settle(since: before) }
        try withOwned(values) { values throws(DatabaseError) in
            try spliceOwned(table, column, key, at: index, removing: count, inserting: values)
        }
    }

    private func spliceOwned(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, removing count: Int,
        inserting values: [ValueView]
    ) throws(DatabaseError) {
        var edit = try beginEdit(table, column, key, .list)
        guard index >= 0, index <= edit.count else { throw outOfBounds(index, edit.count, insertion: true) }
        guard count >= 0, count <= edit.count - index else { throw outOfBounds(edit.count, edit.count) }
        let fitted = try values.mapFitting { value throws(DatabaseError) in try self.fittedElement(value, edit) }
        let children = try embeddedChildren(index ..< index + count, edit)
        if !fitted.isEmpty { try edit.requireRoom() }
        try completing { () throws(DatabaseError) in
            if count > 0 {
                // What is put in may be borrowed from what is taken out.
                if !fitted.isEmpty {
                    try edit.insert(fitted, at: index + count)
                    self.index(fitted, edit.column, key)
                }
                try removeElements(index ..< index + count, &edit)
            } else if !fitted.isEmpty {
                self.index(fitted, edit.column, key)
                try edit.insert(fitted, at: index)
            }
            if !fitted.isEmpty { recordInsertion(edit, at: index, count: fitted.count) }
            if count > 0 || !fitted.isEmpty { noteChange() }
            try deleteAll(children)
        }
    }

    package func listSet(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, _ value: ValueView
    ) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        let edit = try beginEdit(table, column, key, .list)
        guard index >= 0, index < edit.count else { throw outOfBounds(index, edit.count) }
        if isOwner(edit.column), value.kind == .link, edit.linked(try edit.view(index)).linkValue == value.linkValue {
            return
        }
        try setElement(edit, index, try fittedElement(value, edit))
    }

    package func listRemove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, count: Int = 1
    ) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        var edit = try beginEdit(table, column, key, .list)
        guard index >= 0, count >= 0, count <= edit.count, index <= edit.count - count,
            count == 0 || index < edit.count
        else { throw outOfBounds(index, edit.count) }
        guard count > 0 else { return }
        let children = try embeddedChildren(index ..< index + count, edit)
        try completing { () throws(DatabaseError) in
            try removeElements(index ..< index + count, &edit)
            noteChange()
            try deleteAll(children)
        }
    }

    package func listMove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, from: Int, to: Int
    ) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        var edit = try beginEdit(table, column, key, .list)
        guard from >= 0, from < edit.count else { throw outOfBounds(from, edit.count) }
        guard to >= 0, to < edit.count else { throw outOfBounds(to, edit.count) }
        guard from != to else { return }
        try completing { () throws(DatabaseError) in try edit.move(from: from, to: to) }
        recordMove(edit, from: from, to: to)
        noteChange()
    }

    /// Two elements change places; the change log has it as the moves that lead there.
    package func listSwap(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ first: Int, _ second: Int
    ) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        let edit = try beginEdit(table, column, key, .list)
        guard first >= 0, first < edit.count else { throw outOfBounds(first, edit.count) }
        guard second >= 0, second < edit.count else { throw outOfBounds(second, edit.count) }
        guard first != second else { return }
        let low = min(first, second)
        let high = max(first, second)
        try completing { () throws(DatabaseError) in try edit.swap(low, high) }
        recordMove(edit, from: low, to: high)
        if high - low > 1 { recordMove(edit, from: high - 1, to: low) }
        noteChange()
    }

    package func listClear(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key, .list)
        guard edit.count > 0 else { return }
        try listRemove(table, column, key, at: 0, count: edit.count)
    }

    // MARK: Parts of other edits

    /// Of a list or set. Whoever owned what they link to has to delete it.
    func removeElements(_ range: Range<Int>, _ edit: inout ListEdit) throws(DatabaseError) {
        if edit.isIndexed {
            try edit.forEach(range) { _, element in unindex(element, edit.column, edit.key) }
        }
        try edit.remove(range)
        recordRemoval(edit, at: range.lowerBound, count: range.count)
    }

    /// A deleted object's list leaves nothing behind in the file.
    func forgetLongList(_ view: TableView, _ slot: Int, _ key: ObjectKey, _ place: RowLocation) throws(DatabaseError) {
        guard let writer = view.writer else { return }
        let id = LongListKey(slot: slot, owner: key)
        if let long = writer.longLists[id] {
            writer.noteLongList(id, long)
            undo.append(.longListImage(long, long.image))
            return long.drop()
        }
        let isExternal =
            if let changed = writer.overlay(place.rowGroup)?.columns[slot],
                case .lists(let builder) = changed.storage
            {
                builder.isExternal(place.slot)
            } else {
                try view.listChunk(slot: slot, place.rowGroup).isExternal(place.slot)
            }
        guard isExternal else { return }
        let long = try LongList(
            view.directory.makeLongListReader(slot, key), shape: listShape, storedCount: nil,
            long: writer.longValues(slot))
        long.drop()
        writer.add(long, id)
    }

    // MARK: One edit

    /// An edit that a caller asks for, of a collection of the kind the call is for.
    func beginEdit(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ kind: CollectionKind
    ) throws(DatabaseError) -> ListEdit {
        try requireOpen()
        let view = try self.table(table)
        let slot = try view.listSlot(column)
        try view.requireCollection(kind, slot)
        return try ListEdit(view, try writer(table), slot, key, listShape)
    }

    func openEdit(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> ListEdit {
        let view = try self.table(table)
        return try ListEdit(view, try writer(table), try view.listSlot(column), key, listShape)
    }

    func fittedElement(_ value: ValueView, _ edit: ListEdit) throws(DatabaseError) -> ValueView {
        let fitted = try checked(value, edit.column, edit.stored)
        try makeRoom(for: fitted)
        return fitted
    }

    /// `value` fits the list. `isWhole`: not merely something nested in it has changed.
    func setElement(
        _ edit: ListEdit, _ index: Int, _ value: ValueView, isWhole: Bool = true
    ) throws(DatabaseError) {
        if edit.isIndexed || edit.column.type == .mixed {
            let old = try edit.view(index)
            if isWhole { try recordEnd(of: old, edit, at: .index(index)) }
            unindex(old, edit.column, edit.key)
            self.index(value, edit.column, edit.key)
        }
        try completing { () throws(DatabaseError) in try edit.set(index, value) }
        recorder.listSet(edit.table, edit.column.key, edit.key, at: index)
        noteChange()
    }

    func outOfBounds(_ index: Int, _ count: Int, insertion: Bool = false) -> DatabaseError {
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
