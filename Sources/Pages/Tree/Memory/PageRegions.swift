/// Where a file's pages lie in this process's memory. The file is taken in regions of a few megabytes; a region has a
/// word of state for each of its pages and, from when the first of them is read, memory for all of them in which each
/// page has its place. So nothing is reserved for what a file may grow to, and neighbours in the file are neighbours in
/// memory.
///
/// Set apart are values that cross the end of a region, and all that is read while the system gives no more address
/// space: each lies in a piece of memory of its own.
///
/// States are read without a lock, also while regions are added; everything else is for who holds the image's lock.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct PageRegion {
    let first: PageNumber
    /// nil while the region has no memory.
    var base: UnsafeMutableRawPointer?
    package let states: UnsafeMutablePointer<UInt64>
    /// The clock when what is on a page was read or built; see `PageHold`.
    let stamps: UnsafeMutablePointer<UInt32>
    /// The clock when what is on a page was last given up.
    let ends: UnsafeMutablePointer<UInt32>
    /// How often what is on a page was asked for again after it had been given up.
    let marks: UnsafeMutablePointer<UInt8>
    /// Pages in it that are not empty.
    var occupied = 0
}

package final class PageRegions {
    /// Pages in a region, a power of two.
    package let pageCount: Int
    private let pageShift: Int
    private let regionShift: Int
    /// Pages that there are places for: what a file can grow to.
    let pageLimit: PageCount
    /// Two levels of addresses: of tables, and in them of regions.
    private let tops: UnsafeMutablePointer<UInt64>
    /// Those that there are, in the order in which they came.
    package private(set) var all: [UnsafeMutablePointer<PageRegion>] = []
    /// Units that do not lie in their region, by their first page.
    private(set) var apart: [PageNumber: UnsafeMutableRawBufferPointer] = [:]
    /// The system has refused address space since this was last set.
    var isShort = false
    /// Memory for states, stamps and marks of regions, one after the other: zeros where nothing is in a region.
    private var slabs: [UnsafeMutableRawPointer] = []
    private var slabRoom = 0
    /// What a region has of a slab, in whole pages of the system.
    private let recordBytes: Int
    private var slabBytes: Int { recordBytes * PageRegions.regionsPerSlab }
    /// Pieces that others took the place of.
    private var former: [UnsafeMutableRawBufferPointer] = []
    /// For tests: what was given up must not be touched, so that whoever does is found out.
    private let isPoisoning: Bool

    static let regionBytes = 4 << 20
    private static let topCount = 4096
    private static let tableCount = 1024
    private static let regionsPerSlab = 64

    package init?(pageBytes: Int) {
        pageShift = pageBytes.trailingZeroBitCount
        pageCount = PageRegions.regionBytes / pageBytes
        regionShift = pageCount.trailingZeroBitCount
        pageLimit = PageCount(PageRegions.topCount * PageRegions.tableCount * pageCount)
        isPoisoning = getenv("MOTTE_TEST_POISON") != nil
        let words = MemoryLayout<UInt64>.size + 2 * MemoryLayout<UInt32>.size + MemoryLayout<UInt8>.size
        let systemPage = max(1, Int(sysconf(Int32(_SC_PAGESIZE))))
        recordBytes = (pageCount * words + systemPage - 1) / systemPage * systemPage
        guard let words = PageRegions.zeroed(PageRegions.topCount, UInt64.self) else { return nil }
        tops = words
    }

    deinit {
        for region in all {
            if let base = region.pointee.base { munmap(base, PageRegions.regionBytes) }
            region.deallocate()
        }
        for slab in slabs { munmap(slab, slabBytes) }
        for top in 0 ..< PageRegions.topCount { free(UnsafeMutableRawPointer(bitPattern: UInt(tops[top]))) }
        free(tops)
        for unit in former + apart.values { free(unit.baseAddress) }
    }

    private static func zeroed<Word>(_ count: Int, _ type: Word.Type) -> UnsafeMutablePointer<Word>? {
        calloc(count, MemoryLayout<Word>.stride)?.assumingMemoryBound(to: type)
    }

    // MARK: Finding.

    @inline(__always) func index(_ page: PageNumber) -> Int { page.rawValue & (pageCount - 1) }

    /// nil where nothing of the region was ever asked for, and behind the limit.
    @inline(__always)
    func find(_ page: PageNumber) -> UnsafeMutablePointer<PageRegion>? {
        let number = page.rawValue >> regionShift
        // In a file that somebody made a root may name any page.
        guard number < PageRegions.topCount * PageRegions.tableCount else { return nil }
        let table = motte_shim_load64(tops + number / PageRegions.tableCount)
        guard let table = UnsafePointer<UInt64>(bitPattern: UInt(table)) else { return nil }
        return UnsafeMutablePointer(bitPattern: UInt(motte_shim_load64(table + number % PageRegions.tableCount)))
    }

    @inline(__always)
    package func state(_ page: PageNumber) -> UInt64 {
        guard let region = find(page) else { return PageState.empty }
        return motte_shim_load64(region.pointee.states + index(page))
    }

    /// Where a page is if its region has memory and it lies there.
    @inline(__always)
    private func place(_ page: PageNumber) -> UnsafeMutableRawPointer? {
        find(page)?.pointee.base.map { $0 + index(page) << pageShift }
    }

    /// Behind the last page of the region that has this one.
    func end(of page: PageNumber) -> PageNumber { PageNumber((page.rawValue >> regionShift + 1) << regionShift) }

    func isApart(_ run: PageRun) -> Bool { !apart.isEmpty && apart[run.start] != nil }
    /// For the state of a unit that was placed.
    func mark(of run: PageRun) -> UInt64 { isApart(run) ? PageState.apart : 0 }

    @inline(__always)
    private func isWithinOne(_ run: PageRun) -> Bool { index(run.start) + run.count.rawValue <= pageCount }

    /// Where the bytes of a unit are that was placed; of other pages only those that lie in their region.
    func address(_ run: PageRun) -> UnsafeMutableRawPointer? {
        if !apart.isEmpty, let unit = apart[run.start] { return unit.baseAddress }
        return isWithinOne(run) ? place(run.start) : nil
    }

    /// The longest beginning of a run whose bytes lie side by side, and where.
    func piece(of run: PageRun) -> (start: UnsafeMutableRawPointer, run: PageRun)? {
        if !apart.isEmpty, let unit = apart[run.start], let start = unit.baseAddress {
            return (start, PageRun(start: run.start, count: min(run.count, PageCount(unit.count >> pageShift))))
        }
        guard let start = place(run.start) else { return nil }
        var count = min(run.count, PageCount(pageCount - index(run.start)))
        if !apart.isEmpty {
            for page in PageRun(start: run.start, count: count).pages where apart[page] != nil {
                count = page - run.start
                break
            }
        }
        return (start, PageRun(start: run.start, count: count))
    }

    // MARK: Making room.

    /// A place for a unit; what it holds is undefined. nil where the system gives no memory.
    package func makePlace(for run: PageRun) -> UnsafeMutableRawPointer? {
        guard makeStates(for: run) else { return nil }
        if !apart.isEmpty, let unit = apart[run.start] {
            if unit.count >= run.count.rawValue << pageShift { return unit.baseAddress }
            // In a file that somebody made it may be lent.
            former.append(unit)
            return setApart(run)
        }
        if isWithinOne(run), let region = find(run.start), makeMemory(region) {
            unpoison(run)
            return place(run.start)
        }
        return setApart(run)
    }

    /// Regions for pages on which units will be built, with memory where there is any.
    func makeRegions(for run: PageRun) -> Bool {
        guard makeStates(for: run) else { return false }
        forEachRegion(of: run) { region in _ = makeMemory(region) }
        unpoison(run)
        return true
    }

    private func makeStates(for run: PageRun) -> Bool {
        var isWhole = true
        var page = run.start
        while page < run.end, isWhole {
            if find(page) == nil { isWhole = makeRegion(page) }
            page = PageNumber((page.rawValue >> regionShift + 1) << regionShift)
        }
        return isWhole
    }

    private func forEachRegion(of run: PageRun, _ body: (UnsafeMutablePointer<PageRegion>) -> Void) {
        var page = run.start
        while page < run.end {
            if let region = find(page) { body(region) }
            page = PageNumber((page.rawValue >> regionShift + 1) << regionShift)
        }
    }

    private func makeRegion(_ page: PageNumber) -> Bool {
        let number = page.rawValue >> regionShift
        let top = tops + number / PageRegions.tableCount
        if motte_shim_load64(top) == 0 {
            guard let table = PageRegions.zeroed(PageRegions.tableCount, UInt64.self) else { return false }
            motte_shim_store64(top, UInt64(UInt(bitPattern: table)))
        }
        guard let table = UnsafeMutablePointer<UInt64>(bitPattern: UInt(motte_shim_load64(top))),
            let record = makeRecord()
        else { return false }
        let states = record.bindMemory(to: UInt64.self, capacity: pageCount)
        let stamps = (record + pageCount * MemoryLayout<UInt64>.size).bindMemory(to: UInt32.self, capacity: pageCount)
        let ends = UnsafeMutableRawPointer(stamps + pageCount).bindMemory(to: UInt32.self, capacity: pageCount)
        let marks = UnsafeMutableRawPointer(ends + pageCount).bindMemory(to: UInt8.self, capacity: pageCount)
        let region = UnsafeMutablePointer<PageRegion>.allocate(capacity: 1)
        region.initialize(
            to: PageRegion(
                first: PageNumber(number << regionShift), base: nil, states: states, stamps: stamps, ends: ends,
                marks: marks))
        all.append(region)
        motte_shim_store64(table + number % PageRegions.tableCount, UInt64(UInt(bitPattern: region)))
        return true
    }

    private func makeRecord() -> UnsafeMutableRawPointer? {
        if slabRoom == 0 {
            guard let slab = mapped(slabBytes) else { return nil }
            slabs.append(slab)
            slabRoom = PageRegions.regionsPerSlab
        }
        slabRoom -= 1
        return slabs.last.map { $0 + slabRoom * recordBytes }
    }

    private func makeMemory(_ region: UnsafeMutablePointer<PageRegion>) -> Bool {
        if region.pointee.base != nil { return true }
        // Pages of it that are set apart stay where they are.
        guard let base = map() else {
            isShort = true
            return false
        }
        region.pointee.base = base
        if isPoisoning { mprotect(base, PageRegions.regionBytes, PROT_NONE) }
        return true
    }

    private func map() -> UnsafeMutableRawPointer? {
        for attempt in 0 ..< 2 {
            if let address = mapped(PageRegions.regionBytes) { return address }
            if attempt == 0, !unmapEmpty() { return nil }
        }
        return nil
    }

    private func mapped(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        let address = mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        return address == UnsafeMutableRawPointer(bitPattern: -1) ? nil : address
    }

    /// Gives address space back of regions in which nothing is. False where there are none.
    private func unmapEmpty() -> Bool {
        var found = false
        for region in all where region.pointee.occupied == 0 {
            guard let base = region.pointee.base else { continue }
            munmap(base, PageRegions.regionBytes)
            region.pointee.base = nil
            found = true
        }
        return found
    }

    private func setApart(_ run: PageRun) -> UnsafeMutableRawPointer? {
        let byteCount = run.count.rawValue << pageShift
        var memory: UnsafeMutableRawPointer?
        guard posix_memalign(&memory, 16, byteCount) == 0, let memory else { return nil }
        apart[run.start] = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
        return memory
    }

    // MARK: Giving back.

    /// With what is on other pages of the units that it is a part of: a unit is there as a whole, or not at all. What
    /// is left of one would be taken from memory with whatever has come to its other pages.
    func wholeUnits(around run: PageRun) -> PageRun {
        var start = run.start
        while state(start) == PageState.continued { start = start - PageCount(1) }
        var end = run.end
        while end < pageLimit.end, state(end) == PageState.continued { end += 1 }
        return PageRun(start: start, count: end - start)
    }

    /// The pages are empty, and will not be asked for as what they were.
    func forgetApart(_ run: PageRun) {
        guard !apart.isEmpty else { return }
        for page in run.pages {
            if let unit = apart.removeValue(forKey: page) { free(unit.baseAddress) }
        }
    }

    /// The pages are empty: what they held is gone.
    package func giveBack(_ run: PageRun) {
        forgetApart(run)
        var page = run.start
        while page < run.end {
            let count = min(run.end - page, PageCount(pageCount - index(page)))
            if let start = place(page) {
                madvise(start, count.rawValue << pageShift, MADV_DONTNEED)
                if isPoisoning { mprotect(start, count.rawValue << pageShift, PROT_NONE) }
            }
            page += count
        }
        // Of a file of a thousand budgets what is known of empty regions would be more than the budget.
        forEachRegion(of: run) { region in
            if region.pointee.occupied == 0 { madvise(region.pointee.states, recordBytes, MADV_DONTNEED) }
        }
    }

    private func unpoison(_ run: PageRun) {
        guard isPoisoning else { return }
        var page = run.start
        while page < run.end {
            let count = min(run.end - page, PageCount(pageCount - index(page)))
            if let start = place(page) { mprotect(start, count.rawValue << pageShift, PROT_READ | PROT_WRITE) }
            page += count
        }
    }

    /// Before reading ahead into them.
    func expectBytes(in run: PageRun) { unpoison(run) }

    /// Fresh memory is most of what a first scan or a bulk load waits for; large pages save nine of ten faults.
    func useLargePages(_ run: PageRun) {
        forEachRegion(of: run) { region in
            if let base = region.pointee.base { madvise(base, PageRegions.regionBytes, MADV_HUGEPAGE) }
        }
    }

    // MARK: States.

    /// Counts pages that come and go.
    package func set(_ page: PageNumber, _ state: UInt64, _ occupied: inout PageCount) {
        guard let region = find(page) else { return }
        let word = region.pointee.states + index(page)
        let before = motte_shim_load64(word)
        if before == PageState.empty, state != PageState.empty {
            region.pointee.occupied += 1
            occupied += 1
        } else if before != PageState.empty, state == PageState.empty {
            region.pointee.occupied -= 1
            occupied -= 1
        }
        motte_shim_store64(word, state)
    }

    /// From one state to another in which the page is occupied as well; needs no lock.
    @inline(__always)
    func change(_ page: PageNumber, _ state: UInt64) {
        guard let region = find(page) else { return }
        motte_shim_store64(region.pointee.states + index(page), state)
    }
}
