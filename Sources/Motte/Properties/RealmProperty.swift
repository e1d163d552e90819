/// A property in a box of its own, declared with `let`: optionals and mixed values of models written before
/// `@Persisted`.
import Foundation
import MotteLiveObjects
import MotteValues

/// An optional value declared with `let`, beside `@Persisted var`.
public final class RealmProperty<Value: _Persistable>: Equatable {
    private var stored: Value
    private weak var object: ObjectBase?
    /// What it goes on with when its object is let go.
    private var row: (session: RealmSession, live: LiveObject)?
    private var column: UInt32 = 0
    private var recordedName: String?
    /// Where names are noted, in a prototype that turns key paths into them.
    private var names: KeyPathNames?

    /// An unmanaged property with the default of its type, which is nil for an optional.
    public init() { stored = Value._default() }

    /// The value. Of a managed object it reads and writes the database: reading is for the realm's owner, writing takes
    /// a write transaction.
    public var value: Value {
        get {
            if let names, let recordedName {
                names.add(recordedName)
                return Value._recorded(names)
            }
            guard let object = managed else { return stored }
            return Value._get(object, column)
        }
        set {
            guard let object = managed else {
                stored = newValue
                return
            }
            Value._set(object, column, newValue)
        }
    }

    private var managed: ObjectBase? {
        if column == 0 { return nil }
        return object ?? row.map { $0.session.object($0.live, as: DynamicObject.self) }
    }

    /// Whether both have equal values now.
    public static func == (left: RealmProperty, right: RealmProperty) -> Bool {
        if left === right { return true }
        guard let mine = left.value._dynamic as? AnyHashable else {
            return right.value._dynamic == nil && left.value._dynamic == nil
        }
        return mine == right.value._dynamic as? AnyHashable
    }
}

