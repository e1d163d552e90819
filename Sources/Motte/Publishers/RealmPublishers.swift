/// Publishers of changes, for programs that use OpenCombine.
///
///     objects, collections, maps, sections, projections, realms
///       objectWillChange            Void after every change, despite its name
///       collectionPublisher         the thing itself: at first, and after every change
///       changesetPublisher          the change sets of `observe`
///
/// A subscription observes; cancelling it ends the observation. Values belong to the place where they were observed:
/// `freeze()` or `threadSafeReference()` before `receive(on:)` takes them elsewhere, `subscribe(on:)` observes on a
/// queue. Values arrive as they happen, however many were asked for, because a change cannot wait.
import Dispatch
import Foundation
import MotteValues
import OpenCombine

/// What can be subscribed to.
public protocol RealmSubscribable {
    /// Opaque to programs: calls `receive` with the thing, of this very type, after every change, and `finish` when no
    /// change can follow.
    func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, sendsInitial: Bool, _ receive: @escaping (Any) -> Void,
        finish: @escaping () -> Void
    ) -> NotificationToken
    /// Whether there is anything to observe.
    var _isObservable: Bool { get }
}

/// Ends an observation when it is cancelled.
struct ObservationSubscription: Subscription {
    private let token: NotificationToken
    let combineIdentifier = CombineIdentifier()

    init(_ token: NotificationToken) { self.token = token }

    func request(_ demand: Subscribers.Demand) {}
    func cancel() { token.invalidate() }
}

/// Publishers of what `observe` notifies of.
public enum RealmPublishers {
    /// Void after every change.
    public struct WillChange<Collection: RealmSubscribable>: Publisher {
        /// A signal without a value.
        public typealias Output = Void
        /// Nothing fails.
        public typealias Failure = Never

        private let source: PublisherSource<Collection>

        init(_ object: Collection) { source = PublisherSource(object) }
        private init(_ source: PublisherSource<Collection>) { self.source = source }

        /// Puts the observation's token into a property, for writes that leave it out. `object` is not kept alive.
        public func saveToken<Owner>(
            on object: Owner, for keyPath: WritableKeyPath<Owner, NotificationToken?>
        ) -> WillChange where Owner: AnyObject { WillChange(source.saving(on: object, keyPath)) }
        /// Puts the observation's token into a property, for writes that leave it out. `object` is not kept alive.
        public func saveToken<Owner>(
            on object: Owner, at keyPath: WritableKeyPath<Owner, NotificationToken?>
        ) -> WillChange where Owner: AnyObject { WillChange(source.saving(on: object, keyPath)) }

        /// Observes, on the owner of the realm, until the subscription is cancelled. What is frozen or unmanaged cannot
        /// be observed.
        public func receive<S: Subscriber>(subscriber: S) where S.Failure == Never, S.Input == Void {
            source.subscribe(subscriber) { object, queue in
                object._observe(nil, on: queue, sendsInitial: false) { _ in
                    _ = subscriber.receive()
                } finish: {
                    subscriber.receive(completion: .finished)
                }
            }
        }
    }

    /// The observed thing itself: a collection at first and after every change, an object after every change.
    public struct Value<Subscribable: RealmSubscribable>: Publisher {
        /// The observed object or collection, live.
        public typealias Output = Subscribable
        /// Nothing fails any more; programs were written when something could.
        public typealias Failure = Error

        private let source: PublisherSource<Subscribable>
        private let keyPaths: [String]?

        init(_ object: Subscribable, _ keyPaths: [String]? = nil) {
            self.init(PublisherSource(object), keyPaths)
        }
        private init(_ source: PublisherSource<Subscribable>, _ keyPaths: [String]?) {
            self.source = source
            self.keyPaths = keyPaths
        }

        /// Observes on a serial queue, where the values then belong.
        public func subscribe(on queue: DispatchQueue) -> Value { Value(source.on(queue), keyPaths) }

        /// Puts the observation's token into a property, for writes that leave it out. `object` is not kept alive.
        public func saveToken<Owner>(
            on object: Owner, for keyPath: WritableKeyPath<Owner, NotificationToken?>
        ) -> Value where Owner: AnyObject { Value(source.saving(on: object, keyPath), keyPaths) }
        /// Puts the observation's token into a property, for writes that leave it out. `object` is not kept alive.
        public func saveToken<Owner>(
            on object: Owner, at keyPath: WritableKeyPath<Owner, NotificationToken?>
        ) -> Value where Owner: AnyObject { Value(source.saving(on: object, keyPath), keyPaths) }

        /// Observes until the subscription is cancelled, on the queue that `subscribe(on:)` named or the owner of the
        /// realm.
        public func receive<S: Subscriber>(subscriber: S) where S.Failure == Failure, S.Input == Output {
            source.subscribe(subscriber) { object, queue in
                object._observe(keyPaths, on: queue, sendsInitial: true) { value in
                    if let value = value as? Subscribable { _ = subscriber.receive(value) }
                } finish: {
                    subscriber.receive(completion: .finished)
                }
            }
        }
    }

