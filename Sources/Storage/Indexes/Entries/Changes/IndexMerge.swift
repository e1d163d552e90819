/// Turns the changes of a transaction into puts and deletes of index blocks, reading and rewriting only blocks that the
/// changes fall into, and at most one neighbour where a block has become small.
///
/// A block that overflows is cut into even parts, or, when everything new comes after its last entry and no block
/// follows, into full blocks, so that ascending values fill the file. An index without blocks is built the same way,
/// with a little room in each block where values come in any order.
import MottePages
import MotteValues

package enum IndexMerge {
    /// `pages` is the state that the transaction began with.
    package static func apply(
        _ delta: IndexDelta, to index: IndexKey, over pages: PageSnapshot, into batch: inout PageBatch,
        blockBytes: Int = IndexBlockEncoder.defaultBlockBytes
    ) throws(DatabaseError) {
        if delta.isCleared {
            try drop(index, over: pages, into: &batch)
            return try build(delta, index, into: &batch, blockBytes: blockBytes)
        }
        try apply(&delta.values, to: .values(index), over: pages, into: &batch, blockBytes: blockBytes)
        try apply(&delta.nulls, to: .nulls(index), over: pages, into: &batch, blockBytes: blockBytes)
    }

    /// For an index none of whose former blocks is left.
    package static func build(
        _ delta: IndexDelta, _ index: IndexKey, into batch: inout PageBatch,
        blockBytes: Int = IndexBlockEncoder.defaultBlockBytes
    ) throws(DatabaseError) {
        try build(&delta.values, .values(index), into: &batch, blockBytes: blockBytes)
        try build(&delta.nulls, .nulls(index), into: &batch, blockBytes: blockBytes)
    }

    private static func apply(
        _ delta: inout IndexDelta.Space, to space: IndexSpace, over pages: PageSnapshot, into batch: inout PageBatch,
        blockBytes: Int
    ) throws(DatabaseError) {
        if delta.isEmpty { return }
        if delta.added.isFar, delta.removed.isEmpty {
            let isDone = try delta.added.merging { (merge) throws(DatabaseError) in
                try append(&merge, to: space, over: pages, into: &batch, blockBytes: blockBytes)
            }
            if isDone { return }
        }
        let (adds, removes) = delta.net()
        try apply(adds, removes, to: space, over: pages, into: &batch, blockBytes: blockBytes)
    }

    /// Full blocks for a space that has none.
    private static func build(
        _ delta: inout IndexDelta.Space, _ space: IndexSpace, into batch: inout PageBatch, blockBytes: Int
    ) throws(DatabaseError) {
        if delta.removed.isEmpty {
            try delta.added.merging { (merge) throws(DatabaseError) in
                _ = try append(&merge, to: space, over: nil, into: &batch, blockBytes: blockBytes)
            }
            return
        }
        try delta.net().adds.withUnsafeBufferPointer { entries throws(DatabaseError) in
            var merge = EntryMerge([entries])
            _ = try append(&merge, to: space, over: nil, into: &batch, blockBytes: blockBytes)
        }
    }

    /// Of a block that is built from values in any order this part stays free: where blocks are full, each of the next
    /// changes cuts one in two, which is twice the bytes and takes a block apart.
    private static let freeShare = 16

    /// Where one value after the other came as the rows did, more of them go behind the last block.
    private static func ascendsByKey(_ entries: UnsafeBufferPointer<IndexEntry>) -> Bool {
        zip(entries, entries.dropFirst()).allSatisfy { $0.key <= $1.key }
    }

    /// As many entries as are made into blocks at once.
    private static let windowCount = 1 << 16

    /// Full blocks of what comes behind the last block that there is; no more than a window of it is in memory for
    /// that. False, with nothing done, where not all of it belongs there. Without `pages` the space has no blocks.
    private static func append(
        _ merge: inout EntryMerge, to space: IndexSpace, over pages: PageSnapshot?, into batch: inout PageBatch,
        blockBytes: Int
    ) throws(DatabaseError) -> Bool {
        guard let first = merge.first else { return true }
        var window: ContiguousArray<IndexEntry> = []
        var bound = IndexEntry.lowest
        if let pages {
            let cursor = try pages.makeCursor()
            if try cursor.seekLast(atMost: space.pageKey(.highest)), let last = space.bound(in: cursor.key) {
                let block = try IndexBlock(
                    validating: cursor.value.bytes, pageKey: cursor.key, mostRepeats: pages.mostListElements)
                guard !(first < block.entry(block.count - 1)) else { return false }
                block.appendEntries(0 ..< block.count, to: &window)
                bound = last
            }
        }
        let encoder = IndexBlockEncoder(blockBytes: blockBytes)
        let roomy = IndexBlockEncoder(blockBytes: blockBytes - blockBytes / freeShare)
        while true {
            merge.append(windowCount, to: &window)
            let isLast = merge.first == nil
            var ends: [Int] = []
            window.withUnsafeBufferPointer { entries in
                ends = (ascendsByKey(entries) ? encoder : roomy).cut(entries, fillingUp: true)
                var start = 0
                // The last block may have room for what is still to come.
                for end in isLast ? ends[...] : ends.dropLast() {
                    let key = space.pageKey(start == 0 ? bound : entries[start])
                    batch.put(key, encoder.encode(UnsafeBufferPointer(rebasing: entries[start ..< end]), pageKey: key))
                    start = end
                }
            }
            if isLast { return true }
            let kept = ends.dropLast().last ?? 0
            if kept > 0 { bound = window[kept] }
            window.removeSubrange(..<kept)
        }
    }

    /// Deletes every block of an index.
    package static func drop(
        _ index: IndexKey, over pages: PageSnapshot, into batch: inout PageBatch
    ) throws(DatabaseError) {
        let cursor = try pages.makeCursor()
        for space in [IndexSpace.values(index), IndexSpace.nulls(index)] {
            var found = try cursor.seek(space.pageKey(.lowest))
            while found, space.bound(in: cursor.key) != nil {
                batch.delete(cursor.key)
                found = try cursor.next()
            }
        }
    }

    private static func apply(
        _ adds: ContiguousArray<IndexEntry>, _ removes: ContiguousArray<IndexEntry>, to space: IndexSpace,
        over pages: PageSnapshot, into batch: inout PageBatch, blockBytes: Int
    ) throws(DatabaseError) {
        guard !adds.isEmpty || !removes.isEmpty else { return }
        let merge = try SpaceMerge(space, pages, IndexBlockEncoder(blockBytes: blockBytes), adds, removes)
        try merge.run(into: &batch)
    }
}

