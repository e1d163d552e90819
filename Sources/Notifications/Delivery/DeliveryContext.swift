/// What lies between two versions, worked out once for all observers of a session, or by the notifier for all sessions
/// that are behind: the folded change log, and which rows count as modified because something they link to changed.
/// One thread at a time.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

final class DeliveryContext {
    let database: Database
    let from: Version
    let to: Version
    /// The rows at `to`.
    let source: RowSource
    private let committed: Snapshot
    /// The move is this session's own commit, also one that changed nothing.
    let isOwnCommit: Bool
    private var cachedSummary: ChangeSummary??
    private var cachedRows: [TableKey: RowChanges] = [:]
    private var cachedReach: [TableKey: [Int64]] = [:]
    private var cachedFilters: [NameKey: KeyPathFilter] = [:]
    private var cachedTouched: [NameKey: [TableKey: [Int64]]] = [:]
    private var cachedGraph: LinkGraph?
    private var cachedRun: RunContext?
    private var cachedPreviousRun: RunContext?
    /// The rows at `from`; nil where nothing moved, or the session let go of the file in between.
    let previous: Snapshot?

    /// Objects are modified when something changed that they reach over at most this many links.
    static let linkDepth = 4

    let patching: ResultsPatching
    /// What ends the queries: those of a session run to their end.
    let watch: QueryWatch?

    /// Of a session that has moved.
    init(
        _ session: Session, from: Version, isOwnCommit: Bool, _ patching: ResultsPatching
    ) throws(DatabaseError) {
        self.patching = patching
        watch = nil
        self.from = from
        self.isOwnCommit = isOwnCommit
        database = try session.database
        source = try session.source()
        committed = try session.committedSnapshot()
        to = committed.version
        previous = session.previous.flatMap { $0.version == from ? $0 : nil }
    }

    /// Of no session.
    init(_ database: Database, from previous: Snapshot, to committed: Snapshot, _ watch: QueryWatch) {
        patching = .byCost
        self.watch = watch
        isOwnCommit = false
        self.database = database
        self.committed = committed
        self.previous = previous
        source = committed
        from = previous.version
        to = committed.version
    }

    var moved: Bool { from != to }

    /// nil when the log no longer reaches back that far, or the rows before are gone, without which nobody knows what
    /// linked to what.
    func summary() throws(DatabaseError) -> ChangeSummary? {
        if let cachedSummary { return cachedSummary }
        let summary = moved && previous == nil ? nil : try database.changes(from: from, to: committed)
        cachedSummary = .some(summary)
        return summary
    }

    /// What the queries of all observers read through: columns are looked up once for all of them.
    func run() -> RunContext {
        if let cachedRun { return cachedRun }
        let made = RunContext(source, watch)
        cachedRun = made
        return made
    }

    /// The same in the version before; nil where that is not there any more.
    func previousRun() -> RunContext? {
        if let cachedPreviousRun { return cachedPreviousRun }
        cachedPreviousRun = previous.map { RunContext($0, watch) }
        return cachedPreviousRun
    }

    /// What happened to the rows of one table themselves.
    func rows(_ table: TableKey) throws(DatabaseError) -> RowChanges {
        if let known = cachedRows[table] { return known }
        let made = RowChanges(try summary(), table)
        cachedRows[table] = made
        return made
    }

    private func graph() -> LinkGraph {
        if let cachedGraph { return cachedGraph }
        let made = LinkGraph(source.schema)
        cachedGraph = made
        return made
    }

    /// Keys of the table's rows that count as modified for a filter, ascending. New rows are in it only if they lead to
    /// something old that changed.
    func modified(_ table: TableKey, _ filter: KeyPathFilter?) throws(DatabaseError) -> [Int64] {
        guard let filter else { return try modified(table) }
        if filter.paths.isEmpty { return [] }
        if let known = cachedTouched[NameKey(filter.identity)] { return known[table] ?? [] }
        var keys: [TableKey: [Int64]] = [:]
        for path in try resolved(filter).paths { keys.merge(try touched(by: path)) { RowChanges.union([$0, $1]) } }
        cachedTouched[NameKey(filter.identity)] = keys
        return keys[table] ?? []
    }

    /// The filter in the schema of this move: what a mixed value links to may be of a class that came after observing
    /// began.
    func resolved(_ filter: KeyPathFilter) throws(DatabaseError) -> KeyPathFilter {
        if let known = cachedFilters[NameKey(filter.identity)] { return known }
        let made = filter.followsMixedValues ? try filter.resolved(in: source.schema) : filter
        cachedFilters[NameKey(filter.identity)] = made
        return made
    }

    /// Keys of the table's rows that changed or that reach something that changed, ascending.
    private func modified(_ table: TableKey) throws(DatabaseError) -> [Int64] {
        if let known = cachedReach[table] { return known }
        let made = try reach(table)
        cachedReach[table] = made
        return made
    }

    /// Walks from what changed up the links that lead to it, a level at a time.
    private func reach(_ table: TableKey) throws(DatabaseError) -> [Int64] {
        guard try summary() != nil else { return [] }
        let graph = graph()
        let distances = graph.distances(from: table)
        var frontier: [TableKey: [Int64]] = [:]
        for (other, distance) in distances where distance <= Self.linkDepth {
            let modified = try rows(other).modified
            if !modified.isEmpty { frontier[other] = modified }
        }
        let isLinked = frontier.keys.contains { target in
            graph.linksTo(target).contains { (distances[$0.origin] ?? .max) < Self.linkDepth }
        }
        guard isLinked else { return frontier[table] ?? [] }
        var visited = frontier
        for depth in 1 ... Self.linkDepth {
            var parents: [TableKey: [Int64]] = [:]
            for (target, keys) in frontier {
                let view = try source.table(target)
                for link in graph.linksTo(target) where (distances[link.origin] ?? .max) <= Self.linkDepth - depth {
                    try view.parents(of: keys, by: link, into: &parents[link.origin, default: []])
                }
            }
            frontier = [:]
            for (origin, keys) in parents {
                let known = visited[origin] ?? []
                let new = RowChanges.subtracting(known, from: keys.ascending)
                if new.isEmpty { continue }
                frontier[origin] = new
                visited[origin] = RowChanges.union([known, new])
            }
            if frontier.isEmpty { break }
        }
        return visited[table] ?? []
    }
}
