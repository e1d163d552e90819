/// Many new objects of one class: rows of values, or one typed array per property. All or nothing.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

final class InsertBox: RealmMemberBox {
    let table: TableKey
    let columns: [ColumnKey]
    /// By position: the class that links without one go to, 0 for what is no link.
    let targets: [UInt32]
    let types: [PropertyType]
    let policy: UpdatePolicy

    init(
        _ table: TableKey, _ columns: [ColumnKey], _ properties: [Property], _ policy: UpdatePolicy, _ schema: Schema,
        _ core: RealmCore
    ) {
        self.policy = policy
        self.table = table
        self.columns = columns
        types = properties.map(\.type)
        targets = properties.map { property in
            property.type == .link ? property.target.flatMap { schema[$0]?.tableKey?.rawValue } ?? 0 : 0
        }
        super.init(kind: .insert, core)
    }

    private init(sharing other: InsertBox) {
        table = other.table
        columns = other.columns
        targets = other.targets
        types = other.types
        policy = other.policy
        super.init(kind: .insert, other.core)
    }

    override func clone() throws(DatabaseError) -> Box { InsertBox(sharing: self) }
}

extension Handles {
    static func insert(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<InsertBox> {
        let pinned = try any(handle, .insert, as: InsertBox.self)
        try pinned.box.session.check()
        return pinned
    }
}

@_cdecl("motte_insert_new") @implementation
public func motte_insert_new(
    _ realm: OpaquePointer?, _ cls: motte_class, _ props: UnsafePointer<motte_prop>?, _ prop_count: Int,
    _ flags: UInt32, _ out_insert: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_insert)
        let realm = try Handles.realm(realm)
        let policy = try UpdatePolicy(createFlags: flags)
        let schema = try realm.box.session.schema
        let type = try schema.type(cls)
        let columns = try columns(props, prop_count, of: TableKey(cls), schema)
        if let primaryKey = type.primaryKey, let column = primaryKey.columnKey, !columns.contains(column),
            policy != .error || !realm.box.session.hasStart(primaryKey, of: type)
        {
            throw DatabaseError(
                .noPrimaryKey, "new objects of \(type.name) need their primary key", className: type.name)
        }
        guard Set(columns).count == columns.count else {
            throw DatabaseError(.invalidArgument, "a property is named twice", className: type.name)
        }
        if policy != .error, type.primaryKey == nil {
            throw DatabaseError(
                .noPrimaryKey, "objects of \(type.name) have no primary key to be found by", className: type.name)
        }
        let properties = columns.compactMap { type.property($0) }
        try Handles.make(InsertBox(TableKey(cls), columns, properties, policy, schema, realm.box.core), out)
        return .ok
    }
}

/// Inserts checked rows and writes their keys.
private func append(
    _ box: InsertBox, _ rows: UnsafePointer<ValueView>?, _ rowCount: Int, _ outKeys: UnsafeMutablePointer<motte_key>?
) throws(DatabaseError) -> Outcome {
    try box.session.upsertBatch(
        box.table, columns: box.columns, rows: rows, rowCount: rowCount, policy: box.policy, keys: outKeys)
    return .ok
}

private func cellCount(_ rowCount: Int, _ box: InsertBox) throws(DatabaseError) -> Int {
    let (cells, overflow) = rowCount.multipliedReportingOverflow(by: box.columns.count)
    // There are no addresses for more.
    guard rowCount >= 0, !overflow, max(cells, rowCount) <= 1 << 47 / MemoryLayout<ValueView>.stride else {
        throw DatabaseError(.invalidArgument, "a row count is larger than memory")
    }
    return cells
}

private func zero(_ outKeys: UnsafeMutablePointer<motte_key>?, _ rowCount: Int) {
    guard let outKeys, rowCount > 0 else { return }
    outKeys.update(repeating: 0, count: rowCount)
}

// MARK: Rows

@_cdecl("motte_insert_rows") @implementation
public func motte_insert_rows(
    _ insert: OpaquePointer?, _ values: UnsafePointer<motte_value>?, _ row_count: Int,
    _ out_keys: UnsafeMutablePointer<motte_key>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let insert = try Handles.insert(insert)
        _ = try insert.box.session.requireWrite()
        let cells = try cellCount(row_count, insert.box)
        let source = try input(values, cells)
        try checkCount(row_count, of: UnsafePointer(out_keys), "a row count")
        zero(out_keys, row_count)
        guard try needsCopy(source, insert.box) else {
            // The two are the same 24 bytes.
            let rows = UnsafeRawPointer(source.baseAddress)?.assumingMemoryBound(to: ValueView.self)
            return try append(insert.box, rows, row_count, out_keys)
        }
        var copy: [ValueView] = []
        copy.reserveCapacity(cells)
        for (index, value) in source.enumerated() {
            var view = ValueView(value)
            if view.kind == .link { view.high = 0 }
            let target = insert.box.targets[index % insert.box.columns.count]
            if view.kind == .link, view.aux == 0 { view.aux = target }
            copy.append(view)
        }
        return try copy.withUnsafeBufferPointer { buffer throws(DatabaseError) in
            try append(insert.box, buffer.baseAddress, row_count, out_keys)
        }
    }
}

