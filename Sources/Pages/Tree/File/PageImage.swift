/// The file's pages in this process's memory: page p is at `base + p * pageBytes` for as long as the file is open,
/// filled in when first asked for. A page is read and checked once per (page, version); after that reading it costs one
/// atomic load. Because the memory is ours and not a map of the file, a file that is cut short or overwritten under us
/// is an error of `read` and never a signal, what was checked stays checked, and new pages are built where they stay.
///
/// The state word of a page: 0 nothing is there, 1 the writer of this process is building, 2 read but not yet checked
/// (and not yet decrypted), 3 the rest of a value, else the identity of the reference it was checked against. A page is
/// only read again, or built upon, when no pinned version reaches what it held; so bytes lent from it never change
/// under a snapshot.
///
/// Measured against a shared map of the file (80 MB of chunks, warm): the first scan of a process takes longer, later
/// scans and gets are equal; see docs/RELIABILITY.md. The price is memory: pages touched are copies of the file's.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class PageImage: @unchecked Sendable {  // @unchecked: states are atomic; pages follow the rule above
    let base: UnsafeMutableRawPointer
    let pageBytes: Int
    let layout: PageLayout
    /// nil: a plain file.
    let cipher: PageCipher?
    /// Pages the reservation has room for.
    let pageLimit: PageCount
    private let states: UnsafeMutablePointer<UInt64>
    private let pageShift: Int
    let disk: any Disk
    /// What a writer has built and not yet written, where it has to be sealed one by one.
    var built: [PageRef] = []
    /// What reading goes on from. Serialises reading pages and the start of building them.
    private struct Reading {
        /// Where the last read ended: reading on from there is worth reading ahead.
        var lastEnd: PageNumber = 0
        var ahead = PageImage.leastReadAhead
        /// Where memory in large pages ends that the reading going on now has asked for.
        var largePagesEnd: PageNumber = 0
    }

    private let reading = Locked(Reading())

    private static let empty: UInt64 = 0
    private static let building: UInt64 = 1
    private static let unchecked: UInt64 = 2
    private static let continued: UInt64 = 3
    private static let leastReadAhead: PageCount = 4
    private static let mostReadAhead: PageCount = 64
    static let smallestBytes = 1 << 20
    private static let smallPagesBytes = 8 << 20
    private static let manyPages: PageCount = 256

    /// Halves the reservation until the machine grants it.
    init(
        _ disk: any Disk, pageBytes: Int, _ cipher: PageCipher? = nil, byteCount wanted: Int, atLeast least: Int
    ) throws(DatabaseError) {
        self.disk = disk
        self.pageBytes = pageBytes
        self.cipher = cipher
        layout = PageLayout(pageBytes: pageBytes, isSealed: cipher != nil)
        pageShift = pageBytes.trailingZeroBitCount
        var size = max(wanted, least, pageBytes * 16) / pageBytes * pageBytes
        while true {
            if let pages = PageImage.reserve(size) {
                if let words = PageImage.reserve(size / pageBytes * 8) {
                    base = pages
                    states = words.assumingMemoryBound(to: UInt64.self)
                    pageLimit = PageCount(in: size, pageBytes: pageBytes)
                    return
                }
                munmap(pages, size)
            }
            guard size / 2 >= max(least, PageImage.smallestBytes) else {
                throw SystemError.error(ENOMEM, "reserve address space for", disk.path)
            }
            size = size / 2 / pageBytes * pageBytes
        }
    }

    deinit {
        munmap(base, byteCount(of: pageLimit))
        munmap(states, pageLimit.rawValue * 8)
    }

    private static func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        let address = mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        return address == UnsafeMutableRawPointer(bitPattern: -1) ? nil : address
    }

    @inline(__always)
    func address(_ page: PageNumber) -> UnsafeMutableRawPointer { base + page.rawValue << pageShift }

    /// Where a page is in the file.
    @inline(__always) func offset(of page: PageNumber) -> Int { page.rawValue << pageShift }
    @inline(__always) func byteCount(of pages: PageCount) -> Int { pages.rawValue << pageShift }
    /// Whole pages of a file with so many bytes.
    func pageCount(in byteCount: Int) -> PageCount { PageCount(in: byteCount, pageBytes: pageBytes) }

    @inline(__always) private func state(_ page: PageNumber) -> UInt64 { motte_shim_load64(states + page.rawValue) }
    @inline(__always)
    private func set(_ page: PageNumber, _ state: UInt64) { motte_shim_store64(states + page.rawValue, state) }

    // MARK: Reading.

    @inline(__always)
    func node(_ reference: PageRef, level: Int) throws(DatabaseError) -> TreeNode {
        if state(reference.page) != reference.identity(level: level) {
            try load(reference, level: level)
        }
        return TreeNode(address(reference.page))
    }

    @inline(__always)
    func extent(_ reference: PageRef) throws(DatabaseError) -> UnsafeRawBufferPointer {
        if state(reference.page) != reference.identity(level: 0) {
            try load(reference, level: 0)
        }
        return UnsafeRawBufferPointer(start: address(reference.page), count: reference.byteCount)
    }

    /// Whether memory has what `reference` means; the disk is not asked.
    func isThere(_ reference: PageRef, level: Int) -> Bool {
        state(reference.page) == reference.identity(level: level)
    }

    @inline(never)
    private func load(_ reference: PageRef, level: Int) throws(DatabaseError) {
        try reading.withLock { reading throws(DatabaseError) in try load(reference, level: level, &reading) }
    }

    private func load(_ reference: PageRef, level: Int, _ reading: inout Reading) throws(DatabaseError) {
        let identity = reference.identity(level: level)
        let count = reference.pageCount(layout)
        if state(reference.page) == identity { return }
        // In a file that somebody made, pages in use may be counted as free.
        let run = PageRun(start: reference.page, count: count)
        for page in run.pages where state(page) == PageImage.building { throw PageImage.damaged(reference) }
        try requireEnd(of: reference, count)
        // Pages read ahead may have been written since: what does not pass is read again before it is judged.
        if try !isReadAhead(reference, level, count) {
            if isIn(PageImage.empty, run) {
                try fill(run, &reading)
                guard try isSound(reference, level, at: address(reference.page)) else {
                    throw PageImage.damaged(reference)
                }
            } else {
                try replace(reference, level, count)
            }
        }
        for page in run.pages where page > run.start { set(page, PageImage.continued) }
        set(run.start, identity)
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

    private func isReadAhead(_ reference: PageRef, _ level: Int, _ count: PageCount) throws(DatabaseError) -> Bool {
        guard isIn(PageImage.unchecked, PageRun(start: reference.page, count: count)) else { return false }
        return try isSound(reference, level, at: address(reference.page))
    }

    private func isIn(_ wanted: UInt64, _ run: PageRun) -> Bool { run.pages.allSatisfy { state($0) == wanted } }

    /// Reads aside first: in a file that somebody made, what is here may be lent and the reference a lie.
    private func replace(_ reference: PageRef, _ level: Int, _ count: PageCount) throws(DatabaseError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount(of: count), alignment: 16)
        defer { buffer.deallocate() }
        guard let start = buffer.baseAddress, try disk.read(buffer, at: offset(of: reference.page)) == buffer.count
        else { throw PageImage.tooShort(reference.page + count - 1) }
        guard try isSound(reference, level, at: start) else { throw PageImage.damaged(reference) }
        address(reference.page).copyMemory(from: start, byteCount: buffer.count)
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

    /// Reads pages, and some more behind them when reading seems to go on there.
    private func fill(_ run: PageRun, _ reading: inout Reading) throws(DatabaseError) {
        if run.start == reading.lastEnd {
            reading.ahead = min(reading.ahead * 2, PageImage.mostReadAhead)
        } else {
            reading.ahead = PageImage.leastReadAhead
            reading.largePagesEnd = 0
        }
        var end = run.end
        while end < run.end + reading.ahead, end < pageLimit.end, state(end) == PageImage.empty { end += 1 }
        reading.lastEnd = end
        if reading.ahead == PageImage.mostReadAhead, reading.largePagesEnd < end {
            reading.largePagesEnd = end + PageImage.manyPages * 16
            useLargePages(PageRun(start: run.start, count: reading.largePagesEnd - run.start))
        }
        // What memory still holds of an earlier occupant could pass for what was asked for. Pages that do not arrive
        // stay empty, so nobody looks at it.
        let bytes = try disk.read(
            UnsafeMutableRawBufferPointer(start: address(run.start), count: byteCount(of: end - run.start)),
            at: offset(of: run.start))
        guard bytes >= byteCount(of: run.count) else { throw PageImage.tooShort(run.end - 1) }
        let ahead = PageRun(start: run.end, count: pageCount(in: bytes) - run.count)
        for page in ahead.pages { set(page, PageImage.unchecked) }
    }

    /// Fresh memory is most of what a first scan or a bulk load waits for; large pages save nine of ten faults. Only
    /// where much lies side by side, since the first byte of a large page costs as much as opening the file does; and
    /// not at the beginning, so that a small file takes little.
    private func useLargePages(_ run: PageRun) {
        let start = max(offset(of: run.start), PageImage.smallPagesBytes)
        let end = offset(of: min(run.end, pageLimit.end))
        if start < end { madvise(base + start, end - start, MADV_HUGEPAGE) }
    }

    // MARK: Building.

    /// Nobody reads these pages until their version is published; reading ahead keeps off them.
    func beginBuilding(_ run: PageRun) {
        assert(run.end <= pageLimit.end, "pages that the image has no place for")
        reading.withLock { _ in
            if run.count >= PageImage.manyPages { useLargePages(run) }
            for page in run.pages { set(page, PageImage.building) }
        }
    }

    func endBuilding(_ reference: PageRef, level: Int) {
        for page in reference.run(layout).pages where page > reference.page { set(page, PageImage.continued) }
        set(reference.page, reference.identity(level: level))
        if cipher != nil { built.append(reference) }
    }

    /// The run is free: nobody will read it as what it was.
    func giveBackMemory(of run: PageRun) {
        reading.withLock { _ in
            forget(run)
            madvise(address(run.start), byteCount(of: run.count), MADV_DONTNEED)
        }
    }

    /// What was built there came to nothing.
    func forget(_ run: PageRun) {
        assert(run.end <= pageLimit.end, "pages that the image has no place for")
        for page in run.pages { set(page, PageImage.empty) }
    }
}
