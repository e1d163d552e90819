/// A frozen version for many threads: each gets a row source of its own, because row sources cache while they read.
///
/// They live as long as the frozen session, since what they lend does.
import CMotteShim
import MotteStorage
import MotteValues

final class FrozenSources: Sendable {
    // @unchecked: a snapshot is used only by the thread whose serial it is kept under; the first one only to copy from.
    private struct State: @unchecked Sendable {
        var original: Snapshot?
        var byThread: [UInt64: Snapshot] = [:]
    }

    private let state: Locked<State>

    /// `snapshot` is used by nobody else.
    init(_ snapshot: Snapshot) {
        let holder = Holder(snapshot)
        state = Locked(State(original: holder.snapshot))
    }

    func current() throws(DatabaseError) -> Snapshot {
        let thread = motte_shim_thread_serial()
        let found = state.withLock { state -> Holder in
            if let known = state.byThread[thread] { return Holder(known) }
            guard let original = state.original else { return Holder(nil) }
            let made = original.copy()
            state.byThread[thread] = made
            return Holder(made)
        }
        guard let snapshot = found.snapshot else {
            throw DatabaseError(.closed, "this frozen session has been closed")
        }
        return snapshot
    }

    func close() {
        state.withLock { $0 = State() }
    }

    // @unchecked: carries a snapshot out of the lock to the one thread that uses it.
    private struct Holder: @unchecked Sendable {
        let snapshot: Snapshot?
        init(_ snapshot: Snapshot?) { self.snapshot = snapshot }
    }
}
