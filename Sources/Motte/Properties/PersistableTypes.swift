/// The built-in types that can be stored, and how each is read and written.
///
/// Numbers are read from any number that they can hold exactly or, for the floating ones, approximate; everything else
/// is read from its own kind only. The accessors of a property are concrete per type and live here, in the library, so
/// that they are fast also when the program is built without optimisation.
import Foundation
import MotteSchemaModel
import MotteValues

extension Bool: _Basic, _PrimaryKey, _Indexable, RealmOptionalType {
    /// Stored as a bool.
    public typealias PersistedType = Bool
    public static var _shape: _Shape { _Shape(.bool) }
    public static func _default() -> Bool { false }
    public static func _decode(_ stored: _Stored) -> Bool? {
        stored.view.kind == .bool ? stored.view.boolValue : nil
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.bool(self)) }
    /// Also the numbers 0 and 1.
    public static func _convert(_ value: Any?) -> Bool? {
        if let exact = Dynamic.convert(value, to: Bool.self) { return exact }
        switch Int._convert(value) {
        case 0: return false
        case 1: return true
        default: return nil
        }
    }
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Bool {
        if let cell = object._cell(column, .bool) { return cell.bool }
        return object._read(column)
    }
}

/// Integers of all widths are stored in 64 bits and declared with their own, so that nobody writes what does not fit.
public protocol _StoredInteger: _Basic, FixedWidthInteger, _PrimaryKey, _Indexable, MinMaxType, AddableType,
    SortableType, _QueryArithmetic, RealmOptionalType
{}

extension _StoredInteger {
    public static var _shape: _Shape { .int(bits: bitWidth) }
    public static func _default() -> Self { 0 }
    @inline(__always)
    public static func _decode(_ stored: _Stored) -> Self? {
        switch stored.view.kind {
        case .int: return Self(exactly: stored.view.intValue)
        case .double: return Self(exactly: stored.view.doubleValue)
        case .float: return Self(exactly: stored.view.floatValue)
        case .decimal: return Self(exactly: stored.view.decimalValue.doubleValue)
        default: return nil
        }
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.int(Int64(truncatingIfNeeded: self))) }
    /// A narrow one is a number object, which is cast to an int of any width.
    public var _dynamic: Any? { self is Int ? self : NSNumber(value: Int64(truncatingIfNeeded: self)) }
}

extension Int: _StoredInteger {
    /// Stored as an int of 64 bits.
    public typealias PersistedType = Int
    /// 64 bits, whatever the platform: it stands for no bound.
    public static var _shape: _Shape { _Shape(.int) }
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Int {
        if let cell = object._cell(column, .int) { return Int(cell.int) }
        return readOtherwise(object, column)
    }
    @inline(never)
    private static func readOtherwise(_ object: ObjectBase, _ column: UInt32) -> Int { object._read(column) }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: Int) {
        object._write(column, view: .int(Int64(value)))
    }
}
extension Int8: _StoredInteger {
    /// Stored as an int of 64 bits that the schema limits to the range of this type.
    public typealias PersistedType = Int8
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Int8 {
        if let cell = object._cell(column, .int), let value = Int8(exactly: cell.int) { return value }
        return object._read(column)
    }
}
extension Int16: _StoredInteger {
    /// Stored as an int of 64 bits that the schema limits to the range of this type.
    public typealias PersistedType = Int16
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Int16 {
        if let cell = object._cell(column, .int), let value = Int16(exactly: cell.int) { return value }
        return object._read(column)
    }
}
extension Int32: _StoredInteger {
    /// Stored as an int of 64 bits that the schema limits to the range of this type.
    public typealias PersistedType = Int32
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Int32 {
        if let cell = object._cell(column, .int), let value = Int32(exactly: cell.int) { return value }
        return object._read(column)
    }
}
extension Int64: _StoredInteger {
    /// Stored as an int of 64 bits.
    public typealias PersistedType = Int64
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Int64 {
        if let cell = object._cell(column, .int) { return cell.int }
        return object._read(column)
    }
}

extension Float: _Basic, MinMaxType, AddableType, SortableType, _QueryArithmetic, RealmOptionalType {
    /// Stored as a float of 32 bits.
    public typealias PersistedType = Float
    public static var _shape: _Shape { _Shape(.float) }
    public static func _default() -> Float { 0 }
    public static func _decode(_ stored: _Stored) -> Float? {
        switch stored.view.kind {
        case .float: stored.view.floatValue
        default: Double._decode(stored).map { Float($0) }
        }
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.float(self)) }
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Float {
        if let cell = object._cell(column, .float) { return cell.float }
        return object._read(column)
    }
}

