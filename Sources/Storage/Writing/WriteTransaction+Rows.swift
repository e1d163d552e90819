/// Creating, changing and deleting objects. Each call checks everything before it changes anything.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// A new object with default values (0, false, "", null where allowed) apart from its primary key.
    package func create(_ table: TableKey, primaryKey: ValueView?) throws(DatabaseError) -> ObjectKey {
        let writer = try writer(table)
        var columns: [ColumnKey] = []
        var row: [ValueView] = []
        if let primaryKey {
            guard let slot = writer.layout.primaryKeySlot else { throw noPrimaryKey(writer.layout.stored) }
            columns.append(writer.layout.columns[slot].key)
            row.append(primaryKey)
        }
        return try row.withUnsafeBufferPointer { rows throws(DatabaseError) in
            try insertBatch(table, columns: columns, rows: rows.baseAddress, rowCount: 1)
        }
    }

    private func noPrimaryKey(_ table: StoredTable) -> DatabaseError {
        DatabaseError(.noPrimaryKey, "\(table.name) does not have a primary key", className: table.name)
    }

    /// Sets one property. The primary key is fixed from creation on.
    package func set(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, to value: ValueView
    ) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        try requireOpen()
        let view = try self.table(table)
        let slot = try view.layout.slot(column)
        let place = try view.requireLocation(key)
        // An object's own embedded object may be assigned to it again.
        if value.kind == .link, !view.layout.shapes[slot].isList, view.layout.shapes[slot].isOwner {
            let old = try view.value(slot: slot, at: place)
            if !old.isNull, old.linkValue == value.linkValue { return }
        }
        try put(try assignment(view.layout, slot, value), view, place, key)
    }

    /// The same, of what was checked before.
    package func set(_ table: TableKey, _ key: ObjectKey, _ assignment: Assignment) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        try requireOpen()
        let view = try self.table(table)
        try put(assignment, view, try view.requireLocation(key), key)
    }

    /// Sets one property where that changes nothing else and so cannot be left half done; false where it may. The
    /// `rowIndex` of the error of a value that does not fit is 0.
    package func setAlone(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, to value: ValueView
    ) throws(DatabaseError) -> Bool {
        let before = changeCount
        defer { settle(since: before) }
        try requireOpen()
        let view = try self.table(table)
        let slot = try view.layout.slot(column)
        guard !view.layout.shapes[slot].isOwner else { return false }
        let place = try view.requireLocation(key)
        let assignment: Assignment
        do throws(DatabaseError) {
            assignment = try self.assignment(view.layout, slot, value)
        } catch { throw error.at(propertyIndex: 0) }
        try put(assignment, view, place, key)
        return true
    }

    private func put(
        _ assignment: Assignment, _ view: TableView, _ place: RowLocation, _ key: ObjectKey
    ) throws(DatabaseError) {
        let slot = assignment.slot
        let shape = view.layout.shapes[slot]
        if shape.isPrimaryKey, let migration {
            migration.changedPrimaryKeys.insert(SchemaMigration.ColumnLocation(table: view.key, column: shape.key))
        }
        let old = try view.value(slot: slot, at: place)
        let former = shape.isOwner && !old.isNull ? old.linkValue : nil
        try makeRoom(for: assignment.value)
        try replaceValue(view, slot, place, key, old: old, new: assignment.value)
        if let former { try completing { () throws(DatabaseError) in try deleteAll([former]) } }
    }

    /// Puts a value that fits in place of another. `isWhole`: not merely something nested in it has changed. Whoever
    /// has changed nothing yet makes room for it before; what loses a link amid a deletion goes where there is memory.
    package func replaceValue(
        _ view: TableView, _ slot: Int, _ place: RowLocation, _ key: ObjectKey, old: ValueView, new: ValueView,
        isWhole: Bool = true
    ) throws(DatabaseError) {
        let shape = view.layout.shapes[slot]
        let writer = try writer(view.key)
        // All that can fail comes before the first change.
        let (changed, builder) = try writer.column(slot, place, taking: new)
        let indexed =
            view.layout.declaredIndexes.isEmpty
            ? [] : try indexedChanges(view, slot, place, key, old: old, new: new)
        if let builder { writer.noteCell(slot, place.rowGroup, place.slot, changed, builder) }
        apply(indexed, key)
        if shape.isIndexed {
            unindex(old, view.layout.columns[slot], key)
            index(new, view.layout.columns[slot], key)
        }
        if isWhole, old.kind == .list || old.kind == .map {
            recorder.nestedChanged(view.key, shape.key, key, NestedOperation(path: [], change: .replaced))
        }
        recorder.modified(view.key, shape.key, key, old: old, new: new)
        changed.set(place.slot, new)
        noteChange()
    }

    /// Where the disk is full, a long value is refused before anything is changed.
    func makeRoom(for value: ValueView) throws(DatabaseError) {
        switch value.kind {
        case .string, .data, .list, .map: if value.bytes.count > longValues.limit { try spill.makeRoom() }
        default: break
        }
    }

    /// Deletes an object and all that it owns: links to it become null, and it disappears from lists and sets.
    package func delete(_ table: TableKey, _ key: ObjectKey) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        try requireOpen()
        _ = try self.table(table).requireLocation(key)
        try deleteAll([ObjectLink(table: table, key: key)])
    }

    /// Objects that are gone already are passed over. A chain of embedded objects may be longer than a stack is deep.
    func deleteAll(_ objects: [ObjectLink]) throws(DatabaseError) {
        var work = objects
        var hasBegun = false
        do throws(DatabaseError) {
            while let next = work.popLast() {
                let view = try table(next.table)
                guard let place = try view.locate(next.key) else { continue }
                work += try embeddedChildren(view, next.key)
                hasBegun = true
                try dropOutgoing(view, next.key, place)
                try dropIncoming(view, next.key)
                recorder.deleted(next.table, next.key)
                try writer(next.table).dropLongValues(place.rowGroup, place.slot)
                try writer(next.table).kill(place.rowGroup, place.slot)
                noteChange()
            }
        } catch {
            if hasBegun { undo.leftIncomplete(error) }
            throw error
        }
    }

    /// Takes the object's own entries out of every index, and its long lists out of the file.
    private func dropOutgoing(_ view: TableView, _ key: ObjectKey, _ place: RowLocation) throws(DatabaseError) {
        if !view.layout.declaredIndexes.isEmpty { try dropFromIndexes(view, key, place) }
        for (slot, column) in view.layout.columns.enumerated() {
            if column.isList {
                if column.index != nil || column.linkIndex != nil || !column.elementIndexes.isEmpty {
                    try view.listValues(column.key, key) { chunk, range in
                        for element in range { unindex(chunk.view(element), column, key) }
                    }
                }
                try forgetLongList(view, slot, key, place)
            } else if column.index != nil || column.linkIndex != nil {
                unindex(try view.value(slot: slot, at: place), column, key)
            }
        }
    }
}
