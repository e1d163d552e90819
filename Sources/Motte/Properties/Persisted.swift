/// The property wrapper of models: `@Persisted var name: String`.
///
/// Unmanaged, it holds the value itself. Managed, it holds the number of a column and every access goes to the store,
/// so that two objects of one row never disagree. Lists, sets, maps and inverse links are made once and then stay.
///
/// The first word is the same whatever the value is, so that an object becomes managed by writing one number a
/// property:
///
///     0            unmanaged
///     1 ...        the column's key
///     recording    part of a prototype that turns key paths into names; `options` is the field's number
import Foundation
import MotteSchemaModel
import MotteValues

/// A stored property of a model: `@Persisted var name = ""`, `@Persisted(primaryKey: true) var id: ObjectId`,
/// `@Persisted(indexed: true)`, `@Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>`.
///
/// Unmanaged, it keeps its value. Managed, every access reads or writes the store: reading is for the owner of the
/// realm, writing takes a write transaction. Breaking that is misuse (``Realm/misuseHandler``).
@propertyWrapper
public struct Persisted<Value: _Persistable>: _RealmSchemaDiscoverable {
    @usableFromInline enum Storage {
        /// What the type begins with.
        case unset
        /// What the class declares.
        case initial(Value)
        case value(Value)
        case origin(String)
    }

    @usableFromInline var column: UInt32 = 0
    @usableFromInline var options: UInt32 = 0
    @usableFromInline var storage: Storage

    // Inlined where a model is declared, so that making an object stores words and allocates nothing.
    /// A property that begins with the default of its type: 0, "", false, nil, an empty collection, and for dates and
    /// identifiers a new one.
    @inlinable public init() { storage = .unset }
    // A value, not a closure: only then can an initialiser of a class assign the property before `super.init()`.
    /// A property with an initial value. It is made for every object, those that are read from a realm included.
    @inlinable public init(wrappedValue value: Value) { storage = .initial(value) }

    init(decoded value: Value) { storage = .value(value) }

    @inlinable init(_ storage: Storage, _ options: UInt32) {
        self.storage = storage
        self.options = options
    }

    /// Not available: the property is used in an ``Object`` or ``EmbeddedObject``, by its name.
    @available(*, unavailable, message: "@Persisted can only be used as a property of an Object")
    public var wrappedValue: Value {
        get { preconditionFailure("unavailable") }
        nonmutating set { preconditionFailure("unavailable \(newValue)") }
    }

    /// Reads or writes the property of an object. Called by the compiler for each use of the property. Assigning to a
    /// list, set or map of a managed object copies the elements into it.
    public static subscript<Root: ObjectBase>(
        _enclosingInstance instance: Root, wrapped wrappedKeyPath: ReferenceWritableKeyPath<Root, Value>,
        storage storageKeyPath: ReferenceWritableKeyPath<Root, Self>
    ) -> Value {
        @inlinable get {
            let column = instance[keyPath: storageKeyPath].column
            if column == 0 || column == UInt32.max || Value._isCollection {
                if case .value(let value) = instance[keyPath: storageKeyPath].storage, column != UInt32.max {
                    return value
                }
                return instance[keyPath: storageKeyPath]._held(by: instance)
            }
            return Value._get(instance, column)
        }
        // Inlined whatever it costs: only where the key path is written does the compiler see that it is a place in
        // the object. Elsewhere every use of it is a search at run time.
        @inlinable @inline(__always) set {
            let column = instance[keyPath: storageKeyPath].column
            if column == 0 && !Value._isCollection {
                instance[keyPath: storageKeyPath].storage = .value(newValue)
            } else if Value._isCollection || column == UInt32.max {
                instance[keyPath: storageKeyPath]._hold(newValue, in: instance)
            } else {
                Value._set(instance, column, newValue)
            }
        }
    }

    /// What is kept here: unmanaged values, and collections. Made once: an unmanaged property keeps what it has shown,
    /// and a collection its identity.
    @usableFromInline mutating func _held(by object: ObjectBase) -> Value {
        if column == Persisted.recording {
            // A type that has no value of its own to show has an initial value here.
            if Value.self is any FailableCustomPersistable.Type, case .initial(let value) = storage {
                object._noteRead(options)
                return value
            }
            return object._recordedRead(options)
        }
        if column != 0 { object._objectKeeps = true }
        switch storage {
        case .value(let value): return value
        case .unset:
            let value = column == 0 ? Value._initial() : Value._get(object, column)
            storage = .value(value)
            return value
        case .initial(let initial):
            let value = column == 0 ? initial : Value._get(object, column)
            storage = .value(value)
            return value
        case .origin(let name):
            guard column != 0, let type = Value.self as? any LinkingObjectsProtocol.Type,
                let value = type._linking(object, name) as? Value
            else { return Value._default() }
            storage = .value(value)
            return value
        }
    }