extension Double: _Basic, MinMaxType, AddableType, SortableType, _QueryArithmetic, RealmOptionalType {
    /// Stored as a double of 64 bits.
    public typealias PersistedType = Double
    public static var _shape: _Shape { _Shape(.double) }
    public static func _default() -> Double { 0 }
    public static func _decode(_ stored: _Stored) -> Double? {
        switch stored.view.kind {
        case .double: stored.view.doubleValue
        case .float: Double(stored.view.floatValue)
        case .int: Double(stored.view.intValue)
        case .decimal: stored.view.decimalValue.doubleValue
        default: nil
        }
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.double(self)) }
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Double {
        if let cell = object._cell(column, .double) { return cell.double }
        return readOtherwise(object, column)
    }
    @inline(never)
    private static func readOtherwise(_ object: ObjectBase, _ column: UInt32) -> Double { object._read(column) }
}

/// Stored as a double; prefer `Double`, which is the same on every platform.
extension CGFloat: _Basic, MinMaxType, AddableType, SortableType, _QueryArithmetic, RealmOptionalType {
    /// Stored as a double of 64 bits.
    public typealias PersistedType = CGFloat
    public static var _shape: _Shape { _Shape(.double) }
    public static func _default() -> CGFloat { 0 }
    public static func _decode(_ stored: _Stored) -> CGFloat? { Double._decode(stored).map { CGFloat($0) } }
    public func _encode(_ encoder: _Encoder) { encoder.put(.double(Double(self))) }
}

extension String: _Basic, _PrimaryKey, _Indexable, SortableType, _QueryString, _MapKey {
    /// Stored as UTF-8.
    public typealias PersistedType = String
    public static var _shape: _Shape { _Shape(.string) }
    public static func _default() -> String { "" }
    public static func _decode(_ stored: _Stored) -> String? {
        stored.view.kind == .string ? String(decoding: stored.view.bytes, as: UTF8.self) : nil
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(self) }
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> String {
        if let cell = object._cell(column, .string) { return String(decoding: cell.bytes, as: UTF8.self) }
        return object._read(column)
    }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: String) {
        value.withUTF8Bytes { object._write(column, view: .string($0)) }
    }
    public var _mapKeyText: String { self }
    /// The key that a text stands for. For Motte's own use.
    public init(_mapKeyText: String) { self = _mapKeyText }
}

extension Data: _Basic, SortableType, _QueryBinary {
    /// Stored as its bytes.
    public typealias PersistedType = Data
    public static var _shape: _Shape { _Shape(.data) }
    public static func _default() -> Data { Data() }
    public static func _decode(_ stored: _Stored) -> Data? {
        stored.view.kind == .data ? Data(stored.view.bytes) : nil
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(self, kind: .data) }
}

extension Date: _Basic, _Indexable, MinMaxType, SortableType, _QueryNumeric, _QueryTime {
    /// Stored as a timestamp: seconds since 1970 and nanoseconds. A `Date` of this century survives a round trip
    /// exactly.
    public typealias PersistedType = Date
    public static var _shape: _Shape { _Shape(.timestamp) }
    public static func _default() -> Date { Date(timeIntervalSince1970: 0) }
    public static func _initial() -> Date { Date() }
    public static func _decode(_ stored: _Stored) -> Date? {
        stored.view.kind == .timestamp ? Date(stored.view.timestampValue) : nil
    }
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Date {
        if let cell = object._cell(column, .timestamp) { return Date(cell.timestamp) }
        return object._read(column)
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.timestamp(_timestamp)) }
}

extension UUID: _Basic, _PrimaryKey, _Indexable {
    /// Stored as 16 bytes.
    public typealias PersistedType = UUID
    public static var _shape: _Shape { _Shape(.uuid) }
    public static func _default() -> UUID { UUID(uuid: UUID_NULL) }
    public static func _initial() -> UUID { UUID() }
    public static func _decode(_ stored: _Stored) -> UUID? {
        stored.view.kind == .uuid ? UUID(stored.view.uuidValue) : nil
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.uuid(_bytes)) }
    /// Also from its text.
    public static func _convert(_ value: Any?) -> UUID? {
        Dynamic.convert(value, to: UUID.self) ?? Dynamic.text(in: value).flatMap { UUID(uuidString: $0) }
    }

    package init(_ bytes: UUIDBytes) {
        self = bytes.withBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
    package var _bytes: UUIDBytes { withUnsafeBytes(of: uuid) { UUIDBytes($0) } }
}

private let UUID_NULL: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

