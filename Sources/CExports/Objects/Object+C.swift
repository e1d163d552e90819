/// Objects by handle.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

extension UpdatePolicy {
    /// What MOTTE_CREATE_* flags ask for: at most one of them.
    init(createFlags flags: UInt32) throws(DatabaseError) {
        try checkFlags(flags, allowed: UInt32(MOTTE_CREATE_EXISTING | MOTTE_CREATE_MODIFIED))
        switch Int(flags) {
        case Int(MOTTE_CREATE_NEW): self = .error
        case Int(MOTTE_CREATE_EXISTING): self = .all
        case Int(MOTTE_CREATE_MODIFIED): self = .modified
        default: throw DatabaseError(.invalidArgument, "EXISTING and MODIFIED exclude each other")
        }
    }
}

@_cdecl("motte_class_count") @implementation
public func motte_class_count(
    _ realm: OpaquePointer?, _ cls: motte_class, _ out_count: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        let realm = try Handles.realm(realm)
        _ = try realm.box.session.schema.type(cls)
        out.pointee = UInt64(try realm.box.session.table(TableKey(cls)).liveCount)
        return .ok
    }
}

@_cdecl("motte_class_all") @implementation
public func motte_class_all(
    _ realm: OpaquePointer?, _ cls: motte_class, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let realm = try Handles.realm(realm)
        try Handles.make(try realm.box.session.objects(TableKey(cls)), realm.box.core, out)
        return .ok
    }
}

@_cdecl("motte_object_create") @implementation
public func motte_object_create(
    _ realm: OpaquePointer?, _ cls: motte_class, _ primary_key: UnsafePointer<motte_value>?, _ flags: UInt32,
    _ out_object: UnsafeMutablePointer<OpaquePointer?>?, _ out_created: UnsafeMutablePointer<Bool>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_created?.pointee = false
        let out = try required(out_object)
        let realm = try Handles.realm(realm)
        let policy = try UpdatePolicy(createFlags: flags)
        let type = try realm.box.session.schema.type(cls)
        let (object, isNew) = try realm.box.session.create(
            TableKey(cls), primaryKey: try wantedKey(primary_key, type), returnExisting: policy != .error)
        try Handles.make(object, realm.box.core, out)
        out_created?.pointee = isNew
        return .ok
    }
}

/// The primary key for a new object: there where the class has one, and only there.
private func wantedKey(_ value: UnsafePointer<motte_value>?, _ type: ObjectType) throws(DatabaseError) -> Value? {
    guard type.primaryKey != nil else {
        guard value == nil else {
            throw DatabaseError(.noPrimaryKey, "\(type.name) has no primary key; pass NULL", className: type.name)
        }
        return nil
    }
    guard value != nil else {
        throw DatabaseError(.noPrimaryKey, "a new \(type.name) needs its primary key", className: type.name)
    }
    return try checkedValue(value).owned
}

@_cdecl("motte_object_create_with") @implementation
public func motte_object_create_with(
    _ realm: OpaquePointer?, _ cls: motte_class, _ props: UnsafePointer<motte_prop>?,
    _ values: UnsafePointer<motte_value>?, _ count: Int, _ flags: UInt32,
    _ out_object: UnsafeMutablePointer<OpaquePointer?>?, _ out_created: UnsafeMutablePointer<Bool>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_created?.pointee = false
        let out = try required(out_object)
        let realm = try Handles.realm(realm)
        let (key, isNew) = try createRow(realm.box, cls, props, values, count, flags)
        guard let object = try realm.box.session.object(TableKey(cls), at: key) else { return .notFound }
        try Handles.make(object, realm.box.core, out)
        out_created?.pointee = isNew
        return .ok
    }
}

/// A new row with values, or the existing one with the same primary key.
func createRow(
    _ box: RealmBox, _ cls: motte_class, _ props: UnsafePointer<motte_prop>?, _ values: UnsafePointer<motte_value>?,
    _ count: Int, _ flags: UInt32
) throws(DatabaseError) -> (key: ObjectKey, isNew: Bool) {
    let policy = try UpdatePolicy(createFlags: flags)
    let session = box.session
    let shape = try box.core.shapes.shape(session, cls, props, count)
    let checked = try shape.checked(values, in: session)
    if shape.lacksPrimaryKey {
        let name = try session.schema.type(cls).name
        throw DatabaseError(.noPrimaryKey, "a new \(name) needs its primary key", className: name)
    }
    if count == 0 { return (try session.create(TableKey(cls)).object.key, true) }
    guard policy != .error else { return try session.create(TableKey(cls), columns: shape.columns, values: checked) }
    let (object, isNew) = try session.upsert(TableKey(cls), columns: shape.columns, values: checked, policy: policy)
    return (object.key, isNew)
}

