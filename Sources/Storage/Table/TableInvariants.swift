/// What holds of a table's rows whenever no call is under way: of the committed directory, and of what a write has on
/// top.
import MotteColumns
import MotteValues

extension TableDirectory {
    /// Of what has been read so far; nothing is read for it.
    func checkInvariants() throws(DatabaseError) {
        let name = layout.stored.name
        try Invariant.require(
            state.liveCount >= 0 && state.liveCount <= state.nextKey,
            "rows-1: \(name) has no more live rows than keys were given out")
        try Invariant.require(
            state.tailFirstKey >= 0 && state.tailFirstKey <= state.nextKey,
            "rows-2: the tail of \(name) begins within the keys that were given out")
        for slot in layout.columns.indices {
            try forEachKnownChunk(slot) { (cluster, count) throws(DatabaseError) in
                try Invariant.require(
                    count == self.rowCount(cluster),
                    "rows-3: a chunk of \(name).\(self.layout.columns[slot].name) has the rows of cluster \(cluster)")
            }
        }
    }
}

extension TableWriter {
    /// Of everything that the write has touched. `counting` also the live rows of all clusters, whose bitmaps are read
    /// for it, and which a damaged file may count wrong.
    func checkInvariants(counting: Bool) throws(DatabaseError) {
        let name = layout.stored.name
        try Invariant.require(
            state.liveCount >= 0 && state.liveCount <= state.nextKey,
            "rows-4: \(name) has no more live rows than keys were given out, in a write")
        try Invariant.require(
            state.tailFirstKey >= 0 && state.tailFirstKey <= state.nextKey
                && (mode == .tail || state.tailFirstKey == state.nextKey),
            "rows-5: the tail of \(name) begins within the keys, and nothing is in it once clusters are appended to")
        for (index, cluster) in dirty.enumerated() {
            guard let cluster, cluster.rowCount > 0 else { continue }
            try Invariant.require(
                cluster.firstKey == firstKey(index) && firstKey(index) + Int64(cluster.rowCount) <= state.nextKey,
                "rows-6: cluster \(index) of \(name) has the keys that belong there")
            try Invariant.require(
                cluster.live.map { $0.rowCount == cluster.rowCount } ?? true,
                "rows-7: the live bitmap of cluster \(index) of \(name) has its rows")
            for (slot, column) in cluster.columns.enumerated() {
                guard let count = column?.builderCount else { continue }
                try Invariant.require(
                    count == cluster.rowCount,
                    "rows-8: the values of \(name).\(layout.columns[slot].name) are those of cluster \(index)")
            }
        }
        guard counting else { return }
        try Invariant.require(
            try Int64(countLiveRows()) == state.liveCount, "rows-9: \(name) counts the rows that are live")
    }

    private func countLiveRows() throws(DatabaseError) -> Int {
        var count = 0
        for cluster in 0 ..< clusterCount {
            if let overlay = overlay(cluster) {
                count += overlay.liveCount
            } else {
                count += try directory.liveBitmap(cluster)?.liveCount ?? rowCount(cluster)
            }
        }
        return count
    }
}

extension DirtyColumn {
    /// nil where its values are encoded for good.
    fileprivate var builderCount: Int? {
        switch storage {
        case .values(let builder): builder.count
        case .lists(let builder): builder.count
        case .sealed: nil
        }
    }
}
