/// Making objects, or changing those that have the primary key already.
///
/// All or nothing: every value is checked before anything is written. New rows of a batch are appended together; rows
/// that exist are changed a column at a time in the order of their keys, so that each row group is visited once a
/// column. No row costs an allocation.
import MotteSchemaModel
import MotteStorage
import MotteValues

extension Session {
    package struct UpsertOutcome: Equatable, Sendable {
        package var created = 0
        package var updated = 0
    }

    /// One object. The primary key is among the columns.
    package func upsert(
        _ table: TableKey, columns: [ColumnKey], values: UnsafeBufferPointer<ValueView>, policy: UpdatePolicy
    ) throws(DatabaseError) -> (object: LiveObject, created: Bool) {
        _ = try requireWrite()
        try checkPairs(columns, values)
        var key: Int64 = -1
        let outcome = try upsertBatch(
            table, columns: columns, rows: values.baseAddress, rowCount: 1, policy: policy, keys: &key)
        return (try handle(table, ObjectKey(key)), outcome.created == 1)
    }

    /// Many objects; `rows` holds `columns.count` values each. `keys`, where given, gets the key of each row's object.
    /// A primary key that occurs twice means one object, which has the values of the last row that names it; with
    /// `.error` it is an error. Errors carry the `rowIndex`.
    @discardableResult
    package func upsertBatch(
        _ table: TableKey, columns: [ColumnKey], rows: UnsafePointer<ValueView>?, rowCount: Int, policy: UpdatePolicy,
        keys: UnsafeMutablePointer<Int64>? = nil
    ) throws(DatabaseError) -> UpsertOutcome {
        let write = try requireWrite()
        if policy == .error {
            let first = try write.insertBatch(table, columns: columns, rows: rows, rowCount: rowCount)
            if let keys { for row in 0 ..< rowCount { keys[row] = first.rawValue + Int64(row) } }
            return UpsertOutcome(created: rowCount)
        }
        guard rowCount > 0, let rows else { return UpsertOutcome() }
        // Copied once: what is tried a second time would find what the first time gave up.
        let batch = try write.withOwned(rows, count: rowCount * columns.count) { own throws(DatabaseError) in
            try atOnce { () throws(DatabaseError) in
                var batch = try UpsertBatch(write, table, columns, own ?? rows, rowCount)
                try batch.findObjects()
                try batch.checkUpdates()
                try batch.insertNew()
                try batch.update(onlyDifferences: policy == .modified)
                return batch
            }
        }
        if let keys { for row in 0 ..< rowCount { keys[row] = batch.keys[row] } }
        return UpsertOutcome(created: batch.newRows.count, updated: rowCount - batch.newRows.count)
    }

    func checkPairs(_ columns: [ColumnKey], _ values: UnsafeBufferPointer<ValueView>) throws(DatabaseError) {
        guard columns.count == values.count else {
            throw DatabaseError(
                .invalidArgument, "\(columns.count) properties and \(values.count) values do not pair up")
        }
    }
}

/// The rows of one call while they are sorted into new ones and others.
private struct UpsertBatch {
    let write: WriteTransaction
    let view: TableView
    let columns: [ColumnKey]
    let rows: UnsafePointer<ValueView>
    let rowCount: Int
    /// Where in a row the primary key is.
    let position: Int
    /// By row: its object's key; of a new one, until it is inserted, -1 - its position in `newRows`.
    private(set) var keys: [Int64] = []
    /// First rows of primary keys that are not there yet.
    private(set) var newRows: [Int] = []
    /// All others.
    private var others: [Int] = []

    init(
        _ write: WriteTransaction, _ table: TableKey, _ columns: [ColumnKey], _ rows: UnsafePointer<ValueView>,
        _ rowCount: Int
    ) throws(DatabaseError) {
        self.write = write
        view = try write.table(table)
        self.columns = columns
        self.rows = rows
        self.rowCount = rowCount
        let type = view.type
        guard let primaryKey = type.primaryKey else {
            throw DatabaseError(
                .noPrimaryKey, "\(type.name) does not have a primary key, so its objects cannot be updated by one",
                className: type.name)
        }
        guard let position = columns.firstIndex(where: { $0 == primaryKey.columnKey }) else {
            throw DatabaseError(
                .invalidArgument, "\(type.name) needs a value for its primary key \(primaryKey.name)",
                className: type.name, propertyName: primaryKey.name)
        }
        self.position = position
    }

