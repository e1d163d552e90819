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
    /// By slot: what single accesses ask of a column, to be had without counting a reference.
    let shapes: [ColumnShape]
    private let slotsByKey: [Int]

    package init(_ stored: StoredTable, catalog: Catalog) {
        self.stored = stored
        type =
            catalog.schema[stored.key]
            ?? ObjectType(name: stored.name, properties: [])
        primaryKeySlot = stored.columns.firstIndex { $0.isPrimaryKey }
        incoming = catalog.incomingLinks(to: stored.key)
        declaredIndexes =
            stored.indexes.isEmpty ? [] : catalog.indexes(of: stored.key).filter { !($0.kind is EntryIndexKind) }
        shapes = stored.columns.map { ColumnShape($0, in: catalog) }
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

struct ColumnShape {
    let key: ColumnKey
    let type: PropertyType
    let width: IntWidth
    let isList: Bool
    let isPrimaryKey: Bool
    /// A link to an embedded object, which lives and dies with the row.
    let isOwner: Bool
    /// Whether the values are in an index that the column has by itself.
    let isIndexed: Bool
    /// Of those of them that objects are looked up in by a value.
    let index: IndexKey?
    let isNullable: Bool
    let target: TableKey?

    init(_ column: StoredColumn, in catalog: Catalog) {
        key = column.key
        type = column.type
        width = column.width
        isList = column.isList
        isPrimaryKey = column.isPrimaryKey
        isOwner = column.isLink && column.target.flatMap { catalog.table($0) }?.isEmbedded ?? false
        isIndexed = column.index != nil || column.linkIndex != nil || !column.elementIndexes.isEmpty
        index = column.isLink ? nil : column.index
        isNullable = column.isNullable
        target = column.target
    }

    /// Whether an object may have it.
    @inline(__always)
    func isOfKind(_ value: ValueView) -> Bool {
        value.isNull ? isNullable : type == .mixed || value.kindNumber == type.rawValue
    }

    /// Assigned as it is to a property that holds one value: of its type, within its range, no link, no text to check.
    @inline(__always)
    func takes(_ value: ValueView) -> Bool {
        guard !isList, !isPrimaryKey else { return false }
        switch (value.kind, type) {
        case (.int, .int): return width == .bits64
        case (.bool, .bool), (.double, .double), (.float, .float): return true
        default: return false
        }
    }
}
