/// Many object keys as one bit each, for whoever asks of all rows of a table whether they are among them, and the
/// how many-th. Made in one go, not changed; costs a bit for every key between the first and the last.
import MotteValues

package final class KeyMask {
    private let first: Int64
    private let wordCount: Int
    private let words: UnsafeMutablePointer<UInt64>
    /// How many keys are below each word.
    private let ranks: UnsafeMutablePointer<UInt32>

    /// Keys in any order. nil if they lie so far apart that the bits would be more than `most`.
    package init?(_ keys: [Int64], mostBits most: Int) {
        var least = Int64.max
        var largest = Int64.min
        for key in keys {
            if key < least { least = key }
            if key > largest { largest = key }
        }
        if keys.isEmpty { (least, largest) = (0, 0) }
        guard keys.count < Int(UInt32.max), least >= 0, largest - least < Int64(clamping: most) else { return nil }
        first = least & ~63
        wordCount = Int((largest - first) >> 6) + 1
        words = .allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
        ranks = .allocate(capacity: wordCount)
        for key in keys {
            let bit = UInt64(bitPattern: key &- first)
            words[Int(bit >> 6)] |= 1 << (bit & 63)
        }
        var total: UInt32 = 0
        for index in 0 ..< wordCount {
            ranks[index] = total
            total &+= UInt32(truncatingIfNeeded: words[index].nonzeroBitCount)
        }
    }

    deinit {
        words.deallocate()
        ranks.deallocate()
    }

    @inline(__always)
    package func contains(_ key: Int64) -> Bool {
        let bit = UInt64(bitPattern: key &- first)
        guard bit >> 6 < UInt64(wordCount) else { return false }
        return words[Int(bit >> 6)] & (1 << (bit & 63)) != 0
    }

    /// How many of the keys are below this one; -1 if it is none of them.
    @inline(__always)
    package func rank(_ key: Int64) -> Int {
        let bit = UInt64(bitPattern: key &- first)
        guard bit >> 6 < UInt64(wordCount) else { return -1 }
        let word = words[Int(bit >> 6)]
        let mask: UInt64 = 1 << (bit & 63)
        guard word & mask != 0 else { return -1 }
        return Int(ranks[Int(bit >> 6)]) + (word & (mask &- 1)).nonzeroBitCount
    }

    /// Appends the ranks of those of `keys` that are in it, with their positions, and the keys that are not in it.
    /// Positions begin with `start`.
    package func divide(
        _ keys: UnsafeBufferPointer<Int64>, from start: Int, ranks found: inout [Int], positions: inout [Int],
        others: inout [Int64]
    ) {
        var rest = 0
        for index in keys.indices {
            let rank = rank(keys[index])
            guard rank >= 0 else { continue }
            others.append(contentsOf: keys[rest ..< index])
            rest = index + 1
            found.append(rank)
            positions.append(start + index)
        }
        others.append(contentsOf: keys[rest...])
    }

    /// Appends the positions of those of `keys` that are in it.
    package func appendPositions(_ keys: UnsafeBufferPointer<Int64>, from start: Int, to positions: inout [Int]) {
        for index in keys.indices where contains(keys[index]) { positions.append(start + index) }
    }
}
