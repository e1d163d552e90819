/// Looking into sets and maps: both are sorted, so a member is a binary search away.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension TableView {
    /// Where a value is in a set; nil if it is not there. Numbers of any kind find their equals.
    package func setFind(
        _ column: ColumnKey, _ key: ObjectKey, _ value: ValueView
    ) throws(DatabaseError) -> Int? {
        try requireCollection(.set, try listSlot(column))
        return try search(column, key, value)
    }

    /// The position of a key of a map; its value is the element at that position. nil if there is no such key.
    package func mapFind(
        _ column: ColumnKey, _ key: ObjectKey, _ mapKey: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> Int? {
        try search(try keyColumn(column), key, .string(mapKey))
    }

    /// UTF-8, borrowed like any value.
    package func mapKey(
        _ column: ColumnKey, _ key: ObjectKey, _ index: Int
    ) throws(DatabaseError) -> UnsafeRawBufferPointer {
        try listElement(try keyColumn(column), key, index).bytes
    }

    private func keyColumn(_ column: ColumnKey) throws(DatabaseError) -> ColumnKey {
        let slot = try listSlot(column)
        try requireCollection(.map, slot)
        guard let keys = layout.columns[slot].keyColumn else {
            throw DatabaseError(.internal, "the map \(layout.stored.name).\(layout.columns[slot].name) has no keys")
        }
        return keys
    }

    private func search(_ column: ColumnKey, _ key: ObjectKey, _ value: ValueView) throws(DatabaseError) -> Int? {
        var low = 0
        var high = try listCount(column, key)
        while low < high {
            let middle = (low + high) / 2
            let order = ValueOrdering.compare(try listElement(column, key, middle), value)
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Keys of a map are only there through the map.
    func requireCollection(_ kind: CollectionKind, _ slot: Int) throws(DatabaseError) {
        let column = layout.columns[slot]
        if column.collection == kind, !column.isMapKeys { return }
        throw DatabaseError(
            .wrongType, "\(layout.stored.name).\(column.name) is a \(column.collection.name), not a \(kind.name)",
            className: layout.stored.name, propertyName: column.name)
    }
}
