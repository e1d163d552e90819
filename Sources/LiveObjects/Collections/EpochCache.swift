/// Something computed from a session's rows, good until the session's view epoch moves.
///
/// A live session's cache belongs to its thread. A frozen one's is filled once, by whichever thread comes first, which
/// the lock is for; it is not taken otherwise.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import MotteValues

final class EpochCache<Content> {
    private var epoch: UInt64 = 0
    private var content: Content?
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    func get(_ session: Session, _ make: () throws(DatabaseError) -> Content) throws(DatabaseError) -> Content {
        try session.check()
        guard !session.isFrozen else { return try getLocked(make) }
        if epoch == session.viewEpoch, let content { return content }
        let made = try make()
        content = made
        epoch = session.viewEpoch
        return made
    }

    /// What is there and good, without making it. Not for frozen sessions.
    func peek(_ session: Session) -> Content? {
        if session.isFrozen {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return content
        }
        return epoch == session.viewEpoch ? content : nil
    }

    /// Puts in what somebody else has computed for the session's present state.
    func put(_ made: Content, _ session: Session) {
        if session.isFrozen {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            content = content ?? made
            return
        }
        content = made
        epoch = session.viewEpoch
    }

    /// A frozen session's content stays: others may be reading it.
    func forget(_ session: Session) { if !session.isFrozen { content = nil } }

    private func getLocked(_ make: () throws(DatabaseError) -> Content) throws(DatabaseError) -> Content {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if let content { return content }
        let made = try make()
        content = made
        return made
    }
}
