/// Lists, sets, maps, results and backlinks: what all collections can do.
import CMotte
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

@_cdecl("motte_coll_count") @implementation
public func motte_coll_count(_ coll: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        out.pointee = try Handles.collection(coll).box.collection.count()
        return .ok
    }
}

@_cdecl("motte_coll_info") @implementation
public func motte_coll_info(
    _ coll: OpaquePointer?, _ out_details: UnsafeMutablePointer<motte_coll_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let coll = try Handles.collection(coll)
        try fillStruct(out_details) { () throws(DatabaseError) in
            let collection = coll.box.collection
            return motte_coll_details(
                struct_size: 0, kind: kind(of: collection), type: collection.elementType.rawValue,
                flags: flags(of: collection), target: collection.target?.rawValue ?? 0, reserved: 0,
                prop: storage(of: collection))
        }
        return .ok
    }
}

/// A MOTTE_COLLECTION_*; whether it is nested is a flag.
private func kind(of collection: LiveCollection) -> UInt32 {
    switch collection.kind {
    case .nestedList: UInt32(MOTTE_COLLECTION_LIST)
    case .nestedMap: UInt32(MOTTE_COLLECTION_MAP)
    case let kind: kind.rawValue
    }
}

private func flags(of collection: LiveCollection) -> UInt32 {
    (collection.isElementNullable ? UInt32(MOTTE_COLL_NULLABLE) : 0)
        | (collection.isFrozen ? UInt32(MOTTE_COLL_FROZEN) : 0)
        | (collection.isSnapshot ? UInt32(MOTTE_COLL_SNAPSHOT) : 0)
        | (collection is LiveNested ? UInt32(MOTTE_COLL_NESTED) : 0)
}

private func storage(of collection: LiveCollection) -> motte_prop {
    if let elements = collection as? LiveElements {
        return UInt64(elements.owner.table.rawValue) << 32 | UInt64(elements.column.rawValue)
    }
    if let nested = collection as? LiveNested {
        return UInt64(nested.owner.table.rawValue) << 32 | UInt64(nested.column.rawValue)
    }
    if let backlinks = collection as? LiveBacklinks {
        return UInt64(backlinks.origin.rawValue) << 32 | UInt64(backlinks.column.rawValue)
    }
    return 0
}

@_cdecl("motte_coll_get") @implementation
public func motte_coll_get(
    _ coll: OpaquePointer?, _ index: Int, _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_value())
        let coll = try Handles.collection(coll)
        try checkNotHuge(index)
        let view = try coll.box.collection.value(at: index)
        out.pointee = view.cValue
        return view.isNull ? .null : .ok
    }
}

/// Indexes above Int.max arrive negative.
func checkNotHuge(_ index: Int) throws(DatabaseError) {
    guard index >= 0 else {
        throw DatabaseError(.outOfBounds, "index \(UInt(bitPattern: index)) is beyond any collection")
    }
}

@_cdecl("motte_coll_get_object") @implementation
public func motte_coll_get_object(
    _ coll: OpaquePointer?, _ index: Int, _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_object)
        let coll = try Handles.collection(coll)
        try checkNotHuge(index)
        guard let object = try coll.box.collection.object(at: index) else { return .null }
        try Handles.make(object, coll.box.core, out)
        return .ok
    }
}

@_cdecl("motte_coll_find") @implementation
public func motte_coll_find(
    _ coll: OpaquePointer?, _ value: UnsafePointer<motte_value>?, _ out_index: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_index, zero: 0)
        let coll = try Handles.collection(coll)
        var wanted = try checkedValue(value, in: coll.box.session)
        if wanted.kind == .link, wanted.aux == 0, let target = coll.box.collection.target {
            wanted.aux = target.rawValue
        }
        guard let index = try coll.box.collection.find(wanted) else { return .notFound }
        out.pointee = index
        return .ok
    }
}

