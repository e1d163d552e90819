/// Keeping indexes in step with rows. Those that columns have by themselves take value by value without a call through
/// an interface; those that are declared with a class take what changed as rows (`IndexWriting`).
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

/// An index that is declared with a class, as a write has changed it.
final class PendingIndex {
    let index: TableIndex
    let writer: any IndexWriting
    /// The savepoint that has a mark of this.
    private var savedAt: UInt64 = 0
    private let undo: UndoLog

    init(_ index: TableIndex, _ writer: any IndexWriting, _ undo: UndoLog) {
        self.index = index
        self.writer = writer
        self.undo = undo
    }

    /// Before a change.
    private func note() {
        guard undo.isActive, savedAt != undo.serial else { return }
        undo.append(.index(self, mark: writer.mark))
        savedAt = undo.serial
    }

    func add(_ rows: IndexedRows) {
        note()
        writer.add(rows)
    }

    func remove(_ rows: IndexedRows) {
        note()
        writer.remove(rows)
    }

    func clear() {
        note()
        writer.clear()
    }

    func rollBack(to mark: Int) { writer.rollBack(to: mark) }
}

extension WriteTransaction {
    /// nil for one that is not there yet: it is built from the final rows.
    func pending(_ index: TableIndex) -> PendingIndex? {
        if let known = pendingIndexes[index.key] { return known }
        guard !isDeferred(index.key) else { return nil }
        let context = IndexWriteContext(pages: base.pages, spill: spill, undo: undo)
        let made = PendingIndex(index, index.kind.makeWriter(of: index, in: context), undo)
        pendingIndexes[index.key] = made
        return made
    }

    /// Writes what the commit has to write of indexes, and notes which ones.
    func encodeIndexes(into batch: inout PageBatch) throws(DatabaseError) {
        writtenIndexes.removeAll(keepingCapacity: true)
        for (key, delta) in deltas where !delta.isEmpty { try encode(key, delta, into: &batch) }
        for (key, pending) in pendingIndexes where !pending.writer.isEmpty {
            try encode(key, pending.writer, into: &batch)
        }
    }

    private func encode(
        _ key: IndexKey, _ writer: some IndexWriting, into batch: inout PageBatch
    ) throws(DatabaseError) {
        writtenIndexes.append(key)
        if writer.isCleared {
            for prefix in IndexSpace.everything(of: key) { try deleteAll(with: prefix, from: &batch) }
        }
        try writer.encode(over: base.pages, into: &batch)
    }

    /// Within `body` rows may have values that others have, which is looked at behind it.
    package func postponingIndexChecks<Outcome>(
        _ body: () throws(DatabaseError) -> Outcome
    ) throws(DatabaseError) -> Outcome {
        // Whoever postpones already looks at the end of that.
        guard !postponesIndexChecks else { return try body() }
        postponesIndexChecks = true
        defer {
            postponesIndexChecks = false
            for pending in pendingIndexes.values { pending.writer.forgetPostponed() }
        }
        let outcome = try body()
        for pending in pendingIndexes.values { try pending.writer.checkPostponed() }
        return outcome
    }

    // MARK: Values, of indexes that columns have by themselves, and of elements

    /// Takes an object's value out of the column's indexes, or puts it in. Elements of collections are indexed for
    /// their links, and where an index of them is declared.
    func unindex(_ value: ValueView, _ column: StoredColumn, _ key: ObjectKey) {
        if let index = column.index {
            let form = column.entryForm
            let delta = delta(index, form)
            form.forEachEntry(of: value) { delta.remove($0, key) }
        }
        if let links = column.linkIndex, Self.mayLink(value) {
            let delta = delta(links, StoredColumn.linkForm)
            MixedLinks.forEach(value) { delta.remove(IndexValue.mixedLink(to: $0), key) }
        }
        for index in column.elementIndexes { pendingElements(index)?.remove(value, key) }
    }

    func index(_ value: ValueView, _ column: StoredColumn, _ key: ObjectKey) {
        addOwnEntries(value, column, key)
        for index in column.elementIndexes { pendingElements(index)?.add(value, key) }
    }

    /// Elements that come together.
    func index(_ elements: [ValueView], _ column: StoredColumn, _ key: ObjectKey) {
        for value in elements { addOwnEntries(value, column, key) }
        guard !column.elementIndexes.isEmpty else { return }
        elements.withUnsafeBufferPointer { elements in
            guard let start = elements.baseAddress else { return }
            let rows = IndexedRows(elements: start, count: elements.count, of: key)
            for index in column.elementIndexes { pendingElements(index)?.add(rows) }
        }
    }

