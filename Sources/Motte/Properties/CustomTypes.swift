/// Enums and types of a program's own, stored as something else: `PersistableEnum` by raw value, `CustomPersistable`
/// and `FailableCustomPersistable` by whatever `persistableValue` is. The store knows nothing of them.
import Foundation
import MotteSchemaModel
import MotteValues

/// An enum that is stored as its raw value. Stored values that are no case read as nil where the property is optional,
/// and are misuse elsewhere.
public protocol PersistableEnum: _PersistableInsideOptional, RawRepresentable, CaseIterable, RealmEnum,
    _RealmCollectionValueInsideOptional, MinMaxType, Comparable, _ObjcBridgeable, _DefaultConstructible
where RawValue: Comparable, RawValue: _HasPersistedType {}

extension PersistableEnum {
    /// The first case. An enum without cases cannot be stored: using it ends the program.
    public init() { self = Self._default() }
    /// In the order of the raw values.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension PersistableEnum where RawValue: _PersistableInsideOptional & _RealmCollectionValueInsideOptional {
    /// Stored as its raw value.
    public typealias PersistedType = RawValue
}

extension PersistableEnum {
    public static var _shape: _Shape { RawValue._shape }
    public static func _default() -> Self {
        guard let first = allCases.first else { endProgram("\(Self.self) has no cases; a stored enum needs one") }
        return first
    }
    public static func _decode(_ stored: _Stored) -> Self? { RawValue._decode(stored).flatMap(Self.init(rawValue:)) }
    public func _encode(_ encoder: _Encoder) { rawValue._encode(encoder) }
    public static func _convert(_ value: Any?) -> Self? {
        guard let value = Dynamic.flattened(value) else { return nil }
        return value as? Self ?? RawValue._convert(value).flatMap(Self.init(rawValue:))
    }
}

public protocol _CustomPersistable: _PersistableInsideOptional, _RealmCollectionValueInsideOptional, _ObjcBridgeable,
    _DefaultConstructible
{}

/// A type of the program's own that is stored as another one.
public protocol CustomPersistable: _CustomPersistable {
    // Said again, so that it is inferred from what is below.
    /// What it is stored as: a type of Motte's, or an embedded object.
    associatedtype PersistedType
    /// Made from what is stored. Called for every read; it has to take every value.
    init(persistedValue: PersistedType)
    /// What is stored for this value. Called for every write; equal values should give equal ones.
    var persistableValue: PersistedType { get }
}

/// The same for a type that not every stored value can be made into.
public protocol FailableCustomPersistable: _CustomPersistable {
    /// What it is stored as: a type of Motte's, or an embedded object.
    associatedtype PersistedType
    /// Made from what is stored; nil where that is no value of the type. Optional properties then read nil, others are
    /// misuse.
    init?(persistedValue: PersistedType)
    /// What is stored for this value. Called for every write; equal values should give equal ones.
    var persistableValue: PersistedType { get }
}

extension _CustomPersistable {
    public static var _shape: _Shape { PersistedType._shape.custom }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: Self) {
        if _shape.type == .link {
            object._writeLink(column, value._linkedObject)
        } else {
            object._write(column, value)
        }
    }
}

extension CustomPersistable {
    public static func _default() -> Self { Self(persistedValue: PersistedType._default()) }
    public static func _initial() -> Self { Self(persistedValue: PersistedType._initial()) }
    public static func _decode(_ stored: _Stored) -> Self? {
        // No embedded object is one with its defaults.
        if stored.view.isNull, _shape.type == .link { return _default() }
        return PersistedType._decode(stored).map(Self.init(persistedValue:))
    }
    public func _encode(_ encoder: _Encoder) { persistableValue._encode(encoder) }
    public var _linkedObject: ObjectBase? { persistableValue._linkedObject }
    public static func _convert(_ value: Any?) -> Self? {
        guard let value = Dynamic.flattened(value) else { return nil }
        return value as? Self ?? PersistedType._convert(value).map(Self.init(persistedValue:))
    }
    /// By what is stored for it.
    public func hash(into hasher: inout Hasher) { (persistableValue as any Hashable).hash(into: &hasher) }
}

extension FailableCustomPersistable {
    public static var _hasInitial: Bool { Self(persistedValue: PersistedType._initial()) != nil }
    /// A type that cannot be made from the default of what it is stored as must have initial values in its models:
    /// reading anything else is misuse, after which there is no value to go on with.
    public static func _default() -> Self {
        if let value = Self(persistedValue: PersistedType._default()) { return value }
        misuse(_noInitial, .invalidInput)
        endProgram(_noInitial)
    }
    private static var _noInitial: String {
        "Failed to convert persisted value '\(PersistedType._default())' to type '\(Self.self)' in a non-optional "
            + "context; give the property an initial value"
    }
    public static func _decode(_ stored: _Stored) -> Self? {
        if stored.view.isNull, _shape.type == .link { return Self(persistedValue: PersistedType._default()) }
        return PersistedType._decode(stored).flatMap(Self.init(persistedValue:))
    }
    public func _encode(_ encoder: _Encoder) { persistableValue._encode(encoder) }
    public var _linkedObject: ObjectBase? { persistableValue._linkedObject }
    public static func _convert(_ value: Any?) -> Self? {
        guard let value = Dynamic.flattened(value) else { return nil }
        return value as? Self ?? PersistedType._convert(value).flatMap(Self.init(persistedValue:))
    }
    /// By what is stored for it.
    public func hash(into hasher: inout Hasher) { (persistableValue as any Hashable).hash(into: &hasher) }
}
