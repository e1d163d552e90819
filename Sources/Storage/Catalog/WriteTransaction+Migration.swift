/// What a write transaction does for a migration: it takes over the declared schema, drops tables, checks that primary
/// keys are distinct, and deletes the pages of what went when it commits.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// Starts over under a new schema: nothing that was changed before in this write stays.
    func beginMigration(_ state: SchemaMigration.State, _ catalog: Catalog) {
        // A step that renames begins once more, after older objects were filled.
        _ = beginAgain()
        migration = state
        install(catalog, touching: Set(catalog.tables.map(\.key)))
    }

    /// A class that is no longer declared, in the middle of a migration.
    func dropTable(named name: String) throws(DatabaseError) {
        guard let migration, let gone = catalog.tables.first(where: { $0.name.hasSameBytes(as: name) }) else { return }
        // Its rows go one by one, so that what links to them is unlinked.
        let view = try table(gone.key)
        for rowGroup in 0 ..< view.rowGroupCount {
            for key in try view.rowGroup(rowGroup).liveKeys where try view.locate(ObjectKey(key)) != nil {
                try delete(gone.key, ObjectKey(key))
            }
        }
        migration.droppedTables.insert(gone.key)
    }

    /// Takes what `dropTable` emptied out of the schema, together with the columns that link there. Before the commit.
    func removeDroppedTables() {
        guard let migration, !migration.droppedTables.isEmpty else { return }
        let dropped = migration.droppedTables
        var tables = catalog.tables
        for gone in tables where dropped.contains(gone.key) {
            migration.obsoletePages += PageKeys.everything(of: gone.key)
            for index in gone.indexKeys { forget(index, migration) }
        }
        tables.removeAll { dropped.contains($0.key) }
        for position in tables.indices {
            let table = tables[position].key
            let before = tables[position].columns
            tables[position].columns.removeAll { column in
                guard let target = column.target, dropped.contains(target) else { return false }
                migration.obsoletePages += PageKeys.everything(of: table, column)
                migration.droppedColumns.append(SchemaMigration.ColumnLocation(table: table, column: column.key))
                for index in column.indexes { forget(index, migration) }
                return true
            }
            if tables[position].columns.count < before.count {
                let left = Set(tables[position].columns.map(\.key))
                tables[position].indexes.removeAll { index in
                    guard !index.columns.allSatisfy(left.contains) else { return false }
                    forget(index.key, migration)
                    return true
                }
            }
            tables[position].inverses.removeAll { dropped.contains($0.originTable) }
        }
        amend(
            Catalog(
                schemaVersion: catalog.schemaVersion, changedIn: catalog.changedIn, nextTableKey: catalog.nextTableKey,
                nextIndexKey: catalog.nextIndexKey, tables: tables))
    }

    private func forget(_ index: IndexKey, _ migration: SchemaMigration.State) {
        migration.obsoletePages += IndexSpace.everything(of: index)
        forgetIndexChanges(of: index)
    }

    /// Deletes pages by what their keys begin with. Comes after everything else of the commit, because a column that
    /// goes late may have been written to.
    func deleteObsoletePages(_ batch: inout PageBatch) throws(DatabaseError) {
        guard let migration else { return }
        let cursor = try base.pages.makeCursor()
        for prefix in migration.obsoletePages {
            var found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
            while found, cursor.key.starts(with: prefix) {
                batch.delete(cursor.key)
                found = try cursor.next()
            }
        }
        for place in migration.droppedColumns {
            for rowGroup in 0 ..< (try writer(place.table).rowGroupCount) {
                batch.delete(PageKeys.chunk(place.table, place.column, rowGroup))
            }
        }
    }

    /// An open row group is one value: it is written again without the columns that went.
    func rewriteOpenGroup(_ table: TableKey) throws(DatabaseError) {
        guard catalog.table(table) != nil else { return }
        let writer = try writer(table)
        guard writer.openGroupRowCount > 0 else { return }
        // Whether it has another reason to be written or not.
        try writer.dirtyRowGroup(writer.regularCount).liveChanged = true
        noteChange()
    }

    /// Throws `.duplicatePrimaryKey` when two objects share a value.
    func checkDistinct(_ table: TableKey, _ column: ColumnKey) throws(DatabaseError) {
        guard catalog.table(table)?.column(column)?.isPrimaryKey == true else { return }
        let view = try self.table(table)
        let slot = try view.layout.slot(column)
        var entries: [(order: EntryOrder, key: Int64)] = []
        entries.reserveCapacity(view.liveCount)
        for rowGroup in 0 ..< view.rowGroupCount {
            let rows = try view.rowGroup(rowGroup)
            guard rows.liveCount > 0 else { continue }
            let chunk = try view.chunk(slot: slot, rowGroup)
            for key in rows.liveKeys {
                entries.append(
                    (
                        EntryOrder(
                            IndexValue(chunk.view(Int(key - rows.firstKey)), of: view.layout.columns[slot].type)), key
                    ))
            }
        }
        entries.sort { $0.order < $1.order }
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].order == entries[start].order { end += 1 }
            // Rows that share the index's bits have the same value, or texts with the same hash.
            var seen: Set<Value> = []
            for entry in entries[start ..< end] where end - start > 1 {
                let value = try view.value(column, ObjectKey(entry.key)).owned
                guard seen.insert(value).inserted else { throw duplicates(view, column, value) }
            }
            start = end
        }
    }

    private func duplicates(_ view: TableView, _ column: ColumnKey, _ value: Value) -> DatabaseError {
        let property = view.layout.stored.column(column)?.name ?? ""
        return DatabaseError(
            .duplicatePrimaryKey,
            "\(view.layout.stored.name).\(property) cannot be the primary key: several objects have the value "
                + "\(value.text); make them distinct in the migration",
            className: view.layout.stored.name, propertyName: property)
    }
}

/// Nulls last, then by the index's bits.
private struct EntryOrder: Comparable {
    let isNull: Bool
    let raw: UInt64

    init(_ value: IndexValue) {
        isNull = value.isNull
        raw = value.raw
    }

    static func < (left: EntryOrder, right: EntryOrder) -> Bool {
        left.isNull == right.isNull ? left.raw < right.raw : right.isNull
    }
}

extension Snapshot {
    /// Whether a column's values of a row group are in the file; if not the column is younger than its rows.
    func hasChunk(_ table: TableKey, _ column: ColumnKey, _ rowGroup: Int) throws(DatabaseError) -> Bool {
        let state = try TableDirectory.readState(table, pages, rowGroupSize)
        let rows = Int64(state.rowGroupSize(ofFile: rowGroupSize))
        let regular = Int((state.openGroupFirstKey + rows - 1) / rows)
        guard rowGroup >= regular else { return try pages.get(PageKeys.chunk(table, column, rowGroup)) != nil }
        let key = PageKeys.openGroup(table)
        guard let openGroup = try pages.get(key) else { return false }
        return try OpenGroup.decode(openGroup.bytes, pageKey: key).columns.contains { $0.key == column }
    }
}
