/// One property of one type, without a tagged value.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Reads a property that must hold one of `kinds`; nil for a null.
@inline(__always)
private func field(
    _ object: OpaquePointer?, _ prop: motte_prop, _ kind: ValueKind, or other: ValueKind? = nil, _ wanted: StaticString
) throws(DatabaseError) -> ValueView? {
    let object = try Handles.object(object)
    let view = try object.box.object.get(try PropertyID(prop).column(in: object.box.object.table))
    if view.kindNumber == kind.rawValue || view.kindNumber == other?.rawValue { return view }
    // A null has no type of its own: the property decides, so that a wrong getter is found with any data.
    let property = try PropertyID(prop).property(in: try object.box.session.schema).property
    guard view.isNull,
        property.type.rawValue == kind.rawValue || property.type.rawValue == other?.rawValue || property.type == .mixed
    else {
        throw notThatType(property, "\(wanted)")
    }
    return nil
}

@_cdecl("motte_object_get_int") @implementation
public func motte_object_get_int(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<Int64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: 0)
        guard let view = try field(object, prop, .int, "an int") else { return .null }
        out.pointee = view.intValue
        return .ok
    }
}

@_cdecl("motte_object_get_bool") @implementation
public func motte_object_get_bool(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<Bool>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: false)
        guard let view = try field(object, prop, .bool, "a bool") else { return .null }
        out.pointee = view.boolValue
        return .ok
    }
}

@_cdecl("motte_object_get_double") @implementation
public func motte_object_get_double(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<Double>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: 0)
        guard let view = try field(object, prop, .double, or: .float, "a float or double") else { return .null }
        out.pointee = view.kind == .float ? Double(view.floatValue) : view.doubleValue
        return .ok
    }
}

@_cdecl("motte_object_get_string") @implementation
public func motte_object_get_string(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<motte_str>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_str())
        guard let view = try field(object, prop, .string, "a string") else { return .null }
        out.pointee = view.cString
        return .ok
    }
}

@_cdecl("motte_object_copy_string") @implementation
public func motte_object_copy_string(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_text, zero: emptyBuffer)
        guard let view = try field(object, prop, .string, or: .data, "a string or data") else { return .null }
        out.pointee = try makeBuffer(view.bytes)
        return .ok
    }
}

@_cdecl("motte_object_get_data") @implementation
public func motte_object_get_data(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<motte_bytes>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_bytes())
        guard let view = try field(object, prop, .data, "data") else { return .null }
        let bytes = view.cString
        out.pointee = motte_bytes(data: UnsafeRawPointer(bytes.data), size: bytes.size)
        return .ok
    }
}

@_cdecl("motte_object_get_timestamp") @implementation
public func motte_object_get_timestamp(
    _ object: OpaquePointer?, _ prop: motte_prop, _ out_value: UnsafeMutablePointer<motte_timestamp>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_timestamp())
        guard let view = try field(object, prop, .timestamp, "a timestamp") else { return .null }
        out.pointee = motte_timestamp(seconds: view.intValue, nanoseconds: view.aux, reserved: 0)
        return .ok
    }
}

// MARK: Assigning

/// What a property of values of one width holds.
func fixedKind(_ property: Property, _ width: Int) throws(DatabaseError) -> ValueKind {
    guard let kind = property.type.valueKind, let needed = kind.byteCount else {
        throw notThatType(property, "a decimal, UUID or object id")
    }
    guard width == needed else {
        throw DatabaseError(
            .wrongType,
            "'\(property.name)' holds \(property.type.name) values of \(needed) bytes, not \(UInt(bitPattern: width))",
            propertyName: property.name)
    }
    return kind
}

@_cdecl("motte_object_get_fixed") @implementation
public func motte_object_get_fixed(
    _ object: OpaquePointer?, _ prop: motte_prop, _ width: Int, _ out_bytes: UnsafeMutableRawPointer?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        guard let out_bytes else { throw DatabaseError(.nullArgument, "a required output is NULL") }
        guard width == 12 || width == 16 else {
            throw DatabaseError(.wrongType, "no type has values of \(UInt(bitPattern: width)) bytes; use 12 or 16")
        }
        out_bytes.initializeMemory(as: UInt8.self, repeating: 0, count: width)
        let handle = try Handles.object(object)
        let view = try handle.box.object.get(try PropertyID(prop).column(in: handle.box.object.table))
        if view.kind?.byteCount != width {
            let property = try PropertyID(prop).property(in: try handle.box.session.schema).property
            if property.type == .mixed, !view.isNull { throw notThatType(property, "a value of \(width) bytes") }
            if property.type != .mixed { _ = try fixedKind(property, width) }
        }
        guard !view.isNull else { return .null }
        withUnsafeBytes(of: (view.low, view.high)) { source in
            UnsafeMutableRawBufferPointer(start: out_bytes, count: width).copyBytes(from: source.prefix(width))
        }
        return .ok
    }
}

/// Assigns a value to a property of one of `types`.
@inline(__always)
private func assign(
    _ object: OpaquePointer?, _ prop: motte_prop, _ view: ValueView, _ types: [PropertyType], _ wanted: StaticString
) throws(DatabaseError) {
    let object = try Handles.object(object)
    let id = PropertyID(prop)
    let column = try id.column(in: object.box.object.table)
    do throws(DatabaseError) {
        try object.box.object.set(column, to: view)
    } catch {
        throw refusal(error, id, object.box, types, wanted)
    }
}