/// One pass over the touched blocks of one space, in order.
private final class SpaceMerge {
    private struct Block {
        let bound: IndexEntry
        /// nil for the block that an empty space would have.
        let bytes: UnsafeRawBufferPointer?
    }

    /// Entries that are complete but not yet put, because the block after them may have to join them.
    private struct Held {
        let bound: IndexEntry
        var entries: ContiguousArray<IndexEntry>
        /// The finished block instead of entries, where a few changes were made in place.
        var edited: [UInt8]?
        /// Everything new is at the end of the space.
        let fillsUp: Bool
        /// Lost more than it won. Others that are small have only just begun to grow.
        let shrank: Bool
    }

    /// What lies before the current block.
    private enum Previous {
        /// Nothing of this batch: look in the snapshot below the bound.
        case stored(below: IndexEntry)
        case held
    }

    private let space: IndexSpace
    private let pages: PageSnapshot
    private let encoder: IndexBlockEncoder
    private let adds: ContiguousArray<IndexEntry>
    private let removes: ContiguousArray<IndexEntry>
    private let cursor: PageCursor
    private var nextAdd = 0
    private var nextRemove = 0
    private var current: Block
    /// nil until it is asked for, while the cursor is at the current block: a single change has no need of it.
    private var knownFollowing: Block??
    private var held: Held?
    private var previous = Previous.stored(below: .lowest)

    init(
        _ space: IndexSpace, _ pages: PageSnapshot, _ encoder: IndexBlockEncoder, _ adds: ContiguousArray<IndexEntry>,
        _ removes: ContiguousArray<IndexEntry>
    ) throws(DatabaseError) {
        self.space = space
        self.pages = pages
        self.encoder = encoder
        self.adds = adds
        self.removes = removes
        cursor = try pages.makeCursor()
        current = Block(bound: .lowest, bytes: nil)
        if let first = nextChange { try seek(first) }
    }

