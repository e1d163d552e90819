// Random edits of builders beside a plain array of values, with every encoding met on the way decoded and compared.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct ChunkBuilderTests {
    @Test(arguments: ColumnKind.allCases, [true, false])
    func editsMatchAnArrayOfValues(kind: ColumnKind, nullable: Bool) throws {
        try PropertyTest.run(rounds: 12) { random, comment in
            let builder = ChunkBuilder(kind: kind, nullable: nullable, capacity: random.below(20))
            let spread = random.below(5)
            var model: [Value] = []
            func value() -> Value {
                nullable && random.chance(15) ? .null : KernelTests.randomValue(kind, &random, spread: spread)
            }
            for _ in 0 ..< random.below(400) {
                edit(builder, &model, value(), &random)
                #expect(builder.count == model.count)
            }
            expectSame(builder, model, comment)
            try roundTrip(builder, model, comment)
            // A loaded builder goes on from there.
            let loaded = ChunkBuilder(kind: kind, nullable: nullable, capacity: 0)
            try decode(builder) { loaded.load($0) }
            for _ in 0 ..< 20 { edit(loaded, &model, value(), &random) }
            expectSame(loaded, model, comment)
            try roundTrip(loaded, model, comment)
        }
    }

    private func edit(_ builder: ChunkBuilder, _ model: inout [Value], _ value: Value, _ random: inout SeededRandom) {
        let row = random.below(model.count)
        switch random.below(model.isEmpty ? 2 : 8) {
        case 2, 3:
            value.withView { builder.set(row, $0) }
            model[row] = value
        case 4:
            value.withView { builder.insert($0, at: row) }
            model.insert(value, at: row)
        case 5:
            builder.remove(at: row)
            model.remove(at: row)
        case 6:
            // A borrowed view of the builder's own bytes may be handed back.
            let other = random.below(model.count)
            builder.set(row, builder.view(other))
            model[row] = model[other]
        case 7:
            builder.insert(builder.view(row), at: row)
            model.insert(model[row], at: row)
        default:
            value.withView { builder.append($0) }
            model.append(value)
        }
    }

    private func expectSame(_ builder: ChunkBuilder, _ model: [Value], _ comment: String) {
        #expect(builder.count == model.count, "\(comment)")
        for row in 0 ..< min(builder.count, model.count) {
            #expect(builder.view(row).owned == model[row], "\(comment)")
            #expect(builder.isNull(row) == model[row].isNull, "\(comment)")
        }
    }

    private func roundTrip(_ builder: ChunkBuilder, _ model: [Value], _ comment: String) throws {
        try decode(builder) { chunk in
            #expect(chunk.count == model.count, "\(comment)")
            for row in 0 ..< min(chunk.count, model.count) {
                #expect(chunk.view(row).owned == model[row], "row \(row): \(comment)")
            }
        }
    }

    private func decode(_ builder: ChunkBuilder, _ body: (ColumnChunk) throws -> Void) throws {
        let bytes = TestKey.use { builder.encode(key: $0) }
        #expect(bytes.count == builder.encodedSize())
        try bytes.withUnsafeBytes { bytes in
            try TestKey.use { try body(try ColumnChunk(validating: bytes, kind: builder.kind, key: $0)) }
        }
    }

    @Test func nullInAColumnWithoutNullsIsTheDefault() throws {
        for kind in ColumnKind.allCases {
            let builder = ChunkBuilder(kind: kind, nullable: false, capacity: 4)
            builder.append(.null)
            builder.appendDefaults(2)
            #expect(!builder.isNull(0) && builder.count == 3)
            try decode(builder) { chunk in
                #expect(!chunk.hasNulls && chunk.view(0).owned == chunk.view(2).owned)
                #expect(chunk.view(0).low == 0 || kind == .string || kind == .data)
            }
        }
    }

    @Test func typedAndStridedAppendsAgreeWithViews() throws {
        let rows = (0 ..< 50).map { ValueView.int($0 * 3) }
        let values = (0 ..< 50).map { ValueView.double(Double($0)) }
        var interleaved: [ValueView] = []
        for row in 0 ..< 50 { interleaved += [rows[row], values[row]] }
        let strided = ChunkBuilder(kind: .double, nullable: false, capacity: 1)
        let typed = ChunkBuilder(kind: .double, nullable: false, capacity: 1)
        interleaved.withUnsafeBufferPointer {
            if let base = $0.baseAddress { strided.append(base + 1, stride: 2, count: 50) }
        }
        for row in 0 ..< 50 { typed.appendDouble(Double(row)) }
        #expect(TestKey.use { strided.encode(key: $0) } == TestKey.use { typed.encode(key: $0) })
    }

    /// Widths follow the distance between the extremes, and repeated texts become codes.
    @Test func encodingsAreNarrow() {
        func size(_ kind: ColumnKind, _ values: [Value]) -> Int {
            let builder = ChunkBuilder(kind: kind, nullable: true, capacity: values.count)
            for value in values { value.withView { builder.append($0) } }
            return builder.encodedSize()
        }
        let base: Int64 = 1 << 40
        #expect(size(.int, (0 ..< 480).map { _ in .int(base) }) == 16 + 8)
        #expect(size(.int, (0 ..< 480).map { .int(base + $0 % 256) }) == 16 + 8 + 480)
        #expect(size(.int, (0 ..< 480).map { .int(base + $0 % 257) }) == 16 + 8 + 960)
        #expect(size(.int, [.int(.min), .int(.max)]) == 16 + 8 + 16)
        #expect(size(.bool, (0 ..< 480).map { .bool($0 % 2 == 0) }) == 16 + 64)
        #expect(size(.link, [.null, .null]) == 16 + 8 + 8)
        #expect(size(.string, (0 ..< 480).map { .string("carrier \($0 % 14)") }) < 480 + 400)
        // Texts of eight bytes, row by row with a byte of hash and an offset; codes of two bytes and half the texts.
        var random = SeededRandom(seed: 5)
        for (among, isDictionary) in [(300, true), (1_000, true), (1_500, false), (8_000, false)] {
            let cities = (0 ..< 1_900).map { _ in Value.string("city\(1_000 + random.below(among))") }
            let codes = 3_800 + 8 + Set(cities).count * 11 + 2
            #expect(size(.string, cities) == 16 + ((isDictionary ? codes : 1_900 * 11 + 2) + 7) & ~7, "\(among)")
        }
        let times = (0 ..< 480).map { Value.timestamp(Timestamp(seconds: $0, nanoseconds: 0)) }
        #expect(size(.timestamp, times) == 16 + 8 + 960)
    }

    @Test func longTextsTakeWideOffsets() throws {
        let builder = ChunkBuilder(kind: .data, nullable: false, capacity: 2)
        let long = [UInt8](repeating: 7, count: 70_000)
        for _ in 0 ..< 3 { Value.data(long).withView { builder.append($0) } }
        Value.data([]).withView { builder.append($0) }
        try decode(builder) { chunk in
            #expect(chunk.bytes(2).elementsEqual(long) && chunk.bytes(3).isEmpty)
        }
    }
}

/// The key that test chunks are stored under.
enum TestKey {
    static func use<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let key: [UInt8] = [4, 0, 0, 1, 9]
        return try key.withUnsafeBytes { try body($0) }
    }
}
