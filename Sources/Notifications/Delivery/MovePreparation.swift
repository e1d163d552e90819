/// Moves what is observed on ahead of their sessions, on the notifier's thread, so that a session that dispatches finds
/// what changed and only has to hand it on.
///
///  - No session waits for this, nor this for a session: it starts from what the sessions said they show, computes
///    without a lock and leaves what it found in `SharedKeys`, for what is no query in the observer's own slot
///    (`WatchedObserver`). A session that is earlier computes by itself.
///  - It goes from what a session shows to the newest version in one step, however many lie between. Where a session
///    was notified and does not advance, it continues only when twice as many are pending, and once nothing comes for a
/// while.
///  - Its snapshots live as long as one round. The older one is to be had only while somebody shows that version. Where
///    the number of live versions is limited it takes none.
///  - Small changes of what is quickly computed are left to the sessions: they would not wait for less.
import CMotteShim
import MotteLiveObjects
import MotteQueryEngine
import MotteStorage
import MotteValues

/// A query that a session observes, with its keys at the version that the session shows.
struct WatchedQuery: Sendable {
    let query: ObservedQuery
    let shared: SharedKeys
    let keys: KeyBlocks
}

/// What a session showed and observed when it last moved.
final class WatchedSession: Sendable {
    let place: SnapshotTrace
    let queries: [WatchedQuery]
    let observers: [WatchedObserver]

    init(at place: SnapshotTrace, _ queries: [WatchedQuery], _ observers: [WatchedObserver]) {
        self.place = place
        self.queries = queries
        self.observers = observers
    }

    /// What a session is not to be kept from for less.
    static let leastNanoseconds: Int64 = 100_000

    var isEmpty: Bool { queries.isEmpty && observers.isEmpty }

    var expectedNanoseconds: Int64 {
        queries.reduce(0) { $0 &+ $1.shared.expectedNanoseconds }
            &+ observers.reduce(0) { $0 &+ $1.slot.expectedNanoseconds }
    }
}

final class MovePreparation {
    private let database: Database
    private let ending: Cancellation
    private let control: QueryControl
    /// How far the queries of each session that has not advanced since were computed.
    private var reached: [ObjectIdentifier: (from: Version, to: Version)] = [:]

    /// How many changed rows may take as long as `WatchedSession.leastNanoseconds`.
    private static let leastRows = 200
    /// Without a commit, until sessions that were left behind are prepared for the newest version.
    static let calmMilliseconds: Int64 = 10

    init(_ database: Database, ending: Cancellation, _ control: QueryControl) {
        self.database = database
        self.ending = ending
        self.control = control
    }

    /// Notifies the queues of a version, each when its session's queries are computed. True when some were notified
    /// before they are, because their session does not keep up; `isCalm` prepares them too.
    func tell(_ sessions: [FollowedSession], _ version: Version, isCalm: Bool) -> Bool {
        var late: [(followed: FollowedSession, session: WatchedSession)] = []
        var isBehind = false
        var stillReached: [ObjectIdentifier: (from: Version, to: Version)] = [:]
        for followed in sessions {
            guard !database.limitsLiveVersions, let session = followed.watched(behind: version) else {
                followed.tell(version)
                continue
            }
            let from = session.place.version
            if let last = reached[ObjectIdentifier(followed)], last.from == from {
                stillReached[ObjectIdentifier(followed)] = last
                let isFar = (version.rawValue &- from.rawValue) / 2 >= last.to.rawValue &- from.rawValue
                guard last.to < version, isCalm || isFar else {
                    if last.to < version { isBehind = true }
                    followed.tell(version)
                    continue
                }
            }
            late.append((followed, session))
        }
        reached = stillReached
        if !late.isEmpty { prepare(late, version) }
        return isBehind
    }

    private func prepare(_ late: [(followed: FollowedSession, session: WatchedSession)], _ version: Version) {
        // Without one, sessions find out by themselves, and what keeps them from it.
        let newest = (try? database.snapshot()).map { Session.frozen($0, of: database, control) }
        var contexts: [Version: DeliveryContext] = [:]
        // Who takes little does not wait for who takes long.
        let order = late.map { ($0.session.expectedNanoseconds, $0) }.sorted { $0.0 < $1.0 }
        for (_, (followed, session)) in order {
            let from = session.place.version
            if let newest, !ending.isCancelled, let context = contexts[from] ?? context(of: session, newest) {
                contexts[from] = context
                // What fails here fails again where somebody gets the error.
                try? moveOn(session, context, in: newest)
                reached[ObjectIdentifier(followed)] = (from, context.to)
            }
            followed.tell(version)
        }
    }

    /// nil when the session has moved meanwhile.
    private func context(of session: WatchedSession, _ newest: Session) -> DeliveryContext? {
        // As above: then the session finds out by itself.
        guard let to = try? newest.committedSnapshot(), to.version > session.place.version,
            session.place.catalog === to.catalog, let shown = session.place.snapshot
        else {
            return nil
        }
        return DeliveryContext(database, from: shown, to: to, QueryWatch(control))
    }

    private func moveOn(
        _ session: WatchedSession, _ context: DeliveryContext, in newest: Session
    ) throws(DatabaseError) {
        guard let summary = try context.summary() else { return }
        let isLarge = summary.tables.reduce(0) { $0 &+ $1.rowCount } >= Self.leastRows
        for watched in session.queries where watched.shared.catalog === context.source.catalog {
            guard isLarge || watched.shared.expectedNanoseconds >= WatchedSession.leastNanoseconds else { continue }
            if ending.isCancelled { return }
            guard !watched.isThere(context) else { continue }
            if let move = try watched.query.move(watched.keys, context) { _ = watched.shared.share(move) }
        }
        for watched in session.observers {
            guard isLarge || watched.slot.expectedNanoseconds >= WatchedSession.leastNanoseconds else { continue }
            if ending.isCancelled { return }
            guard !watched.slot.isThere(from: context.from, to: context.to) else { continue }
            let start = motte_shim_monotonic_ns()
            guard let move = try watched.move(context, in: newest) else { continue }
            watched.slot.note(nanoseconds: motte_shim_monotonic_ns() &- start)
            watched.slot.put(move)
        }
    }
}

extension WatchedQuery {
    fileprivate func isThere(_ context: DeliveryContext) -> Bool {
        shared.move(from: context.from, to: context.to, filter: query.filterIdentity) != nil
    }
}

extension ChangeSummary.Table {
    /// About how many rows changed.
    fileprivate var rowCount: Int { inserted.count &+ deleted.count &+ modifiedKeys.count }
}
