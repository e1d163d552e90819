/// What every persisted object has, managed or not: the live object behind it, once it is in a realm.
///
/// A managed object's `@Persisted` properties read and write the store through `live`; an unmanaged one keeps its
/// values
/// in the wrappers. `Object` is the class that programs derive from.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

open class ObjectBase {
    /// Set while the object belongs to a realm.
    package var live: LiveObject?
    package var session: RealmSession?
    /// Non-nil only in the prototypes that turn key paths into property names.
    package var recorder: KeyPathRecorder?

    public required init() {}

    /// The realm it belongs to, nil while it is unmanaged.
    public var realm: Realm? { session.map(Realm.init) }

    /// Whether it was deleted, or its realm closed. Reading a property then is a programming error.
    public var isInvalidated: Bool { live.map { !$0.isValid } ?? false }

    public var isFrozen: Bool { session?.session.isFrozen ?? false }
}

/// The base class of models. Declare stored properties with `@Persisted`.
open class Object: ObjectBase, Hashable, CustomStringConvertible {
    public required init() { super.init() }

    /// An unmanaged object with values by property name or in the order of declaration.
    public convenience init(value: Any) {
        self.init()
        ObjectValues.assign(value, to: self)
    }

    /// The class name in the store.
    open class func className() -> String { String(describing: self) }

    /// Whether both are the same stored object.
    public func isSameObject(as other: Object?) -> Bool {
        guard let live, let otherLive = other?.live else { return self === other }
        return live.isSame(as: otherLive)
    }

    public static func == (left: Object, right: Object) -> Bool {
        if left === right { return true }
        guard let live = left.live, let other = right.live,
            left.session?.binding(for: type(of: left)).hasPrimaryKey == true
        else { return false }
        return live.isSame(as: other)
    }

    public func hash(into hasher: inout Hasher) {
        if let live, session?.binding(for: type(of: self)).hasPrimaryKey == true {
            hasher.combine(live.link)
        } else {
            hasher.combine(ObjectIdentifier(self))
        }
    }

    public var description: String {
        let fields = ClassFields.of(type(of: self)).fields.filter { $0.shape.type != .linkingObjects }
        let lines = fields.map { "\t\($0.name) = \($0.persisted._text(at: $0.pointer(in: self), of: self));" }
        return "\(type(of: self).className()) {\n\(lines.joined(separator: "\n"))\n}"
    }

    /// By name, as `value(forKey:)`; nil for null and for unknown names.
    public subscript(key: String) -> Any? {
        get {
            guard let field = ClassFields.of(type(of: self)).field(named: key) else { return nil }
            return field.persisted._any(at: field.pointer(in: self), of: self)
        }
        set {
            guard let field = ClassFields.of(type(of: self)).field(named: key) else {
                preconditionFailure("\(type(of: self).className()) has no property '\(key)'")
            }
            field.persisted._assign(newValue, at: field.pointer(in: self), of: self)
        }
    }

    // MARK: Observing

    /// Hears of changed properties and of the deletion of this object, at the delivery points of its realm.
    public func observe(_ block: @escaping (ObjectChange<Object>) -> Void) -> NotificationToken {
        guard let live, let session else {
            preconditionFailure("Only objects that are managed by a realm can be observed")
        }
        return session.token {
            try live.observe { [weak self] changes in
                guard let self else { return }
                block(ObjectChange(changes, of: self, session))
            }
        }
    }

    /// The same object at the version its realm shows now, for any thread.
    public func freeze() -> Self {
        guard let live, let session else { preconditionFailure("Unmanaged objects cannot be frozen") }
        if session.session.isFrozen { return self }
        let frozen = session.frozen()
        return misuse { try frozen.object(live.freeze(), as: Self.self) }
    }
}

extension ObjectBase {
    /// The session and object behind a managed property, checked by every access.
    package func requireLive() -> LiveObject {
        guard let live else { preconditionFailure("This object is not managed by a realm") }
        return live
    }
}

/// Runs something that only misuse makes fail, where RealmSwift's signature cannot throw.
package func misuse<T>(_ body: () throws -> T) -> T {
    do { return try body() } catch { preconditionFailure("\(error)") }
}
