// The parts of an index by themselves: encodings of values, sorting, cutting and decoding blocks, damage.
import MottePages
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct IndexPartsTests {
    // MARK: Values

    @Test func numbersKeepTheirOrder() {
        let ints: [Int64] = [.min, -5_000_000_000, -1, 0, 1, 42, .max]
        #expect(ints.map { IndexValue.int($0).raw } == ints.map { IndexValue.int($0).raw }.sorted())
        let tiny = Double.leastNonzeroMagnitude
        let doubles: [Double] = [.nan, -.infinity, -1e300, -1, -tiny, 0, tiny, 1, .infinity]
        #expect(doubles.map { IndexValue.double($0).raw } == doubles.map { IndexValue.double($0).raw }.sorted())
        #expect(Set(doubles.map { IndexValue.double($0).raw }).count == doubles.count)
        #expect(IndexValue.double(-0.0) == IndexValue.double(0.0))
        let early = IndexValue.timestamp(Timestamp(seconds: -1, nanoseconds: 5))
        #expect(early.raw < IndexValue.timestamp(Timestamp(seconds: 0, nanoseconds: 0)).raw)
        #expect(!early.isExact)
        #expect(IndexValue.link(to: ObjectKey(-1)).isNull)
    }

    @Test func shortStringsAreExactAndOrdered() {
        let texts = ["", "\0", "A", "A\0", "AA", "B6", "JFK", "N14228", "zzzzzzz", "ä"]
        let values = texts.map { text in text.withUTF8Bytes { IndexValue.bytes($0) } }
        #expect(values.allSatisfy { $0.isExact })
        #expect(values.map(\.raw) == values.map(\.raw).sorted())
        #expect(Set(values.map(\.raw)).count == texts.count)
        let long = "longer than seven".withUTF8Bytes { IndexValue.bytes($0) }
        #expect(!long.isExact && long.raw >> 63 == 1)
    }

    /// The hash is on disk: these numbers never change.
    @Test func hashIsTheOneOnDisk() {
        func hash(_ text: String) -> UInt64 { text.withUTF8Bytes { IndexHash.hash($0) } }
        #expect(hash("") == Self.hashes[0])
        #expect(hash("motte") == Self.hashes[1])
        #expect(hash("motte motte") == Self.hashes[2])
        #expect(hash("an embedded object database with a long name") == Self.hashes[3])
        var all: Set<UInt64> = []
        for number in 0 ..< 20_000 { all.insert(hash("customer number \(number)") >> 16) }
        #expect(all.count == 20_000)
    }

    private static let hashes: [UInt64] = [
        0xC9F1AF18B98AA83E, 0xEEEA222CE9E05DB5,
        0x891DD64ECD10D80F, 0x96E6A5364E2C3F8D,
    ]

    // MARK: Sorting

    @Test func sortsLikeComparing() throws {
        try PropertyTest.run(rounds: 30) { random, comment in
            let count = random.pick([0, 1, 2, 50, 1_023, 1_024, 5_000])
            let valueBits = random.pick([0, 3, 16, 33, 64]), keyBits = random.pick([0, 8, 48])
            let keysAscend = random.chance(40)
            var entries: ContiguousArray<IndexEntry> = []
            for position in 0 ..< count {
                let value = valueBits == 0 ? 5 : random.next() >> UInt64(64 - valueBits)
                let key = keysAscend ? UInt64(position) : keyBits == 0 ? 0 : random.next() >> UInt64(64 - keyBits)
                entries.append(IndexEntry(value: value, key: key))
            }
            let expected = entries.sorted()
            EntrySort.sort(&entries)
            #expect(Array(entries) == expected, "\(comment)")
        }
    }

    // MARK: Blocks

    private func block(_ entries: [IndexEntry], _ key: [UInt8]) -> [UInt8] {
        entries.withUnsafeBufferPointer { IndexBlockEncoder().encode($0, pageKey: key) }
    }

    private func decode(_ bytes: [UInt8], _ key: [UInt8]) throws -> ContiguousArray<IndexEntry> {
        try bytes.withUnsafeBytes { bytes in
            let block = try key.withUnsafeBytes { try IndexBlock(validating: bytes, pageKey: $0) }
            var entries: ContiguousArray<IndexEntry> = []
            block.appendEntries(0 ..< block.count, to: &entries)
            return entries
        }
    }

    @Test func blocksGiveBackWhatWasPutIn() throws {
        try PropertyTest.run(rounds: 200) { random, comment in
            let bits = random.below(65), keyBits = random.below(49)
            var entries: [IndexEntry] = []
            for _ in 0 ..< 1 + random.below(200) {
                let key = keyBits == 0 ? 3 : random.next() >> UInt64(64 - keyBits)
                entries.append(IndexEntry(value: bits == 0 ? .max : random.next() >> UInt64(64 - bits), key: key))
            }
            entries.sort()
            let key = IndexSpace.values(IndexKey(1)).pageKey(entries[0])
            let bytes = block(entries, key)
            #expect(Array(try decode(bytes, key)) == entries, "\(comment)")
            try bytes.withUnsafeBytes { bytes in
                let block = try key.withUnsafeBytes { try IndexBlock(validating: bytes, pageKey: $0) }
                let elsewhere = IndexEntry(value: random.next(), key: random.next())
                let asked = random.chance(50) ? random.pick(entries) : elsewhere
                #expect(block.lowerBound(asked) == entries.firstIndex { !($0 < asked) } ?? entries.count, "\(comment)")
                #expect(block.upperBound(asked) == entries.firstIndex { asked < $0 } ?? entries.count, "\(comment)")
            }
        }
    }

    /// Values that count up are found where they must be; so are those that only look so, with some twice and some not
    /// there.
    @Test func valuesThatCountUpAreFound() throws {
        try PropertyTest.run(rounds: 200) { random, comment in
            let count = 1 + random.below(60)
            let first = random.pick([0, 1, random.next() >> 1, UInt64.max - UInt64(count - 1)])
            var steps = [UInt64](repeating: 1, count: count - 1)
            for _ in 0 ..< random.below(4) where count > 2 {
                // As far apart at the ends.
                let from = random.below(steps.count), to = random.below(steps.count)
                guard steps[from] > 0 else { continue }
                steps[from] -= 1
                steps[to] += 1
            }
            var value = first
            var entries = [IndexEntry(value: first, key: 9)]
            for (place, step) in steps.enumerated() {
                value += step
                entries.append(IndexEntry(value: value, key: UInt64(10 + place)))
            }
            let key = IndexSpace.values(IndexKey(1)).pageKey(entries[0])
            try block(entries, key).withUnsafeBytes { bytes in
                let block = try key.withUnsafeBytes { try IndexBlock(validating: bytes, pageKey: $0) }
                for offset in 0 ..< UInt64(count) + 2 {
                    for asked in [0, 9, 9 + offset, .max].map({ IndexEntry(value: first &+ offset &- 1, key: $0) }) {
                        let from = entries.firstIndex { !($0 < asked) } ?? count
                        #expect(block.lowerBound(asked) == from, "\(comment)")
                        #expect(block.upperBound(asked) == entries.firstIndex { asked < $0 } ?? count, "\(comment)")
                    }
                }
            }
        }
    }

    @Test func ascendingKeysFillBlocks() throws {
        let store = try IndexTestStore()
        let index = IndexKey(1)
        var next: Int64 = 0
        for _ in 0 ..< 60 {
            let delta = IndexDelta(isUnique: true)
            for _ in 0 ..< 100 {
                delta.add(.int(next), ObjectKey(next))
                next += 1
            }
            try store.commit { try IndexMerge.apply(delta, to: index, over: store.pages, into: &$0) }
        }
        // Four bytes an entry, some 1,006 in a full block.
        let blocks = try store.dump(0x07)
        #expect(blocks.count == 6)
        #expect(blocks.dropLast().allSatisfy { $0.value.count > 4_054 })
    }

    @Test func everyFlippedBitIsFound() throws {
        let entries = (0 ..< 20).map { IndexEntry(value: UInt64($0 / 3), key: UInt64($0 * 7)) }
        let key = IndexSpace.values(IndexKey(1)).pageKey(entries[0])
        let bytes = block(entries, key)
        for position in bytes.indices {
            for bit in 0 ..< 8 {
                var damaged = bytes
                damaged[position] ^= 1 << UInt8(bit)
                #expect(throws: DatabaseError.self) { try decode(damaged, key) }
            }
        }
        for length in 0 ..< bytes.count {
            #expect(throws: DatabaseError.self) { try decode(Array(bytes[..<length]), key) }
        }
        let elsewhere = IndexSpace.values(IndexKey(2)).pageKey(entries[0])
        #expect(throws: DatabaseError.self) { try decode(bytes, elsewhere) }
    }

    /// Bytes with a checksum that fits: whatever they say, reading stays inside them.
    @Test func anyBytesWithAGoodChecksumAreSafe() throws {
        try PropertyTest.run(rounds: 300) { random, comment in
            let key = IndexSpace.values(IndexKey(1)).pageKey(.lowest)
            var bytes = (0 ..< 40 + random.below(100)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            bytes[0] = IndexBlock.kind
            bytes[1] = IndexBlock.format
            bytes[2] = UInt8(random.below(10))
            bytes[3] = UInt8(random.below(10))
            let width = max(1, Int(bytes[2]) + Int(bytes[3]))
            let count = UInt32(random.chance(70) ? (bytes.count - 40) / width : random.below(1_000))
            bytes.store(u32: count, at: 4)
            let crc = bytes.withUnsafeBytes { bytes in
                key.withUnsafeBytes { IndexBlock.checksum(of: bytes, pageKey: $0) }
            }
            bytes.store(u32: crc, at: 8)
            guard let entries = try? decode(bytes, key) else { return }
            #expect(!entries.isEmpty, "\(comment)")
        }
    }

    @Test func damageInAFileIsReported() throws {
        let store = try IndexTestStore()
        let index = IndexKey(1)
        let delta = IndexDelta()
        for key in 0 ..< 5_000 { delta.add(.int(Int64(key)), ObjectKey(Int64(key))) }
        try store.commit { try IndexMerge.apply(delta, to: index, over: store.pages, into: &$0) }
        let (key, stored) = try store.dump(0x07)[1]
        var value = stored
        value[100] ^= 1
        try store.commit { $0.put(key, value) }
        let view = IndexView(IndexReader(index, pages: store.pages))
        #expect(try view.firstKey(.int(3)) == ObjectKey(3))
        #expect(throws: DatabaseError.self) { try view.count() }
        #expect(throws: DatabaseError.self) { try view.firstKey(.int(1_500)) }
        let change = IndexDelta()
        change.add(.int(1_500), ObjectKey(9_999))
        #expect(throws: DatabaseError.self) {
            try store.commit { try IndexMerge.apply(change, to: index, over: store.pages, into: &$0) }
        }
    }
}
