/// Moves observed queries on ahead of their sessions, on the notifier's thread, so that a session that dispatches finds
/// what changed and only has to hand it on.
///
///  - No session waits for this, nor this for a session: it starts from what bound sessions said they show, computes
///    without a lock and leaves what it found in `SharedKeys`. A session that is earlier computes by itself, as those
///    without a queue do.
///  - It goes from what a session shows to the newest version in one step, however many lie between. Where a session
///    was told and does not move, it goes on only when twice as many lie between, and once nothing comes for a while.
///  - Its snapshots live as long as one round. The older one is to be had only while somebody shows that version. Where
///    the number of live versions is limited it takes none.
///  - Small changes of queries that are quickly moved on are left to the sessions: they would not wait for less.
import MotteLiveObjects
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

    init(at place: SnapshotTrace, _ queries: [WatchedQuery]) {
        self.place = place
        self.queries = queries
    }

    fileprivate var expectedNanoseconds: Int64 { queries.reduce(0) { $0 &+ $1.shared.expectedNanoseconds } }
}

final class MovePreparation {
    private let database: Database
    private let ending: Cancellation
    /// How far the queries of each session that has not moved since were moved on.
    private var reached: [ObjectIdentifier: (from: Version, to: Version)] = [:]

    /// What a session is not to be kept from for less, and how many changed rows may take as long.
    private static let leastNanoseconds: Int64 = 100_000
    private static let leastRows = 200
    /// Without a commit, until sessions that were left behind are prepared for the newest version.
    static let calmMilliseconds: Int64 = 10

    init(_ database: Database, ending: Cancellation) {
        self.database = database
        self.ending = ending
    }

    /// Tells the queues that there is a version, each when its session's queries are there. True when some were told
    /// before they are, because their session does not keep up; `isCalm` prepares them too.
    func tell(_ bindings: [QueueBinding], _ version: Version, isCalm: Bool) -> Bool {
        var late: [(binding: QueueBinding, session: WatchedSession)] = []
        var isBehind = false
        var stillReached: [ObjectIdentifier: (from: Version, to: Version)] = [:]
        for binding in bindings {
            guard !database.limitsLiveVersions, let session = binding.watched(behind: version) else {
                binding.newVersion(version)
                continue
            }
            let from = session.place.version
            if let last = reached[ObjectIdentifier(binding)], last.from == from {
                stillReached[ObjectIdentifier(binding)] = last
                let isFar = (version.rawValue &- from.rawValue) / 2 >= last.to.rawValue &- from.rawValue
                guard last.to < version, isCalm || isFar else {
                    if last.to < version { isBehind = true }
                    binding.newVersion(version)
                    continue
                }
            }
            late.append((binding, session))
        }
        reached = stillReached
        if !late.isEmpty { prepare(late, version) }
        return isBehind
    }

    private func prepare(_ late: [(binding: QueueBinding, session: WatchedSession)], _ version: Version) {
        let newest = try? database.snapshot()
        var contexts: [Version: DeliveryContext] = [:]
        // Who takes little does not wait for who takes long.
        for (binding, session) in late.sorted(by: { $0.session.expectedNanoseconds < $1.session.expectedNanoseconds }) {
            let from = session.place.version
            if let newest, newest.version > from, !ending.isCancelled,
                let context = contexts[from] ?? context(of: session, newest)
            {
                contexts[from] = context
                // Whatever fails here fails again where somebody hears of it.
                try? moveOn(session, context)
                reached[ObjectIdentifier(binding)] = (from, newest.version)
            }
            binding.newVersion(version)
        }
    }

    /// nil when the session has moved meanwhile.
    private func context(of session: WatchedSession, _ newest: Snapshot) -> DeliveryContext? {
        guard session.place.catalog === newest.catalog, let shown = session.place.snapshot else { return nil }
        return DeliveryContext(database, from: shown, to: newest)
    }

    private func moveOn(_ session: WatchedSession, _ context: DeliveryContext) throws(DatabaseError) {
        guard let summary = try context.summary() else { return }
        let isLarge = summary.tables.reduce(0) { $0 &+ $1.rowCount } >= Self.leastRows
        for watched in session.queries where watched.shared.catalog === context.source.catalog {
            guard isLarge || watched.shared.expectedNanoseconds >= Self.leastNanoseconds else { continue }
            if ending.isCancelled { return }
            guard !watched.isThere(context) else { continue }
            if let move = try watched.query.move(watched.keys, context) { _ = watched.shared.share(move) }
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
