/// Applies a sorted run of changes to a tree that never changes: rewrites the nodes on the way to each change, from
/// the leaves up, and shares the rest with the versions before.
///
/// Each level has a row of entries on their way into new nodes. A node that has changes below it is taken apart and its
/// entries join the row of its level; where the next node has none, the row is made into nodes and the untouched one is
/// passed on by reference. So neighbours that change in one commit are filled as one, and the run of a bulk load fills
/// node after node. A row that shrank to less than a quarter of a node takes an untouched neighbour in.
import CMotteShim
import MotteValues

package struct TreeWriter {
    /// One level's entries on their way.
    private struct Row {
        var items: [TreeItem] = []
        var head = 0
        var bytes = 0
        /// Entries that the nodes taken apart had, entries that came, and those of them that are new; since the flush.
        var oldCount = 0
        var addedCount = 0
        var newCount = 0
        /// An old entry came after a new one: this is not appending.
        var isMixed = false
        var hasEmitted = false

        var count: Int { items.count - head }
        /// Nothing has come since the last flush.
        var isFresh: Bool { items.isEmpty && oldCount == 0 && addedCount == 0 }
    }

    package struct Freed {
        package internal(set) var run: PageRun
        var birth: Version
    }

    let image: PageImage
    /// Of the old nodes that entries on their way lie in.
    let hold: PageHold
    let version: Version
    private let pageBytes: Int
    let layout: PageLayout
    private let capacity: Int
    private let largestInline: Int
    private var rows: [Row] = [Row()]
    package var allocator: PageAllocator
    package internal(set) var freed: [Freed] = []
    private(set) var entryDelta = 0
    var branchDelta: PageCount = 0
    package internal(set) var leafDelta: PageCount = 0
    var extentDelta: PageCount = 0
    var early: EarlyExtents
    /// What an evacuation has done.
    struct Moves {
        var moved: PageCount = 0
        /// Of values for which there was no room.
        var left: PageCount = 0
        var largestLeft: PageCount = 0
        /// Where values have come to.
        var runs: [PageRun] = []
    }

    var moves = Moves()
    /// Pages of the old nodes that were taken apart: entries on their way lie there until they are written.
    var takenApart: Set<PageNumber> = []
    /// In versions.
    private static let longStay: UInt64 = 32

    package init(_ image: PageImage, _ allocator: PageAllocator, version: Version) {
        self.image = image
        hold = PageHold(image)
        early = EarlyExtents(image)
        self.allocator = allocator
        self.version = version
        pageBytes = image.pageBytes
        layout = image.layout
        capacity = layout.nodeBytes - TreeNode.headerBytes
        largestInline = TreeFormat.largestInline(pageBytes: pageBytes)
    }

    /// The root and its level after the changes. Entries ascend strictly. A writer may apply several runs, each to the
    /// root that the one before made.
    package mutating func apply(
        _ changes: UnsafeBufferPointer<PageBatch.Entry>, to root: PageRef, level: Int
    ) throws(DatabaseError) -> (root: PageRef, level: Int) {
        // The row that the last run ended in has its root, which this one takes apart: left there, it would become a
        // child beside what is made of it.
        rows = [Row](repeating: Row(), count: level + 2)
        if root.isNone {
            for change in changes where !change.isDelete && !change.isMove { try insert(change) }
        } else {
            try rewrite(root, level, changes, nil, nil)
        }
        for lower in 0 ..< level { try flush(lower) }
        return try finish(from: level)
    }

    /// Closes the levels from the old root's on, until one node has all of it.
    private mutating func finish(from level: Int) throws(DatabaseError) -> (root: PageRef, level: Int) {
        var level = level
        while level < TreeFormat.mostLevels {
            if rows.count <= level + 1 { rows.append(Row()) }
            let row = rows[level]
            if level > 0, row.count == 1, !row.hasEmitted {
                return try shortened(row.items[row.head].reference, level - 1)
            }
            if row.count == 0, rows[level + 1].count == 0 { return (PageRef.none, 0) }
            try flush(level)
            level += 1
            if rows[level].count == 1, !rows[level].hasEmitted {
                return try shortened(rows[level].items[rows[level].head].reference, level - 1)
            }
        }
        // Beyond what any file's pages fill.
        throw .corrupted("its tree of pages is too high")
    }

    /// A root with one child is not needed.
    private mutating func shortened(_ root: PageRef, _ level: Int) throws(DatabaseError) -> (root: PageRef, level: Int)
    {
        var root = root
        var level = level
        while level > 0 {
            let node = try image.node(root, level: level)
            guard node.count == 1 else { break }
            free(root, level: level)
            root = node.reference(0)
            level -= 1
        }
        return (root, level)
    }

    // MARK: Down.

    /// `low` and `high`: what the parent says of the keys below.
    private mutating func rewrite(
        _ reference: PageRef, _ level: Int, _ changes: UnsafeBufferPointer<PageBatch.Entry>,
        _ low: UnsafeRawBufferPointer?, _ high: UnsafeRawBufferPointer?
    ) throws(DatabaseError) {
        let node = try image.node(reference, level: level)
        try check(node, reference, low, high)
        free(reference, level: level)
        rows[level].oldCount += node.count
        guard level > 0 else { return try merge(node, changes) }
        func bounds(_ child: Int) -> (UnsafeRawBufferPointer?, UnsafeRawBufferPointer?) {
            (child > 0 ? node.key(child) : low, child + 1 < node.count ? node.key(child + 1) : high)
        }
        var child = 0
        var position = 0
        while position < changes.count {
            let target = max(child, node.child(for: changes[position].key))
            try pass(node, child ..< target, level, bounds)
            var end = changes.count
            if target + 1 < node.count {
                end = TreeWriter.firstIndex(changes, from: position, atLeast: node.key(target + 1))
            }
            let (low, high) = bounds(target)
            try rewrite(
                node.reference(target), level - 1, UnsafeBufferPointer(rebasing: changes[position ..< end]), low, high)
            child = target + 1
            position = end
        }
        try pass(node, child ..< node.count, level, bounds)
    }

    /// T5, which concerns two nodes and so is not checked when one is read. What files of others say wrongly of their
    /// keys would else come to be in nodes of ours.
    private func check(
        _ node: TreeNode, _ reference: PageRef, _ low: UnsafeRawBufferPointer?, _ high: UnsafeRawBufferPointer?
    ) throws(DatabaseError) {
        if let low, ValueOrdering.compareBytes(node.key(0), low) < 0 { throw TreeWriter.isMisplaced(reference) }
        if let high, ValueOrdering.compareBytes(node.key(node.count - 1), high) >= 0 {
            throw TreeWriter.isMisplaced(reference)
        }
    }

    private static func isMisplaced(_ reference: PageRef) -> DatabaseError {
        .corrupted("page \(reference.page) has keys that belong elsewhere")
    }

    /// Children without changes go on as they are, unless the row before them needs filling up.
    private mutating func pass(
        _ node: TreeNode, _ children: Range<Int>, _ level: Int,
        _ bounds: (Int) -> (UnsafeRawBufferPointer?, UnsafeRawBufferPointer?)
    ) throws(DatabaseError) {
        guard !children.isEmpty else { return }
        var first = children.lowerBound
        if !rows[..<level].allSatisfy(\.isFresh) {
            while first < children.upperBound, isUnderfull(level - 1) {
                let (low, high) = bounds(first)
                try rewrite(node.reference(first), level - 1, UnsafeBufferPointer(start: nil, count: 0), low, high)
                first += 1
            }
            guard first < children.upperBound else { return }
            for lower in 0 ..< level { try flush(lower) }
        }
        // A commit of one object passes all other children of the root: taken out of the row, the array is in place.
        var items = rows[level].items
        rows[level].items = []
        items.reserveCapacity(items.count + children.upperBound - first)
        var bytes = 0
        for child in first ..< children.upperBound {
            var item = TreeItem(node, child)
            item.isUntouched = true
            bytes += item.cost
            items.append(item)
        }
        rows[level].items = items
        rows[level].bytes += bytes
        rows[level].addedCount += children.upperBound - first
        if rows[level].newCount > 0 { rows[level].isMixed = true }
    }

    /// Index of the first change at or above `key`.
    private static func firstIndex(
        _ changes: UnsafeBufferPointer<PageBatch.Entry>, from start: Int, atLeast key: UnsafeRawBufferPointer
    ) -> Int {
        // Usually near: so steps that double, then halves.
        var step = 1
        var low = start
        while low + step < changes.count, ValueOrdering.compareBytes(changes[low + step].key, key) < 0 {
            low += step
            step *= 2
        }
        var high = min(low + step, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if ValueOrdering.compareBytes(changes[middle].key, key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func merge(
        _ leaf: TreeNode, _ changes: UnsafeBufferPointer<PageBatch.Entry>
    ) throws(DatabaseError) {
        var old = 0
        for change in changes {
            let place = leaf.lowerBound(change.key)
            while old < place {
                keep(leaf, old)
                old += 1
            }
            let isThere =
                place < leaf.count && old == place && ValueOrdering.compareBytes(leaf.key(place), change.key) == 0
            if change.isMove {
                if isThere {
                    try move(leaf, place)
                    old += 1
                }
                continue
            }
            var stays = false
            if isThere {
                stays = hasStayed(leaf, place)
                drop(leaf, place)
                old += 1
            }
            if !change.isDelete { try insert(change, isReplacing: isThere, stays: stays) }
        }
        while old < leaf.count {
            keep(leaf, old)
            old += 1
        }
    }

    private mutating func keep(_ leaf: TreeNode, _ index: Int) {
        add(TreeItem(leaf, index), 0, isNew: false)
    }

    private mutating func drop(_ leaf: TreeNode, _ index: Int) {
        entryDelta -= 1
        let item = TreeItem(leaf, index)
        if !item.isInline { free(item.reference, level: 0) }
    }

    /// The entry stays, and its value gets other pages, if it lies on some that are to become free and there is room.
    private mutating func move(_ leaf: TreeNode, _ index: Int) throws(DatabaseError) {
        var item = TreeItem(leaf, index)
        guard !item.isInline, let evacuation = allocator.evacuation, evacuation.concerns(item.reference.run(layout))
        else { return keep(leaf, index) }
        let old = item.reference
        let count = old.pageCount(layout)
        guard old.byteCount <= EvacuationWalk.largestValue, allocator.hasRoom(for: count, insteadOf: old.page) else {
            moves.left += count
            moves.largestLeft = max(moves.largestLeft, count)
            return keep(leaf, index)
        }
        // Nobody has asked for it: it is not to take the memory of what somebody has.
        var scratch = PageScratch()
        let value = try image.extent(old, with: &scratch)
        free(old, level: 0)
        item.reference = try writeExtent(value)
        extentDelta += count
        moves.moved += count
        moves.runs.append(item.reference.run(layout))
        add(item, 0, isNew: false)
        try emitFull(0)
    }

    /// Whether an extent was there for long before this version replaces it: then the new one will probably be, too.
    private func hasStayed(_ leaf: TreeNode, _ index: Int) -> Bool {
        guard leaf.hasReference(index) else { return false }
        return version.rawValue - min(leaf.reference(index).birth, version).rawValue >= TreeWriter.longStay
    }

    private mutating func insert(
        _ change: PageBatch.Entry, isReplacing: Bool = false, stays: Bool = false
    ) throws(DatabaseError) {
        entryDelta += 1
        var item = TreeItem(change)
        early.noteRead(change.valueStart, change.valueCount)
        if change.valueCount > largestInline || item.cost * 2 > capacity {
            item.reference = try writeExtent(change.value, stays: stays)
            extentDelta += item.reference.pageCount(layout)
        }
        add(item, 0, isNew: !isReplacing)
        try emitFull(0)
    }

    // MARK: Up.

    private mutating func add(_ item: TreeItem, _ level: Int, isNew: Bool) {
        rows[level].items.append(item)
        rows[level].bytes += item.cost
        rows[level].addedCount += 1
        if isNew {
            rows[level].newCount += 1
        } else if rows[level].newCount > 0 {
            rows[level].isMixed = true
        }
    }

    /// Nodes that are certainly full leave the row; two nodes' worth stays, to be shared out evenly at the end.
    private mutating func emitFull(_ level: Int) throws(DatabaseError) {
        while rows[level].bytes > 2 * capacity + pageBytes {
            try emit(level, rows[level].items.count, upTo: capacity)
        }
    }

    /// Less than a quarter of a node, and less than there was.
    private func isUnderfull(_ level: Int) -> Bool {
        let row = rows[level]
        return row.count > 0 && !row.hasEmitted && row.bytes < capacity / 4
            && row.addedCount < row.oldCount
    }

    /// Makes nodes of the row. What is left over is shared out, unless it grew at its end only, as when keys ascend.
    private mutating func flush(_ level: Int) throws(DatabaseError) {
        guard rows[level].count > 0 else {
            rows[level] = Row()
            return
        }
        if isUnderfull(level) { try takeInTheNodeBefore(level) }
        try emitFull(level)
        let isAppending = rows[level].newCount > 0 && !rows[level].isMixed
        let pages = (rows[level].bytes + capacity - 1) / capacity
        var target = isAppending || pages <= 1 ? capacity : rows[level].bytes / pages + 1
        if fits(level) { target = Int.max }
        while rows[level].count > 0 { try emit(level, rows[level].items.count, upTo: target) }
        rows[level] = Row()
    }

    private mutating func takeInTheNodeBefore(_ level: Int) throws(DatabaseError) {
        guard level + 1 < rows.count, let last = rows[level + 1].items.last, rows[level + 1].count > 0, last.isUntouched
        else { return }
        rows[level + 1].items.removeLast()
        rows[level + 1].bytes -= last.cost
        let node = try image.node(last.reference, level: level)
        try check(node, last.reference, last.keyBytes, rows[level].items[rows[level].head].keyBytes)
        free(last.reference, level: level)
        var before: [TreeItem] = []
        for index in 0 ..< node.count {
            before.append(TreeItem(node, index))
            rows[level].bytes += before[index].cost
        }
        // Children of branches stay untouched, but are no longer next to what may still shrink.
        rows[level].items = before + rows[level].items[rows[level].head...]
        rows[level].head = 0
        rows[level].isMixed = true
    }

    /// Whether one node has room for the row.
    private func fits(_ level: Int) -> Bool {
        var top = layout.nodeBytes
        let row = rows[level]
        for index in row.head ..< row.items.count {
            top = row.items[index].place(below: top)
            if top < TreeNode.headerBytes + TreeNode.slotBytes * (index - row.head + 1) { return false }
        }
        return true
    }

    /// Writes one node with entries from the head of the row, until it has `target` bytes or is full.
    private mutating func emit(_ level: Int, _ end: Int, upTo target: Int) throws(DatabaseError) {
        let page = try allocate(1)
        let space = try image.space(PageRun(start: page, count: 1))
        space.initializeMemory(as: UInt8.self, repeating: 0)
        guard let base = space.baseAddress else { return }
        let head = rows[level].head
        var index = head
        var top = layout.nodeBytes
        var bytes = 0
        rows[level].items.withUnsafeBufferPointer { items in
            while index < end {
                let item = items[index]
                let start = item.place(below: top)
                let count = index - head
                if start < TreeNode.headerBytes + TreeNode.slotBytes * (count + 1) { break }
                if count > 0, bytes >= target { break }
                item.write(at: base + start)
                base.storeBytes(
                    of: UInt16(start), toByteOffset: TreeNode.headerBytes + TreeNode.slotBytes * count, as: UInt16.self)
                top = start
                bytes += item.cost
                index += 1
            }
        }
        guard index > head else { throw .corrupted("one of its entries does not fit a node") }
        let reference = seal(base, page, level, index - head)
        if level == 0 { leafDelta += 1 } else { branchDelta += 1 }
        rows[level].bytes -= bytes
        rows[level].head = index
        rows[level].hasEmitted = true
        if rows[level].head > 4096 {
            rows[level].items.removeSubrange(..<rows[level].head)
            rows[level].head = 0
        }
        try addParent(reference, TreeNode(base), level + 1)
    }

    private mutating func addParent(_ reference: PageRef, _ node: TreeNode, _ level: Int) throws(DatabaseError) {
        if rows.count <= level { rows.append(Row()) }
        let key = node.key(0)
        guard let start = key.baseAddress else { return }
        add(TreeItem(start, key.count, reference), level, isNew: true)
        try emitFull(level)
    }

    /// The header of a node whose entries are written.
    private func seal(_ base: UnsafeMutableRawPointer, _ page: PageNumber, _ level: Int, _ count: Int) -> PageRef {
        base.storeBytes(of: TreeNode.magic, toByteOffset: 8, as: UInt32.self)
        base.storeBytes(of: UInt16(level), toByteOffset: 12, as: UInt16.self)
        base.storeBytes(of: UInt16(count), toByteOffset: 14, as: UInt16.self)
        base.storeBytes(of: UInt64(page.rawValue), toByteOffset: 16, as: UInt64.self)
        base.storeBytes(of: version.rawValue, toByteOffset: 24, as: UInt64.self)
        let checksum = TreeNode.checksum(base, pageBytes)
        base.storeBytes(of: checksum, as: UInt64.self)
        assert(TreeNode.isWellFormed(base, layout, pageLimit: image.pageLimit), "T1 to T4")
        let reference = PageRef(page: page, birth: version, checksum: checksum, byteCount: 0)
        image.endBuilding(reference, level: level)
        return reference
    }
}
