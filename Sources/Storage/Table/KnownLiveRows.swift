/// The live bitmaps of a table as far as they have been read, by row group, the open row group last.
///
/// Whoever looks at a few objects reads a few bitmaps, whoever goes on reads all in one pass. When the table advances
/// only those of row groups that have changed are read again: a commit of a hundred changes to a million objects would
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
    subscript(rowGroup: Int) -> LiveBitmap?? {
        guard rowGroup < rows.count else { return nil }
        switch rows[rowGroup] {
        case .unknown: return nil
        case .all: return .some(nil)
        case .some(let bitmap): return bitmap
        }
    }

    @inline(__always)
    func isLive(_ rowGroup: Int, _ slot: Int) -> Bool? {
        guard rowGroup < rows.count else { return nil }
        switch rows[rowGroup] {
        case .unknown: return nil
        case .all: return true
        case .some(let bitmap): return bitmap.isLive(slot)
        }
    }

    /// Whether the next one is better read alone than with all the others.
    mutating func prefersSingle(of rowGroupCount: Int) -> Bool {
        if rows.count != rowGroupCount {
            rows = ContiguousArray(repeating: .unknown, count: rowGroupCount)
            unknownCount = rowGroupCount
        }
        singleReads += 1
        return singleReads <= Self.mostSingleReads || unknownCount * 8 <= rowGroupCount
    }

    mutating func add(_ bitmap: LiveBitmap?, _ rowGroup: Int) {
        if case .unknown = rows[rowGroup] { unknownCount -= 1 }
        rows[rowGroup] = bitmap.map { .some($0) } ?? .all
    }

    /// Row groups without a bitmap have lost no row.
    mutating func restIsWhole() {
        guard unknownCount > 0 else { return }
        for rowGroup in rows.indices { if case .unknown = rows[rowGroup] { rows[rowGroup] = .all } }
        unknownCount = 0
    }

    /// To another version, of which only `stale` row groups differ. `wasWhole`: no row had been deleted before it.
    mutating func move(to rowGroupCount: Int, _ stale: [Int], wasWhole: Bool) {
        singleReads = 0
        if wasWhole {
            rows = ContiguousArray(repeating: .all, count: rowGroupCount)
            unknownCount = 0
        } else if rows.isEmpty {
            return
        }
        while rows.count > rowGroupCount {
            if case .unknown? = rows.popLast() { unknownCount -= 1 }
        }
        while rows.count < rowGroupCount {
            rows.append(.unknown)
            unknownCount += 1
        }
        for rowGroup in stale where rowGroup < rows.count {
            if case .unknown = rows[rowGroup] { continue }
            rows[rowGroup] = .unknown
            unknownCount += 1
        }
    }
}
