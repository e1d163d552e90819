/// A class as imports and exports walk it: its stored properties with the bytes of their names, and what links refer
/// to.
///
/// Names lie behind each other in memory of the plan's own, so that a key of a document is found by comparing bytes:
/// the property after the one found last first, because records mostly keep one order.
import MotteSchemaModel
import MotteValues

final class ClassPlan {
    struct Field {
        let property: Property
        let column: ColumnKey
        /// Class of links.
        let target: TableKey?
        /// Whether objects of that class live and die with the object that has the property.
        let ownsTarget: Bool
        /// Whether a single value of it is part of a row of `insertBatch`, and where in it; -1 for collections.
        let position: Int
        fileprivate let nameOffset: Int
        fileprivate let nameCount: Int
    }

    let type: ObjectType
    let table: TableKey
    let fields: [Field]
    /// Columns of single values, in the order of `position`.
    let columns: [ColumnKey]
    /// Index in `fields`.
    let primaryKey: Int?
    private let names: UnsafeMutablePointer<UInt8>

    init(_ type: ObjectType, _ schema: Schema) throws(DatabaseError) {
        guard let table = type.tableKey else { throw DatabaseError(.internal, "class \(type.name) is not stored") }
        var fields: [Field] = []
        var columns: [ColumnKey] = []
        var bytes: [UInt8] = []
        for property in type.properties {
            guard let column = property.columnKey else { continue }
            let target = property.type == .link ? property.target.flatMap { schema[$0]?.tableKey } : nil
            let isRow = property.collection == .none
            fields.append(
                Field(
                    property: property, column: column, target: target,
                    ownsTarget: target.flatMap { schema[$0]?.isEmbedded } ?? false,
                    position: isRow ? columns.count : -1, nameOffset: bytes.count,
                    nameCount: property.name.utf8.count))
            if isRow { columns.append(column) }
            bytes.append(contentsOf: property.name.utf8)
        }
        self.type = type
        self.table = table
        self.fields = fields
        self.columns = columns
        primaryKey = fields.firstIndex { $0.property.isPrimaryKey }
        names = .allocate(capacity: max(bytes.count, 1))
        names.initialize(from: bytes, count: bytes.count)
    }

    deinit { names.deallocate() }

    func name(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: names + fields[index].nameOffset, count: fields[index].nameCount)
    }

    /// Index in `fields`; `hint` is looked at first.
    func find(_ name: UnsafeRawBufferPointer, hint: Int) -> Int? {
        if hint < fields.count, isName(name, hint) { return hint }
        for index in fields.indices where isName(name, index) { return index }
        return nil
    }

    @inline(__always)
    private func isName(_ name: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        let count = fields[index].nameCount
        guard name.count == count else { return false }
        let own = names + fields[index].nameOffset
        for offset in 0 ..< count where own[offset] != name[offset] { return false }
        return true
    }

    /// What a property has when a document does not name it.
    func defaultValue(_ field: Field) -> ValueView {
        if field.property.isNullable { return .null }
        switch field.property.type {
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

    /// An error about one property, as messages of imports name it.
    func error(_ error: DatabaseError, at index: Int) -> DatabaseError {
        let name = fields[index].property.name
        // Errors of the store name the property themselves.
        let says = error.details.propertyName != nil
        return DatabaseError(
            error.code, says ? error.message : "\(type.name).\(name): \(error.message)", className: type.name,
            propertyName: name)
    }
}

/// Plans by class, made when they are first asked for.
struct ClassPlans {
    let schema: Schema
    private var plans: [TableKey: ClassPlan] = [:]

    init(_ schema: Schema) { self.schema = schema }

    mutating func plan(_ table: TableKey) throws(DatabaseError) -> ClassPlan {
        if let plan = plans[table] { return plan }
        guard let type = schema[table] else {
            throw DatabaseError(.unknownClass, "there is no class with the key \(table.rawValue)")
        }
        let plan = try ClassPlan(type, schema)
        plans[table] = plan
        return plan
    }
}
