/// The keys of sorted results in their order, so that a few of them come and go at the cost of the blocks they are in,
/// and copies share what did not change: whoever shows an older version keeps it without a copy.
///
///     groups of up to 64 blocks of up to 2,048 keys
///
/// An edit copies the blocks it touches, the lists of blocks of their groups, and the list of groups. Two levels,
/// because copying a list counts references to everything in it, each in a line of memory that nobody else looks at.
import MotteValues

package struct OrderedKeys: Sendable {
    private static let mostBlocks = 64
    private static let filledBlocks = 32

    /// None is empty.
    private var groups: [KeyGroup]
    /// The position of each group's first key.
    private var starts: [Int]
    package private(set) var count: Int

    package init(_ keys: [Int64]) {
        groups = []
        starts = []
        count = keys.count
        var first = 0
        while first < keys.count {
            let end = min(first + Self.filledBlocks * KeyGroup.filledKeys, keys.count)
            groups.append(KeyGroup(keys[first ..< end]))
            starts.append(first)
            first = end
        }
    }

    /// As one array, which costs a copy.
    package var all: [Int64] { prefix(count) }

    package func prefix(_ limit: Int) -> [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(min(limit, count))
        for group in groups {
            for block in group.blocks where keys.count < limit {
                keys.append(contentsOf: block.prefix(limit - keys.count))
            }
        }
        return keys
    }

    /// `position` is below the count.
    package subscript(position: Int) -> Int64 {
        let group = starts.last(upTo: position)
        return groups[group][position - starts[group]]
    }

    /// Each with the position of its first key.
    package func forEachBlock(_ body: (Int, UnsafeBufferPointer<Int64>) -> Void) {
        var start = 0
        for group in groups {
            for block in group.blocks {
                block.withUnsafeBufferPointer { body(start, $0) }
                start += block.count
            }
        }
    }

    /// Without the keys at `removals`, old positions, and with `insertions`, new positions; both ascend.
    package func editing(removals: [Int], insertions: [(position: Int, key: Int64)]) -> OrderedKeys {
        var edited = self
        if !removals.isEmpty { edited.remove(removals) }
        if !insertions.isEmpty { edited.insert(insertions) }
        return edited
    }

    private mutating func remove(_ removals: [Int]) {
        var next = 0
        while next < removals.count {
            let group = starts.last(upTo: removals[next])
            let start = starts[group]
            let end = start + groups[group].count
            var inside: [Int] = []
            while next < removals.count, removals[next] < end {
                inside.append(removals[next] - start)
                next += 1
            }
            groups[group].remove(inside)
        }
        settle()
    }

    private mutating func insert(_ insertions: [(position: Int, key: Int64)]) {
        if groups.isEmpty {
            self = OrderedKeys(insertions.map(\.key))
            return
        }
        var next = 0
        while next < insertions.count {
            // The gap between the keys that are there, before any is put in.
            let group = starts.last(upTo: insertions[next].position - next)
            let start = starts[group]
            let isLast = group == groups.count - 1
            var inside: [(gap: Int, key: Int64)] = []
            while next < insertions.count {
                let gap = insertions[next].position - next - start
                guard gap < groups[group].count || isLast else { break }
                inside.append((gap, insertions[next].key))
                next += 1
            }
            groups[group].insert(inside)
        }
        settle()
    }

    /// Splits groups that are too large, drops empty ones and counts again.
    private mutating func settle() {
        if groups.contains(where: { $0.count == 0 || $0.blocks.count > Self.mostBlocks }) {
            groups = groups.flatMap { $0.count == 0 ? [] : $0.split(above: Self.mostBlocks, into: Self.filledBlocks) }
        }
        starts.removeAll(keepingCapacity: true)
        count = 0
        for group in groups {
            starts.append(count)
            count += group.count
        }
    }
}

/// Neighbouring blocks of keys.
private struct KeyGroup: Sendable {
    static let filledKeys = 1_536
    private static let mostKeys = 2_048

    /// None is empty.
    private(set) var blocks: [[Int64]]
    /// The position of each block's first key.
    private var starts: [Int]
    private(set) var count: Int

    init(_ keys: ArraySlice<Int64>) {
        blocks = []
        starts = []
        count = keys.count
        var first = keys.startIndex
        while first < keys.endIndex {
            let end = min(first + Self.filledKeys, keys.endIndex)
            blocks.append(Array(keys[first ..< end]))
            starts.append(first - keys.startIndex)
            first = end
        }
    }

    private init(_ blocks: ArraySlice<[Int64]>) {
        self.blocks = Array(blocks)
        starts = []
        count = 0
        recount()
    }

    subscript(position: Int) -> Int64 {
        let block = starts.last(upTo: position)
        return blocks[block][position - starts[block]]
    }

    func split(above most: Int, into filled: Int) -> [KeyGroup] {
        guard blocks.count > most else { return [self] }
        return stride(from: 0, to: blocks.count, by: filled).map {
            KeyGroup(blocks[$0 ..< min($0 + filled, blocks.count)])
        }
    }

    mutating func remove(_ removals: [Int]) {
        var next = 0
        while next < removals.count {
            let block = starts.last(upTo: removals[next])
            let start = starts[block]
            let old = blocks[block]
            var kept: [Int64] = []
            kept.reserveCapacity(old.count)
            var from = 0
            while next < removals.count, removals[next] - start < old.count {
                kept.append(contentsOf: old[from ..< removals[next] - start])
                from = removals[next] - start + 1
                next += 1
            }
            kept.append(contentsOf: old[from...])
            blocks[block] = kept
        }
        settle()
    }

    /// Gaps are those between the keys that are there.
    mutating func insert(_ insertions: [(gap: Int, key: Int64)]) {
        if blocks.isEmpty {
            self = KeyGroup(insertions.map(\.key)[...])
            return
        }
        var next = 0
        while next < insertions.count {
            let block = starts.last(upTo: insertions[next].gap)
            let start = starts[block]
            let old = blocks[block]
            let isLast = block == blocks.count - 1
            var merged: [Int64] = []
            merged.reserveCapacity(old.count + 8)
            var from = 0
            while next < insertions.count {
                let gap = insertions[next].gap - start
                guard gap < old.count || isLast else { break }
                merged.append(contentsOf: old[from ..< gap])
                merged.append(insertions[next].key)
                from = gap
                next += 1
            }
            merged.append(contentsOf: old[from...])
            blocks[block] = merged
        }
        settle()
    }

    /// Splits blocks that are too large, drops empty ones and counts again.
    private mutating func settle() {
        if blocks.contains(where: { $0.isEmpty || $0.count > Self.mostKeys }) {
            var settled: [[Int64]] = []
            settled.reserveCapacity(blocks.count + 1)
            for block in blocks where !block.isEmpty {
                var first = 0
                while block.count - first > Self.mostKeys {
                    settled.append(Array(block[first ..< first + Self.filledKeys]))
                    first += Self.filledKeys
                }
                settled.append(first == 0 ? block : Array(block[first...]))
            }
            blocks = settled
        }
        recount()
    }

    private mutating func recount() {
        starts.removeAll(keepingCapacity: true)
        count = 0
        for block in blocks {
            starts.append(count)
            count += block.count
        }
    }
}

extension [Int] {
    /// Of ascending positions, the index of the last one that is not above a position.
    func last(upTo position: Int) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= position { low = middle + 1 } else { high = middle }
        }
        return Swift.max(0, low - 1)
    }
}