    @usableFromInline mutating func _hold(_ value: Value, in object: ObjectBase) {
        if column != 0, column != Persisted.recording, let current = _held(by: object) as? any _CollectionValue {
            current._assign(value, policy: .all)
        } else if Value._isCollection, column == 0, let copy = Value._convert(value) {
            // A collection that is managed stays its object's own.
            storage = .value(copy)
        } else {
            storage = .value(value)
        }
    }

    @usableFromInline static var recording: UInt32 { UInt32.max }
}

extension Persisted where Value.PersistedType: _PrimaryKey {
    /// A property that is the class's primary key, if `primaryKey` is true: its values are unique and indexed. It
    /// cannot be changed once the object is in a realm.
    @inlinable public init(primaryKey: Bool) { self.init(.unset, primaryKey ? 1 : 0) }
    /// A primary key with an initial value.
    @inlinable public init(wrappedValue value: Value, primaryKey: Bool) {
        self.init(.initial(value), primaryKey ? 1 : 0)
    }
}

extension Persisted where Value.PersistedType: _Indexable {
    /// A property with an index, if `indexed` is true: equality and ranges are found without reading all rows, and
    /// writing costs a little more.
    @inlinable public init(indexed: Bool) { self.init(.unset, indexed ? 2 : 0) }
    /// An indexed property with an initial value.
    @inlinable public init(wrappedValue value: Value, indexed: Bool) {
        self.init(.initial(value), indexed ? 2 : 0)
    }
}

extension Persisted where Value.PersistedType: _Indexable {
    /// A property of which no two objects have the same value, if `unique` is true; any number may have nil. It has an
    /// index. A write of a value that another object has throws, or is reported as misuse where it cannot throw.
    @inlinable public init(unique: Bool) { self.init(.unset, unique ? 4 : 0) }
    /// A unique property with an initial value.
    @inlinable public init(wrappedValue value: Value, unique: Bool) {
        self.init(.initial(value), unique ? 4 : 0)
    }
}

extension Persisted where Value: LinkingObjectsProtocol {
    /// Inverse links: the objects whose property of that name links here. Computed, never stored or set.
    @inlinable public init(originProperty: String) { self.init(.origin(originProperty), 0) }
}

/// The raw values are those that the inlined initialisers above write.
package struct FieldOptions: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let primaryKey = FieldOptions(rawValue: 1)
    package static let indexed = FieldOptions(rawValue: 2)
    package static let unique = FieldOptions(rawValue: 4)
}

// MARK: By place, for whoever knows an object's class only at run time

extension Persisted: FieldAccess {
    package static var shape: _Shape { Value._shape }
    package static var isCollection: Bool { Value._isCollection }
    package static var isWrapper: Bool { true }

    @inline(__always)
    private static func place(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Self> {
        pointer.assumingMemoryBound(to: Self.self)
    }

    package static func declaration(at pointer: UnsafeMutableRawPointer) -> (options: FieldOptions, origin: String?) {
        let wrapper = place(pointer).pointee
        var origin: String?
        if case .origin(let name) = wrapper.storage { origin = name }
        return (FieldOptions(rawValue: wrapper.options), origin)
    }

    package static func bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: UInt32) {
        place(pointer).pointee.column = column
        if case .value(let value) = place(pointer).pointee.storage, let collection = value as? any _CollectionValue {
            collection._attach(to: object, column)
        }
    }

    package static func record(
        at pointer: UnsafeMutableRawPointer, _ name: String, _ field: Int, _ names: KeyPathNames
    ) {
        place(pointer).pointee.column = recording
        place(pointer).pointee.options = UInt32(field)
    }

