/// The pages of a tree that is being written: where nodes and values go, and what is left behind.
import CMotteShim
import MotteValues

extension TreeWriter {
    /// Puts bytes on pages of their own.
    package mutating func writeExtent(
        _ value: UnsafeRawBufferPointer, stays: Bool = false
    ) throws(DatabaseError) -> PageRef {
        let count = layout.pageCount(value.count)
        let page = try allocate(count, apart: stays)
        let reference = try fillExtent(page, value)
        try early.add(reference.run(layout), in: image)
        return reference
    }

    /// A file of somebody else's may count pages as free that are in use.
    mutating func allocate(_ count: PageCount, apart: Bool = false) throws(DatabaseError) -> PageNumber {
        let page = apart ? try allocator.allocateApart(count) : try allocator.allocate(count)
        if takenApart.isEmpty { return page }
        for old in PageRun(start: page, count: count).pages where takenApart.contains(old) {
            throw .corrupted("page \(old) is in use and counted as free")
        }
        return page
    }

    /// Between two runs of changes to a file that nobody else has: what is built goes to the file, its memory is given
    /// back, and what the last run made again is room for the next.
    mutating func settle() throws(DatabaseError) {
        let runs = allocator.sortedRuns
        try image.write(early.unwritten(of: runs))
        for run in runs { image.giveBackMemory(of: run) }
        allocator.settle(freed.map(\.run))
        freed = []
        takenApart = []
        early = EarlyExtents(image)
        hold.renew()
    }

    /// What is built and not in the file yet.
    package var unwrittenRuns: [PageRun] { early.unwritten(of: allocator.sortedRuns) }

    func fillExtent(_ page: PageNumber, _ value: UnsafeRawBufferPointer) throws(DatabaseError) -> PageRef {
        let target = try image.space(PageRun(start: page, count: layout.pageCount(value.count)))
        target.copyMemory(from: value)
        // Nothing of what was there before goes into the file.
        UnsafeMutableRawBufferPointer(rebasing: target[value.count...]).initializeMemory(as: UInt8.self, repeating: 0)
        let reference = PageRef(
            page: page, birth: version, checksum: motte_shim_xxh3(value.baseAddress, value.count),
            byteCount: value.count)
        image.endBuilding(reference, level: 0)
        return reference
    }

    /// A node or an extent is no part of the version that is being made.
    mutating func free(_ reference: PageRef, level: Int) {
        let run = reference.run(layout)
        freed.append(Freed(run: run, birth: reference.birth))
        if reference.byteCount > 0 {
            extentDelta -= run.count
            return
        }
        if let evacuation = allocator.evacuation, evacuation.concerns(run) { moves.moved += run.count }
        takenApart.insert(reference.page)
        if level > 0 { branchDelta -= 1 } else { leafDelta -= 1 }
    }

    /// What else this commit leaves behind: pages of the free-space map.
    mutating func freeExtent(_ reference: PageRef) {
        freed.append(Freed(run: reference.run(layout), birth: reference.birth))
    }

    mutating func free(_ run: PageRun, birth: Version) { freed.append(Freed(run: run, birth: birth)) }
}