    @inline(__always)
    private func addOwnEntries(_ value: ValueView, _ column: StoredColumn, _ key: ObjectKey) {
        if let index = column.index {
            let form = column.entryForm
            let delta = delta(index, form)
            form.forEachEntry(of: value) { delta.add($0, key) }
        }
        if let links = column.linkIndex, Self.mayLink(value) {
            let delta = delta(links, StoredColumn.linkForm)
            MixedLinks.forEach(value) { delta.add(IndexValue.mixedLink(to: $0), key) }
        }
    }

    @inline(__always)
    private static func mayLink(_ value: ValueView) -> Bool {
        value.kind == .link || value.kind == .list || value.kind == .map
    }

    private func pendingElements(_ index: IndexKey) -> PendingIndex? { catalog.index(index).flatMap(pending) }

    // MARK: Rows

    /// Rows that are in no index yet.
    func addIndexEntries(_ batch: RowBatch, firstKey: Int64) {
        for (slot, column) in batch.layout.columns.enumerated() where !column.isList {
            if let index = column.index, !column.isLink || batch.names(slot) {
                delta(index, column.entryForm).add(IndexedRows(batch, firstKey: firstKey, slots: [slot]))
            }
            if let index = column.linkIndex, batch.names(slot) {
                delta(index, StoredColumn.linkForm).add(IndexedRows(batch, firstKey: firstKey, slots: [slot]))
            }
        }
        // New rows have no elements.
        for index in batch.layout.declaredIndexes where index.collection == nil {
            pending(index)?.add(IndexedRows(batch, firstKey: firstKey, slots: index.slots))
        }
    }

    func checkIndexes(_ batch: RowBatch, firstKey: Int64) throws(DatabaseError) {
        for index in batch.layout.declaredIndexes where index.collection == nil {
            try pending(index)?.writer.check(
                adding: IndexedRows(batch, firstKey: firstKey, slots: index.slots), isPostponed: postponesIndexChecks)
        }
    }

    /// The values of an object in the declared indexes that one of its properties is in, before it changes and after.
    struct IndexedChange {
        let pending: PendingIndex
        let old: [ValueView]
        let new: [ValueView]
    }

    /// Throws where the new value must not be there. Nothing has been changed when it does.
    func indexedChanges(
        _ view: TableView, _ slot: Int, _ place: RowLocation, _ key: ObjectKey, old: ValueView, new: ValueView
    ) throws(DatabaseError) -> [IndexedChange] {
        var changes: [IndexedChange] = []
        for index in view.layout.declaredIndexes where index.slots.contains(slot) {
            guard let pending = pending(index) else { continue }
            var values = try values(of: index, view, place, except: slot)
            for position in index.slots.indices where index.slots[position] == slot { values[position] = old }
            let before = values
            for position in index.slots.indices where index.slots[position] == slot { values[position] = new }
            try Self.withRow(values, key) { row throws(DatabaseError) in
                try pending.writer.check(adding: row, isPostponed: postponesIndexChecks)
            }
            changes.append(IndexedChange(pending: pending, old: before, new: values))
        }
        return changes
    }

    func apply(_ changes: [IndexedChange], _ key: ObjectKey) {
        for change in changes {
            Self.withRow(change.old, key) { change.pending.remove($0) }
            Self.withRow(change.new, key) { change.pending.add($0) }
        }
    }

    /// Takes an object that is deleted out of the declared indexes of its single values.
    func dropFromIndexes(_ view: TableView, _ key: ObjectKey, _ place: RowLocation) throws(DatabaseError) {
        for index in view.layout.declaredIndexes where index.collection == nil {
            guard let pending = pending(index) else { continue }
            let values = try values(of: index, view, place, except: nil)
            Self.withRow(values, key) { pending.remove($0) }
        }
    }

    private func values(
        of index: TableIndex, _ view: TableView, _ place: RowLocation, except slot: Int?
    ) throws(DatabaseError) -> [ValueView] {
        try index.slots.mapFitting { one throws(DatabaseError) in
            one == slot ? .null : try view.value(slot: one, at: place)
        }
    }

    private static func withRow(
        _ values: [ValueView], _ key: ObjectKey, _ body: (IndexedRows) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try values.withUnsafeBufferPointer { cells throws(DatabaseError) in
            guard let start = cells.baseAddress else { return }
            try body(IndexedRows(start, places: Array(values.indices), of: key))
        }
    }

