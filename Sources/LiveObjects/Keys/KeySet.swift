/// The keys of results that are in the order of their keys, a bit each: copies share what did not change, and finding
/// the key at a position, or the position of a key, looks into one block.
///
/// A block stands for 2,048 keys that could be: nothing where all are there, their offsets where few are, else bits.
/// There are none of blocks without keys. An edit copies the blocks it touches and the list of blocks.
import MotteValues

package struct KeySet: Sendable {
    private static let shift: Int64 = 11
    private static let most = 2_048
    private static let words = 32
    /// Up to here offsets take no more room than bits.
    private static let few = 128

    private struct Block: Sendable {
        /// Its first possible key, by the number of such blocks.
        let base: Int64
        let count: Int
        /// Four offsets in each word, or bits; empty where all keys are there.
        let content: [UInt64]

        /// `bits` are as many words as a block has.
        init(_ base: Int64, bits: UnsafePointer<UInt64>) {
            self.base = base
            var count = 0
            for index in 0 ..< KeySet.words { count += bits[index].nonzeroBitCount }
            self.count = count
            if count == KeySet.most {
                content = []
            } else if count > KeySet.few {
                content = Array(UnsafeBufferPointer(start: bits, count: KeySet.words))
            } else {
                var packed = [UInt64](repeating: 0, count: (count + 3) >> 2)
                var next = 0
                for index in 0 ..< KeySet.words {
                    var word = bits[index]
                    while word != 0 {
                        let offset = UInt64(index << 6 + word.trailingZeroBitCount)
                        packed[next >> 2] |= offset << UInt64((next & 3) << 4)
                        next += 1
                        word &= word &- 1
                    }
                }
                content = packed
            }
        }

        private func offset(_ index: Int) -> Int {
            Int(truncatingIfNeeded: content[index >> 2] >> UInt64((index & 3) << 4)) & 0xFFFF
        }

        func unpack(_ bits: UnsafeMutablePointer<UInt64>) {
            if count == KeySet.most {
                for index in 0 ..< KeySet.words { bits[index] = ~0 }
            } else if count > KeySet.few {
                for index in 0 ..< KeySet.words { bits[index] = content[index] }
            } else {
                for index in 0 ..< KeySet.words { bits[index] = 0 }
                for index in 0 ..< count {
                    let offset = offset(index)
                    bits[offset >> 6] |= 1 << UInt64(offset & 63)
                }
            }
        }

        /// The key with `rank` others below it; `rank` is below the count.
        func key(_ rank: Int) -> Int64 {
            let first = base << KeySet.shift
            if count == KeySet.most { return first + Int64(rank) }
            if count <= KeySet.few { return first + Int64(offset(rank)) }
            var left = rank
            for index in 0 ..< KeySet.words {
                let bits = content[index].nonzeroBitCount
                if left >= bits {
                    left -= bits
                    continue
                }
                var word = content[index]
                for _ in 0 ..< left { word &= word &- 1 }
                return first + Int64(index << 6 + word.trailingZeroBitCount)
            }
            return first
        }
    }

    private var blocks: [Block] = []
    /// The position of each block's first key.
    private var starts: [Int] = []
    package private(set) var count = 0

    /// Ascending keys, none of them negative.
    package init(_ keys: [Int64]) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.words) { bits in
            guard let bits = bits.baseAddress else { return }
            var next = 0
            while next < keys.count {
                let base = keys[next] >> Self.shift
                let end = (base + 1) << Self.shift
                bits.initialize(repeating: 0, count: Self.words)
                while next < keys.count, keys[next] < end {
                    let offset = Int(truncatingIfNeeded: keys[next]) & (Self.most - 1)
                    bits[offset >> 6] |= 1 << UInt64(offset & 63)
                    next += 1
                }
                blocks.append(Block(base, bits: bits))
            }
        }
        recount()
    }

    private mutating func recount() {
        starts.removeAll(keepingCapacity: true)
        starts.reserveCapacity(blocks.count)
        count = 0
        for block in blocks {
            starts.append(count)
            count += block.count
        }
    }

    /// The first block from `start` on that does not end before a key.
    private func block(reaching base: Int64, from start: Int = 0) -> Int {
        var low = start
        var high = blocks.count
        while low < high {
            let middle = (low + high) / 2
            if blocks[middle].base < base { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// `position` is below the count.
    package subscript(position: Int) -> Int64 {
        let block = starts.last(upTo: position)
        return blocks[block].key(position - starts[block])
    }

    /// How many keys are below one, and whether it is there itself.
    package func place(of key: Int64) -> (position: Int, isThere: Bool) {
        var place = (position: 0, isThere: false)
        forEachPlace(of: [key]) { _, position, isThere in place = (position, isThere) }
        return place
    }

    /// The same for ascending keys, one after the other, with the index of each.
    @inline(__always)
    package func forEachPlace(of keys: [Int64], _ body: (Int, Int, Bool) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.words) { bits in
            guard let bits = bits.baseAddress else { return }
            bits.initialize(repeating: 0, count: Self.words)
            var block = 0
            var next = 0
            while next < keys.count {
                let base = keys[next] >> Self.shift
                block = self.block(reaching: base, from: block)
                let isHere = block < blocks.count && blocks[block].base == base
                let start = block < blocks.count ? starts[block] : count
                if isHere { blocks[block].unpack(bits) }
                var word = 0
                var below = start
                while next < keys.count, keys[next] >> Self.shift == base {
                    guard isHere else {
                        body(next, start, false)
                        next += 1
                        continue
                    }
                    let offset = Int(truncatingIfNeeded: keys[next]) & (Self.most - 1)
                    while word < offset >> 6 {
                        below += bits[word].nonzeroBitCount
                        word += 1
                    }
                    let bit: UInt64 = 1 << UInt64(offset & 63)
                    body(next, below + (bits[word] & (bit &- 1)).nonzeroBitCount, bits[word] & bit != 0)
                    next += 1
                }
            }
        }
    }

    /// Of those of some ascending keys that are in it.
    package func positions(of keys: [Int64]) -> [Int] {
        guard !keys.isEmpty, count > 0 else { return [] }
        // Room for one at least.
        return [Int](unsafeUninitializedCapacity: min(keys.count, count)) { positions, found in
            keys.withUnsafeBufferPointer { keys in
                withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.words) { bits in
                    guard let bits = bits.baseAddress else { return }
                    bits.initialize(repeating: 0, count: Self.words)
                    var block = 0
                    var next = 0
                    while next < keys.count {
                        let base = keys[next] >> Self.shift
                        let end = Self.end(of: base, in: keys, from: next)
                        block = self.block(reaching: base, from: block)
                        if block < blocks.count, blocks[block].base == base {
                            let here = UnsafeBufferPointer(rebasing: keys[next ..< end])
                            appendPositions(of: here, in: block, bits, positions, &found)
                        }
                        next = end
                    }
                }
            }
        }
    }

    /// The first index behind `start` whose key is beyond a block.
    private static func end(of base: Int64, in keys: UnsafeBufferPointer<Int64>, from start: Int) -> Int {
        var low = start + 1
        var high = min(start + most, keys.count)
        // Often all that could be are there.
        if keys[high - 1] >> shift == base { return high }
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] >> shift == base { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// `keys` could all be in one block; `bits` is room for it.
    private func appendPositions(
        of keys: UnsafeBufferPointer<Int64>, in block: Int, _ bits: UnsafeMutablePointer<UInt64>,
        _ positions: UnsafeMutableBufferPointer<Int>, _ found: inout Int
    ) {
        let start = starts[block]
        if blocks[block].count == Self.most {
            let first = blocks[block].base << Self.shift &- Int64(start)
            let output = UnsafeMutableBufferPointer(rebasing: positions[found...])
            for index in 0 ..< keys.count { output[index] = Int(truncatingIfNeeded: keys[index] &- first) }
            found &+= keys.count
            return
        }
        blocks[block].unpack(bits)
        var word = 0
        var below = start
        for key in keys {
            let offset = Int(truncatingIfNeeded: key) & (Self.most - 1)
            while word < offset >> 6 {
                below &+= bits[word].nonzeroBitCount
                word &+= 1
            }
            let bit: UInt64 = 1 << UInt64(offset & 63)
            guard bits[word] & bit != 0 else { continue }
            positions[found] = below &+ (bits[word] & (bit &- 1)).nonzeroBitCount
            found &+= 1
        }
    }

    /// Without some of its keys and with others, both ascending.
    package func editing(removing removed: [Int64], inserting inserted: [Int64]) -> KeySet {
        if removed.isEmpty, inserted.isEmpty { return self }
        var edited = self
        var keepsItsBlocks = true
        var made: [Block] = []
        var replaced: [Int] = []
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.words) { bits in
            guard let bits = bits.baseAddress else { return }
            bits.initialize(repeating: 0, count: Self.words)
            var out = 0, come = 0, block = 0
            while out < removed.count || come < inserted.count {
                let base =
                    min(out < removed.count ? removed[out] : .max, come < inserted.count ? inserted[come] : .max)
                    >> Self.shift
                block = self.block(reaching: base, from: block)
                let isHere = block < blocks.count && blocks[block].base == base
                if isHere {
                    blocks[block].unpack(bits)
                } else {
                    for index in 0 ..< Self.words { bits[index] = 0 }
                }
                while out < removed.count, removed[out] >> Self.shift == base {
                    let offset = Int(truncatingIfNeeded: removed[out]) & (Self.most - 1)
                    bits[offset >> 6] &= ~(1 << UInt64(offset & 63))
                    out += 1
                }
                while come < inserted.count, inserted[come] >> Self.shift == base {
                    let offset = Int(truncatingIfNeeded: inserted[come]) & (Self.most - 1)
                    bits[offset >> 6] |= 1 << UInt64(offset & 63)
                    come += 1
                }
                let new = Block(base, bits: bits)
                made.append(new)
                replaced.append(isHere ? block : -1)
                if !isHere || new.count == 0 { keepsItsBlocks = false }
            }
        }
        if keepsItsBlocks {
            for (index, block) in replaced.enumerated() { edited.blocks[block] = made[index] }
        } else {
            edited.blocks = Self.merged(blocks, made)
        }
        edited.recount()
        return edited
    }

    /// Blocks of `made` in place of those with the same keys; without empty ones.
    private static func merged(_ old: [Block], _ made: [Block]) -> [Block] {
        var merged: [Block] = []
        merged.reserveCapacity(old.count + made.count)
        var next = 0
        for block in made {
            while next < old.count, old[next].base < block.base {
                merged.append(old[next])
                next += 1
            }
            if next < old.count, old[next].base == block.base { next += 1 }
            if block.count > 0 { merged.append(block) }
        }
        merged.append(contentsOf: old[next...])
        return merged
    }

    /// The first keys, as an array.
    package func prefix(_ limit: Int) -> [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(min(limit, count))
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.words) { bits in
            guard let bits = bits.baseAddress else { return }
            bits.initialize(repeating: 0, count: Self.words)
            for block in blocks where keys.count < limit {
                block.unpack(bits)
                for index in 0 ..< Self.words {
                    let first = block.base << Self.shift + Int64(index << 6)
                    var word = bits[index]
                    while word != 0 {
                        keys.append(first + Int64(word.trailingZeroBitCount))
                        word &= word &- 1
                    }
                }
            }
        }
        if keys.count > limit { keys.removeLast(keys.count - limit) }
        return keys
    }
}
