/// Looks at everything a page file has, in the file and not in memory, and says what is wrong with it: the slots, each
/// node and value below the newest root, keys across nodes, the records of the WAL, and the free-space map against the
/// pages that are really in use.
///
/// Invariants of the whole, besides those of nodes (T1 to T4) and of the free-space map (S1, S2):
///   T5  keys of a node lie within what its parent says
///   T6  no page is reached twice
///   T7  the slot's counts are right
///   J1  the WAL's records are whole up to the version that is shown, and the one of a sealed version is the one
///       that was sealed
///   J2  keys of a record ascend, the header's first
///   S3  every page is reached, or free, or died in a version that is known; none is two of these
import MotteValues

package struct PageProblem: Sendable, Equatable, CustomStringConvertible {
    /// The page it is about, if it is about one.
    package var page: Int?
    package var description: String
}

struct TreeCheck: ~Copyable {
    private let image: PageImage
    private let root: RootSlot
    /// The version that is looked at, of the root or of a record behind it.
    private let shown: Version
    private(set) var problems: [PageProblem] = []
    private var owner: PageMap<UInt8>
    private var counts = (entries: 0, branches: PageCount.zero, leaves: PageCount.zero, extents: PageCount.zero)
    private static let mostProblems = 1000
    /// For values, which shall not be in memory for this.
    private var scratch = PageScratch()
    /// Copies of the nodes from the root down to the one at hand, so that none need be in memory or stay there.
    private var path: [UnsafeMutableRawBufferPointer] = []

    init(_ image: PageImage, _ root: RootSlot, shown: Version) {
        self.image = image
        self.root = root
        self.shown = shown
        owner = PageMap(0, root.pageCount)
    }

    deinit { for copy in path { copy.deallocate() } }

    /// The tree and the WAL. All of it belongs to one root, so that others may write meanwhile.
    mutating func run() throws(DatabaseError) {
        if !root.tree.isNone { try visit(root.tree, root.level, nil, nil) }
        if counts.entries != root.entryCount || counts.branches != root.branchPageCount
            || counts.leaves != root.leafPageCount || counts.extents != root.extentPageCount
        {
            // With a damaged node the rest cannot be counted.
            if problems.isEmpty { note(nil, "its root counts other numbers of entries or pages than there are (T7)") }
        }
        if let wal = root.wal, claim(wal.run) { try visit(wal) }
    }

    private mutating func note(_ page: PageNumber?, _ what: String) {
        guard problems.count < TreeCheck.mostProblems else { return }
        problems.append(PageProblem(page: page?.rawValue, description: what))
    }

    private mutating func claim(_ reference: PageRef) -> Bool {
        claim(reference.run(image.layout))
    }

    private mutating func claim(_ run: PageRun) -> Bool {
        guard run.start >= TreeFormat.firstPage, run.end <= root.pageCount.end else {
            note(run.start, "page \(run.start) is used but lies outside the file's \(root.pageCount) pages")
            return false
        }
        var isFirst = true
        for page in run.pages {
            if owner[page] != 0 {
                note(page, "page \(page) is used twice (T6)")
                isFirst = false
            }
            owner[page] = 1
        }
        // What is below it has been looked at, and may be below it again.
        return isFirst
    }

    private mutating func visit(
        _ reference: PageRef, _ level: Int, _ low: UnsafeRawBufferPointer?, _ high: UnsafeRawBufferPointer?
    ) throws(DatabaseError) {
        guard claim(reference) else { return }
        guard let node = try node(reference, level) else { return }
        if level == 0 { counts.leaves += 1 } else { counts.branches += 1 }
        if let low, ValueOrdering.compareBytes(node.key(0), low) < 0 {
            note(reference.page, "page \(reference.page) has keys below its parent's (T5)")
        }
        if let high, ValueOrdering.compareBytes(node.key(node.count - 1), high) >= 0 {
            note(reference.page, "page \(reference.page) has keys beyond its parent's (T5)")
        }
        for index in 0 ..< node.count {
            if level > 0 {
                let end = index + 1 < node.count ? node.key(index + 1) : high
                try visit(node.reference(index), level - 1, index > 0 ? node.key(index) : low, end)
                continue
            }
            counts.entries += 1
            guard node.hasReference(index) else { continue }
            let extent = node.reference(index)
            counts.extents += extent.pageCount(image.layout)
            guard claim(extent) else { continue }
            do throws(DatabaseError) {
                try image.check(extent, with: &scratch)
            } catch {
                try noteDamage(extent, error)
            }
        }
    }

