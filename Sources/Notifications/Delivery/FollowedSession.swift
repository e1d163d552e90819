/// What the notifier knows of one session: the version that it shows and what it observes there, so that its change
/// sets are computed ahead of it.
///
/// Sessions that are bound to a queue are notified of new versions too (`QueueBinding`). Others are followed from the
/// first refresh on that took so long to find out what others had changed that it is worth a thread; before that they,
/// and sessions that observe little, cost none. Such a session that sleeps until something changes is woken when what
/// it observes is there, if that does not take longer than usual.
import CMotteShim
import MotteLiveObjects
import MotteValues
import Synchronization

class FollowedSession: @unchecked Sendable {
    // @unchecked: `shown` and `notified` are only touched atomically, `watching` locks; the rest belongs to the
    // session's owner, but for `end`, which locks in the notifier.
    private(set) weak var session: Session?
    /// nil once ended: the notifier keeps the file open.
    private var notifier: CommitNotifier?
    private let shown: Atomic<UInt64>
    /// Low half of the last version that was notified, to sleep on.
    private let notified: UnsafeMutablePointer<UInt32>
    private let watching = Locked<WatchedSession?>(nil)
    private(set) var isEnded = false
    private static let mostMilliseconds: Int64 = 100

    init(_ session: Session) throws(DatabaseError) {
        self.session = session
        let version = try session.version
        shown = Atomic(version.rawValue)
        notified = .allocate(capacity: 1)
        notified.initialize(to: UInt32(truncatingIfNeeded: version.rawValue))
        let notifier = CommitNotifier.of(try session.database)
        self.notifier = notifier
        try notifier.add(self)
    }

    deinit { notified.deallocate() }

    func noteShown(_ session: WatchedSession) {
        shown.store(session.place.version.rawValue, ordering: .releasing)
        // What was watched before goes outside the lock.
        _ = watching.withLock { watching -> WatchedSession? in
            let before = watching
            watching = session
            return before
        }
    }

    // MARK: On the notifier's thread

    final func isBehind(_ version: Version) -> Bool { version.rawValue > shown.load(ordering: .acquiring) }

    /// What could be prepared of a version is there.
    func tell(_ version: Version) {
        motte_shim_store32(notified, UInt32(truncatingIfNeeded: version.rawValue))
        motte_shim_futex_wake_all(notified)
    }

    /// What the session observes, if it is behind a version.
    final func watched(behind version: Version) -> WatchedSession? {
        guard isBehind(version), let session = watching.withLock({ $0 }), !session.isEmpty else { return nil }
        return session
    }

    // MARK: On the session's thread

    /// Sleeps until the notifier is done with a version, at most twice as long as it usually takes.
    final func waitUntilNotified(_ version: Version) {
        guard let watched = watching.withLock({ $0 }), watched.expectedNanoseconds >= WatchedSession.leastNanoseconds
        else {
            return
        }
        let most = min(2 * watched.expectedNanoseconds / 1_000_000 + 1, Self.mostMilliseconds)
        let deadline = motte_shim_monotonic_ms() + most
        while true {
            let seen = motte_shim_load32(notified)
            let left = deadline - motte_shim_monotonic_ms()
            // Versions differ by far less than half of what the word counts.
            if Int32(bitPattern: seen &- UInt32(truncatingIfNeeded: version.rawValue)) >= 0 || left <= 0 { return }
            _ = motte_shim_futex_wait(notified, seen, left)
        }
    }

    /// While the session has let go of its file.
    final func pause() {
        notifier?.remove(self)
        notifier = nil
    }

    final func goOn() throws(DatabaseError) {
        guard !isEnded, notifier == nil, let session else { return }
        let notifier = CommitNotifier.of(try session.database)
        self.notifier = notifier
        try notifier.add(self)
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        notifier?.remove(self)
        notifier = nil
    }
}
