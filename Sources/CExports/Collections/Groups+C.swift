/// Groups of a collection's objects.
import CMotte
import Glibc
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

final class GroupsBox: RealmMemberBox {
    let groups: LiveGroups
    /// Names that are lent for as long as the handle.
    let names: [KeptValue]

    init(_ groups: LiveGroups, _ core: RealmCore) {
        self.groups = groups
        names = groups.grouping.shownColumns.map { KeptValue(.string($0.name)) }
        super.init(kind: .groups, core)
    }

    override func clone() throws(DatabaseError) -> Box { GroupsBox(groups, core) }

    override func freeze() throws(DatabaseError) -> Box {
        let frozen = try groups.freeze()
        return GroupsBox(frozen, core.core(of: frozen.session))
    }

    func column(_ index: Int) throws(DatabaseError) -> BoundGrouping.Column {
        let columns = groups.grouping.shownColumns
        guard columns.indices.contains(index) else {
            throw DatabaseError(.outOfBounds, "groups have no column \(index); they have \(columns.count)")
        }
        return columns[index]
    }
}

extension Handles {
    static func groups(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<GroupsBox> {
        let pinned = try any(handle, .groups, as: GroupsBox.self)
        try pinned.box.session.check()
        return pinned
    }
}

@_cdecl("motte_coll_group") @implementation
public func motte_coll_group(
    _ coll: OpaquePointer?, _ text: UnsafePointer<CChar>?, _ text_size: Int, _ args: UnsafePointer<motte_value>?,
    _ arg_count: Int, _ out_groups: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_groups)
        let coll = try Handles.collection(coll)
        let query = try ParsedQuery.parse(try requiredText(text, text_size, "the query text"))
        let arguments = try queryArguments(args, arg_count, in: coll.box.session).fitted(to: query)
        let core = coll.box.core
        let stored = core.publicNames.query(query, of: coll.box.collection.target, in: try coll.box.session.schema)
        try Handles.make(GroupsBox(try coll.box.collection.grouped(by: stored, arguments), core), out)
        return .ok
    }
}

@_cdecl("motte_groups_count") @implementation
public func motte_groups_count(_ groups: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        out.pointee = try Handles.groups(groups).box.groups.count()
        return .ok
    }
}

@_cdecl("motte_groups_column_count") @implementation
public func motte_groups_column_count(
    _ groups: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        out.pointee = try Handles.groups(groups).box.groups.grouping.shownCount
        return .ok
    }
}

@_cdecl("motte_groups_column") @implementation
public func motte_groups_column(
    _ groups: OpaquePointer?, _ column: Int, _ out_name: UnsafeMutablePointer<motte_str>?,
    _ out_type: UnsafeMutablePointer<motte_type>?, _ out_flags: UnsafeMutablePointer<UInt32>?,
    _ out_target: UnsafeMutablePointer<motte_class>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_name?.pointee = motte_str()
        out_type?.pointee = 0
        out_flags?.pointee = 0
        out_target?.pointee = 0
        let groups = try Handles.groups(groups)
        let details = try groups.box.column(column)
        out_name?.pointee = groups.box.names[column].value.`as`.string
        out_type?.pointee = motte_type(details.type.rawValue)
        var flags: UInt32 = 0
        if details.isKey { flags |= UInt32(MOTTE_GROUP_KEY) }
        if details.isNullable { flags |= UInt32(MOTTE_GROUP_NULLABLE) }
        out_flags?.pointee = flags
        out_target?.pointee = details.target?.rawValue ?? 0
        return .ok
    }
}

@_cdecl("motte_groups_find_column") @implementation
public func motte_groups_find_column(
    _ groups: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int,
    _ out_column: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_column, zero: 0)
        let groups = try Handles.groups(groups)
        let name = try requiredText(name, name_size, "the name of a column")
        let columns = groups.box.groups.grouping.shownColumns
        guard let found = columns.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
            return .notFound
        }
        out.pointee = found
        return .ok
    }
}

