/// Changes of one set, and how it stands to other collections.
import CMotte
import MotteLiveObjects
import MotteValues

/// The set behind a handle; other collections are refused.
private func set(_ handle: borrowing Pinned<CollectionBox>) throws(DatabaseError) -> LiveSet {
    guard let set = handle.box.collection as? LiveSet else {
        throw DatabaseError(.wrongKind, "this collection is no set")
    }
    return set
}

@_cdecl("motte_set_insert") @implementation
public func motte_set_insert(_ set: OpaquePointer?, _ value: UnsafePointer<motte_value>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let set = try MotteCExports.set(try Handles.collection(set))
        return try set.insert(try element(value, for: set)).inserted ? .ok : .unchanged
    }
}

@_cdecl("motte_set_insert_many") @implementation
public func motte_set_insert_many(
    _ set: OpaquePointer?, _ values: UnsafePointer<motte_value>?, _ count: Int,
    _ out_added: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_added?.pointee = 0
        let set = try MotteCExports.set(try Handles.collection(set))
        let added = try set.insert(try elements(values, count, for: set))
        out_added?.pointee = UInt64(added)
        return .ok
    }
}

@_cdecl("motte_set_remove") @implementation
public func motte_set_remove(_ set: OpaquePointer?, _ value: UnsafePointer<motte_value>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let set = try MotteCExports.set(try Handles.collection(set))
        return try set.remove(try element(value, for: set)) ? .ok : .notFound
    }
}

@_cdecl("motte_set_combine") @implementation
public func motte_set_combine(
    _ set: OpaquePointer?, _ other: OpaquePointer?, _ operation: motte_set_operation
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let set = try MotteCExports.set(try Handles.collection(set))
        let other = try Handles.collection(other)
        switch Int(operation) {
        case Int(MOTTE_SET_UNION): try set.formUnion(other.box.collection)
        case Int(MOTTE_SET_INTERSECT): try set.formIntersection(other.box.collection)
        case Int(MOTTE_SET_SUBTRACT): try set.subtract(other.box.collection)
        case Int(MOTTE_SET_SYMMETRIC_DIFFERENCE): try set.formSymmetricDifference(other.box.collection)
        default: throw DatabaseError(.invalidArgument, "\(operation) is no MOTTE_SET_ operation")
        }
        return .ok
    }
}

@_cdecl("motte_set_relate") @implementation
public func motte_set_relate(
    _ set: OpaquePointer?, _ other: OpaquePointer?, _ out_relation: UnsafeMutablePointer<UInt32>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_relation, zero: 0)
        let set = try MotteCExports.set(try Handles.collection(set))
        let relation = try set.relation(to: try Handles.collection(other).box.collection)
        out.pointee =
            (relation.contains(.isSubset) ? UInt32(MOTTE_SET_SUBSET) : 0)
            | (relation.contains(.isSuperset) ? UInt32(MOTTE_SET_SUPERSET) : 0)
            | (relation.contains(.intersects) ? UInt32(MOTTE_SET_INTERSECTS) : 0)
        return .ok
    }
}
