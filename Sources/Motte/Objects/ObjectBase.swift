/// What every persisted object has, managed or not: the live object behind it, once it is in a realm.
///
/// A managed object's properties read and write the store through `live`; an unmanaged one keeps its values in the
/// wrappers. `Object` and `EmbeddedObject` are the classes that programs derive from.
import Foundation
import MotteColumns
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// What ``Object`` and ``EmbeddedObject`` have in common.
///
/// An unmanaged object is an ordinary one. A managed object is live: it shows its realm's present version, belongs to
/// the thread, queue or actor that the realm belongs to, and ends with its row. Frozen ones may be used anywhere.
open class ObjectBase: Hashable, CustomStringConvertible, KeypathSortable {
    // Only its realm's owner touches an object, and of a frozen one these stay as they are.
    /// Set while the object belongs to a realm.
    @exclusivity(unchecked) package final var _objectHome: ObjectHome?
    /// Where values are read in place; nil where they are not, or not yet.
    @exclusivity(unchecked) package final var _objectReads: UnsafeMutablePointer<CellReads>?
    @exclusivity(unchecked) package final var _objectRow: Int64 = 0
    /// Of the write that made the row, while that may be undone.
    @exclusivity(unchecked) package final var _objectBirth: UInt32 = 0
    /// Whether it keeps something of its row, such as a list; set while it is managed.
    @exclusivity(unchecked) package final var _objectKeeps = false
    /// nil for most objects.
    @exclusivity(unchecked) package final var _objectNotes: ObjectNotes?

    /// An unmanaged object with the initial values that its class declares. Every object that is read from a realm is
    /// made by this, too, so an override should be cheap and have no side effects.
    public required init() {}

    /// An unmanaged object with values from a dictionary by property name, from an array in the order of declaration,
    /// or from another object. Names that the class does not store are passed over; a value that does not fit is
    /// misuse.
    public convenience init(value: Any) {
        self.init()
        ObjectValues.assign(value, to: self)
    }

    // MARK: State

    package final var live: LiveObject? {
        _objectHome.map {
            LiveObject(session: $0.engine, table: $0.table, key: ObjectKey(_objectRow), birth: _objectBirth)
        }
    }
    package final var session: RealmSession? { _objectHome?.core }

    /// The realm it belongs to, nil while it is unmanaged.
    public final var realm: Realm? { session.map(Realm.init) }
    /// Whether it was deleted, or its realm closed.
    public final var isInvalidated: Bool { live.map { !$0.isValid } ?? false }
    /// Whether it is fixed to one version, and may be used on every thread. False while it is unmanaged.
    public final var isFrozen: Bool { session?.session.isFrozen ?? false }
    /// The class and its properties as the program declares them; of a ``DynamicObject`` as the file has them.
    public final var objectSchema: ObjectSchema {
        // Of one that was deleted or closed, what is declared is all there is.
        if self is DynamicObject, let live, let type = try? live.type { return ObjectSchema(type, in: session) }
        return ObjectSchema(declaredBy: type(of: self))
    }

    /// The properties and their values, for people to read. Links are followed to five levels. The form may change.
    open var description: String { ObjectText.text(of: self) }

    // MARK: Equality

    /// Managed objects of classes with a primary key, and frozen ones of all classes, are equal when they are the same
    /// stored object at the same version; all others, and those that were deleted, when they are the same instance.
    public static func == (left: ObjectBase, right: ObjectBase) -> Bool {
        if left === right { return true }
        guard let live = left.live, let other = right.live, live.link == other.link,
            let session = left.session, let otherSession = right.session,
            session.isSameVersion(as: otherSession)
        else { return false }
        return session.session.isFrozen || (session.hasPrimaryKey(live.table) && live.isValid && other.isValid)
    }

    /// Whether the other is an object that equals this one by `==`. False for nil and for other types.
    public final func isEqual(_ other: Any?) -> Bool { (other as? ObjectBase).map { self == $0 } ?? false }

    /// By the primary key where there is one, so that adding an object to a realm does not change it. Deleting it does
    /// not either: a set that has an object finds it for as long as it is there.
    public final func hash(into hasher: inout Hasher) { hashIdentity(into: &hasher) }
    /// The same as `hashValue`: by the primary key where there is one, by the stored object of a frozen one, otherwise
    /// by the instance.
    public final var hash: Int { hashValue }

