/// Any bytes as an index block: an error, or entries that can be read and searched. A sound block is found out after
/// any change of a byte, and under any other key.
///
/// Input: a byte (0x80: checksum and header are left as they are), then the block.
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let indexBlock = FuzzTarget(
        name: "indexBlock", seeds: IndexBlockFuzz.seeds, run: IndexBlockFuzz.run)
}

enum IndexBlockFuzz {
    static let key: [UInt8] = [7, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9]
    /// Entries of no width take no bytes, so any number may be said; so many are read.
    private static let mostEntries = 20_000

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var block = Array(input.rest)
        if choice & 0x80 == 0 { seal(&block) }
        let isSound = try block.asBytes { bytes in
            try key.asBytes { key in
                guard let block = try politely({ try IndexBlock(validating: bytes, pageKey: key) })
                else { return false }
                read(block)
                return true
            }
        }
        guard isSound else { return }
        for turn in 0 ..< 4 {
            let place = Int(truncatingIfNeeded: (bytes.hash >> (8 * UInt64(turn))) % UInt64(block.count))
            block[place] ^= 1 << UInt8(turn)
            try Finding.require(!opens(block, key), "a block with byte \(place) changed is not found out")
            block[place] ^= 1 << UInt8(turn)
        }
        try Finding.require(!opens(block, [7] + key), "a block under another key is not found out")
    }

    static func seal(_ block: inout [UInt8], key: [UInt8] = key) {
        while block.count < IndexBlock.headerSize + IndexBlock.slack { block.append(0) }
        block[0] = IndexBlock.kind
        block[1] = IndexBlock.format
        block[2] %= 9
        block[3] %= 9
        let width = Int(block[2]) + Int(block[3])
        if width > 0 {
            let count = (block.count - IndexBlock.headerSize - IndexBlock.slack) / width
            block.store(UInt32(truncatingIfNeeded: count), at: 4)
            let size = IndexBlock.size(count: count, valueWidth: Int(block[2]), keyWidth: Int(block[3]))
            block.removeLast(block.count - size)
        }
        block.withUnsafeMutableBytes { IndexBlock.seal($0, key) }
    }

    private static func opens(_ block: [UInt8], _ key: [UInt8]) -> Bool {
        block.asBytes { bytes in
            key.asBytes { key in
                do throws(DatabaseError) {
                    _ = try IndexBlock(validating: bytes, pageKey: key)
                    return true
                } catch {
                    return false
                }
            }
        }
    }

    private static func read(_ block: IndexBlock) {
        let count = min(block.count, mostEntries)
        var keys: [Int64] = []
        block.appendKeys(0 ..< count, to: &keys)
        var entries: ContiguousArray<IndexEntry> = []
        block.appendEntries(0 ..< count, to: &entries)
        // In any order, if the bytes say so; a search then ends somewhere within.
        for entry in [entries[0], entries[count - 1], entries[count / 2], IndexEntry(value: .max, key: .max)] {
            assert(block.lowerBound(entry) <= block.count && block.upperBound(entry) <= block.count)
            _ = block.hasRoom(for: entry)
        }
        let values = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
        let decoded = UnsafeMutablePointer<Int64>.allocate(capacity: count)
        block.decode(0 ..< count, values: values, keys: decoded)
        values.deallocate()
        decoded.deallocate()
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for (valueWidth, keyWidth, count) in [(1, 1, 4), (2, 3, 20), (8, 8, 3), (0, 2, 5), (0, 0, 9)] {
            let size = IndexBlock.size(count: count, valueWidth: valueWidth, keyWidth: keyWidth)
            var block = (0 ..< size).map { $0 < 32 || $0 >= size - 8 ? 0 : UInt8(truncatingIfNeeded: $0) }
            block[2] = UInt8(valueWidth)
            block[3] = UInt8(keyWidth)
            block.store(UInt32(count), at: 4)
            seal(&block)
            seeds.append([0] + block)
            seeds.append([0x80] + block)
        }
        return seeds
    }
}
