/// A version of the tree: a root, what its WAL changes in it, and the pin that keeps what it reaches from being
/// overwritten. Reading takes no lock: nodes never change, and the image says with a few loads whether a page is there.
import MotteValues

/// What all snapshots of a version in this process share.
final class PinnedVersion: @unchecked Sendable {  // @unchecked: never changes
    let version: Version
    let pages: TreePages
    let root: RootSlot
    /// Copies of what the WAL says, above the tree.
    let changes: MemoryTree
    fileprivate let filter: KeyFilter
    private let pin: PagePins.Pin

    /// Takes over the pin and a user count of `pages`.
    init(_ version: TreeVersion, _ pin: PagePins.Pin, _ pages: TreePages) {
        self.pages = pages
        root = version.root
        changes = version.wal.changes
        filter = version.wal.filter
        self.pin = pin
        self.version = version.version
    }

    deinit {
        // A forked child must not touch its parent's pins.
        guard pages.isOfThisProcess else { return }
        pages.pins.release(pin)
        pages.endUse()
    }
}

/// One user's view of a version; what it lends is held for that user.
final class TreeSnapshot: PageSnapshot, @unchecked Sendable {  // @unchecked: never changes
    let version: Version
    let pages: TreePages
    let root: RootSlot
    let changes: MemoryTree
    private let filter: KeyFilter
    let image: PageImage
    private let pinned: PinnedVersion
    fileprivate let ownHold: PageHold

    init(_ pinned: PinnedVersion) {
        self.pinned = pinned
        pages = pinned.pages
        root = pinned.root
        changes = pinned.changes
        filter = pinned.filter
        image = pinned.pages.image
        version = pinned.version
        ownHold = PageHold(pinned.pages.image)
    }

    var hold: PageHold? { ownHold }
    var storedVersion: Version { version }
    func hasMovedValues(since version: Version) -> Bool { pages.movedIn > version }
    func sharing() -> PageSnapshot { TreeSnapshot(pinned) }
    var exceedsMemory: Bool { image.exceedsMemory(root.pageCount) }
    var memoryBytes: Int { image.memory.budget }

    func makeScratchFile() throws(DatabaseError) -> ScratchFile {
        try ScratchFile(beside: pages.identity == nil ? nil : pages.disk.path, isEncrypted: image.cipher != nil)
    }

    func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        try pages.checkProcess()
        guard !key.isEmpty else { return nil }
        if changes.entryCount > 0, filter.mayHave(key), let entry = changes.entry(for: key) {
            return entry.isDeletion ? nil : PageBytes(bytes: entry.value, isStable: false)
        }
        return try ownHold.lend { () throws(DatabaseError) in try valueInTree(key) }
    }

    private func valueInTree(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        guard !root.tree.isNone else { return nil }
        var reference = root.tree
        var level = root.level
        while level > 0 {
            let node = try image.node(reference, level: level)
            reference = node.reference(node.child(for: key))
            level -= 1
        }
        let leaf = try image.node(reference, level: 0)
        let index = leaf.lowerBound(key)
        guard index < leaf.count, ValueOrdering.compareBytes(leaf.key(index), key) == 0 else { return nil }
        return try TreeSnapshot.value(leaf, index, image)
    }

    func pageProblems() throws(DatabaseError) -> [PageProblem] {
        var check = TreeCheck(image, root, shown: version)
        try check.run()
        try check.checkSpace()
        return try pages.headProblems(root) + check.problems
    }

    func contentProblems() throws(DatabaseError) -> [PageProblem] {
        var check = TreeCheck(image, root, shown: version)
        try check.run()
        return check.problems
    }

    var passedOver: PassedOver? { pages.passedOver }

    var mostEntryCount: Int {
        let room = root.pageCount.rawValue * (image.pageBytes / TreeNode.leastEntryBytes)
        return min(root.entryCount, room) + changes.entryCount
    }

    func makeCursor() throws(DatabaseError) -> PageCursor {
        try pages.checkProcess()
        return changes.entryCount > 0 ? OverlayCursor(changes, TreeCursor(self)) : TreeCursor(self)
    }

    /// Of this version; the root counts those of its tree.
    func entryCount() throws(DatabaseError) -> Int {
        var count = root.entryCount
        for block in changes.blocks {
            for entry in block {
                if try valueInTree(entry.key) != nil { count -= 1 }
                if !entry.isDeletion { count += 1 }
            }
        }
        return count
    }

    @inline(__always)
    static func value(_ leaf: TreeNode, _ index: Int, _ image: PageImage) throws(DatabaseError) -> PageBytes {
        let entry = leaf.entry(index)
        let keyCount = Int(entry.loadUnaligned(as: UInt16.self))
        let mark = entry.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
        let start = entry + TreeNode.entryHeader + keyCount
        if mark != TreeNode.referenceMark {
            return PageBytes(bytes: UnsafeRawBufferPointer(start: start, count: Int(mark)), isStable: false)
        }
        return PageBytes(bytes: try image.extent(PageRef(at: start)), isStable: true)
    }
}

/// A place in a snapshot: the nodes from the root down to a leaf, and the entry taken in each.
final class TreeCursor: PageCursorEntry, PageCursor {
    private struct Step {
        var node: TreeNode
        var index: Int
    }