    private static func withRow(_ values: [ValueView], _ key: ObjectKey, _ body: (IndexedRows) -> Void) {
        values.withUnsafeBufferPointer { cells in
            guard let start = cells.baseAddress else { return }
            body(IndexedRows(start, places: Array(values.indices), of: key))
        }
    }

    // MARK: Whole indexes

    /// All rows of the class are gone.
    func clearIndexes(of layout: TableLayout) {
        for column in layout.columns {
            if let index = column.index { delta(index, column.entryForm).clear() }
            if let links = column.linkIndex { delta(links, StoredColumn.linkForm).clear() }
        }
        for index in layout.declaredIndexes { pending(index)?.clear() }
    }

    /// Enters every row of the class into an index that has none of them.
    func buildIndex(_ key: IndexKey) throws(DatabaseError) {
        guard let index = catalog.index(key) else { return }
        try forEachStoredRows(of: index) { rows throws(DatabaseError) in
            if let column = index.columns.first, column.index == key {
                self.delta(key, column.entryForm).add(rows)
            } else if let column = index.columns.first, column.linkIndex == key {
                self.delta(key, StoredColumn.linkForm).add(rows)
            } else if let pending = self.pending(index) {
                if index.collection == nil { try pending.writer.check(adding: rows, isPostponed: true) }
                pending.add(rows)
            }
        }
        try pendingIndexes[key]?.writer.checkPostponed()
        noteChange()
    }

    /// The rows are read apart from all others that read, and a row group is let go before the next one: whoever has
    /// the write open may still use what it was lent before.
    private func forEachStoredRows(
        of index: TableIndex, _ body: (IndexedRows) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let scan = Scan(self)
        let rows = try scan.table(index.table)
        for rowGroup in 0 ..< rows.rowGroupCount {
            try rows.forEachRows(of: index, rowGroup, body)
            if scan.isMemoryWanted { scan.releaseMemory() }
        }
    }

    /// Builds indexes again that no longer are as this library makes them (`IndexKind.isOutdated`). Until then they
    /// answer nothing, and what this write did has not reached them.
    func rebuildOutdatedIndexes() throws(DatabaseError) {
        // A commit that failed has done it already.
        let outdated = base.catalog.outdatedIndexes.intersection(catalog.outdatedIndexes)
        guard !outdated.isEmpty else { return }
        let former = (catalog: catalog, new: newCatalog)
        var tables = catalog.tables
        for table in tables.indices {
            tables[table].indexes = tables[table].indexes.map { index in
                guard outdated.contains(index.key) else { return index }
                let kind = IndexKinds.kind(named: index.kind)
                return StoredIndex(
                    key: index.key, kind: index.kind, columns: index.columns,
                    parameters: kind.storedParameters(kind.declaredParameters(index.parameters)))
            }
        }
        amend(
            Catalog(
                schemaVersion: catalog.schemaVersion, changedIn: catalog.changedIn, nextTableKey: catalog.nextTableKey,
                nextIndexKey: catalog.nextIndexKey, tables: tables))
        do throws(DatabaseError) {
            for key in outdated.sorted(by: { $0.rawValue < $1.rawValue }) { try fillAgain(key) }
        } catch {
            // The next commit begins with all of them, none half built.
            for key in outdated { forgetIndexChanges(of: key) }
            takeBack(former.catalog, former.new)
            throw error
        }
    }

    /// Throws away what an index holds, damaged or not, and builds it from the rows.
    package func rebuildIndex(_ key: IndexKey) throws(DatabaseError) {
        try requireOpen()
        try completing { () throws(DatabaseError) in try fillAgain(key) }
    }

    private func fillAgain(_ key: IndexKey) throws(DatabaseError) {
        guard let index = catalog.index(key) else {
            throw DatabaseError(.invalidArgument, "the file has no index with number \(key.rawValue)")
        }
        if let column = index.columns.first, column.index == key {
            delta(key, column.entryForm).clear()
        } else if let column = index.columns.first, column.linkIndex == key {
            delta(key, StoredColumn.linkForm).clear()
        } else {
            pending(index)?.clear()
        }
        try buildIndex(key)
        // Says to everybody that what was read of the index is out of date: no row has changed.
        amend(catalog)
        recorder.schemaChanged()
    }
}

extension PendingIndex {
    fileprivate func add(_ element: ValueView, _ key: ObjectKey) {
        var element = element
        withUnsafePointer(to: &element) { add(IndexedRows($0, places: [0], of: key)) }
    }

    fileprivate func remove(_ element: ValueView, _ key: ObjectKey) {
        var element = element
        withUnsafePointer(to: &element) { remove(IndexedRows($0, places: [0], of: key)) }
    }
}
