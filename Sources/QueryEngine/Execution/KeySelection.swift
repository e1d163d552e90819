/// Which objects of a table pass a predicate, found out when first asked and once per run: the inner side of every path
/// through links.
///
/// With many rows to come the whole table is evaluated at once (by an index where one helps), so that following a link
/// is the test of a bit. With few, only the row groups that links lead to are.
import MotteColumns
import MotteStorage
import MotteValues

final class KeySelection {
    private let context: RunContext
    private let reader: TableReader
    private let predicate: BoundPredicate
    private let table: TableKey
    private let visits: Int
    /// Where the query is measured.
    private let measured: PlanStep?
    private let selection: MeasuredSelection?
    private let bits: UnsafeMutablePointer<UInt64>
    private let wordCount: Int
    private let buffers: (live: SelectionBuffer, found: SelectionBuffer)
    private var isKnown: [Bool]
    private var root: Operator?
    private(set) var isComplete = false

    init(
        _ context: RunContext, _ predicate: BoundPredicate, _ table: TableKey, visits: Int, measured: PlanStep? = nil
    ) throws(DatabaseError) {
        self.measured = measured
        selection = measured?.input.map { MeasuredSelection(below: $0) }
        self.context = context
        self.predicate = predicate
        self.table = table
        self.visits = visits
        reader = try context.reader(table)
        // A spare word, because row groups are stored across word borders.
        wordCount = Int(reader.nextKey >> 6) + 2
        bits = .allocate(capacity: wordCount)
        bits.initialize(repeating: 0, count: wordCount)
        buffers = (SelectionBuffer(rows: reader.mostRows), SelectionBuffer(rows: reader.mostRows))
        isKnown = Array(repeating: false, count: reader.rowGroupCount)
    }

    deinit { bits.deallocate() }

    /// To be called before a batch of `contains`.
    @inline(__always)
    func prepare() throws(DatabaseError) {
        if !isComplete, visits >= reader.rowGroupCount { try complete() }
    }

    /// Keys that never were are not in it.
    @inline(__always)
    func contains(_ key: Int64) throws(DatabaseError) -> Bool {
        guard key >= 0, key < reader.nextKey else { return false }
        if !isComplete {
            let rowGroup = reader.place(key).rowGroup
            if !isKnown[rowGroup] { try evaluate(rowGroup) }
        }
        return bits[Int(key >> 6)] & (1 << UInt64(key & 63)) != 0
    }

    /// Which of some links lead to passing keys, a bit for each; those that lead nowhere, -1, as `nullPasses` says.
    /// Of a whole selection only.
    func select(
        _ links: UnsafePointer<Int64>, _ count: Int, nullPasses: Bool, into words: SelectionWords
    ) {
        let end = UInt64(bitPattern: reader.nextKey)
        for index in 0 ..< Selection.wordCount(count) {
            var word: UInt64 = 0
            for bit in 0 ..< min(64, count &- index &* 64) {
                let key = UInt64(bitPattern: links[index &* 64 &+ bit])
                // The first bits stand in for keys that never were: reading them costs less than a branch.
                let isThere = key < end
                let found = bits[isThere ? Int(truncatingIfNeeded: key &>> 6) : 0] &>> (key & 63) & 1
                word |= (isThere ? found : 0) &<< UInt64(truncatingIfNeeded: bit)
            }
            words[index] = word
        }
        guard nullPasses else { return }
        for row in 0 ..< count where links[row] < 0 { Selection.insert(words, row) }
    }

    /// Evaluates the table, and calls `body` for each passing key, ascending.
    func forEachKey(_ body: (Int64) throws(DatabaseError) -> Void) throws(DatabaseError) {
        try complete()
        for index in 0 ..< wordCount {
            var word = bits[index]
            while word != 0 {
                try body(Int64(index &* 64 &+ word.trailingZeroBitCount))
                word &= word &- 1
            }
        }
    }

    func complete() throws(DatabaseError) {
        guard !isComplete else { return }
        try context.within { () throws(DatabaseError) in try completeNow() }
    }

    private func completeNow() throws(DatabaseError) {
        let start = measured == nil ? 0 : MonotonicClock.nanoseconds
        defer { measured?.note(nanoseconds: MonotonicClock.nanoseconds &- start) }
        if let access = try IndexChoice.choose(predicate, try context.source.table(table), context.source) {
            try completeByIndex(access)
        } else {
            for rowGroup in 0 ..< reader.rowGroupCount where !isKnown[rowGroup] { try find(rowGroup) }
        }
        isComplete = true
    }

    private func completeByIndex(_ access: IndexAccess) throws(DatabaseError) {
        let run = try SelectionRun(
            context, table, access: access, rest: access.rest, visits: access.count, measured: selection)
        try run.forEachRowGroup { (rows, words) throws(DatabaseError) in
            store(rows, words)
            return true
        }
    }

    private func evaluate(_ rowGroup: Int) throws(DatabaseError) {
        let start = measured == nil ? 0 : MonotonicClock.nanoseconds
        try find(rowGroup)
        measured?.note(nanoseconds: MonotonicClock.nanoseconds &- start)
    }

    private func find(_ rowGroup: Int) throws(DatabaseError) {
        try context.watch?.check()
        isKnown[rowGroup] = true
        let (live, found) = (buffers.live.words, buffers.found.words)
        guard let rows = try reader.liveRows(rowGroup, into: live) else { return }
        let candidates = Selection.count(live, rows: rows.rowCount)
        context.noteEvaluated(candidates)
        selection?.access.note(rows: candidates, nanoseconds: 0)
        try rootOperator().select(rows, live, into: found)
        Selection.formAnd(found, live, rows: rows.rowCount)
        store(rows, found)
    }

    private func rootOperator() throws(DatabaseError) -> Operator {
        if let root { return root }
        let rowsToCome = visits >= reader.rowGroupCount ? Int(reader.nextKey) : visits &* 8
        let made =
            if let selection {
                try selection.makeFilter(context, predicate, table, visits: rowsToCome) ?? ConstantOperator(true)
            } else {
                try OperatorBuilder(context: context).make(predicate, table, visits: rowsToCome)
            }
        root = made
        return made
    }

    private func store(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) {
        measured?.note(rows: Selection.count(words, rows: rows.rowCount), nanoseconds: 0)
        let shift = UInt64(rows.firstKey & 63)
        let first = Int(rows.firstKey >> 6)
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            bits[first &+ index] |= words[index] << shift
            if shift > 0 { bits[first &+ index &+ 1] |= words[index] >> (64 &- shift) }
        }
    }
}
