/// Embedded objects: rows of their class's table that belong to one parent each, through a single link, a list or a
/// map.
/// They come into being through their parent only, and go when it goes or lets go of them.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// A new object in a single link; the one that was there is deleted.
    package func embeddedPut(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey
    ) throws(DatabaseError) -> ObjectKey {
        let before = changeCount
        defer { settle(since: before) }
        let (view, slot, target) = try ownerColumn(table, column, key, .none)
        let child = try createEmbedded(target)
        return try completing { () throws(DatabaseError) in
            // Found only now: the new row may have moved others, where a class embeds itself.
            let place = try view.requireLocation(key)
            let old = try view.value(slot: slot, at: place)
            let former = old.isNull ? nil : old.linkValue
            try replaceValue(view, slot, place, key, old: old, new: .link(child))
            if let former { try deleteAll([former]) }
            return child.key
        }
    }

    package func embeddedInsert(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int
    ) throws(DatabaseError) -> ObjectKey {
        let before = changeCount
        defer { settle(since: before) }
        let (view, _, target) = try ownerColumn(table, column, key, .list)
        let count = try view.listCount(column, key)
        guard index >= 0, index <= count else { throw outOfBounds(index, count, insertion: true) }
        try openEdit(table, column, key).requireRoom()
        let child = try createEmbedded(target)
        return try completing { () throws(DatabaseError) in
            var edit = try openEdit(table, column, key)
            self.index(.link(child), edit.column, key)
            try edit.insert([.link(child)], at: index)
            recordInsertion(edit, at: index, count: 1)
            noteChange()
            return child.key
        }
    }

    /// A new object in place of the one at `index`, which is deleted.
    package func embeddedSet(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, at index: Int
    ) throws(DatabaseError) -> ObjectKey {
        let before = changeCount
        defer { settle(since: before) }
        let (view, _, target) = try ownerColumn(table, column, key, .list)
        let count = try view.listCount(column, key)
        guard index >= 0, index < count else { throw outOfBounds(index, count) }
        let child = try createEmbedded(target)
        return try completing { () throws(DatabaseError) in
            let edit = try openEdit(table, column, key)
            let former = try embeddedChildren(index ..< index + 1, edit)
            try setElement(edit, index, .link(child))
            try deleteAll(former)
            return child.key
        }
    }

    /// A new object under a key; the one that was there is deleted.
    package func embeddedMapPut(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ mapKey: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> ObjectKey {
        let before = changeCount
        defer { settle(since: before) }
        let (view, slot, target) = try ownerColumn(table, column, key, .map)
        try ValueCheck.checkMapKey(mapKey, view.layout.columns[slot], view.layout.stored)
        return try withOwned(mapKey, .null) { mapKey, _ throws(DatabaseError) in
            try putNewEmbedded(target, table, column, key, mapKey)
        }
    }

    private func putNewEmbedded(
        _ target: TableKey, _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ mapKey: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> ObjectKey {
        let before = try openMap(table, column, key)
        try before.keys.requireRoom()
        try before.values.requireRoom()
        let child = try createEmbedded(target)
        return try completing { () throws(DatabaseError) in
            var map = try openMap(table, column, key)
            let found = try map.find(mapKey)
            let former = found.isThere ? try embeddedChildren(found.index ..< found.index + 1, map.values) : []
            _ = try put(&map, mapKey, .link(child))
            try deleteAll(former)
            return child.key
        }
    }

    // MARK: Rules

    /// Whether what the column links to belongs to its object.
    func isOwner(_ column: StoredColumn) -> Bool {
        guard column.isLink, let target = column.target else { return false }
        return catalog.table(target)?.isEmbedded ?? false
    }

    func managedEmbedded(_ column: StoredColumn, _ table: StoredTable) -> DatabaseError {
        DatabaseError(
            .invalidArgument,
            "\(table.name).\(column.name) cannot take an existing managed embedded object; create one in its place",
            className: table.name, propertyName: column.name)
    }

    func requireCreatable(_ table: StoredTable) throws(DatabaseError) {
        guard table.isEmbedded, !isCreatingEmbedded, !adoptsEmbedded else { return }
        throw DatabaseError(
            .invalidArgument,
            "Embedded objects cannot be created directly: \(table.name) is embedded; create one through its parent",
            className: table.name)
    }

    private func ownerColumn(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ collection: CollectionKind
    ) throws(DatabaseError) -> (TableView, Int, TableKey) {
        try requireOpen()
        let view = try self.table(table)
        let slot = try view.layout.slot(column)
        let stored = view.layout.columns[slot]
        try view.requireCollection(collection, slot)
        _ = try view.requireLocation(key)
        guard isOwner(stored), let target = stored.target else {
            throw DatabaseError(
                .wrongType, "\(view.layout.stored.name).\(stored.name) does not hold embedded objects",
                className: view.layout.stored.name, propertyName: stored.name)
        }
        return (view, slot, target)
    }

    private func createEmbedded(_ table: TableKey) throws(DatabaseError) -> ObjectLink {
        isCreatingEmbedded = true
        defer { isCreatingEmbedded = false }
        return ObjectLink(table: table, key: try create(table, primaryKey: nil))
    }

    // MARK: Letting go

    /// The objects that go when these elements go; none unless the column owns what it links to.
    func embeddedChildren(_ range: Range<Int>, _ edit: ListEdit) throws(DatabaseError) -> [ObjectLink] {
        guard isOwner(edit.column) else { return [] }
        var children: [ObjectLink] = []
        try edit.forEach(range) { _, element in
            if !element.isNull { children.append(edit.linked(element).linkValue) }
        }
        return children
    }

    /// The objects that an object owns.
    func embeddedChildren(_ view: TableView, _ key: ObjectKey) throws(DatabaseError) -> [ObjectLink] {
        var children: [ObjectLink] = []
        for (slot, column) in view.layout.columns.enumerated() where isOwner(column) {
            guard let target = column.target else { continue }
            if column.isList {
                try view.listValues(column.key, key) { chunk, range in
                    for index in range where !chunk.isNull(index) {
                        children.append(ObjectLink(table: target, key: ObjectKey(chunk.link(index))))
                    }
                }
            } else {
                let value = try view.value(slot: slot, at: try view.requireLocation(key))
                if !value.isNull { children.append(value.linkValue) }
            }
        }
        return children
    }

    /// With null in a single link or map the object there goes; one that is managed already can only stay where it is.
    func putEmbedded(
        _ map: inout MapEdit, _ mapKey: UnsafeRawBufferPointer, _ value: ValueView
    ) throws(DatabaseError) -> Bool {
        let found = try map.find(mapKey)
        let former = found.isThere ? try embeddedChildren(found.index ..< found.index + 1, map.values) : []
        guard value.isNull else {
            guard value.kind == .link, former == [value.linkValue] else {
                throw managedEmbedded(map.values.column, map.values.stored)
            }
            return false
        }
        let inserted = try put(&map, mapKey, .null)
        try completing { () throws(DatabaseError) in try deleteAll(former) }
        return inserted
    }
}

extension TableView {
    /// The parent of an object of an embedded class, and the property that holds it.
    package func owner(
        ofEmbedded key: ObjectKey
    ) throws(DatabaseError) -> (table: TableKey, column: ColumnKey, key: ObjectKey)? {
        guard layout.stored.isEmbedded else { return nil }
        for (origin, column) in layout.incoming {
            var keys: [Int64] = []
            try backlinks(origin: origin, column.key, key, into: &keys)
            if let first = keys.first { return (origin, column.key, ObjectKey(first)) }
        }
        return nil
    }
}