@_cdecl("motte_object_find") @implementation
public func motte_object_find(
    _ realm: OpaquePointer?, _ cls: motte_class, _ primary_key: UnsafePointer<motte_value>?,
    _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_object)
        let realm = try Handles.realm(realm)
        guard let key = try findRow(realm.box.session, cls, primary_key),
            let object = try realm.box.session.object(TableKey(cls), at: key)
        else { return .notFound }
        try Handles.make(object, realm.box.core, out)
        return .ok
    }
}

func findRow(
    _ session: Session, _ cls: motte_class, _ primaryKey: UnsafePointer<motte_value>?
) throws(DatabaseError) -> ObjectKey? {
    do throws(DatabaseError) {
        return try session.findKey(TableKey(cls), primaryKey: try checkedValue(primaryKey))
    } catch {
        let type = try session.schema.type(cls)
        guard type.primaryKey != nil else {
            throw DatabaseError(
                .noPrimaryKey, "\(type.name) has no primary key; query it instead", className: type.name)
        }
        throw error
    }
}

@_cdecl("motte_object_at") @implementation
public func motte_object_at(
    _ realm: OpaquePointer?, _ cls: motte_class, _ key: motte_key, _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_object)
        let realm = try Handles.realm(realm)
        _ = try realm.box.session.schema.type(cls)
        guard let object = try realm.box.session.object(TableKey(cls), at: ObjectKey(key)) else { return .notFound }
        try Handles.make(object, realm.box.core, out)
        return .ok
    }
}

@_cdecl("motte_object_delete") @implementation
public func motte_object_delete(_ object: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.object(object).box.object.delete()
        return .ok
    }
}

@_cdecl("motte_object_prop") @implementation
public func motte_object_prop(
    _ object: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int,
    _ out_prop: UnsafeMutablePointer<motte_prop>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_prop, zero: 0)
        let object = try Handles.object(object)
        let bytes = try requiredBytes(name, name_size, "the property name")
        let core = object.box.core
        out.pointee = try core.properties.require(bytes, object.box.object.table, core.session)
        return .ok
    }
}

@_cdecl("motte_object_row") @implementation
public func motte_object_row(
    _ object: OpaquePointer?, _ out_class: UnsafeMutablePointer<motte_class>?,
    _ out_key: UnsafeMutablePointer<motte_key>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_class?.pointee = 0
        out_key?.pointee = 0
        let object = try Handles.object(object)
        out_class?.pointee = object.box.object.table.rawValue
        out_key?.pointee = object.box.object.key.rawValue
        return .ok
    }
}

@_cdecl("motte_object_link") @implementation
public func motte_object_link(
    _ object: OpaquePointer?, _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_value())
        let object = try Handles.object(object)
        var link = ValueView.link(object.box.object.link)
        link.high = try object.box.session.database.number
        out.pointee = link.cValue
        return .ok
    }
}

@_cdecl("motte_object_get") @implementation
public func motte_object_get(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_value())
        let object = try Handles.object(object)
        let view = try object.box.object.get(try PropertyID(prop).column(in: object.box.object.table))
        out.pointee = view.cValue
        return view.isNull ? .null : .ok
    }
}

@_cdecl("motte_object_get_many") @implementation
public func motte_object_get_many(
    _ object: OpaquePointer?, _ props: UnsafePointer<motte_prop>?, _ count: Int,
    _ out_values: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try requiredArray(out_values, count)
        let object = try Handles.object(object).box.object
        try readRow(object.session, object.table, object.key, try input(props, count), out) {
            (column) throws(DatabaseError) in try object.get(column)
        }
        return .ok
    }
}

/// Values of several properties of one row; on an error all of them are null.
@inline(__always)
func readRow(
    _ session: Session, _ table: TableKey, _ key: ObjectKey, _ props: UnsafeBufferPointer<motte_prop>,
    _ out: UnsafeMutableBufferPointer<motte_value>, _ get: (ColumnKey) throws(DatabaseError) -> ValueView
) throws(DatabaseError) {
    do throws(DatabaseError) {
        for index in 0 ..< props.count {
            out[index] = try atRow(index) { () throws(DatabaseError) in
                try get(try PropertyID(props[index]).column(in: table)).cValue
            }
        }
    } catch {
        out.update(repeating: motte_value())
        throw error
    }
}

/// An output array of `count`, zeroed.
func requiredArray<T>(
    _ out: UnsafeMutablePointer<T>?, _ count: Int
) throws(DatabaseError) -> UnsafeMutableBufferPointer<T> {
    try checkCount(count, of: UnsafePointer(out), "a count")
    guard let out else {
        if count == 0 { return UnsafeMutableBufferPointer(start: nil, count: 0) }
        throw DatabaseError(.nullArgument, "a required output is NULL")
    }
    UnsafeMutableRawPointer(out).initializeMemory(as: UInt8.self, repeating: 0, count: count * MemoryLayout<T>.stride)
    return UnsafeMutableBufferPointer(start: out, count: count)
}