@_cdecl("motte_coll_clear") @implementation
public func motte_coll_clear(_ coll: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let handle = try Handles.collection(coll)
        switch handle.box.collection {
        case let list as LiveList: try list.clear()
        case let set as LiveSet: try set.clear()
        case let map as LiveMap: try map.clear()
        case let nested as LiveNested: try nested.clear()
        default: throw computed()
        }
        return .ok
    }
}

private func computed() -> DatabaseError {
    DatabaseError(.wrongKind, "only lists, sets and maps can be changed; this collection is computed")
}

@_cdecl("motte_coll_assign") @implementation
public func motte_coll_assign(
    _ coll: OpaquePointer?, _ values: UnsafePointer<motte_value>?, _ count: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let handle = try Handles.collection(coll)
        switch handle.box.collection {
        case let list as LiveList: try list.assign(try elements(values, count, for: list))
        case let set as LiveSet: try set.assign(try elements(values, count, for: set))
        default: throw DatabaseError(.wrongKind, "only lists and sets of a property are assigned from values")
        }
        return .ok
    }
}

@_cdecl("motte_coll_get_coll") @implementation
public func motte_coll_get_coll(
    _ coll: OpaquePointer?, _ index: Int, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let coll = try Handles.collection(coll)
        try checkNotHuge(index)
        try Handles.make(try nested(in: coll.box.collection, at: index), coll.box.core, out)
        return .ok
    }
}

/// The list or map that an element is.
func nested(in collection: LiveCollection, at index: Int) throws(DatabaseError) -> LiveNested {
    let found: LiveNested?
    switch collection {
    case let elements as LiveElements: found = try elements.nested(at: index)
    case let nested as LiveNested: found = try nested.nested(at: index)
    case let results as LiveResults where results.target == nil: found = try results.nested(at: index)
    default:
        _ = try collection.value(at: index)
        found = nil
    }
    guard let found else {
        throw DatabaseError(.wrongType, "there is no list or map at \(index) that could be opened in place")
    }
    return found
}

@_cdecl("motte_coll_delete_objects") @implementation
public func motte_coll_delete_objects(
    _ coll: OpaquePointer?, _ out_deleted: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_deleted?.pointee = 0
        let deleted = try Handles.collection(coll).box.collection.deleteObjects()
        out_deleted?.pointee = UInt64(deleted)
        return .ok
    }
}

/// A new collection made of another.
private func derive(
    _ coll: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ make: (LiveCollection) throws(DatabaseError) -> LiveCollection
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out)
        let coll = try Handles.collection(coll)
        try Handles.make(try make(coll.box.collection), coll.box.core, out)
        return .ok
    }
}

/// The same of what may name properties by their public names.
private func derive(
    naming coll: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ make: (CollectionBox) throws(DatabaseError) -> LiveCollection
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out)
        let coll = try Handles.collection(coll)
        try Handles.make(try make(coll.box), coll.box.core, out)
        return .ok
    }
}

extension CollectionBox {
    /// A path with the names that are stored.
    func stored(_ path: String) throws(DatabaseError) -> String {
        if core.publicNames.isEmpty { return path }
        return core.publicNames.path(path, of: collection.target, in: try session.schema)
    }
}

@_cdecl("motte_coll_snapshot") @implementation
public func motte_coll_snapshot(
    _ coll: OpaquePointer?, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    derive(coll, out_coll) { (collection) throws(DatabaseError) in try collection.snapshot() }
}

@_cdecl("motte_coll_to_results") @implementation
public func motte_coll_to_results(
    _ coll: OpaquePointer?, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    derive(coll, out_coll) { (collection) throws(DatabaseError) in try collection.results() }
}

@_cdecl("motte_coll_filter") @implementation
public func motte_coll_filter(
    _ coll: OpaquePointer?, _ text: UnsafePointer<CChar>?, _ text_size: Int, _ args: UnsafePointer<motte_value>?,
    _ arg_count: Int, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    derive(naming: coll, out_coll) { (box) throws(DatabaseError) in
        let text = try requiredText(text, text_size, "the query text")
        let arguments = try queryArguments(args, arg_count, in: box.session)
        if box.core.publicNames.isEmpty { return try box.collection.filter(text, arguments) }
        let query = try ParsedQuery.parse(text)
        let fitted = try arguments.fitted(to: query)
        let stored = box.core.publicNames.query(query, of: box.collection.target, in: try box.session.schema)
        return try box.collection.narrowed(by: stored, fitted)
    }
}

