/// Views of objects that show some of their properties, under names of their own: the base class of programs' view
/// models.
///
///     class PersonProjection: Projection<Person> {
///         @Projected(\Person.firstName) var firstName
///         @Projected(\Person.address?.city) var homeCity
///         @Projected(\Person.friends.projectTo.firstName) var friendsFirstName: ProjectedCollection<String>
///     }
///
/// A projection is its root object seen differently: it lives, changes, is observed, frozen and handed to other threads
/// as that is, and two projections of one object are equal. Queries name the root's properties.
import Foundation
import MotteValues

/// What a projection is to code that is generic over projections.
public protocol ProjectionObservable: AnyObject, ThreadConfined, SendableMetatype {
    /// The class of the object that is seen.
    associatedtype Root: ObjectBase
    /// The object that is seen.
    var rootObject: Root { get }
    /// A view of an object, managed or not.
    init(projecting object: Root)
}

/// A view of an object that shows what it declares with ``Projected``: `@Projected(\Person.address.city) var city`.
///
/// It is queried, written through, observed and frozen like the object behind it, and confined to the same owner.
open class Projection<Root: ObjectBase & RealmCollectionValue & ThreadConfined>: ProjectionObservable,
    RealmCollectionValue, RealmFetchable, KeypathSortable, CustomStringConvertible, _ObjcBridgeable
{
    /// Stored as its root object is.
    public typealias PersistedType = Root

    /// The object that is seen.
    public let rootObject: Root

    /// A view of an object, managed or not. Nothing is read before a property is used.
    public required init(projecting object: Root) { rootObject = object }

    // MARK: As its root

    /// The realm of the root object; nil while that is unmanaged.
    public var realm: Realm? { rootObject.realm }
    /// Whether the root object was deleted or its realm invalidated.
    public var isInvalidated: Bool { rootObject.isInvalidated }
    /// Whether the root object is frozen.
    public var isFrozen: Bool { rootObject.isFrozen }
    /// A view of the frozen root object, for every thread. Of an unmanaged one it is misuse.
    public func freeze() -> sending Self { frozenForSending(Self(projecting: rootObject.freeze())) }
    /// A view of the live root object; nil when that is deleted. Of an unmanaged one it is misuse.
    public func thaw() -> Self? { rootObject.thaw().map { Self(projecting: $0) } }

    /// Projections of one class are equal when their roots are one object at one version, whatever class that is.
    public static func == (left: Projection, right: Projection) -> Bool {
        guard type(of: left) == type(of: right) else { return false }
        let (one, other) = (left.rootObject, right.rootObject)
        if one == other { return true }
        guard let session = one.session, session === other.session else { return false }
        return one.live?.link == other.live?.link
    }
    /// By the stored object, or by the instance while the root is unmanaged.
    public func hash(into hasher: inout Hasher) {
        guard let live = rootObject.live else { return hasher.combine(ObjectIdentifier(rootObject)) }
        hasher.combine(live.link)
    }

    // MARK: By label

    private var fields: ProjectionFields { ProjectionFields.of(type(of: self)) }

    /// The value of a projected property by its label; nil for null. An unknown label is misuse.
    open func value(forKey key: String) -> Any? {
        guard let field = fields.field(labeled: key) else {
            misuse("\(type(of: self)) has no projected property '\(key)'", .invalidInput)
            return nil
        }
        return field.property.value(of: rootObject)
    }

    /// Sets a projected property by its label, in the root object. An unknown label, a value that does not fit and a
    /// property that cannot be written to are misuse.
    open func setValue(_ value: Any?, forKey key: String) {
        guard let field = fields.field(labeled: key) else {
            return misuse("\(type(of: self)) has no projected property '\(key)'", .invalidInput)
        }
        guard field.property.set(value, in: rootObject) else {
            return misuse("Invalid value '\(Dynamic.text(value))' for projected property '\(key)'", .invalidInput)
        }
    }

    /// The labels with their key paths and values, for people to read. The form may change.
    open var description: String {
        guard !isInvalidated else { return "\(type(of: self))<\(type(of: rootObject))> [invalid object]" }
        let lines = fields.fields.map { field in
            let paths = field.paths.map { "\\.\($0)" }.joined(separator: ", ")
            let value = field.property.value(of: rootObject).map { "\($0)" } ?? "nil"
            return "\t\(field.label)(\(paths)) = \(value.replacingOccurrences(of: "\n", with: "\n\t"));\n"
        }
        return "\(type(of: self))<\(type(of: rootObject))> {\n\(lines.joined())}"
    }

    // MARK: As an element of results

    public static var _shape: _Shape { Root._shape }
    public static func _default() -> Self { Self(projecting: Root._default()) }
    public static func _decode(_ stored: _Stored) -> Self? { Root._decode(stored).map { Self(projecting: $0) } }
    public func _encode(_ encoder: _Encoder) { rootObject._encode(encoder) }
    public static func _convert(_ value: Any?) -> Self? {
        value as? Self ?? Root._convert(value).map { Self(projecting: $0) }
    }
    public var _linkedObject: ObjectBase? { rootObject }
    public static func _recorded(_ names: KeyPathNames) -> Self { Self(projecting: Root._prototype(names)) }
    public static var _fetchedType: ObjectBase.Type { Root.self }
    /// What is projected.
    public static var _observedPaths: [String]? { ProjectionFields.of(Self.self).allPaths }
    public static func _paths(observing names: [String]) -> [String]? {
        ProjectionFields.of(Self.self).paths(observing: names, of: Self.self)
    }
}

extension ObjectKeyIdentifiable where Self: ProjectionObservable, Self.Root: ObjectBase {
    /// The identity of the root object.
    public var id: UInt64 { rootObject._stableID }
}

extension Projection: HandedOver {
    /// By way of the root object.
    func handOver<T>() -> HandOver.Subject<T>? {
        guard let root = HandOver.reference(to: rootObject) else { return nil }
        let type = type(of: self)
        return HandOver.Subject(reference: root.reference) { (reference, core) throws(DatabaseError) in
            try root.rebuild(reference, core).flatMap { type.init(projecting: $0) as? T }
        }
    }
}

extension Projection {
    public static func _path(of keyPath: AnyKeyPath) -> String {
        (keyPath as? PartialKeyPath<Self>).map { _name(for: $0) } ?? ""
    }
}

/// The path of a projected property by names of the root's properties, for code that builds queries by text.
public func _name<P: ProjectionObservable>(for keyPath: PartialKeyPath<P>) -> String {
    let paths = ProjectedPaths.paths(projected: keyPath)
    if let path = paths.first { return path }
    misuse("\(keyPath) does not read a persisted property of \(P.Root.className())", .invalidInput)
    return ""
}
