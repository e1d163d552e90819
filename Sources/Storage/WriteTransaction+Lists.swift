/// Editing lists. Short lists live in their column's chunk; a list longer than `LongListBlocks.inlineLimit` moves to
/// blocks of its own, which this write holds as one builder until the commit cuts it up again.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    package func listInsert(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, _ values: [ValueView]
    ) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard index >= 0, index <= edit.elements.count else {
            throw outOfBounds(index, edit.elements.count, insertion: true)
        }
        let fitted = try values.mapFitting { value throws(DatabaseError) in try self.fittedElement(value, edit) }
        guard !fitted.isEmpty else { return }
        if index == edit.elements.count {
            for value in fitted { edit.elements.append(value) }
        } else {
            for (offset, value) in fitted.enumerated() { edit.elements.insert(value, at: index + offset) }
        }
        for value in fitted { linkAdded(edit, value) }
        recorder.listInserted(table, column, key, at: index, count: fitted.count)
        finishEdit(edit)
    }

    package func listSet(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, _ value: ValueView
    ) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard index >= 0, index < edit.elements.count else { throw outOfBounds(index, edit.elements.count) }
        let fitted = try fittedElement(value, edit)
        linkRemoved(edit, edit.elements.view(index))
        linkAdded(edit, fitted)
        edit.elements.set(index, fitted)
        recorder.listSet(table, column, key, at: index)
        finishEdit(edit)
    }

    package func listRemove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int, count: Int = 1
    ) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard index >= 0, count >= 0, count <= edit.elements.count, index <= edit.elements.count - count,
            count == 0 || index < edit.elements.count
        else { throw outOfBounds(index, edit.elements.count) }
        guard count > 0 else { return }
        for position in index ..< index + count { linkRemoved(edit, edit.elements.view(position)) }
        if count == edit.elements.count {
            edit.elements.removeAll()
        } else {
            for _ in 0 ..< count { edit.elements.remove(at: index) }
        }
        recorder.listRemoved(table, column, key, at: index, count: count)
        finishEdit(edit)
    }

    package func listMove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, from: Int, to: Int
    ) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard from >= 0, from < edit.elements.count else { throw outOfBounds(from, edit.elements.count) }
        guard to >= 0, to < edit.elements.count else { throw outOfBounds(to, edit.elements.count) }
        guard from != to else { return }
        let value = edit.elements.view(from).owned
        edit.elements.remove(at: from)
        value.withView { edit.elements.insert($0, at: to) }
        recorder.listMoved(table, column, key, from: from, to: to)
        finishEdit(edit)
    }

    package func listClear(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) {
        let edit = try beginEdit(table, column, key)
        guard edit.elements.count > 0 else { return }
        try listRemove(table, column, key, at: 0, count: edit.elements.count)
    }

    /// Every occurrence of a link, because its target is being deleted.
    func removeFromList(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, link: ObjectKey) throws(DatabaseError)
    {
        let edit = try beginEdit(table, column, key)
        let before = edit.elements.count
        for index in stride(from: edit.elements.count - 1, through: 0, by: -1) {
            let element = edit.elements.view(index)
            guard !element.isNull, element.linkValue.key == link else { continue }
            linkRemoved(edit, element)
            edit.elements.remove(at: index)
            recorder.listRemoved(table, column, key, at: index, count: 1)
        }
        if edit.elements.count != before { finishEdit(edit) }
    }

    /// A deleted object's list leaves nothing behind in the file.
    func forgetLongList(_ view: TableView, _ slot: Int, _ key: ObjectKey, _ place: RowLocation) throws(DatabaseError) {
        guard let writer = view.writer else { return }
        let id = LongListKey(slot: slot, owner: key)
        var stored = 0
        if let long = writer.longLists[id] {
            stored = long.storedBlocks
        } else {
            let isExternal =
                if let changed = writer.overlay(place.cluster)?.columns[slot],
                    case .lists(let builder) = changed.storage
                {
                    builder.isExternal(place.slot)
                } else {
                    try view.listChunk(slot: slot, place.cluster).isExternal(place.slot)
                }
            guard isExternal else { return }
            stored = blockCount(try view.listCount(view.layout.columns[slot].key, key))
        }
        let column = view.layout.columns[slot]
        writer.longLists[id] = LongList(
            elements: ChunkBuilder(kind: column.kind, nullable: column.isNullable, capacity: 0), storedBlocks: stored)
    }

    // MARK: One edit

    private struct Edit {
        let table: TableKey
        let key: ObjectKey
        let slot: Int
        let place: RowLocation
        let column: StoredColumn
        let stored: StoredTable
        let writer: TableWriter
        let changed: DirtyColumn
        let lists: ListChunkBuilder
        let elements: ChunkBuilder
        let isLong: Bool
    }

    private func beginEdit(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> Edit {
        try requireOpen()
        let view = try self.table(table)
        let slot = try view.listSlot(column)
        let place = try view.requireLocation(key)
        let writer = try writer(table)
        let (changed, lists) = try writer.lists(slot, place.cluster)
        let id = LongListKey(slot: slot, owner: key)
        if writer.longLists[id] == nil, lists.isExternal(place.slot) {
            writer.longLists[id] = try loadLongList(view, slot, key)
        }
        let long = writer.longLists[id]
        return Edit(
            table: table, key: key, slot: slot, place: place, column: view.layout.columns[slot],
            stored: view.layout.stored,
            writer: writer, changed: changed, lists: lists, elements: long?.elements ?? lists.cell(place.slot),
            isLong: long != nil)
    }

    private func loadLongList(_ view: TableView, _ slot: Int, _ key: ObjectKey) throws(DatabaseError) -> LongList {
        let column = view.layout.columns[slot]
        let count = try view.listCount(column.key, key)
        let elements = ChunkBuilder(kind: column.kind, nullable: column.isNullable, capacity: count)
        try view.listValues(column.key, key) { chunk, range in
            for index in range { elements.append(chunk.view(index)) }
        }
        return LongList(elements: elements, storedBlocks: blockCount(count))
    }

    private func finishEdit(_ edit: Edit) {
        if edit.isLong {
            edit.lists.setExternal(edit.place.slot, count: edit.elements.count)
        } else if edit.elements.count > LongListBlocks.inlineLimit {
            let long = ChunkBuilder(
                kind: edit.column.kind, nullable: edit.column.isNullable, capacity: edit.elements.count)
            for index in 0 ..< edit.elements.count { long.append(edit.elements.view(index)) }
            edit.writer.longLists[LongListKey(slot: edit.slot, owner: edit.key)] = LongList(
                elements: long, storedBlocks: 0)
            edit.lists.setExternal(edit.place.slot, count: long.count)
        }
        edit.changed.markChanged()
        noteChange()
    }

    private func fittedElement(_ value: ValueView, _ edit: Edit) throws(DatabaseError) -> ValueView {
        let fitted = try ValueCheck.fitted(value, edit.column, edit.stored)
        if fitted.kindNumber == ValueKind.link.rawValue { try requireTarget(fitted.linkValue) }
        return fitted
    }

    private func linkAdded(_ edit: Edit, _ value: ValueView) {
        guard let index = edit.column.index, value.kindNumber == ValueKind.link.rawValue else { return }
        delta(index).add(IndexValue.link(to: value.linkValue.key), edit.key)
    }

    private func linkRemoved(_ edit: Edit, _ value: ValueView) {
        guard let index = edit.column.index, value.kindNumber == ValueKind.link.rawValue else { return }
        delta(index).remove(IndexValue.link(to: value.linkValue.key), edit.key)
    }

    private func outOfBounds(_ index: Int, _ count: Int, insertion: Bool = false) -> DatabaseError {
        DatabaseError(
            .outOfBounds,
            "index \(index) is outside the list, which has \(count) elements"
                + (insertion ? " (its end is index \(count))" : ""))
    }

    func blockCount(_ elements: Int) -> Int {
        (elements + LongListBlocks.elementsPerBlock - 1) / LongListBlocks.elementsPerBlock
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
