/// What holds of the free-space map, besides S1 and S2, and of the pages that a commit takes out of it.
import MotteValues

extension SpaceMap {
    /// `used`: pages that are certainly in use, in runs that do not overlap.
    package func checkInvariants(used: [PageRun] = []) throws(DatabaseError) {
        let problem = problem(used: used)
        try Invariant.require(problem == nil, problem ?? "")
        try Invariant.require(
            freePageCount == free.reduce(0) { $0 + $1.count },
            "space-1: as many pages are counted as free as the free runs have")
        for (holder, dead) in held {
            try Invariant.require(
                dead.allSatisfy { $0.death > holder },
                "space-2: pages that version \(holder.rawValue) holds died after it")
        }
    }

    /// Whether the same pages are free or dead in both: what was released is remembered in memory only.
    package func hasSamePages(as other: SpaceMap) -> Bool {
        pageCount == other.pageCount && unusedPages == other.unusedPages
    }

    /// Free or dead, in runs that ascend and do not touch.
    private var unusedPages: [PageRun] {
        var all = SpaceMap(pageCount: pageCount)
        for run in free + dead.map(\.run) { all.insert([run]) }
        return all.free
    }
}

extension PageAllocator {
    package func checkInvariants() throws(DatabaseError) {
        let runs = used.sorted { $0.start < $1.start }
        for (run, next) in zip(runs, runs.dropFirst()) {
            try Invariant.require(run.end <= next.start, "space-3: page \(next.start) is handed out once")
        }
        try Invariant.require(
            (runs.last?.end ?? 0) <= map.pageCount.end, "space-4: the last page handed out lies in the file")
        try map.checkInvariants(used: used)
    }
}
