/// A class of a Realm file: its columns, and its objects by cluster or by key.
import MotteValues

package final class RealmTable {
    package enum Kind: Sendable { case object, embedded, asymmetric }

    /// Without the "class_" that the file puts before it.
    package let name: String
    /// In `RealmFile.tables`.
    package let index: Int
    package let kind: Kind
    /// Without backlinks, in the order of declaration.
    package let columns: [RealmColumn]
    /// Index in `columns`.
    package let primaryKey: Int?
    package let objectCount: Int

    let layout: TableLayout
    let file: FileContext
    private var clusters: ClusterIndex?
    /// Values that a cluster may hold which nobody but this table holds.
    private static let mostIdleBytes = 1 << 18
    /// The newest cluster that was found; keys that are looked up are mostly near each other.
    private var found: RealmCluster?

    init(_ layout: TableLayout, index: Int, count: Int, _ file: FileContext) {
        name = layout.name
        self.index = index
        kind = layout.kind
        primaryKey = layout.primaryKey
        objectCount = count
        self.layout = layout
        self.file = file
        columns = layout.columns.enumerated().map { position, column in
            RealmColumn(column, isPrimaryKey: position == layout.primaryKey)
        }
    }

    /// Clusters in ascending order of keys.
    package func cursor() throws(DatabaseError) -> RealmCursor { RealmCursor(self) }

    /// How many objects have smaller keys; nil when there is no object with that key. O(log n).
    package func position(of key: Int64) throws(DatabaseError) -> Int? {
        guard key >= 0 else { return nil }
        do throws(DatabaseError) {
            if clusters == nil { clusters = try ClusterIndex(layout.clusters, file) }
        } catch {
            throw place.adding(to: error)
        }
        switch clusters?.find(key) {
        case .position(let position): return position
        case .missing, nil: return nil
        case .cluster:
            guard let found = try find(key) else { return nil }
            return found.cluster.firstPosition + found.row
        }
    }

    /// The cluster with that object and its row there; nil when there is none. Clusters found stay readable whatever
    /// is found or iterated later.
    package func find(_ key: Int64) throws(DatabaseError) -> (cluster: RealmCluster, row: Int)? {
        guard key >= 0 else { return nil }
        if isKnownUniquelyReferenced(&found), let found, found.heldBytes > Self.mostIdleBytes { found.release() }
        if let found, let row = found.row(of: key) { return (found, row) }
        do throws(DatabaseError) {
            if clusters == nil { clusters = try ClusterIndex(layout.clusters, file) }
            guard let entry = clusters?.entry(for: key) else { return nil }
            let cluster = idleCluster()
            found = nil
            try cluster.load(entry)
            found = cluster
            return cluster.row(of: key).map { (cluster, $0) }
        } catch {
            throw place.adding(to: error)
        }
    }

    /// A cluster that nobody holds any more.
    private func idleCluster() -> RealmCluster {
        if isKnownUniquelyReferenced(&found), let found { return found }
        return RealmCluster(layout, file, VisitedNodes(limit: file.nodes.limit))
    }

    var place: Place { Place(path: file.path, className: name) }
}

/// `next` gives a cluster, the same again and again; views of the one before it are no longer valid then.
package struct RealmCursor {
    private var tree: ClusterTree
    private let cluster: RealmCluster
    private let place: Place

    init(_ table: RealmTable) {
        cluster = RealmCluster(table.layout, table.file, VisitedNodes(limit: table.file.nodes.limit))
        tree = ClusterTree(table.layout.clusters, cluster.scope)
        place = table.place
    }

    package mutating func next() throws(DatabaseError) -> RealmCluster? {
        do throws(DatabaseError) {
            cluster.clear()
            while let node = try tree.next() {
                guard node.count > 0 else { continue }
                cluster.show(node, firstPosition: tree.position - node.count)
                return cluster
            }
            return nil
        } catch {
            throw place.adding(to: error)
        }
    }
}

extension RealmColumn {
    init(_ column: TableLayout.Column, isPrimaryKey: Bool) {
        let type: ValueKind? =
            switch column.element.stored {
            case .int, .backlink: .int
            case .bool: .bool
            case .string: .string
            case .data: .data
            case .timestamp: .timestamp
            case .float: .float
            case .double: .double
            case .decimal: .decimal
            case .objectID: .objectID
            case .uuid: .uuid
            case .link, .links: .link
            // Links to any class are mixed values that are links.
            case .mixed, .typedLink: nil
            }
        self.init(
            name: column.name, type: type, collection: column.collection, isNullable: column.element.isNullable,
            isIndexed: isPrimaryKey || column.attributes & 1 != 0, hasFullTextIndex: column.attributes & 256 != 0,
            target: type == .link ? column.element.target : nil, hasIntKeys: column.hasIntKeys)
    }
}
