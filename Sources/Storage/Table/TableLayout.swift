/// What a table's columns are, arranged for look-ups by column key: shared by every view of the table while the schema
/// stays as it is. A column's position in `columns` is its slot.
import MotteSchemaModel
import MotteValues

package final class TableLayout: Sendable {
    package let stored: StoredTable
    package let type: ObjectType
    package let primaryKeySlot: Int?
    /// Link columns of any table that point here.
    package let incoming: [(table: TableKey, column: StoredColumn)]
    /// Apart from those that columns have by themselves.
    package let declaredIndexes: [TableIndex]
    private let slotsByKey: [Int]

    init(_ stored: StoredTable, catalog: Catalog) {
        self.stored = stored
        type =
            catalog.schema.objectTypes.first { $0.tableKey == stored.key }
            ?? ObjectType(name: stored.name, properties: [])
        primaryKeySlot = stored.columns.firstIndex { $0.isPrimaryKey }
        incoming = catalog.incomingLinks(to: stored.key)
        declaredIndexes =
            stored.indexes.isEmpty ? [] : catalog.indexes(of: stored.key).filter { !($0.kind is EntryIndexKind) }
        var slots = [Int](repeating: -1, count: Int(stored.nextColumnKey))
        for (slot, column) in stored.columns.enumerated() where Int(column.key.rawValue) < slots.count {
            slots[Int(column.key.rawValue)] = slot
        }
        slotsByKey = slots
    }

    package var key: TableKey { stored.key }
    package var columns: [StoredColumn] { stored.columns }

    /// Columns' keys are below this.
    package var columnLimit: Int { slotsByKey.count }

    package func slot(_ column: ColumnKey) throws(DatabaseError) -> Int {
        let raw = Int(column.rawValue)
        guard raw < slotsByKey.count, slotsByKey[raw] >= 0 else {
            throw DatabaseError(
                .unknownProperty,
                "\(stored.name) has no property with key \(column.rawValue); it may belong to another class",
                className: stored.name)
        }
        return slotsByKey[raw]
    }
}
