/// Says that there is a new version, to every thread and process that waits for one.
///
/// Two words in shared memory: a futex word with the low 32 bits of the latest committed version, and the whole number.
/// The committer stores and wakes before it releases the write lock; if it dies in between, whoever takes the lock next
/// publishes again, and waiters look at the file itself once a second, so a lost wake costs a second at most.
import CMotteShim
import MotteValues

package final class CommitSignal: @unchecked Sendable {  // @unchecked: the words are touched atomically
    private let futex: UnsafeMutablePointer<UInt32>
    private let number: UnsafeMutablePointer<UInt64>
    private let keepsWords: AnyObject
    private weak var storage: (any PageStorage)?
    private static let safetyMilliseconds: Int64 = 1000

    /// `keeping` owns the memory of the words.
    init(futex: UnsafeMutablePointer<UInt32>, number: UnsafeMutablePointer<UInt64>, keeping owner: AnyObject) {
        self.futex = futex
        self.number = number
        keepsWords = owner
    }

    /// Whose signal it is: set once, right after both exist.
    func attach(_ storage: any PageStorage) { self.storage = storage }

    /// The latest version that was made known; a load.
    package var published: Version { Version(motte_shim_load64(number)) }

    /// Waits until there is a version above `version` and answers the latest, or nil when the time is over (negative:
    /// no limit) or the wait was cancelled. Who promises to call `wake` after cancelling, until the wait has ended,
    /// saves it from looking many times a second.
    package func wait(
        after version: Version, timeoutMilliseconds: Int64, cancellation: WaitCancellation? = nil,
        cancellerWakes: Bool = false
    ) throws(DatabaseError) -> Version? {
        let deadline = Deadline(milliseconds: timeoutMilliseconds)
        let sleepsLong = cancellation == nil || cancellerWakes
        let slice = sleepsLong ? CommitSignal.safetyMilliseconds : WaitCancellation.slice
        var nextLook = Deadline(milliseconds: CommitSignal.safetyMilliseconds)
        while true {
            let word = motte_shim_load32(futex)
            if published > version { return published }
            if cancellation?.isCancelled == true { return nil }
            let remaining = deadline.remaining(atMost: slice)
            if nextLook.remaining(atMost: 1) <= 0 || remaining <= 0 {
                if let stored = try storedVersion(), stored > version { return stored }
                nextLook = Deadline(milliseconds: CommitSignal.safetyMilliseconds)
            }
            if remaining <= 0 { return nil }
            _ = motte_shim_futex_wait(futex, word, remaining)
        }
    }

    /// Lets every waiter look again now, in this process and the others.
    package func wake() { motte_shim_futex_wake_all(futex) }

    /// Called by whoever holds the write lock.
    func publish(_ version: Version) {
        guard published != version else { return }
        motte_shim_store64(number, version.rawValue)
        motte_shim_store32(futex, UInt32(truncatingIfNeeded: version.rawValue))
        motte_shim_futex_wake_all(futex)
    }

    private func storedVersion() throws(DatabaseError) -> Version? {
        guard let storage, storage.isOfThisProcess else { return nil }
        return try storage.newestVersion()
    }
}

/// The two words of a store that only this process sees.
final class PrivateSignalWords {
    let futex = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
    let number = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)

    init() {
        futex.initialize(to: 0)
        number.initialize(to: 0)
    }

    deinit {
        futex.deallocate()
        number.deallocate()
    }

    func makeSignal() -> CommitSignal { CommitSignal(futex: futex, number: number, keeping: self) }
}