    private let snapshot: TreeSnapshot
    private let image: PageImage
    /// Between two moves what the cursor is at stays, like everything that was lent before.
    private let hold: PageHold
    /// From the root down; empty before the first successful move.
    private var path: [Step] = []
    private var isOfThisProcess: Bool { snapshot.pages.isOfThisProcess }

    init(_ snapshot: TreeSnapshot) {
        self.snapshot = snapshot
        image = snapshot.image
        hold = snapshot.ownHold
    }

    func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try hold.lend { () throws(DatabaseError) in try find(atOrAfter: key) }
    }

    private func find(atOrAfter key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard var target = try descend(to: key), let last = target.indices.last else { return false }
        if target[last].index == target[last].node.count {
            // Past the end of this leaf: the next entry of all begins the next one.
            target[last].index -= 1
            guard try step(&target, by: 1) else { return false }
        }
        try requireOrder(key, entryKey(target), isStrict: false)
        return try show(target)
    }

    func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try hold.lend { () throws(DatabaseError) in try find(atMost: key) }
    }

    private func find(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard !key.isEmpty, var target = try descend(to: key), let last = target.indices.last else { return false }
        let leaf = target[last]
        let isExact =
            leaf.index < leaf.node.count && ValueOrdering.compareBytes(leaf.node.key(leaf.index), key) == 0
        if !isExact {
            guard try step(&target, by: -1) else { return false }
        }
        try requireOrder(entryKey(target), key, isStrict: false)
        return try show(target)
    }

    func next() throws(DatabaseError) -> Bool { try hold.lend { () throws(DatabaseError) in try move(by: 1) } }
    func previous() throws(DatabaseError) -> Bool { try hold.lend { () throws(DatabaseError) in try move(by: -1) } }

    private func move(by distance: Int) throws(DatabaseError) -> Bool {
        guard let last = path.indices.last else { return false }
        try snapshot.pages.checkProcess()
        // Within the leaf nothing but the entry changes.
        let index = path[last].index + distance
        if index >= 0, index < path[last].node.count {
            let leaf = path[last].node
            value = try value(leaf, index)
            key = leaf.key(index)
            path[last].index = index
            return true
        }
        var target = path
        guard try step(&target, by: distance) else { return false }
        let (old, new) = (entryKey(path), entryKey(target))
        try distance > 0 ? requireOrder(old, new, isStrict: true) : requireOrder(new, old, isStrict: true)
        return try show(target)
    }

    private func entryKey(_ steps: [Step]) -> UnsafeRawBufferPointer {
        guard let leaf = steps.last else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return leaf.node.key(leaf.index)
    }

    /// T5, which concerns two nodes and so is not checked when one is read. In a file that somebody made, keys between
    /// branches may contradict those in leaves; with each step in order no walk goes round in circles.
    private func requireOrder(
        _ low: UnsafeRawBufferPointer, _ high: UnsafeRawBufferPointer, isStrict: Bool
    ) throws(DatabaseError) {
        let order = ValueOrdering.compareBytes(low, high)
        guard order < 0 || order == 0 && !isStrict else {
            throw .corrupted("its nodes contradict each other in the order of keys (T5)")
        }
    }

    /// Down to the first entry at or after `key` in the leaf that would have it; one past the leaf's end if need be.
    private func descend(to key: UnsafeRawBufferPointer) throws(DatabaseError) -> [Step]? {
        try snapshot.pages.checkProcess()
        var reference = snapshot.root.tree
        guard !reference.isNone else { return nil }
        var steps: [Step] = []
        steps.reserveCapacity(snapshot.root.level + 1)
        for level in stride(from: snapshot.root.level, to: 0, by: -1) {
            let node = try image.node(reference, level: level)
            let index = node.child(for: key)
            steps.append(Step(node: node, index: index))
            reference = node.reference(index)
        }
        let leaf = try image.node(reference, level: 0)
        steps.append(Step(node: leaf, index: leaf.lowerBound(key)))
        return steps
    }

    /// One entry on or back, over the edges of nodes.
    private func step(_ steps: inout [Step], by distance: Int) throws(DatabaseError) -> Bool {
        var depth = steps.count - 1
        while depth >= 0 {
            let index = steps[depth].index + distance
            if index >= 0, index < steps[depth].node.count {
                steps[depth].index = index
                break
            }
            depth -= 1
        }
        guard depth >= 0 else { return false }
        while depth + 1 < steps.count {
            let child = try image.node(
                steps[depth].node.reference(steps[depth].index), level: snapshot.root.level - depth - 1)
            depth += 1
            steps[depth] = Step(node: child, index: distance > 0 ? 0 : child.count - 1)
        }
        return true
    }

    @inline(__always)
    private func value(_ leaf: TreeNode, _ index: Int) throws(DatabaseError) -> PageBytes {
        guard skipsValues else { return try TreeSnapshot.value(leaf, index, image) }
        skippedByteCount = leaf.hasReference(index) ? leaf.reference(index).byteCount : nil
        if skippedByteCount != nil {
            return PageBytes(bytes: UnsafeRawBufferPointer(start: nil, count: 0), isStable: false)
        }
        return try TreeSnapshot.value(leaf, index, image)
    }

    private func show(_ steps: [Step]) throws(DatabaseError) -> Bool {
        guard let leaf = steps.last else { return false }
        value = try value(leaf.node, leaf.index)
        key = leaf.node.key(leaf.index)
        path = steps
        return true
    }
}
