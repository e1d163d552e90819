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
    /// Where values lie that are to come, and those that came.
    var spills: [SpillFile] = []
    private static let mostWaiting: PageCount = 4096

    /// Takes note of an extent that is built.
    mutating func add(_ run: PageRun, in image: PageImage) throws(DatabaseError) {
        if let last = waiting.last, last.end == run.start {
            waiting[waiting.count - 1].count += run.count
        } else {
            waiting.append(run)
        }
        waitingCount += run.count
        if waitingCount > EarlyExtents.mostWaiting { try write(to: image) }
    }

    private mutating func write(to image: PageImage) throws(DatabaseError) {
        try image.writeExtents(waiting)
        for run in waiting { image.giveBackMemory(of: run) }
        for spill in spills { spill.letGo() }
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
