/// Where the clusters of a class are, for looking objects up by key: 24 bytes for each, made by one walk.
import MotteValues

struct ClusterIndex {
    struct Entry {
        let offset: UInt64
        let ref: Int
        let position: Int
    }

    private var entries: [Entry] = []

    init(_ root: Int, _ file: FileContext) throws(DatabaseError) {
        let scope = ReadingScope(file, visited: VisitedNodes(limit: file.nodes.limit))
        var tree = ClusterTree(root, scope)
        while let cluster = try tree.next() {
            if cluster.count > 0 {
                entries.append(
                    Entry(offset: cluster.offset, ref: cluster.ref, position: tree.position - cluster.count))
            }
            scope.nodes.reset()
        }
    }

    /// The cluster that has the key if any has.
    func entry(for key: Int64) -> Entry? {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].offset <= UInt64(bitPattern: key) { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? entries[low - 1] : nil
    }
}
