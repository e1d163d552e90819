/// A thread's, queue's or actor's view of one file of objects: it shows one version until it is refreshed or writes.
///
/// Values of one place and file share a session and are equal. Use a realm, its objects and collections only where it
/// was opened; what is frozen may be used everywhere.
import Dispatch
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues

/// Names a queued write, to cancel it.
public typealias AsyncTransactionId = UInt32
/// What is called when a realm has changed.
public typealias NotificationBlock = (_ notification: Realm.Notification, _ realm: Realm) -> Void

/// What `objects(_:)` can fetch.
public protocol RealmFetchable: RealmCollectionValue {
    /// Opaque to programs.
    static var _fetchedType: ObjectBase.Type { get }
}

extension RealmFetchable where Self: ObjectBase {
    public static var _fetchedType: ObjectBase.Type { Self.self }
}

/// What a realm confines to its owner: objects, collections, sections and projections.
public protocol ThreadConfined {
    /// The realm it belongs to; nil while it is unmanaged.
    var realm: Realm? { get }
    /// Whether it can no longer be used, because it was deleted or its realm was invalidated.
    var isInvalidated: Bool { get }
    /// Whether it is fixed to one version, and may be used on every thread.
    var isFrozen: Bool { get }
    /// The same at the version its realm shows now, for any thread: what is returned may be sent to another actor.
    func freeze() -> sending Self
    /// The live counterpart of something frozen, on this thread; nil if it is gone.
    func thaw() -> Self?
}

/// A database, in a file or in memory, as one owner sees it: a thread, a serial queue or an actor.
///
/// It shows one version until it refreshes, begins a write or is notified of a commit. Everything that comes out of it
/// is live and confined to the same owner; ``freeze()`` and ``ThreadSafeReference`` take things elsewhere. Opening
/// again on the same owner gives the same realm.
public struct Realm: Equatable {
    package let core: RealmSession

    package init(_ core: RealmSession) { self.core = core }

    /// What to do when an object with the same primary key is there already.
    public enum UpdatePolicy: Int, Sendable {
        /// It is misuse.
        case error = 1
        /// Only what differs is written.
        case modified = 3
        /// Everything is written.
        case all = 2

        package var engine: MotteLiveObjects.UpdatePolicy {
            switch self {
            case .error: .error
            case .modified: .modified
            case .all: .all
            }
        }
    }

    /// What `observe` and `changes()` of a realm notify of.
    public enum Notification: String, Sendable {
        /// The realm has advanced to another version.
        case didChange
        /// There is a newer version, to which the realm does not advance by itself: its `autorefresh` is off.
        case refreshRequired
    }
    /// Kept for programs that name it. Nothing is downloaded, so all of them mean the same.
    public enum OpenBehavior: Sendable {
        /// Opens the file as it is.
        case never
        /// Opens the file as it is.
        case once
        /// Opens the file as it is.
        case always
    }

    // MARK: Opening

    /// Opens the file of the default configuration, for this thread or for a serial queue. Throws a `Realm.Error`.
    public init(queue: DispatchQueue? = nil) throws {
        try self.init(configuration: .defaultConfiguration, queue: queue)
    }

    /// Opens the file of a configuration, for this thread or for a serial queue. A realm that is open there already is
    /// given again; where it was opened with another key, version or right to write, this throws, as it does for
    /// whatever keeps the file from being opened.
    public init(configuration: Configuration, queue: DispatchQueue? = nil) throws {
        self.init(try RealmOpening.open(configuration, queue.map { .queue($0) } ?? .thread))
    }

