/// Looking after a commit when it is built and not yet written: the nodes that it made, and only those, so that a small
/// commit to a large file costs little; and the free-space map. What is read from a file is judged by `TreeCheck`.
///
/// A file that somebody made can break some of this, so the commit fails as one to a damaged file does, and nothing of
/// it is written.
import MotteValues

extension TreeCommit {
    /// More pages, or runs of the map, than this are only looked at when a test asks.
    private static let mostLookedAfter: PageCount = 256

    /// In debug builds.
    @inline(__always)
    func lookAfter() throws(DatabaseError) {
        #if DEBUG
        guard pageCount <= TreeCommit.mostLookedAfter else { return }
        do throws(DatabaseError) {
            let pages = try checkTree()
            if next.map.runCount <= TreeCommit.mostLookedAfter.rawValue { try checkSpace(pages) }
        } catch {
            throw .corrupted(error.message)
        }
        #endif
    }

    package func checkInvariants() throws(DatabaseError) {
        try checkSpace(try checkTree())
    }

    /// Answers the pages that new nodes and values are on.
    private func checkTree() throws(DatabaseError) -> Set<PageNumber> {
        var built = BuiltTree(image, version, runs, left: writer.freed)
        if !next.root.tree.isNone { try built.visit(next.root.tree, next.root.level, nil, nil) }
        let pages = built.reached
        for reference in [next.root.logPage, next.root.checkpoint] { try built.claimExtent(reference) }
        try built.requireAll()
        return pages
    }

    private func checkSpace(_ pages: Set<PageNumber>) throws(DatabaseError) {
        try writer.allocator.checkInvariants()
        try next.checkInvariants(image.layout, used: pages.map { PageRun(start: $0, count: 1) })
    }
}

extension TreeState {
    /// `used`: pages of the tree.
    func checkInvariants(_ layout: PageLayout, used: [PageRun] = []) throws(DatabaseError) {
        let own = (logPages + [root.checkpoint]).filter { !$0.isNone }
        try map.checkInvariants(
            used: used + (root.wal.map { [$0.run] } ?? [])
                + own.map { $0.run(layout) })
    }
}

/// The nodes that a commit has made, from its root down.
struct BuiltTree {
    private let image: PageImage
    private let version: Version
    /// Pages that the commit took.
    private var taken: Set<PageNumber> = []
    /// Those of nodes and values that it leaves behind.
    private var left: Set<PageNumber> = []
    /// Of the pages taken those that something refers to.
    private(set) var reached: Set<PageNumber> = []

    init(_ image: PageImage, _ version: Version, _ runs: [PageRun], left freed: [TreeWriter.Freed]) {
        self.image = image
        self.version = version
        for run in runs { taken.formUnion(run.pages) }
        for freed in freed { left.formUnion(freed.run.pages) }
    }

    /// `low` and `high`: what the parent says of the keys below.
    mutating func visit(
        _ reference: PageRef, _ level: Int, _ low: UnsafeRawBufferPointer?, _ high: UnsafeRawBufferPointer?
    ) throws(DatabaseError) {
        guard try claim(reference) else { return }
        guard let base = image.builtBytes(reference.run(image.layout)) else { throw PageImage.damaged(reference) }
        let node = TreeNode(base)
        try Invariant.require(
            image.isThere(reference, level: level) && node.level == level
                && node.page == UInt64(reference.page.rawValue) && node.birth == version
                && node.checksum == reference.checksum,
            "tree-1: page \(reference.page) is the new node of level \(level) that its parent means")
        try checkEntries(node, reference)
        let isWithin =
            low.map { ValueOrdering.compareBytes(node.key(0), $0) >= 0 } != false
            && high.map { ValueOrdering.compareBytes(node.key(node.count - 1), $0) < 0 } != false
        try Invariant.require(isWithin, "tree-3: the keys of page \(reference.page) lie within what its parent says")
        for index in 0 ..< node.count where level > 0 || node.hasReference(index) {
            guard level > 0 else {
                try claimExtent(node.reference(index))
                continue
            }
            let end = index + 1 < node.count ? node.key(index + 1) : high
            try visit(node.reference(index), level - 1, index > 0 ? node.key(index) : low, end)
        }
    }

    /// Entries lie one below the other from the end of the node, values at multiples of 16, and keys ascend.
    private func checkEntries(_ node: TreeNode, _ reference: PageRef) throws(DatabaseError) {
        var top = image.layout.nodeBytes
        var isSound = node.count > 0
        for index in 0 ..< node.count where isSound {
            let item = TreeItem(node, index)
            let start = node.base.distance(to: node.entry(index))
            isSound =
                start == item.place(below: top) && start >= TreeNode.headerBytes + TreeNode.slotBytes * node.count
                && (index == 0 || ValueOrdering.compareBytes(node.key(index - 1), item.keyBytes) < 0)
            top = start
        }
        try Invariant.require(isSound, "tree-2: entries fill page \(reference.page) from its end, in their order")
    }

    /// Takes note of a value on pages of its own, or of pages of the free-space map.
    mutating func claimExtent(_ reference: PageRef) throws(DatabaseError) {
        if !reference.isNone { _ = try claim(reference) }
    }

    /// True for what this commit has made.
    private mutating func claim(_ reference: PageRef) throws(DatabaseError) -> Bool {
        let pages = reference.run(image.layout).pages
        guard taken.contains(reference.page) else {
            // Shared with the version before.
            try Invariant.require(
                !pages.contains { left.contains($0) || taken.contains($0) },
                "tree-5: page \(reference.page), which the new version has, is not left to be used again")
            return false
        }
        try Invariant.require(
            reference.birth == version && pages.allSatisfy { taken.contains($0) && !left.contains($0) },
            "tree-6: what is on page \(reference.page), which this commit took, was made by it")
        for page in pages {
            try Invariant.require(reached.insert(page).inserted, "tree-4: new page \(page) is referred to once")
        }
        return true
    }

    /// When everything has been visited.
    func requireAll() throws(DatabaseError) {
        try Invariant.require(
            taken.subtracting(left) == reached, "tree-7: something refers to each page that this commit took and kept")
    }
}
