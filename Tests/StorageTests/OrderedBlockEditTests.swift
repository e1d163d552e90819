// Blocks of ordered indexes that are changed in place, beside a set of entries: one block through many rounds of
// changes, so that what an edit leaves is what the next one finds.
import MottePages
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OrderedBlockEditTests {
    private struct Entry: Hashable, Comparable {
        let bytes: [UInt8]
        let key: UInt64

        static func < (left: Entry, right: Entry) -> Bool {
            left.bytes == right.bytes ? left.key < right.key : left.bytes.lexicographicallyPrecedes(right.bytes)
        }
    }

    private static let pageKey: [UInt8] = [7, 0, 0, 0, 1]

    private static func block(of entries: [Entry], limit: Int) throws -> [UInt8] {
        let items = OrderedItems()
        for entry in entries { entry.bytes.withUnsafeBytes { items.append($0, entry.key) } }
        var batch = PageBatch()
        OrderedEncoder(prefix: pageKey, blockBytes: limit).put(items, bound: [], into: &batch)
        var blocks: [[UInt8]] = []
        for entry in batch.effectiveEntries() { blocks.append([UInt8](entry.value)) }
        return try #require(blocks.count == 1 ? blocks[0] : nil)
    }

    private static func entries(of block: OrderedBlock) -> [Entry] {
        let items = OrderedItems()
        items.append(block)
        return items.list.map { Entry(bytes: [UInt8](items.bytes($0)), key: $0.key) }
    }

    private static func withBlock<Result>(_ bytes: [UInt8], _ body: (OrderedBlock) throws -> Result) throws -> Result {
        try bytes.withUnsafeBytes { bytes in
            try pageKey.withUnsafeBytes { try body(try OrderedBlock(validating: bytes, pageKey: $0)) }
        }
    }

    /// Bytes with beginnings in common, some as long as can be, none the beginning of another.
    private static func randomBytes(_ random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = [1]
        switch random.below(12) {
        case 0: bytes += [UInt8](repeating: UInt8(random.below(2)) + 97, count: 447)
        case 1: return [0]
        default: for _ in 0 ..< random.below(5) { bytes.append(UInt8(97 + random.below(3))) }
        }
        return bytes.count > 440 ? bytes : bytes + [0, 0]
    }

    private static func randomKey(_ random: inout SeededRandom, _ wide: Bool) -> UInt64 {
        let bits = wide ? [4, 9, 17, 34, 48][random.below(5)] : 6
        return UInt64(random.below(1 << bits))
    }

    @Test func editsAreThoseOfASet() throws {
        var done = 0, full = 0
        try PropertyTest.run(rounds: 60) { random, comment in
            let wide = random.chance(50), limit = 60_000
            var model: Set<Entry> = [Entry(bytes: Self.randomBytes(&random), key: 3)]
            for _ in 0 ..< random.below(80) {
                model.insert(Entry(bytes: Self.randomBytes(&random), key: Self.randomKey(&random, wide)))
            }
            var bytes = try Self.block(of: model.sorted(), limit: limit)
            for round in 0 ..< 40 {
                // What is there, and what is not, comes and goes.
                var changes: [Entry: Bool] = [:]
                for _ in 0 ... random.below(9) {
                    let known = random.chance(50) ? model.sorted().randomElement(using: &random) : nil
                    let entry = known ?? Entry(bytes: Self.randomBytes(&random), key: Self.randomKey(&random, wide))
                    changes[entry] = random.chance(50)
                }
                var pending = OrderedChanges(SpillFile())
                for (entry, isRemoved) in changes {
                    entry.bytes.withUnsafeBytes { pending.append($0, entry.key, isRemoved: isRemoved) }
                }
                var expected = model
                for (entry, isRemoved) in changes {
                    if isRemoved { expected.remove(entry) } else { expected.insert(entry) }
                }
                let list = pending.changes(in: OrderedSpan(low: [], high: nil))
                let edited = try Self.withBlock(bytes) { block in
                    // Where there is no room, nothing is made.
                    let small = block.applying(list, limit: bytes.count / 2, pageKey: Self.pageKey)
                    #expect(small.map { $0.bytes.count <= bytes.count / 2 } ?? true, "\(comment), \(round)")
                    full += small == nil ? 1 : 0
                    return block.applying(list, limit: limit, pageKey: Self.pageKey)
                }
                #expect((edited == nil) == expected.isEmpty, "\(comment), \(round)")
                guard let edited else { continue }
                #expect(edited.entryCount == expected.count, "\(comment), \(round)")
                try Self.withBlock(edited.bytes) { block in
                    #expect(Self.entries(of: block) == expected.sorted(), "\(comment), \(round)")
                }
                // All room that it needs, but for the few bytes that it may want in addition.
                let again = try Self.withBlock(bytes) { block in
                    block.applying(list, limit: edited.bytes.count + 16, pageKey: Self.pageKey)
                }
                #expect(again?.bytes == edited.bytes, "\(comment), \(round)")
                (bytes, model) = (edited.bytes, expected)
                done += 1
            }
        }
        print("note: \(done) edits of blocks, \(full) without room")
        #expect(done > 0 && full > 0)
    }
}
