/// The token of one observation: alive until it is stopped or let go.
///
/// With a callback, changes are handed to it at the session's delivery points; without one they wait for `next()`,
/// combined into one change set however many commits there were. `stop` may come from any thread; everything else
/// belongs to the session's thread.
import MotteLiveObjects
import MotteValues
import Synchronization

package final class Observation: @unchecked Sendable {
    // @unchecked: the flag and the callback lock; the rest is only touched on the session's thread.
    package typealias Callback = (ChangeSet) throws(DatabaseError) -> Void

    package enum Next {
        case changes(ChangeSet)
        case pending
        case end
    }

    let observer: Observer
    private let hasCallback: Bool
    private let callback: Locked<CallbackBox>
    private let stopped = Atomic<Bool>(false)
    private(set) var awaitsInitial: Bool
    /// The version at which its first state could not be found out.
    private var initialFailedAt: Version?
    private var waiting: ChangeSet?
    /// After the last change set there will be no other.
    private var isFinished = false
    /// Finding out what changed has failed, so that the observer does not remember a version any more.
    private(set) var isBehind = false
    /// What the observer was last notified of in place of changes; nil since it succeeded.
    private var lastFailure: (code: ErrorCode, message: String)?

    // @unchecked: only touched holding the lock around it, and called on the session's thread.
    private struct CallbackBox: @unchecked Sendable {
        var call: Callback?
    }

    init(_ observer: Observer, callback: Callback?) {
        self.observer = observer
        hasCallback = callback != nil
        self.callback = Locked(CallbackBox(call: callback))
        awaitsInitial = observer.tellsInitialState
    }

    deinit { stop() }

    package var isStopped: Bool { stopped.load(ordering: .acquiring) }

    /// No call of the callback begins after this. False when it had ended before.
    @discardableResult
    package func stop() -> Bool {
        guard !stopped.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        // Let go outside the lock: what the callback holds on to may run code of its own when it goes.
        let dropped = callback.withLock { box -> CallbackBox in
            let last = box
            box.call = nil
            return last
        }
        _ = dropped
        return true
    }

    /// The next change set of a token without callback; throws what kept it from being found out. Outside of a write it
    /// also brings a pending initial one.
    package func next() throws(DatabaseError) -> Next {
        let session = observer.session
        if session.isClosed { return .end }
        try session.check()
        guard !hasCallback else {
            throw DatabaseError(
                .invalidArgument, "this token delivers to its callback; observe without one to ask for changes")
        }
        if isStopped { return .end }
        if awaitsInitial, !session.isInWrite, !session.isInGroup {
            prepareInitial()
            try SessionObservers.known(session)?.showNotifier(isInWrite: false)
        }
        if let changes = take() {
            if let failure = changes.failure { throw failure }
            return .changes(changes)
        }
        return isFinished ? .end : .pending
    }

    // MARK: For the session's observers

    var isDone: Bool { isStopped || (isFinished && waiting == nil) }
    var waitsForCallback: Bool { hasCallback && waiting != nil && !isStopped }
    var hasWaiting: Bool { waiting != nil }

    func prepareInitial() {
        guard awaitsInitial, !isStopped else { return }
        do throws(DatabaseError) {
            add(try observer.initialState())
            awaitsInitial = false
            lastFailure = nil
        } catch {
            // Known at once that it can't be found out: what is asked again says the same.
            initialFailedAt = try? observer.session.version
            add(failure: error)
        }
    }

    /// Whether looking may find out its first state: where it could not, only at another version.
    var wantsInitial: Bool {
        guard awaitsInitial, !isStopped else { return false }
        guard let initialFailedAt else { return true }
        // Asked again, it says why it can't be told.
        return (try? observer.session.version) != initialFailedAt
    }

    /// Computes what the session's last move means for the observer. If it is skipped, its owner knows of the changes
    /// already: they are not notified, and those that still wait are notified as if they had come after them.
    ///
    /// A failure is the observer's own: it is notified of it in place of changes, and nobody else is. It starts over at
    /// the next delivery that is not in a write.
    func prepare(_ context: DeliveryContext, isSkipped: Bool, isInWrite: Bool) {
        guard !isFinished, !isStopped, !isBehind || !isInWrite else { return }
        let found: ChangeSet?
        do throws(DatabaseError) {
            found = isBehind ? try observer.resume(context) : try observer.move(context)
            isBehind = false
            lastFailure = nil
        } catch {
            isBehind = true
            return add(failure: error)
        }
        guard let changes = found else { return }
        guard isSkipped, !changes.isInitial else { return add(changes) }
        waiting = waiting.map { $0.knowing(changes) }.flatMap { $0.isEmpty && $0.kind != .session ? nil : $0 }
        if changes.isSourceDeleted { isFinished = true }
    }

    private func add(_ changes: ChangeSet) {
        waiting = waiting.map { $0.followed(by: changes) } ?? changes
        if changes.isSourceDeleted { isFinished = true }
    }

    /// The same failure, found again by looking again, is no news.
    private func add(failure: DatabaseError) {
        if let last = lastFailure, last.code == failure.code, last.message.hasSameBytes(as: failure.message) { return }
        lastFailure = (failure.code, failure.message)
        var changes = ChangeSet(observer.kind, from: observer.version, to: observer.version)
        changes.failure = failure
        add(changes)
    }

    private func take() -> ChangeSet? {
        defer { waiting = nil }
        return waiting
    }

    /// Hands over what is waiting; the callback runs outside of all locks and may stop this very token.
    func deliver() throws(DatabaseError) {
        guard !isStopped, let call = callback.withLock({ $0 }).call, let changes = take() else { return }
        try call(changes)
    }
}