    // MARK: By name

    /// A property by the name it has in Swift, as ``value(forKey:)`` and ``setValue(_:forKey:)`` have it.
    open subscript(key: String) -> Any? {
        get { value(forKey: key) }
        set { setValue(newValue, forKey: key) }
    }
    /// The value of a property by the name it has in Swift; nil for null. A list, set or map is that collection itself.
    /// An unknown name goes to ``value(forUndefinedKey:)``.
    open func value(forKey key: String) -> Any? { ObjectValues.value(of: self, key) }
    /// Sets a property by the name it has in Swift. The value is converted where it fits: numbers to other number
    /// types, dictionaries and arrays to objects and collections. What does not fit is misuse, and so is a managed
    /// object outside of a write transaction. An unknown name goes to ``setValue(_:forUndefinedKey:)``.
    open func setValue(_ value: Any?, forKey key: String) { ObjectValues.set(value, key, of: self) }

    /// The value that names with dots between them lead to; nil where a link on the way is null. Where the path passes
    /// a list, a set or inverse links, the values of all elements, as an array, or a total such as `dogs.@sum.age`. A
    /// path that continues after a plain value or a map is misuse.
    open func value(forKeyPath path: String) -> Any? { ObjectValues.value(of: self, path: path) }
    /// Sets the property that a path of links leads to. Where a link on the way is null, or the path passes a
    /// collection, nothing happens.
    open func setValue(_ value: Any?, forKeyPath path: String) {
        guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return setValue(value, forKey: path) }
        let owner = self.value(forKeyPath: String(path[..<dot]))
        (owner as? ObjectBase)?.setValue(value, forKey: String(path[path.utf8.index(after: dot)...]))
    }
    /// Called for a name that no property has. Reports misuse and answers nil, unless a class overrides it.
    open func value(forUndefinedKey key: String) -> Any? {
        misuse(ErrorTexts.unknown(key, of: self), .invalidInput)
        return nil
    }
    /// Called for a name that no property has. Reports misuse, unless a class overrides it.
    open func setValue(_ value: Any?, forUndefinedKey key: String) {
        misuse(ErrorTexts.unknown(key, of: self), .invalidInput)
    }

    /// A list property whose elements are seen as objects with properties by name. Empty on an unmanaged object; a name
    /// that no property has is misuse.
    public final func dynamicList(_ name: String) -> List<DynamicObject> {
        dynamicCollection(name).map { List._collection($0) } ?? List()
    }
    /// A set property whose elements are seen as objects with properties by name. Empty on an unmanaged object; a name
    /// that no property has is misuse.
    public final func dynamicMutableSet(_ name: String) -> MutableSet<DynamicObject> {
        dynamicCollection(name).map { MutableSet._collection($0) } ?? MutableSet()
    }
    /// A map property whose values are seen as objects with properties by name. Empty on an unmanaged object; a name
    /// that no property has is misuse.
    public final func dynamicMap<Key: _MapKey>(_ name: String) -> Map<Key, DynamicObject?> {
        dynamicCollection(name).map { Map(handle: $0) } ?? Map()
    }
    private final func dynamicCollection(_ name: String) -> _CollectionHandle? {
        guard let live, let session else { return nil }
        return attempt { () throws(DatabaseError) in
            _CollectionHandle(
                try live.collection(ClassFields.of(type(of: self)).field(named: name)?.columnName ?? name), session)
        }
    }

    // MARK: What a class says about itself

    /// The class's name in the file: nested types are `Outer_Inner`.
    open class func className() -> String { _realmObjectName() ?? ClassNames.name(of: self) }
    /// The name of the class in the file, where it shall differ from the one in Swift; nil by default. Several classes
    /// with one name are views of one stored class.
    open class func _realmObjectName() -> String? { nil }
    /// Names of properties in the file, by their names in Swift. Empty by default; ``propertiesMapping()`` wins where
    /// both name a property.
    open class func _realmColumnNames() -> [String: String] { [:] }
    /// Kept for programs that override it. Motte never calls it: properties are found by themselves.
    open class func _customRealmProperties() -> [Property]? { nil }
    /// The name of the property that is the primary key; nil for none. The older way to declare
    /// `@Persisted(primaryKey: true)`.
    open class func primaryKey() -> String? { nil }
    /// The names of the properties that have an index. The older way to declare `@Persisted(indexed: true)`.
    open class func indexedProperties() -> [String] { [] }
    /// Indexes of several properties, or of one in descending order; empty by default. They answer equality of their
    /// first properties, ranges and beginnings of texts behind those, and their order.
    open class func indexes() -> [ObjectIndex] { [] }
    /// The names of properties that are not stored although they are declared as stored ones are.
    open class func ignoredProperties() -> [String] { [] }
    /// Property names and what they are called in the file. Empty by default.
    open class func propertiesMapping() -> [String: String] { [:] }
    /// Whether realms leave the class out unless their configuration lists it in `objectTypes`. False by default.
    open class func _realmIgnoreClass() -> Bool { false }
    /// Whether the class is in realms whose configuration lists no `objectTypes`. By default all classes are that
    /// `_realmIgnoreClass()` does not leave out.
    open class func shouldIncludeInDefaultSchema() -> Bool { !_realmIgnoreClass() }
    /// The class as the program declares it. Needs no realm; never nil.
    public class func sharedSchema() -> ObjectSchema? { ObjectSchema(declaredBy: self) }

    // MARK: Access by wrappers

    /// The value at its place, for columns of this kind; nil where it has to be read the long way.
    @inline(__always)
    final func _cell(_ column: UInt32, _ kind: ColumnKind) -> PlainCell? {
        guard let reads = _objectReads else { return nil }
        return PlainCell(reads, column, _objectRow, kind)
    }

    @inline(__always)
    private final func view(
        _ live: LiveObject, _ home: ObjectHome, _ column: UInt32
    ) throws(DatabaseError) -> ValueView {
        // What is read is copied before the next is.
        live.session.releaseMemory()
        if _objectReads == nil, home.reads != nil, live.isSettled { _objectReads = home.reads }
        guard let reads = _objectReads else { return try live.get(ColumnKey(column)) }
        return try live.get(ColumnKey(column), noting: reads)
    }

    @inline(__always)
    package final func _read<T: _HasPersistedType>(_ column: UInt32) -> T {
        guard let home = _objectHome, let live else { return T._default() }
        let session = home.core
        do throws(DatabaseError) {
            let view = try view(live, home, column)
            if ReadTracking.isOn { session.noteRead(live, column, view) }
            if let value = T._decode(_Stored(view, session)) { return value }
            misread(view, T.self)
        } catch {
            misuse(error)
        }
        return T._default()
    }

    @inline(never)
    private final func misread(_ view: ValueView, _ type: Any.Type) {
        misuse("the stored value \(view.owned.text) cannot be read as \(type)", .invalidInput)
    }

    package final func _write<T: _HasPersistedType>(_ column: UInt32, _ value: T) {
        guard let live, let session else { return }
        attempt { () throws(DatabaseError) in
            _ = try live.session.requireWrite()
            live.session.releaseMemory()
            let write = { () throws(DatabaseError) in
                try session.withEncoder { encoder throws(DatabaseError) in
                    value._encode(encoder)
                    try encoder.withView { view throws(DatabaseError) in try live.set(ColumnKey(column), to: view) }
                }
            }
            // A mixed value may add objects.
            if T._shape.type == .mixed { try session.whole(write) } else { try write() }
        }
    }

    @inline(__always)
    package final func _write(_ column: UInt32, view: ValueView) {
        guard let live else { return }
        live.session.releaseMemory()
        attempt { () throws(DatabaseError) in try live.set(ColumnKey(column), to: view) }
    }

    /// A link, or an embedded object that becomes the property's own.
    package final func _writeLink(_ column: UInt32, _ target: ObjectBase?) {
        guard let live, let session else { return }
        attempt { () throws(DatabaseError) in
            _ = try live.session.requireWrite()
            live.session.releaseMemory()
            try session.whole { () throws(DatabaseError) in
                try session.link(live, ColumnKey(column), to: target, policy: .error)
            }
        }
    }
}

