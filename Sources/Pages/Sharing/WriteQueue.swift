/// The write lock inside one process: who comes first writes first. Its holder is not tied to a thread.
///
/// The lock is passed on, not released to all: while somebody waits, a newcomer cannot overtake.
import CMotteShim
import MotteValues

final class WriteQueue: Sendable {
    private final class Waiter: @unchecked Sendable {  // @unchecked: the word is atomic
        let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
        init() { word.initialize(to: 0) }
        deinit { word.deallocate() }
    }

    private struct State {
        var isHeld = false
        var waiters: [Waiter] = []
    }

    private let state = Locked(State())

    /// False when the time is over or the wait was cancelled.
    func acquire(_ deadline: Deadline, _ cancellation: WaitCancellation?) -> Bool {
        guard let waiter = takeOrQueue() else { return true }
        let slice = cancellation == nil ? Int64(1000) : WaitCancellation.slice
        while motte_shim_load32(waiter.word) == 0 {
            let remaining = deadline.remaining(atMost: slice)
            if remaining <= 0 || cancellation?.isCancelled == true { return leave(waiter) }
            _ = motte_shim_futex_wait(waiter.word, 0, remaining)
        }
        return true
    }

    func release() {
        state.withLock { state in
            guard !state.waiters.isEmpty else {
                state.isHeld = false
                return
            }
            let next = state.waiters.removeFirst()
            motte_shim_store32(next.word, 1)
            motte_shim_futex_wake_all(next.word)
        }
    }

    /// Threads waiting now, for tests and statistics.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    private func takeOrQueue() -> Waiter? {
        state.withLock { state in
            guard state.isHeld else {
                state.isHeld = true
                return nil
            }
            let waiter = Waiter()
            state.waiters.append(waiter)
            return waiter
        }
    }

    /// Gives up waiting; true when the lock was passed on in the meantime.
    private func leave(_ waiter: Waiter) -> Bool {
        state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0 === waiter }) else { return true }
            state.waiters.remove(at: index)
            return false
        }
    }
}
