/// Hands out pages of one commit, side by side where free space allows it, so that a commit is few writes.
import MotteValues

struct PageAllocator {
    let image: PageImage
    private(set) var map: SpaceMap
    /// Pages handed out, in order; neighbours are one run.
    private(set) var used: [PageRun] = []
    private var current = PageRun(start: 0, count: 0)
    /// How many pages to look for in one piece.
    private let wish: Int
    private let path: String

    init(_ image: PageImage, _ map: SpaceMap, wishing wish: Int, _ path: String) {
        self.image = image
        self.map = map
        self.wish = wish
        self.path = path
    }

    mutating func allocate(_ count: Int) throws(DatabaseError) -> Int {
        if current.count < count {
            giveBack()
            current = map.take(atLeast: count, atMost: max(count, wish), wishing: max(count, wish))
            guard map.pageCount <= image.pageLimit else { throw full }
            image.beginBuilding(current)
        }
        let page = current.start
        current.start += count
        current.count -= count
        if let last = used.last, last.end == page {
            used[used.count - 1].count += count
        } else {
            used.append(PageRun(start: page, count: count))
        }
        return page
    }

    /// Ends allocating: what was looked out but not used is free.
    mutating func giveBack() {
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

    mutating func die(_ run: PageRun, birth: UInt64, death: UInt64) { map.die(run, birth: birth, death: death) }

    /// After a failure: nothing was made.
    mutating func abandon() {
        giveBack()
        for run in used { image.forget(run) }
    }

    private var full: DatabaseError {
        let bytes = image.pageLimit * image.pageBytes
        return DatabaseError(
            .mapFull,
            "'\(path)' has grown to \(bytes) bytes, the address space reserved for it; open it again with a larger"
                + " mapSizeBytes (or MOTTE_MAP_SIZE)",
            path: path)
    }
}
