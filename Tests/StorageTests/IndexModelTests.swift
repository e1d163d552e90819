// Random changes to an index beside a sorted array: every question gets the same answer, inside the write and after its
// commit, with blocks of a few entries so that splits and joins happen all the time. After each commit the blocks
// themselves are checked.
import MottePages
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct IndexModelTests {
    static let index = IndexKey(7)

    /// How values are drawn: few with many equal ones, many distinct ones, wide ones, or ascending.
    enum Shape: CaseIterable { case few, distinct, wide, ascending }

    @Test(arguments: Shape.allCases, [100, 300, 4_080])
    func agreesWithASortedArray(shape: Shape, blockBytes: Int) throws {
        try PropertyTest.run(rounds: 4) { random, comment in
            try run(shape, blockBytes, isUnique: random.chance(50), .memory(identifier: nil), &random, comment)
        }
    }

    @Test func agreesInAFile() throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let folder = TemporaryDirectory()
            try run(.distinct, 300, isUnique: false, .file(folder.file()), &random, comment)
        }
    }

    private func run(
        _ shape: Shape, _ blockBytes: Int, isUnique: Bool, _ location: PageStoreOptions.Location,
        _ random: inout SeededRandom, _ comment: String
    ) throws {
        let store = try IndexTestStore(location)
        // Another index before and after, so that walking beyond the ends would be noticed.
        for neighbour in [IndexKey(6), IndexKey(8)] {
            let delta = IndexDelta()
            for key in 0 ..< 20 { delta.add(.int(Int64(key)), ObjectKey(Int64(key))) }
            delta.add(.null, ObjectKey(99))
            try store.commit { try IndexMerge.apply(delta, to: neighbour, over: store.pages, into: &$0) }
        }
        var model = IndexModel(shape)
        var reader = IndexReader(Self.index, pages: store.pages)
        for _ in 0 ..< 14 {
            // Often with the little memory that sends runs to the spill file.
            let isShort = random.chance(60)
            let delta = IndexDelta(
                isUnique: isUnique, spill: isShort ? SpillFile() : nil, mostNear: 1 + random.below(60))
            let view = IndexView(reader, delta)
            // Mostly adding, mostly removing, or a bit of both.
            let adding = random.pick([95, 70, 50, 10, 0])
            for _ in 0 ..< random.below(random.pick([3, 40, 400])) {
                model.step(delta, addingPercent: adding, &random)
                if random.chance(5) {
                    try model.check(view, &random, comment)
                    try delta.checkInvariants()
                }
            }
            try model.check(view, &random, comment)
            try store.commit {
                try IndexMerge.apply(delta, to: Self.index, over: store.pages, into: &$0, blockBytes: blockBytes)
            }
            reader = IndexReader(Self.index, pages: store.pages)
            for _ in 0 ..< 5 { try model.check(IndexView(reader), &random, comment) }
            try checkBlocks(store, model, blockBytes, comment)
        }
        try store.commit { try IndexMerge.drop(Self.index, over: store.pages, into: &$0) }
        #expect(try IndexView(IndexReader(Self.index, pages: store.pages)).count() == 0, "\(comment)")
        #expect(try IndexView(IndexReader(IndexKey(6), pages: store.pages)).count() == 21, "\(comment)")
        #expect(try IndexView(IndexReader(IndexKey(8), pages: store.pages)).count() == 21, "\(comment)")
    }

    /// A change to an index that has just been built writes one block. Where values came as the rows did, blocks are
    /// full, since what comes next goes behind them.
    @Test(arguments: [false, true]) func builtBlocksHaveRoomWhereValuesComeInAnyOrder(ascending: Bool) throws {
        let store = try IndexTestStore()
        let delta = IndexDelta(spill: SpillFile(), mostNear: 100)
        var random = SeededRandom(seed: 5)
        for key in 0 ..< 20_000 {
            delta.add(.int(ascending ? Int64(key) : Int64(random.below(1 << 30))), ObjectKey(Int64(key)))
        }
        try store.commit { try IndexMerge.build(delta, Self.index, into: &$0) }
        let sizes = try store.dump(0x07).map(\.value.count)
        #expect(sizes.count > 10)
        let most = IndexBlockEncoder.defaultBlockBytes
        #expect(sizes.dropLast().allSatisfy { ascending ? $0 > most - 16 : $0 > most * 7 / 8 && $0 < most * 31 / 32 })
        guard !ascending else { return }
        for key in 20_000 ..< 20_100 {
            let one = IndexDelta()
            one.add(.int(Int64(random.below(1 << 30))), ObjectKey(Int64(key)))
            var written = 0
            try store.commit {
                try IndexMerge.apply(one, to: Self.index, over: store.pages, into: &$0)
                written = $0.count
            }
            #expect(written == 1)
        }
        #expect(try store.dump(0x07).count == sizes.count)
    }

    /// I1 to I4, and that everything is there.
    private func checkBlocks(
        _ store: IndexTestStore, _ model: IndexModel, _ blockBytes: Int, _ comment: String
    ) throws {
        for (space, expected) in [(IndexSpace.values(Self.index), model.values), (.nulls(Self.index), model.nulls)] {
            var stored: ContiguousArray<IndexEntry> = []
            var bounds: [IndexEntry] = []
            for (key, value) in try store.dump(0x07) {
                guard let bound = key.withUnsafeBytes({ space.bound(in: $0) }) else { continue }
                let start = stored.count
                try value.withUnsafeBytes { bytes in
                    let block = try key.withUnsafeBytes { try IndexBlock(validating: bytes, pageKey: $0) }
                    block.appendEntries(0 ..< block.count, to: &stored)
                }
                #expect(stored.count > start, "I1; \(comment)")
                #expect(value.count <= blockBytes, "\(comment)")
                #expect(!(stored[start] < bound), "I2; \(comment)")
                if start > 0 {
                    #expect(stored[start - 1] < bound, "I2; \(comment)")
                    #expect(stored[start - 1] != stored[start], "I4; \(comment)")
                }
                bounds.append(bound)
            }
            #expect(bounds.first == nil || bounds.first == .lowest, "I3; \(comment)")
            #expect(Array(stored) == expected, "I1; \(comment)")
        }
    }
}

