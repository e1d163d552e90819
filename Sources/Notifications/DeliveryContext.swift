/// What one move of a session changed, worked out once for all its observers: the folded change log, and which rows
/// count as modified because something they link to changed.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

final class DeliveryContext {
    let session: Session
    let from: Version
    let to: Version
    /// The move is this session's own commit, also one that changed nothing.
    let isOwnCommit: Bool
    private var cachedSummary: ChangeSummary??
    private var cachedRows: [TableKey: RowChanges] = [:]
    private var cachedReach: [TableKey: [Int64]] = [:]
    private var cachedGraph: LinkGraph?

    /// Objects are modified when something changed that they reach over at most this many links.
    static let linkDepth = 4

    init(_ session: Session, from: Version, to: Version, isOwnCommit: Bool) {
        self.session = session
        self.from = from
        self.to = to
        self.isOwnCommit = isOwnCommit
    }

    var moved: Bool { from != to }

    /// nil when the log no longer reaches back that far.
    func summary() throws(DatabaseError) -> ChangeSummary? {
        if let cachedSummary { return cachedSummary }
        let summary = try session.database.changes(from: from, to: try session.committedSnapshot())
        cachedSummary = .some(summary)
        return summary
    }

    /// What happened to the rows of one table themselves.
    func rows(_ table: TableKey) throws(DatabaseError) -> RowChanges {
        if let known = cachedRows[table] { return known }
        let made = RowChanges(try summary(), table)
        cachedRows[table] = made
        return made
    }

    private func graph() throws(DatabaseError) -> LinkGraph {
        if let cachedGraph { return cachedGraph }
        let made = LinkGraph(try session.schema)
        cachedGraph = made
        return made
    }

    /// Keys of the table's rows that changed or that reach something that changed, ascending. New rows are in it only
    /// if they reach something old that changed.
    func modified(_ table: TableKey) throws(DatabaseError) -> [Int64] {
        if let known = cachedReach[table] { return known }
        let made = try reach(table)
        cachedReach[table] = made
        return made
    }

    /// Walks from what changed up the links that lead to it, a level at a time.
    private func reach(_ table: TableKey) throws(DatabaseError) -> [Int64] {
        guard try summary() != nil else { return [] }
        let graph = try graph()
        let distances = graph.distances(from: table)
        var visited: [TableKey: Set<Int64>] = [:]
        var frontier: [TableKey: [Int64]] = [:]
        for (other, distance) in distances where distance <= Self.linkDepth {
            let modified = try rows(other).modified
            if modified.isEmpty { continue }
            frontier[other] = modified
            visited[other] = Set(modified)
        }
        for depth in 1 ... Self.linkDepth {
            var next: [TableKey: [Int64]] = [:]
            for (target, keys) in frontier {
                let view = try session.table(target)
                for link in graph.linksTo(target) where (distances[link.origin] ?? .max) <= Self.linkDepth - depth {
                    var parents: [Int64] = []
                    for key in keys where try view.locate(ObjectKey(key)) != nil {
                        try view.backlinks(origin: link.origin, link.column, ObjectKey(key), into: &parents)
                    }
                    for parent in parents where visited[link.origin, default: []].insert(parent).inserted {
                        next[link.origin, default: []].append(parent)
                    }
                }
            }
            if next.isEmpty { break }
            frontier = next
        }
        return visited[table, default: []].sorted()
    }
}

/// Which tables link to which, and over how many links one reaches another.
struct LinkGraph {
    struct Link {
        let origin: TableKey
        let column: ColumnKey
    }

    private var incoming: [TableKey: [Link]] = [:]
    private var outgoing: [TableKey: [TableKey]] = [:]

    init(_ schema: Schema) {
        for type in schema.objectTypes {
            guard let origin = type.tableKey else { continue }
            for property in type.properties where property.type == .link {
                guard let column = property.columnKey, let target = property.target.flatMap({ schema[$0]?.tableKey })
                else { continue }
                incoming[target, default: []].append(Link(origin: origin, column: column))
                outgoing[origin, default: []].append(target)
            }
        }
    }

    func linksTo(_ table: TableKey) -> [Link] { incoming[table] ?? [] }

    /// The fewest links that lead from `table` to each table it reaches; 0 for itself.
    func distances(from table: TableKey) -> [TableKey: Int] {
        var distances = [table: 0]
        var frontier = [table]
        var distance = 0
        while !frontier.isEmpty {
            distance += 1
            var next: [TableKey] = []
            for reached in frontier {
                for target in outgoing[reached] ?? [] where distances[target] == nil {
                    distances[target] = distance
                    next.append(target)
                }
            }
            frontier = next
        }
        return distances
    }
}
