/// A thread's view of one file of objects: it shows one version until it is refreshed or writes.
///
/// Values of one thread and file share a session. Use a realm, its objects and collections only on the thread that
/// opened it; what is frozen may be used everywhere.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

public struct Realm {
    package let core: RealmSession

    init(_ core: RealmSession) { self.core = core }

    /// The default configuration's realm.
    public init() throws { self.init(try RealmSession.open(.defaultConfiguration)) }
    public init(configuration: Configuration) throws { self.init(try RealmSession.open(configuration)) }
    public init(fileURL: URL) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        try self.init(configuration: configuration)
    }

    public var configuration: Configuration { core.configuration }
    public var isFrozen: Bool { core.session.isFrozen }

    /// What to do when an object with the same primary key is there already.
    public enum UpdatePolicy: Int, Sendable {
        case error = 1
        case all = 2
        case modified = 3
    }

    // MARK: Writing

    public var isInWriteTransaction: Bool { core.session.isInWrite }

    /// Runs `block` in a write transaction and commits it; a block that throws rolls back.
    @discardableResult
    public func write<Result>(_ block: () throws -> Result) throws -> Result {
        try translating { try core.session.beginWrite() }
        do {
            let result = try block()
            if isInWriteTransaction { try commitWrite() }
            return result
        } catch {
            if isInWriteTransaction { cancelWrite() }
            throw error
        }
    }

    public func beginWrite() { misuse { try core.session.beginWrite() } }
    public func commitWrite() throws { _ = try translating { try core.session.commit() } }
    public func cancelWrite() { misuse { try core.session.cancel() } }

    /// Makes an object managed, with everything it reaches.
    public func add(_ object: Object, update: UpdatePolicy = .error) {
        _ = misuse { try core.added(object, update: update) }
    }
    public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Element: Object {
        for object in objects { add(object, update: update) }
    }

    /// A managed object made from values by name or position.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error) -> T {
        let object = type.init()
        ObjectValues.assign(value, to: object)
        add(object, update: update)
        return object
    }

    public func delete(_ object: Object) { misuse { try object.requireLive().delete() } }
    public func delete<S: Sequence>(_ objects: S) where S.Element: Object {
        for object in Array(objects) { delete(object) }
    }
    public func deleteAll() {
        misuse {
            for type in try core.session.schema.objectTypes {
                if let table = type.tableKey { _ = try core.session.objects(table).deleteObjects() }
            }
        }
    }

    // MARK: Reading

    /// All objects of a class; nothing is read before it is asked for.
    public func objects<T: Object>(_ type: T.Type) -> Results<T> {
        Results(misuse { try core.session.objects(core.binding(for: type).table) }, core)
    }

    public func object<T: Object, Key>(ofType type: T.Type, forPrimaryKey key: Key) -> T? {
        guard let value = storedValue(key) else { preconditionFailure("\(Key.self) cannot be a primary key") }
        return misuse {
            guard let live = try core.session.find(core.binding(for: type).table, primaryKey: value) else { return nil }
            return try core.object(live, as: type)
        }
    }

    /// Moves to the newest version and delivers changes; false when it was there already.
    @discardableResult
    public func refresh() -> Bool { misuse { try core.session.refresh() } }

    /// This version for good, for any thread.
    public func freeze() -> Realm { Realm(core.frozen()) }

    /// Hears of every version this realm moves to.
    public func observe(_ block: @escaping (Notification, Realm) -> Void) -> NotificationToken {
        core.token { try core.session.observe { [weak core] _ in if let core { block(.didChange, Realm(core)) } } }
    }

    public enum Notification: String, Sendable {
        case didChange, refreshRequired
    }
}

extension Realm: Equatable {
    public static func == (left: Realm, right: Realm) -> Bool { left.core === right.core }
}

/// A Swift value as stored; nil for what cannot be.
package func storedValue(_ value: Any?) -> Value? {
    guard let value, !(value is NSNull) else { return .null }
    if let scalar = value as? any _Scalar { return scalar._storedScalar.value }
    if let object = value as? ObjectBase { return object.live.map { .link($0.link) } }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return nil }
    return storedValue(mirror.children.first?.value)
}
