/// The write lock inside one process: who comes first writes first. Its holder is not tied to a thread.
///
/// The lock is passed on, not released to all: while somebody waits, a newcomer cannot overtake.
import CMotteShim
import MotteValues

final class WriteQueue: @unchecked Sendable {  // @unchecked: the state is only touched holding 'lock'
    private final class Waiter {
        let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
        init() { word.initialize(to: 0) }
        deinit { word.deallocate() }
    }

    private let lock = Lock()
    private var isHeld = false
    private var waiters: [Waiter] = []

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
        lock.lock()
        defer { lock.unlock() }
        guard !waiters.isEmpty else {
            isHeld = false
            return
        }
        let next = waiters.removeFirst()
        motte_shim_store32(next.word, 1)
        motte_shim_futex_wake_all(next.word)
    }

    /// Threads waiting now, for tests and statistics.
    var waiterCount: Int {
        lock.lock()
        defer { lock.unlock() }
        return waiters.count
    }

    private func takeOrQueue() -> Waiter? {
        lock.lock()
        defer { lock.unlock() }
        guard isHeld else {
            isHeld = true
            return nil
        }
        let waiter = Waiter()
        waiters.append(waiter)
        return waiter
    }

    /// Gives up waiting; true when the lock was passed on in the meantime.
    private func leave(_ waiter: Waiter) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard let index = waiters.firstIndex(where: { $0 === waiter }) else { return true }
        waiters.remove(at: index)
        return false
    }
}
