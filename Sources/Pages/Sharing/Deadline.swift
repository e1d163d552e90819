/// The end of a wait, and the flag by which somebody else ends it early.
import CMotteShim
import MotteValues

struct Deadline {
    /// On the monotonic clock; nil waits for ever.
    private let limit: Int64?

    /// Negative: no limit; 0: do not wait at all.
    init(milliseconds: Int64) {
        guard milliseconds >= 0 else {
            limit = nil
            return
        }
        let (sum, overflow) = motte_shim_monotonic_ms().addingReportingOverflow(milliseconds)
        limit = overflow ? nil : sum
    }

    var isEndless: Bool { limit == nil }

    /// What is left, but at most `slice`; 0 or less when the time is over.
    func remaining(atMost slice: Int64) -> Int64 {
        guard let limit else { return slice }
        return min(slice, limit - motte_shim_monotonic_ms())
    }
}

/// Lets a thread end the waits of another, for a lock or for a commit. A cancelled wait answers like one whose time is
/// over. Once cancelled it stays so.
package final class WaitCancellation: @unchecked Sendable {  // @unchecked: one word, touched atomically
    private let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)

    package init() {
        word.initialize(to: 0)
    }

    deinit {
        word.deallocate()
    }

    /// Waits notice within `slice` milliseconds.
    package func cancel() { motte_shim_store32(word, 1) }
    package var isCancelled: Bool { motte_shim_load32(word) != 0 }

    /// How long a wait that can be cancelled sleeps before it looks again.
    static let slice: Int64 = 20
}
