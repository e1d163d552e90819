/// Inserting many objects at once: everything is checked first, then appended column by column at memory speed.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// Appends `rowCount` objects; `rows` holds `columns.count` values each, row after row. Properties not named get
    /// their defaults; lists start empty. All or nothing: the error of a row that does not fit carries its `rowIndex`.
    /// Returns the first key; the others follow without gaps.
    package func insertBatch(
        _ table: TableKey, columns: [ColumnKey], rows: UnsafePointer<ValueView>?, rowCount: Int
    ) throws(DatabaseError) -> ObjectKey {
        let stride = columns.count
        if lent.any, rows != nil {
            return try withOwned(rows, count: rowCount * stride) { rows throws(DatabaseError) in
                try insertOwned(table, columns: columns, rows: rows, rowCount: rowCount)
            }
        }
        return try insertOwned(table, columns: columns, rows: rows, rowCount: rowCount)
    }

    private func insertOwned(
        _ table: TableKey, columns: [ColumnKey], rows: UnsafePointer<ValueView>?, rowCount: Int
    ) throws(DatabaseError) -> ObjectKey {
        let stride = columns.count
        if rowCount == 1, let rows {
            let writer = try writer(table, forNew: 1)
            let isPlain = rules?.rules(writer.layout).map { $0.isPlain(columns, rows) } ?? true
            if isPlain, let key = try insertPlainRow(writer, columns, rows) { return key }
        }
        guard rowCount > 0, let rows else {
            return try insertOwned(
                table, columns: rowCount > 0 ? columns : [], sources: [], rowCount: rowCount)
        }
        return try insertOwned(
            table, columns: columns, sources: columns.indices.map { .cells(rows + $0, stride: stride) },
            rowCount: rowCount)
    }

    /// The next new object of the table gets this key if nobody has it: the one that it had in a commit which is
    /// applied again, or the first of those that a failed import gives back.
    package func nextNew(_ table: TableKey, at key: Int64) throws(DatabaseError) {
        try writer(table).setNextNewKey(key)
    }

    /// The same with the values of each column in an array of their own.
    package func insertColumns(
        _ table: TableKey, columns: [ColumnKey], sources: [BatchColumn], rowCount: Int
    ) throws(DatabaseError) -> ObjectKey {
        try withOwned(sources, rowCount: rowCount) { sources throws(DatabaseError) in
            try insertOwned(table, columns: columns, sources: sources, rowCount: rowCount)
        }
    }

    private func insertOwned(
        _ table: TableKey, columns: [ColumnKey], sources: [BatchColumn], rowCount: Int
    ) throws(DatabaseError) -> ObjectKey {
        try requireOpen()
        guard rowCount > 0, let rules = try self.rules?.rules(writer(table).layout) else {
            return try insertWhole(table, columns: columns, sources: sources, rowCount: rowCount)
        }
        // Functions of the program may run here, before anything has been looked at.
        let before = changeCount
        let starts = try rules.startSources(columns, rowCount: rowCount, isEmbedded: isCreatingEmbedded)
        defer { withExtendedLifetime(starts.kept) {} }
        guard isOpen, changeCount == before else {
            throw DatabaseError(.reentrant, "a function that makes a default has changed the database")
        }
        return try insertWhole(
            table, columns: columns + starts.columns, sources: sources + starts.sources, rowCount: rowCount, rules)
    }

    private func insertWhole(
        _ table: TableKey, columns: [ColumnKey], sources: [BatchColumn], rowCount: Int, _ rules: TableRules? = nil
    ) throws(DatabaseError) -> ObjectKey {
        let writer = try writer(table, forNew: rowCount)
        let first = ObjectKey(writer.nextNewKey)
        guard rowCount > 0 else { return first }
        let batch = try RowBatch(writer.layout, columns: columns, sources: sources, rowCount: rowCount)
        try batch.check(self)
        try rules?.check(batch)
        try checkPrimaryKeys(batch)
        try checkIndexes(batch, firstKey: first.rawValue)
        try writer.makeReady(forAppending: rowCount)
        try completing { () throws(DatabaseError) in try append(batch, writer) }
        addIndexEntries(batch, firstKey: first.rawValue)
        recorder.inserted(table, first: first, count: rowCount)
        noteChange()
        return first
    }

    /// Of a table that takes so many more.
    private func writer(_ table: TableKey, forNew rowCount: Int) throws(DatabaseError) -> TableWriter {
        try requireOpen()
        let writer = try writer(table)
        try requireCreatable(writer.layout.stored)
        guard writer.nextNewKey + Int64(rowCount) <= TableState.keyLimit else {
            let name = writer.layout.stored.name
            throw DatabaseError(.valueTooLarge, "\(name) has used up its object keys", className: name)
        }
        // Where the disk is full, it is here that this is said: nothing has been changed yet.
        try spill.makeRoom()
        return writer
    }

    private func append(_ batch: RowBatch, _ writer: TableWriter) throws(DatabaseError) {
        var next = 0
        while next < batch.rowCount {
            let rowGroup = try writer.rowGroupForAppend()
            let count = min(batch.rowCount - next, writer.room(in: rowGroup))
            for slot in batch.layout.columns.indices {
                guard let column = rowGroup.columns[slot] else { continue }
                switch column.storage {
                case .values(let builder): batch.append(slot, next ..< next + count, to: builder)
                case .lists(let builder): builder.appendRows(count)
                case .patched, .sealed: continue  // Never: an open row group has builders.
                }
                column.markChanged()
            }
            writer.finishAppend(rowGroup, rows: count)
            next += count
        }
    }

    private func checkPrimaryKeys(_ batch: RowBatch) throws(DatabaseError) {
        guard let slot = batch.layout.primaryKeySlot else { return }
        let column = batch.layout.columns[slot]
        guard batch.names(slot) else {
            throw DatabaseError(
                .invalidArgument, "\(batch.layout.stored.name) needs a value for its primary key \(column.name)",
                className: batch.layout.stored.name, propertyName: column.name)
        }
        guard let index = column.index, !isDeferred(index) else { return }
        let known = try indexView(index)
        // Ascending integers above all known ones are the common bulk load: nothing to look up.
        if column.type == .int, batch.ascends(slot), try known.count(batch.indexRange(slot)) == 0 { return }
        var seen = Set<Value>()
        for row in 0 ..< batch.rowCount {
            let value = batch.value(slot, row)
            if batch.rowCount > 1, !seen.insert(value.owned).inserted {
                throw duplicate(batch, value).at(rowIndex: row)
            }
            if try find(batch.layout.key, slot, value) != nil {
                let error = duplicate(batch, value)
                throw batch.rowCount > 1 ? error.at(rowIndex: row) : error
            }
        }
    }

    private func duplicate(_ batch: RowBatch, _ value: ValueView) -> DatabaseError {
        let name = batch.layout.stored.name
        return DatabaseError(
            .duplicatePrimaryKey, "\(name) already has an object with the primary key \(value.owned.text)",
            className: name,
            propertyName: batch.layout.stored.primaryKey?.name)
    }

    private func find(_ table: TableKey, _ slot: Int, _ value: ValueView) throws(DatabaseError) -> ObjectKey? {
        try self.table(table).find(slot: slot, equal: value)
    }
}