    /// Opens a file for this thread, with the default configuration otherwise. Throws a `Realm.Error`.
    public init(fileURL: URL) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        try self.init(configuration: configuration)
    }

    // MARK: About itself

    /// The classes that the program declares for it; the file may have more.
    public var schema: Schema { core.declaredSchema }
    /// What it was opened with.
    public var configuration: Configuration { core.configuration }
    /// Whether there is no object of any class in it.
    public var isEmpty: Bool {
        attempt(or: true) { () throws(DatabaseError) in try core.session.storedObjectCount() == 0 }
    }
    /// Whether it is fixed to one version, and may be used on every thread.
    public var isFrozen: Bool { core.session.isFrozen }

    /// Whether both are the same realm of one owner, or of one frozen version.
    public static func == (left: Realm, right: Realm) -> Bool {
        left.core === right.core || (left.isFrozen && right.isFrozen && left.core.session === right.core.session)
    }

    // MARK: Versions

    /// Whether the realm advances to newer versions by itself, as its run loop, queue or actor runs. True unless it is
    /// set; false for a frozen realm, where setting it is misuse.
    public var autorefresh: Bool {
        get { !isFrozen && core.autorefresh }
        nonmutating set {
            guard !isFrozen else { return misuse("Auto-refresh cannot be set on frozen Realms.", .invalidInput) }
            core.autorefresh = newValue
        }
    }

    /// Advances to the newest version and delivers notifications. False when the realm showed that already, and in a
    /// write transaction or a frozen realm, where nothing happens.
    @discardableResult
    public func refresh() -> Bool {
        attempt(or: false) { () throws(DatabaseError) in
            if core.session.isFrozen || core.session.isInWrite { return false }
            return try core.session.refresh()
        }
    }

    /// Rolls back, and ends all objects, collections, results and observations of this realm, which goes on with the
    /// newest version. Within a callback nothing happens.
    public func invalidate() {
        do { try core.invalidate() } catch { misuse(error) }
    }

    /// The realm at the version that it shows, fixed and usable on every thread; within a write transaction the version
    /// that the transaction began with.
    public func freeze() -> sending Realm {
        frozenForSending(Realm(attempt(or: core) { () throws(DatabaseError) in try core.frozen() }))
    }

    /// The live realm of the calling thread for a frozen one; a live one gives itself.
    public func thaw() -> Realm { Realm(core.thawed() ?? core) }

    /// The object at the version that its realm shows, fixed and usable on every thread. Unmanaged, or made within the
    /// present write transaction, it is misuse.
    public func freeze<T: ObjectBase>(_ object: T) -> sending T { frozenForSending(object._frozen()) }
    /// The live object of a frozen one, in the realm of the calling thread; nil when it is deleted.
    public func thaw<T: ObjectBase>(_ object: T) -> T? { object._thawed() }
    /// The collection at the version that its realm shows, fixed and usable on every thread.
    public func freeze<C: RealmCollection>(_ collection: C) -> sending C { collection.freeze() }
    /// The live collection of a frozen one, in the realm of the calling thread; nil when the object it belongs to is
    /// deleted.
    public func thaw<C: RealmCollection>(_ collection: C) -> C? { collection.thaw() }

    // MARK: Reading

    /// All objects of a class, live and lazy. A class that the realm does not have, or an embedded one, is misuse.
    public func objects<T: RealmFetchable>(_ type: T.Type) -> Results<T> {
        let handle: _CollectionHandle? = attempt { () throws(DatabaseError) in
            let binding = try core.requireBinding(for: T._fetchedType)
            guard !binding.objectType.isEmbedded else {
                throw DatabaseError(
                    .invalidArgument,
                    "\(binding.objectType.name) objects are embedded; query them through their parents")
            }
            return _CollectionHandle(try core.session.objects(binding.table), core)
        }
        return handle.map { Results._collection($0) } ?? Results()
    }

    /// All objects of a class by the name it has in the file, with their properties by name. An unknown name is misuse.
    public func dynamicObjects(_ typeName: String) -> Results<DynamicObject> {
        let handle: _CollectionHandle? = attempt { () throws(DatabaseError) in
            _CollectionHandle(try core.session.objects(typeName), core)
        }
        return handle.map { Results._collection($0) } ?? Results()
    }

    /// The object with a primary key; nil when there is none. A class without a primary key is misuse.
    public func object<T: Object, KeyType>(ofType type: T.Type, forPrimaryKey key: KeyType) -> T? {
        core.session.releaseMemory()
        return attempt(or: nil) { () throws(DatabaseError) in
            let table = try core.requireBinding(for: type).table
            guard let live = try core.find(table, key) else { return nil }
            return core.object(live, as: type)
        }
    }

    /// The object with a primary key, of a class by the name it has in the file; nil when there is none.
    public func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject? {
        attempt(or: nil) { () throws(DatabaseError) in
            guard let live = try core.find(try core.session.tableKey(typeName), key) else { return nil }
            return core.object(live, as: DynamicObject.self)
        }
    }
}

extension RealmSession {
    func find(_ table: TableKey, _ key: Any?) throws(DatabaseError) -> LiveObject? {
        guard let type = try session.schema[table], let primaryKey = type.primaryKey else {
            throw DatabaseError(
                .noPrimaryKey,
                "this class does not have a primary key and can not be queried by one"
            )
        }
        guard let value = Dynamic.storedValue(key) else {
            throw DatabaseError(
                .wrongType, "Invalid value '\(Dynamic.text(key))' for primary key '\(type.name).\(primaryKey.name)'")
        }
        return try session.find(table, primaryKey: value)
    }

    /// This thread's live session of a frozen one's file.
    package func thawed() -> RealmSession? {
        guard session.isFrozen else { return self }
        do { return try RealmOpening.open(configuration, .thread) } catch {
            misuse(error)
            return nil
        }
    }
}

// MARK: Freezing objects

/// What is frozen belongs nowhere, which the compiler cannot see.
func frozenForSending<T>(_ frozen: T) -> sending T {
    // What it shares with other frozen things may be read by every thread.
    nonisolated(unsafe) let frozen = frozen
    return frozen
}

extension ThreadConfined where Self: ObjectBase {
    /// The object at the version that its realm shows, fixed and usable on every thread. Unmanaged, or made within the
    /// present write transaction, it is misuse.
    public func freeze() -> sending Self { frozenForSending(_frozen()) }
    /// The live object of a frozen one, in the realm of the calling thread; nil when it is deleted.
    public func thaw() -> Self? { _thawed() }
}

extension ObjectBase {
    package func _frozen() -> Self {
        // After misuse not itself: what is handed out may go anywhere.
        guard let live = requireLive("frozen"), let session else { return Self() }
        if session.session.isFrozen { return self }
        return attempt(or: Self()) { () throws(DatabaseError) in
            let frozen = try session.frozen()
            guard live.isValid else {
                throw DatabaseError(.objectDeleted, "this object has been deleted or invalidated")
            }
            return frozen.object(try live.frozen(in: frozen.session), as: Self.self)
        }
    }

    package func _thawed() -> Self? {
        guard let live = requireLive("thawed"), let session else { return nil }
        guard let thawed = session.thawed() else { return nil }
        if thawed === session { return self }
        return attempt(or: nil) { () throws(DatabaseError) in
            guard let live = try thawed.session.object(live.table, at: live.key) else { return nil }
            return thawed.object(live, as: Self.self)
        }
    }
}