/// The base class of models whose objects exist by themselves, unlike those of an `EmbeddedObject`. Declare stored
/// properties with `@Persisted`.
open class Object: ObjectBase, _PersistableInsideOptional, _RealmCollectionValueInsideOptional, _ObjcBridgeable,
    ThreadConfined, RealmFetchable
{
    /// Stored as a link to the object's row.
    public typealias PersistedType = Object

    /// An unmanaged object with the initial values that its class declares. Objects that are read from a realm are made
    /// by this, too.
    public required init() { super.init() }

    /// Whether both are the same stored object; with or without primary key.
    public final func isSameObject(as object: Object?) -> Bool { isSame(object) }
}

/// The base class of models that belong to one parent each: they are stored by assigning them to a property or putting
/// them into a list or map, and are deleted with their parent.
open class EmbeddedObject: ObjectBase, _PersistableInsideOptional, _RealmCollectionValueInsideOptional, _ObjcBridgeable,
    ThreadConfined
{
    /// Stored as a link to the object's row, which belongs to the place that the link stands in.
    public typealias PersistedType = EmbeddedObject

    /// An unmanaged object with the initial values that its class declares. Objects that are read from a realm are made
    /// by this, too.
    public required init() { super.init() }

    /// Whether both are the same stored object, both live or both frozen; of unmanaged ones, whether they are the same
    /// instance.
    public final func isSameObject(as object: EmbeddedObject?) -> Bool { isSame(object) }
}

