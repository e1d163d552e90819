/// How rows that come one at a time are appended: what a row with values for certain columns takes is worked out once,
/// so that a row costs little more than its share of a large batch does.
///
/// Only for what is plain: where a value needs more than a look, `fits` says no and the row goes the way of batches,
/// which knows everything and has all the messages.
import MotteColumns
import MotteSchemaModel
import MotteValues

final class RowPlan {
    /// One slot of the table. Without references, so that going over them counts none.
    struct Field {
        /// Where its value is in the row; -1 for a column that gets its default.
        let source: Int
        let type: PropertyType
        let isNullable: Bool
        let bounds: ClosedRange<Int64>
        /// An index of values; of links there are none to add while they are null.
        let index: IndexKey?
        let isPrimaryKey: Bool
        var form: EntryForm { EntryForm(.values(type), isUnique: isPrimaryKey) }
    }

    /// An index that is declared with the class, and where its values are in the row.
    struct Declared {
        let index: TableIndex
        let places: [Int]
    }

    let columns: [ColumnKey]
    /// Of those columns that hold one value a row.
    let fields: [Field]
    /// Those with an index of values.
    let indexed: [Field]
    let primaryKey: Field?
    let declared: [Declared]
    private let valueSlots: [Int]
    private let listSlots: [Int]

    /// The open row group, and its columns in the order of `fields`.
    @exclusivity(unchecked) private var rowGroup: DirtyRowGroup?
    @exclusivity(unchecked) private var builders: ContiguousArray<ChunkBuilder> = []
    @exclusivity(unchecked) private var lists: ContiguousArray<ListChunkBuilder> = []
    @exclusivity(unchecked) private var changed: ContiguousArray<DirtyColumn> = []

    /// nil for columns that always take more than a look.
    init?(_ layout: TableLayout, _ columns: [ColumnKey]) {
        var sources = [Int](repeating: -1, count: layout.columns.count)
        for (index, column) in columns.enumerated() {
            // Unknown columns go the way of batches, which refuses them by name.
            guard let slot = try? layout.slot(column), sources[slot] < 0, !layout.columns[slot].isList else {
                return nil
            }
            sources[slot] = index
        }
        var fields: [Field] = []
        for (slot, column) in layout.columns.enumerated() where !column.isList {
            let isNamed = sources[slot] >= 0
            if !isNamed, column.isPrimaryKey || (column.index != nil && !column.isLink) { return nil }
            fields.append(
                Field(
                    source: sources[slot], type: column.type, isNullable: column.isNullable,
                    bounds: column.width.range, index: column.isLink ? nil : column.index,
                    isPrimaryKey: column.isPrimaryKey))
        }
        var declared: [Declared] = []
        for index in layout.declaredIndexes where index.collection == nil {
            let places = index.slots.map { sources[$0] }
            guard places.allSatisfy({ $0 >= 0 }) else { return nil }
            declared.append(Declared(index: index, places: places))
        }
        self.declared = declared
        self.columns = columns
        self.fields = fields
        indexed = fields.filter { $0.index != nil }
        primaryKey = fields.first { $0.isPrimaryKey }
        valueSlots = layout.columns.indices.filter { !layout.columns[$0].isList }
        listSlots = layout.columns.indices.filter { layout.columns[$0].isList }
    }

    /// Whether every value can be appended as it is.
    func fits(_ row: UnsafePointer<ValueView>) -> Bool {
        fields.withUnsafeBufferPointer { fields in
            for field in fields where field.source >= 0 {
                guard Self.fits(row[field.source], field) else { return false }
            }
            return true
        }
    }

    @inline(__always)
    private static func fits(_ view: ValueView, _ field: Field) -> Bool {
        if view.isNull { return field.isNullable }
        guard view.kindNumber == field.type.rawValue else { return false }
        switch field.type.form {
        case .int: return field.bounds.contains(view.intValue)
        case .string:
            return view.high <= UInt64(ValueCheck.stringLimit) && UTF8Validation.isValid(view.bytes)
        case .data: return view.high <= UInt64(ValueCheck.dataLimit)
        case .timestamp: return view.aux < 1_000_000_000
        case .bool, .float, .double, .decimal, .identifier: return true
        case .link, .null, .list, .map, nil: return false
        }
    }

    /// Gets hold of the columns of the row group that the next row goes to; false where they are not open.
    func turn(to next: DirtyRowGroup) -> Bool {
        if rowGroup === next { return true }
        rowGroup = nil
        builders.removeAll(keepingCapacity: true)
        lists.removeAll(keepingCapacity: true)
        changed.removeAll(keepingCapacity: true)
        for slot in valueSlots {
            guard let column = next.columns[slot], case .values(let builder) = column.storage else { return false }
            builders.append(builder)
            changed.append(column)
        }
        for slot in listSlots {
            guard let column = next.columns[slot], case .lists(let builder) = column.storage else { return false }
            lists.append(builder)
            changed.append(column)
        }
        rowGroup = next
        return true
    }

    func isTurned(to other: DirtyRowGroup) -> Bool { rowGroup === other }

    /// Appends a row that fits to the columns of that row group.
    func append(_ row: UnsafePointer<ValueView>) {
        fields.withUnsafeBufferPointer { fields in
            builders.withUnsafeBufferPointer { builders in
                for index in fields.indices {
                    let source = fields[index].source
                    builders[index].append(source >= 0 ? row[source] : .null)
                }
            }
        }
        for list in lists { list.appendRows(1) }
        for column in changed { column.markChanged() }
    }
}
