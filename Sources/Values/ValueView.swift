/// A value that borrows its bytes: 24 plain bytes with the layout of `motte_value`, so that it crosses the C boundary
/// as it is and batches of rows move without an allocation.
///
///     offset  0  kind          u32   ValueKind
///             4  aux           u32   timestamp: nanoseconds; link: table key
///             8  low           u64   bool, int, float and double bits; string, data: address;
///                                    timestamp: seconds; link: object key; decimal, uuid, objectId: first 8 bytes;
///                                    list, map: address of the encoded document
///            16  high          u64   string, data, list, map: byte count; decimal, uuid, objectId: the other bytes
///
/// Whoever makes one says how long the bytes behind `low` live.
package struct ValueView {
    package var kindNumber: UInt32
    package var aux: UInt32
    package var low: UInt64
    package var high: UInt64

    @inlinable package init(kindNumber: UInt32, aux: UInt32 = 0, low: UInt64 = 0, high: UInt64 = 0) {
        self.kindNumber = kindNumber
        self.aux = aux
        self.low = low
        self.high = high
    }

    package static let null = ValueView(kindNumber: 0)

    @inlinable package static func bool(_ value: Bool) -> ValueView { ValueView(kindNumber: 1, low: value ? 1 : 0) }
    @inlinable package static func int(_ value: Int64) -> ValueView {
        ValueView(kindNumber: 2, low: UInt64(bitPattern: value))
    }
    @inlinable package static func float(_ value: Float) -> ValueView {
        ValueView(kindNumber: 3, low: UInt64(value.bitPattern))
    }
    @inlinable package static func double(_ value: Double) -> ValueView {
        ValueView(kindNumber: 4, low: value.bitPattern)
    }
    @inlinable package static func string(_ bytes: UnsafeRawBufferPointer) -> ValueView {
        ValueView(kindNumber: 5, low: UInt64(UInt(bitPattern: bytes.baseAddress)), high: UInt64(bytes.count))
    }
    @inlinable package static func data(_ bytes: UnsafeRawBufferPointer) -> ValueView {
        ValueView(kindNumber: 6, low: UInt64(UInt(bitPattern: bytes.baseAddress)), high: UInt64(bytes.count))
    }
    @inlinable package static func timestamp(_ value: Timestamp) -> ValueView {
        ValueView(kindNumber: 7, aux: value.nanoseconds, low: UInt64(bitPattern: value.seconds))
    }
    @inlinable package static func link(_ value: ObjectLink) -> ValueView {
        ValueView(kindNumber: 8, aux: value.table.rawValue, low: UInt64(bitPattern: value.key.rawValue))
    }

    @inlinable package static func decimal(_ value: Decimal128) -> ValueView {
        ValueView(kindNumber: 9, low: value.low, high: value.high)
    }
    @inlinable package static func objectID(_ value: ObjectID) -> ValueView {
        ValueView(kindNumber: 10, low: value.low, high: value.high)
    }
    @inlinable package static func uuid(_ value: UUIDBytes) -> ValueView {
        ValueView(kindNumber: 11, low: value.low, high: value.high)
    }
    /// A nested list or map as `NestedDocument` encodes it.
    @inlinable package static func list(_ document: UnsafeRawBufferPointer) -> ValueView {
        ValueView(
            kindNumber: 12, low: UInt64(UInt(bitPattern: document.baseAddress)), high: UInt64(document.count))
    }
    @inlinable package static func map(_ document: UnsafeRawBufferPointer) -> ValueView {
        ValueView(
            kindNumber: 13, low: UInt64(UInt(bitPattern: document.baseAddress)), high: UInt64(document.count))
    }

    /// nil for a number that is no kind: views come from C callers too.
    @inlinable package var kind: ValueKind? { ValueKind(rawValue: kindNumber) }
    @inlinable package var isNull: Bool { kindNumber == 0 }
    /// Whether its bytes are somewhere else.
    package var isBorrowed: Bool {
        switch kind {
        case .string, .data, .list, .map: true
        default: false
        }
    }

    // Payloads; meaningful only for the kind they are named after.
    @inlinable package var boolValue: Bool { low != 0 }
    @inlinable package var intValue: Int64 { Int64(bitPattern: low) }
    @inlinable package var floatValue: Float { Float(bitPattern: UInt32(truncatingIfNeeded: low)) }
    @inlinable package var doubleValue: Double { Double(bitPattern: low) }
    @inlinable package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: UInt(low)), count: Int(truncatingIfNeeded: high))
    }
    @inlinable package var timestampValue: Timestamp { Timestamp(seconds: intValue, nanoseconds: aux) }
    @inlinable package var linkValue: ObjectLink { ObjectLink(table: TableKey(aux), key: ObjectKey(intValue)) }

    @inlinable package var decimalValue: Decimal128 { Decimal128(low: low, high: high) }
    @inlinable package var objectIDValue: ObjectID { ObjectID(low: low, high: high) }
    @inlinable package var uuidValue: UUIDBytes { UUIDBytes(low: low, high: high) }

    /// An owned copy. Strings are valid UTF-8 by the time they are in the store; an unknown kind reads as null.
    package var owned: Value {
        switch kind {
        case .bool: .bool(boolValue)
        case .int: .int(intValue)
        case .float: .float(floatValue)
        case .double: .double(doubleValue)
        case .string: .string(String(decoding: bytes, as: UTF8.self))
        case .data: .data([UInt8](bytes))
        case .timestamp: .timestamp(timestampValue)
        case .link: .link(linkValue)
        case .decimal: .decimal(decimalValue)
        case .objectID: .objectID(objectIDValue)
        case .uuid: .uuid(uuidValue)
        case .list, .map: NestedDocument.value(self)
        case .null, nil: .null
        }
    }
}
