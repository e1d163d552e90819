/// Something computed from a session's rows, good until the session's view epoch moves.
///
/// A live session's cache belongs to its thread and has no lock. A frozen one's keeps what the first thread has made.
/// It is made outside of the lock: a function of the program may run meanwhile, and read the same.
import MotteValues

final class EpochCache<Content> {
    private var epoch: UInt64 = 0
    private var content: Content?
    /// Of frozen sessions.
    private let shared: Locked<Content?>?

    init(_ session: Session) { shared = session.isFrozen ? Locked(nil) : nil }

    func get(_ session: Session, _ make: () throws(DatabaseError) -> Content) throws(DatabaseError) -> Content {
        try session.check()
        if let shared { return try Self.get(shared, make) }
        if epoch == session.viewEpoch, let content { return content }
        let made = try make()
        content = made
        epoch = session.viewEpoch
        return made
    }

    /// What is there and good, without making it. Not for frozen sessions.
    func peek(_ session: Session) -> Content? {
        if let shared { return shared.withLock { $0 } }
        return epoch == session.viewEpoch ? content : nil
    }

    /// Puts in what somebody else has computed for the session's present state.
    func put(_ made: Content, _ session: Session) {
        if let shared { return shared.withLock { $0 = $0 ?? made } }
        content = made
        epoch = session.viewEpoch
    }

    /// A frozen session's content stays (`shared`): others may be reading it.
    func forget() { content = nil }

    private static func get(
        _ shared: Locked<Content?>, _ make: () throws(DatabaseError) -> Content
    ) throws(DatabaseError) -> Content {
        if let known = shared.withLock({ $0 }) { return known }
        let made = try make()
        return shared.withLock { content in
            if let content { return content }
            content = made
            return made
        }
    }
}