/// Checks every value; true if some link lacks its class or names its database. Texts are checked for UTF-8 by the
/// store.
private func needsCopy(
    _ values: UnsafeBufferPointer<motte_value>, _ box: InsertBox
) throws(DatabaseError) -> Bool {
    var needsCopy = false
    for index in 0 ..< values.count {
        let view = ValueView(values[index])
        if view.kind == .link, view.aux == 0 || view.high != 0 { needsCopy = true }
        if !view.isWellFormed {
            _ = try atRow(index / max(box.columns.count, 1)) { () throws(DatabaseError) in
                try ValueView.checked(values[index], in: box.session)
            }
        }
    }
    return needsCopy
}

// MARK: Columns

@_cdecl("motte_insert_columns") @implementation
public func motte_insert_columns(
    _ insert: OpaquePointer?, _ columns: UnsafePointer<motte_column>?, _ row_count: Int,
    _ out_keys: UnsafeMutablePointer<motte_key>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let insert = try Handles.insert(insert)
        _ = try insert.box.session.requireWrite()
        let cells = try cellCount(row_count, insert.box)
        try checkCount(row_count, of: UnsafePointer(out_keys), "a row count")
        zero(out_keys, row_count)
        let source = try input(columns, insert.box.columns.count)
        if insert.box.policy == .error { return try append(insert.box, source, row_count, out_keys) }
        let rows = UnsafeMutablePointer<ValueView>.allocate(capacity: max(cells, 1))
        defer { rows.deallocate() }
        for (position, column) in source.enumerated() {
            try ColumnReader(column, target: insert.box.targets[position], rowCount: row_count, insert.box.session)
                .read(into: rows + position, stride: insert.box.columns.count)
        }
        return try append(insert.box, UnsafePointer(rows), row_count, out_keys)
    }
}

/// New objects from columns that stay as they lie in memory, where a store takes them so; the others become cells.
private func append(
    _ box: InsertBox, _ columns: UnsafeBufferPointer<motte_column>, _ rowCount: Int,
    _ outKeys: UnsafeMutablePointer<motte_key>?
) throws(DatabaseError) -> Outcome {
    var sources: [BatchColumn] = []
    var made: [UnsafeMutablePointer<ValueView>] = []
    defer { for cells in made { cells.deallocate() } }
    for (position, column) in columns.enumerated() {
        let reader = try ColumnReader(column, target: box.targets[position], rowCount: rowCount, box.session)
        if let array = try reader.array(for: box.types[position]) {
            sources.append(array)
            continue
        }
        let cells = UnsafeMutablePointer<ValueView>.allocate(capacity: max(rowCount, 1))
        made.append(cells)
        try reader.read(into: cells, stride: 1)
        sources.append(.cells(UnsafePointer(cells), stride: 1))
    }
    let first = try box.session.insertColumns(box.table, columns: box.columns, sources: sources, rowCount: rowCount)
    if let outKeys { for row in 0 ..< rowCount { outKeys[row] = first.rawValue + Int64(row) } }
    return .ok
}

/// One typed array of a caller as values.
private struct ColumnReader {
    let column: motte_column
    let kind: ValueKind
    let target: UInt32
    let rowCount: Int
    let values: UnsafeRawPointer
    let session: Session

    init(
        _ column: motte_column, target: UInt32, rowCount: Int, _ session: Session
    ) throws(DatabaseError) {
        // Values of a mixed column say their own kind.
        let isMixed = column.type == PropertyType.mixed.rawValue
        guard let kind = isMixed ? ValueKind.null : ValueKind(rawValue: column.type), isMixed || kind != .null,
            kind != .list, kind != .map
        else { throw DatabaseError(.invalidArgument, "\(column.type) is no type of a column") }
        guard let values = column.values ?? (rowCount == 0 ? UnsafeRawPointer(emptyText.data) : nil) else {
            throw DatabaseError(.nullArgument, "the values of a column are NULL")
        }
        self.column = column
        self.kind = kind
        self.target = target
        // Nothing but an array of bools has smaller elements than these.
        guard isAddressable(values, rowCount, stride: kind == .bool ? 1 : 4),
            column.offsets == nil || isAddressable(column.offsets, rowCount + 1, stride: 8)
        else { throw DatabaseError(.invalidArgument, "a row count is larger than memory") }
        self.rowCount = rowCount
        self.values = values
        self.session = session
    }