/// The engine's, or one that says which types the called function assigns to.
@inline(never)
private func refusal(
    _ error: DatabaseError, _ id: PropertyID, _ box: ObjectBox, _ types: [PropertyType], _ wanted: StaticString
) -> DatabaseError {
    guard error.code == .wrongType || error.code == .unknownProperty else { return error }
    do throws(DatabaseError) {
        let property = try id.property(in: try box.session.schema).property
        let isOfThem = types.contains(property.type) || property.type == .mixed
        return isOfThem && !property.isCollection ? error : notThatType(property, "\(wanted)")
    } catch {
        return error
    }
}

@_cdecl("motte_object_set_int") @implementation
public func motte_object_set_int(_ object: OpaquePointer?, _ prop: motte_prop, _ value: Int64) -> motte_status {
    boundary { () throws(DatabaseError) in
        try assign(object, prop, .int(value), [.int, .double, .float, .decimal], "a number")
        return .ok
    }
}

@_cdecl("motte_object_add_int") @implementation
public func motte_object_add_int(
    _ object: OpaquePointer?, _ prop: motte_prop, _ delta: Int64, _ out_value: UnsafeMutablePointer<Int64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_value?.pointee = 0
        let object = try Handles.object(object)
        _ = try object.box.session.requireWrite()
        let id = PropertyID(prop)
        let column = try id.column(in: object.box.object.table)
        let view = try object.box.object.get(column)
        guard view.kind == .int else {
            let property = try id.property(in: try object.box.session.schema).property
            guard view.isNull, property.type == .int || property.type == .mixed else {
                throw notThatType(property, "an int")
            }
            throw DatabaseError(
                .nullNotAllowed, "'\(property.name)' is null, to which nothing can be added; set it first",
                propertyName: property.name)
        }
        let (sum, overflows) = view.intValue.addingReportingOverflow(delta)
        guard !overflows else {
            throw DatabaseError(.overflow, "\(view.intValue) and \(delta) do not fit in 64 bits together")
        }
        try object.box.object.set(column, to: .int(sum))
        out_value?.pointee = sum
        return .ok
    }
}

@_cdecl("motte_object_set_bool") @implementation
public func motte_object_set_bool(_ object: OpaquePointer?, _ prop: motte_prop, _ value: UInt32) -> motte_status {
    boundary { () throws(DatabaseError) in
        guard value <= 1 else { throw DatabaseError(.invalidArgument, "\(value) is no bool; use 0 or 1") }
        try assign(object, prop, .bool(value == 1), [.bool], "a bool")
        return .ok
    }
}

@_cdecl("motte_object_set_double") @implementation
public func motte_object_set_double(_ object: OpaquePointer?, _ prop: motte_prop, _ value: Double) -> motte_status {
    boundary { () throws(DatabaseError) in
        try assign(object, prop, .double(value), [.double, .float, .decimal], "a float or double")
        return .ok
    }
}

@_cdecl("motte_object_set_string") @implementation
public func motte_object_set_string(
    _ object: OpaquePointer?, _ prop: motte_prop, _ text: UnsafePointer<CChar>?, _ text_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        // Only a length of 0 makes NULL an empty text: MOTTE_NTS asks for the end of one, such as getenv() did not
        // find.
        guard text != nil || text_size == 0 else {
            throw DatabaseError(
                .nullArgument, "the text is NULL; an empty text has length 0, and a null is assigned as null")
        }
        let bytes = try textBytes(text, text_size) ?? UnsafeRawBufferPointer(start: nil, count: 0)
        try assign(object, prop, .string(bytes), [.string], "a string")
        return .ok
    }
}

@_cdecl("motte_object_set_data") @implementation
public func motte_object_set_data(
    _ object: OpaquePointer?, _ prop: motte_prop, _ bytes: UnsafeRawPointer?, _ byte_count: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        try assign(object, prop, .data(try dataBytes(bytes, byte_count)), [.data], "data")
        return .ok
    }
}

@_cdecl("motte_object_set_timestamp") @implementation
public func motte_object_set_timestamp(
    _ object: OpaquePointer?, _ prop: motte_prop, _ value: UnsafePointer<motte_timestamp>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        guard let value else { throw DatabaseError(.nullArgument, "a timestamp is NULL") }
        let view = ValueView(
            kindNumber: ValueKind.timestamp.rawValue, aux: value.pointee.nanoseconds,
            low: UInt64(bitPattern: value.pointee.seconds))
        try assign(object, prop, try view.checked(), [.timestamp], "a timestamp")
        return .ok
    }
}

@_cdecl("motte_object_set_fixed") @implementation
public func motte_object_set_fixed(
    _ object: OpaquePointer?, _ prop: motte_prop, _ bytes: UnsafeRawPointer?, _ width: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let handle = try Handles.object(object)
        let property = try PropertyID(prop).single(of: handle.box.object.table, in: try handle.box.session.schema)
        let kind = try fixedKind(property, width)
        guard let bytes else { throw DatabaseError(.nullArgument, "the bytes are NULL") }
        let view = ValueView(kind, bytes: bytes)
        try handle.box.object.set(try PropertyID(prop).column(in: handle.box.object.table), to: view)
        return .ok
    }
}

@_cdecl("motte_object_set_null") @implementation
public func motte_object_set_null(_ object: OpaquePointer?, _ prop: motte_prop) -> motte_status {
    boundary { () throws(DatabaseError) in
        let object = try Handles.object(object)
        try object.box.object.set(try PropertyID(prop).column(in: object.box.object.table), to: .null)
        return .ok
    }
}
