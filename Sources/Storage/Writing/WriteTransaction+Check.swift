/// The one check of what is stored. Whatever a caller assigns, from Swift's properties, C's setters, dynamic objects,
/// lists, sets, maps, imports or migrations, goes through `checked`, which knows type, range, nullability, size, text
/// and the targets of links; a property of an object goes through `assignment` before, which knows primary keys,
/// collections and embedded objects too. Only whole columns are looked at in another way first (`RowBatch`, `RowPlan`),
/// and in doubt come here.
import MotteSchemaModel
import MotteValues

/// A property that may be assigned, and the value as it will hold it. Made by `WriteTransaction.assignment` alone.
package struct Assignment {
    let slot: Int
    package let value: ValueView

    fileprivate init(slot: Int, value: ValueView) {
        self.slot = slot
        self.value = value
    }
}

extension WriteTransaction {
    /// Within `body` what another version or file holds is taken over, where ints stay that were stored before their
    /// property became narrower.
    package func keepingWideInts(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        keepsWideInts = true
        defer { keepsWideInts = false }
        try body()
    }

    /// The value as the column holds it (ints widened for a double column, say). For collections, of an element.
    @inline(__always)
    func checked(
        _ value: ValueView, _ column: StoredColumn, _ table: StoredTable
    ) throws(DatabaseError) -> ValueView {
        let isKept = keepsWideInts && column.type == .int && value.kind == .int
        let fitted = isKept ? value : try ValueCheck.fitted(value, column, table)
        if column.isLink || column.type == .mixed { try requireTargets(fitted, column, table) }
        if rules != nil { try checkRule(fitted, column, table) }
        return fitted
    }

    @inline(never)
    private func checkRule(
        _ value: ValueView, _ column: StoredColumn, _ table: StoredTable
    ) throws(DatabaseError) {
        try rules?.rules(try self.table(table.key).layout)?.check(value, column.key)
    }

    /// The same for a column by its key.
    package func fitted(
        _ table: TableKey, _ column: ColumnKey, _ value: ValueView
    ) throws(DatabaseError) -> ValueView {
        let layout = try self.table(table).layout
        return try checked(value, layout.columns[try layout.slot(column)], layout.stored)
    }

    /// What `set` puts into an object that exists.
    package func assignment(
        _ table: TableKey, _ column: ColumnKey, _ value: ValueView
    ) throws(DatabaseError) -> Assignment {
        try requireOpen()
        let layout = try self.table(table).layout
        return try assignment(layout, try layout.slot(column), value)
    }

    @inline(__always)
    func assignment(
        _ layout: TableLayout, _ slot: Int, _ value: ValueView
    ) throws(DatabaseError) -> Assignment {
        if layout.shapes[slot].takes(value) {
            if let rules { try rules.rules(layout)?.check(value, slot) }
            return Assignment(slot: slot, value: value)
        }
        return try checkedAssignment(layout, slot, value)
    }

    @inline(never)
    private func checkedAssignment(
        _ layout: TableLayout, _ slot: Int, _ value: ValueView
    ) throws(DatabaseError) -> Assignment {
        let stored = layout.columns[slot]
        // In a migration keys may move; they are looked at together when it ends.
        if stored.isPrimaryKey, migration == nil {
            throw DatabaseError(
                .primaryKeyIsFixed,
                "the primary key \(layout.stored.name).\(stored.name) can't be changed after an object is inserted",
                className: layout.stored.name, propertyName: stored.name)
        }
        if stored.isList {
            throw DatabaseError(
                .wrongType, "\(layout.stored.name).\(stored.name) is a collection; assign its elements",
                className: layout.stored.name, propertyName: stored.name)
        }
        if value.kind == .link, isOwner(stored), !adoptsEmbedded { throw managedEmbedded(stored, layout.stored) }
        return Assignment(slot: slot, value: try checked(value, stored, layout.stored))
    }

    /// Whether `mapPut` would accept key and value.
    package func checkPut(
        _ table: TableKey, _ column: ColumnKey, _ mapKey: UnsafeRawBufferPointer, _ value: ValueView
    ) throws(DatabaseError) {
        let layout = try self.table(table).layout
        try ValueCheck.checkMapKey(mapKey, layout.columns[try layout.slot(column)], layout.stored)
        _ = try fitted(table, column, value)
    }
}

extension TableView {
    /// The hidden column with the keys of a map.
    package func mapKeyColumn(_ column: ColumnKey) throws(DatabaseError) -> ColumnKey? {
        layout.columns[try layout.slot(column)].keyColumn
    }
}
