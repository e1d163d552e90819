/// How an event loop is notified of commits by others: a descriptor to poll, and a call that refreshes and delivers.
///
/// The descriptor is readable while there is work, level-triggered, and is drained by `dispatch` alone. Sessions are
/// bound to a queue on its owner's thread; a notifier thread per open file sets the descriptor when there is a version
/// newer than what a bound session shows, and the session's queries are advanced to it (`MovePreparation`). Writes that
/// wait for their turn are run by `dispatch` too; while somebody else is writing, `timeoutMilliseconds` says when to
/// try again. A host with a scheduler of its own gives a wake function instead, which is called from any thread and has
/// `dispatch` called where the queue is.
import CMotteShim
import MotteLiveObjects
import MotteValues
import Synchronization

package final class DeliveryQueue: @unchecked Sendable {
    // @unchecked: the descriptor is constant, `isSet` atomic; the bindings are only touched by the owner.
    /// -1 with a wake function.
    package let descriptor: Int32
    private let owner: UInt64
    private let confinement: SessionConfinement
    private let wake: (@Sendable () -> Void)?
    private let forkGeneration: UInt32
    private let isSet = Atomic<Bool>(false)
    private var bindings: [QueueBinding] = []
    /// The first to be dispatched the next time.
    private var nextTurn = 0
    private var isDispatching = false

    /// Owned by the calling thread, or by what `confinement` says. `wake` is called once for each time that work comes
    /// up after a dispatch.
    package init(
        confinement: SessionConfinement = .thread, wake: (@Sendable () -> Void)? = nil
    ) throws(DatabaseError) {
        self.confinement = confinement
        self.wake = wake
        descriptor = wake == nil ? motte_shim_event_open() : -1
        owner = motte_shim_thread_serial()
        forkGeneration = motte_shim_fork_generation()
        guard descriptor >= 0 || wake != nil else {
            throw DatabaseError(
                .inputOutput, "no descriptor for a queue; close files or raise the limit of open files",
                systemError: -descriptor)
        }
    }

    deinit {
        for binding in bindings { binding.end() }
        if descriptor >= 0 { motte_shim_event_close(descriptor) }
    }

    private func check() throws(DatabaseError) {
        guard motte_shim_fork_generation() == forkGeneration else {
            throw DatabaseError(.forked, "this queue was made before the process forked; make another in the child")
        }
        let isHere =
            if case .thread = confinement { motte_shim_thread_serial() == owner } else { confinement.isHere }
        guard isHere else {
            throw DatabaseError(.wrongThread, "this queue belongs to \(confinement.name); make one here")
        }
    }

    /// From any thread; makes the descriptor readable.
    package func signal() {
        guard !isSet.exchange(true, ordering: .acquiringAndReleasing) else { return }
        if let wake { wake() } else { motte_shim_event_set(descriptor) }
    }

    /// From now on this queue is notified of changes to the session. Returns the writes that it runs there.
    @discardableResult
    package func bind(_ session: Session) throws(DatabaseError) -> QueuedWrites {
        try check()
        try SessionObservers.checkCanObserve(session)
        let observers = try SessionObservers.of(session)
        guard observers.queueBinding == nil else {
            throw DatabaseError(.invalidArgument, "this session is bound to a queue already")
        }
        // Closed sessions go here too: a host may open and close many without anything to dispatch.
        bindings.removeAll { $0.isEnded }
        let binding = try QueueBinding(self, session, observers)
        observers.queueBinding = binding
        bindings.append(binding)
        try observers.showNotifier(isInWrite: session.isInWrite)
        // The notifier notifies of versions that come from here on.
        if try session.latestVersion > session.version { signal() }
        return binding.writes
    }

    package var bindingCount: Int { bindings.count }

    /// How long a loop may sleep: -1 without limit, 0 when there is work now.
    package func timeoutMilliseconds() throws(DatabaseError) -> Int64 {
        try check()
        return isSet.load(ordering: .acquiring) ? 0 : pause
    }

    /// Until a write that waits for its turn, or a refresh that has failed, should be tried, -1 if there is none.
    private var pause: Int64 {
        bindings.reduce(-1) { least, binding in
            let pause = binding.pause
            return least < 0 ? pause : pause < 0 ? least : min(least, pause)
        }
    }

    /// Sleeps until there is work; false after the timeout (negative: none).
    package func wait(timeoutMilliseconds: Int64) throws(DatabaseError) -> Bool {
        try check()
        guard !isDispatching else { throw reentrant() }
        guard descriptor >= 0 else {
            throw DatabaseError(.unsupported, "this queue wakes its host itself and cannot be waited for")
        }
        // What waits for its turn is work, as soon as it is worth an attempt.
        let pause = pause
        let isPause = pause >= 0 && (timeoutMilliseconds < 0 || pause <= timeoutMilliseconds)
        let outcome = motte_shim_event_wait(descriptor, isPause ? pause : timeoutMilliseconds)
        if outcome == 0, isPause { return true }
        guard outcome >= 0 else {
            throw DatabaseError(.inputOutput, "waiting for the queue's descriptor failed", systemError: -outcome)
        }
        return outcome > 0
    }

    /// Refreshes the bound sessions and runs up to `limit` pending deliveries (0: all); answers how many.
    @discardableResult
    package func dispatch(atMost limit: Int = 0) throws(DatabaseError) -> Int {
        try check()
        guard !isDispatching else { throw reentrant() }
        isDispatching = true
        defer {
            isDispatching = false
            if bindings.contains(where: { $0.hasWork }) { signal() }
        }
        // Cleared before looking: what is signalled from here on is seen by the next dispatch, what was before by this
        // one. The descriptor first: a signal between the two would leave it unreadable and the queue deaf for good.
        if descriptor >= 0 { motte_shim_event_clear(descriptor) }
        _ = isSet.exchange(false, ordering: .acquiringAndReleasing)
        bindings.removeAll { $0.isEnded }
        var left = limit > 0 ? limit : Int.max
        var failure: DatabaseError?
        // Beginning where the last one ended, so that each has its turn whatever the limit is.
        let turns = bindings[min(nextTurn, bindings.count)...] + bindings[..<min(nextTurn, bindings.count)]
        nextTurn = 0
        for binding in turns {
            guard left > 0 else {
                nextTurn = bindings.firstIndex { $0 === binding } ?? 0
                break
            }
            do throws(DatabaseError) { left -= try binding.dispatch(atMost: left) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return (limit > 0 ? limit : Int.max) - left
    }

    private func reentrant() -> DatabaseError {
        DatabaseError(.reentrant, "this queue is dispatching; its callbacks cannot wait for it or dispatch it again")
    }
}
