/// Who may use a live session.
///
/// A thread is identified by its number at every call. Anything else, such as a serial queue or an actor's executor, is
/// asked whether the calling thread runs on its behalf just now; the answer must never be yes for two threads at once.
import CMotteShim

package enum SessionConfinement: Sendable {
    case thread
    /// With `opensOnOwnThread`, the thread that opens is one of those that may always use it, and is not asked about.
    case custom(name: String, opensOnOwnThread: Bool = false, isHere: @Sendable () -> Bool)

    /// Stands for the owner in sessions that belong to no thread; threads are numbered from 1.
    static let elsewhere = UInt64.max - 1

    var owner: UInt64 {
        switch self {
        case .thread: motte_shim_thread_serial()
        case .custom(_, let isOwn, _): isOwn ? motte_shim_thread_serial() : Self.elsewhere
        }
    }

    /// Only for what belongs to no thread.
    package var isHere: Bool {
        switch self {
        case .thread: false
        case .custom(_, _, let isHere): isHere()
        }
    }

    /// `isHere` of what belongs to no thread alone.
    var currency: (@Sendable () -> Bool)? {
        switch self {
        case .thread: nil
        case .custom(_, _, let isHere): isHere
        }
    }

    package var name: String {
        switch self {
        case .thread: "another thread"
        case .custom(let name, _, _): name
        }
    }
}
