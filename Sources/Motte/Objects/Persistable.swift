/// Which Swift types a `@Persisted` property may have.
///
///     scalars            Bool, Int..., Float, Double, String, Data, Date, and their optionals
///     links              T? of an Object subclass
///     List<T>            of scalars and objects
///     LinkingObjects<T>  computed
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

public protocol _Persistable {
    static var _shape: _PropertyShape { get }
    /// What a property without an initial value begins with.
    static func _default() -> Self
    static func _read(_ object: ObjectBase, _ column: _Column) -> Self
    func _write(_ object: ObjectBase, _ column: _Column)
    /// Collections are tied to their object once and then stay; scalars are not.
    static func _attached(_ value: Self?, to object: ObjectBase, _ column: _Column?, origin: String?) -> Self?
    /// nil for what is not one value (collections).
    var _stored: _StoredValue? { get }
    static func _fromAny(_ value: Any?) -> Self?
}

extension _Persistable {
    public static func _attached(
        _ value: Self?, to object: ObjectBase, _ column: _Column?, origin: String?
    ) -> Self? { nil }
}

/// What may stand in a `T?` property, in a list, or as a query argument.
public protocol _OptionalPersistable {
    static var _optionalShape: _PropertyShape { get }
    static func _optional(_ stored: _StoredValue, _ session: ObjectBase) -> Self?
    /// The value as stored; an unmanaged object is added to the realm of `owner` on the way.
    func _storedForWriting(_ owner: ObjectBase) -> _StoredValue
    static func _optionalFromAny(_ value: Any) -> Self?
}

/// A value without identity.
public protocol _Scalar: _Persistable, _OptionalPersistable {
    static var _scalarType: _ScalarType { get }
    init?(_stored: _StoredValue)
    var _storedScalar: _StoredValue { get }
}

/// Opaque to programs.
public struct _ScalarType {
    package let type: PropertyType
}

extension _Scalar {
    public static var _shape: _PropertyShape { _PropertyShape(type: _scalarType.type) }
    public static var _optionalShape: _PropertyShape { _PropertyShape(type: _scalarType.type, isNullable: true) }
    public var _stored: _StoredValue? { _storedScalar }

    public static func _read(_ object: ObjectBase, _ column: _Column) -> Self {
        let stored = misuse { try object.requireLive().get(column.key).owned }
        guard let value = Self(_stored: _StoredValue(stored)) else {
            preconditionFailure("The stored value \(stored.text) is out of range for \(Self.self)")
        }
        return value
    }

    public func _write(_ object: ObjectBase, _ column: _Column) { writeStored(_storedScalar, object, column) }
    public static func _optional(_ stored: _StoredValue, _ session: ObjectBase) -> Self? { Self(_stored: stored) }
    public func _storedForWriting(_ owner: ObjectBase) -> _StoredValue { _storedScalar }
    public static func _fromAny(_ value: Any?) -> Self? { value.flatMap(_optionalFromAny) }
    public static func _optionalFromAny(_ value: Any) -> Self? {
        if let exact = value as? Self { return exact }
        return (value as? any _Scalar).flatMap { Self(_stored: $0._storedScalar) }
    }
}

package func writeStored(_ stored: _StoredValue, _ object: ObjectBase, _ column: _Column) {
    misuse {
        try stored.value.withView { view throws(DatabaseError) in try object.requireLive().set(column.key, to: view) }
    }
}

extension Optional: _Persistable where Wrapped: _OptionalPersistable {
    public static var _shape: _PropertyShape { Wrapped._optionalShape }
    public static func _default() -> Wrapped? { nil }

    public static func _read(_ object: ObjectBase, _ column: _Column) -> Wrapped? {
        let stored = misuse { try object.requireLive().get(column.key).owned }
        return stored.isNull ? nil : Wrapped._optional(_StoredValue(stored), object)
    }

    public func _write(_ object: ObjectBase, _ column: _Column) {
        writeStored(map { $0._storedForWriting(object) } ?? _StoredValue(.null), object, column)
    }

    public var _stored: _StoredValue? { (self as? any _Scalar)?._storedScalar ?? _StoredValue(.null) }
    public static func _fromAny(_ value: Any?) -> Wrapped?? {
        guard let value, !(value is NSNull) else { return .some(nil) }
        return Wrapped._optionalFromAny(value).map { .some($0) }
    }
}
