/// The property wrapper of models: `@Persisted var name: String`.
///
/// Unmanaged, it holds the value itself. Managed, it holds the column and every access goes to the store, so that two
/// objects of one row never disagree. Lists and inverse links are made once and tied to their object.
import Foundation
import MotteSchemaModel
import MotteValues

@propertyWrapper
public struct Persisted<Value: _Persistable> {
    private enum Storage {
        case initial(() -> Value)
        case value(Value)
        case managed(_Column)
        case named(String)
    }

    private var storage: Storage
    private var isPrimaryKey = false
    private var isIndexed = false
    private var originProperty: String?

    public init() { storage = .initial(Value._default) }
    public init(wrappedValue value: @autoclosure @escaping () -> Value) { storage = .initial(value) }

    public init(primaryKey: Bool) where Value: _PrimaryKey {
        self.init()
        isPrimaryKey = primaryKey
    }

    public init(wrappedValue value: @autoclosure @escaping () -> Value, primaryKey: Bool) where Value: _PrimaryKey {
        storage = .initial(value)
        isPrimaryKey = primaryKey
    }

    public init(indexed: Bool) where Value: _Indexable {
        self.init()
        isIndexed = indexed
    }

    public init(wrappedValue value: @autoclosure @escaping () -> Value, indexed: Bool) where Value: _Indexable {
        storage = .initial(value)
        isIndexed = indexed
    }

    public init<Element: Object>(originProperty: String) where Value == LinkingObjects<Element> {
        self.init()
        self.originProperty = originProperty
    }

    @available(*, unavailable, message: "@Persisted can only be used as a property of an Object")
    public var wrappedValue: Value {
        get { preconditionFailure("unavailable") }
        set { preconditionFailure("unavailable \(newValue)") }
    }

    public static subscript<Root: ObjectBase>(
        _enclosingInstance instance: Root, wrapped wrappedKeyPath: ReferenceWritableKeyPath<Root, Value>,
        storage storageKeyPath: ReferenceWritableKeyPath<Root, Self>
    ) -> Value {
        get {
            switch instance[keyPath: storageKeyPath].storage {
            case .managed(let column): return Value._read(instance, column)
            case .value(let value): return value
            case .initial(let make):
                let value = make()
                // Made once: an unmanaged property keeps what it has shown, and a collection its identity.
                instance[keyPath: storageKeyPath].storage = .value(value)
                return value
            case .named(let name):
                instance.recorder?.names.append(name)
                return Value._default()
            }
        }
        set {
            switch instance[keyPath: storageKeyPath].storage {
            case .managed(let column): newValue._write(instance, column)
            case .value(let current):
                if !assignCollection(newValue, to: current) {
                    instance[keyPath: storageKeyPath].storage = .value(newValue)
                }
            case .initial, .named: instance[keyPath: storageKeyPath].storage = .value(newValue)
            }
        }
    }

    /// A managed list keeps its identity: the new elements are copied into it.
    private static func assignCollection(_ newValue: Value, to current: Value) -> Bool {
        guard let list = current as? any _AnyList, list._isManaged else { return false }
        list._replace(with: newValue)
        return true
    }
}

/// The marker of what may be a primary key, and of what may be indexed.
public protocol _PrimaryKey {}
public protocol _Indexable {}
extension Int: _PrimaryKey, _Indexable {}
extension Int8: _PrimaryKey, _Indexable {}
extension Int16: _PrimaryKey, _Indexable {}
extension Int32: _PrimaryKey, _Indexable {}
extension Int64: _PrimaryKey, _Indexable {}
extension String: _PrimaryKey, _Indexable {}
extension Bool: _Indexable {}
extension Date: _Indexable {}
extension Optional: _PrimaryKey where Wrapped: _PrimaryKey {}
extension Optional: _Indexable where Wrapped: _Indexable {}

/// What schema discovery and materialising need of a wrapper, at its place inside an object.
package protocol AnyPersisted {
    static var _shape: _PropertyShape { get }
    static func _flags(at pointer: UnsafeMutableRawPointer) -> (isPrimaryKey: Bool, isIndexed: Bool, origin: String?)
    static func _bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: _Column?)
    static func _name(_ name: String, at pointer: UnsafeMutableRawPointer)
    static func _unmanaged(at pointer: UnsafeMutableRawPointer) -> Any
    static func _setManaged(_ value: Any, on object: ObjectBase, _ column: _Column)
    static func _any(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any?
    static func _assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase)
    static func _text(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> String
}

extension Persisted: AnyPersisted {
    package static var _shape: _PropertyShape { Value._shape }

    private static func place(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Self> {
        pointer.assumingMemoryBound(to: Self.self)
    }

    package static func _flags(at pointer: UnsafeMutableRawPointer) -> (
        isPrimaryKey: Bool, isIndexed: Bool, origin: String?
    ) {
        let wrapper = place(pointer).pointee
        return (wrapper.isPrimaryKey, wrapper.isIndexed, wrapper.originProperty)
    }

    package static func _bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: _Column?) {
        var known: Value?
        if case .value(let value) = place(pointer).pointee.storage { known = value }
        let origin = place(pointer).pointee.originProperty
        if let attached = Value._attached(known, to: object, column, origin: origin) {
            place(pointer).pointee.storage = .value(attached)
        } else if let column {
            place(pointer).pointee.storage = .managed(column)
        }
    }

    package static func _name(_ name: String, at pointer: UnsafeMutableRawPointer) {
        place(pointer).pointee.storage = .named(name)
    }

    package static func _unmanaged(at pointer: UnsafeMutableRawPointer) -> Any {
        switch place(pointer).pointee.storage {
        case .value(let value): return value
        case .initial(let make):
            let value = make()
            place(pointer).pointee.storage = .value(value)
            return value
        case .managed, .named: return Value._default()
        }
    }

    package static func _setManaged(_ value: Any, on object: ObjectBase, _ column: _Column) {
        guard let value = value as? Value else { return }
        value._write(object, column)
    }

    package static func _any(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any? {
        let value: Value =
            if case .managed(let column) = place(pointer).pointee.storage {
                Value._read(object, column)
            } else if let known = _unmanaged(at: pointer) as? Value {
                known
            } else {
                Value._default()
            }
        return flatten(value)
    }

    private static func flatten(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first?.value
    }

    package static func _assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase) {
        guard let converted = Value._fromAny(value) else {
            preconditionFailure(
                "\(value.map { "\($0)" } ?? "nil") cannot be stored in a property of type \(Value.self)")
        }
        switch place(pointer).pointee.storage {
        case .managed(let column): converted._write(object, column)
        case .value(let current):
            if !assignCollection(converted, to: current) { place(pointer).pointee.storage = .value(converted) }
        case .initial, .named: place(pointer).pointee.storage = .value(converted)
        }
    }

    package static func _text(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> String {
        _any(at: pointer, of: object).map { "\($0)" } ?? "(null)"
    }
}
