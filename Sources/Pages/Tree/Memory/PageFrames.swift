/// Which pages stay in memory when there is not room for all. Below the budget nothing is ever given up.
///
/// At it, pages are given up in the order of a clock's hand, except those that were asked for again the last time:
/// these have another round. What is given up waits in a queue of a quarter of the budget; who asks for it meanwhile
/// takes it back. So a scan, which asks for its pages once, drives out other pages of scans, and not what is asked for
/// time and again. From the queue's head memory is taken as soon as nobody can hold a pointer into it (`PageHold`).
///
/// All of it under the image's lock.
import CMotteShim
import MotteValues

struct PageFrames {
    private struct GivenUp {
        var run: PageRun
        var state: UInt64
        var stamp: UInt64
        /// The clock when it was given up.
        var end: UInt64
    }

    /// What holds say.
    private struct Holders: Equatable {
        private struct Resting: Equatable {
            var since: UInt64
            var last: UInt64
        }

        /// Of those that may be lent something now, together.
        private(set) var openSince = UInt64.max
        /// Each by itself: one that has kept nothing for long would stand for all that another was just lent.
        private var resting: [Resting] = []
        /// Further ones count as one, on the safe side.
        private static let most = 32

        mutating func add(_ since: UInt64, _ last: UInt64) {
            if last == PageHold.open {
                openSince = min(openSince, since)
            } else if last > 0 {
                // Of many, the one that stands for several says it of most.
                if resting.reversed().contains(where: { $0.since <= since && $0.last >= last }) { return }
                if resting.count < Holders.most { return resting.append(Resting(since: since, last: last)) }
                resting[Holders.most - 1].since = min(resting[Holders.most - 1].since, since)
                resting[Holders.most - 1].last = max(resting[Holders.most - 1].last, last)
            }
        }

        func rest(on unit: GivenUp) -> Bool {
            resting.contains { unit.end >= $0.since && unit.stamp <= $0.last }
        }
    }

    let regions: PageRegions
    /// Advances when pages are given up. Others read it without the lock.
    let clock: UnsafeMutablePointer<UInt64>
    private(set) var budget: PageCount
    /// Pages that are not empty.
    var occupied: PageCount = 0
    /// The most there ever were.
    private(set) var mostOccupied: PageCount = 0
    private var waiting: [GivenUp] = []
    private var head = 0
    /// Of pages in the queue from its head on, those taken back included.
    private var waitingCount: PageCount = 0
    /// Passed over because of who rests; looked at again when that has changed.
    private var heldByResting: [GivenUp] = []
    /// Of pages in these.
    private var heldCount: PageCount = 0
    private var seenHolders = Holders()
    /// They have changed since these were looked at, and how often memory was taken since.
    private var isLookDue = false
    private var takesSinceLook = 0
    private var hand = 0
    private var handIndex = 0
    private(set) var holds: [Unmanaged<PageHold>] = []

    private static let waitingShare = 4
    private static let slackShare = 16
    private static let mostLookedAt = 512
    /// So many of those that are held are worth looking at again for each time that memory was taken.
    private static let heldLookedAt = 64
    private static let mostMarks: UInt8 = 2
    /// The stamp of what is built and not written.
    private static let unwritten = UInt32.max
    static let leastBudget: PageCount = 16

    init(_ regions: PageRegions, _ clock: UnsafeMutablePointer<UInt64>, budget: PageCount) {
        self.regions = regions
        self.clock = clock
        self.budget = max(budget, PageFrames.leastBudget)
    }

    // MARK: Holds.

    mutating func add(_ hold: PageHold) {
        hold.place = holds.count
        holds.append(.passUnretained(hold))
    }

    mutating func remove(_ hold: PageHold) {
        let last = holds.removeLast()
        guard hold.place < holds.count else { return }
        last._withUnsafeGuaranteedRef { $0.place = hold.place }
        holds[hold.place] = last
    }

    /// nil where the system does not let us see them.
    private func holders() -> Holders? {
        var all = Holders()
        guard motte_shim_see_holds() == 0 else { return nil }
        for hold in holds {
            hold._withUnsafeGuaranteedRef { hold in
                let (last, since) = (hold.last, hold.since)
                all.add(since, last)
            }
        }
        return all
    }

    // MARK: Room.

    /// Before `count` pages are read: gives up and takes what it can. Not enough is no reason to fail, since memory
    /// that somebody uses must stay.
    mutating func makeRoom(for count: PageCount) {
        defer { mostOccupied = max(mostOccupied, occupied + count) }
        guard occupied + count > budget else { return }
        let slack = max(budget / PageFrames.slackShare, 1)
        take(downTo: budget - min(budget, count + slack))
        if waitingCount < wantedWaiting { giveUp() }
    }

    /// A part of the budget, and all that is beyond it: what is held now can be taken at once when it no longer is.
    private var wantedWaiting: PageCount {
        let useful = occupied - min(occupied, heldCount)
        return max(budget / PageFrames.waitingShare, 1) + (useful - min(useful, budget))
    }

    /// The system gives no more address space, so what there is has to do.
    mutating func lowerBudget() { budget = max(PageFrames.leastBudget, min(budget, occupied * 3 / 4)) }

    /// Whether reading ahead is worth the room it takes.
    var hasRoomAhead: Bool { occupied + budget / PageFrames.slackShare < budget }

