/// Changes as an asynchronous sequence: `for await change in dogs.changes() { … }`.
///
/// A loop gets the change sets of `observe`. It runs where the realm belongs, on an actor or the main actor; observing
/// begins with the loop and ends with it, also when its task is cancelled. What happens while the loop's body is busy
/// is kept as one change, combined: however slow a loop is, it costs no memory and misses nothing.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

/// Changes as an asynchronous sequence: what `changes()` answers. Each loop over it observes for itself, on the owner
/// of the realm.
public struct RealmChanges<Change>: AsyncSequence {
    /// The changes, one for each turn of a loop.
    public typealias Element = Change
    /// Nothing fails: a sequence ends instead.
    public typealias Failure = Never

    private let begin: () -> ChangeFeed<Change>

    init(_ begin: @escaping () -> ChangeFeed<Change>) { self.begin = begin }

    /// Begins to observe. A `for await` loop calls it where it runs, which has to be the realm's owner; anywhere else
    /// is misuse, after which the sequence is empty.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(begin()) }

    /// Observes from the moment it is made until it is released. What changes between two calls of `next` is combined.
    public final class AsyncIterator: AsyncIteratorProtocol {
        /// The changes, combined while nobody waits for them.
        public typealias Element = Change
        /// Nothing fails: nil ends the sequence.
        public typealias Failure = Never

        private let feed: ChangeFeed<Change>

        fileprivate init(_ feed: ChangeFeed<Change>) { self.feed = feed }
        deinit { feed.end() }

        /// What changed since the call before. nil once nothing can follow: what was observed is deleted, or the task
        /// is cancelled.
        public func next(isolation actor: isolated (any Actor)?) async -> Change? { await feed.next(actor) }

        /// For code outside of any actor, to which no realm is confined: use the form with `isolation`, as loops do.
        public func next() async -> Change? { await feed.next(nil) }
    }
}

/// What one loop waits for.
class ChangeFeed<Change>: @unchecked Sendable {
    // @unchecked: `state` locks; what subclasses keep is only touched where the realm belongs.
    private struct State: @unchecked Sendable {  // @unchecked: only touched holding the lock
        var token: NotificationToken?
        var waiter: CheckedContinuation<Void, Never>?
        /// Something waits to be taken.
        var isReady = false
        var isEnded = false
    }

    private let state = Locked(State())

    /// What waits, combined; nil when there is nothing to tell after all.
    func take() -> Change? { nil }

    /// A token of no observation, which is what misuse gives, ends the loop.
    func keep(_ token: NotificationToken) { if !token.observations.isEmpty { state.withLock { $0.token = token } } }

    func wake() { resume { $0.isReady = true } }

    /// Nothing follows what waits.
    func finish() {
        let token = state.withLock { state -> NotificationToken? in
            defer { state.token = nil }
            return state.token
        }
        token?.invalidate()
        resume { _ in }
    }

    /// Nothing follows.
    func end() {
        finish()
        resume { $0.isEnded = true }
    }

    private func resume(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func next(_ isolation: isolated (any Actor)?) async -> Change? {
        while !Task.isCancelled {
            let (isReady, isOver) = state.withLock { state -> (Bool, Bool) in
                defer { state.isReady = false }
                return (state.isReady, state.isEnded || state.token == nil)
            }
            if isReady, let change = take() { return change }
            if isOver { break }
            await withTaskCancellationHandler {
                await withCheckedContinuation { self.park($0) }
            } onCancel: {
                self.end()
            }
        }
        end()
        return nil
    }

    private func park(_ waiter: CheckedContinuation<Void, Never>) {
        let isDue = state.withLock { state -> Bool in
            if state.isReady || state.isEnded || state.token == nil { return true }
            state.waiter = waiter
            return false
        }
        if isDue { waiter.resume() }
    }
}

/// A feed of `Raw` changes, which are combined while nobody takes them and shown as they are taken.
final class CombiningFeed<Raw, Change>: ChangeFeed<Change>, @unchecked Sendable {
    // @unchecked: as in the class above.
    private var waiting: Raw?
    private let combine: (Raw, Raw) -> Raw
    private let show: (Raw) -> Change?

    init(combine: @escaping (Raw, Raw) -> Raw, show: @escaping (Raw) -> Change?) {
        self.combine = combine
        self.show = show
    }

    func put(_ change: Raw) {
        waiting = waiting.map { combine($0, change) } ?? change
        wake()
    }