extension ObjectId: _Basic, _PrimaryKey, _Indexable {
    /// Stored as 12 bytes.
    public typealias PersistedType = ObjectId
    public static var _shape: _Shape { _Shape(.objectID) }
    public static func _default() -> ObjectId { ObjectId(.zero) }
    public static func _initial() -> ObjectId { .generate() }
    public static func _decode(_ stored: _Stored) -> ObjectId? {
        stored.view.kind == .objectID ? ObjectId(stored.view.objectIDValue) : nil
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.objectID(engine)) }
    /// Also from its 24 digits.
    public static func _convert(_ value: Any?) -> ObjectId? {
        Dynamic.convert(value, to: ObjectId.self)
            ?? Dynamic.text(in: value).flatMap { MotteValues.ObjectID(parsing: $0) }.map { ObjectId($0) }
    }
}

extension Decimal128: _Basic, MinMaxType, AddableType, SortableType, _QueryArithmetic {
    /// Stored as a decimal128 of 16 bytes.
    public typealias PersistedType = Decimal128
    public static var _shape: _Shape { _Shape(.decimal) }
    public static func _default() -> Decimal128 { Decimal128(.zero) }
    public static func _decode(_ stored: _Stored) -> Decimal128? {
        switch stored.view.kind {
        case .decimal: Decimal128(stored.view.decimalValue)
        case .int: Decimal128(MotteValues.Decimal128(stored.view.intValue))
        case .double: Decimal128(MotteValues.Decimal128(stored.view.doubleValue))
        case .float: Decimal128(MotteValues.Decimal128(Double(stored.view.floatValue)))
        default: nil
        }
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(.decimal(engine)) }
    /// Also from text, which keeps every digit; text that is no number is no decimal here.
    public static func _convert(_ value: Any?) -> Decimal128? {
        Dynamic.convert(value, to: Decimal128.self)
            ?? Dynamic.text(in: value).flatMap { MotteValues.Decimal128(parsing: $0) }.map { Decimal128($0) }
    }
}

// MARK: Foundation's number and date objects, as results of totals

extension NSNumber: _HasPersistedType, MinMaxType, AddableType {
    /// The type of a total only: properties are declared with number types of Swift's.
    public typealias PersistedType = NSNumber
    public static var _shape: _Shape { _Shape(.double) }
    public static func _default() -> Self { made(NSNumber(value: 0)) }
    public static func _decode(_ stored: _Stored) -> Self? {
        stored.view.kind == .int
            ? made(NSNumber(value: stored.view.intValue)) : Double._decode(stored).map { made(NSNumber(value: $0)) }
    }
    private static func made(_ number: NSNumber) -> Self {
        guard let number = number as? Self else {
            endProgram("\(Self.self) cannot be the type of a total; use NSNumber")
        }
        return number
    }
    public func _encode(_ encoder: _Encoder) {
        // What cannot be stored as it is, is refused: nobody reads another number than was given.
        if let number = self as? NSDecimalNumber {
            guard let decimal = MotteValues.Decimal128(parsing: number.stringValue) else {
                return encoder.refuse(self)
            }
            return encoder.put(.decimal(decimal))
        }
        switch String(cString: objCType) {
        // Of a Bool alone; the smallest integers say that they are larger ones.
        case "c", "B": encoder.put(.bool(boolValue))
        case "d": encoder.put(.double(doubleValue))
        case "f": encoder.put(.float(floatValue))
        case "Q":
            guard let number = Int64(exactly: uint64Value) else { return encoder.refuse(self) }
            encoder.put(.int(number))
        default: encoder.put(.int(int64Value))
        }
    }
}

extension NSDate: _HasPersistedType, MinMaxType {
    /// The type of a smallest or greatest date only: properties are declared as `Date`.
    public typealias PersistedType = NSDate
    public static var _shape: _Shape { _Shape(.timestamp) }
    public static func _default() -> Self { made(NSDate(timeIntervalSince1970: 0)) }
    public static func _decode(_ stored: _Stored) -> Self? {
        Date._decode(stored).map { made(NSDate(timeIntervalSinceReferenceDate: $0.timeIntervalSinceReferenceDate)) }
    }
    private static func made(_ date: NSDate) -> Self {
        guard let date = date as? Self else { endProgram("\(Self.self) cannot be the type of a total; use NSDate") }
        return date
    }
    public func _encode(_ encoder: _Encoder) {
        Date(timeIntervalSinceReferenceDate: timeIntervalSinceReferenceDate)._encode(encoder)
    }
}

// MARK: Optionals