    func run(into batch: inout PageBatch) throws(DatabaseError) {
        // Small or emptied entries on their way into the following block, and the bound they bring along.
        var carried: (bound: IndexEntry, entries: ContiguousArray<IndexEntry>)?
        while true {
            if carried == nil {
                guard let change = nextChange else { break }
                try moveToBlock(of: change)
            }
            let bound = carried?.bound ?? current.bound
            if carried == nil, let edited = try editedBlock() {
                flush(into: &batch)
                held = Held(bound: bound, entries: [], edited: edited, fillsUp: false, shrank: false)
                previous = .held
                continue
            }
            if carried != nil { batch.delete(space.pageKey(current.bound)) }
            let block = try mergedBlock(bound, after: carried?.entries ?? [])
            carried = nil
            let mustLead = bound == .lowest && block.entries.isEmpty  // I3
            if try following() != nil, mustLead || (!block.entries.isEmpty && block.shrank && isSmall(block.entries)) {
                carried = (bound, block.entries)
                try step()
                continue
            }
            try place(block, into: &batch)
        }
        flush(into: &batch)
    }

    // MARK: Finding blocks

    private var nextChange: IndexEntry? {
        if nextAdd < adds.count {
            return nextRemove < removes.count ? min(adds[nextAdd], removes[nextRemove]) : adds[nextAdd]
        }
        return nextRemove < removes.count ? removes[nextRemove] : nil
    }

    private func blockAtCursor() -> Block? {
        guard let bound = space.bound(in: cursor.key) else { return nil }
        return Block(bound: bound, bytes: cursor.value.bytes)
    }

    private func seek(_ entry: IndexEntry) throws(DatabaseError) {
        if try cursor.seekLast(atMost: space.pageKey(entry)), let block = blockAtCursor() {
            current = block
            knownFollowing = nil
        } else {
            // An empty space; or one that lost its first block, and then it gets a new one.
            current = Block(bound: .lowest, bytes: nil)
            knownFollowing = .some(try cursor.seek(space.pageKey(.lowest)) ? blockAtCursor() : nil)
        }
        previous = .stored(below: current.bound)
    }

    /// Moves the cursor there the first time.
    private func following() throws(DatabaseError) -> Block? {
        if let knownFollowing { return knownFollowing }
        let found = try cursor.next() ? blockAtCursor() : nil
        knownFollowing = .some(found)
        return found
    }

    /// To the following block, which must be there.
    private func step() throws(DatabaseError) {
        guard let block = try following() else { return }
        current = block
        knownFollowing = nil
    }

    private func moveToBlock(of change: IndexEntry) throws(DatabaseError) {
        // The first one of all was looked for.
        if nextAdd + nextRemove == 0 { return }
        guard let next = try following(), !(change < next.bound) else { return }
        try step()
        guard let upper = try following()?.bound, !(change < upper) else { return }
        try seek(change)
    }

    private func changesInCurrent() throws(DatabaseError) -> (adds: Range<Int>, removes: Range<Int>) {
        // The only change was looked for, and so belongs here.
        guard adds.count + removes.count > 1, let upper = try following()?.bound else {
            return (nextAdd ..< adds.count, nextRemove ..< removes.count)
        }
        var addEnd = nextAdd, removeEnd = nextRemove
        while addEnd < adds.count, adds[addEnd] < upper { addEnd += 1 }
        while removeEnd < removes.count, removes[removeEnd] < upper { removeEnd += 1 }
        return (nextAdd ..< addEnd, nextRemove ..< removeEnd)
    }

    // MARK: Merging

    /// More changes than this to one block are merged by taking it apart.
    private static let mostEdits = 16

    /// The current block with the few changes that fall into it, which are then done; nil where it must be taken apart
    /// because they are many or do not fit its widths, or because it would overflow or become small.
    private func editedBlock() throws(DatabaseError) -> [UInt8]? {
        let (addRange, removeRange) = try changesInCurrent()
        guard addRange.count + removeRange.count <= Self.mostEdits, let block = try decoded(current) else { return nil }
        guard adds[addRange].allSatisfy({ block.hasRoom(for: $0) }) else { return nil }
        var edits: [IndexBlock.Edit] = []
        var add = addRange.lowerBound, remove = removeRange.lowerBound, lastRemoved = -1
        while add < addRange.upperBound || remove < removeRange.upperBound {
            if remove == removeRange.upperBound || (add < addRange.upperBound && adds[add] < removes[remove]) {
                edits.append(IndexBlock.Edit(index: block.upperBound(adds[add]), added: adds[add]))
                add += 1
            } else {
                // The second of equal removes takes the next entry; one without its entry is passed over.
                let index = max(lastRemoved + 1, block.lowerBound(removes[remove]))
                if index < block.count, block.entry(index) == removes[remove] {
                    edits.append(IndexBlock.Edit(index: index, added: nil))
                    lastRemoved = index
                }
                remove += 1
            }
        }
        let newCount = edits.reduce(block.count) { $0 + ($1.added == nil ? -1 : 1) }
        let size = block.size(count: newCount)
        guard newCount > 0, size <= encoder.blockBytes, newCount >= block.count || !encoder.isSmall(size: size) else {
            return nil
        }
        nextAdd = addRange.upperBound
        nextRemove = removeRange.upperBound
        return block.applying(edits, pageKey: space.pageKey(current.bound))
    }