@_cdecl("motte_coll_query") @implementation
public func motte_coll_query(
    _ coll: OpaquePointer?, _ query: OpaquePointer?, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    derive(coll, out_coll) { (collection) throws(DatabaseError) in
        try Handles.query(query).box.query.results(over: collection)
    }
}

@_cdecl("motte_coll_sort") @implementation
public func motte_coll_sort(
    _ coll: OpaquePointer?, _ keys: UnsafePointer<motte_sort_key>?, _ key_count: Int,
    _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    derive(naming: coll, out_coll) { (box) throws(DatabaseError) in
        var sort: [(path: String, isAscending: Bool)] = []
        for (index, key) in try input(keys, key_count).enumerated() {
            try atRow(index) { () throws(DatabaseError) in
                try checkFlags(key.flags, allowed: UInt32(MOTTE_SORT_DESCENDING))
                let path = try box.stored(try requiredName(key.path, key.path_size, "a sort path"))
                sort.append((path, key.flags & UInt32(MOTTE_SORT_DESCENDING) == 0))
            }
        }
        guard !sort.isEmpty else { throw DatabaseError(.invalidArgument, "there is nothing to sort by") }
        return try box.collection.sorted(by: sort)
    }
}

@_cdecl("motte_coll_distinct") @implementation
public func motte_coll_distinct(
    _ coll: OpaquePointer?, _ keys: UnsafePointer<motte_sort_key>?, _ key_count: Int,
    _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    derive(naming: coll, out_coll) { (box) throws(DatabaseError) in
        var paths: [String] = []
        for (index, key) in try input(keys, key_count).enumerated() {
            try atRow(index) { () throws(DatabaseError) in
                try checkFlags(key.flags, allowed: 0)
                paths.append(try box.stored(try requiredName(key.path, key.path_size, "a path")))
            }
        }
        return try box.collection.distinct(by: paths)
    }
}

@_cdecl("motte_coll_limit") @implementation
public func motte_coll_limit(
    _ coll: OpaquePointer?, _ limit: Int, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    derive(coll, out_coll) { (collection) throws(DatabaseError) in
        // More than memory holds is as good as no limit.
        try collection.limited(to: limit < 0 ? Int.max : limit)
    }
}

@_cdecl("motte_coll_aggregate") @implementation
public func motte_coll_aggregate(
    _ coll: OpaquePointer?, _ op: motte_aggregate, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_value())
        let coll = try Handles.collection(coll)
        guard let operation = AggregateOperation(rawValue: op) else {
            throw DatabaseError(.invalidArgument, "\(op) is no MOTTE_AGGREGATE_ operation")
        }
        let result = try coll.box.collection.aggregate(operation, try column(of: coll.box.collection, prop))
        // Totals are numbers or instants, which need no bytes behind them.
        out.pointee = result.withView { $0.cValue }
        return result.isNull ? .null : .ok
    }
}

/// The column that `prop` names in the elements; nil for the elements themselves.
func column(of collection: LiveCollection, _ prop: motte_prop) throws(DatabaseError) -> ColumnKey? {
    if prop == UInt64(MOTTE_PROP_SELF) { return nil }
    guard let target = collection.target else {
        throw DatabaseError(.wrongType, "the elements are values without properties; use MOTTE_PROP_SELF")
    }
    let id = PropertyID(prop)
    _ = try id.single(of: target, in: try collection.session.schema)
    return try id.column(in: target)
}

func queryArguments(
    _ args: UnsafePointer<motte_value>?, _ count: Int, in session: Session
) throws(DatabaseError) -> Arguments {
    Arguments(try checkedValues(args, count, in: session).map(\.owned))
}
