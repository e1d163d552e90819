/// The keys of sorted results in their order, so that a few of them come and go at the cost of the blocks they are in,
/// and copies share what did not change: whoever shows an older version keeps it without a copy.
///
/// A block holds up to 2,048 keys. An edit copies the blocks it touches and the list of blocks, a thousandth of all.
import MotteValues

package struct OrderedKeys: Sendable {
    private static let mostKeys = 2_048
    private static let filledKeys = 1_536

    /// None is empty.
    private var blocks: [[Int64]]
    /// The position of each block's first key.
    private var starts: [Int]
    package private(set) var count: Int

    package init(_ keys: [Int64]) {
        blocks = []
        starts = []
        count = keys.count
        var first = 0
        while first < keys.count {
            let end = min(first + Self.filledKeys, keys.count)
            blocks.append(Array(keys[first ..< end]))
            starts.append(first)
            first = end
        }
    }

    /// As one array, which costs a copy.
    package var all: [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(count)
        for block in blocks { keys.append(contentsOf: block) }
        return keys
    }

    package func prefix(_ limit: Int) -> [Int64] {
        var keys: [Int64] = []
        for block in blocks where keys.count < limit { keys.append(contentsOf: block.prefix(limit - keys.count)) }
        return keys
    }

    /// `position` is below the count.
    package subscript(position: Int) -> Int64 {
        let block = self.block(of: position)
        return blocks[block][position - starts[block]]
    }

    /// The last block that begins at or before a position.
    private func block(of position: Int) -> Int {
        var low = 0
        var high = starts.count
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle + 1 } else { high = middle }
        }
        return max(0, low - 1)
    }

    /// Each with the position of its first key.
    package func forEachBlock(_ body: (Int, UnsafeBufferPointer<Int64>) -> Void) {
        for (index, block) in blocks.enumerated() { block.withUnsafeBufferPointer { body(starts[index], $0) } }
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
            let block = self.block(of: removals[next])
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

    private mutating func insert(_ insertions: [(position: Int, key: Int64)]) {
        if blocks.isEmpty {
            self = OrderedKeys(insertions.map(\.key))
            return
        }
        var next = 0
        while next < insertions.count {
            // The gap between the keys that are there, before any is put in.
            let block = self.block(of: insertions[next].position - next)
            let start = starts[block]
            let old = blocks[block]
            let isLast = block == blocks.count - 1
            var merged: [Int64] = []
            merged.reserveCapacity(old.count + 8)
            var from = 0
            while next < insertions.count {
                let gap = insertions[next].position - next - start
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

    /// Splits blocks that are too large, drops empty ones and counts anew.
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
        starts.removeAll(keepingCapacity: true)
        count = 0
        for block in blocks {
            starts.append(count)
            count += block.count
        }
    }
}
