/// The live bitmaps of a table as far as they have been read, by cluster, the tail last.
///
/// Whoever looks at a few objects reads a few bitmaps, whoever goes on reads all in one pass. When the table moves on
/// only those of clusters that have changed are read again: a commit of a hundred changes to a million objects would
/// otherwise wait for two thousand bitmaps.
struct KnownLiveRows {
    private enum Rows {
        case unknown
        /// Every row is live.
        case all
        case some(LiveBitmap)
    }

    private var rows: ContiguousArray<Rows> = []
    private var unknownCount = 0
    private var singleReads = 0
    private static let mostSingleReads = 16

    /// nil where it is not known, nil inside where every row is live.
    subscript(cluster: Int) -> LiveBitmap?? {
        guard cluster < rows.count else { return nil }
        switch rows[cluster] {
        case .unknown: return nil
        case .all: return .some(nil)
        case .some(let bitmap): return bitmap
        }
    }

    @inline(__always)
    func isLive(_ cluster: Int, _ slot: Int) -> Bool? {
        guard cluster < rows.count else { return nil }
        switch rows[cluster] {
        case .unknown: return nil
        case .all: return true
        case .some(let bitmap): return bitmap.isLive(slot)
        }
    }

    /// Whether the next one is better read alone than with all the others.
    mutating func prefersSingle(of clusterCount: Int) -> Bool {
        if rows.count != clusterCount {
            rows = ContiguousArray(repeating: .unknown, count: clusterCount)
            unknownCount = clusterCount
        }
        singleReads += 1
        return singleReads <= Self.mostSingleReads || unknownCount * 8 <= clusterCount
    }

    mutating func add(_ bitmap: LiveBitmap?, _ cluster: Int) {
        if case .unknown = rows[cluster] { unknownCount -= 1 }
        rows[cluster] = bitmap.map { .some($0) } ?? .all
    }

    /// Clusters without a bitmap have lost no row.
    mutating func restIsWhole() {
        guard unknownCount > 0 else { return }
        for cluster in rows.indices { if case .unknown = rows[cluster] { rows[cluster] = .all } }
        unknownCount = 0
    }

    /// To another version, of which only `stale` clusters differ. `wasWhole`: no row had been deleted before it.
    mutating func move(to clusterCount: Int, _ stale: [Int], wasWhole: Bool) {
        singleReads = 0
        if wasWhole {
            rows = ContiguousArray(repeating: .all, count: clusterCount)
            unknownCount = 0
        } else if rows.isEmpty {
            return
        }
        while rows.count > clusterCount {
            if case .unknown? = rows.popLast() { unknownCount -= 1 }
        }
        while rows.count < clusterCount {
            rows.append(.unknown)
            unknownCount += 1
        }
        for cluster in stale where cluster < rows.count {
            if case .unknown = rows[cluster] { continue }
            rows[cluster] = .unknown
            unknownCount += 1
        }
    }
}