    /// The entries of the current block with the changes that fall into it, after those carried from before it.
    private func mergedBlock(
        _ bound: IndexEntry, after carried: ContiguousArray<IndexEntry>
    ) throws(DatabaseError) -> Held {
        var entries = carried
        try appendEntries(of: current, to: &entries)
        let (addRange, removeRange) = try changesInCurrent()
        nextAdd = addRange.upperBound
        nextRemove = removeRange.upperBound
        var fillsUp = try following() == nil
        if fillsUp, !addRange.isEmpty, let last = entries.last { fillsUp = !(adds[addRange.lowerBound] < last) }
        if !addRange.isEmpty || !removeRange.isEmpty {
            entries = adds.withUnsafeBufferPointer { adds in
                removes.withUnsafeBufferPointer { removes in
                    IndexEntries.applying(
                        adds: UnsafeBufferPointer(rebasing: adds[addRange]),
                        removes: UnsafeBufferPointer(rebasing: removes[removeRange]), to: entries)
                }
            }
        }
        let shrank = removeRange.count > addRange.count || !carried.isEmpty
        return Held(bound: bound, entries: entries, edited: nil, fillsUp: fillsUp, shrank: shrank)
    }

    private func appendEntries(
        of block: Block, to entries: inout ContiguousArray<IndexEntry>
    ) throws(DatabaseError) {
        guard let decoded = try decoded(block) else { return }
        entries.reserveCapacity(entries.count + decoded.count)
        decoded.appendEntries(0 ..< decoded.count, to: &entries)
    }

    private func decoded(_ block: Block) throws(DatabaseError) -> IndexBlock? {
        guard let bytes = block.bytes else { return nil }
        return try space.pageKey(block.bound).withBytes { key throws(DatabaseError) in
            try IndexBlock(validating: bytes, pageKey: key, mostRepeats: pages.mostListElements)
        }
    }

    private func isSmall(_ entries: ContiguousArray<IndexEntry>) -> Bool {
        entries.withUnsafeBufferPointer { encoder.isSmall($0) }
    }

    // MARK: Writing

    /// Settles a merged block: gone if it is empty, joined with the block before it if it is small, else held.
    private func place(_ block: Held, into batch: inout PageBatch) throws(DatabaseError) {
        if block.entries.isEmpty {
            if current.bytes != nil || block.bound != current.bound { batch.delete(space.pageKey(block.bound)) }
            return
        }
        if block.bound != .lowest, try following() == nil, block.shrank, isSmall(block.entries),
            var joined = try takePrevious(into: &batch)
        {
            batch.delete(space.pageKey(block.bound))
            joined.entries.append(contentsOf: block.entries)
            held = joined
        } else {
            flush(into: &batch)
            held = block
        }
        previous = .held
    }

    /// The block before the current one, out of this batch or out of the snapshot.
    private func takePrevious(into batch: inout PageBatch) throws(DatabaseError) -> Held? {
        if case .stored(let bound) = previous {
            flush(into: &batch)
            guard try cursor.seek(space.pageKey(bound)), try cursor.previous(), let block = blockAtCursor() else {
                return nil
            }
            var entries: ContiguousArray<IndexEntry> = []
            try appendEntries(of: block, to: &entries)
            return Held(bound: block.bound, entries: entries, edited: nil, fillsUp: false, shrank: true)
        }
        guard var taken = held else { return nil }
        held = nil
        if let edited = taken.edited {
            taken.edited = nil
            try edited.withBytes { bytes throws(DatabaseError) in
                try appendEntries(of: Block(bound: taken.bound, bytes: bytes), to: &taken.entries)
            }
        }
        return taken
    }

    private func flush(into batch: inout PageBatch) {
        guard let block = held else { return }
        held = nil
        if let edited = block.edited {
            batch.put(space.pageKey(block.bound), edited)
            return
        }
        block.entries.withUnsafeBufferPointer { entries in
            var start = 0
            for end in encoder.cut(entries, fillingUp: block.fillsUp) {
                let part = UnsafeBufferPointer(rebasing: entries[start ..< end])
                let key = space.pageKey(start == 0 ? block.bound : entries[start])
                batch.put(key, encoder.encode(part, pageKey: key))
                start = end
            }
        }
    }
}