    /// Takes memory from the head of the queue until no more pages are occupied than that.
    private mutating func take(downTo target: PageCount) {
        guard occupied > target, head < waiting.count || !heldByResting.isEmpty, let holders = holders() else { return }
        if holders != seenHolders {
            seenHolders = holders
            isLookDue = true
        }
        takesSinceLook += 1
        if isLookDue, !heldByResting.isEmpty, heldByResting.count <= takesSinceLook * PageFrames.heldLookedAt {
            isLookDue = false
            takesSinceLook = 0
            for unit in heldByResting { waitingCount += unit.run.count }
            waiting.replaceSubrange(..<head, with: heldByResting)
            head = 0
            heldByResting = []
            heldCount = 0
        }
        var taken: [PageRun] = []
        var looked = 0
        while head < waiting.count, occupied > target, looked < PageFrames.mostLookedAt {
            let unit = waiting[head]
            guard isStillGivenUp(unit) else {
                head += 1
                waitingCount -= unit.run.count
                continue
            }
            // Those behind it were given up later.
            if unit.end >= holders.openSince { break }
            looked += 1
            head += 1
            waitingCount -= unit.run.count
            if holders.rest(on: unit) {
                heldByResting.append(unit)
                heldCount += unit.run.count
                continue
            }
            for page in unit.run.pages { regions.set(page, PageState.empty, &occupied) }
            if let last = taken.last, last.end == unit.run.start, regions.apart.isEmpty {
                taken[taken.count - 1].count += unit.run.count
            } else {
                taken.append(unit.run)
            }
        }
        for run in taken { regions.giveBack(run) }
        if head > 4096, head * 2 > waiting.count {
            waiting.removeSubrange(..<head)
            head = 0
        }
    }

    /// Neither taken back, nor given up once more after that: then it is in the queue again, with whom that concerns.
    private func isStillGivenUp(_ unit: GivenUp) -> Bool {
        guard let region = regions.find(unit.run.start) else { return false }
        let index = regions.index(unit.run.start)
        return motte_shim_load64(region.pointee.states + index) == unit.state
            && region.pointee.ends[index] == UInt32(truncatingIfNeeded: unit.end)
    }

    /// Moves the hand on until as much waits as should, or it has been everywhere.
    private mutating func giveUp() {
        let wanted = wantedWaiting
        let now = motte_shim_load64(clock)
        var isAny = false
        // Twice round: marks are taken away the first time.
        for _ in 0 ... 2 * regions.all.count where waitingCount < wanted && !regions.all.isEmpty {
            if hand >= regions.all.count { hand = 0 }
            let region = regions.all[hand]
            if region.pointee.occupied > 0, giveUp(in: region, wanted, now) { isAny = true }
            guard waitingCount < wanted else { break }
            hand += 1
            handIndex = 0
        }
        if isAny { motte_shim_store64(clock, now + 1) }
    }

    /// Within one region, from the hand on.
    private mutating func giveUp(
        in region: UnsafeMutablePointer<PageRegion>, _ wanted: PageCount, _ now: UInt64
    ) -> Bool {
        var isAny = false
        while handIndex < regions.pageCount, waitingCount < wanted {
            let index = handIndex
            handIndex += 1
            let state = motte_shim_load64(region.pointee.states + index)
            let page = region.pointee.first + PageCount(index)
            if state == PageState.unchecked {
                // Read ahead and never asked for.
                regions.set(page, PageState.empty, &occupied)
                regions.giveBack(PageRun(start: page, count: 1))
                continue
            }
            guard PageState.isIdentity(state), state & PageState.givenUp == 0,
                region.pointee.stamps[index] != PageFrames.unwritten
            else { continue }
            if region.pointee.marks[index] > 0 {
                region.pointee.marks[index] -= 1
                continue
            }
            var end = page + 1
            while end < regions.pageLimit.end, regions.state(end) == PageState.continued { end += 1 }
            let run = PageRun(start: page, count: end - page)
            regions.change(page, state | PageState.givenUp)
            region.pointee.ends[index] = UInt32(truncatingIfNeeded: now)
            waiting.append(
                GivenUp(
                    run: run, state: state | PageState.givenUp, stamp: UInt64(region.pointee.stamps[index]), end: now))
            waitingCount += run.count
            isAny = true
            handIndex = min(index + run.count.rawValue, regions.pageCount)
        }
        return isAny
    }

    /// Somebody asked for what was given up.
    func takeBack(_ page: PageNumber) {
        guard let region = regions.find(page) else { return }
        let index = regions.index(page)
        if region.pointee.marks[index] < PageFrames.mostMarks { region.pointee.marks[index] += 1 }
        regions.change(page, regions.state(page) & ~PageState.givenUp)
    }

    /// What is on a page from now on was not there before.
    func stamp(_ page: PageNumber) { stamp(page, stampNow) }

    /// Clocks that no longer fit count as the last one that does, which is on the safe side.
    private var stampNow: UInt32 { UInt32(clamping: min(motte_shim_load64(clock), UInt64(PageFrames.unwritten - 1))) }

    /// The same, and it is nowhere else yet.
    func keepUnwritten(_ page: PageNumber) { stamp(page, PageFrames.unwritten) }

    private func stamp(_ page: PageNumber, _ stamp: UInt32) {
        guard let region = regions.find(page) else { return }
        region.pointee.stamps[regions.index(page)] = stamp
        region.pointee.marks[regions.index(page)] = 0
    }

    func noteWritten(_ run: PageRun) {
        let now = stampNow
        for page in run.pages {
            guard let region = regions.find(page) else { continue }
            let index = regions.index(page)
            if region.pointee.stamps[index] == PageFrames.unwritten { region.pointee.stamps[index] = now }
        }
    }
}