extension ObjectBase {
    fileprivate final func isSame(_ other: ObjectBase?) -> Bool {
        guard let other else { return false }
        guard let live, let otherLive = other.live else { return self === other }
        return live.link == otherLive.link && live.session.hasSameFile(as: otherLive.session)
            && isFrozen == other.isFrozen
    }

    /// The live object, for what only managed objects can do.
    package final func requireLive(_ action: String) -> LiveObject? {
        if live == nil { misuse("Unmanaged objects cannot be \(action).", .invalidInput) }
        return live
    }
}

extension _HasPersistedType where Self: ObjectBase {
    public static var _shape: _Shape { _Shape(.link, isNullable: true, target: Self.self) }
    public static func _default() -> Self { Self() }
    public static func _decode(_ stored: _Stored) -> Self? {
        guard stored.view.kind == .link, let session = stored.session else { return nil }
        return session.object(stored.view.linkValue, as: Self.self)
    }
    public func _encode(_ encoder: _Encoder) { encoder.put(object: self) }
    public static func _convert(_ value: Any?) -> Self? {
        guard let value = Dynamic.flattened(value) else { return nil }
        if let exact = value as? Self {
            // An embedded object has one parent: whoever gets it by value gets a copy.
            guard exact is EmbeddedObject, exact.live != nil else { return exact }
            let copy = Self()
            ObjectValues.assign(exact, to: copy)
            return copy
        }
        if let other = value as? ObjectBase, !type(of: other).className().hasSameBytes(as: Self.className()) {
            return nil
        }
        if value is ObjectBase || Dynamic.entries(value) != nil || Dynamic.elements(value) != nil {
            let object = Self()
            ObjectValues.assign(value, to: object)
            return object
        }
        return nil
    }
    public var _linkedObject: ObjectBase? { self }
    public static func _recorded(_ names: KeyPathNames) -> Self { _prototype(names) }
}

/// Names of model classes.
enum ClassNames {
    /// Without the module, with the names of enclosing types.
    static func name(of type: Any.Type) -> String {
        let parts = _typeName(type, qualified: true).split(separator: ".").filter { !$0.hasPrefix("(") }
        return parts.count > 1 ? parts.dropFirst().joined(separator: "_") : String(describing: type)
    }
}

/// A stable identity for lists on screen.
public protocol ObjectKeyIdentifiable: Identifiable {}

extension ObjectKeyIdentifiable where Self: ObjectBase {
    /// The same for all instances of a stored object; of the instance while it is unmanaged.
    public var id: UInt64 { _stableID }
}

extension ObjectBase {
    package final var _stableID: UInt64 {
        guard let live else { return UInt64(UInt(bitPattern: ObjectIdentifier(self).hashValue)) }
        return UInt64(bitPattern: live.key.rawValue) ^ UInt64(live.table.rawValue) << 48
    }
}
