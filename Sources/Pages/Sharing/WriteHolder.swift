/// Who has the write lock, as far as that is known: so that a thread which would wait for itself gets an error.
///
/// The lock itself is bound to no thread. But a user who belongs to one, or to a queue or an actor, gives the lock back
/// from there; who waits for it there keeps that from happening.
import CMotteShim
import Synchronization

package final class WriteHolder: Sendable {
    /// 0: of none.
    private let thread: Atomic<UInt64>
    private let isCurrent: (@Sendable () -> Bool)?

    /// `isCurrent` answers whether the calling thread runs on the holder's behalf just now.
    package init(thread: UInt64, isCurrent: (@Sendable () -> Bool)? = nil) {
        self.thread = Atomic(thread)
        self.isCurrent = isCurrent
    }

    /// For a write that begins and ends in one call.
    package static var callingThread: WriteHolder { WriteHolder(thread: motte_shim_thread_serial()) }

    /// It may go on on another thread from now on.
    package func leaveThread() { thread.store(0, ordering: .relaxed) }

    var isHere: Bool {
        thread.load(ordering: .relaxed) == motte_shim_thread_serial() || isCurrent?() ?? false
    }
}