@_cdecl("motte_object_set") @implementation
public func motte_object_set(
    _ object: OpaquePointer?, _ prop: motte_prop, _ value: UnsafePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let object = try Handles.object(object)
        var view = try checkedValue(value, in: object.box.session)
        let id = PropertyID(prop)
        let column = try id.column(in: object.box.object.table)
        if view.kind == .link, view.aux == 0 {
            let schema = try object.box.session.schema
            view = schema.completed(view, for: try id.property(in: schema).property)
        }
        try object.box.object.set(column, to: view)
        return .ok
    }
}

@_cdecl("motte_object_set_many") @implementation
public func motte_object_set_many(
    _ object: OpaquePointer?, _ props: UnsafePointer<motte_prop>?, _ values: UnsafePointer<motte_value>?, _ count: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let object = try Handles.object(object)
        let shape = try object.box.core.shapes.shape(
            object.box.session, object.box.object.table.rawValue, props, count)
        try object.box.object.setMany(shape.columns, values: try shape.checked(values, in: object.box.session))
        return .ok
    }
}

@_cdecl("motte_object_get_object") @implementation
public func motte_object_get_object(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_object)
        let object = try Handles.object(object)
        let schema = try object.box.session.schema
        let property = try PropertyID(prop).single(of: object.box.object.table, in: schema)
        guard property.type == .link || property.type == .mixed else { throw notThatType(property, "a link") }
        guard let target = try object.box.object.object(try PropertyID(prop).column(in: object.box.object.table)) else {
            return .null
        }
        try Handles.make(target, object.box.core, out)
        return .ok
    }
}

@_cdecl("motte_object_set_object") @implementation
public func motte_object_set_object(
    _ object: OpaquePointer?, _ prop: motte_prop, _ target: OpaquePointer?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let object = try Handles.object(object)
        let id = PropertyID(prop)
        let property = try id.single(of: object.box.object.table, in: try object.box.session.schema)
        guard property.type == .link || property.type == .mixed else { throw notThatType(property, "a link") }
        var link = ValueView.null
        if let target {
            let target = try Handles.object(target)
            guard try target.box.session.database === object.box.session.database else {
                throw ofAnotherFile()
            }
            guard try target.box.object.exists() else {
                throw DatabaseError(.objectDeleted, "the target has been deleted")
            }
            link = .link(target.box.object.link)
        }
        try object.box.object.set(try id.column(in: object.box.object.table), to: link)
        return .ok
    }
}

func notThatType(_ property: Property, _ wanted: String) -> DatabaseError {
    let held = property.isCollection ? "a \(property.collection.name)" : property.type.name
    return DatabaseError(.wrongType, "'\(property.name)' holds \(held), not \(wanted)", propertyName: property.name)
}

@_cdecl("motte_object_get_coll") @implementation
public func motte_object_get_coll(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let object = try Handles.object(object)
        try Handles.make(try collection(of: object.box.object, prop), object.box.core, out)
        return .ok
    }
}

/// The collection of a property, or the list or map that a mixed one holds.
func collection(of object: LiveObject, _ prop: motte_prop) throws(DatabaseError) -> LiveCollection {
    let id = PropertyID(prop)
    let (owner, property) = try id.property(in: try object.session.schema)
    guard owner.tableKey == object.table else {
        throw DatabaseError(.unknownProperty, "\(owner.name).\(property.name) is a property of another class")
    }
    if property.type == .mixed, property.collection == .none {
        guard let nested = try object.nested(try id.column(in: owner.tableKey ?? object.table)) else {
            throw DatabaseError(
                .wrongType, "\(owner.name).\(property.name) holds no list or map now", className: owner.name,
                propertyName: property.name)
        }
        return nested
    }
    guard property.isCollection || property.type == .linkingObjects else { throw notThatType(property, "a collection") }
    return try object.collection(property.name)
}

@_cdecl("motte_object_backlinks") @implementation
public func motte_object_backlinks(
    _ object: OpaquePointer?, _ origin: motte_prop, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let object = try Handles.object(object)
        try Handles.make(try backlinks(of: object.box.object, origin), object.box.core, out)
        return .ok
    }
}

@_cdecl("motte_object_backlink_count") @implementation
public func motte_object_backlink_count(
    _ object: OpaquePointer?, _ origin: motte_prop, _ out_count: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        out.pointee = UInt64(try backlinks(of: try Handles.object(object).box.object, origin).count())
        return .ok
    }
}

private func backlinks(of object: LiveObject, _ origin: motte_prop) throws(DatabaseError) -> LiveBacklinks {
    let id = PropertyID(origin)
    let (_, property) = try id.property(in: try object.session.schema)
    guard let column = property.columnKey else { throw notThatType(property, "links") }
    return try object.backlinks(origin: id.table, column)
}
