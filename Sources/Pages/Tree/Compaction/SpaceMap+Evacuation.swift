/// Where a compaction puts what it moves, and what it is to move next.
import MotteValues

extension PageRun {
    static let none = PageRun(start: 0, count: 0)
}

extension SpaceMap {
    /// Pages that are neither free nor dead.
    var usedPageCount: PageCount {
        dead.reduce(pageCount - freePageCount) { $0 - $1.run.count }
    }

    /// Dead pages that a pinned version needs.
    var heldPageCount: PageCount {
        held.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.run.count } }
    }

    /// Pages at the end that the newest version does not need; where they are still there, somebody else does.
    var unusedEnd: PageCount {
        var unused = SpaceMap(pageCount: pageCount)
        unused.insert(free + dead.map(\.run))
        guard let last = unused.free.last, last.end == pageCount.end else { return 0 }
        return last.count
    }

    /// Index and place of the lowest free pages that are not to become free themselves.
    private func lowest(_ count: PageCount, outside pages: PageRun) -> (index: Int, start: PageNumber)? {
        for (index, run) in free.enumerated() where run.count >= count {
            if run.start + count <= pages.start || run.start >= pages.end { return (index, run.start) }
            if run.end >= pages.end + count { return (index, pages.end) }
        }
        return nil
    }

    /// Outside of the pages that are to become free, or at least before where it is.
    func hasRoom(for count: PageCount, insteadOf page: PageNumber, _ evacuation: Evacuation) -> Bool {
        if evacuation.mayGrow || lowest(count, outside: evacuation.pages) != nil { return true }
        return lowest(count, outside: .none).map { $0.start < page } ?? false
    }

    /// nil where there is no room.
    mutating func takeLowest(_ count: PageCount, outside pages: PageRun) -> PageRun? {
        guard let (index, start) = lowest(count, outside: pages) else { return nil }
        let taken = PageRun(start: start, count: count)
        let run = free[index]
        var rest: [PageRun] = []
        if run.start < start { rest.append(PageRun(start: run.start, count: start - run.start)) }
        if taken.end < run.end { rest.append(PageRun(start: taken.end, count: run.end - taken.end)) }
        free.replaceSubrange(index ... index, with: rest)
        freePageCount -= count
        return taken
    }

    /// The `count` pages before `end` of which most are free; nil where less than an eighth are.
    func emptiestWindow(_ count: PageCount, before end: PageNumber) -> PageRun? {
        var best: (start: PageNumber, free: PageCount)?
        var first = 0
        var sum: PageCount = 0
        for (index, run) in free.enumerated() where run.end <= end {
            sum += run.count
            // The window ends with this run.
            let start = PageNumber(max(TreeFormat.firstPage.rawValue, run.end.rawValue - count.rawValue))
            while first < index, free[first].start < start {
                sum -= free[first].count
                first += 1
            }
            let inside = min(sum, count)
            if best.map({ inside > $0.free }) ?? true { best = (start, inside) }
        }
        guard let best, best.free >= count / 8 else { return nil }
        return PageRun(start: best.start, count: count)
    }
}