    /// The array as the store takes it as it is: of the property's own type, without nulls.
    func array(for type: PropertyType) throws(DatabaseError) -> BatchColumn? {
        guard rowCount > 0, UInt(bitPattern: values) & 7 == 0 || kind == .string, isComplete else { return nil }
        switch (kind, type) {
        case (.int, .int): return .ints(values.assumingMemoryBound(to: Int64.self))
        case (.double, .double): return .doubles(values.assumingMemoryBound(to: Double.self))
        case (.string, .string):
            guard let offsets = column.offsets else { return nil }
            try checkAscending(offsets)
            return .texts(values, offsets: offsets)
        default: return nil
        }
    }

    private var isComplete: Bool {
        guard let validity = column.validity else { return true }
        for byte in 0 ..< rowCount >> 3 where validity[byte] != 0xFF { return false }
        let rest = UInt8(truncatingIfNeeded: 1 << (rowCount & 7) - 1)
        return rest == 0 || validity[rowCount >> 3] & rest == rest
    }

    private func checkAscending(_ offsets: UnsafePointer<Int64>) throws(DatabaseError) {
        for row in 0 ..< rowCount where offsets[row] < 0 || offsets[row + 1] < offsets[row] {
            throw DatabaseError(.invalidArgument, "the offsets of a column descend").at(rowIndex: row)
        }
    }

    func read(into rows: UnsafeMutablePointer<ValueView>, stride: Int) throws(DatabaseError) {
        let unit = kind == .timestamp ? try TimeUnit(column.unit) : nil
        for row in 0 ..< rowCount {
            guard isPresent(row) else {
                rows[row &* stride] = .null
                continue
            }
            rows[row &* stride] = try atRow(row) { () throws(DatabaseError) in try value(row, unit) }
        }
    }

    private func isPresent(_ row: Int) -> Bool {
        guard let validity = column.validity else { return true }
        return validity[row >> 3] & (1 << UInt8(row & 7)) != 0
    }

    private func value(_ row: Int, _ unit: TimeUnit?) throws(DatabaseError) -> ValueView {
        switch kind.form {
        case .null:
            let start = row * MemoryLayout<motte_value>.stride
            return try ValueView.checked(
                values.loadUnaligned(fromByteOffset: start, as: motte_value.self), in: session)
        case .bool:
            let byte = values.load(fromByteOffset: row, as: UInt8.self)
            guard byte <= 1 else { throw DatabaseError(.invalidArgument, "\(byte) is no bool; use 0 or 1") }
            return .bool(byte == 1)
        case .int: return .int(number(row))
        case .float:
            let bits = values.loadUnaligned(fromByteOffset: row * 4, as: UInt32.self)
            return ValueView(kindNumber: kind.rawValue, low: UInt64(bits))
        case .double: return ValueView(kindNumber: kind.rawValue, low: UInt64(bitPattern: number(row)))
        case .timestamp: return unit?.timestamp(number(row)) ?? .null
        case .link:
            let key = number(row)
            if key == -1 { return .null }
            guard key >= 0 else { throw DatabaseError(.invalidArgument, "\(key) is no object key") }
            return ValueView(kindNumber: kind.rawValue, aux: target, low: UInt64(bitPattern: key))
        case .string, .data: return try bytes(row)
        case .decimal, .identifier: return ValueView(kind, bytes: values + row * (kind.byteCount ?? 0))
        // Not types of a column.
        case .list, .map: return .null
        }
    }

    private func number(_ row: Int) -> Int64 { values.loadUnaligned(fromByteOffset: row * 8, as: Int64.self) }

    private func bytes(_ row: Int) throws(DatabaseError) -> ValueView {
        guard let offsets = column.offsets else {
            let text = values.loadUnaligned(fromByteOffset: row * MemoryLayout<motte_str>.stride, as: motte_str.self)
            guard let start = text.data else { return .null }
            guard isAddressable(start, Int(text.size), stride: 1) else {
                throw DatabaseError(.invalidArgument, "a size is larger than memory")
            }
            return ValueView(kindNumber: kind.rawValue, low: UInt64(UInt(bitPattern: start)), high: UInt64(text.size))
        }
        let start = offsets[row]
        let end = offsets[row + 1]
        guard start >= 0, end >= start else { throw DatabaseError(.invalidArgument, "the offsets of a column descend") }
        return ValueView(
            kindNumber: kind.rawValue, low: UInt64(UInt(bitPattern: values + Int(start))), high: UInt64(end - start))
    }
}
