/// Batches whose rows jump from row group to row group, as those of sorted results do: read in the order of their keys,
/// where the rows of a row group lie together, and put into the wanted order afterwards.
import MotteValues

/// A batch in the order of its keys, and where each of its rows is there.
struct ArrowOrder {
    /// In ascending order.
    let keys: [Int64]
    /// By row of the batch: its position in `keys`.
    let arrangement: ArrowArrangement

    private static let fewestRows = 256
    /// A key above and a position of so many bits share a word.
    private static let positionBits: UInt64 = 23
    private static let mostKeys: Int64 = 1 << 40

    /// nil where the rows lie together as they are, or where a key and its position do not fit into a word.
    init?(_ given: UnsafeBufferPointer<Int64>) {
        guard given.count >= Self.fewestRows, given.count <= 1 << Self.positionBits, Self.jumps(given) else {
            return nil
        }
        var least = Int64.max, greatest = Int64.min
        for key in given {
            least = min(least, key)
            greatest = max(greatest, key)
        }
        guard least >= 0, greatest - least < Self.mostKeys else { return nil }
        let words = given.indices.map { UInt64(given[$0] - least) << Self.positionBits | UInt64($0) }
        let sorted = Self.sorted(words, keyBits: 64 - (greatest - least).leadingZeroBitCount)
        let positions: UInt64 = (1 << Self.positionBits) - 1
        keys = sorted.map { least + Int64($0 >> Self.positionBits) }
        // With room: a batch of fewer rows than 256 is not arranged.
        let sources = [UInt32](unsafeUninitializedCapacity: given.count) { sources, count in
            for (index, word) in sorted.enumerated() { sources[Int(word & positions)] = UInt32(index) }
            count = given.count
        }
        arrangement = ArrowArrangement(sources: sources)
    }

    /// Whether more than one key of eight is not shortly behind the one before. Keys that only ascend are not arranged:
    /// another order has no more of them together.
    private static func jumps(_ given: UnsafeBufferPointer<Int64>) -> Bool {
        var far = 0, descends = false
        for index in 1 ..< given.count {
            let distance = given[index] &- given[index &- 1]
            if distance < 0 { descends = true }
            if distance < 0 || distance > 1_024 { far &+= 1 }
        }
        return descends && far > given.count / 8
    }

    /// Digit by digit of the keys, from the lowest: a comparison a row costs more than reading the columns.
    private static func sorted(_ words: [UInt64], keyBits: Int) -> [UInt64] {
        let digitBits: UInt64 = 11
        var words = words
        var shift = positionBits
        while shift < positionBits + UInt64(keyBits) {
            var places = [Int](repeating: 0, count: 1 << digitBits)
            for word in words { places[Int(word >> shift & (1 << digitBits - 1))] += 1 }
            var next = 0
            for digit in places.indices { (places[digit], next) = (next, next + places[digit]) }
            // With room, as above.
            words = [UInt64](unsafeUninitializedCapacity: words.count) { target, count in
                for word in words {
                    let digit = Int(word >> shift & (1 << digitBits - 1))
                    target[places[digit]] = word
                    places[digit] &+= 1
                }
                count = words.count
            }
            shift += digitBits
        }
        return words
    }
}
