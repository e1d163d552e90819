/// Handing objects and collections from one place to another.
///
///     let reference = ThreadSafeReference(to: dog)        // where the dog is
///     let dog = realm.resolve(reference)                  // elsewhere; nil if it was deleted meanwhile
import Foundation
import MotteLiveObjects
import MotteValues

/// Takes an object, a collection or a projection to another thread, queue or actor: made on the owner of the thing,
/// resolved once, in a realm of the other owner.
public struct ThreadSafeReference<T: ThreadConfined>: @unchecked Sendable {
    // @unchecked: the engine's reference is made to be handed over; the closure only reads the type it was made for.
    private final class Once: Sendable {
        private let isUsed = Locked(false)
        var hasBeen: Bool { isUsed.withLock { $0 } }
        func use() -> Bool {
            isUsed.withLock { used in
                defer { used = true }
                return !used
            }
        }
    }

    private let subject: HandOver.Subject<T>?
    private let once = Once()

    /// A reference to something managed, made on its owner. It pins the version it is made at until it is resolved or
    /// released. Something unmanaged or invalidated is misuse.
    public init(to value: T) {
        subject = HandOver.reference(to: value)
    }

    /// Whether it can no longer be resolved: because it was, or because what it refers to was gone when it was made.
    public var isInvalidated: Bool { subject == nil || once.hasBeen }

    func isSame(as other: ThreadSafeReference) -> Bool { once === other.once }

    /// The version that its subject is at; nil when that was gone.
    var version: Version? { subject?.reference.version }

    /// Once.
    package func resolve(in core: RealmSession) -> T? {
        guard once.use() else {
            misuse("Can only resolve a thread safe reference once.", .invalidInput)
            return nil
        }
        return peek(in: core)
    }

    /// Any number of times.
    package func peek(in core: RealmSession) -> T? {
        guard let subject else { return nil }
        return attempt(or: nil) { () throws(DatabaseError) in try subject.rebuild(subject.reference, core) }
    }
}

/// How things of each kind are handed over.
enum HandOver {
    struct Subject<T> {
        let reference: LiveReference
        let rebuild: (LiveReference, RealmSession) throws(DatabaseError) -> T?
    }

    static func reference<T: ThreadConfined>(to value: T) -> Subject<T>? {
        guard value.realm != nil else {
            misuse("Cannot construct reference to unmanaged object, which can be passed across threads directly")
            return nil
        }
        guard !value.isInvalidated else {
            misuse("Cannot construct reference to invalidated object")
            return nil
        }
        if let object = value as? ObjectBase { return of(object) }
        if let collection = value as? any RealmCollection { return of(collection) }
        if let map = value as? any RealmKeyedCollection { return of(map) }
        if let custom = value as? any HandedOver { return custom.handOver() }
        misuse("\(T.self) cannot be passed to another thread")
        return nil
    }

    private static func of<T>(_ object: ObjectBase) -> Subject<T>? {
        guard let live = object.live else { return nil }
        let type = type(of: object)
        return attempt { () throws(DatabaseError) in
            Subject(reference: try LiveReference(live)) { (reference, core) throws(DatabaseError) in
                try reference.object(in: core.session).flatMap { core.object($0, as: type) as? T }
            }
        }
    }

    private static func of<T, C: RealmCollection>(_ collection: C) -> Subject<T>? {
        guard let handle = collection._managed else { return nil }
        return attempt { () throws(DatabaseError) in
            Subject(reference: try LiveReference(handle.live)) { (reference, core) throws(DatabaseError) in
                try reference.collection(in: core.session).flatMap { C._collection(_CollectionHandle($0, core)) as? T }
            }
        }
    }

    private static func of<T, M: RealmKeyedCollection>(_ map: M) -> Subject<T>? {
        guard let handle = map._managed else { return nil }
        return attempt { () throws(DatabaseError) in
            Subject(reference: try LiveReference(handle.live)) { (reference, core) throws(DatabaseError) in
                try reference.collection(in: core.session).flatMap { M._collection(_CollectionHandle($0, core)) as? T }
            }
        }
    }
}

/// What is handed over by way of something else, such as projections by their root objects.
protocol HandedOver {
    func handOver<T>() -> HandOver.Subject<T>?
}

extension Realm {
    /// What a reference refers to, here, within a write too; nil if it was deleted. A reference can be resolved once.
    public func resolve<T: ThreadConfined>(_ reference: ThreadSafeReference<T>) -> T? { reference.resolve(in: core) }
}

/// A variable or argument whose value may be read on any owner: each read hands the value over to the reader's realm.
@propertyWrapper
public final class ThreadSafe<T: ThreadConfined>: @unchecked Sendable {
    // @unchecked: the state is only touched holding its lock.
    private struct State: @unchecked Sendable {
        var reference: ThreadSafeReference<T>?
        /// Made in a write, before the end of which nobody else can resolve it.
        var newer: ThreadSafeReference<T>?
        var configuration: Realm.Configuration?
    }
    private let state = Locked(State())

    /// Wraps a managed object or collection, or nil. Call it where the value belongs; an unmanaged one is misuse.
    public init(wrappedValue: T?) { set(wrappedValue) }

    /// nil when it was deleted. Needs no realm of the reader's: one is opened for its thread. What another thread wrote
    /// is there: a realm that refreshes by itself does so here, and none shows less than whoever read before.
    public var wrappedValue: T? {
        get {
            let now = state.withLock { $0 }
            guard let reference = now.reference, let configuration = now.configuration else { return nil }
            do {
                let core = try RealmOpening.open(configuration, .thread)
                if core.autorefresh, !core.session.isInWrite, core.session.hook?.isDelivering != true {
                    _ = try core.session.refresh()
                }
                let value = now.newer?.peek(in: core) ?? reference.peek(in: core)
                if let value { follow(value, core, reference) }
                return value
            } catch {
                misuse(error)
                return nil
            }
        }
        set { set(newValue) }
    }

    /// Whoever reads next is to see at least what was seen here.
    private func follow(_ value: T, _ core: RealmSession, _ reference: ThreadSafeReference<T>) {
        // Of a closed session nobody sees anything newer.
        guard let version = try? core.session.version else { return }
        let isInWrite = core.session.isInWrite
        if !isInWrite, let known = reference.version, known >= version { return }
        let made = ThreadSafeReference(to: value)
        state.withLock { state in
            // Unless another value was put here meanwhile.
            guard let current = state.reference, current.isSame(as: reference) else { return }
            if isInWrite { state.newer = made } else { (state.reference, state.newer) = (made, nil) }
        }
    }

    private func set(_ value: T?) {
        guard let value else { return state.withLock { $0 = State() } }
        guard let realm = value.realm else {
            return misuse("Only managed objects may be wrapped as thread safe.", .invalidInput)
        }
        let made = State(reference: ThreadSafeReference(to: value), configuration: realm.configuration)
        state.withLock { $0 = made }
    }
}
