/// A clock that only goes forward, for limits of time that are looked at often: read in a few nanoseconds, and up to a
/// few milliseconds late.
import CMotteShim

package enum CoarseClock {
    /// Since some time in the past.
    package static var nanoseconds: Int64 { motte_shim_coarse_ns() }
}
