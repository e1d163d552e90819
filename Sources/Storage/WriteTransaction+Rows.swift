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
        try requireOpen()
        let view = try self.table(table)
        let layout = view.layout
        let slot = try layout.slot(column)
        let stored = layout.columns[slot]
        let place = try view.requireLocation(key)
        if stored.isPrimaryKey, let migration {
            migration.changedPrimaryKeys.insert(SchemaMigration.ColumnPlace(table: table, column: column))
        } else if stored.isPrimaryKey {
            throw DatabaseError(
                .primaryKeyIsFixed,
                "the primary key \(layout.stored.name).\(stored.name) can't be changed after an object is inserted",
                className: layout.stored.name, propertyName: stored.name)
        }
        let old = try view.value(slot: slot, at: place)
        let new = try ValueCheck.fitted(value, stored, layout.stored)
        if new.kindNumber == ValueKind.link.rawValue { try requireTarget(new.linkValue) }
        if let index = stored.index {
            let delta = delta(index)
            if stored.isLink {
                if !old.isNull { delta.remove(IndexValue.link(to: old.linkValue.key), key) }
                if !new.isNull { delta.add(IndexValue.link(to: new.linkValue.key), key) }
            } else {
                delta.remove(IndexValue(old, of: stored.type), key)
                delta.add(IndexValue(new, of: stored.type), key)
            }
        }
        recorder.modified(table, column, key, old: old, new: new)
        let (changed, builder) = try writer(table).values(slot, place.cluster)
        builder.set(place.slot, new)
        changed.markChanged()
        noteChange()
    }

    func requireTarget(_ link: ObjectLink) throws(DatabaseError) {
        guard try table(link.table).locate(link.key) != nil else {
            throw DatabaseError(.objectDeleted, "the object to link to has been deleted")
        }
    }

    /// Deletes an object: links to it become null, and it disappears from lists.
    package func delete(_ table: TableKey, _ key: ObjectKey) throws(DatabaseError) {
        try requireOpen()
        let view = try self.table(table)
        let place = try view.requireLocation(key)
        try dropOutgoing(view, key, place)
        try dropIncoming(view, key)
        recorder.deleted(table, key)
        try writer(table).kill(place.cluster, place.slot)
        noteChange()
    }

    /// Takes the object's own entries out of every index, and its long lists out of the file.
    private func dropOutgoing(_ view: TableView, _ key: ObjectKey, _ place: RowLocation) throws(DatabaseError) {
        for (slot, column) in view.layout.columns.enumerated() {
            if column.isList {
                if let index = column.index {
                    let delta = delta(index)
                    try view.listValues(column.key, key) { chunk, range in
                        for element in range where !chunk.isNull(element) {
                            delta.remove(IndexValue.link(to: ObjectKey(chunk.link(element))), key)
                        }
                    }
                }
                try forgetLongList(view, slot, key, place)
            } else if let index = column.index {
                let value = try view.value(slot: slot, at: place)
                if !column.isLink {
                    delta(index, isUnique: column.isPrimaryKey).remove(IndexValue(value, of: column.type), key)
                } else if !value.isNull {
                    delta(index).remove(IndexValue.link(to: value.linkValue.key), key)
                }
            }
        }
    }

    private func dropIncoming(_ view: TableView, _ key: ObjectKey) throws(DatabaseError) {
        for (origin, column) in view.layout.incoming {
            guard let index = column.index else { continue }
            var sources: [Int64] = []
            try indexView(index).keys(IndexValue.link(to: key), into: &sources)
            var previous: Int64?
            for source in sources where source != previous {
                previous = source
                if column.isList {
                    try removeFromList(origin, column.key, ObjectKey(source), link: key)
                } else {
                    try set(origin, column.key, ObjectKey(source), to: .null)
                }
            }
        }
    }
}
