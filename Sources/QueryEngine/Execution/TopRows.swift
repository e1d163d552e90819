/// The first few of many rows in an order, found while row groups go by.
///
/// Candidates are collected until there are some times as many as are wanted; then all but the best go, and the last of
/// those is the bound from there on. The first pieces of a row group are compared with the bound by a loop over the
/// column, so that nearly all rows are passed over without being looked at one by one.
///
/// Rows come by ascending keys, and what is level stays in that order: a row that is level with the bound comes too
/// late.
import MotteColumns
import MotteValues

struct TopRows {
    private struct Bound {
        let key: Int64
        let entry: SortEntry
        /// Of what lies elsewhere, as texts do, the entry is enough: memory may be released between row groups.
        let number: ValueView
    }

    private let order: SortOrder
    private let level: SortLevel
    private let column: ColumnCursor
    private let wanted: Int
    private let mostCandidates: Int
    private(set) var candidates: [Int64] = []
    private var bound: Bound?
    private let below: SelectionBuffer

    /// nil where the first value of the order lies behind a link.
    init?(_ order: SortOrder, wanted: Int) {
        guard wanted > 0, let level = order.levels.first, let rows = level.rows else { return nil }
        self.order = order
        self.level = level
        column = rows.column
        self.wanted = wanted
        mostCandidates = wanted * 2 + 512
        below = SelectionBuffer(rows: rows.table.mostRows)
    }

    mutating func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) throws(DatabaseError) {
        guard let bound else {
            Selection.appendKeys(words, rows: rows.rowCount, first: rows.firstKey, to: &candidates)
            return try keepBest()
        }
        let chunk = try column.chunk(rows.index)
        level.selectNotAfter(bound.entry, bound.number, chunk, into: below.words)
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = words[index] & below.words[index]
            while open != 0 {
                let row = index &* 64 &+ open.trailingZeroBitCount
                open &= open &- 1
                let key = rows.firstKey &+ Int64(row)
                if try isBefore(bound, key, chunk, row) { candidates.append(key) }
            }
        }
        try keepBest()
    }

    @inline(__always)
    private func isBefore(
        _ bound: Bound, _ key: Int64, _ chunk: UnsafePointer<ColumnChunk>, _ row: Int
    ) throws(DatabaseError) -> Bool {
        var entry = SortEntry(position: 0)
        level.fill(&entry, chunk, row)
        guard entry.isLevel(bound.entry) else { return entry.isBefore(bound.entry) }
        if order.levels.count == 1, !level.hasMore(entry) { return false }
        return try order.compare(key, bound.key) < 0
    }

    private mutating func keepBest() throws(DatabaseError) {
        guard candidates.count > mostCandidates else { return }
        candidates = try order.sorted(candidates, limit: wanted, inMemory: true)
        guard let key = candidates.last else { return }
        var entry = SortEntry(position: 0)
        try level.fillFirst(&entry, key)
        let view = try level.reader.view(key)
        bound = Bound(key: key, entry: entry, number: view.isBorrowed ? .null : view)
    }

    /// In order; fewer than were wanted where there are no more.
    func result() throws(DatabaseError) -> [Int64] { try order.sorted(candidates, limit: wanted, inMemory: true) }
}

extension SortLevel {
    /// Rows of a chunk of this level's column that may come before `bound` or be level with it; `view` is its value,
    /// null for a text.
    /// Some that come after it are among them.
    func selectNotAfter(
        _ bound: SortEntry, _ view: ValueView, _ chunk: UnsafePointer<ColumnChunk>, into words: SelectionWords
    ) {
        let rows = chunk.pointee.count
        guard bound.rank == Self.value else {
            // Nulls are first or last.
            if isAscending { return ComparisonKernels.selectNulls(chunk.pointee, into: words) }
            return Selection.fill(words, rows: rows)
        }
        let after: ComparisonOperator = isAscending ? .greater : .less
        switch type {
        case .int: ComparisonKernels.selectInts(chunk.pointee, after, view.intValue, into: words)
        // NaN orders with nothing here: of such a bound no row is after it.
        case .double: ComparisonKernels.selectDoubles(chunk.pointee, after, view.doubleValue, into: words)
        case .float: ComparisonKernels.selectDoubles(chunk.pointee, after, Double(view.floatValue), into: words)
        case .timestamp: ComparisonKernels.selectTimestamps(chunk.pointee, after, view.timestampValue, into: words)
        case .string, .data:
            let code = isAscending ? bound.code : ~bound.code
            return TextKernels.selectBeginnings(chunk.pointee, isAscending: isAscending, notAfter: code, into: words)
        default: return Selection.fill(words, rows: rows)
        }
        Selection.invert(words, rows: rows)
    }
}
