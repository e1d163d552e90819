/// Any bytes as a block of an ordered index: an error, or groups that can be read, searched and made into blocks again,
/// which have the same entries. A sound block is found out after any change of a byte, and under any other key.
///
/// Input: a byte (0x80: checksum and header are left as they are), then the block.
import MottePages
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let orderedBlock = FuzzTarget(
        name: "orderedBlock", seeds: OrderedBlockFuzz.seeds, run: OrderedBlockFuzz.run)
}

enum OrderedBlockFuzz {
    static let key: [UInt8] = [7, 0, 0, 0, 1, 1, 97]

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var block = Array(input.rest)
        if choice & 0x80 == 0 { seal(&block) }
        let isSound = try block.asBytes { bytes in
            try key.asBytes { key in
                guard let block = try politely({ try OrderedBlock(validating: bytes, pageKey: key) })
                else { return false }
                try read(block)
                return true
            }
        }
        guard isSound else { return }
        for turn in 0 ..< 4 {
            let place = Int(truncatingIfNeeded: (bytes.hash >> (8 * UInt64(turn))) % UInt64(block.count))
            block[place] ^= 1 << UInt8(turn)
            try Finding.require(!opens(block, key), "an ordered block with byte \(place) changed is not found out")
            block[place] ^= 1 << UInt8(turn)
        }
        try Finding.require(!opens(block, [7] + key), "an ordered block under another key is not found out")
    }

    static func seal(_ block: inout [UInt8]) {
        while block.count < OrderedBlock.headerSize + 5 { block.append(0) }
        block[0] = OrderedBlock.kind
        block[1] = OrderedBlock.format
        block.withUnsafeMutableBytes { IndexBlock.seal($0, key) }
    }

    private static func opens(_ block: [UInt8], _ key: [UInt8]) -> Bool {
        block.asBytes { bytes in
            key.asBytes { key in
                do throws(DatabaseError) {
                    _ = try OrderedBlock(validating: bytes, pageKey: key)
                    return true
                } catch {
                    return false
                }
            }
        }
    }

    private static func read(_ block: OrderedBlock) throws {
        let items = OrderedItems()
        items.append(block)
        try Finding.require(items.count == block.entryCount, "an ordered block has another number of entries")
        for bound in [[], [1], [1, 97, 98], [255]] as [[UInt8]] {
            let span = OrderedSpan(low: bound, high: OrderedBytes.successor(bound))
            var keys: [Int64] = []
            _ = OrderedReader.forEachGroup(of: block, in: span, isInside: false) { group in
                group.appendKeys(to: &keys)
                return true
            }
            try Finding.require(keys.count <= block.entryCount, "a search finds more than there is")
        }
        var changes = OrderedChanges(SpillFile())
        for (bytes, key, isRemoved) in [
            ([1, 97, 0, 0], 7, false), ([1, 97, 98, 0, 0], 50, true), ([0], 1 << 40, false),
        ]
            as [([UInt8], UInt64, Bool)]
        {
            bytes.asBytes { changes.append($0, key, isRemoved: isRemoved) }
        }
        let edited = block.applying(changes.changes(in: OrderedSpan(low: [], high: nil)), limit: 9_000, pageKey: key)
        if let edited {
            try edited.bytes.asBytes { bytes in
                let made = try key.asBytes { key in try OrderedBlock(validating: bytes, pageKey: key) }
                try Finding.require(made.entryCount == edited.entryCount, "an edited block has other entries")
            }
        }
        // In any order, if the bytes say so; they are then made into blocks that nobody can use, and nothing else.
        var isSorted = true
        for (one, other) in zip(items.list, items.list.dropFirst())
        where OrderedItems.compare(items.bytes(one), one.key, items.bytes(other), other.key) >= 0 {
            isSorted = false
        }
        var filled = PageBatch(), batch = PageBatch()
        let filler = OrderedBlockFiller(prefix: Array(key.prefix(5)), bound: [], blockBytes: 600)
        for item in items.list { filler.append(items.bytes(item), item.key, into: &filled) }
        filler.finish(into: &filled)
        OrderedEncoder(prefix: Array(key.prefix(5)), blockBytes: 600).put(items, bound: [], into: &batch)
        guard isSorted else { return }
        try Finding.require(try count(filled) == items.count, "a filler makes other entries")
        try Finding.require(try count(batch) == items.count, "an encoder makes other entries")
    }

    private static func count(_ batch: borrowing PageBatch) throws -> Int {
        try batch.effectiveEntries().reduce(0) { count, entry in
            count + (try OrderedBlock(validating: entry.value, pageKey: entry.key).entryCount)
        }
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for (texts, keys) in [(["a"], 1), (["a", "ab", "b"], 1), (["a", "name 1", "name 2"], 40), ([""], 300)] {
            let items = OrderedItems()
            for text in texts {
                let bytes = [1] + Array(text.utf8) + [0, 0]
                bytes.asBytes { bytes in for key in 0 ..< keys { items.append(bytes, UInt64(key * key * 50)) } }
            }
            var batch = PageBatch()
            OrderedEncoder(prefix: [], blockBytes: 8_000).put(items, bound: key, into: &batch)
            for entry in batch.effectiveEntries() {
                let block = Array(entry.value)
                seeds.append([0] + block)
                seeds.append([0x80] + block)
            }
        }
        return seeds
    }
}