extension Optional: OptionalProtocol {
    public var _wrapped: Wrapped? { self }
    /// Some value or nil. For Motte's own use.
    public init(_wrapped: Wrapped?) { self = _wrapped }
}
extension Optional: _HasPersistedType where Wrapped: _HasPersistedType {
    /// Stored as its value is, or as null.
    public typealias PersistedType = Wrapped.PersistedType?
    public static var _shape: _Shape { Wrapped._shape.optional }
    public static func _default() -> Wrapped? { nil }
    @inline(__always)
    public static func _decode(_ stored: _Stored) -> Wrapped?? {
        if stored.view.isNull { return .some(nil) }
        if let value = Wrapped._decode(stored) { return .some(value) }
        return mayFail ? .some(nil) : nil
    }
    /// Whether a value that is stored as it should be can still be none of these: an enum's unknown raw value, or what
    /// a type of the program's own cannot be made from.
    @inline(never)
    private static var mayFail: Bool {
        Wrapped.self is any PersistableEnum.Type || Wrapped.self is any FailableCustomPersistable.Type
    }
    public func _encode(_ encoder: _Encoder) {
        if let self { self._encode(encoder) } else { encoder.put(.null) }
    }
    public static func _convert(_ value: Any?) -> Wrapped?? {
        guard let value = Dynamic.flattened(value) else { return .some(nil) }
        return Wrapped._convert(value).map { .some($0) }
    }
    public var _dynamic: Any? { flatMap { $0._dynamic } }
    public var _linkedObject: ObjectBase? { flatMap { $0._linkedObject } }
    /// Only paths through objects go on; a value may not be to be had.
    public static func _recorded(_ names: KeyPathNames) -> Wrapped? {
        Wrapped.self is ObjectBase.Type ? Wrapped._recorded(names) : nil
    }
}
extension Optional: _RealmSchemaDiscoverable where Wrapped: _RealmSchemaDiscoverable {}
extension Optional: _Persistable where Wrapped: _PersistableInsideOptional {
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Wrapped? { object._read(column) }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: Wrapped?) {
        if Wrapped._shape.target != nil {
            object._writeLink(column, value?._linkedObject)
        } else {
            object._write(column, value)
        }
    }
}
extension Optional: RealmCollectionValue where Wrapped: _RealmCollectionValueInsideOptional {}
extension Optional: _DefaultConstructible {}
extension Optional: _ObjcBridgeable {}
extension Optional: MinMaxType where Wrapped: MinMaxType {}
extension Optional: AddableType where Wrapped: AddableType {}
extension Optional: SortableType where Wrapped: SortableType {}
extension Optional: _Indexable where Wrapped: _Indexable {}
extension Optional: _PrimaryKey where Wrapped: _PrimaryKey {}
extension Optional: _QueryOrdered where Wrapped: _Persistable, Wrapped.PersistedType: _QueryOrdered {}
extension Optional: _QueryNumeric where Wrapped: _Persistable, Wrapped.PersistedType: _QueryNumeric {}
extension Optional: _QueryArithmetic where Wrapped: _Persistable, Wrapped.PersistedType: _QueryArithmetic {}
extension Optional: _QueryTime where Wrapped == Date {}
extension Optional: _QueryBinary where Wrapped: _Persistable, Wrapped.PersistedType: _QueryBinary {}
extension Optional: _QueryString where Wrapped: _Persistable, Wrapped.PersistedType: _QueryString {}

// MARK: Time

extension Date {
    /// Seconds since 1970 in 64 bits and nanoseconds: what a `Date` of this century distinguishes survives exactly,
    /// because the fraction is taken from the seconds since 2001 that a `Date` holds.
    package var _timestamp: Timestamp {
        let interval = timeIntervalSinceReferenceDate
        guard interval.isFinite, abs(interval) < 9e18 else {
            return Timestamp(seconds: interval > 0 ? Int64.max / 2 : Int64.min / 2, nanoseconds: 0)
        }
        let whole = interval.rounded(.down)
        var nanoseconds = ((interval - whole) * 1e9).rounded()
        var seconds = Int64(whole) + Date.referenceOffset
        if nanoseconds >= 1e9 {
            nanoseconds = 0
            seconds += 1
        }
        return Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds))
    }

    package init(_ timestamp: Timestamp) {
        let whole = Double(timestamp.seconds &- Date.referenceOffset)
        self.init(timeIntervalSinceReferenceDate: whole + Double(timestamp.nanoseconds) / 1e9)
    }

    /// Seconds from 1970 to 2001.
    private static let referenceOffset: Int64 = 978_307_200
}
