/// When something was, and the clock that says when it is now.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A point in time: seconds since 1970-01-01T00:00:00Z and nanoseconds within that second.
///
/// `nanoseconds` is 0 ... 999,999,999, also before 1970: half a second before the epoch is (-1, 500,000,000), so that
/// order is the order of the pair.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let seconds: Int64
    package let nanoseconds: UInt32

    /// The caller keeps `nanoseconds` in range; language bindings check it before they get here.
    package init(seconds: Int64, nanoseconds: UInt32) {
        assert(nanoseconds < 1_000_000_000)
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// By the system's clock.
    package static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: UInt32(truncatingIfNeeded: time.tv_nsec))
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.seconds != right.seconds ? left.seconds < right.seconds : left.nanoseconds < right.nanoseconds
    }
}