extension RealmProperty: FieldAccess {
    package static var shape: _Shape { Value._shape }
    package static var isCollection: Bool { false }
    package static var isWrapper: Bool { false }
    private static func read(_ pointer: UnsafeMutableRawPointer) -> RealmProperty {
        pointer.assumingMemoryBound(to: RealmProperty.self).pointee
    }
    package static func declaration(at pointer: UnsafeMutableRawPointer) -> (options: FieldOptions, origin: String?) {
        ([], nil)
    }
    package static func bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: UInt32) {
        read(pointer).object = object
        if let session = object.session, let live = object.live { read(pointer).row = (session, live) }
        read(pointer).column = column
    }
    package static func unbind(at pointer: UnsafeMutableRawPointer) {
        read(pointer).row = nil
        read(pointer).column = 0
    }
    package static func record(
        at pointer: UnsafeMutableRawPointer, _ name: String, _ field: Int, _ names: KeyPathNames
    ) {
        read(pointer).recordedName = name
        read(pointer).names = names
    }
    package static func value(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any? {
        read(pointer).value._dynamic
    }
    package static func assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Bool {
        guard let value = Value._convert(value) else { return false }
        read(pointer).value = value
        return true
    }
    package static func encode(at pointer: UnsafeMutableRawPointer, of object: ObjectBase, _ encoder: _Encoder) {
        read(pointer).stored._encode(encoder)
    }
    package static func linkedObject(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> ObjectBase? {
        read(pointer).stored._linkedObject
    }
    package static func collection(
        at pointer: UnsafeMutableRawPointer, of object: ObjectBase
    ) -> (any _CollectionValue)? { nil }
    package static func keepsUnmanagedCollection(at pointer: UnsafeMutableRawPointer) -> Bool { false }
    package static func dynamicValue(_ stored: MotteValues.Value, _ session: RealmSession?) -> Any? {
        Persisted<Value>.dynamicValue(stored, session)
    }
    package static func release(at pointer: UnsafeMutableRawPointer) { read(pointer).stored = Value._default() }
}

extension RealmProperty: Encodable where Value: Encodable {
    /// Encodes the value, also that of a managed object.
    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension RealmProperty: Decodable where Value: Decodable {
    /// Decodes the value into an unmanaged property. Throws what decoding the value throws.
    public convenience init(from decoder: Decoder) throws {
        self.init()
        stored = try decoder.singleValueContainer().decode(Value.self)
    }
}

/// A ``RealmProperty`` of an optional, seen without the type of its value.
private protocol OptionalProperty: AnyObject, FieldAccess {
    init()
    var untyped: Any? { get set }
}

extension RealmProperty: OptionalProperty {
    fileprivate var untyped: Any? {
        get { value }
        set { if let newValue = newValue as? Value { value = newValue } }
    }
}

extension _PersistableInsideOptional {
    fileprivate static var optionalProperty: any OptionalProperty.Type { RealmProperty<Self?>.self }
}

/// The older name of `RealmProperty<T?>`.
@available(*, deprecated, message: "declare an optional with @Persisted, or use RealmProperty")
public final class RealmOptional<Value: RealmOptionalType & _RealmSchemaDiscoverable>: Equatable {
    // Stored as that, by whose place the store finds it.
    fileprivate let property = RealmOptional.access.init()

    /// The value. Of a managed object it reads and writes the database: reading is for the realm's owner, writing takes
    /// a write transaction.
    public var value: Value? {
        get { property.untyped.flatMap { Dynamic.flattened($0) } as? Value }
        set { property.untyped = newValue as Any }
    }
    /// An unmanaged property with a value, nil by default.
    public init(_ value: Value? = nil) { self.value = value }
    /// Whether both have equal values now.
    public static func == (left: RealmOptional, right: RealmOptional) -> Bool {
        left.value as? AnyHashable == right.value as? AnyHashable
    }

    /// The number types, `Bool` and enums that can be stored are what there is to be optional.
    fileprivate static var access: any OptionalProperty.Type {
        guard let type = Value.self as? any _PersistableInsideOptional.Type else {
            endProgram("RealmOptional<\(Value.self)>: \(Value.self) cannot be stored; make it a PersistableEnum")
        }
        return type.optionalProperty
    }
}

@available(*, deprecated)
extension RealmOptional: FieldAccess {
    package static var shape: _Shape { access.shape }
    package static var isCollection: Bool { false }
    package static var isWrapper: Bool { false }

    /// `body` at the place of the property in the box.
    private static func inside<Result>(
        _ pointer: UnsafeMutableRawPointer, _ body: (UnsafeMutableRawPointer) -> Result
    ) -> Result {
        var property: AnyObject = pointer.assumingMemoryBound(to: RealmOptional.self).pointee.property
        return withUnsafeMutablePointer(to: &property) { body(UnsafeMutableRawPointer($0)) }
    }

    package static func declaration(at pointer: UnsafeMutableRawPointer) -> (options: FieldOptions, origin: String?) {
        ([], nil)
    }
    package static func bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: UInt32) {
        inside(pointer) { access.bind(at: $0, to: object, column) }
    }
    package static func unbind(at pointer: UnsafeMutableRawPointer) { inside(pointer) { access.unbind(at: $0) } }
    package static func record(
        at pointer: UnsafeMutableRawPointer, _ name: String, _ field: Int, _ names: KeyPathNames
    ) {
        inside(pointer) { access.record(at: $0, name, field, names) }
    }
    package static func value(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any? {
        inside(pointer) { access.value(at: $0, of: object) }
    }
    package static func assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Bool {
        inside(pointer) { access.assign(value, at: $0, of: object) }
    }
    package static func encode(at pointer: UnsafeMutableRawPointer, of object: ObjectBase, _ encoder: _Encoder) {
        inside(pointer) { access.encode(at: $0, of: object, encoder) }
    }
    package static func linkedObject(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> ObjectBase? { nil }
    package static func collection(
        at pointer: UnsafeMutableRawPointer, of object: ObjectBase
    ) -> (any _CollectionValue)? { nil }
    package static func keepsUnmanagedCollection(at pointer: UnsafeMutableRawPointer) -> Bool { false }
}

@available(*, deprecated)
extension RealmOptional: Codable where Value: Codable {
    /// Decodes the value, or null, into an unmanaged property. Throws what decoding the value throws.
    public convenience init(from decoder: Decoder) throws {
        let container = try decoder.singleValueContainer()
        self.init(container.decodeNil() ? nil : try container.decode(Value.self))
    }
    /// Encodes the value, or null, also that of a managed object.
    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}
