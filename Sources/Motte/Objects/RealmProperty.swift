/// A property in a box of its own, declared with `let`: optionals and mixed values of models written before
/// `@Persisted`.
import Foundation
import MotteLiveObjects
import MotteValues

/// An optional value declared with `let`, beside `@Persisted var`.
public final class RealmProperty<Value: _Persistable>: Equatable {
    private var stored: Value
    private weak var object: ObjectBase?
    private var column: UInt32 = 0
    private var recordedName: String?

    public init() { stored = Value._default() }

    public var value: Value {
        get {
            guard column != 0, let object else { return stored }
            return Value._get(object, column)
        }
        set {
            guard column != 0, let object else {
                stored = newValue
                return
            }
            Value._set(object, column, newValue)
        }
    }

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
        read(pointer).column = column
    }
    package static func record(at pointer: UnsafeMutableRawPointer, _ name: String, _ field: Int) {
        read(pointer).recordedName = name
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
}

extension RealmProperty: Encodable where Value: Encodable {
    public func encode(to encoder: Encoder) throws { try value.encode(to: encoder) }
}

extension RealmProperty: Decodable where Value: Decodable {
    public convenience init(from decoder: Decoder) throws {
        self.init()
        stored = try Value(from: decoder)
    }
}

/// The older name of `RealmProperty<T?>`.
@available(*, deprecated, message: "declare an optional with @Persisted, or use RealmProperty")
public final class RealmOptional<Value: RealmOptionalType>: Equatable {
    public var value: Value?
    public init(_ value: Value? = nil) { self.value = value }
    public static func == (left: RealmOptional, right: RealmOptional) -> Bool {
        left === right || (left.value as? AnyHashable) == (right.value as? AnyHashable)
    }
}

@available(*, deprecated)
extension RealmOptional: Codable where Value: Codable {
    public convenience init(from decoder: Decoder) throws {
        let container = try decoder.singleValueContainer()
        self.init(container.decodeNil() ? nil : try container.decode(Value.self))
    }
    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}
