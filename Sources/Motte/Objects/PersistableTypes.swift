/// The built-in types that can be stored.
import Foundation
import MotteSchemaModel
import MotteValues

extension Bool: _Scalar {
    public static var _scalarType: _ScalarType { _ScalarType(type: .bool) }
    public static func _default() -> Bool { false }
    public var _storedScalar: _StoredValue { _StoredValue(.bool(self)) }
    public init?(_stored: _StoredValue) {
        guard case .bool(let value) = _stored.value else { return nil }
        self = value
    }
}

/// Integers of all widths are stored in 64 bits.
public protocol _StoredInteger: _Scalar, FixedWidthInteger {}

extension _StoredInteger {
    public static var _scalarType: _ScalarType { _ScalarType(type: .int) }
    public static func _default() -> Self { 0 }
    public var _storedScalar: _StoredValue { _StoredValue(.int(Int64(self))) }
    public init?(_stored: _StoredValue) {
        guard case .int(let value) = _stored.value, let exact = Self(exactly: value) else { return nil }
        self = exact
    }
}

extension Int: _StoredInteger {}
extension Int8: _StoredInteger {}
extension Int16: _StoredInteger {}
extension Int32: _StoredInteger {}
extension Int64: _StoredInteger {}

extension Float: _Scalar {
    public static var _scalarType: _ScalarType { _ScalarType(type: .float) }
    public static func _default() -> Float { 0 }
    public var _storedScalar: _StoredValue { _StoredValue(.float(self)) }
    public init?(_stored: _StoredValue) {
        switch _stored.value {
        case .float(let value): self = value
        case .double(let value): self = Float(value)
        case .int(let value): self = Float(value)
        default: return nil
        }
    }
}

extension Double: _Scalar {
    public static var _scalarType: _ScalarType { _ScalarType(type: .double) }
    public static func _default() -> Double { 0 }
    public var _storedScalar: _StoredValue { _StoredValue(.double(self)) }
    public init?(_stored: _StoredValue) {
        switch _stored.value {
        case .double(let value): self = value
        case .float(let value): self = Double(value)
        case .int(let value): self = Double(value)
        default: return nil
        }
    }
}

extension String: _Scalar {
    public static var _scalarType: _ScalarType { _ScalarType(type: .string) }
    public static func _default() -> String { "" }
    public var _storedScalar: _StoredValue { _StoredValue(.string(self)) }
    public init?(_stored: _StoredValue) {
        guard case .string(let value) = _stored.value else { return nil }
        self = value
    }
}

extension Data: _Scalar {
    public static var _scalarType: _ScalarType { _ScalarType(type: .data) }
    public static func _default() -> Data { Data() }
    public var _storedScalar: _StoredValue { _StoredValue(.data([UInt8](self))) }
    public init?(_stored: _StoredValue) {
        guard case .data(let value) = _stored.value else { return nil }
        self = Data(value)
    }
}

/// Kept to the nanosecond as far as a Date has them.
extension Date: _Scalar {
    public static var _scalarType: _ScalarType { _ScalarType(type: .timestamp) }
    public static func _default() -> Date { Date() }

    public var _storedScalar: _StoredValue {
        let interval = timeIntervalSince1970
        guard interval.isFinite else { return _StoredValue(.timestamp(Timestamp(seconds: 0, nanoseconds: 0))) }
        let whole = interval.rounded(.down)
        let nanoseconds = min(999_999_999, UInt32(((interval - whole) * 1e9).rounded(.towardZero)))
        let seconds = whole >= 0x1p63 ? Int64.max : whole < -0x1p63 ? Int64.min : Int64(whole)
        return _StoredValue(.timestamp(Timestamp(seconds: seconds, nanoseconds: nanoseconds)))
    }

    public init?(_stored: _StoredValue) {
        guard case .timestamp(let value) = _stored.value else { return nil }
        self = Date(timeIntervalSince1970: Double(value.seconds) + Double(value.nanoseconds) / 1e9)
    }
}

/// Links: `@Persisted var owner: Person?`.
extension Object: _OptionalPersistable {
    public static var _optionalShape: _PropertyShape { _PropertyShape(type: .link, isNullable: true, target: self) }

    public static func _optional(_ stored: _StoredValue, _ session: ObjectBase) -> Self? {
        guard case .link(let link) = stored.value, let realm = session.session else { return nil }
        return misuse { try realm.object(link, as: Self.self) }
    }

    public func _storedForWriting(_ owner: ObjectBase) -> _StoredValue {
        guard let realm = owner.session else { preconditionFailure("The owner is not managed by a realm") }
        return misuse { _StoredValue(.link(try realm.added(self).link)) }
    }

    public static func _optionalFromAny(_ value: Any) -> Self? {
        if let object = value as? Self { return object }
        guard value is [String: Any] || value is [Any] else { return nil }
        let made = Self()
        ObjectValues.assign(value, to: made)
        return made
    }
}
