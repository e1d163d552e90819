/// The file's pages in this process's memory, filled in when first asked for. A page is read and checked when it comes;
/// from then on reading it costs a few loads, for as long as its memory is not wanted for others (`PageFrames`).
/// Because the memory is ours and not a map of the file, a file that is cut short or overwritten under us is an error
/// of `read` and never a signal, what was checked stays checked, and new pages are built where they stay.
///
/// A page is only read again, or built upon, when no pinned version reaches what it held, or when no hold can have a
/// pointer into it; so bytes lent from it never change under whoever has them. All that is lent, is lent to a
/// `PageHold`.
///
/// Measured against a shared map of the file (80 MB of chunks, warm): the first scan of a process takes longer, later
/// scans and gets are equal; see docs/RELIABILITY.md. The price is memory: pages touched are copies of the file's.
import CMotteShim
import MotteValues

package final class PageImage: @unchecked Sendable {  // @unchecked: states are atomic; pages follow the rule above
    let pageBytes: Int
    package let layout: PageLayout
    /// nil: a plain file.
    let cipher: PageCipher?
    /// Pages that a file of this format can have.
    package let pageLimit: PageCount
    let regions: PageRegions
    private let pageShift: Int
    package let disk: any Disk
    /// What a writer has built and not yet written, where it has to be sealed one by one.
    var built: [PageRef] = []
    private let clockWord: UnsafeMutablePointer<UInt64>

    /// What reading goes on from. Serialises reading pages, the start of building them and taking their memory.
    private struct Reading {
        var frames: PageFrames
        /// Where the last read ended: reading on from there is worth reading ahead.
        var lastEnd: PageNumber = 0
        var ahead: PageCount = 0
        /// Where memory in large pages ends that the reading going on now has asked for.
        var largePagesEnd: PageNumber = 0
    }

    private let reading: Locked<Reading>

    private static let leastReadAhead: PageCount = 4
    private static let mostReadAhead: PageCount = 64
    private static let smallPagesBytes = 8 << 20
    private static let manyPages: PageCount = 256

    /// `memoryBytes` is what pages may take.
    package init(
        _ disk: any Disk, pageBytes: Int, _ cipher: PageCipher? = nil, memoryBytes: Int = .max
    ) throws(DatabaseError) {
        self.disk = disk
        self.pageBytes = pageBytes
        self.cipher = cipher
        layout = PageLayout(pageBytes: pageBytes, isSealed: cipher != nil)
        pageShift = pageBytes.trailingZeroBitCount
        motte_shim_prepare_holds()
        guard let regions = PageRegions(pageBytes: pageBytes) else { throw PageImage.noMemory(disk.path) }
        self.regions = regions
        pageLimit = regions.pageLimit
        clockWord = .allocate(capacity: 1)
        clockWord.initialize(to: 1)
        let budget = PageCount(in: memoryBytes, pageBytes: pageBytes)
        reading = Locked(Reading(frames: PageFrames(regions, clockWord, budget: budget)))
    }

    deinit { clockWord.deallocate() }

    private static func noMemory(_ path: String) -> DatabaseError {
        DatabaseError(
            .outOfMemory,
            "the system gives no memory for pages of '\(path)': its limits (ulimit -v) are too low for it",
            path: path)
    }

    /// Where a page is in the file.
    /// Where the root slots are.
    var slotBytes: Range<Int> { offset(of: TreeFormat.firstSlotPage) ..< offset(of: TreeFormat.firstPage) }

    @inline(__always) package func offset(of page: PageNumber) -> Int { page.rawValue << pageShift }
    @inline(__always) package func byteCount(of pages: PageCount) -> Int { pages.rawValue << pageShift }
    /// Whole pages of a file with so many bytes.
    package func pageCount(in byteCount: Int) -> PageCount { PageCount(in: byteCount, pageBytes: pageBytes) }

    // MARK: Holds.

    @inline(__always) var clock: UInt64 { motte_shim_load64(clockWord) }
    var clockAddress: UnsafePointer<UInt64> { UnsafePointer(clockWord) }

    func add(_ hold: PageHold) { reading.withLock { $0.frames.add(hold) } }
    func remove(_ hold: PageHold) { reading.withLock { $0.frames.remove(hold) } }

    /// Bytes of pages in memory, and the most there were.
    package var memory: (now: Int, most: Int, budget: Int, holds: Int) {
        reading.withLock { reading in
            let frames = reading.frames
            return (
                byteCount(of: frames.occupied), byteCount(of: frames.mostOccupied), byteCount(of: frames.budget),
                frames.holds.count
            )
        }
    }

    /// Pages that may be in memory.
    var budget: PageCount { reading.withLock { $0.frames.budget } }

    /// Whether a file of so many pages has more than may stay in memory.
    func exceedsMemory(_ pages: PageCount) -> Bool { pages > budget }

    // MARK: Reading.

    /// Where it is, if memory has it and it lies in its region. The state is looked at first: it is set when the region
    /// has its memory, which may be mapped by another thread just now.
    @inline(__always)
    private func place(_ reference: PageRef, level: Int) -> UnsafeMutableRawPointer? {
        guard let region = regions.find(reference.page) else { return nil }
        let index = regions.index(reference.page)
        guard motte_shim_load64(region.pointee.states + index) == reference.identity(level: level) else { return nil }
        return region.pointee.base.map { $0 + index << pageShift }
    }

    @inline(__always)
    package func node(_ reference: PageRef, level: Int) throws(DatabaseError) -> TreeNode {
        if let place = place(reference, level: level) { return TreeNode(place) }
        return TreeNode(try load(reference, level: level))
    }

    @inline(__always)
    package func extent(_ reference: PageRef) throws(DatabaseError) -> UnsafeRawBufferPointer {
        if let place = place(reference, level: 0) {
            return UnsafeRawBufferPointer(start: place, count: reference.byteCount)
        }
        return UnsafeRawBufferPointer(start: try load(reference, level: 0), count: reference.byteCount)
    }

    /// Whether memory has what `reference` means; the disk is not asked.
    package func isThere(_ reference: PageRef, level: Int) -> Bool {
        PageState.identity(of: regions.state(reference.page)) == reference.identity(level: level)
    }

    @inline(never)
    private func load(_ reference: PageRef, level: Int) throws(DatabaseError) -> UnsafeMutableRawPointer {
        try reading.withLock { reading throws(DatabaseError) in try load(reference, level: level, &reading) }
    }

    private func load(
        _ reference: PageRef, level: Int, _ reading: inout Reading
    ) throws(DatabaseError) -> UnsafeMutableRawPointer {
        let identity = reference.identity(level: level)
        let count = reference.pageCount(layout)
        let run = PageRun(start: reference.page, count: count)
        guard run.end <= regions.pageLimit.end else { throw PageImage.damaged(reference) }
        let state = regions.state(run.start)
        if PageState.identity(of: state) == identity, let address = regions.address(run) {
            if state & PageState.givenUp != 0 { reading.frames.takeBack(run.start) }
            return address
        }
        // In a file that somebody made, pages in use may be counted as free.
        for page in run.pages where regions.state(page) == PageState.building { throw PageImage.damaged(reference) }
        try requireEnd(of: reference, count)
        reading.frames.makeRoom(for: count)
        let place = regions.makePlace(for: run)
        if regions.isShort {
            regions.isShort = false
            reading.frames.lowerBudget()
        }
        guard let address = place else { throw PageImage.noMemory(disk.path) }
        // Pages read ahead may have been written since: what does not pass is read again before it is judged.
        if try !isReadAhead(reference, level, run, at: address) {
            if isIn(PageState.empty, run), !regions.isApart(run) {
                try fill(run, at: address, &reading)
                guard try isSound(reference, level, at: address) else { throw PageImage.damaged(reference) }
            } else {
                try replace(reference, level, count, at: address)
            }
        }
        // What another process has written here ends what this one had read of the same pages before.
        let whole = regions.wholeUnits(around: run)
        if whole != run {
            for page in whole.pages where page < run.start || page >= run.end {
                regions.set(page, PageState.empty, &reading.frames.occupied)
            }
        }
        for page in run.pages where page > run.start {
            regions.set(page, PageState.continued, &reading.frames.occupied)
        }
        reading.frames.stamp(run.start)
        regions.set(run.start, identity | regions.mark(of: run), &reading.frames.occupied)
        return address
    }

    /// Reads a value only to see that it is sound in the file, whatever of it is in memory, where this leaves nothing.
    func check(_ reference: PageRef, with scratch: inout PageScratch) throws(DatabaseError) {
        _ = try read(reference, into: &scratch)
    }

    /// A value for the moment, in the same way; it may lie in `scratch`.
    func extent(_ reference: PageRef, with scratch: inout PageScratch) throws(DatabaseError) -> UnsafeRawBufferPointer {
        var start = place(reference, level: 0)
        if start == nil { start = try read(reference, into: &scratch) }
        return UnsafeRawBufferPointer(start: start, count: reference.byteCount)
    }

    private func read(
        _ reference: PageRef, into scratch: inout PageScratch
    ) throws(DatabaseError) -> UnsafeMutableRawPointer {
        let count = reference.pageCount(layout)
        guard reference.page + count <= regions.pageLimit.end else { throw PageImage.damaged(reference) }
        try requireEnd(of: reference, count)
        let buffer = try scratch.bytes(byteCount(of: count), disk.path)
        guard let start = buffer.baseAddress, try disk.read(buffer, at: offset(of: reference.page)) == buffer.count
        else { throw PageImage.tooShort(reference.page + count - 1) }
        guard try isSound(reference, 0, at: start) else { throw PageImage.damaged(reference) }
        return start
    }

    /// A copy of a node, in the same way.
    func check(_ reference: PageRef, level: Int, copying copy: UnsafeMutableRawPointer) throws(DatabaseError) {
        guard reference.page < regions.pageLimit.end else { throw PageImage.damaged(reference) }
        let buffer = UnsafeMutableRawBufferPointer(start: copy, count: pageBytes)
        guard try disk.read(buffer, at: offset(of: reference.page)) == pageBytes else {
            throw PageImage.tooShort(reference.page)
        }
        guard try isSound(reference, level, at: copy) else { throw PageImage.damaged(reference) }
    }

    /// Before memory is asked for: in a file that somebody made a value may be said to have four gigabytes.
    private func requireEnd(of reference: PageRef, _ count: PageCount) throws(DatabaseError) {
        guard count > PageImage.mostReadAhead else { return }
        // Looked at for large values only: a look at a file's times makes the next write of it dearer.
        guard reference.page + count <= pageCount(in: try disk.byteCount()).end else {
            throw PageImage.tooShort(reference.page + count - 1)
        }
    }

    static func damaged(_ reference: PageRef) -> DatabaseError {
        let what = reference.byteCount == 0 ? "node" : "value"
        return .corrupted(
            "page \(reference.page) is not the \(what) of version \(reference.birth.rawValue) that belongs there")
    }

    private func isReadAhead(
        _ reference: PageRef, _ level: Int, _ run: PageRun, at address: UnsafeMutableRawPointer
    ) throws(DatabaseError) -> Bool {
        guard isIn(PageState.unchecked, run), !regions.isApart(run) else { return false }
        return try isSound(reference, level, at: address)
    }

    private func isIn(_ wanted: UInt64, _ run: PageRun) -> Bool {
        run.pages.allSatisfy { regions.state($0) == wanted }
    }

    /// Reads aside first: in a file that somebody made, what is here may be lent and the reference a lie.
    private func replace(
        _ reference: PageRef, _ level: Int, _ count: PageCount, at address: UnsafeMutableRawPointer
    ) throws(DatabaseError) {
        var scratch = PageScratch()
        let buffer = try scratch.bytes(byteCount(of: count), disk.path)
        guard let start = buffer.baseAddress, try disk.read(buffer, at: offset(of: reference.page)) == buffer.count
        else { throw PageImage.tooShort(reference.page + count - 1) }
        guard try isSound(reference, level, at: start) else { throw PageImage.damaged(reference) }
        address.copyMemory(from: start, byteCount: buffer.count)
    }

    private static func tooShort(_ page: PageNumber) -> DatabaseError {
        .corrupted("it ends before page \(page), which is in use")
    }

    /// Decrypts first, in place: nothing of `start` is lent yet, and what does not pass is read again.
    private func isSound(
        _ reference: PageRef, _ level: Int, at start: UnsafeMutableRawPointer
    ) throws(DatabaseError) -> Bool {
        if let cipher {
            let count = byteCount(of: reference.pageCount(layout))
            guard try cipher.unseal(.of(reference), start, count: count) else { return false }
        }
        guard reference.byteCount > 0 else {
            return TreeNode.isSound(start, reference, level: level, layout: layout, pageLimit: pageLimit)
        }
        return motte_shim_xxh3(start, reference.byteCount) == reference.checksum
    }

    /// Reads pages that lie in their region, and some more behind them when reading seems to go on there.
    private func fill(
        _ run: PageRun, at address: UnsafeMutableRawPointer, _ reading: inout Reading
    ) throws(DatabaseError) {
        if run.start == reading.lastEnd {
            reading.ahead = min(max(reading.ahead * 2, PageImage.leastReadAhead), PageImage.mostReadAhead)
        } else {
            // Who opens a file and gets one object jumps from page to page: what lies behind each is never asked for.
            reading.ahead = 0
            reading.largePagesEnd = 0
        }
        var end = run.end
        let most = min(run.end + reading.ahead, regions.end(of: run.start), pageLimit.end)
        if reading.ahead > PageImage.leastReadAhead || reading.frames.hasRoomAhead {
            while end < most, regions.state(end) == PageState.empty { end += 1 }
        }
        reading.lastEnd = end
        let whole = PageRun(start: run.start, count: end - run.start)
        regions.expectBytes(in: whole)
        if reading.ahead == PageImage.mostReadAhead, reading.largePagesEnd < end {
            reading.largePagesEnd = end + PageImage.manyPages
            useLargePages(whole, reading.frames)
        }
        // What memory still holds of an earlier occupant could pass for what was asked for. Pages that do not arrive
        // stay empty, so nobody looks at it.
        let bytes = try disk.read(
            UnsafeMutableRawBufferPointer(start: address, count: byteCount(of: whole.count)), at: offset(of: run.start))
        guard bytes >= byteCount(of: run.count) else { throw PageImage.tooShort(run.end - 1) }
        let ahead = PageRun(start: run.end, count: pageCount(in: bytes) - run.count)
        for page in ahead.pages { regions.set(page, PageState.unchecked, &reading.frames.occupied) }
    }

    /// Only where much lies side by side, since the first byte of a large page costs as much as opening the file does,
    /// and far from where memory becomes scarce, since pieces of one are not given back; and not at the beginning, so
    /// that a small file takes little.
    private func useLargePages(_ run: PageRun, _ frames: PageFrames) {
        guard offset(of: run.start) >= PageImage.smallPagesBytes, frames.occupied * 2 < frames.budget else { return }
        regions.useLargePages(run)
    }

    // MARK: Building.

    /// Nobody reads these pages until their version is published; reading ahead keeps off them.
    package func beginBuilding(_ run: PageRun) throws(DatabaseError) {
        assert(run.end <= pageLimit.end, "pages that the image has no place for")
        let isMade = reading.withLock { reading in
            forget(run, &reading)
            reading.frames.makeRoom(for: run.count)
            guard regions.makeRegions(for: run) else { return false }
            if run.count >= PageImage.manyPages { useLargePages(run, reading.frames) }
            for page in run.pages { regions.set(page, PageState.building, &reading.frames.occupied) }
            return true
        }
        if !isMade { throw PageImage.noMemory(disk.path) }
    }

    /// Where a unit is built, on pages whose building has begun.
    func space(_ run: PageRun) throws(DatabaseError) -> UnsafeMutableRawBufferPointer {
        let address = reading.withLock { _ in regions.makePlace(for: run) }
        guard let address else { throw PageImage.noMemory(disk.path) }
        return UnsafeMutableRawBufferPointer(start: address, count: byteCount(of: run.count))
    }

    /// It stays in memory until it is written.
    func endBuilding(_ reference: PageRef, level: Int) {
        let run = reference.run(layout)
        reading.withLock { reading in
            for page in run.pages where page > run.start { regions.change(page, PageState.continued) }
            reading.frames.keepUnwritten(run.start)
            regions.change(run.start, reference.identity(level: level) | regions.mark(of: run))
        }
        if cipher != nil { built.append(reference) }
    }

    /// Of what was built there memory may be taken from now on.
    func endWriting(_ runs: [PageRun]) {
        reading.withLock { reading in
            for run in runs { reading.frames.noteWritten(run) }
        }
    }

    /// Bytes of a unit that was built and is not given back before it is written.
    package func builtBytes(_ run: PageRun) -> UnsafeMutableRawPointer? {
        reading.withLock { _ in regions.address(run) }
    }

    /// The longest beginning of a run of built pages that lies in one piece.
    func builtPiece(_ run: PageRun) -> (start: UnsafeMutableRawPointer, run: PageRun)? {
        reading.withLock { _ in regions.piece(of: run) }
    }

    /// The run is free: nobody will read it as what it was.
    package func giveBackMemory(of run: PageRun) {
        reading.withLock { reading in
            forget(run, &reading)
            regions.giveBack(run)
        }
    }

    /// What was built there came to nothing.
    package func forget(_ run: PageRun) { reading.withLock { reading in forget(run, &reading) } }

    private func forget(_ run: PageRun, _ reading: inout Reading) {
        assert(run.end <= pageLimit.end, "pages that the image has no place for")
        let whole = regions.wholeUnits(around: run)
        for page in whole.pages { regions.set(page, PageState.empty, &reading.frames.occupied) }
        regions.forgetApart(whole)
    }
}

/// Memory to read something into that is not kept; grows to the largest piece.
struct PageScratch: ~Copyable {
    private var buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    init() {}

    deinit { buffer.deallocate() }

    mutating func bytes(_ count: Int, _ path: String) throws(DatabaseError) -> UnsafeMutableRawBufferPointer {
        if buffer.count < count {
            buffer.deallocate()
            buffer = .allocate(byteCount: count, alignment: 16)
        }
        return UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    }
}
