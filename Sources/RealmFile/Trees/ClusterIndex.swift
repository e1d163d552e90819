/// Where the clusters of a class are, for looking objects up by key: 24 bytes for each, made by one walk. Of one
/// whose keys follow each other without a gap, as most do, nothing has to be read to say where a key is.
import MotteValues

struct ClusterIndex {
    struct Entry {
        let offset: UInt64
        /// The lowest bit, which a ref never has: keys are the offset and those that follow it.
        fileprivate let place: Int
        let position: Int

        var ref: Int { place & ~1 }
    }

    enum Found {
        case position(Int), missing
        /// There, if anywhere.
        case cluster(Entry)
    }

    private var entries: [Entry] = []
    private let count: Int

    init(_ root: Int, _ file: FileContext) throws(DatabaseError) {
        let scope = ReadingScope(file, visited: VisitedNodes(limit: file.nodes.limit))
        var tree = ClusterTree(root, scope)
        while let cluster = try tree.next() {
            if cluster.count > 0 {
                let isDense =
                    cluster.key(0) == Int64(bitPattern: cluster.offset)
                    && cluster.key(cluster.count - 1) - cluster.key(0) == Int64(cluster.count - 1)
                entries.append(
                    Entry(
                        offset: cluster.offset, place: cluster.ref | (isDense ? 1 : 0),
                        position: tree.position - cluster.count))
            }
            scope.nodes.reset()
        }
        count = tree.position
    }

    func find(_ key: Int64) -> Found {
        let index = index(for: key)
        guard index >= 0 else { return .missing }
        let entry = entries[index]
        guard entry.place & 1 == 1 else { return .cluster(entry) }
        let end = index + 1 < entries.count ? entries[index + 1].position : count
        let inside = UInt64(bitPattern: key) - entry.offset
        return inside < UInt64(end - entry.position) ? .position(entry.position + Int(inside)) : .missing
    }

    /// The cluster that has the key if any has.
    func entry(for key: Int64) -> Entry? {
        let index = index(for: key)
        return index >= 0 ? entries[index] : nil
    }

    private func index(for key: Int64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].offset <= UInt64(bitPattern: key) { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }
}
