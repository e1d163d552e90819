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
        try requireOpen()
        let writer = try writer(table)
        let layout = writer.layout
        let first = ObjectKey(writer.state.nextKey)
        guard rowCount > 0 else { return first }
        guard writer.state.nextKey + Int64(rowCount) <= TableState.keyLimit else {
            throw DatabaseError(
                .valueTooLarge, "\(layout.stored.name) has used up its object keys", className: layout.stored.name)
        }
        let batch = try RowBatch(layout, columns: columns, rows: rows, rowCount: rowCount)
        try batch.check(self)
        try checkPrimaryKeys(batch)
        try append(batch, writer)
        addIndexEntries(batch, firstKey: first.rawValue)
        recorder.inserted(table, first: first, count: rowCount)
        noteChange()
        return first
    }

    private func append(_ batch: RowBatch, _ writer: TableWriter) throws(DatabaseError) {
        var next = 0
        while next < batch.rowCount {
            let cluster = try writer.clusterForAppend()
            let count = min(batch.rowCount - next, writer.room(in: cluster))
            for slot in batch.layout.columns.indices {
                guard let column = cluster.columns[slot] else { continue }
                switch column.storage {
                case .values(let builder): batch.append(slot, next ..< next + count, to: builder)
                case .lists(let builder): builder.appendRows(count)
                case .sealed: continue  // Never: an open cluster has builders.
                }
                column.markChanged()
            }
            writer.finishAppend(cluster, rows: count)
            next += count
        }
    }

    private func checkPrimaryKeys(_ batch: RowBatch) throws(DatabaseError) {
        guard let slot = batch.layout.primaryKeySlot else { return }
        let column = batch.layout.columns[slot]
        guard batch.position[slot] >= 0 else {
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

    private func addIndexEntries(_ batch: RowBatch, firstKey: Int64) {
        for (slot, column) in batch.layout.columns.enumerated() where !column.isList {
            guard let index = column.index else { continue }
            let delta = delta(index, isUnique: column.isPrimaryKey)
            for row in 0 ..< batch.rowCount {
                let value = batch.value(slot, row)
                let key = ObjectKey(firstKey + Int64(row))
                if !column.isLink {
                    delta.add(IndexValue(value, of: column.type), key)
                } else if !value.isNull {
                    delta.add(IndexValue.link(to: value.linkValue.key), key)
                }
            }
        }
    }
}

/// Rows of a batch by column: where each column's values are, and what the others get.
struct RowBatch {
    let layout: TableLayout
    let rowCount: Int
    /// By slot: position within a row, -1 where the batch does not name the column.
    let position: [Int]
    private let rows: UnsafePointer<ValueView>?
    private let stride: Int

    init(
        _ layout: TableLayout, columns: [ColumnKey], rows: UnsafePointer<ValueView>?, rowCount: Int
    ) throws(DatabaseError) {
        var position = [Int](repeating: -1, count: layout.columns.count)
        for (index, column) in columns.enumerated() {
            let slot = try layout.slot(column)
            guard position[slot] < 0, !layout.columns[slot].isList else {
                throw DatabaseError(
                    .invalidArgument,
                    "\(layout.stored.name).\(layout.columns[slot].name) is a list or is named twice in a batch",
                    className: layout.stored.name, propertyName: layout.columns[slot].name)
            }
            position[slot] = index
        }
        self.layout = layout
        self.rowCount = rowCount
        self.position = position
        self.rows = rows
        stride = columns.count
    }

    /// A default where the batch does not name the column.
    @inline(__always)
    func value(_ slot: Int, _ row: Int) -> ValueView {
        guard position[slot] >= 0, let rows else { return defaultValue(layout.columns[slot]) }
        return rows[row &* stride &+ position[slot]]
    }

    private func defaultValue(_ column: StoredColumn) -> ValueView {
        if column.isNullable { return .null }
        switch column.type {
        case .bool: return .bool(false)
        case .int: return .int(0)
        case .float: return .float(0)
        case .double: return .double(0)
        case .string: return .string(UnsafeRawBufferPointer(start: nil, count: 0))
        case .data: return .data(UnsafeRawBufferPointer(start: nil, count: 0))
        case .timestamp: return .timestamp(Timestamp(seconds: 0, nanoseconds: 0))
        case .decimal: return .decimal(.zero)
        case .objectID: return .objectID(.zero)
        case .uuid: return .uuid(UUIDBytes(low: 0, high: 0))
        case .link, .mixed, .linkingObjects: return .null
        }
    }

    /// Every value against its column, before anything is appended.
    func check(_ transaction: WriteTransaction) throws(DatabaseError) {
        guard let rows else { return }
        for (slot, column) in layout.columns.enumerated() where position[slot] >= 0 {
            let expected = column.type.rawValue
            let isPlain = column.type.isNumeric || column.type == .bool
            for row in 0 ..< rowCount {
                let view = rows[row &* stride &+ position[slot]]
                if isPlain, view.kindNumber == expected { continue }
                do throws(DatabaseError) {
                    let fitted = try ValueCheck.fitted(view, column, layout.stored)
                    if fitted.kindNumber == ValueKind.link.rawValue { try transaction.requireTarget(fitted.linkValue) }
                } catch { throw rowCount > 1 ? error.at(rowIndex: row) : error }
            }
        }
    }

    /// Whether the column's ints ascend strictly.
    func ascends(_ slot: Int) -> Bool {
        var last: Int64?
        for row in 0 ..< rowCount {
            let view = value(slot, row)
            guard view.kindNumber == ValueKind.int.rawValue else { return false }
            if let last, view.intValue <= last { return false }
            last = view.intValue
        }
        return true
    }

    /// The indexed values that ascending ints could meet.
    func indexRange(_ slot: Int) -> ClosedRange<UInt64> {
        IndexValue.int(value(slot, 0).intValue).raw ... IndexValue.int(value(slot, rowCount - 1).intValue).raw
    }

    /// Typed loops: no boxing, no reference counting per row.
    func append(_ slot: Int, _ range: Range<Int>, to builder: ChunkBuilder) {
        let column = layout.columns[slot]
        guard position[slot] >= 0, let rows else { return builder.appendDefaults(range.count) }
        let base = rows + position[slot]
        if column.type == .double || column.type == .float {
            // Ints and floats may stand for doubles.
            for row in range { builder.append(widened(base[row &* stride], column)) }
        } else {
            builder.append(base + range.lowerBound &* stride, stride: stride, count: range.count)
        }
    }

    @inline(__always)
    private func widened(_ view: ValueView, _ column: StoredColumn) -> ValueView {
        guard column.type == .double || column.type == .float, view.kindNumber != column.type.rawValue, !view.isNull
        else { return view }
        let number: Double =
            switch view.kindNumber {
            case ValueKind.int.rawValue: Double(view.intValue)
            case ValueKind.float.rawValue: Double(view.floatValue)
            default: view.doubleValue
            }
        return column.type == .double ? .double(number) : .float(Float(number))
    }
}
