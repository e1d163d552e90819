/// A class as imports and exports walk it: its stored properties with the bytes of their names, and what links refer
/// to.
///
/// Names lie behind each other in memory of the plan's own, so that a key of a document is found by comparing bytes.
/// What every value of every row is asked for is there once more without strings, which nobody has to count references
/// of.
import MotteSchemaModel
import MotteValues

final class ClassPlan {
    struct Field {
        let property: Property
        /// What the program declares beyond what the file holds.
        let rule: PropertyRule?
        let column: ColumnKey
        /// Class of links.
        let target: TableKey?
        /// Whether objects of that class live and die with the object that has the property.
        let ownsTarget: Bool
        /// Whether a single value of it is part of a row of `insertBatch`, and where in it; -1 for collections.
        let position: Int
        fileprivate let nameOffset: Int
        fileprivate let nameCount: Int

        /// For an object that comes later in the text.
        var mayWait: Bool { property.type == .link || property.type == .mixed }
    }

    /// What rows of a text ask of a property again and again.
    struct QuickField {
        let reading: QuickReading
        let isNullable: Bool
        /// As in `Field`.
        let position: Int
        /// `"name":` in the plan's memory; empty for names that JSON does not write as they are.
        fileprivate let keyOffset: Int
        fileprivate let keyCount: Int
    }

    let type: ObjectType
    let table: TableKey
    let fields: [Field]
    /// By index in `fields`.
    let quick: UnsafeMutablePointer<QuickField>
    /// Columns of single values, in the order of `position`.
    let columns: [ColumnKey]
    /// Index in `fields`.
    let primaryKey: Int?
    /// Whether rows get more than zeros where they do not name a property, or have to name it.
    let hasStarts: Bool
    private let names: UnsafeMutablePointer<UInt8>

    init(_ type: ObjectType, _ schema: Schema, _ rules: DeclaredRules?) throws(DatabaseError) {
        guard let table = type.tableKey else { throw DatabaseError(.internal, "class \(type.name) is not stored") }
        var fields: [Field] = []
        var columns: [ColumnKey] = []
        var quick: [QuickField] = []
        var bytes: [UInt8] = []
        for property in type.properties {
            guard let column = property.columnKey else { continue }
            let target = property.type == .link ? property.target.flatMap { schema[$0]?.tableKey } : nil
            let isRow = property.collection == .none
            fields.append(
                Field(
                    property: property, rule: rules?.rule(type.name, property.name), column: column, target: target,
                    ownsTarget: target.flatMap { schema[$0]?.isEmbedded } ?? false,
                    position: isRow ? columns.count : -1, nameOffset: bytes.count,
                    nameCount: property.name.utf8.count))
            bytes.append(contentsOf: property.name.utf8)
            let key = Self.jsonKey(property.name)
            quick.append(
                QuickField(
                    reading: isRow ? QuickReading(property.type) : .other, isNullable: property.isNullable,
                    position: isRow ? columns.count : -1, keyOffset: bytes.count, keyCount: key.count))
            bytes.append(contentsOf: key)
            if isRow { columns.append(column) }
        }
        self.type = type
        self.table = table
        self.fields = fields
        self.columns = columns
        primaryKey = fields.firstIndex { $0.property.isPrimaryKey }
        hasStarts = fields.contains {
            $0.rule?.hasStart == true || $0.rule?.isRequired == true || $0.rule?.filler != nil
        }
        names = .allocate(capacity: max(bytes.count, 1))
        names.initialize(from: bytes, count: bytes.count)
        self.quick = .allocate(capacity: max(quick.count, 1))
        self.quick.initialize(from: quick, count: quick.count)
    }

    deinit {
        names.deallocate()
        quick.deallocate()
    }

    private static func jsonKey(_ name: String) -> [UInt8] {
        let isPlain = name.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x80 && $0 != 0x22 && $0 != 0x5C }
        return isPlain ? Array("\"\(name)\":".utf8) : []
    }

    /// The bytes `"name":` of a property; none for names that JSON may write in another way only.
    @inline(__always)
    func jsonKey(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: names + quick[index].keyOffset, count: quick[index].keyCount)
    }

    /// Whether values of rows can be read without looking into the store: none is a link or of any type.
    var isReadAlone: Bool { fields.allSatisfy { $0.position < 0 || $0.property.type.isPlainJSON } }

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
        field.property.type.defaultValue(isNullable: field.property.isNullable)
    }

    /// An object of these properties is made in its place: is there all that it has to have?
    func requireAll(_ isNamed: (Int) -> Bool) throws(DatabaseError) {
        guard hasStarts else { return }
        for (index, field) in fields.enumerated() where field.rule?.isRequired == true && !isNamed(index) {
            throw error(DatabaseError(.nullNotAllowed, "a value is needed: it has no default"), at: index)
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

/// How a value is read when it is written as it mostly is.
enum QuickReading: UInt8 {
    case int, double, bool, text
    /// By its type, with all that may be.
    case other

    init(_ type: PropertyType) {
        switch type {
        case .int: self = .int
        case .double: self = .double
        case .bool: self = .bool
        case .string: self = .text
        default: self = .other
        }
    }
}

/// Plans by class, made when they are first asked for.
struct ClassPlans {
    let schema: Schema
    private let rules: DeclaredRules?
    private var plans: [TableKey: ClassPlan] = [:]

    init(_ schema: Schema, _ rules: DeclaredRules? = nil) {
        self.schema = schema
        self.rules = rules
    }

    mutating func plan(_ table: TableKey) throws(DatabaseError) -> ClassPlan {
        if let plan = plans[table] { return plan }
        guard let type = schema[table] else {
            throw DatabaseError(.unknownClass, "there is no class with the key \(table.rawValue)")
        }
        let plan = try ClassPlan(type, schema, rules)
        plans[table] = plan
        return plan
    }
}
