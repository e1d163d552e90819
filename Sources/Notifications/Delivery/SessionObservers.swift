/// All observations of one session, and the order in which they are notified.
///
///  1. The session moves (refresh, begin-write, commit, dispatch) and calls `deliver`.
///  2. What changed is computed for every token, in the order of registration, before any callback runs: callbacks may
///     write, and what they write must not be taken for part of the move.
///  3. Callbacks run, each at most once, in the same order. A token registered by a callback is not called in this
///     round. A callback that writes leads to another round after this one, not to a nested one, and to at most
///     `mostRounds` of them.
///  4. What fails for one observer takes nothing from the others, which are notified as ever. Who could not find out
///     what changed is notified of that (`ChangeSet.failure`) and starts over at the next delivery. What a callback
///     throws is thrown when all have run by the calls that are there to notify, refresh and dispatch. A commit is
///     durable and does not fail for it, and neither does the begin of a write, unless something was changed in it: the
///     failure goes to `Session.onObserverFailure`.
///
/// The initial state is not delivered by begin-write: it would be out of date at once. It comes with the next commit.
import CMotteShim
import MotteLiveObjects
import MotteStorage
import MotteValues

package final class SessionObservers: SessionHook {
    private struct Entry {
        weak var token: Observation?
    }

    private unowned let session: Session
    private var entries: [Entry] = []
    private var delivering = false
    /// While changes are computed: functions that say which section an element is in must not move the session.
    private var preparing = false
    /// Tokens that are not notified of the commit under way.
    private var skipped: [Observation] = []
    /// Version up to which tokens have been notified.
    private var preparedVersion: Version
    /// nil while the session has let go of its file.
    private var keepsHistory: HistoryClaim?
    /// Only tests choose; observers for which it was chosen share nothing with others.
    package var patching = ResultsPatching.byCost
    /// Set by the delivery queue the session is bound to.
    var queueBinding: QueueBinding? {
        get { followed as? QueueBinding }
        set {
            followed?.end()
            followed = newValue
        }
    }
    /// For the notifier.
    private var followed: FollowedSession?

    private init(_ session: Session) throws(DatabaseError) {
        self.session = session
        preparedVersion = try session.version
        keepsHistory = try HistoryClaim(session)
    }

    deinit {
        followed?.end()
        keepsHistory?.release()
    }

    /// Those of a session that has some.
    static func known(_ session: Session) -> SessionObservers? { session.hook as? SessionObservers }

    /// Those of a session, made on first use.
    package static func of(_ session: Session) throws(DatabaseError) -> SessionObservers {
        if let known = session.hook as? SessionObservers { return known }
        let made = try SessionObservers(session)
        session.hook = made
        return made
    }

    package var isDelivering: Bool { delivering || preparing }

    package func writeHasEnded() { queueBinding?.signalWork() }

    package func skip(_ observers: [AnyObject]) { skipped = observers.compactMap { $0 as? Observation } }

    package func takeSkipped() -> [AnyObject] {
        defer { skipped = [] }
        return skipped
    }

    package func sessionWillClose(_ session: Session) {
        for entry in entries { entry.token?.stop() }
        entries = []
        followed?.end()
        followed = nil
        keepsHistory?.release()
    }

    package func sessionWillLeaveFile(_ session: Session) {
        followed?.pause()
        keepsHistory?.release()
        keepsHistory = nil
    }

    package func sessionDidReturn(_ session: Session) throws(DatabaseError) {
        keepsHistory = try HistoryClaim(session)
        try followed?.goOn()
    }

    // MARK: Registering

    /// Throws where nothing may be observed: from other threads, in a write, on something frozen.
    static func checkCanObserve(_ session: Session) throws(DatabaseError) {
        try session.check()
        guard !session.isFrozen else {
            throw DatabaseError(
                .frozen, "frozen things do not change and do not have change notifications; observe the live one")
        }
        guard !session.isInWrite, !session.isInGroup else {
            throw DatabaseError(
                .alreadyInWrite, "cannot begin to observe during a write; do it before, or after the commit")
        }
    }

    func add(_ token: Observation) {
        entries.removeAll { $0.token?.isDone ?? true }
        entries.append(Entry(token: token))
        if token.awaitsInitial { queueBinding?.queue.signal() }
    }

    package var tokenCount: Int { entries.count { $0.token?.isStopped == false } }

    // MARK: Delivering

    package func deliver(_ session: Session, at point: DeliveryPoint) throws(DatabaseError) {
        guard !preparing else {
            throw DatabaseError(.reentrant, "a section's key is being computed; do not write or refresh in there")
        }
        var failure: DatabaseError?
        do throws(DatabaseError) { try prepare(at: point) } catch { failure = error }
        // A queue counts deliveries and runs them itself.
        if point != .dispatch, !delivering {
            do throws(DatabaseError) { _ = try run(atMost: .max) } catch { failure = error }
        }
        guard let failure else { return }
        // A write that nothing was changed in begins as if nobody had failed.
        guard point == .beginWrite, session.write?.hasChanges == false else { throw failure }
        session.onObserverFailure?(failure)
    }

    /// Throws where nothing was prepared for any observer: the next delivery goes from the same version.
    private func prepare(at point: DeliveryPoint) throws(DatabaseError) {
        preparing = true
        defer { preparing = false }
        let start = motte_shim_monotonic_ns()
        let context = try DeliveryContext(
            session, from: preparedVersion, isOwnCommit: point == .commit, patching)
        let version = context.to
        preparedVersion = version
        defer { session.forgetPrevious() }
        // A callback that writes does not skip them again.
        let skipped = skipped
        self.skipped = []
        for entry in entries {
            guard let token = entry.token, !token.isStopped else { continue }
            if !token.awaitsInitial {
                token.prepare(context, isSkipped: skipped.contains { $0 === token }, isInWrite: point == .beginWrite)
            } else if point != .beginWrite {
                token.prepareInitial()
            }
        }
        keepsHistory?.move(to: version)
        if followed == nil, point == .refresh, context.moved, context.patching == .byCost,
            motte_shim_monotonic_ns() &- start >= WatchedSession.leastNanoseconds
        {
            // Without it, everything goes on as before.
            followed = try? FollowedSession(session)
        }
        try showNotifier(isInWrite: point == .beginWrite)
    }

    /// More rounds than callbacks that write for a good reason lead to.
    package static let mostRounds = 100

    package func waitUntilPrepared(_ version: Version) { followed?.waitUntilNotified(version) }

    /// Tells the notifier what is shown and observed.
    func showNotifier(isInWrite: Bool) throws(DatabaseError) {
        guard let followed else { return }
        var (queries, observers): ([WatchedQuery], [WatchedObserver]) = ([], [])
        if !isInWrite {
            for entry in entries {
                guard let token = entry.token, !token.isDone, !token.awaitsInitial, !token.isBehind else { continue }
                if let query = token.observer.watchedQuery { queries.append(query) }
                if let observer = try token.observer.watched() { observers.append(observer) }
            }
        }
        followed.noteShown(WatchedSession(at: try session.committedSnapshot().trace, queries, observers))
    }

    /// Runs the callbacks that wait, at most that many; answers how many ran. The last error of one of them is thrown
    /// when all have run. What callbacks wrote in the last of too many rounds is left for the next delivery.
    func run(atMost limit: Int) throws(DatabaseError) -> Int {
        guard !delivering else { return 0 }
        delivering = true
        defer { delivering = false }
        var ran = 0
        var failure: DatabaseError?
        var round = waitingTokens()
        var rounds = 0
        while !round.isEmpty {
            guard rounds < Self.mostRounds else {
                failure = DatabaseError(
                    .callback,
                    "observers' callbacks still write after \(Self.mostRounds) rounds of notifying each other; let a "
                        + "callback write only where there is something to change")
                break
            }
            rounds += 1
            for token in round where ran < limit && token.waitsForCallback {
                ran += 1
                do throws(DatabaseError) { try token.deliver() } catch { failure = error }
            }
            round = ran < limit ? waitingTokens() : []
        }
        if let failure { throw failure }
        return ran
    }

    func commit(skipping tokens: [Observation]) throws(DatabaseError) -> Version {
        for token in tokens where token.observer.session !== session {
            throw DatabaseError(
                .invalidArgument, "a token to be skipped belongs to another session; name tokens of this one")
        }
        skipped = tokens
        defer { skipped = [] }
        return try session.commit()
    }

    private func waitingTokens() -> [Observation] {
        entries.compactMap { entry in entry.token.flatMap { $0.waitsForCallback ? $0 : nil } }
    }

    var hasWaitingCallbacks: Bool { entries.contains { $0.token?.waitsForCallback == true } }
    /// Tokens that a dispatch would give something: their first state.
    var wantsInitial: Bool { entries.contains { $0.token?.wantsInitial == true } }
}

/// Keeps the change log from this session's version on, for as long as it observes.
final class HistoryClaim {
    private let moveTo: (Version) -> Void
    private var letGo: (() -> Void)?

    init(_ session: Session) throws(DatabaseError) {
        let database = try session.database
        let slot = try database.pages.claimObserverSlot(at: try session.version)
        database.recentChanges.follow()
        let recent = database.recentChanges
        moveTo = { slot.move(to: $0) }
        letGo = {
            slot.release()
            recent.unfollow()
        }
    }

    deinit { release() }

    func move(to version: Version) { moveTo(version) }

    func release() {
        letGo?()
        letGo = nil
    }
}
