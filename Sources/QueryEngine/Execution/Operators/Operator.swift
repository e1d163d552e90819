/// A predicate at work: given rows of one row group, which of them pass.
///
/// Operators are made for one run and hold its buffers. They are asked a row group at a time, never a row at a time.
import MotteColumns
import MotteStorage
import MotteValues

class Operator {
    /// Sets the bits of the candidates that pass. Bits of other rows mean nothing afterwards; the caller masks them.
    func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        Selection.clear(words, rows: rows.rowCount)
    }
}

/// What the operators of a run share, and several queries that are run one after another while their source stays.
package final class RunContext {
    /// Another one of the same version, once memory was wanted while this runs.
    private(set) var source: RowSource
    /// Set while nothing of the rows that were seen is kept: then memory is released between row groups.
    var keepsNothing = false
    /// Loops over row groups within each other.
    private var depth = 0
    private var own: RowSource?
    /// The source's, if memory may be wanted at all, and what it was when that was last looked at.
    private let memoryClock: MemoryClock?
    private var seenMemoryClock: UInt64 = 0
    /// nil where nothing ends what runs here.
    let watch: QueryWatch?
    private var readers: [TableKey: TableReader] = [:]
    private var rowsEvaluated = 0
    /// Where threads share the source, until this has one of its own: see `ParallelScan`.
    private let lock: SourceLock?

    package convenience init(_ source: RowSource, _ watch: QueryWatch? = nil) {
        self.init(source, watch, sharing: nil)
    }

    init(_ source: RowSource, _ watch: QueryWatch?, sharing lock: SourceLock?) {
        self.source = source
        self.watch = watch
        self.lock = lock
        memoryClock = source.memoryClock
    }

    /// Whether no other thread reads the same source.
    var isAlone: Bool { lock == nil }

    deinit { flushCounters() }

    package func table(_ key: TableKey) throws(DatabaseError) -> TableView { try source.table(key) }

    func reader(_ table: TableKey) throws(DatabaseError) -> TableReader {
        if let reader = readers[table] { return reader }
        let reader = try TableReader(try source.table(table), watch, sharing: own == nil ? lock : nil)
        readers[table] = reader
        return reader
    }

    /// A loop within which nothing must be released.
    func within<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        depth += 1
        defer { depth -= 1 }
        return try body()
    }

    /// Between two row groups. What the session's snapshot has found it keeps; from here on this run reads through one
    /// of its own, which can let go.
    @inline(__always)
    func releaseMemory() throws(DatabaseError) {
        guard keepsNothing, depth == 0, let memoryClock, memoryClock.now != seenMemoryClock
        else { return }
        try releaseWanted()
    }

    @inline(never)
    private func releaseWanted() throws(DatabaseError) {
        guard let memoryClock else { return }
        seenMemoryClock = memoryClock.now
        if source.isMemoryWanted { try release() }
    }

    @inline(never)
    private func release() throws(DatabaseError) {
        for reader in readers.values { reader.forgetChunks() }
        if let own {
            own.releaseMemory()
        } else {
            // What a snapshot copies of another one does not change while a query runs, so that no lock is needed.
            let copy = source.copyForScan()
            own = copy
            source = copy
            for (table, reader) in readers { try reader.read(from: copy.table(table)) }
        }
    }

    /// The version that is read here, if it has more than may stay in memory, or if so many bytes of work are much
    /// beside what may; nil: nothing need be done for want of memory.
    func sourceBeyondMemory(work byteCount: Int) -> RowSource? {
        source.exceedsMemory || byteCount > source.memoryBytes / 2 ? source : nil
    }

    /// Around what keeps keys and numbers, and nothing that rows lend: memory is released whenever it asks for that.
    func keepingNothing<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        let before = keepsNothing
        keepsNothing = true
        defer { keepsNothing = before }
        return try body()
    }

    /// How many keys a loop over keys passes until it releases memory.
    static let keysPerRelease = 64

    func noteEvaluated(_ count: Int) { rowsEvaluated += count }

    func flushCounters() {
        if rowsEvaluated > 0 { source.counters.add(rowsEvaluated: rowsEvaluated) }
        rowsEvaluated = 0
    }
}

/// Predicates to operators.
struct OperatorBuilder {
    let context: RunContext
    /// Where the query is measured: the steps of what is looked up beside the rows.
    var lookups: MeasuredLookups?

    /// `visits` is about how many rows of the table will be asked for: whether it pays to look at whole tables first.
    func make(_ predicate: BoundPredicate, _ table: TableKey, visits: Int) throws(DatabaseError) -> Operator {
        let reader = try context.reader(table)
        switch predicate {
        case .constant(let value): return ConstantOperator(value)
        case .comparison(_, let inner): return try make(inner, table, visits: visits)
        case .column(let column, _, let test):
            return ColumnOperator(try reader.cursor(column), test, isShared: !context.isAlone)
        case .object(let keys): return ObjectOperator(keys)
        case .not(let inner): return NotOperator(try make(inner, table, visits: visits))
        case .and(let parts): return AndOperator(try make(parts, table, visits: visits), reader)
        case .or(let parts): return OrOperator(try make(parts, table, visits: visits), reader)
        case .link(let step, let inner, let nullPasses):
            return LinkOperator(
                try reader.cursor(step.column), reader, try selection(inner, step.target, visits: visits),
                nullPasses: nullPasses)
        case .anyElement(let column, _, let test), .anyKey(_, let column, let test):
            return ElementOperator(reader, column, test)
        case .access(let access, let test): return try AccessOperator(reader, access, test)
        case .anyObject(let step, let inner):
            guard case .inverse(let isList) = step.kind else {
                return ObjectListOperator(
                    reader, step.column, try selection(inner, step.target, visits: visits &* 4))
            }
            return try InverseOperator(
                context, step, isList: isList, inner, visits: visits, measured: lookups?.next())
        case .aggregate(let aggregate): return try AggregateOperator(context, reader, aggregate, visits: visits)
        case .geo(let test): return try GeoOperator(reader, test)
        case .arithmetic(let left, let test, let right):
            return try ExpressionOperator(context, table, left, test, right)
        case .paths(let left, let test, let right):
            if let columns = try ExpressionOperator(columns: context, table, left, test, right) { return columns }
            return try PathsOperator(context, table, left, test, right)
        }
    }

    private func make(_ parts: [BoundPredicate], _ table: TableKey, visits: Int) throws(DatabaseError) -> [Operator] {
        var operators: [Operator] = []
        for part in parts { operators.append(try make(part, table, visits: visits)) }
        return operators
    }

    func selection(_ predicate: BoundPredicate, _ table: TableKey, visits: Int) throws(DatabaseError) -> KeySelection {
        try KeySelection(context, predicate, table, visits: visits, measured: lookups?.next())
    }
}
