/// Which pages of the file are free, as the writer sees it: pages nobody can reach, and pages that died but may still
/// be seen by a pinned version or by the last durable one.
///
/// A page lives in the versions from its birth until just before its death. It is free as soon as no protected version
/// lies in that span, whatever older or newer ones are pinned: so space between pinned versions is used again. A run
/// that is held is kept with the version that holds it and looked at again when that one goes.
///
/// Invariants of what a file has (see `problem`; those of what is in memory: `checkInvariants`):
///   S1  free runs ascend, do not touch and lie between the root slots and the page count
///   S2  no page is in two runs, free or dead
import MotteValues

package struct SpaceMap {
    package struct Dead: Equatable {
        var run: PageRun
        package internal(set) var birth: Version
        package internal(set) var death: Version
    }

    package var free: [PageRun] = []
    package var freePageCount: PageCount = 0
    /// Died since anyone looked at them.
    private var pending: [Dead] = []
    /// By the version that holds them.
    package var held: [Version: [Dead]] = [:]
    package var pageCount: PageCount

    package init(pageCount: PageCount) {
        self.pageCount = pageCount
    }

    package var dead: [Dead] { pending + held.values.flatMap { $0 } }
    /// How many runs a checkpoint would list.
    package var runCount: Int { free.count + pending.count + held.values.reduce(0) { $0 + $1.count } }

    /// Pages at the end that may leave the file as soon as somebody looks.
    var endToGain: PageCount {
        var end = pageCount.end
        var last = free.count - 1
        while true {
            if last >= 0, free[last].end == end {
                end = free[last].start
                last -= 1
            } else if let dead = pending.first(where: { $0.run.end == end && $0.run.count > 0 }) {
                end = dead.run.start
            } else {
                break
            }
        }
        return pageCount.end - end
    }

    /// Pages that may be free as soon as somebody looks, or that the file may be shorter by.
    var pagesToGain: PageCount { max(endToGain, pending.reduce(0) { $0 + $1.run.count }) }

    /// Pages that commits can still use. Those that died last count as free, though a reader may hold them.
    func pagesToTake(limit: PageCount) -> PageCount {
        limit - pageCount + freePageCount + pending.reduce(0) { $0 + $1.run.count }
    }

    package mutating func die(_ run: PageRun, birth: Version, death: Version) {
        pending.append(Dead(run: run, birth: birth, death: death))
    }

    /// Frees what no protected version shows any more, and says what that was.
    @discardableResult
    package mutating func release(_ protected: PagePins.Protected) -> [PageRun] {
        for version in Array(held.keys) where version >= protected.from || !protected.versions.contains(version) {
            pending += held.removeValue(forKey: version) ?? []
        }
        guard !pending.isEmpty else { return [] }
        var freed: [PageRun] = []
        for dead in pending {
            if let holder = protected.holder(birth: dead.birth, death: dead.death) {
                held[holder, default: []].append(dead)
            } else {
                freed.append(dead.run)
            }
        }
        pending = []
        insert(freed)
        return freed
    }

    /// Makes runs free. Many at once are merged in one pass.
    package mutating func insert(_ runs: [PageRun]) {
        guard runs.count > 8 else {
            for run in runs { insert(run) }
            return
        }
        var all = free + runs
        all.sort { $0.start < $1.start }
        var merged: [PageRun] = []
        merged.reserveCapacity(all.count)
        for run in all {
            if let last = merged.last, last.end == run.start {
                merged[merged.count - 1].count += run.count
            } else {
                merged.append(run)
            }
        }
        free = merged
        freePageCount += runs.reduce(0) { $0 + $1.count }
    }

    private mutating func insert(_ run: PageRun) {
        freePageCount += run.count
        let index = firstFree(from: run.start)
        let joinsNext = index < free.count && run.end == free[index].start
        if index > 0, free[index - 1].end == run.start {
            free[index - 1].count += run.count
            if joinsNext {
                free[index - 1].count += free[index].count
                free.remove(at: index)
            }
        } else if joinsNext {
            free[index].start = run.start
            free[index].count += run.count
        } else {
            free.insert(run, at: index)
        }
    }

    /// Index of the first free run at or after a page.
    private func firstFree(from page: PageNumber) -> Int {
        var low = 0
        var high = free.count
        while low < high {
            let middle = (low + high) / 2
            if free[middle].start < page { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Free pages that a small file may have before it stops growing for the sake of runs.
    private static let slackPages: PageCount = 16

    /// Up to so many pages are a small commit, and are worth more of the file's length to have in one run: it takes two
    /// such runs in turns.
    static let smallWish: PageCount = 40

    /// Free pages above which the file does not grow for the sake of runs.
    private func slack(_ wish: PageCount) -> PageCount {
        max(SpaceMap.slackPages, pageCount / (wish <= SpaceMap.smallWish ? 8 : 16))
    }

    /// Takes pages from the smallest free run that has as many, else from the end of the file.
    mutating func takeSmallest(_ count: PageCount, limit: PageCount = PageCount(.max)) -> PageRun {
        var best = -1
        for index in free.indices where free[index].count >= count {
            if best < 0 || free[index].count < free[best].count { best = index }
            if free[index].count == count { break }
        }
        guard best >= 0 else { return take(atLeast: count, atMost: count, wishing: count, limit: limit) }
        let run = PageRun(start: free[best].start, count: count)
        if free[best].count == count {
            free.remove(at: best)
        } else {
            free[best].start += count
            free[best].count -= count
        }
        freePageCount -= count
        return run
    }

    /// Takes up to `most` pages, at least `least`, from the lowest free run that has as many as wished for. If there is
    /// none, from the end of the file as long as little of it is free: then pages lie side by side, and what is free in
    /// small pieces grows together as its neighbours die. Else from the longest run. Where the file has as many pages
    /// as it may, what is free is taken in whatever pieces; with none it grows beyond, which the caller notices.
    package mutating func take(
        atLeast least: PageCount, atMost most: PageCount, wishing wish: PageCount,
        limit: PageCount = PageCount(.max)
    ) -> PageRun {
        var longest = -1
        for index in free.indices {
            if free[index].count >= max(wish, least) {
                longest = index
                break
            }
            if free[index].count >= least, longest < 0 || free[index].count > free[longest].count { longest = index }
        }
        let isWhole = longest >= 0 && free[longest].count >= max(wish, least)
        let mayGrow = pageCount < limit && max(least, 1) <= limit - pageCount
        guard longest >= 0, isWhole || freePageCount >= slack(wish) || !mayGrow else {
            // A free run at the very end is the beginning of what is needed.
            if let last = free.last, last.end == pageCount.end, least > last.count {
                free.removeLast()
                freePageCount -= last.count
                pageCount = (last.start + least).pagesBefore
                return PageRun(start: last.start, count: least)
            }
            let run = PageRun(start: pageCount.end, count: max(least, 1))
            pageCount += run.count
            return run
        }
        let run = PageRun(start: free[longest].start, count: min(most, free[longest].count))
        if run.count == free[longest].count {
            free.remove(at: longest)
        } else {
            free[longest].start += run.count
            free[longest].count -= run.count
        }
        freePageCount -= run.count
        return run
    }

    /// Takes so many pages side by side; nil where the file would pass the limit.
    mutating func takeWhole(_ count: PageCount, limit: PageCount) -> PageRun? {
        var map = self
        let run = map.take(atLeast: count, atMost: count, wishing: count, limit: limit)
        guard map.pageCount <= max(limit, pageCount) else { return nil }
        self = map
        return run
    }

    /// Free pages at the end leave the file.
    package mutating func dropEnd() {
        if let last = free.last, last.end == pageCount.end {
            pageCount = last.start.pagesBefore
            freePageCount -= last.count
            free.removeLast()
        }
    }

    // MARK: Replaying the log.

    /// Takes pages that a later commit is known to have used, out of whatever run they are in.
    mutating func remove(_ run: PageRun) {
        func without(_ other: PageRun) -> [PageRun] {
            var rest: [PageRun] = []
            if other.start < run.start {
                rest.append(PageRun(start: other.start, count: min(other.end, run.start) - other.start))
            }
            if other.end > run.end {
                let start = max(other.start, run.end)
                rest.append(PageRun(start: start, count: other.end - start))
            }
            return rest
        }
        let index = firstFree(from: run.start + 1) - 1
        if index >= 0, free[index].end >= run.end {
            free.replaceSubrange(index ... index, with: without(free[index]))
            freePageCount -= run.count
            return
        }
        free = free.flatMap(without)
        freePageCount = free.reduce(0) { $0 + $1.count }
        pending = pending.flatMap { dead in
            without(dead.run).map { Dead(run: $0, birth: dead.birth, death: dead.death) }
        }
        for (holder, runs) in held {
            held[holder] = runs.flatMap { dead in
                without(dead.run).map { Dead(run: $0, birth: dead.birth, death: dead.death) }
            }
        }
    }

    mutating func cut(to pageCount: PageCount) {
        if pageCount < self.pageCount { remove(PageRun(start: pageCount.end, count: self.pageCount - pageCount)) }
        self.pageCount = pageCount
    }

    /// What is wrong with the map, if anything; S1 and S2. `used` is certainly in use.
    package func problem(used: [PageRun]) -> String? {
        var last = TreeFormat.firstPage - PageCount(1)
        var isFirst = true
        for run in free {
            guard run.count > 0, run.start > last || isFirst && run.start >= TreeFormat.firstPage,
                run.end <= pageCount.end
            else { return "free pages \(run.start) to \(run.end - PageCount(1)) are out of order (S1)" }
            isFirst = false
            last = run.end
        }
        var all = free + dead.map(\.run) + used
        all.sort { $0.start < $1.start }
        for index in all.indices.dropFirst() where all[index].start < all[index - 1].end {
            return "page \(all[index].start) is free twice, or in use (S2)"
        }
        return all.allSatisfy { $0.start >= TreeFormat.firstPage && $0.end <= pageCount.end && $0.count > 0 }
            ? nil : "a free page lies outside the file (S1)"
    }
}