    package static func value(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any? {
        read(pointer, object)._dynamic
    }

    private static func read(_ pointer: UnsafeMutableRawPointer, _ object: ObjectBase) -> Value {
        let column = place(pointer).pointee.column
        if column == 0 || Value._isCollection { return place(pointer).pointee._held(by: object) }
        return Value._get(object, column)
    }

    package static func assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Bool {
        guard let converted = Value._convert(value) else { return false }
        let column = place(pointer).pointee.column
        if column == 0 || Value._isCollection {
            place(pointer).pointee._hold(converted, in: object)
        } else {
            Value._set(object, column, converted)
        }
        return true
    }

    package static func unbind(at pointer: UnsafeMutableRawPointer) { place(pointer).pointee.column = 0 }

    package static func release(at pointer: UnsafeMutableRawPointer) {
        if place(pointer).pointee.column != 0, !Value._isCollection { place(pointer).pointee.storage = .unset }
    }

    package static func dynamicValue(_ stored: MotteValues.Value, _ session: RealmSession?) -> Any? {
        stored.withView { view in
            guard !view.isNull else { return nil }
            return Value._decode(_Stored(view, session))?._dynamic ?? AnyRealmValue.dynamicValue(view, session)
        }
    }

    package static func storedValue(_ value: Any?) -> MotteValues.Value? {
        Dynamic.storedValue(Value._convert(value) ?? value)
    }

    package static func rawValue(_ value: Any?) -> MotteValues.Value? { RawStorage.value(value, for: Value.self) }
    package static func rawElements(_ value: Any?) -> RawStorage.Collection? {
        (Value.self as? any RawElements.Type)?._raw(for: value)
    }
    package static var misfit: String { RawStorage.reason(Value.self) }

    package static func encode(at pointer: UnsafeMutableRawPointer, of object: ObjectBase, _ encoder: _Encoder) {
        if case .unset = place(pointer).pointee.storage, !Value._hasInitial { return encoder.fail(Value.self) }
        place(pointer).pointee._held(by: object)._encode(encoder)
    }

    package static func linkedObject(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> ObjectBase? {
        place(pointer).pointee._held(by: object)._linkedObject
    }

    package static func collection(
        at pointer: UnsafeMutableRawPointer, of object: ObjectBase
    ) -> (any _CollectionValue)? {
        read(pointer, object) as? any _CollectionValue
    }

    package static func keepsUnmanagedCollection(at pointer: UnsafeMutableRawPointer) -> Bool {
        switch place(pointer).pointee.storage {
        case .value: true
        case .initial(let value): (value as? any _CollectionValue)?._detachedCopy.isEmpty == false
        case .unset, .origin: false
        }
    }
}

/// What schema discovery, adding and access by name need of a stored field, at its place inside an object: the
/// `@Persisted` wrapper, or a list, set, map, `RealmProperty` or `LinkingObjects` declared with `let`.
package protocol FieldAccess {
    static var shape: _Shape { get }
    static var isCollection: Bool { get }
    /// Whether it is stored with an underscore before the property's name.
    static var isWrapper: Bool { get }
    static func declaration(at pointer: UnsafeMutableRawPointer) -> (options: FieldOptions, origin: String?)
    /// Makes the field one of a managed object.
    static func bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: UInt32)
    /// Makes the field one of an unmanaged object again, but for its elements.
    static func unbind(at pointer: UnsafeMutableRawPointer)
    /// Makes the field note that it is read, as field number `field`.
    static func record(at pointer: UnsafeMutableRawPointer, _ name: String, _ field: Int, _ names: KeyPathNames)
    static func value(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any?
    /// False when the value does not fit.
    static func assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Bool
    /// What is stored for a value that does not fit the program's type, but what that is stored as.
    static func rawValue(_ value: Any?) -> MotteValues.Value?
    /// The same of a collection.
    static func rawElements(_ value: Any?) -> RawStorage.Collection?
    /// The end of a message about a value that does not fit.
    static var misfit: String { get }
    /// Of an unmanaged object.
    static func encode(at pointer: UnsafeMutableRawPointer, of object: ObjectBase, _ encoder: _Encoder)
    static func linkedObject(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> ObjectBase?
    static func collection(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> (any _CollectionValue)?
    /// Whether the field holds a collection that somebody may have filled.
    static func keepsUnmanagedCollection(at pointer: UnsafeMutableRawPointer) -> Bool
    /// Lets go of the value that a managed object had before, so that objects that link to each other end.
    static func release(at pointer: UnsafeMutableRawPointer)
    /// As a value of unknown type, but of the program's own; what cannot be read as that is what is stored.
    static func dynamicValue(_ stored: MotteValues.Value, _ session: RealmSession?) -> Any?
    /// As the store has it; nil for what it cannot have.
    static func storedValue(_ value: Any?) -> MotteValues.Value?
}

extension FieldAccess {
    package static func unbind(at pointer: UnsafeMutableRawPointer) {}
    package static func rawValue(_ value: Any?) -> MotteValues.Value? { nil }
    package static func rawElements(_ value: Any?) -> RawStorage.Collection? { nil }
    package static func release(at pointer: UnsafeMutableRawPointer) {}
    package static func dynamicValue(_ stored: MotteValues.Value, _ session: RealmSession?) -> Any? {
        stored.withView { AnyRealmValue.dynamicValue($0, session) }
    }
    package static func storedValue(_ value: Any?) -> MotteValues.Value? { Dynamic.storedValue(value) }
    package static var misfit: String { "" }
}