@_cdecl("motte_groups_get") @implementation
public func motte_groups_get(
    _ groups: OpaquePointer?, _ row: Int, _ column: Int, _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_value())
        let groups = try Handles.groups(groups)
        try checkNotHuge(row)
        let view = try groups.box.groups.view(row, column)
        out.pointee = view.cValue
        return view.isNull ? .null : .ok
    }
}

@_cdecl("motte_groups_find") @implementation
public func motte_groups_find(
    _ groups: OpaquePointer?, _ keys: UnsafePointer<motte_value>?, _ key_count: Int,
    _ out_row: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_row, zero: 0)
        let groups = try Handles.groups(groups)
        var wanted = try checkedValues(keys, key_count, in: groups.box.session)
        for index in wanted.indices where wanted[index].kind == .link && wanted[index].aux == 0 {
            // As everywhere, a key of an object alone is of the class that can be there.
            wanted[index].aux = try groups.box.column(index).target?.rawValue ?? 0
        }
        guard let found = try groups.box.groups.find(wanted) else { return .notFound }
        out.pointee = found
        return .ok
    }
}

// MARK: Columns

/// What of a column is asked for.
private struct Cells {
    let column: Int
    let first: Int
    let count: Int
}

/// Common to all: checks the arguments, zeroes the outputs, and tells how many groups were read.
private func read<T>(
    _ groups: OpaquePointer?, _ cells: Cells, _ outValues: UnsafeMutablePointer<T>?,
    _ validity: UnsafeMutablePointer<UInt8>?, _ outCount: UnsafeMutablePointer<Int>?,
    of types: [PropertyType]?, _ convert: (ValueView, PropertyType) -> T
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let column = cells.column, first = cells.first, count = cells.count
        let outCount = try required(outCount, zero: 0)
        try checkCount(count, of: UnsafePointer(outValues), "a count")
        guard let outValues else { throw DatabaseError(.nullArgument, "the output array is NULL") }
        let groups = try Handles.groups(groups)
        let details = try groups.box.column(column)
        guard types?.contains(details.type) ?? true else {
            throw DatabaseError(
                .wrongType, "the column '\(details.name)' is \(details.type.name) and is read as values")
        }
        let table = try groups.box.groups.table()
        // A position above Int.max arrives negative; nothing is left there.
        guard first >= 0, first < table.count else { return .end }
        let number = min(count, table.count - first)
        if let validity { memset(validity, 0, (number + 7) / 8) }
        for index in 0 ..< number {
            let view = table.view(column, first + index)
            outValues[index] = convert(view, details.type)
            if !view.isNull { validity?[index >> 3] |= 1 << UInt8(index & 7) }
        }
        outCount.pointee = number
        return .ok
    }
}

@_cdecl("motte_groups_read_ints") @implementation
public func motte_groups_read_ints(
    _ groups: OpaquePointer?, _ column: Int, _ first: Int, _ count: Int, _ out_values: UnsafeMutablePointer<Int64>?,
    _ out_validity: UnsafeMutablePointer<UInt8>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    let cells = Cells(column: column, first: first, count: count)
    return read(groups, cells, out_values, out_validity, out_count, of: [.int, .bool, .link]) { view, type in
        view.isNull ? (type == .link ? -1 : 0) : view.intValue
    }
}

@_cdecl("motte_groups_read_doubles") @implementation
public func motte_groups_read_doubles(
    _ groups: OpaquePointer?, _ column: Int, _ first: Int, _ count: Int, _ out_values: UnsafeMutablePointer<Double>?,
    _ out_validity: UnsafeMutablePointer<UInt8>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    let cells = Cells(column: column, first: first, count: count)
    return read(groups, cells, out_values, out_validity, out_count, of: [.int, .float, .double]) { view, _ in
        switch view.kind {
        case .int: Double(view.intValue)
        case .float: Double(view.floatValue)
        case .double: view.doubleValue
        default: 0
        }
    }
}

@_cdecl("motte_groups_read_values") @implementation
public func motte_groups_read_values(
    _ groups: OpaquePointer?, _ column: Int, _ first: Int, _ count: Int,
    _ out_values: UnsafeMutablePointer<motte_value>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    let cells = Cells(column: column, first: first, count: count)
    return read(groups, cells, out_values, nil, out_count, of: nil) { view, _ in view.cValue }
}
