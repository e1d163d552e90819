/// `motte_prop`: class in the high half; in the low half the column, or for an inverse property, which has none, the
/// top bit and a hash of its name. Columns and tables are never reused, so an id means the same for the life of a file.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct PropertyID {
    let bits: motte_prop

    init(_ bits: motte_prop) { self.bits = bits }

    init(_ table: TableKey, _ property: Property) { self.init(table, property.name, property.columnKey) }

    /// Without a column, of an inverse property.
    init(_ table: TableKey, _ name: String, _ column: ColumnKey?) {
        let low = column?.rawValue ?? Self.inverseBit | Self.hash(name)
        bits = UInt64(table.rawValue) << 32 | UInt64(low)
    }

    private static let inverseBit: UInt32 = 0x8000_0000

    var table: TableKey { TableKey(UInt32(truncatingIfNeeded: bits >> 32)) }
    private var low: UInt32 { UInt32(truncatingIfNeeded: bits) }
    var isInverse: Bool { low & Self.inverseBit != 0 }

    /// FNV-1a, folded to 31 bits.
    private static func hash(_ name: String) -> UInt32 {
        var hash: UInt32 = 2_166_136_261
        for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return (hash ^ hash >> 31) & ~inverseBit
    }

    /// The column, for a stored property of `owner`.
    @inline(__always)
    func column(in owner: TableKey) throws(DatabaseError) -> ColumnKey {
        guard table == owner, !isInverse else { throw refusal(owner) }
        return ColumnKey(low)
    }

    @inline(never)
    private func refusal(_ owner: TableKey) -> DatabaseError {
        if bits == 0 { return DatabaseError(.unknownProperty, "the property id is 0") }
        if table != owner {
            return DatabaseError(.unknownProperty, "the property id belongs to another class (\(table.rawValue))")
        }
        return DatabaseError(.wrongType, "an inverse property has no value; open it as a collection")
    }

    /// The declaration it stands for, which also says whether it exists.
    func property(in schema: Schema) throws(DatabaseError) -> (owner: ObjectType, property: Property) {
        guard let type = schema[table] else {
            throw DatabaseError(.unknownProperty, "0x\(String(bits, radix: 16)) is no property id of this file")
        }
        let found =
            isInverse
            ? type.properties.first { !$0.isStored && Self.inverseBit | Self.hash($0.name) == low }
            : type.property(ColumnKey(low))
        guard let found else {
            throw DatabaseError(
                .unknownProperty, "\(type.name) has no property with id 0x\(String(bits, radix: 16))",
                className: type.name)
        }
        return (type, found)
    }

    /// A stored property that holds a single value.
    func single(of owner: TableKey, in schema: Schema) throws(DatabaseError) -> Property {
        _ = try column(in: owner)
        let (type, property) = try property(in: schema)
        guard property.collection == .none else {
            throw DatabaseError(
                .wrongType, "\(type.name).\(property.name) is a \(property.collection.name); open it as a collection",
                className: type.name, propertyName: property.name)
        }
        return property
    }
}

extension Schema {
    func type(_ cls: motte_class) throws(DatabaseError) -> ObjectType {
        guard let type = self[TableKey(cls)] else {
            throw DatabaseError(.unknownClass, "\(cls) is no class id of this file")
        }
        return type
    }

    /// A value for a property: a link without a class gets the property's target.
    func completed(_ value: ValueView, for property: Property) -> ValueView {
        guard value.kind == .link, value.aux == 0, let target = property.target.flatMap({ self[$0]?.tableKey }) else {
            return value
        }
        var complete = value
        complete.aux = target.rawValue
        return complete
    }
}

/// Columns for `count` property ids of one class, none of them a collection.
func columns(
    _ props: UnsafePointer<motte_prop>?, _ count: Int, of table: TableKey, _ schema: Schema
) throws(DatabaseError) -> [ColumnKey] {
    let ids = try input(props, count)
    var columns: [ColumnKey] = []
    columns.reserveCapacity(count)
    for (index, id) in ids.enumerated() {
        columns.append(
            try atRow(index) { () throws(DatabaseError) in
                let id = PropertyID(id)
                _ = try id.single(of: table, in: schema)
                return try id.column(in: table)
            })
    }
    return columns
}