    override func take() -> Change? {
        defer { waiting = nil }
        return waiting.flatMap(show)
    }
}

extension RealmChanges {
    /// Of what the engine tells in change sets, which it can combine.
    fileprivate static func sets(
        show: @escaping (ChangeSet) -> Change?,
        observe: @escaping (@escaping (ChangeSet) -> Void) -> NotificationToken
    ) -> RealmChanges {
        RealmChanges {
            let feed = CombiningFeed<ChangeSet, Change>(combine: { $0.followed(by: $1) }, show: show)
            feed.keep(
                observe { [weak feed] changes in
                    feed?.put(changes)
                    if changes.isSourceDeleted { feed?.finish() }
                })
            return feed
        }
    }
}

// MARK: Collections

extension RealmCollection {
    /// First the collection as it is, then what changes. `keyPaths` as for `observe`.
    public func changes(keyPaths: [String]? = nil) -> RealmChanges<RealmCollectionChange<Self>> {
        .sets(show: { .from($0, of: self) }, observe: { self.observeRaw(keyPaths, $0) })
    }
}

extension RealmCollection where Element: ObjectBase {
    /// First the collection as it is, then what changes. Key paths limit which changes within an element count; with an
    /// empty list none does.
    public func changes(keyPaths: [PartialKeyPath<Element>]) -> RealmChanges<RealmCollectionChange<Self>> {
        changes(keyPaths: keyPaths.map { _name(for: $0) })
    }
}

extension RealmKeyedCollection {
    /// First the map as it is, then what changes. `keyPaths` as for `observe`.
    public func changes(keyPaths: [String]? = nil) -> RealmChanges<RealmMapChange<Self>> {
        .sets(show: { .from($0, of: self) }, observe: { self.observeRaw(keyPaths, $0) })
    }
}

// MARK: Sections

extension RealmSectionedResult {
    /// First the sections, or the one section, as they are, then what changes. `keyPaths` as for `observe`.
    public func changes(keyPaths: [String]? = nil) -> RealmChanges<SectionedResultsChange<Self>> {
        .sets(show: { .from($0, of: self) }, observe: { self._observeRaw(keyPaths, $0) })
    }
}

// MARK: Objects and projections

extension ObjectChange {
    /// A property that changed twice has the first old and the last new value.
    fileprivate func followed(by next: ObjectChange) -> ObjectChange {
        guard case .change(_, let before) = self, case .change(let object, let after) = next else { return next }
        var sum = before
        for change in after {
            if let index = sum.firstIndex(where: { $0.name.hasSameBytes(as: change.name) }) {
                sum[index] = PropertyChange(
                    name: change.name, oldValue: sum[index].oldValue, newValue: change.newValue)
            } else {
                sum.append(change)
            }
        }
        return .change(object, sum)
    }

    fileprivate var isLast: Bool {
        if case .change = self { false } else { true }
    }
}

extension RealmChanges {
    fileprivate static func objects<T>(
        _ observe: @escaping (@escaping (ObjectChange<T>) -> Void) -> NotificationToken
    ) -> RealmChanges where Change == ObjectChange<T> {
        RealmChanges {
            let feed = CombiningFeed<Change, Change>(combine: { $0.followed(by: $1) }, show: { $0 })
            feed.keep(
                observe { [weak feed] change in
                    feed?.put(change)
                    if change.isLast { feed?.finish() }
                })
            return feed
        }
    }
}

extension ThreadConfined where Self: ObjectBase {
    /// Changed properties, and the deletion of this object, which is the last. `keyPaths` as for `observe`.
    public func changes(keyPaths: [String]? = nil) -> RealmChanges<ObjectChange<Self>> {
        .objects { self._observe(keyPaths, nil, $0) }
    }

    /// Changes of what the key paths name, and the deletion of this object, which is the last.
    public func changes(keyPaths: [PartialKeyPath<Self>]) -> RealmChanges<ObjectChange<Self>> {
        changes(keyPaths: keyPaths.map { _name(for: $0) })
    }
}

extension ProjectionObservable {
    /// Changed labels, and the deletion of the object, which is the last. `keyPaths` as for `observe`.
    public func changes(keyPaths: [String]? = nil) -> RealmChanges<ObjectChange<Self>> {
        .objects { self.observe(keyPaths: keyPaths, $0) }
    }
}

// MARK: Realms

extension Realm {
    /// One for each time the realm advances or, without autorefresh, could; of several that wait, the last.
    public func changes() -> RealmChanges<Notification> {
        let realm = self
        return RealmChanges {
            let feed = CombiningFeed<Notification, Notification>(combine: { $1 }, show: { $0 })
            feed.keep(realm.observe { [weak feed] notification, _ in feed?.put(notification) })
            return feed
        }
    }
}
