/// Taking published values to other threads: frozen, or as thread-safe references that are resolved on arrival.
///
///     publisher.freeze().receive(on: queue)
///     publisher.threadSafeReference().receive(on: queue)
import Dispatch
import Foundation
import OpenCombine

// MARK: Frozen

extension Publisher where Output: ThreadConfined {
    /// Every value frozen as it is sent, for all threads.
    public func freeze() -> Publishers.Map<Self, Output> { map { $0.freeze() } }
}

extension Publisher {
    /// Every change set with its collection frozen, for all threads. Indexes stay as they are.
    public func freeze<C: RealmCollection>() -> Publishers.Map<Self, Output>
    where Output == RealmCollectionChange<C> { map { $0.mapped { $0.freeze() } } }

    /// Every change set with its map frozen, for all threads.
    public func freeze<C: RealmKeyedCollection>() -> Publishers.Map<Self, Output>
    where Output == RealmMapChange<C> { map { $0.mapped { $0.freeze() } } }

    /// Every change with its object frozen, for all threads; a deletion as it is.
    public func freeze<T: ThreadConfined>() -> Publishers.Map<Self, Output> where Output == ObjectChange<T> {
        map { $0.mapped { $0.freeze() } }
    }
}

extension RealmCollectionChange {
    func mapped<T>(_ body: (CollectionType) -> T) -> RealmCollectionChange<T> {
        switch self {
        case .initial(let collection): .initial(body(collection))
        case .update(let collection, let deletions, let insertions, let modifications):
            .update(body(collection), deletions: deletions, insertions: insertions, modifications: modifications)
        case .error(let error): .error(error)
        }
    }

    var collection: CollectionType? {
        switch self {
        case .initial(let collection), .update(let collection, _, _, _): collection
        case .error: nil
        }
    }
}

extension RealmMapChange {
    func mapped(_ body: (Collection) -> Collection) -> RealmMapChange {
        switch self {
        case .initial(let map): .initial(body(map))
        case .update(let map, let deletions, let insertions, let modifications):
            .update(body(map), deletions: deletions, insertions: insertions, modifications: modifications)
        case .error(let error): .error(error)
        }
    }

    var collection: Collection? {
        switch self {
        case .initial(let map), .update(let map, _, _, _): map
        case .error: nil
        }
    }
}

extension ObjectChange {
    func mapped(_ body: (T) -> T) -> ObjectChange {
        switch self {
        case .change(let object, let properties): .change(body(object), properties)
        case .deleted, .error: self
        }
    }

    var object: T? {
        if case .change(let object, _) = self { return object }
        return nil
    }
}

// MARK: By reference

/// A published value on its way to another thread.
public struct RealmHandover<Output>: @unchecked Sendable {
    // @unchecked: whoever arrives with it is the only one who opens it
    private let opened: (DispatchQueue?) -> Output?

    /// `nil` for what holds nothing that belongs to a thread.
    init<Confined: ThreadConfined>(
        _ output: Output, _ confined: Confined?, _ replacing: @escaping (Output, Confined) -> Output
    ) {
        guard let confined, let configuration = confined.realm?.configuration, !confined.isFrozen else {
            opened = { _ in output }
            return
        }
        let reference = ThreadSafeReference(to: confined)
        opened = { queue in
            // These publishers cannot fail: what cannot be opened there is left out, as what was deleted meanwhile.
            guard let realm = try? Realm(configuration: configuration, queue: queue),
                let resolved = realm.resolve(reference)
            else { return nil }
            return replacing(output, resolved)
        }
    }

    /// On the queue of arrival, or its thread where there is no queue; nil when it has been deleted meanwhile.
    fileprivate func open(_ queue: DispatchQueue?) -> Output? { opened(queue) }
}

extension RealmPublishers {
    /// Values that ``receive(on:)`` hands over: as references, resolved where they arrive.
    public struct MakeThreadSafe<Upstream: Publisher>: Publisher {
        /// What the publisher before it sends.
        public typealias Output = Upstream.Output
        /// How the publisher before it fails.
        public typealias Failure = Upstream.Failure

        private let upstream: Upstream
        private let pack: (Output) -> RealmHandover<Output>

        init(_ upstream: Upstream, _ pack: @escaping (Output) -> RealmHandover<Output>) {
            self.upstream = upstream
            self.pack = pack
        }

        /// Subscribes to the publisher before it. Without `receive(on:)` nothing is handed over.
        public func receive<S: Subscriber>(subscriber: S) where S.Failure == Failure, S.Input == Output {
            upstream.receive(subscriber: subscriber)
        }

        /// Values arrive on the scheduler; those deleted on the way are left out. On a serial dispatch queue they are
        /// confined to it, elsewhere to the thread that runs the scheduler then.
        public func receive<S: Scheduler>(on scheduler: S) -> DeferredHandover<Upstream, S> {
            DeferredHandover(upstream.map(pack), scheduler)
        }
    }

    /// Values that are resolved where they arrive: what ``MakeThreadSafe/receive(on:)`` makes.
    public struct DeferredHandover<Upstream: Publisher, S: Scheduler>: Publisher {
        /// What the publisher before it sends, resolved on the scheduler.
        public typealias Output = Upstream.Output
        /// How the publisher before it fails.
        public typealias Failure = Upstream.Failure

        private let packed: Publishers.Map<Upstream, RealmHandover<Upstream.Output>>
        private let scheduler: S

        fileprivate init(_ packed: Publishers.Map<Upstream, RealmHandover<Upstream.Output>>, _ scheduler: S) {
            self.packed = packed
            self.scheduler = scheduler
        }

        /// Subscribes to the publisher before it, and resolves on the scheduler what it sends.
        public func receive<Sub: Subscriber>(subscriber: Sub) where Sub.Failure == Failure, Sub.Input == Output {
            // A concurrent queue owns nothing: there it is the thread.
            let queue = (scheduler as? DispatchQueue).flatMap { $0.isConcurrent ? nil : $0 }
            packed.receive(on: scheduler).compactMap { $0.open(queue) }.receive(subscriber: subscriber)
        }
    }
}

extension Publisher where Output: ThreadConfined {
    /// Lets `receive(on:)` take the values to another thread or queue.
    public func threadSafeReference() -> RealmPublishers.MakeThreadSafe<Self> {
        RealmPublishers.MakeThreadSafe(self) { value in RealmHandover(value, value) { $1 } }
    }
}

extension Publisher {
    /// Lets `receive(on:)` take change sets of collections to another thread or queue.
    public func threadSafeReference<C: RealmCollection>() -> RealmPublishers.MakeThreadSafe<Self>
    where Output == RealmCollectionChange<C> {
        RealmPublishers.MakeThreadSafe(self) { change in
            RealmHandover(change, change.collection) { change, resolved in change.mapped { _ in resolved } }
        }
    }

    /// Lets `receive(on:)` take change sets of maps to another thread or queue.
    public func threadSafeReference<C: RealmKeyedCollection>() -> RealmPublishers.MakeThreadSafe<Self>
    where Output == RealmMapChange<C> {
        RealmPublishers.MakeThreadSafe(self) { change in
            RealmHandover(change, change.collection) { change, resolved in change.mapped { _ in resolved } }
        }
    }

    /// Lets `receive(on:)` take changes of objects to another thread or queue; a deletion goes as it is.
    public func threadSafeReference<T: ThreadConfined>() -> RealmPublishers.MakeThreadSafe<Self>
    where Output == ObjectChange<T> {
        RealmPublishers.MakeThreadSafe(self) { change in
            RealmHandover(change, change.object) { change, resolved in change.mapped { _ in resolved } }
        }
    }
}