    /// The change sets of `observe`.
    public struct Changes<Change>: Publisher {
        /// A change set.
        public typealias Output = Change
        /// Nothing fails.
        public typealias Failure = Never

        /// Observes on a queue; the last parameter is called when no change can follow.
        typealias Observe = (DispatchQueue?, @escaping (Change) -> Void, @escaping () -> Void) -> NotificationToken
        private let source: PublisherSource<Observe>

        init(isObservable: Bool, _ observe: @escaping Observe) {
            source = PublisherSource(observe, isObservable: isObservable)
        }
        private init(_ source: PublisherSource<Observe>) { self.source = source }

        /// Observes on a serial queue, where what the change sets hold then belongs.
        public func subscribe(on queue: DispatchQueue) -> Changes { Changes(source.on(queue)) }

        /// Puts the observation's token into a property, for writes that leave it out. `object` is not kept alive.
        public func saveToken<Owner>(
            on object: Owner, for keyPath: WritableKeyPath<Owner, NotificationToken?>
        ) -> Changes where Owner: AnyObject { Changes(source.saving(on: object, keyPath)) }
        /// Puts the observation's token into a property, for writes that leave it out. `object` is not kept alive.
        public func saveToken<Owner>(
            on object: Owner, at keyPath: WritableKeyPath<Owner, NotificationToken?>
        ) -> Changes where Owner: AnyObject { Changes(source.saving(on: object, keyPath)) }

        /// Observes until the subscription is cancelled, on the queue that `subscribe(on:)` named or the owner of the
        /// realm.
        public func receive<S: Subscriber>(subscriber: S) where S.Failure == Never, S.Input == Change {
            source.subscribe(subscriber) { observe, queue in
                observe(queue) { change in
                    _ = subscriber.receive(change)
                } _: {
                    subscriber.receive(completion: .finished)
                }
            }
        }
    }

    /// The change sets of a list, set, results or inverse links.
    public typealias CollectionChangeset<Collection: RealmCollection> = Changes<RealmCollectionChange<Collection>>
    /// The change sets of a map.
    public typealias MapChangeset<Collection: RealmKeyedCollection> = Changes<RealmMapChange<Collection>>
    /// The changes of an object or a projection.
    public typealias ObjectChangeset<Object> = Changes<ObjectChange<Object>>

    /// Void for every version that a realm advances to; of one without autorefresh, for newer ones that it could
    /// advance to, too.
    public struct RealmWillChange: Publisher {
        /// A signal without a value.
        public typealias Output = Void
        /// Nothing fails.
        public typealias Failure = Never

        private let source: PublisherSource<Realm>

        init(_ realm: Realm) { source = PublisherSource(realm, isObservable: !realm.isFrozen) }
        private init(_ source: PublisherSource<Realm>) { self.source = source }

        /// Puts the observation's token into a property, for writes that leave it out. `object` is not kept alive.
        public func saveToken<Owner>(
            on object: Owner, for keyPath: WritableKeyPath<Owner, NotificationToken?>
        ) -> RealmWillChange where Owner: AnyObject { RealmWillChange(source.saving(on: object, keyPath)) }

        /// Observes the realm until the subscription is cancelled. A frozen realm cannot be observed.
        public func receive<S: Subscriber>(subscriber: S) where S.Failure == Never, S.Input == Void {
            source.subscribe(subscriber) { realm, _ in realm.observe { _, _ in _ = subscriber.receive() } }
        }
    }
}

/// What a publisher observes, where, and who is given the token.
struct PublisherSource<Object> {
    let object: Object
    private let isObservable: Bool
    private var queue: DispatchQueue?
    private var save: ((NotificationToken) -> Void)?

    init(_ object: Object, isObservable: Bool) {
        self.object = object
        self.isObservable = isObservable
        if !isObservable {
            misuse("Only objects and collections that are managed by a Realm can be published.", .invalidInput)
        }
    }

    func on(_ queue: DispatchQueue) -> PublisherSource {
        var source = self
        source.queue = queue
        return source
    }

    func saving<Owner: AnyObject>(
        on owner: Owner, _ keyPath: WritableKeyPath<Owner, NotificationToken?>
    ) -> PublisherSource {
        var source = self
        source.save = { [weak owner] token in owner?[keyPath: keyPath] = token }
        return source
    }

    /// The subscriber gets its subscription before anything else.
    func subscribe<S: Subscriber>(
        _ subscriber: S, _ observe: (Object, DispatchQueue?) -> NotificationToken
    ) {
        guard isObservable else {
            subscriber.receive(subscription: Subscriptions.empty)
            return subscriber.receive(completion: .finished)
        }
        let token = observe(object, queue)
        save?(token)
        subscriber.receive(subscription: ObservationSubscription(token))
    }
}

extension PublisherSource where Object: RealmSubscribable {
    init(_ object: Object) { self.init(object, isObservable: object._isObservable) }
}
