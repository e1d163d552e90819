/// Objects of a class from Arrow data, a batch at a time: single values in columns, then collections and embedded
/// objects, which belong to a row each.
///
/// All or nothing is up to the caller, who has all batches within one `Session.atomically`.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class ArrowImport {
    package private(set) var created = 0
    package private(set) var updated = 0
    /// Rows of all batches so far, for errors.
    private var rowCount = 0

    private let session: Session
    private let table: TableKey
    private let type: ObjectType
    private let policy: UpdatePolicy
    private let years: ArrowYears
    private let schema: Schema
    private let arena = ByteArena()
    private let json: JSONImport
    /// What goes into the store in columns, and where in a batch it is.
    private var plain: [(child: Int, source: ArrowColumnSource)] = []
    private var nested: [(child: Int, property: Property, column: ColumnKey)] = []

    /// Rows that go into the store together.
    private static let mostRows = 1 << 16

    package init(
        _ session: Session, into table: TableKey, _ fields: ArrowInputField, policy: UpdatePolicy,
        ignoresUnknown: Bool, years: ArrowYears = .all
    ) throws(DatabaseError) {
        self.session = session
        self.table = table
        self.policy = policy
        self.years = years
        schema = try session.schema
        guard let type = schema[table] else {
            throw DatabaseError(.unknownClass, "there is no class with the key \(table.rawValue)")
        }
        self.type = type
        json = try JSONImport(session, into: nil)
        guard fields.type == .structure, fields.dictionary == nil else {
            throw DatabaseError(
                .wrongType, "rows are wanted, which are a struct in Arrow, not \(fields.type.name)",
                className: type.name)
        }
        var seen: Set<NameKey> = []
        for (index, child) in fields.children.enumerated() {
            guard let property = type.properties.first(where: { $0.name.hasSameBytes(as: child.name) }) else {
                if ignoresUnknown { continue }
                throw DatabaseError(
                    .unknownProperty,
                    "\(type.name) has no property '\(child.name)'; rename the column, leave it out, "
                        + "or ignore unknown ones", className: type.name, propertyName: child.name)
            }
            guard seen.insert(NameKey(child.name)).inserted else {
                throw DatabaseError(
                    .invalidArgument, "there are two columns '\(child.name)'", className: type.name,
                    propertyName: child.name)
            }
            try plan(property, index)
        }
        try checkPrimaryKey()
    }

    private func plan(_ property: Property, _ child: Int) throws(DatabaseError) {
        guard let column = property.columnKey else {
            throw DatabaseError(
                .wrongType, "'\(property.name)' of \(type.name) is an inverse, which follows from links",
                className: type.name, propertyName: property.name)
        }
        let target = property.target.flatMap { schema[$0] }
        guard property.collection == .none, target?.isEmbedded != true || property.type != .link else {
            nested.append((child, property, column))
            return
        }
        let key = property.type == .link ? target?.tableKey?.rawValue ?? 0 : 0
        let source = ArrowColumnSource(
            property, column, target: key, cells: cells(property), mostRows: Self.mostRows)
        plain.append((child, source))
    }

    private func checkPrimaryKey() throws(DatabaseError) {
        if let primaryKey = type.primaryKey, !plain.contains(where: { $0.source.column == primaryKey.columnKey }),
            policy != .error || !session.hasStart(primaryKey, of: type)
        {
            throw DatabaseError(
                .noPrimaryKey,
                "new objects of \(type.name) need their primary key '\(primaryKey.name)', which is no "
                    + "column", className: type.name, propertyName: primaryKey.name)
        }
        if policy != .error, type.primaryKey == nil {
            throw DatabaseError(
                .noPrimaryKey, "objects of \(type.name) have no primary key to be found by", className: type.name)
        }
    }

    // MARK: Batches

    /// Nothing of the batch is used afterwards.
    package func insert(_ batch: ArrowInput) throws(DatabaseError) {
        var first = 0
        while first < batch.length {
            let rows = first ..< min(first + Self.mostRows, batch.length)
            do throws(DatabaseError) { try insert(batch, rows) } catch { throw located(error) }
            first = rows.upperBound
            rowCount += rows.count
            arena.reset()
        }
    }

    /// Rows are counted over all batches.
    private func located(_ error: DatabaseError) -> DatabaseError {
        guard let row = error.details.rowIndex else { return error }
        return Self.named(ExchangeError.withoutRow(error), type).at(rowIndex: row + rowCount)
    }

    /// An error about a property, which is called like this with its class: `Person.age` instead of `'age'`.
    private static func named(_ error: DatabaseError, _ type: ObjectType) -> DatabaseError {
        guard error.details.className == nil else { return error }
        var message = error.message
        if let name = error.details.propertyName, let rest = message.behindBytes(of: "'\(name)'") {
            message = "\(type.name).\(name)" + rest
        }
        return DatabaseError(
            error.code, message, className: type.name, propertyName: error.details.propertyName)
    }

    private func insert(_ batch: ArrowInput, _ rows: Range<Int>) throws(DatabaseError) {
        for row in rows where batch.isNull(row) {
            throw DatabaseError(.nullNotAllowed, "a row is null").at(rowIndex: row - rows.lowerBound)
        }
        let inChildren = batch.fieldIndex(rows.lowerBound) ..< batch.fieldIndex(rows.upperBound)
        let isFilled = session.hasFillers(type)
        let first = isFilled ? try session.nextKey(table) : 0
        let keys = try insertPlain(batch, inChildren)
        if isFilled { try fill(from: first) }
        guard !nested.isEmpty else { return }
        for index in 0 ..< rows.count {
            for (child, property, column) in nested {
                let place = inChildren.lowerBound + index
                let key = ObjectKey(keys[index])
                do throws(DatabaseError) {
                    try assign(table, key, property, column, batch.children[child], place)
                } catch { throw ExchangeError.withoutRow(error).at(rowIndex: index) }
            }
        }
    }

    /// What new objects have no column for.
    private func fill(from first: Int64) throws(DatabaseError) {
        let next = try session.nextKey(table)
        let new = Array(first ..< next)
        try session.fill(type) { column in
            let isNamed = plain.contains { $0.source.column == column } || nested.contains { $0.column == column }
            return isNamed ? [] : new
        }
    }

    /// The keys of the rows' objects, where there is more to do.
    private func insertPlain(_ batch: ArrowInput, _ rows: Range<Int>) throws(DatabaseError) -> [Int64] {
        let columns = plain.map(\.source.column)
        guard policy != .error else {
            var sources: [BatchColumn] = []
            for (child, source) in plain { sources.append(try source.source(batch.children[child], rows)) }
            let first = try session.insertColumns(table, columns: columns, sources: sources, rowCount: rows.count)
            created += rows.count
            return nested.isEmpty ? [] : (0 ..< Int64(rows.count)).map { first.rawValue + $0 }
        }
        let cells = UnsafeMutablePointer<ValueView>.allocate(capacity: rows.count * columns.count)
        defer { cells.deallocate() }
        for (position, (child, source)) in plain.enumerated() {
            try source.read(batch.children[child], rows, into: cells + position, stride: columns.count)
        }
        var keys = [Int64](repeating: -1, count: rows.count)
        let outcome = try keys.withUnsafeMutableBufferPointer { keys throws(DatabaseError) in
            try session.upsertBatch(
                table, columns: columns, rows: cells, rowCount: rows.count, policy: policy, keys: keys.baseAddress)
        }
        created += outcome.created
        updated += outcome.updated
        return keys
    }

    // MARK: What belongs to one object

    private func assign(
        _ table: TableKey, _ key: ObjectKey, _ property: Property, _ column: ColumnKey, _ input: ArrowInput,
        _ index: Int
    ) throws(DatabaseError) {
        let target = property.type == .link ? property.target.flatMap { schema[$0] } : nil
        let embedded = target?.isEmbedded == true ? target : nil
        switch property.collection {
        case .none:
            if let embedded {
                try assignEmbedded(table, key, property, column, embedded, input, index)
            } else {
                try setValue(table, key, property, column, input, index)
            }
        case .list, .set: try assignElements(table, key, property, column, embedded, input, index)
        case .map: try assignEntries(table, key, property, column, embedded, input, index)
        }
    }

    private func cells(_ property: Property) -> ArrowCells {
        ArrowCells(property: property, arena: arena, json: json, years: years)
    }

    private func value(_ property: Property, _ input: ArrowInput, _ index: Int) throws(DatabaseError) -> ValueView {
        var value = try cells(property).read(input, index)
        if property.type == .link, value.kind == .link {
            value.aux = property.target.flatMap { schema[$0]?.tableKey?.rawValue } ?? 0
        }
        return value
    }

    private func setValue(
        _ table: TableKey, _ key: ObjectKey, _ property: Property, _ column: ColumnKey, _ input: ArrowInput,
        _ index: Int
    ) throws(DatabaseError) {
        let value = try value(property, input, index)
        if policy == .modified {
            let old = try session.value(table, column, key)
            if old.kindNumber == value.kindNumber, ValueOrdering.compare(old, value) == 0 { return }
        }
        try session.set(table, column, key, to: value)
    }

    /// The values of a list: where they are, and what they are in.
    private func elements(
        _ property: Property, _ input: ArrowInput, _ index: Int
    ) throws(DatabaseError) -> (input: ArrowInput, range: Range<Int>) {
        switch input.field.type {
        case .list, .fixedList: return (input.children[0], try input.elements(index))
        default: throw wanted(property, input)
        }
    }

    private func wanted(_ property: Property, _ input: ArrowInput) -> DatabaseError {
        DatabaseError(
            .wrongType,
            "'\(property.name)' is a \(property.collection.name) of \(property.type.name) values, which a "
                + "column of type \(input.field.type.name) is not", propertyName: property.name)
    }

    private func assignElements(
        _ table: TableKey, _ key: ObjectKey, _ property: Property, _ column: ColumnKey, _ embedded: ObjectType?,
        _ input: ArrowInput, _ index: Int
    ) throws(DatabaseError) {
        let write = try session.requireWrite()
        var element = property
        element.collection = .none
        // Null is an empty list: there is nothing between the two here.
        let isNull = input.isNull(index)
        let (values, range) = isNull ? (input, 0 ..< 0) : try elements(property, input, index)
        if let embedded {
            if policy != .error { try write.listClear(table, column, key) }
            for (position, place) in range.enumerated() {
                guard !values.isNull(place) else {
                    throw DatabaseError(
                        .nullNotAllowed, "'\(property.name)' has an element that is null", propertyName: property.name)
                }
                let child = try write.embeddedInsert(table, column, key, at: position)
                try fill(embedded, child, values, place, isNew: true)
            }
            return
        }
        var views: [ValueView] = []
        views.reserveCapacity(range.count)
        for place in range { views.append(try value(element, values, place)) }
        if property.collection == .set {
            try write.setAssign(table, column, key, views)
        } else if policy == .error {
            if !views.isEmpty { try write.listInsert(table, column, key, at: 0, views) }
        } else if let object = try session.object(table, at: key) {
            try object.list(column).assign(views, policy: policy)
        }
    }

    private func assignEntries(
        _ table: TableKey, _ key: ObjectKey, _ property: Property, _ column: ColumnKey, _ embedded: ObjectType?,
        _ input: ArrowInput, _ index: Int
    ) throws(DatabaseError) {
        guard let map = try session.object(table, at: key)?.map(column) else { return }
        if input.isNull(index) { return policy == .error ? () : try map.clear() }
        var element = property
        element.collection = .none
        let pairs: ArrowInput
        let range: Range<Int>
        switch input.field.type {
        case .map, .list, .fixedList: (pairs, range) = (input.children[0], try input.elements(index))
        default: throw wanted(property, input)
        }
        // Libraries without maps have lists of pairs.
        guard pairs.field.type == .structure, pairs.children.count == 2 else { throw wanted(property, input) }
        let keyCells = cells(Property(name: property.name, type: .string))
        var entries: [(key: UnsafeRawBufferPointer, value: ValueView)] = []
        var seen: Set<NameKey> = []
        if embedded != nil, policy != .error { try map.clear() }
        for place in range {
            guard !pairs.isNull(place) else { throw wanted(property, input) }
            let place = pairs.fieldIndex(place)
            let mapKey = try keyCells.read(pairs.children[0], place)
            guard mapKey.kind == .string else {
                throw DatabaseError(
                    .nullNotAllowed, "'\(property.name)' has a key that is null", propertyName: property.name)
            }
            let name = String(decoding: mapKey.bytes, as: UTF8.self)
            guard seen.insert(NameKey(name)).inserted else {
                throw DatabaseError(
                    .invalidArgument, "'\(property.name)' has the key '\(name)' twice", propertyName: property.name)
            }
            if let embedded, !pairs.children[1].isNull(place) {
                let child = try session.requireWrite().embeddedMapPut(table, column, key, mapKey.bytes)
                try fill(embedded, child, pairs.children[1], place, isNew: true)
            } else {
                entries.append((mapKey.bytes, embedded == nil ? try value(element, pairs.children[1], place) : .null))
            }
        }
        if embedded == nil, policy != .error {
            try map.assign(entries, policy: policy)
        } else {
            try map.putMany(entries)
        }
    }

    // MARK: Embedded objects

    private func assignEmbedded(
        _ table: TableKey, _ key: ObjectKey, _ property: Property, _ column: ColumnKey, _ embedded: ObjectType,
        _ input: ArrowInput, _ index: Int
    ) throws(DatabaseError) {
        guard !input.isNull(index) else {
            if policy != .error { try session.set(table, column, key, to: .null) }
            return
        }
        let known = policy == .modified ? try session.value(table, column, key) : .null
        let stays = known.kind == .link
        let child = stays ? known.linkValue.key : try session.requireWrite().embeddedPut(table, column, key)
        try fill(embedded, child, input, index, isNew: !stays)
    }

    /// What an embedded object has to have is among the fields.
    private func requireAll(_ type: ObjectType, _ input: ArrowInput) throws(DatabaseError) {
        guard let rules = session.writeRules?.declared, rules.hasRules(type.name) else { return }
        for property in type.properties where rules.rule(type.name, property.name)?.isRequired == true {
            guard !input.field.children.contains(where: { $0.name.hasSameBytes(as: property.name) }) else { continue }
            throw DatabaseError(
                .nullNotAllowed, "\(type.name).\(property.name) needs a value: it has no default",
                className: type.name, propertyName: property.name)
        }
    }

    /// Assigns the fields of a struct.
    private func fill(
        _ type: ObjectType, _ key: ObjectKey, _ input: ArrowInput, _ index: Int, isNew: Bool
    ) throws(DatabaseError) {
        guard input.field.type == .structure, input.dictionary == nil, let table = type.tableKey else {
            throw DatabaseError(
                .wrongType, "objects of \(type.name) are structs in Arrow, not \(input.field.type.name)",
                className: type.name)
        }
        if isNew {
            try requireAll(type, input)
            try session.fill(type) { column in
                let name = type.property(column)?.name ?? ""
                return input.field.children.contains { $0.name.hasSameBytes(as: name) } ? [] : [key.rawValue]
            }
        }
        let place = input.fieldIndex(index)
        for child in input.children {
            guard let property = type.properties.first(where: { $0.name.hasSameBytes(as: child.field.name) }),
                let column = property.columnKey
            else {
                throw DatabaseError(
                    .unknownProperty, "\(type.name) has no property '\(child.field.name)'", className: type.name,
                    propertyName: child.field.name)
            }
            do throws(DatabaseError) { try assign(table, key, property, column, child, place) } catch {
                throw Self.named(ExchangeError.withoutRow(error), type)
            }
        }
    }
}
