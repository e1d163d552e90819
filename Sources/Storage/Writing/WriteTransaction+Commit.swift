/// What a commit writes: encoded chunks of the clusters that changed, tails, table states, index blocks, the schema if
/// it changed, and one change record. Encoding consumes nothing, so a batch that cannot be written can be tried again.
import MotteColumns
import MottePages
import MotteValues

extension WriteTransaction {
    func makeBatch(for version: Version) throws(DatabaseError) -> PageBatch {
        var batch = PageBatch(database.pages.spoolPlan)
        if let newCatalog {
            let stamped = newCatalog.stamped(changedIn: version.rawValue)
            batch.put(PageKeys.catalog, stamped.encoded())
        }
        for writer in writers.all where writer.isWritten {
            if let migration, migration.droppedTables.contains(writer.layout.key) { continue }
            try encode(writer, version, into: &batch)
        }
        try encodeIndexes(into: &batch)
        try deleteObsoletePages(&batch)
        let changes = try HistoryLog.append(recorder, version: version, over: base.pages, into: &batch)
        try HistoryLog.trimIfDue(
            through: try database.pages.oldestObservedVersion(), version: version, recordBytes: changes.byteCount,
            over: base.pages, into: &batch)
        recorded = changes
        return batch
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
        var tail = try tailEncoder(writer)
        if let encoder = tail, encoder.size > Tail.sizeLimit {
            try writer.foldTail()
            tail = nil
        }
        let table = writer.layout.key
        if writer.isCleared {
            // First of all: rows that came later put theirs again.
            for prefix in PageKeys.pagesOfRows(of: table) { try deleteAll(with: prefix, from: &batch) }
        }
        let tailIndex = writer.tailRowCount > 0 ? writer.regularCount : -1
        for (cluster, overlay) in writer.dirty.enumerated() {
            guard let overlay, cluster != tailIndex else { continue }
            encodeCluster(overlay, cluster, writer, into: &batch)
        }
        for list in writer.longLists.values { try list.encode(into: &batch) }
        try writer.balanceLongValues(writesTail: tail != nil).apply(table, longValues, to: &batch)
        if let tail {
            let key = PageKeys.tail(table)
            batch.put(key, valueCount: tail.size) { tail.write(to: $0, pageKey: key) }
        } else if writer.directory.tailRowCount > 0, writer.tailRowCount == 0 {
            batch.delete(PageKeys.tail(table))
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

    /// nil where the tail has no rows or has not been touched.
    private func tailEncoder(_ writer: TableWriter) throws(DatabaseError) -> Tail.Encoder? {
        guard writer.tailRowCount > 0, let overlay = writer.overlay(writer.regularCount) else { return nil }
        var columns: [(key: ColumnKey, encoder: ColumnEncoder)] = []
        columns.reserveCapacity(writer.layout.columns.count)
        for (slot, stored) in writer.layout.columns.enumerated() {
            // A tail is rewritten whole, so columns that did not change are loaded too.
            let column =
                stored.isList
                ? try writer.lists(slot, writer.regularCount).column
                : try writer.values(slot, writer.regularCount).column
            columns.append((stored.key, column.makeEncoder(inTail: true)))
        }
        return Tail.Encoder(
            rowCount: overlay.rowCount, firstKey: overlay.firstKey,
            live: overlay.live?.encoded(key: PageKeys.tail(writer.layout.key)) ?? [], columns: columns)
    }

    private func encodeCluster(
        _ overlay: DirtyCluster, _ cluster: Int, _ writer: TableWriter, into batch: inout PageBatch
    ) {
        let table = writer.layout.key
        if overlay.liveChanged, let live = overlay.live {
            let key = PageKeys.liveBitmap(table, cluster)
            batch.put(key, live.encoded(key: key))
        }
        let isGone = overlay.liveCount == 0
        for (slot, stored) in writer.layout.columns.enumerated() {
            let key = PageKeys.chunk(table, stored.key, cluster)
            if isGone {
                batch.delete(key)  // C3
            } else if let column = overlay.columns[slot], column.isChanged {
                if case .sealed(let spooled, _) = column.storage {
                    batch.put(spooled)
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
    func stamped(changedIn version: UInt64) -> Catalog {
        Catalog(
            schemaVersion: schemaVersion, changedIn: version, nextTableKey: nextTableKey, nextIndexKey: nextIndexKey,
            tables: tables)
    }
}
