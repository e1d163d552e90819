/// Objects without a handle, for loops of bindings: a row is (realm, class, key).
import CMotte
import MotteLiveObjects
import MotteValues

@_cdecl("motte_row_find") @implementation
public func motte_row_find(
    _ realm: OpaquePointer?, _ cls: motte_class, _ primary_key: UnsafePointer<motte_value>?,
    _ out_key: UnsafeMutablePointer<motte_key>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_key, zero: 0)
        let realm = try Handles.realm(realm)
        guard let key = try findRow(realm.box.session, cls, primary_key) else { return .notFound }
        out.pointee = key.rawValue
        return .ok
    }
}

@_cdecl("motte_row_exists") @implementation
public func motte_row_exists(_ realm: OpaquePointer?, _ cls: motte_class, _ key: motte_key) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        _ = try realm.box.session.schema.type(cls)
        return try realm.box.session.table(TableKey(cls)).locate(ObjectKey(key)) == nil ? .notFound : .ok
    }
}

@_cdecl("motte_row_create") @implementation
public func motte_row_create(
    _ realm: OpaquePointer?, _ cls: motte_class, _ props: UnsafePointer<motte_prop>?,
    _ values: UnsafePointer<motte_value>?, _ count: Int, _ flags: UInt32, _ out_key: UnsafeMutablePointer<motte_key>?,
    _ out_created: UnsafeMutablePointer<Bool>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_key?.pointee = 0
        out_created?.pointee = false
        let realm = try Handles.realm(realm)
        let (key, isNew) = try createRow(realm.box, cls, props, values, count, flags)
        out_key?.pointee = key.rawValue
        out_created?.pointee = isNew
        return .ok
    }
}

@_cdecl("motte_row_get_many") @implementation
public func motte_row_get_many(
    _ realm: OpaquePointer?, _ cls: motte_class, _ key: motte_key, _ props: UnsafePointer<motte_prop>?, _ count: Int,
    _ out_values: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try requiredArray(out_values, count)
        let realm = try Handles.realm(realm)
        let props = try input(props, count)
        let table = TableKey(cls)
        do throws(DatabaseError) {
            guard let start = out.baseAddress, count > 0 else {
                try requireRow(realm.box.session, cls, ObjectKey(key))
                return .ok
            }
            // The two are the same 24 bytes.
            let views = UnsafeMutableRawPointer(start).assumingMemoryBound(to: ValueView.self)
            try realm.box.session.values(table, ObjectKey(key), count, into: views) { (index) throws(DatabaseError) in
                do throws(DatabaseError) { return try PropertyID(props[index]).column(in: table) } catch {
                    throw error.at(rowIndex: index)
                }
            }
        } catch {
            out.update(repeating: motte_value())
            throw try realm.box.session.schema[table] == nil ? unknownClass(cls) : error
        }
        return .ok
    }
}

@_cdecl("motte_row_set_many") @implementation
public func motte_row_set_many(
    _ realm: OpaquePointer?, _ cls: motte_class, _ key: motte_key, _ props: UnsafePointer<motte_prop>?,
    _ values: UnsafePointer<motte_value>?, _ count: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        let session = realm.box.session
        let shape = try realm.box.core.shapes.shape(session, cls, props, count)
        let checked = try shape.checked(values, in: session)
        _ = try session.requireWrite()
        if count == 0 { try requireRow(session, cls, ObjectKey(key)) }
        try session.setMany(TableKey(cls), ObjectKey(key), columns: shape.columns, values: checked)
        return .ok
    }
}

private func unknownClass(_ cls: motte_class) -> DatabaseError {
    DatabaseError(.unknownClass, "\(cls) is no class id of this file")
}

private func requireRow(_ session: Session, _ cls: motte_class, _ key: ObjectKey) throws(DatabaseError) {
    guard try session.table(TableKey(cls)).locate(key) != nil else {
        throw DatabaseError(.objectDeleted, "there is no object with key \(key.rawValue), or it has been deleted")
    }
}

@_cdecl("motte_row_get_coll") @implementation
public func motte_row_get_coll(
    _ realm: OpaquePointer?, _ cls: motte_class, _ key: motte_key, _ prop: motte_prop,
    _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let realm = try Handles.realm(realm)
        let session = realm.box.session
        _ = try session.schema.type(cls)
        guard let object = try session.object(TableKey(cls), at: ObjectKey(key)) else {
            throw DatabaseError(.objectDeleted, "there is no object with key \(key), or it has been deleted")
        }
        try Handles.make(try collection(of: object, prop), realm.box.core, out)
        return .ok
    }
}

@_cdecl("motte_row_delete") @implementation
public func motte_row_delete(
    _ realm: OpaquePointer?, _ cls: motte_class, _ keys: UnsafePointer<motte_key>?, _ count: Int,
    _ out_deleted: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_deleted?.pointee = 0
        let realm = try Handles.realm(realm)
        _ = try realm.box.session.schema.type(cls)
        let deleted = try realm.box.session.delete(TableKey(cls), Array(try input(keys, count)))
        out_deleted?.pointee = UInt64(deleted)
        return .ok
    }
}
