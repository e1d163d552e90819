/// The objects that link here through a property of theirs: computed, live, read-only.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Inverse links: the objects that link to one object through a property of theirs. Computed from these links, live,
/// and never set. An unmanaged object has none.
public struct LinkingObjects<Element: ObjectBase & RealmCollectionValue>: RealmCollection, _ObjcBridgeable,
    _Persistable, LinkingObjectsProtocol
{
    /// Inverse links stand for themselves; nothing is stored for them.
    public typealias PersistedType = LinkingObjects

    /// Declared with `let`, it is bound to its object after it was made, and goes on when that is let go.
    private final class Place {
        var row: (session: RealmSession, live: LiveObject)?
        var handle: _CollectionHandle?
        var recordedName: String?
        var names: KeyPathNames?
    }
    private let place: Place
    private let origin: String

    /// Inverse links of the object that this is declared in: the objects of `fromType` whose property of that name
    /// links to it. For `let` properties; with ``Persisted`` say `originProperty`.
    public init(fromType: Element.Type, property: String) {
        place = Place()
        origin = property
    }

    private init(_ handle: _CollectionHandle?) {
        place = Place()
        place.handle = handle
        origin = ""
    }

    public static func _collection(_ handle: _CollectionHandle) -> LinkingObjects { LinkingObjects(handle) }

    public var _managed: _CollectionHandle? {
        if let handle = place.handle { return handle.noted }
        guard let row = place.row, let made = Self.open(row.live, row.session, origin) else { return nil }
        place.handle = made
        return made.noted
    }
    public static func _nothing() -> LinkingObjects { LinkingObjects(nil) }
    public var _unmanaged: [Element] { [] }
    public static var _kindName: String { "LinkingObjects" }
    /// The linking object at a position. The order is that of object keys. A position out of range is misuse; if the
    /// handler returns, the answer is a new unmanaged object.
    public subscript(index: Int) -> Element { _element(at: index) }

    private static func open(
        _ live: LiveObject, _ session: RealmSession, _ origin: String
    ) -> _CollectionHandle? {
        attempt(or: nil) { () throws(DatabaseError) in
            let column = ClassFields.of(Element.self).field(named: origin)?.columnName ?? origin
            let type = try session.session.schema.type(named: Element.className())
            let property = try type.requiredProperty(named: column)
            guard let table = type.tableKey, let key = property.columnKey else { return nil }
            return _CollectionHandle(try live.backlinks(origin: table, key), session)
        }
    }

    // MARK: As a property

    public static var _shape: _Shape { _Shape(.linkingObjects, target: Element.self) }
    public static var _isCollection: Bool { true }
    public static func _default() -> LinkingObjects { LinkingObjects(nil) }
    public static func _decode(_ stored: _Stored) -> LinkingObjects? { nil }
    public func _encode(_ encoder: _Encoder) {}
    public static func _convert(_ value: Any?) -> LinkingObjects? { value as? LinkingObjects }

    public static func _linking(_ object: ObjectBase, _ origin: String) -> LinkingObjects {
        guard let live = object.live, let session = object.session else { return LinkingObjects(nil) }
        return LinkingObjects(open(live, session, origin))
    }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: LinkingObjects) {
        misuse("inverse links are computed and cannot be set", .invalidInput)
    }

    public static func _recorded(_ names: KeyPathNames) -> LinkingObjects {
        let objects = LinkingObjects(nil)
        objects.place.names = names
        return objects
    }
}

extension LinkingObjects: _CollectionValue {
    package func _attach(to object: ObjectBase, _ column: UInt32) {
        place.row = object.session.flatMap { session in object.live.map { (session, $0) } }
        place.handle = nil
    }
    package var _detachedCopy: [Any] { [] }
    package func _detach(_ elements: [Any]) {}
    package func _fill(from elements: [Any], policy: MotteLiveObjects.UpdatePolicy, isNew: Bool) {}
    package func _assign(_ value: Any, policy: MotteLiveObjects.UpdatePolicy) {
        misuse("inverse links are computed and cannot be set", .invalidInput)
    }
    package var _recordedName: String? { place.recordedName }
    package var _names: KeyPathNames? { place.names }
    package var _isManaged: Bool { place.handle != nil || place.row != nil }
}

extension LinkingObjects: FieldAccess {
    package static var shape: _Shape { _shape }
    package static var isCollection: Bool { true }
    package static var isWrapper: Bool { false }
    private static func read(_ pointer: UnsafeMutableRawPointer) -> LinkingObjects {
        pointer.assumingMemoryBound(to: LinkingObjects.self).pointee
    }
    package static func declaration(at pointer: UnsafeMutableRawPointer) -> (options: FieldOptions, origin: String?) {
        ([], read(pointer).origin)
    }
    package static func bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: UInt32) {
        read(pointer)._attach(to: object, column)
    }
    package static func unbind(at pointer: UnsafeMutableRawPointer) {
        let place = read(pointer).place
        place.row = nil
        place.handle = nil
    }
    package static func record(
        at pointer: UnsafeMutableRawPointer, _ name: String, _ field: Int, _ names: KeyPathNames
    ) {
        let place = read(pointer).place
        place.recordedName = name
        place.names = names
    }
    package static func value(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any? { read(pointer) }
    package static func assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Bool {
        false
    }
    package static func encode(at pointer: UnsafeMutableRawPointer, of object: ObjectBase, _ encoder: _Encoder) {}
    package static func linkedObject(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> ObjectBase? { nil }
    package static func collection(
        at pointer: UnsafeMutableRawPointer, of object: ObjectBase
    ) -> (any _CollectionValue)? { read(pointer) }
    package static func keepsUnmanagedCollection(at pointer: UnsafeMutableRawPointer) -> Bool { false }
}
