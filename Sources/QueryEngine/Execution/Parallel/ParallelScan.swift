/// A scan that several threads share: its row groups go out in pieces of a few, in order, to whoever is free.
///
/// The source belongs to one thread at a time, so that each thread has readers and operators of its own, and looks
/// things up in the source under a lock: what is known already for a whole piece at once, everything else when it is
/// first touched. Chunks themselves are bytes that nobody changes. A thread that is to release memory goes on with a
/// source of its own. Only committed versions are scanned so, and only conditions that read columns of the class.
///
/// Whoever asked works along, and is the only one whose `QueryWatch` calls anybody back. What a scan gives does not
/// depend on the number of threads: parts keep what they have by pieces, and are put together in their order. Of
/// several failures that of the first piece is reported, which is the one that a single thread would have met.
import MotteColumns
import MotteStorage
import MotteValues
import Synchronization

/// What one thread makes of the rows that it is given.
class ScanPart {
    /// Pieces come by ascending numbers, but not all of them.
    func begin(_ piece: Int) throws(DatabaseError) {}
    func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) throws(DatabaseError) {}
    func end(_ piece: Int) throws(DatabaseError) {}
}

struct ParallelScan {
    private let context: RunContext
    private let table: TableKey
    private let plan: Plan
    let threadCount: Int
    private let pieces: Range<Int>

    /// nil where one thread does as well. `perRow`: about how many nanoseconds are spent on a row that passes.
    init?(
        _ context: RunContext, _ query: BoundQuery, _ plan: Plan, perRow: Double, from firstPiece: Int = 0
    ) throws(DatabaseError) {
        let threads = context.source.queryThreads
        guard threads.most > 1, context.isAlone, plan.access == nil, plan.filter.readsColumnsOnly else { return nil }
        let view = try context.source.table(query.table)
        let pieces = ScanPieces.count(view.rowGroupCount)
        let work = Double(view.liveCount) * (CostEstimate.perRow(plan.filter) + perRow)
        let count = min(Double(threads.most), Double(pieces - firstPiece), work / threads.leastWork)
        guard count >= 2 else { return nil }
        self.context = context
        self.plan = plan
        table = query.table
        threadCount = Int(count)
        self.pieces = firstPiece ..< pieces
    }

    /// Parts are made on the calling thread; those of threads that the system does not give have nothing in them.
    /// They keep keys, numbers and copies, and nothing that rows lend, so that memory can be released between row
    /// groups.
    func run<Part: ScanPart>(_ make: (RunContext) throws(DatabaseError) -> Part) throws(DatabaseError) -> [Part] {
        let lock = SourceLock(0)
        var workers: [ScanWorker] = []
        var parts: [Part] = []
        for index in 0 ..< threadCount {
            let watch = index == 0 ? context.watch : context.watch?.forAnotherThread()
            let own = RunContext(context.source, watch, sharing: lock)
            own.keepsNothing = true
            let part = try make(own)
            parts.append(part)
            workers.append(try ScanWorker(own, table, plan, part))
        }
        let share = ScanShare(pieces)
        // Who asks has a piece in any case, so that its watch is looked at.
        let first = share.take()
        let threads = workers.dropFirst().compactMap { worker in WorkThread { worker.work(share, share.take()) } }
        workers[0].work(share, first)
        for thread in threads { thread.join() }
        for worker in workers { worker.context.flushCounters() }
        if let failure = share.failure { throw failure }
        return parts
    }
}

/// Runs of row groups that are dealt with together. Their size is part of what sums of floating numbers are, and the
/// same whatever the number of threads.
enum ScanPieces {
    static let rowGroups = 16

    static func count(_ rowGroupCount: Int) -> Int { (rowGroupCount + rowGroups - 1) / rowGroups }

    static func range(_ piece: Int, of rowGroupCount: Int) -> Range<Int> {
        piece * rowGroups ..< min(rowGroupCount, (piece + 1) * rowGroups)
    }
}

/// What the threads of a scan have in common.
private final class ScanShare: Sendable {
    private let next: Atomic<Int>
    private let end: Int
    private let isOver = Atomic<Bool>(false)
    private let first = Locked<(piece: Int, error: DatabaseError)?>(nil)

    init(_ pieces: Range<Int>) {
        next = Atomic(pieces.lowerBound)
        end = pieces.upperBound
    }

    /// nil when there is none any more, or when the scan has failed. All before it have been given out.
    func take() -> Int? {
        if isOver.load(ordering: .relaxed) { return nil }
        let piece = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return piece < end ? piece : nil
    }

    func fail(_ error: DatabaseError, in piece: Int) {
        isOver.store(true, ordering: .relaxed)
        first.withLock { if $0.map({ piece < $0.piece }) ?? true { $0 = (piece, error) } }
    }

    var failure: DatabaseError? { first.withLock { $0?.error } }
}

// @unchecked: made by the thread that asks, then used by one thread, and by the first again when that has ended.
private final class ScanWorker: @unchecked Sendable {
    let context: RunContext
    private let reader: TableReader
    private let run: SelectionRun
    private let part: ScanPart

    init(_ context: RunContext, _ table: TableKey, _ plan: Plan, _ part: ScanPart) throws(DatabaseError) {
        self.context = context
        self.part = part
        reader = try context.reader(table)
        let filter = try SelectionRun.makeFilter(context, table, plan.filter, visits: plan.visits)
        run = SelectionRun(context, reader, keys: nil, filter: filter)
    }

    func work(_ share: ScanShare, _ first: Int?) {
        var next = first
        while let piece = next {
            do throws(DatabaseError) {
                try context.releaseMemory()
                try part.begin(piece)
                let range = ScanPieces.range(piece, of: reader.rowGroupCount)
                try reader.prepare(range)
                try run.forEachRowGroup(in: range) { rows, words throws(DatabaseError) in
                    try part.add(rows, words)
                    return true
                }
                try part.end(piece)
            } catch {
                share.fail(error, in: piece)
            }
            next = share.take()
        }
    }
}

extension BoundPredicate {
    /// Whether it is decided by values of the class's own columns, one of each row, and several threads are faster.
    var readsColumnsOnly: Bool {
        switch self {
        case .constant, .object: true
        case .column(_, _, let test): test.canBeShared
        case .comparison(_, let inner), .not(let inner): inner.readsColumnsOnly
        case .and(let parts), .or(let parts): parts.allSatisfy { $0.readsColumnsOnly }
        case .arithmetic(let left, _, let right): left.readsColumnsOnly && right.readsColumnsOnly
        case .paths(_, .applied, _): false
        case .paths(let left, _, let right): left.isColumn && right.isColumn
        case .link, .anyElement, .anyKey, .access, .anyObject, .aggregate, .geo: false
        }
    }
}

extension BoundExpression {
    fileprivate var readsColumnsOnly: Bool {
        switch self {
        case .constant: true
        case .path(let path, _): path.isColumn
        // What texts are made into is counted by references, which threads would wait for each other with.
        case .length: false
        case .arithmetic(let left, _, let right, _): left.readsColumnsOnly && right.readsColumnsOnly
        }
    }
}

extension BoundPath {
    /// A property of the class itself.
    var isColumn: Bool {
        guard steps.isEmpty, case .column = end else { return false }
        return true
    }
}