/// The entries in a sorted array.
struct IndexModel {
    let shape: IndexModelTests.Shape
    private(set) var values: [IndexEntry] = []
    private(set) var nulls: [IndexEntry] = []
    private var next: Int64 = 0

    init(_ shape: IndexModelTests.Shape) { self.shape = shape }

    private mutating func draw(_ random: inout SeededRandom) -> (IndexValue, ObjectKey) {
        if random.chance(4) { return (.null, ObjectKey(Int64(random.below(300)))) }
        switch shape {
        case .few: return (.int(Int64(random.below(4)) - 2), ObjectKey(Int64(random.below(60))))
        case .distinct: return (.int(Int64(random.below(4_000)) - 2_000), ObjectKey(Int64(random.below(1_000_000))))
        case .wide:
            let value = random.chance(10) ? random.pick([Int64.min, .max, 0]) : Int64(bitPattern: random.next())
            return (.int(value), ObjectKey(Int64(random.next() >> 16)))
        case .ascending:
            next += 1
            return (.int(next), ObjectKey(next * 3))
        }
    }

    mutating func step(_ delta: IndexDelta, addingPercent: Int, _ random: inout SeededRandom) {
        if random.chance(addingPercent) {
            let (value, key) = draw(&random)
            // Now and then a long run of equal entries, which must not be split.
            for _ in 0 ..< (random.chance(3) ? random.below(300) : 1) {
                delta.add(value, key)
                let entry = IndexEntry(value: value.raw, key: UInt64(key.rawValue))
                if value.isNull { Self.insert(entry, &nulls) } else { Self.insert(entry, &values) }
            }
        } else if random.chance(90) ? !values.isEmpty : nulls.isEmpty && !values.isEmpty {
            let entry = values.remove(at: random.below(values.count))
            delta.remove(.int(Int64(bitPattern: entry.value ^ (1 << 63))), ObjectKey(Int64(entry.key)))
        } else if !nulls.isEmpty {
            let entry = nulls.remove(at: random.below(nulls.count))
            delta.remove(.null, ObjectKey(Int64(entry.key)))
        }
    }

    private static func insert(_ entry: IndexEntry, _ entries: inout [IndexEntry]) {
        let place = entries.withUnsafeBufferPointer { IndexEntries.upperBound($0, entry) }
        entries.insert(entry, at: place)
    }

    func check(_ view: IndexView, _ random: inout SeededRandom, _ comment: String) throws {
        let sample = values.isEmpty ? IndexValue.int(0) : value(values[random.below(values.count)])
        for asked in [sample, .int(Int64(random.below(10)) - 5), .null, .int(Int64.min), .int(Int64.max)] {
            let entries = asked.isNull ? nulls : values.filter { $0.value == asked.raw }
            let keys = entries.map { Int64($0.key) }
            var found: [Int64] = []
            try view.keys(asked, into: &found)
            #expect(found == keys, "\(comment)")
            #expect(try view.count(asked) == keys.count, "\(comment)")
            #expect(try view.firstKey(asked)?.rawValue == keys.first, "\(comment)")
            let key = keys.isEmpty ? 5 : random.pick(keys)
            #expect(try view.count(asked, ObjectKey(key)) == keys.filter { $0 == key }.count, "\(comment)")
        }
        let first = values.isEmpty ? 0 : values[random.below(values.count)].value
        let second = random.chance(20) ? UInt64.max : values.isEmpty ? 9 : values[random.below(values.count)].value
        let range = min(first, second) ... max(first, second)
        let inside = values.filter { range.contains($0.value) }.map { Int64($0.key) }
        var found: [Int64] = []
        try view.keys(range, into: &found)
        #expect(found == inside, "\(comment)")
        #expect(try view.count(range) == inside.count, "\(comment)")
        #expect(try view.count() == values.count + nulls.count, "\(comment)")
        try checkWalk(view, comment)
    }

    private func value(_ entry: IndexEntry) -> IndexValue { .int(Int64(bitPattern: entry.value ^ (1 << 63))) }

    private func checkWalk(_ view: IndexView, _ comment: String) throws {
        var walked: [IndexEntry] = []
        let walk = try view.makeWalk()
        while let batch = try walk.next() {
            for (value, key) in zip(batch.values, batch.keys) {
                walked.append(IndexEntry(value: value, key: UInt64(key)))
            }
        }
        #expect(walked == values, "\(comment)")
    }
}
