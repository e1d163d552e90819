/// A database in memory beside a plain model of what is in it, for comparing queries with a naive evaluation.
import MottePages
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

final class QueryWorld {
    enum Cell {
        case value(Value)
        /// Of sets ascending and without repetitions.
        case list([Value])
        /// By ascending keys.
        case map([MapEntry])
    }

    let options: PageStoreOptions
    let database: Database
    let snapshot: Snapshot
    private(set) var write: WriteTransaction?
    /// Class name, object key, property name.
    var rows: [String: [Int64: [String: Cell]]] = [:]
    /// For primary keys.
    var lastNumber = 0

    convenience init(_ schema: String, rowGroupSize: Int = 480) throws {
        try self.init(schema, PageStoreOptions(location: .memory(identifier: nil)), rowGroupSize: rowGroupSize)
    }

    init(_ schema: String, _ options: PageStoreOptions, rowGroupSize: Int = 480) throws {
        var options = options
        options.rowGroupSize = rowGroupSize
        self.options = options
        database = try Database.open(options)
        snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse(schema).validated(), on: snapshot)
        for type in snapshot.schema.objectTypes { rows[type.name] = [:] }
    }

    /// The open write, else the last commit.
    var source: RowSource { write ?? snapshot }
    var schema: Schema { source.schema }

    func begin() throws { write = try database.beginWrite(on: snapshot) }

    func commit() throws {
        try write?.commit()
        write = nil
    }

    func type(_ name: String) throws -> ObjectType { try #require(schema[name]) }
    func table(_ name: String) throws -> TableKey { try #require(try type(name).tableKey) }

    func link(_ name: String, _ key: Int64) throws -> Value {
        .link(ObjectLink(table: try table(name), key: ObjectKey(key)))
    }

    // MARK: Writing

    @discardableResult
    func create(_ name: String, _ values: [String: Cell] = [:]) throws -> Int64 {
        let write = try #require(self.write)
        let type = try type(name)
        var primaryKey: Value?
        if let property = type.primaryKey, case .value(let value)? = values[property.name] { primaryKey = value }
        let key: ObjectKey
        if let primaryKey {
            key = try primaryKey.withView { view throws(DatabaseError) in
                try write.create(try tableKey(type), primaryKey: view)
            }
        } else {
            key = try write.create(try tableKey(type), primaryKey: nil)
        }
        var row: [String: Cell] = [:]
        for property in type.properties where property.isStored { row[property.name] = Self.initial(property) }
        if let property = type.primaryKey, let primaryKey { row[property.name] = .value(primaryKey) }
        rows[name]?[key.rawValue] = row
        for (property, cell) in values where !property.hasSameBytes(as: type.primaryKey?.name ?? "") {
            try set(name, key.rawValue, property, cell)
        }
        return key.rawValue
    }

    /// Many objects in the open write; `fill` gives the values of each in the order of the properties.
    func insert(
        _ name: String, _ properties: [String], _ count: Int, _ fill: (Int, (Value) -> Void) throws -> Void
    ) throws {
        let write = try #require(write)
        let type = try type(name)
        let columns = properties.compactMap { type.property(named: $0)?.columnKey }
        let table = try self.table(name)
        let step = 500
        for start in stride(from: 0, to: count, by: step) {
            var values: [Value] = []
            for number in start ..< min(count, start + step) { try fill(number) { values.append($0) } }
            // Texts are borrowed for the call.
            var bytes: [UInt8] = []
            var places: [Range<Int>?] = []
            for value in values {
                guard case .string(let text) = value else {
                    places.append(nil)
                    continue
                }
                let first = bytes.count
                bytes += Array(text.utf8)
                places.append(first ..< bytes.count)
            }
            try bytes.withUnsafeBytes { raw in
                let row = zip(values, places).map { value, place in
                    place.map { ValueView.string(UnsafeRawBufferPointer(rebasing: raw[$0])) }
                        ?? value.withView { $0 }
                }
                try row.withUnsafeBufferPointer { row throws(DatabaseError) in
                    _ = try write.insertBatch(
                        table, columns: columns, rows: row.baseAddress, rowCount: row.count / columns.count)
                }
            }
        }
    }

    private func tableKey(_ type: ObjectType) throws(DatabaseError) -> TableKey {
        guard let key = type.tableKey else { throw DatabaseError(.unknownClass, type.name) }
        return key
    }

    private static func initial(_ property: Property) -> Cell {
        if property.isMap { return .map([]) }
        if property.isCollection { return .list([]) }
        if property.isNullable { return .value(.null) }
        let value: Value =
            switch property.type {
            case .bool: .bool(false)
            case .int: .int(0)
            case .float: .float(0)
            case .double: .double(0)
            case .string: .string("")
            case .data: .data([])
            case .timestamp: .timestamp(Timestamp(seconds: 0, nanoseconds: 0))
            case .decimal: .decimal(.zero)
            case .objectID: .objectID(.zero)
            case .uuid: .uuid(UUIDBytes(low: 0, high: 0))
            case .link, .mixed, .linkingObjects: .null
            }
        return .value(value)
    }

    func set(_ name: String, _ key: Int64, _ property: String, _ cell: Cell) throws {
        let write = try #require(self.write)
        let table = try table(name)
        let declared = try #require(try type(name).property(named: property))
        let column = try #require(declared.columnKey)
        switch cell {
        case .map(let entries):
            try write.mapClear(table, column, ObjectKey(key))
            for entry in entries {
                try entry.key.withUTF8Bytes { bytes throws(DatabaseError) in
                    try entry.value.withView { view throws(DatabaseError) in
                        _ = try write.mapPut(table, column, ObjectKey(key), bytes, view)
                    }
                }
            }
        case .list(let values) where declared.isSet:
            try write.setClear(table, column, ObjectKey(key))
            for value in values {
                try value.withView { view throws(DatabaseError) in
                    _ = try write.setInsert(table, column, ObjectKey(key), view)
                }
            }
        case .value(let value):
            try value.withView { view throws(DatabaseError) in try write.set(table, column, ObjectKey(key), to: view) }
        case .list(let values):
            try write.listClear(table, column, ObjectKey(key))
            for (index, value) in values.enumerated() {
                try value.withView { view throws(DatabaseError) in
                    try write.listInsert(table, column, ObjectKey(key), at: index, [view])
                }
            }
        }
        rows[name]?[key]?[property] = cell
    }

    func delete(_ name: String, _ key: Int64) throws {
        let write = try #require(self.write)
        try write.delete(try table(name), ObjectKey(key))
        rows[name]?[key] = nil
        let gone = try link(name, key)
        for (other, objects) in rows {
            for (otherKey, row) in objects {
                for (property, cell) in row {
                    switch cell {
                    case .value(let value) where value == gone: rows[other]?[otherKey]?[property] = .value(.null)
                    case .list(let values) where values.contains(gone):
                        rows[other]?[otherKey]?[property] = .list(values.filter { $0 != gone })
                    default: break
                    }
                }
            }
        }
    }

    // MARK: Asking

    func bind(_ name: String, _ text: String, _ arguments: [Argument] = []) throws(DatabaseError) -> BoundQuery {
        let type = try schema.type(named: name)
        return try BoundQuery.bind(
            try ParsedQuery.parse(text), table: try tableKey(type), schema: schema, arguments: Arguments(arguments))
    }

    func executor(_ name: String, _ text: String, _ arguments: [Argument] = []) throws -> Executor {
        Executor(try bind(name, text, arguments), source)
    }

    func keys(_ name: String, _ text: String, _ values: [Value] = []) throws -> [Int64] {
        try executor(name, text, values.map(Argument.value)).keys()
    }
}