    /// Damage is noted, anything else ends the check.
    private mutating func noteDamage(_ reference: PageRef, _ error: DatabaseError) throws(DatabaseError) {
        guard error.code == .corrupted else { throw error }
        note(reference.page, error.message)
    }

    private mutating func node(_ reference: PageRef, _ level: Int) throws(DatabaseError) -> TreeNode? {
        do throws(DatabaseError) {
            while path.count <= level {
                path.append(.allocate(byteCount: image.pageBytes, alignment: 16))
            }
            guard let copy = path[level].baseAddress else { return nil }
            try image.check(reference, level: level, copying: copy)
            return TreeNode(copy)
        } catch {
            try noteDamage(reference, error)
            return nil
        }
    }

    private mutating func visit(_ wal: WALLocation) throws(DatabaseError) {
        var state = WALState(root)
        try state.readOn(wal, image, through: shown)
        let end = wal.run.start + state.usedPages
        if state.version < shown {
            note(
                end,
                "page \(end) should begin a log record; the write-ahead log ends before version \(shown.rawValue) (J1)")
        } else if state.version == wal.sealed, state.chain != wal.sealedChain {
            note(wal.run.start, "the write-ahead log of page \(wal.run.start) is not the one that was closed (J1)")
        }
        let count = image.byteCount(of: state.usedPages)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { buffer.deallocate() }
        guard count > 0, try image.disk.read(buffer, at: image.offset(of: wal.run.start)) == count else { return }
        var offset = 0
        while offset < count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
            let bytes = UnsafeRawBufferPointer(rest)
            let page = wal.run.start + image.pageCount(in: offset)
            guard let record = WALRecord(at: bytes, salt: wal.salt, pageBytes: image.pageBytes),
                try record.unseal(rest, page: page, image.cipher)
            else { return }
            if !WALRecord.isTidy(bytes) {
                note(page, "the log record at page \(page) has entries that do not belong there (J2)")
            }
            offset += image.byteCount(of: record.pageCount)
        }
    }

    /// The free-space map against the pages that `run` has reached.
    mutating func checkSpace() throws(DatabaseError) {
        let state: TreeState
        do throws(DatabaseError) {
            state = try TreeState(reading: root, image)
            for page in state.logPages { try image.check(page, with: &scratch) }
            if !root.checkpoint.isNone { try image.check(root.checkpoint, with: &scratch) }
        } catch {
            guard error.code == .corrupted else { throw error }
            note(nil, "the free-space map cannot be read, and a compaction would make a new one: \(error.message)")
            return
        }
        for page in state.logPages { _ = claim(page) }
        if !root.checkpoint.isNone { _ = claim(root.checkpoint) }
        for run in state.map.free + state.map.dead.map(\.run) {
            for page in run.pages {
                if owner[page] == 1 { note(page, "page \(page) is in use and counted as free (S3)") }
                owner[page] = 2
            }
        }
        // What a damaged node reaches cannot be distinguished from what nothing reaches.
        guard problems.isEmpty else { return }
        let pages = PageRun(start: TreeFormat.firstPage, count: root.pageCount - TreeFormat.leastPages)
        for page in pages.pages where owner[page] == 0 {
            note(page, "page \(page) is neither in use nor free (S3)")
        }
    }
}
