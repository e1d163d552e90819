/// What may be stored: in a property, inside an optional, in a collection, as a primary key.
///
/// The names and refinements are those that programs constrain their generics with. What a conforming type must be able
/// to do is in `_HasPersistedType` and `_Persistable`; programs never write these requirements themselves, because
/// enums, custom types and model classes get them from extensions.
import Foundation
import MotteSchemaModel
import MotteValues

public protocol _ObjcBridgeable {}
public protocol _DefaultConstructible {}
public protocol _RealmSchemaDiscoverable {}
public protocol _PrimaryKey {}
public protocol _Indexable {}
public protocol _MapKey: Hashable {
    /// Map keys are strings.
    var _mapKeyText: String { get }
    init(_mapKeyText: String)
}
/// What has a smallest and a largest value.
public protocol MinMaxType {}
/// What has a sum and an average.
public protocol AddableType {}
/// What can be sorted by.
public protocol SortableType {}
/// What can be sorted by one of its key paths.
public protocol KeypathSortable {
    /// The names of the properties that a key path from this type passes.
    static func _path(of keyPath: AnyKeyPath) -> String
}
/// An optional, for constraints.
public protocol OptionalProtocol {
    /// What is there unless it is nil.
    associatedtype Wrapped
    var _wrapped: Wrapped? { get }
    /// Some value or nil. For Motte's own use.
    init(_wrapped: Wrapped?)
}
/// What an optional of a model may hold.
public protocol RealmOptionalType {}
/// What a ``RealmProperty`` may hold.
public protocol RealmPropertyType {}
/// An enum that can be stored; programs conform to ``PersistableEnum``.
public protocol RealmEnum: RealmOptionalType, _RealmSchemaDiscoverable {}
public protocol _QueryOrdered {}
public protocol _QueryNumeric: _QueryOrdered {}
public protocol _QueryArithmetic: _QueryNumeric {}
public protocol _QueryTime {}
public protocol _QueryBinary: _QueryOrdered {}
public protocol _QueryString: _QueryBinary {}
/// Inverse links, for constraints.
public protocol LinkingObjectsProtocol {
    /// Those that link to `object` through their property `origin`.
    static func _linking(_ object: ObjectBase, _ origin: String) -> Self
}

/// A type that is, or is stored as, something in the store.
public protocol _HasPersistedType {
    associatedtype PersistedType
    static var _shape: _Shape { get }
    /// What misuse yields where something must be returned, and what a property without an initial value begins with
    /// unless `_initial` says otherwise.
    static func _default() -> Self
    /// What a property without an initial value begins with: now for dates, a new one for identifiers.
    static func _initial() -> Self
    /// Whether there is such a value: not every value that a failable type is stored as can be made into one.
    static var _hasInitial: Bool { get }
    /// nil when the stored value is not one of this type: null, out of range, of another kind.
    static func _decode(_ stored: _Stored) -> Self?
    /// An object, or what is made of one, of a collection that is gone over. nil when it is gone.
    static func _object(_ key: Int64, of source: _ObjectSource) -> Self?
    func _encode(_ encoder: _Encoder)
    /// From a value of unknown type: of a dictionary, an argument, a subscript. nil when it does not fit.
    static func _convert(_ value: Any?) -> Self?
    /// As a value of unknown type; nil for null.
    var _dynamic: Any? { get }
    /// The object that this is or stands for.
    var _linkedObject: ObjectBase? { get }
    /// What a key path that is being turned into names reads.
    static func _recorded(_ names: KeyPathNames) -> Self
    /// What counts as a modification of an element where an observer does not say; nil for everything it reaches.
    static var _observedPaths: [String]? { get }
    /// What an observer of elements names, as paths of stored properties; nil after misuse.
    static func _paths(observing names: [String]) -> [String]?
}

public protocol _Persistable: _RealmSchemaDiscoverable, _HasPersistedType
where PersistedType: _Persistable, PersistedType.PersistedType.PersistedType == PersistedType.PersistedType {
    /// True for what is made once an object and then stays: lists, sets, maps, inverse links.
    static var _isCollection: Bool { get }
    /// Of a managed object.
    static func _get(_ object: ObjectBase, _ column: UInt32) -> Self
    static func _set(_ object: ObjectBase, _ column: UInt32, _ value: Self)
}

public protocol _PersistableInsideOptional: _Persistable where PersistedType: _PersistableInsideOptional {}

/// What lists, sets, maps and results can hold.
public protocol RealmCollectionValue: Hashable, _HasPersistedType where PersistedType: RealmCollectionValue {}

public protocol _RealmCollectionValueInsideOptional: RealmCollectionValue
where PersistedType: _RealmCollectionValueInsideOptional {}

public typealias _Basic = _PersistableInsideOptional & _RealmCollectionValueInsideOptional & _ObjcBridgeable
    & _DefaultConstructible

/// What a Swift type is in the store. Opaque to programs.
public struct _Shape {
    package var type: MotteSchemaModel.PropertyType
    package var width = IntWidth.bits64
    package var collection: CollectionKind = .none
    package var isNullable = false
    package var target: ObjectBase.Type?
    /// Whether the declaration says so, which for links is not what `isNullable` says.
    package var isOptional = false
    /// Of a type of the program's own, which has a value for null.
    package var isCustom = false

    package init(
        _ type: MotteSchemaModel.PropertyType, _ collection: CollectionKind = .none, isNullable: Bool = false,
        target: ObjectBase.Type? = nil
    ) {
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
        self.target = target
    }

    /// Of an integer with so many bits.
    package static func int(bits: Int) -> _Shape {
        var shape = _Shape(.int)
        shape.width = IntWidth(bits: bits) ?? .bits64
        return shape
    }

    /// The shape of `T?`.
    package var optional: _Shape {
        var shape = self
        shape.isNullable = true
        shape.isOptional = true
        return shape
    }

    var custom: _Shape {
        var shape = self
        shape.isCustom = true
        return shape
    }

    /// The shape of a collection of these.
    package func inside(_ kind: CollectionKind) -> _Shape {
        var shape = self
        shape.collection = kind
        // Lists and sets of objects hold no null; maps of objects may, and say so by their element type.
        if type == .link, kind != .map { shape.isNullable = false }
        return shape
    }
}

/// A stored value on its way out, borrowed until the session's view epoch moves. Opaque to programs.
public struct _Stored {
    package let view: ValueView
    /// nil for values that come from no store.
    package let session: RealmSession?

    @inline(__always)
    package init(_ view: ValueView, _ session: RealmSession?) {
        self.view = view
        self.session = session
    }
}

extension _HasPersistedType {
    public static func _initial() -> Self { _default() }
    public static var _hasInitial: Bool { true }
    public static func _convert(_ value: Any?) -> Self? { Dynamic.convert(value, to: Self.self) }
    public var _dynamic: Any? { self }
    public var _linkedObject: ObjectBase? { nil }
    public static func _recorded(_ names: KeyPathNames) -> Self { _default() }
    public static var _observedPaths: [String]? { nil }
    public static func _paths(observing names: [String]) -> [String]? { names }
}

extension _Persistable {
    @inlinable public static var _isCollection: Bool { false }
    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Self { object._read(column) }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: Self) { object._write(column, value) }
}
