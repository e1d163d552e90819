/// A persistent sorted map in two levels: an array of blocks, each a sorted array of some entries. Changing one entry
/// copies its block and the array of blocks, and counts a reference to each that stays; everything else is shared with
/// the versions before. So blocks are small where there are few entries.
///
/// Laid over another map (`OverlaySnapshot`), it remembers deletions too.
import MotteValues

/// Key and value in one allocation that lives as long as any version shows it, the value right behind its key, as a
/// batch wants them. Looking at them counts no reference.
package struct MemoryEntry: @unchecked Sendable {  // @unchecked: the bytes never change
    private final class Owner {
        let start: UnsafeMutableRawPointer

        init(byteCount: Int) { start = .allocate(byteCount: byteCount, alignment: 16) }

        deinit { start.deallocate() }
    }

    private let owner: Owner
    let key: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
    /// Says that the map below has this key no more.
    let isDeletion: Bool

    init(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isDeletion: Bool = false) {
        self.isDeletion = isDeletion
        // The value begins at a multiple of 16.
        let valueStart = (key.count + 15) & ~15
        owner = Owner(byteCount: max(1, valueStart + value.count))
        let start = owner.start + valueStart
        let keyStart = start - key.count
        UnsafeMutableRawBufferPointer(start: keyStart, count: key.count).copyMemory(from: key)
        if !value.isEmpty {
            UnsafeMutableRawBufferPointer(start: start, count: value.count).copyMemory(from: value)
        }
        self.key = UnsafeRawBufferPointer(start: keyStart, count: key.count)
        self.value = UnsafeRawBufferPointer(start: start, count: value.count)
    }
}

package struct MemoryTree: Sendable {
    package typealias Block = [MemoryEntry]
    /// Every block has an entry; keys ascend strictly through all blocks.
    package var blocks: [Block] = []
    private(set) var entryCount = 0
    private let largestBlock: Int

    package init(largestBlock: Int = 128) { self.largestBlock = largestBlock }

    struct Place: Equatable {
        var block: Int
        var entry: Int
    }

    /// Applies entries whose keys ascend strictly.
    mutating func apply(_ changes: [PageBatch.Entry], rememberingDeletions: Bool = false) {
        var next: [Block] = []
        next.reserveCapacity(blocks.count + changes.count / largestBlock + 1)
        var change = 0
        for (index, block) in blocks.enumerated() {
            // Changes below the first key of the next block belong to this one.
            var end = change
            let limit = index + 1 < blocks.count ? blocks[index + 1][0].key : nil
            while end < changes.count {
                if let limit, ValueOrdering.compareBytes(changes[end].key, limit) >= 0 { break }
                end += 1
            }
            if end == change {
                next.append(block)
            } else {
                merge(block, changes[change ..< end], rememberingDeletions, into: &next)
            }
            change = end
        }
        if blocks.isEmpty { merge([], changes[...], rememberingDeletions, into: &next) }
        blocks = next
    }

    package mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        var batch = PageBatch()
        batch.put(key, value)
        apply(batch.effectiveEntries())
    }

    /// The first place at or after `key`; nil when every key is below it.
    func firstPlace(atOrAfter key: UnsafeRawBufferPointer) -> Place? {
        var low = 0, high = blocks.count
        // The first block whose last key is not below `key`.
        while low < high {
            let middle = (low + high) / 2
            let last = blocks[middle][blocks[middle].count - 1].key
            if ValueOrdering.compareBytes(last, key) < 0 { low = middle + 1 } else { high = middle }
        }
        guard low < blocks.count else { return nil }
        var first = 0, last = blocks[low].count
        while first < last {
            let middle = (first + last) / 2
            let isBelow = ValueOrdering.compareBytes(blocks[low][middle].key, key) < 0
            if isBelow { first = middle + 1 } else { last = middle }
        }
        return Place(block: low, entry: first)
    }

    func entry(at place: Place) -> MemoryEntry { blocks[place.block][place.entry] }

    func entry(for key: UnsafeRawBufferPointer) -> MemoryEntry? {
        guard let place = firstPlace(atOrAfter: key) else { return nil }
        let entry = entry(at: place)
        return ValueOrdering.compareBytes(entry.key, key) == 0 ? entry : nil
    }

    func place(before key: UnsafeRawBufferPointer) -> Place? {
        firstPlace(atOrAfter: key).map { place(before: $0) } ?? lastPlace
    }

    func lastPlace(atMost key: UnsafeRawBufferPointer) -> Place? {
        guard let found = firstPlace(atOrAfter: key) else { return lastPlace }
        return ValueOrdering.compareBytes(entry(at: found).key, key) == 0 ? found : place(before: found)
    }

    func place(after place: Place) -> Place? {
        if place.entry + 1 < blocks[place.block].count { return Place(block: place.block, entry: place.entry + 1) }
        return place.block + 1 < blocks.count ? Place(block: place.block + 1, entry: 0) : nil
    }

    func place(before place: Place) -> Place? {
        if place.entry > 0 { return Place(block: place.block, entry: place.entry - 1) }
        return place.block > 0 ? Place(block: place.block - 1, entry: blocks[place.block - 1].count - 1) : nil
    }

    var lastPlace: Place? {
        blocks.last.map { Place(block: blocks.count - 1, entry: $0.count - 1) }
    }

    var byteCount: Int {
        blocks.reduce(0) { sum, block in block.reduce(sum) { $0 + $1.key.count + $1.value.count } }
    }

    package func checkInvariants() throws(DatabaseError) {
        try Invariant.require(
            blocks.allSatisfy { !$0.isEmpty && $0.count <= largestBlock },
            "memory-1: every block of a map in memory has entries, and no more than it may have")
        let keys = blocks.joined().map(\.key)
        try Invariant.require(
            zip(keys, keys.dropFirst()).allSatisfy { ValueOrdering.compareBytes($0, $1) < 0 },
            "memory-2: the keys of a map in memory ascend")
        try Invariant.require(keys.count == entryCount, "memory-3: a map in memory counts the entries that it has")
    }

    /// In debug builds, while that costs little.
    @inline(__always)
    func lookAfter() throws(DatabaseError) {
        #if DEBUG
        if entryCount <= 2 * largestBlock { try checkInvariants() }
        #endif
    }

    private mutating func merge(
        _ block: Block, _ changes: ArraySlice<PageBatch.Entry>, _ rememberingDeletions: Bool, into next: inout [Block]
    ) {
        var merged: Block = []
        merged.reserveCapacity(block.count + changes.count)
        var old = 0
        for change in changes {
            while old < block.count, ValueOrdering.compareBytes(block[old].key, change.key) < 0 {
                merged.append(block[old])
                old += 1
            }
            if old < block.count, ValueOrdering.compareBytes(block[old].key, change.key) == 0 { old += 1 }
            if !change.isDelete || rememberingDeletions {
                merged.append(MemoryEntry(change.key, change.value, isDeletion: change.isDelete))
            }
        }
        merged.append(contentsOf: block[old...])
        entryCount += merged.count - block.count
        guard merged.count > largestBlock else {
            if !merged.isEmpty { next.append(merged) }
            return
        }
        // Half full, so that the next changes find room.
        let size = largestBlock / 2
        for start in stride(from: 0, to: merged.count, by: size) {
            next.append(Block(merged[start ..< min(start + size, merged.count)]))
        }
    }
}
