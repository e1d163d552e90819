/// Hands out pages of one commit, side by side where free space allows it, so that a commit is few writes.
///
/// What a small commit writes mostly dies with the next one, and then leaves a free run for the one after it. A page
/// among them that stays would split that run; so values that will stay go to the smallest place that they fit in,
/// which is usually one that another of their kind has left.
import MotteValues

package struct PageAllocator {
    let image: PageImage
    package var map: SpaceMap
    /// Pages handed out, in order; neighbours are one run.
    package var used: [PageRun] = []
    private var current = PageRun(start: 0, count: 0)
    /// Pages that were made and are not wanted, of a file that nobody else has.
    private(set) var spare: [PageRun] = []
    /// How many pages to look for in one piece.
    private let wish: PageCount
    private let path: String
    /// Pages that the file may grow to, and those it has, which may be more.
    private let limit: PageCount
    private let pagesBefore: PageCount
    /// Values that were set apart so far; each is a write of its own.
    private var apartCount = 0
    private static let mostApart = 2
    /// Pages that are to become free with this commit.
    var evacuation: Evacuation?

    package init(
        _ image: PageImage, _ map: SpaceMap, wishing wish: PageCount, _ path: String, limit: PageCount? = nil
    ) {
        self.image = image
        self.limit = limit ?? image.pageLimit
        pagesBefore = map.pageCount
        self.map = map
        self.wish = wish
        self.path = path
    }

    package mutating func allocate(_ count: PageCount) throws(DatabaseError) -> PageNumber {
        if let last = spare.last, last.count == count {
            spare.removeLast()
            try image.beginBuilding(last)
            note(last.start, count)
            return last.start
        }
        if current.count < count {
            giveBack()
            let run = take(count)
            // The image has no place for it, so it must not be given back either.
            guard isWithinLimit else { throw full }
            current = run
            try image.beginBuilding(run)
        }
        let page = current.start
        current.start += count
        current.count -= count
        note(page, count)
        return page
    }

    private var isWithinLimit: Bool { map.pageCount <= max(limit, pagesBefore) }

    private mutating func take(_ count: PageCount) -> PageRun {
        // As low as possible, so that the file can end earlier.
        if let evacuation {
            if let run = map.takeLowest(count, outside: evacuation.pages) { return run }
            // Others have taken what was free there.
            if !evacuation.mayGrow, let run = map.takeLowest(count, outside: .none) { return run }
        }
        return map.take(atLeast: count, atMost: max(count, wish), wishing: max(count, wish), limit: limit)
    }

    /// Whether what lies at `page` can get a better place.
    func hasRoom(for count: PageCount, insteadOf page: PageNumber) -> Bool {
        guard let evacuation else { return true }
        return map.hasRoom(for: count, insteadOf: page, evacuation)
    }

    /// For a value that stays when those around it go.
    mutating func allocateApart(_ count: PageCount) throws(DatabaseError) -> PageNumber {
        guard wish <= SpaceMap.smallWish, apartCount < PageAllocator.mostApart, evacuation == nil else {
            return try allocate(count)
        }
        apartCount += 1
        let run = map.takeSmallest(count, limit: limit)
        guard isWithinLimit else { throw full }
        try image.beginBuilding(run)
        note(run.start, count)
        return run.start
    }

    private mutating func note(_ page: PageNumber, _ count: PageCount) {
        if let last = used.last, last.end == page {
            used[used.count - 1].count += count
        } else {
            used.append(PageRun(start: page, count: count))
        }
    }

    /// What was handed out is in the file, but these pages, which nobody will read.
    mutating func settle(_ unwanted: [PageRun]) {
        used = []
        spare += unwanted
    }

    /// Ends allocating: what was looked out but not used is free.
    package mutating func giveBack() {
        guard current.count > 0 else { return }
        image.forget(current)
        map.insert([current])
        current.count = 0
    }

    /// Runs in ascending order, none touching another.
    var sortedRuns: [PageRun] {
        var runs: [PageRun] = []
        for run in used.sorted(by: { $0.start < $1.start }) {
            if let last = runs.last, last.end == run.start {
                runs[runs.count - 1].count += run.count
            } else {
                runs.append(run)
            }
        }
        return runs
    }

    mutating func die(_ run: PageRun, birth: Version, death: Version) { map.die(run, birth: birth, death: death) }

    /// After a failure: nothing was made.
    mutating func abandon() {
        giveBack()
        for run in used { image.forget(run) }
    }

    var full: DatabaseError {
        let bytes = image.byteCount(of: limit)
        return DatabaseError(
            .mapFull,
            "'\(path)' would grow beyond \(bytes) bytes, the most it may; open it again with a larger max_file_size",
            path: path)
    }
}
