/// What classes and properties an open realm has.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

@_cdecl("motte_realm_schema") @implementation
public func motte_realm_schema(
    _ realm: OpaquePointer?, _ out_schema: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_schema)
        let realm = try Handles.realm(realm)
        try Handles.make(SchemaBox(try realm.box.session.schema), out)
        return .ok
    }
}

@_cdecl("motte_realm_add_schema") @implementation
public func motte_realm_add_schema(_ realm: OpaquePointer?, _ schema: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        let declared = try Handles.any(schema, .schema, as: SchemaBox.self).box.schema
        let plan = try realm.box.session.addSchema(declared)
        if plan.action == .nothing { return .unchanged }
        Log.write(.info, "schema", plan.lines.joined(separator: "; "))
        return .ok
    }
}

/// Of a class that is called by either of its names.
private func storedClassName(
    _ realm: RealmBox, _ name: UnsafePointer<CChar>?, _ size: Int
) throws(DatabaseError) -> String {
    realm.core.publicNames.storedClass(try requiredText(name, size, "the class name"))
}

@_cdecl("motte_realm_delete_class") @implementation
public func motte_realm_delete_class(
    _ realm: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        let name = try storedClassName(realm.box, name, name_size)
        guard try realm.box.session.deleteType(name) else { return .notFound }
        Log.write(.info, "schema", "class \(name) was deleted")
        return .ok
    }
}

@_cdecl("motte_class_find") @implementation
public func motte_class_find(
    _ realm: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int,
    _ out_class: UnsafeMutablePointer<motte_class>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_class, zero: 0)
        let realm = try Handles.realm(realm)
        let name = try storedClassName(realm.box, name, name_size)
        guard let key = try realm.box.session.schema[name]?.tableKey else { return .notFound }
        out.pointee = key.rawValue
        return .ok
    }
}

@_cdecl("motte_class_require") @implementation
public func motte_class_require(
    _ realm: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int,
    _ out_class: UnsafeMutablePointer<motte_class>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_class, zero: 0)
        let realm = try Handles.realm(realm)
        let name = try storedClassName(realm.box, name, name_size)
        out.pointee = try realm.box.session.tableKey(name).rawValue
        return .ok
    }
}

@_cdecl("motte_class_info") @implementation
public func motte_class_info(
    _ realm: OpaquePointer?, _ cls: motte_class, _ out_details: UnsafeMutablePointer<motte_class_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        try fillStruct(out_details) { () throws(DatabaseError) in
            let session = realm.box.session
            let type = try session.schema.type(cls)
            let stored = type.storedProperties.count
            return motte_class_details(
                struct_size: 0, id: cls, name: try realm.box.core.names.pointer(to: type.name),
                object_count: UInt64(try session.table(TableKey(cls)).liveCount),
                primary_key: type.primaryKey.map { PropertyID(TableKey(cls), $0).bits } ?? 0,
                stored_count: UInt32(stored), inverse_count: UInt32(type.properties.count - stored),
                flags: type.isEmbedded ? UInt32(MOTTE_CLASS_EMBEDDED) : 0, reserved: 0,
                public_name: try realm.box.core.names.pointer(to: realm.box.core.publicNames.publicClass(type.name)))
        }
        return .ok
    }
}

@_cdecl("motte_class_index") @implementation
public func motte_class_index(
    _ realm: OpaquePointer?, _ cls: motte_class, _ position: Int, _ out_props: UnsafeMutablePointer<motte_buf>?,
    _ out_flags: UnsafeMutablePointer<UInt32>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_flags?.pointee = 0
        let out = try required(out_props, zero: emptyBuffer)
        let type = try Handles.realm(realm).box.session.schema.type(cls)
        let forms = type.indexes.filter { $0.uniqueProperty == nil }.compactMap(\.orderedForm)
        guard position >= 0, position < forms.count else { return .notFound }
        out.pointee = try makeBuffer(SchemaText.print(forms[position].parts))
        out_flags?.pointee = forms[position].isUnique ? UInt32(MOTTE_INDEX_UNIQUE) : 0
        return .ok
    }
}

@_cdecl("motte_class_list") @implementation
public func motte_class_list(
    _ realm: OpaquePointer?, _ out_classes: UnsafeMutablePointer<motte_class>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(out_count, zero: 0)
        let realm = try Handles.realm(realm)
        let keys = try realm.box.session.schema.objectTypes.compactMap { $0.tableKey?.rawValue }.sorted()
        return try fill(out_classes, capacity, out_count, from: keys)
    }
}

@_cdecl("motte_prop_find") @implementation
public func motte_prop_find(
    _ realm: OpaquePointer?, _ cls: motte_class, _ name: UnsafePointer<CChar>?, _ name_size: Int,
    _ out_prop: UnsafeMutablePointer<motte_prop>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_prop, zero: 0)
        let realm = try Handles.realm(realm)
        let name = try requiredBytes(name, name_size, "the property name")
        _ = try realm.box.session.schema.type(cls)
        guard let prop = try realm.box.core.properties.find(name, TableKey(cls), realm.box.session) else {
            return .notFound
        }
        out.pointee = prop
        return .ok
    }
}

@_cdecl("motte_prop_require") @implementation
public func motte_prop_require(
    _ realm: OpaquePointer?, _ cls: motte_class, _ name: UnsafePointer<CChar>?, _ name_size: Int,
    _ out_prop: UnsafeMutablePointer<motte_prop>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_prop, zero: 0)
        let realm = try Handles.realm(realm)
        _ = try realm.box.session.schema.type(cls)
        out.pointee = try realm.box.core.properties.require(
            try requiredBytes(name, name_size, "the property name"), TableKey(cls), realm.box.session)
        return .ok
    }
}

@_cdecl("motte_prop_info") @implementation
public func motte_prop_info(
    _ realm: OpaquePointer?, _ prop: motte_prop, _ out_details: UnsafeMutablePointer<motte_prop_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        try fillStruct(out_details) { () throws(DatabaseError) in
            let schema = try realm.box.session.schema
            let (owner, property) = try PropertyID(prop).property(in: schema)
            let target = property.target.flatMap { schema[$0] }
            let origin = property.origin.flatMap { target?.property(named: $0) }
            let names = realm.box.core.names
            return motte_prop_details(
                struct_size: 0, type: property.type.rawValue, id: prop, name: try names.pointer(to: property.name),
                collection: property.collection.rawValue, flags: PropertyFlags.of(property),
                owner: owner.tableKey?.rawValue ?? 0, target: target?.tableKey?.rawValue ?? 0,
                target_name: try names.pointer(toOptional: property.target),
                origin: originID(target, origin), origin_name: try names.pointer(toOptional: property.origin),
                public_name: try names.pointer(
                    to: realm.box.core.publicNames.publicProperty(property.name, of: owner.name)))
        }
        return .ok
    }
}

private func originID(_ target: ObjectType?, _ origin: Property?) -> motte_prop {
    guard let key = target?.tableKey, let origin else { return 0 }
    return PropertyID(key, origin).bits
}

@_cdecl("motte_prop_list") @implementation
public func motte_prop_list(
    _ realm: OpaquePointer?, _ cls: motte_class, _ out_props: UnsafeMutablePointer<motte_prop>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(out_count, zero: 0)
        let realm = try Handles.realm(realm)
        let properties = try realm.box.session.schema.type(cls).properties
        return try fill(
            out_props, capacity, out_count, from: properties.map { PropertyID(TableKey(cls), $0).bits })
    }
}
