/// A clock that only goes forward, for measuring what something took.
import CMotteShim

package enum MonotonicClock {
    /// Since some time in the past.
    package static var nanoseconds: Int64 { motte_shim_monotonic_ns() }
}
