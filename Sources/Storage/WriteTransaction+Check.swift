/// Asking whether values could be stored, without storing them: for whatever is to happen all or nothing.
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// The value as the column would hold it (ints widened for a double column, say); throws what setting it would. For
    /// collections, of an element.
    package func fitted(
        _ table: TableKey, _ column: ColumnKey, _ value: ValueView
    ) throws(DatabaseError) -> ValueView {
        let layout = try self.table(table).layout
        let stored = layout.columns[try layout.slot(column)]
        let fitted = try ValueCheck.fitted(value, stored, layout.stored)
        try requireTargets(fitted, stored, layout.stored)
        return fitted
    }

    /// Whether `set` would accept the value for an object that exists.
    package func checkSet(_ table: TableKey, _ column: ColumnKey, _ value: ValueView) throws(DatabaseError) {
        try requireOpen()
        let layout = try self.table(table).layout
        let stored = layout.columns[try layout.slot(column)]
        // In a migration keys may move; they are looked at together when it ends.
        if stored.isPrimaryKey, migration == nil { throw primaryKeyIsFixed(layout.stored, stored) }
        if stored.isList {
            throw DatabaseError(
                .wrongType, "\(layout.stored.name).\(stored.name) is a collection; assign its elements",
                className: layout.stored.name, propertyName: stored.name)
        }
        _ = try fitted(table, column, value)
    }

    /// Whether `mapPut` would accept key and value.
    package func checkPut(
        _ table: TableKey, _ column: ColumnKey, _ mapKey: UnsafeRawBufferPointer, _ value: ValueView
    ) throws(DatabaseError) {
        let layout = try self.table(table).layout
        try ValueCheck.checkMapKey(mapKey, layout.columns[try layout.slot(column)], layout.stored)
        _ = try fitted(table, column, value)
    }

    func primaryKeyIsFixed(_ table: StoredTable, _ column: StoredColumn) -> DatabaseError {
        DatabaseError(
            .primaryKeyIsFixed,
            "the primary key \(table.name).\(column.name) can't be changed after an object is inserted",
            className: table.name, propertyName: column.name)
    }
}

extension TableView {
    /// The hidden column with the keys of a map.
    package func mapKeyColumn(_ column: ColumnKey) throws(DatabaseError) -> ColumnKey? {
        layout.columns[try layout.slot(column)].keyColumn
    }
}
