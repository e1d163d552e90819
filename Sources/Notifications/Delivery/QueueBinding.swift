/// One session on one queue: it is notified of new versions once its change sets are computed, and its writes wait
/// there for their turn.
import CMotteShim
import MotteLiveObjects
import MotteValues

final class QueueBinding: FollowedSession, @unchecked Sendable {  // @unchecked: as it is above
    let queue: Unowned
    private weak var observers: SessionObservers?
    let writes: QueuedWrites
    /// How often refreshing has failed in a row, and when it is worth another attempt.
    private var failures = 0
    private var retryTime: Int64 = 0
    private static let firstPause: Int64 = 20_000_000, longestPause: Int64 = 2_000_000_000

    /// The queue outlives its bindings or ends them.
    struct Unowned {
        weak var queue: DeliveryQueue?
        func signal() { queue?.signal() }
    }

    init(_ queue: DeliveryQueue, _ session: Session, _ observers: SessionObservers) throws(DatabaseError) {
        self.queue = Unowned(queue: queue)
        self.observers = observers
        writes = QueuedWrites(self.queue)
        try super.init(session)
    }

    override func tell(_ version: Version) {
        super.tell(version)
        if isBehind(version) { queue.signal() }
    }

    override func end() {
        guard !isEnded else { return }
        super.end()
        writes.end()
    }

    var hasWork: Bool {
        guard !isEnded, let session, let observers, !session.isClosed, !session.isInWrite else { return false }
        if observers.hasWaitingCallbacks || observers.wantsInitial || writes.pause == 0 { return true }
        // The queue asks again at the next signal, and dispatching says why.
        guard let shown = try? session.version, let latest = try? session.latestVersion else { return false }
        return latest > shown && (failures == 0 || pause == 0)
    }

    /// A dispatch in a write has left it, and taken the signal.
    func signalWork() { if hasWork { queue.signal() } }

    /// In milliseconds, until a write that waits for its turn or a refresh that has failed is worth an attempt; -1 if
    /// there is none, also in a write of the session, which keeps both from being tried.
    var pause: Int64 {
        guard !isEnded, session?.isInWrite == false else { return -1 }
        let ofWrites = writes.pause
        guard failures > 0 else { return ofWrites }
        let ofRefresh = max(0, (retryTime &- motte_shim_monotonic_ns()) / 1_000_000)
        return ofWrites < 0 ? ofRefresh : min(ofWrites, ofRefresh)
    }

    /// One that keeps failing is not tried again and again without a pause.
    private func refresh(_ session: Session) throws(DatabaseError) {
        do throws(DatabaseError) {
            _ = try session.refresh(at: .dispatch)
            failures = 0
        } catch {
            let pause = min(Self.longestPause, Self.firstPause << Int64(min(failures, 10)))
            failures += 1
            retryTime = motte_shim_monotonic_ns() &+ pause
            throw error
        }
    }

    func dispatch(atMost limit: Int) throws(DatabaseError) -> Int {
        guard !isEnded, let session, let observers, !session.isClosed, !session.isInWrite, !observers.isDelivering
        else {
            return 0
        }
        try session.checkMayMove("dispatch")
        // What fails for one observer keeps neither the others nor the writes from running.
        var failure: DatabaseError?
        do throws(DatabaseError) { try refresh(session) } catch { failure = error }
        var ran = 0
        do throws(DatabaseError) { ran = try observers.run(atMost: limit) } catch { failure = failure ?? error }
        if !isEnded, !session.isClosed, !session.isInWrite {
            do throws(DatabaseError) { ran += try writes.run(session, atMost: limit - ran) } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return ran
    }
}
