/// One pass over the rows that a plan names: all of a table, those an index gives, or those in a list of keys. Row
/// group by row group, ascending, the rows that pass.
import MotteColumns
import MotteStorage
import MotteValues

struct SelectionRun {
    private let context: RunContext
    private let reader: TableReader
    /// nil where all rows are candidates.
    private let keys: [Int64]?
    /// nil where every candidate passes.
    private let filter: Operator?
    private let candidates: SelectionBuffer
    private let found: SelectionBuffer
    /// Where the query is measured: the step that gives the candidates.
    private let measured: PlanStep?

    init(
        _ context: RunContext, _ table: TableKey, access: IndexAccess?, rest: BoundPredicate, visits: Int,
        measured: MeasuredSelection? = nil
    ) throws(DatabaseError) {
        let reader = try context.reader(table)
        var keys = try access.map { access throws(DatabaseError) in
            guard let step = measured?.access else { return try access.keys(reader.view, context.source) }
            return try step.measure({ _ in 0 }) { () throws(DatabaseError) in
                try access.keys(reader.view, context.source)
            }
        }
        if case .constant(false) = rest { keys = [] }
        let filter =
            if let measured {
                try measured.makeFilter(context, rest, table, visits: visits)
            } else {
                try Self.makeFilter(context, table, rest, visits: visits)
            }
        self.init(context, reader, keys: keys, filter: filter, measured: measured?.access)
    }

    /// `keys` ascend strictly.
    init(
        _ context: RunContext, _ reader: TableReader, keys: [Int64]?, filter: Operator?, measured: PlanStep? = nil
    ) {
        self.measured = measured
        self.context = context
        self.reader = reader
        self.keys = keys
        self.filter = filter
        candidates = SelectionBuffer(rows: reader.mostRows)
        found = SelectionBuffer(rows: reader.mostRows)
    }

    static func makeFilter(
        _ context: RunContext, _ table: TableKey, _ predicate: BoundPredicate, visits: Int
    ) throws(DatabaseError) -> Operator? {
        if case .constant(true) = predicate { return nil }
        return try OperatorBuilder(context: context).make(predicate, table, visits: visits)
    }

    /// Calls `body` with the passing rows of each row group that has candidates, until it returns false.
    func forEachRowGroup(
        _ body: (RowGroupRows, UnsafePointer<UInt64>) throws(DatabaseError) -> Bool
    ) throws(DatabaseError) {
        guard let keys else { return try forEachRowGroup(in: 0 ..< reader.rowGroupCount, body) }
        var next = 0
        while next < keys.count {
            guard keys[next] >= 0, keys[next] < reader.nextKey else {
                next += 1
                continue
            }
            let rowGroup = reader.place(keys[next]).rowGroup
            let rows = try reader.liveRows(rowGroup, into: candidates.words)
            let last = try reader.view.rowGroup(rowGroup)
            let end = last.firstKey + Int64(last.rowCount)
            Selection.clear(found.words, rows: last.rowCount)
            while next < keys.count, keys[next] < end {
                Selection.insert(found.words, Int(keys[next] - last.firstKey))
                next += 1
            }
            guard let rows else { continue }
            Selection.formAnd(candidates.words, found.words, rows: rows.rowCount)
            if Selection.isEmpty(candidates.words, rows: rows.rowCount) { continue }
            guard try evaluate(rows, body) else { return }
        }
    }

    /// The same of some row groups of a scan.
    func forEachRowGroup(
        in range: Range<Int>, _ body: (RowGroupRows, UnsafePointer<UInt64>) throws(DatabaseError) -> Bool
    ) throws(DatabaseError) {
        for rowGroup in range {
            guard let rows = try reader.liveRows(rowGroup, into: candidates.words) else { continue }
            guard try evaluate(rows, body) else { return }
        }
    }

    @inline(__always)
    private func evaluate(
        _ rows: RowGroupRows, _ body: (RowGroupRows, UnsafePointer<UInt64>) throws(DatabaseError) -> Bool
    ) throws(DatabaseError) -> Bool {
        try context.watch?.check()
        try context.releaseMemory()
        measured?.note(rows: Selection.count(candidates.words, rows: rows.rowCount), nanoseconds: 0)
        guard let filter else {
            return try context.within { () throws(DatabaseError) in try body(rows, candidates.words) }
        }
        context.noteEvaluated(Selection.count(candidates.words, rows: rows.rowCount))
        try context.within { () throws(DatabaseError) in
            try filter.select(rows, candidates.words, into: found.words)
        }
        Selection.formAnd(found.words, candidates.words, rows: rows.rowCount)
        return try context.within { () throws(DatabaseError) in try body(rows, found.words) }
    }
}
