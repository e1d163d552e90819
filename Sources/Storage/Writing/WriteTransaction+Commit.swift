/// What a commit writes: encoded chunks of the row groups that changed, open row groups, table states, index blocks,
/// the schema if it changed, and one change record. Encoding consumes nothing, so a batch that cannot be written can be
/// tried again.
import MotteColumns
import MottePages
import MotteValues

extension WriteTransaction {
    /// Of what a write keeps in memory, to what its commit makes.
    private static let batchShare = 4

    package func makeBatch(for version: Version) throws(DatabaseError) -> PageBatch {
        var plan = database.pages.spillPlan
        // What the write has kept in memory stays there until the commit is over.
        if spill.fileBytes > 0 { plan.memoryBytes /= WriteTransaction.batchShare }
        var batch = PageBatch(plan)
        batch.lends(spill)
        if let newCatalog {
            let stamped = newCatalog.stamped(changedIn: version.rawValue)
            batch.put(PageKeys.catalog, stamped.encoded())
            // Nor does a batch carry primary keys that a migration has set.
            recorder.breaksSchema =
                !base.catalog.isCarriedOver(to: newCatalog) || migration?.changedPrimaryKeys.isEmpty == false
        }
        for writer in writers.all where writer.isWritten {
            if let migration, migration.droppedTables.contains(writer.layout.key) { continue }
            try encode(writer, version, into: &batch)
        }
        try encodeIndexes(into: &batch)
        try deleteObsoletePages(&batch)
        for (key, page) in replicaPages { batch.put(key, page) }
        recorder.replicaPages =
            replicaPages.isEmpty
            ? [] : replicaPages.keys.filter(ReplicaPages.isShipped).sorted { $0.lexicographicallyPrecedes($1) }
        let changes = try HistoryLog.append(recorder, version: version, over: base.pages, into: &batch)
        if HistoryLog.isTrimDue(version, recordBytes: changes.byteCount) { try trimHistory(&batch) }
        recorded = changes
        batch.effect = recorder.effect
        batch.recordBytes = changes.byteCount
        return batch
    }

    /// The change log loses what nobody needs, which may have changed with this write.
    func trimHistory(_ batch: inout PageBatch) throws(DatabaseError) {
        let observed = try database.pages.oldestObservedVersion()
        try HistoryLog.trim(observed: observed, kept: keptChanges(), over: base.pages, into: &batch)
    }

    /// What the file would show if this were committed now. The changes are held in memory twice meanwhile.
    package func pagesWithChanges() throws(DatabaseError) -> PageSnapshot {
        try requireOpen()
        guard hasChanges else { return base.pages }
        // Encoding may give rows another place in memory.
        noteChange()
        let next = Version(base.version.rawValue + 1)
        return try base.pages.with(try makeBatch(for: next), as: next)
    }

    private func encode(_ writer: TableWriter, _ version: Version, into batch: inout PageBatch) throws(DatabaseError) {
        var openGroup = try openGroupEncoder(writer)
        if let encoder = openGroup, encoder.size > OpenGroup.sizeLimit {
            try writer.foldOpenGroup()
            openGroup = nil
        }
        try writer.requireConsistent()
        let table = writer.layout.key
        if writer.isCleared {
            // First of all: rows that came later put theirs again.
            for prefix in PageKeys.pagesOfRows(of: table) { try deleteAll(with: prefix, from: &batch) }
        }
        let openGroupIndex = writer.openGroupRowCount > 0 ? writer.regularCount : -1
        for (rowGroup, overlay) in writer.dirty.enumerated() {
            guard let overlay, rowGroup != openGroupIndex else { continue }
            encodeRowGroup(overlay, rowGroup, writer, into: &batch)
        }
        for list in writer.longLists.values { try list.encode(into: &batch) }
        try writer.balanceLongValues(writesOpenGroup: openGroup != nil).apply(table, longValues, to: &batch)
        if let openGroup {
            let key = PageKeys.openGroup(table)
            batch.put(key, valueCount: openGroup.size) { openGroup.write(to: $0, pageKey: key) }
        } else if writer.directory.openGroupRowCount > 0, writer.openGroupRowCount == 0 {
            batch.delete(PageKeys.openGroup(table))
        }
        let state = writer.stamp(version.rawValue)
        batch.put(PageKeys.tableState(table), valueCount: TableState.encodedSize) { state.write(to: $0, for: table) }
    }

    func deleteAll(with prefix: [UInt8], from batch: inout PageBatch) throws(DatabaseError) {
        let cursor = try base.pages.makeCursor()
        var found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found, cursor.key.starts(with: prefix) {
            batch.delete(cursor.key)
            found = try cursor.next()
        }
    }

    /// nil where the open row group has no rows or has not been touched.
    private func openGroupEncoder(_ writer: TableWriter) throws(DatabaseError) -> OpenGroup.Encoder? {
        guard writer.openGroupRowCount > 0, let overlay = writer.overlay(writer.regularCount),
            writer.isOpenGroupChanged(overlay)
        else { return nil }
        let stored = writer.layout.columns, rowGroup = writer.regularCount
        var columns: [OpenGroup.Column] = []
        columns.reserveCapacity(stored.count)
        for slot in stored.indices {
            // An open row group is rewritten whole, so columns that did not change are loaded too.
            let column =
                stored[slot].isList ? try writer.lists(slot, rowGroup).column : try writer.values(slot, rowGroup).column
            columns.append(OpenGroup.Column(stored[slot].key, column.makeEncoder(inOpenGroup: true)))
        }
        return OpenGroup.Encoder(
            rowCount: overlay.rowCount, firstKey: overlay.firstKey,
            live: overlay.live?.encoded(key: PageKeys.openGroup(writer.layout.key)) ?? [], columns: columns)
    }

    private func encodeRowGroup(
        _ overlay: DirtyRowGroup, _ rowGroup: Int, _ writer: TableWriter, into batch: inout PageBatch
    ) {
        let table = writer.layout.key
        if overlay.liveChanged, let live = overlay.live {
            let key = PageKeys.liveBitmap(table, rowGroup)
            batch.put(key, live.encoded(key: key))
        }
        let isGone = overlay.liveCount == 0
        let stored = writer.layout.columns
        for slot in stored.indices {
            if isGone {
                guard rowGroup < writer.directory.regularCount else { continue }
                batch.delete(PageKeys.chunk(table, stored[slot].key, rowGroup))  // C3
            } else if let column = overlay.columns[slot], column.isChanged {
                let key = PageKeys.chunk(table, stored[slot].key, rowGroup)
                if case .sealed(let spilled, _) = column.storage {
                    batch.put(key, spilled)
                } else {
                    let encoder = column.makeEncoder()
                    batch.put(key, valueCount: encoder.size) { place in
                        key.withUnsafeBytes { encoder.write(to: place, key: $0) }
                    }
                }
            }
        }
    }
}

extension Catalog {
    /// The same schema, marked as changed in `version`.
    package func stamped(changedIn version: UInt64) -> Catalog {
        Catalog(
            schemaVersion: schemaVersion, changedIn: version, nextTableKey: nextTableKey, nextIndexKey: nextIndexKey,
            tables: tables)
    }
}
