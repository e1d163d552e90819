/// Objects of a session: make, find, change, delete; by handle or by (table, key).
import MotteSchemaModel
import MotteStorage
import MotteValues

extension Session {
    // MARK: Finding

    /// The object with that key; nil when there is none.
    package func object(_ table: TableKey, at key: ObjectKey) throws(DatabaseError) -> LiveObject? {
        guard try self.table(table).locate(key) != nil else { return nil }
        return try handle(table, key)
    }

    /// nil also for a value of another type.
    package func findKey(_ table: TableKey, primaryKey: ValueView) throws(DatabaseError) -> ObjectKey? {
        try lentTable(table).read { table throws(DatabaseError) in try table.find(primaryKey: primaryKey) }
    }

    package func find(_ table: TableKey, primaryKey: Value) throws(DatabaseError) -> LiveObject? {
        let key = try primaryKey.withView { view throws(DatabaseError) in try findKey(table, primaryKey: view) }
        guard let key else { return nil }
        return try handle(table, key)
    }

    /// What a value links to; nil for null, other values, and what has been deleted.
    package func object(linkedBy value: ValueView) throws(DatabaseError) -> LiveObject? {
        guard value.kind == .link, try schema[value.linkValue.table] != nil else { return nil }
        return try object(value.linkValue.table, at: value.linkValue.key)
    }

    /// A handle to a row that is known to exist, marked when the row is of the open write.
    func handle(_ table: TableKey, _ key: ObjectKey) throws(DatabaseError) -> LiveObject {
        var birth: UInt32 = 0
        if let write, key.rawValue >= (try firstNewKey(table, write)) { birth = births.current }
        return LiveObject(session: self, table: table, key: key, birth: birth)
    }

    /// A handle to a row that the open write has just made.
    package func newHandle(_ table: TableKey, _ key: ObjectKey) -> LiveObject {
        LiveObject(session: self, table: table, key: key, birth: births.current)
    }

    /// Keys from this one on were handed out by the open write.
    private func firstNewKey(_ table: TableKey, _ write: WriteTransaction) throws(DatabaseError) -> Int64 {
        guard write.base.schema[table] != nil else { return 0 }
        return try write.base.table(table).nextKey
    }

    // MARK: Making

    /// A new object with default values; with `returnExisting`, one that has the primary key already is returned.
    package func create(
        _ table: TableKey, primaryKey: Value? = nil, returnExisting: Bool = false
    ) throws(DatabaseError) -> (object: LiveObject, isNew: Bool) {
        let write = try requireWrite()
        guard let primaryKey else {
            return (try handle(table, try write.create(table, primaryKey: nil)), true)
        }
        return try primaryKey.withView { view throws(DatabaseError) in
            if returnExisting, let known = try write.table(table).find(primaryKey: view) {
                return (try handle(table, known), false)
            }
            return (try handle(table, try write.create(table, primaryKey: view)), true)
        }
    }

    /// A new object with these values at once, the primary key among them; all or nothing. With `returnExisting`, the
    /// values are assigned to an object that has the primary key already.
    package func create(
        _ table: TableKey, columns: [ColumnKey], values: UnsafeBufferPointer<ValueView>, returnExisting: Bool = false
    ) throws(DatabaseError) -> (key: ObjectKey, isNew: Bool) {
        let write = try requireWrite()
        try checkPairs(columns, values)
        if returnExisting, let primaryKey = try write.table(table).type.primaryKey?.columnKey,
            let position = columns.firstIndex(of: primaryKey),
            let known = try write.table(table).find(primaryKey: values[position])
        {
            var others: [ColumnKey] = []
            var rest: [ValueView] = []
            for (index, column) in columns.enumerated() where index != position {
                others.append(column)
                rest.append(values[index])
            }
            try rest.withUnsafeBufferPointer { buffer throws(DatabaseError) in
                try setMany(table, known, columns: others, values: buffer)
            }
            return (known, false)
        }
        return (try write.insertBatch(table, columns: columns, rows: values.baseAddress, rowCount: 1), true)
    }

    /// Appends objects; `rows` holds `columns.count` values each. All or nothing; returns the first key.
    package func insertBatch(
        _ table: TableKey, columns: [ColumnKey], rows: UnsafePointer<ValueView>?, rowCount: Int
    ) throws(DatabaseError) -> ObjectKey {
        try requireWrite().insertBatch(table, columns: columns, rows: rows, rowCount: rowCount)
    }

    /// The same with the values of each property in an array of their own.
    package func insertColumns(
        _ table: TableKey, columns: [ColumnKey], sources: [BatchColumn], rowCount: Int
    ) throws(DatabaseError) -> ObjectKey {
        try requireWrite().insertColumns(table, columns: columns, sources: sources, rowCount: rowCount)
    }

    // MARK: Reading and changing

    /// Borrowed until `viewEpoch` moves.
    @inline(__always)
    package func value(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> ValueView {
        try lentTable(table).read { table throws(DatabaseError) in try table.value(column, key) }
    }

    /// The values of several properties of one object, the columns one after the other; borrowed likewise.
    package func values(
        _ table: TableKey, _ key: ObjectKey, _ count: Int, into values: UnsafeMutablePointer<ValueView>,
        _ column: (Int) throws(DatabaseError) -> ColumnKey
    ) throws(DatabaseError) {
        try lentTable(table).read { table throws(DatabaseError) in
            for index in 0 ..< count { values[index] = try table.value(try column(index), key) }
        }
    }

    package func set(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, to value: ValueView
    ) throws(DatabaseError) {
        try requireWrite().set(table, column, key, to: value)
    }

    /// All or nothing; `rowIndex` of the error is the position of the value that does not fit.
    package func setMany(
        _ table: TableKey, _ key: ObjectKey, columns: [ColumnKey], values: UnsafeBufferPointer<ValueView>
    ) throws(DatabaseError) {
        let write = try requireWrite()
        try checkPairs(columns, values)
        // A change of one value is all or nothing by itself.
        if columns.count == 1, try write.setAlone(table, columns[0], key, to: values[0]) { return }
        try write.withOwned(Array(values)) { values throws(DatabaseError) in
            var assignments: [Assignment] = []
            assignments.reserveCapacity(columns.count)
            for (index, column) in columns.enumerated() {
                do throws(DatabaseError) {
                    assignments.append(try write.assignment(table, column, values[index]))
                } catch { throw error.at(propertyIndex: index) }
            }
            try atOnce { () throws(DatabaseError) in
                for assignment in assignments { try write.set(table, key, assignment) }
            }
        }
    }

    package func delete(_ table: TableKey, _ key: ObjectKey) throws(DatabaseError) {
        try requireWrite().delete(table, key)
    }

    /// Deletes every object of a class and says how many there were.
    @discardableResult
    package func deleteAll(_ table: TableKey) throws(DatabaseError) -> Int { try requireWrite().deleteAll(table) }

    /// Deletes those that exist and says how many did.
    package func delete(_ table: TableKey, _ keys: [Int64]) throws(DatabaseError) -> Int {
        try requireWrite().delete(table, keys)
    }
}

extension Unmanaged {
    /// Lends the object without counting a reference, with a typed throw.
    @inline(__always)
    func read<Outcome>(_ body: (Instance) throws(DatabaseError) -> Outcome) throws(DatabaseError) -> Outcome {
        let outcome = _withUnsafeGuaranteedRef { instance -> Result<Outcome, DatabaseError> in
            do throws(DatabaseError) { return .success(try body(instance)) } catch { return .failure(error) }
        }
        return try outcome.get()
    }
}