    func value(_ row: Int, _ position: Int) -> ValueView { rows[row &* columns.count &+ position] }

    mutating func findObjects() throws(DatabaseError) {
        keys.reserveCapacity(rowCount)
        var seen = NewKeys()
        for row in 0 ..< rowCount {
            let value = value(row, position)
            if let known = try view.find(primaryKey: value) {
                keys.append(known.rawValue)
                others.append(row)
            } else if let earlier = seen.find(value, among: newRows, { self.value($0, position) }) {
                keys.append(Int64(-1 - earlier))
                others.append(row)
            } else {
                seen.add(value, newRows.count)
                keys.append(Int64(-1 - newRows.count))
                newRows.append(row)
            }
        }
    }

    /// What is inserted is checked by the insertion.
    func checkUpdates() throws(DatabaseError) {
        for (index, column) in columns.enumerated() where index != position {
            for row in others {
                do throws(DatabaseError) {
                    _ = try write.assignment(view.key, column, value(row, index))
                } catch { throw rowCount > 1 ? error.at(rowIndex: row) : error }
            }
        }
    }

    mutating func insertNew() throws(DatabaseError) {
        guard !newRows.isEmpty else { return }
        let first: ObjectKey
        if newRows.count == rowCount {
            first = try write.insertBatch(view.key, columns: columns, rows: rows, rowCount: rowCount)
        } else {
            first = try insertScattered()
        }
        for row in 0 ..< rowCount where keys[row] < 0 { keys[row] = first.rawValue - 1 - keys[row] }
    }

    private func insertScattered() throws(DatabaseError) -> ObjectKey {
        var gathered: [ValueView] = []
        gathered.reserveCapacity(newRows.count * columns.count)
        for row in newRows {
            gathered.append(contentsOf: UnsafeBufferPointer(start: rows + row * columns.count, count: columns.count))
        }
        do throws(DatabaseError) {
            return try gathered.withUnsafeBufferPointer { buffer throws(DatabaseError) in
                try write.insertBatch(view.key, columns: columns, rows: buffer.baseAddress, rowCount: newRows.count)
            }
        } catch {
            guard let row = newRows.count == 1 ? 0 : error.details.rowIndex, row < newRows.count else { throw error }
            throw error.at(rowIndex: newRows[row])
        }
    }

    mutating func update(onlyDifferences: Bool) throws(DatabaseError) {
        // Ascending keys keep neighbours together; rows of one object keep their order, so that the last one wins.
        let ascends = zip(others, others.dropFirst()).allSatisfy { keys[$0] <= keys[$1] }
        if !ascends { others.sort { keys[$0] != keys[$1] ? keys[$0] < keys[$1] : $0 < $1 } }
        for (index, column) in columns.enumerated() where index != position {
            for row in others {
                let key = ObjectKey(keys[row])
                let assignment = try write.assignment(view.key, column, value(row, index))
                if onlyDifferences, try !view.value(column, key).differs(from: assignment.value) { continue }
                try write.set(view.key, key, assignment)
            }
        }
    }
}

/// Primary keys of rows that are new, so that one that occurs twice is noticed. Values that share a hash are chained.
private struct NewKeys {
    private var last: [Int: Int] = [:]
    private var previous: [Int] = []

    mutating func add(_ value: ValueView, _ index: Int) {
        let hash = Self.hash(value)
        previous.append(last[hash] ?? -1)
        last[hash] = index
    }

    /// Position in `rows` of the row with that value.
    func find(_ value: ValueView, among rows: [Int], _ valueOf: (Int) -> ValueView) -> Int? {
        guard var index = last[Self.hash(value)] else { return nil }
        while index >= 0 {
            if ValueOrdering.compare(valueOf(rows[index]), value) == 0 { return index }
            index = previous[index]
        }
        return nil
    }

    private static func hash(_ value: ValueView) -> Int {
        var hasher = Hasher()
        if value.kind == .string || value.kind == .data {
            hasher.combine(bytes: value.bytes)
        } else {
            hasher.combine(value.low)
            hasher.combine(value.high)
        }
        return hasher.finalize()
    }
}
