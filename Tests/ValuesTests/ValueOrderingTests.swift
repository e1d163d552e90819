// Order and equality across kinds, against hand-picked ascending sequences.
import MotteValues
import Testing

@Suite struct ValueOrderingTests {
    static let ascending: [Value] = [
        .null, .bool(false), .bool(true), .double(.nan), .double(-.infinity), .int(.min), .double(-1.5), .int(-1),
        .double(0), .float(0.5), .int(1), .int(9_007_199_254_740_992), .int(9_007_199_254_740_993), .int(.max),
        .double(0x1p63), .string(""), .string("a"), .string("ab"), .string("e\u{301}"), .string("\u{e9}"),
        .data([]), .data([0]), .data([255]), .timestamp(Timestamp(seconds: -1, nanoseconds: 500_000_000)),
        .timestamp(Timestamp(seconds: 0, nanoseconds: 0)),
        .link(ObjectLink(table: TableKey(1), key: ObjectKey(5))),
        .link(ObjectLink(table: TableKey(2), key: ObjectKey(0))),
    ]

    @Test func eachIsBelowAllThatFollow() {
        for (index, value) in Self.ascending.enumerated() {
            #expect(value == value)
            for later in Self.ascending[(index + 1)...] {
                #expect(value < later, "\(value) < \(later)")
                #expect(!(later < value) && value != later)
            }
        }
    }

    @Test func equalNumbersOfDifferentKindsAreEqualAndHashAlike() {
        let equals: [[Value]] = [
            [.int(3), .float(3), .double(3)], [.double(0), .double(-0.0), .int(0)], [.double(.nan), .float(.nan)],
        ]
        for group in equals {
            for value in group {
                #expect(value == group[0])
                #expect(value.hashValue == group[0].hashValue)
            }
        }
    }

    @Test func prefixesAreTheFirstBytesOfOrderKeys() {
        let values: [Value] = [
            .int(0), .int(-5), .int(.max), .float(1.5), .double(.nan), .double(-0.0), .double(.infinity),
            .double(1e300), .decimal(Decimal128(0.1)), .decimal(.infinity),
            .timestamp(Timestamp(seconds: -1, nanoseconds: 5)),
            .string("a long text"), .string("seven 7"), .string("short"), .string("zero\0 inside"),
            .data([1, 2, 3, 4, 5, 6, 7]), .bool(true), .null, .list([.int(1)]), .uuid(UUIDBytes(low: 1, high: 2)),
        ]
        var known = 0
        for value in values {
            value.withView { view in
                guard let prefix = OrderKey.prefix(of: view) else { return }
                known += 1
                let bytes = OrderKey.bytes(of: view)
                #expect(bytes.count > 8)
                #expect(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } == prefix, "\(value)")
            }
        }
        #expect(known == 14)
    }

    @Test func composedAndDecomposedStringsDiffer() {
        #expect(Value.string("\u{e9}") != Value.string("e\u{301}"))
    }

    @Test func viewsRoundTrip() {
        for value in Self.ascending { #expect(value.withView { $0.owned } == value) }
        #expect(MemoryLayout<ValueView>.size == 24 && MemoryLayout<ValueView>.stride == 24)
    }
}
