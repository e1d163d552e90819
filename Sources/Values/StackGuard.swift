/// Whether the calling thread has enough stack for calls within calls, as many as a text is deep. Some threads have
/// 64 KB, and a text that comes from outside never ends the process.
///
/// What a level takes is measured on builds with optimization; those without it take several times as much.
import CMotteShim

package enum StackGuard {
    #if DEBUG
    private static let factor = 4
    #else
    private static let factor = 1
    #endif
    /// For what is called at the deepest level.
    private static let reserve = 24 << 10

    /// For `bytes` more than what any call takes.
    @inline(__always)
    package static func hasRoom(for bytes: Int = 0) -> Bool {
        motte_shim_stack_left() > UInt(bitPattern: (bytes &+ reserve) &* factor)
    }
}
