/// Embedded objects: made in the place of their parent where they stay.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

@_cdecl("motte_embedded_create") @implementation
public func motte_embedded_create(
    _ parent: OpaquePointer?, _ prop: motte_prop, _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_object)
        let parent = try Handles.object(parent)
        _ = try parent.box.session.requireWrite()
        let property = try PropertyID(prop).single(of: parent.box.object.table, in: try parent.box.session.schema)
        try requireEmbedded(property, try parent.box.session.schema)
        let column = try PropertyID(prop).column(in: parent.box.object.table)
        try Handles.make(try parent.box.object.embeddedPut(column), parent.box.core, out)
        return .ok
    }
}

private func requireEmbedded(_ property: Property, _ schema: Schema) throws(DatabaseError) {
    guard property.type == .link, let target = property.target.flatMap({ schema[$0] }), target.isEmbedded else {
        throw DatabaseError(
            .wrongType, "'\(property.name)' does not hold embedded objects", propertyName: property.name)
    }
}

/// Makes an object in a collection of embedded ones.
private func embed<Kind: LiveElements>(
    _ coll: OpaquePointer?, _ kind: Kind.Type, _ wanted: StaticString, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ make: (Kind) throws(DatabaseError) -> LiveObject
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out)
        let coll = try Handles.collection(coll)
        guard let elements = coll.box.collection as? Kind else {
            throw DatabaseError(.wrongKind, "this collection is no \(wanted) of a property")
        }
        _ = try coll.box.session.requireWrite()
        guard let target = elements.target, try coll.box.session.schema[target]?.isEmbedded == true else {
            throw DatabaseError(.wrongType, "this \(wanted) does not hold embedded objects")
        }
        try Handles.make(try make(elements), coll.box.core, out)
        return .ok
    }
}

@_cdecl("motte_embedded_insert") @implementation
public func motte_embedded_insert(
    _ list: OpaquePointer?, _ index: Int, _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    embed(list, LiveList.self, "list", out_object) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        return try list.embeddedInsert(at: index)
    }
}

@_cdecl("motte_embedded_set") @implementation
public func motte_embedded_set(
    _ list: OpaquePointer?, _ index: Int, _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    embed(list, LiveList.self, "list", out_object) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        return try list.embeddedSet(at: index)
    }
}

@_cdecl("motte_embedded_put") @implementation
public func motte_embedded_put(
    _ map: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_size: Int,
    _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    embed(map, LiveMap.self, "map", out_object) { (map) throws(DatabaseError) in
        guard let bytes = try textBytes(key, key_size) else {
            throw DatabaseError(.nullArgument, "the key is NULL")
        }
        return try map.embeddedPut(bytes)
    }
}

@_cdecl("motte_object_parent") @implementation
public func motte_object_parent(
    _ object: OpaquePointer?, _ out_parent: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_prop: UnsafeMutablePointer<motte_prop>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_prop?.pointee = 0
        let out = try required(out_parent)
        let object = try Handles.object(object)
        guard let place = try object.box.object.embeddedPlace() else { return .notFound }
        try Handles.make(place.owner, object.box.core, out)
        out_prop?.pointee = UInt64(place.owner.table.rawValue) << 32 | UInt64(place.column.rawValue)
        return .ok
    }
}
