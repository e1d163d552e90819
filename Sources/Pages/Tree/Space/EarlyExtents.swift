/// Extents of a large commit that do not wait for its end: nobody asks for what is in them while nodes are built, so
/// that beyond a few megabytes they go to the file and their memory is given back.
///
/// They lie on pages that no version reaches: if the commit fails, nothing has changed.
import MotteValues

struct EarlyExtents {
    /// Built and not in the file, neighbours as one run.
    private var waiting: [PageRun] = []
    private var waitingCount: PageCount = 0
    private var written: [PageRun] = []
    /// Pages that wait at most.
    private let limit: PageCount
    /// Written since the spill files were let go as a whole.
    private var writtenCount: PageCount = 0
    /// The files in which values lie that are to come, and those that came.
    private var spills: [SpillFile] = []
    /// Bytes of them that reading has brought into memory since they were let go.
    private var readBytes = 0
    private static let mostWaiting: PageCount = 4096
    private static let fewestWaiting: PageCount = 256
    /// Of the budget.
    private static let waitingShare = 16
    private static let mostRead = 4 << 20
    /// What the system maps around a byte that is asked for.
    private static let leastRead = 64 << 10

    init(_ image: PageImage) {
        let budget = image.budget
        limit = min(EarlyExtents.mostWaiting, max(EarlyExtents.fewestWaiting, budget / EarlyExtents.waitingShare))
    }

    /// Values of a commit lie there.
    mutating func expect(_ spills: [SpillFile]) {
        self.spills = spills.filter { $0.fileBytes > 0 }
        // Sorting has looked at keys.
        for spill in self.spills { spill.letGo() }
    }

    /// A value is about to be copied. Keys order them by column, where they were written by row group: each column has
    /// something in all of the file.
    mutating func noteRead(_ value: UnsafeRawPointer, _ count: Int) {
        guard !spills.isEmpty, spills.contains(where: { $0.noteRead(value) }) else { return }
        readBytes += max(count, EarlyExtents.leastRead)
        guard readBytes > EarlyExtents.mostRead else { return }
        for spill in spills { spill.letGoOfRead() }
        readBytes = 0
    }

    /// Takes note of an extent that is built.
    mutating func add(_ run: PageRun, in image: PageImage) throws(DatabaseError) {
        if let last = waiting.last, last.end == run.start {
            waiting[waiting.count - 1].count += run.count
        } else {
            waiting.append(run)
        }
        waitingCount += run.count
        if waitingCount > limit { try write(to: image) }
    }

    private mutating func write(to image: PageImage) throws(DatabaseError) {
        try image.writeExtents(waiting)
        for run in waiting { image.giveBackMemory(of: run) }
        writtenCount += waitingCount
        if writtenCount > EarlyExtents.mostWaiting {
            for spill in spills { spill.letGo() }
            writtenCount = 0
        }
        written += waiting
        waiting = []
        waitingCount = 0
    }

    /// What of `runs`, which ascend, is not in the file yet.
    func unwritten(of runs: [PageRun]) -> [PageRun] {
        guard !written.isEmpty else { return runs }
        var unwritten: [PageRun] = []
        var early = written.sorted { $0.start < $1.start }[...]
        for run in runs {
            var start = run.start
            while let next = early.first, next.start < run.end {
                if start < next.start { unwritten.append(PageRun(start: start, count: next.start - start)) }
                start = next.end
                early.removeFirst()
            }
            if start < run.end { unwritten.append(PageRun(start: start, count: run.end - start)) }
        }
        return unwritten
    }
}
