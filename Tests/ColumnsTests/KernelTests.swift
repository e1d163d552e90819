// Every kernel against a row-by-row evaluation through the order of values, on random chunks of every kind.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct KernelTests {
    static func randomValue(_ kind: ColumnKind, _ random: inout SeededRandom, spread: Int) -> Value {
        switch kind {
        case .bool: return .bool(random.below(2) == 0)
        case .int:
            switch spread {
            case 0: return .int(7)
            case 1: return .int(Int64(random.below(200)) - 50)
            case 2: return .int(Int64(random.below(60_000)))
            case 3: return .int(Int64(random.below(4_000_000_000)) - 1_000_000_000)
            case 4: return .int(Int64(random.below(1 << 40)) << Int64(random.below(20)))
            default: return .int([Int64.min, .max, 0, -1, Int64(bitPattern: random.next())][random.below(5)])
            }
        case .float: return .float([.nan, -0.0, 0, .infinity, Float(random.below(100)) / 4][random.below(5)])
        case .double: return .double([.nan, -0.0, 0, -.infinity, Double(random.below(100)) / 3][random.below(5)])
        case .string:
            if spread < 2 { return .string("city \(random.below(4))") }
            return .string(random.pick(["", "é", "e\u{301}", "Straße", "ABC \(random.below(90))"]))
        case .data: return .data((0 ..< random.below(20)).map { _ in UInt8(random.below(3)) })
        case .timestamp:
            let nanoseconds = spread < 2 ? 0 : UInt32(random.below(3) * 400_000_000)
            let reach = spread < 3 ? 500 : 1 << 40
            return .timestamp(Timestamp(seconds: Int64(random.below(reach) - reach / 2), nanoseconds: nanoseconds))
        case .link: return .link(ObjectLink(table: TableKey(0), key: ObjectKey(Int64(random.below(1_000)))))
        case .decimal:
            return .decimal(
                Decimal128(parsing: random.pick(["NaN", "0", "-0", "1.50", "15E-1", "1E40", "-3"])) ?? .nan)
        case .objectID: return .objectID(ObjectID(low: UInt64(random.below(90)) << 40, high: UInt64(random.below(3))))
        case .uuid: return .uuid(UUIDBytes(low: UInt64(random.below(90)) << 32, high: UInt64(random.below(2))))
        case .mixed:
            let kinds: [ColumnKind] = [.bool, .int, .float, .double, .string, .data, .timestamp, .decimal, .uuid]
            return randomValue(random.pick(kinds), &random, spread: spread)
        }
    }

    static func makeChunk(_ kind: ColumnKind, _ values: [Value], _ body: (ColumnChunk) throws -> Void) throws {
        let builder = ChunkBuilder(kind: kind, nullable: true, capacity: 8)
        for value in values { value.withView { builder.append($0) } }
        let key: [UInt8] = [1, 2, 3]
        let bytes = key.withUnsafeBytes { builder.encode(key: $0) }
        try bytes.withUnsafeBytes { bytes in
            try key.withUnsafeBytes { key in try body(try ColumnChunk(validating: bytes, kind: kind, key: key)) }
        }
    }

    @Test(arguments: ColumnKind.allCases)
    func chunksRoundTripAndCompare(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 40) { random, comment in
            let spread = random.below(5), nulls = random.below(3) == 0
            let values = (0 ..< random.below(500)).map { _ in
                nulls && random.below(4) == 0 ? Value.null : Self.randomValue(kind, &random, spread: spread)
            }
            // Often a value of the chunk or one beside it, so that bounds are met exactly.
            let constant =
                values.last.flatMap { $0.isNull || random.chance(40) ? nil : $0 }
                ?? Self.randomValue(kind, &random, spread: random.below(5))
            try Self.makeChunk(kind, values) { chunk in
                #expect(chunk.count == values.count)
                for (row, value) in values.enumerated() { #expect(chunk.view(row).owned == value, "\(comment)") }
                for op in ComparisonOperator.allCases {
                    let selected = Self.run(chunk, op, constant)
                    let expected = values.indices.filter { Self.naive(values[$0], op, constant) }
                    #expect(selected == expected, "\(kind) \(op) \(constant): \(comment)")
                }
            }
        }
    }

    private static func run(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Value) -> [Int] {
        let count = max(1, Selection.wordCount(chunk.count))
        let words = SelectionWords.allocate(capacity: count)
        words.update(repeating: 0xAAAA_AAAA_AAAA_AAAA, count: count)
        defer { words.deallocate() }
        select(chunk, op, constant, into: words)
        var keys: [Int64] = []
        Selection.appendKeys(words, rows: chunk.count, first: 0, to: &keys)
        return keys.map(Int.init)
    }

    static func select(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Value, into words: SelectionWords) {
        if chunk.kind == .mixed || chunk.kind == .decimal {
            if !constant.isNull { constant.withView { ComparisonKernels.selectValues(chunk, op, $0, into: words) } }
            return
        }
        switch constant {
        case .bool(let value): ComparisonKernels.selectBools(chunk, op, value, into: words)
        case .int(let value): ComparisonKernels.selectInts(chunk, op, value, into: words)
        case .float(let value): ComparisonKernels.selectDoubles(chunk, op, Double(value), into: words)
        case .double(let value): ComparisonKernels.selectDoubles(chunk, op, value, into: words)
        case .timestamp(let value): ComparisonKernels.selectTimestamps(chunk, op, value, into: words)
        case .link(let value): ComparisonKernels.selectLinks(chunk, op, value.key.rawValue, into: words)
        case .string, .data:
            constant.withView { TextKernels.select(chunk, op, $0.bytes, into: words) }
        case .decimal, .objectID, .uuid, .list, .map:
            constant.withView { ComparisonKernels.selectValues(chunk, op, $0, into: words) }
        case .null: break
        }
    }

    private static func naive(_ value: Value, _ op: ComparisonOperator, _ constant: Value) -> Bool {
        if value.isNull { return op == .notEqual }
        if isNaN(value) != isNaN(constant) { return op == .notEqual }
        let isComparable = value.withView { value in constant.withView { ValueOrdering.areComparable(value, $0) } }
        guard isComparable else { return op == .notEqual }
        if isNaN(value) { return op == .equal }
        return op.holds(Value.compare(value, constant))
    }

    private static func isNaN(_ value: Value) -> Bool {
        switch value {
        case .float(let number): number.isNaN
        case .double(let number): number.isNaN
        case .decimal(let number): number.isNaN
        default: false
        }
    }

    @Test func textMatchesWithAndWithoutCase() {
        func match(_ mode: TextMatcher.Mode, _ text: String, _ pattern: String, _ ignoresCase: Bool) -> Bool {
            let matcher = pattern.withUTF8Bytes { TextMatcher(mode, $0, ignoresCase ? .ignoresCase : []) }
            return text.withUTF8Bytes { matcher.matches($0) }
        }
        #expect(match(.contains, "John F Kennedy Intl", "kennedy", true))
        #expect(!match(.contains, "John F Kennedy Intl", "kennedy", false))
        #expect(match(.beginsWith, "Überfall", "über", true))
        #expect(match(.endsWith, "abc", "BC", true) && !match(.endsWith, "abc", "abcd", true))
        for mode in [TextMatcher.Mode.beginsWith, .endsWith, .contains] {
            #expect(!match(mode, "abc", "", true) && !match(mode, "", "", false))
        }
        #expect(match(.like, "", "*", false) && match(.like, "é", "?", false) && !match(.like, "ab", "?", false))
        #expect(match(.like, "a long road", "a*r?ad", false) && match(.like, "A LONG ROAD", "a*R?ad", true))
    }
}
