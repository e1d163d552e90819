/// Values as text and back, and their order: pure functions that need no realm and belong to no thread.
import CMotte
import MotteExchange
import MotteValues

// MARK: Order

@_cdecl("motte_value_compare") @implementation
public func motte_value_compare(
    _ left: UnsafePointer<motte_value>?, _ right: UnsafePointer<motte_value>?,
    _ out_order: UnsafeMutablePointer<Int32>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_order, zero: 0)
        out.pointee = sign(ValueOrdering.compare(try checkedValue(left), try checkedValue(right)))
        return .ok
    }
}

private func sign(_ order: Int) -> Int32 { order < 0 ? -1 : order > 0 ? 1 : 0 }

// MARK: Decimals

extension Decimal128 {
    init(_ value: motte_decimal) { self.init(low: value.low, high: value.high) }
    var cValue: motte_decimal { motte_decimal(low: low, high: high) }
}

private func decimal(_ pointer: UnsafePointer<motte_decimal>?) throws(DatabaseError) -> Decimal128 {
    guard let pointer else { throw DatabaseError(.nullArgument, "a decimal is NULL") }
    return Decimal128(pointer.pointee)
}

@_cdecl("motte_decimal_parse") @implementation
public func motte_decimal_parse(
    _ text: UnsafePointer<CChar>?, _ text_size: Int, _ out_decimal: UnsafeMutablePointer<motte_decimal>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_decimal, zero: motte_decimal())
        let text = try requiredText(text, text_size, "the text")
        guard let read = Decimal128.reading(text) else { throw unreadable(text, "decimal such as 3.75 or 1E-3") }
        guard read.isExact else {
            throw DatabaseError(
                .overflow,
                "'\(shortened(text))' does not fit: a decimal has at most 34 digits and an exponent of -6176 to 6111; "
                    + "round it before")
        }
        out.pointee = read.value.cValue
        return .ok
    }
}

private func unreadable(_ text: String, _ wanted: StaticString) -> DatabaseError {
    DatabaseError(.invalidArgument, "'\(shortened(text))' is no \(wanted)")
}

private func shortened(_ text: String) -> String {
    text.unicodeScalars.count > 60 ? String(text.unicodeScalars.prefix(57)) + "..." : text
}

/// Text by the (array, capacity, count) protocol.
private func write(
    _ text: String, _ out_text: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) throws(DatabaseError) -> Outcome {
    try fill(out_text, capacity, out_count, from: text.utf8.map { CChar(bitPattern: $0) })
}

@_cdecl("motte_decimal_format") @implementation
public func motte_decimal_format(
    _ decimal: UnsafePointer<motte_decimal>?, _ out_text: UnsafeMutablePointer<CChar>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(out_count, zero: 0)
        return try write(try MotteCExports.decimal(decimal).text, out_text, capacity, out_count)
    }
}

@_cdecl("motte_decimal_from_double") @implementation
public func motte_decimal_from_double(
    _ real: Double, _ out_decimal: UnsafeMutablePointer<motte_decimal>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        try required(out_decimal, zero: motte_decimal()).pointee = Decimal128(real).cValue
        return .ok
    }
}

@_cdecl("motte_decimal_to_double") @implementation
public func motte_decimal_to_double(
    _ decimal: UnsafePointer<motte_decimal>?, _ out_real: UnsafeMutablePointer<Double>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_real, zero: 0)
        out.pointee = try MotteCExports.decimal(decimal).doubleValue
        return .ok
    }
}

@_cdecl("motte_decimal_compare") @implementation
public func motte_decimal_compare(
    _ left: UnsafePointer<motte_decimal>?, _ right: UnsafePointer<motte_decimal>?,
    _ out_order: UnsafeMutablePointer<Int32>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_order, zero: 0)
        out.pointee = sign(Decimal128.compare(try decimal(left), try decimal(right)))
        return .ok
    }
}

// MARK: Identifiers

extension ObjectID {
    var cValue: motte_object_id {
        var value = motte_object_id()
        withBytes { source in withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: source.prefix(12)) } }
        return value
    }
}

extension UUIDBytes {
    var cValue: motte_uuid {
        var value = motte_uuid()
        withBytes { source in withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: source.prefix(16)) } }
        return value
    }
}

@_cdecl("motte_object_id_new") @implementation
public func motte_object_id_new(_ out_id: UnsafeMutablePointer<motte_object_id>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        try required(out_id, zero: motte_object_id()).pointee = ObjectID.generate().cValue
        return .ok
    }
}

@_cdecl("motte_object_id_parse") @implementation
public func motte_object_id_parse(
    _ text: UnsafePointer<CChar>?, _ text_size: Int, _ out_id: UnsafeMutablePointer<motte_object_id>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_id, zero: motte_object_id())
        let text = try requiredText(text, text_size, "the text")
        guard let id = ObjectID(parsing: text) else { throw unreadable(text, "object id of 24 hexadecimal digits") }
        out.pointee = id.cValue
        return .ok
    }
}

@_cdecl("motte_uuid_new") @implementation
public func motte_uuid_new(_ out_uuid: UnsafeMutablePointer<motte_uuid>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        try required(out_uuid, zero: motte_uuid()).pointee = UUIDBytes.generate().cValue
        return .ok
    }
}

@_cdecl("motte_uuid_parse") @implementation
public func motte_uuid_parse(
    _ text: UnsafePointer<CChar>?, _ text_size: Int, _ out_uuid: UnsafeMutablePointer<motte_uuid>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_uuid, zero: motte_uuid())
        let text = try requiredText(text, text_size, "the text")
        guard let uuid = UUIDBytes(parsing: text) else { throw unreadable(text, "UUID of the form 8-4-4-4-12") }
        out.pointee = uuid.cValue
        return .ok
    }
}

@_cdecl("motte_bytes_format") @implementation
public func motte_bytes_format(
    _ type: motte_type, _ bytes: UnsafeRawPointer?, _ out_text: UnsafeMutablePointer<CChar>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(out_count, zero: 0)
        guard let bytes else { throw DatabaseError(.nullArgument, "the bytes are NULL") }
        guard let kind = ValueKind(rawValue: type), let identifier = kind.identifier else {
            throw DatabaseError(.wrongType, "type \(type) is neither an object id nor a UUID")
        }
        let text = identifier.text(ValueView(kind, bytes: bytes))
        return try write(text, out_text, capacity, out_count)
    }
}

// MARK: Timestamps

@_cdecl("motte_timestamp_parse") @implementation
public func motte_timestamp_parse(
    _ text: UnsafePointer<CChar>?, _ text_size: Int, _ out_timestamp: UnsafeMutablePointer<motte_timestamp>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_timestamp, zero: motte_timestamp())
        let text = try requiredText(text, text_size, "the text")
        guard let time = TimeText.parse(text) else { throw unreadable(text, "time such as 2013-01-01T10:00:00Z") }
        out.pointee = motte_timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds, reserved: 0)
        return .ok
    }
}

@_cdecl("motte_timestamp_format") @implementation
public func motte_timestamp_format(
    _ timestamp: UnsafePointer<motte_timestamp>?, _ out_text: UnsafeMutablePointer<CChar>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(out_count, zero: 0)
        guard let time = timestamp?.pointee else { throw DatabaseError(.nullArgument, "a timestamp is NULL") }
        guard time.nanoseconds < 1_000_000_000 else {
            throw DatabaseError(.invalidArgument, "\(time.nanoseconds) nanoseconds are a second or more")
        }
        let text = TimeText.text(Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds))
        return try write(text, out_text, capacity, out_count)
    }
}
