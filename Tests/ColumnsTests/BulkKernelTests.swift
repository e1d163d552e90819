// The kernels that look at many values at once, against a look at each value: membership, ranges, text search, totals,
// pairs of columns and bulk decoding.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct BulkKernelTests {
    private func selected(_ chunk: ColumnChunk, _ body: (SelectionWords) -> Void) -> [Int] {
        var words = [UInt64](repeating: 0xAAAA_AAAA_AAAA_AAAA, count: Selection.wordCount(chunk.count) + 1)
        var keys: [Int64] = []
        words.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            body(base)
            Selection.appendKeys(base, rows: chunk.count, first: 0, to: &keys)
        }
        return keys.map(Int.init)
    }

    private func values(_ kind: ColumnKind, _ random: inout SeededRandom, _ count: Int, nulls: Bool = true) -> [Value] {
        let spread = random.below(5)
        return (0 ..< count).map { _ in
            nulls && random.chance(10) ? .null : KernelTests.randomValue(kind, &random, spread: spread)
        }
    }

    @Test(arguments: [ColumnKind.int, .link])
    func rangesAndMembersOfInts(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 60) { random, comment in
            let rows = values(kind, &random, random.below(300))
            func number(_ value: Value) -> Int64? { value.withView { $0.isNull ? nil : $0.intValue } }
            var members = (0 ..< 6).compactMap { _ in
                number(KernelTests.randomValue(kind, &random, spread: random.below(5)))
            }
            members += rows.prefix(3).compactMap(number)
            members = Array(Set(members)).sorted()
            try KernelTests.makeChunk(kind, rows) { chunk in
                let among = members.withUnsafeBufferPointer { members in
                    selected(chunk) { MembershipKernels.selectInts(chunk, among: members, into: $0) }
                }
                #expect(among == rows.indices.filter { number(rows[$0]).map(members.contains) ?? false }, "\(comment)")
                let low = random.pick(members), high = random.pick(members)
                let between = selected(chunk) { ComparisonKernels.selectInts(chunk, between: low, and: high, into: $0) }
                let inside = rows.indices.filter { number(rows[$0]).map { $0 >= low && $0 <= high } ?? false }
                #expect(between == inside, "\(comment)")
            }
        }
    }

    @Test(arguments: [ColumnKind.string, .data])
    func membersOfTexts(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 40) { random, comment in
            let rows = values(kind, &random, random.below(300))
            let members =
                rows.prefix(3)
                + (0 ..< 5).map { _ in
                    KernelTests.randomValue(kind, &random, spread: random.below(5))
                }
            let set = TextSet(members.filter { !$0.isNull }.map { $0.withView { [UInt8]($0.bytes) } })
            try KernelTests.makeChunk(kind, rows) { chunk in
                let found = selected(chunk) { MembershipKernels.selectTexts(chunk, among: set, into: $0) }
                #expect(found == rows.indices.filter { !rows[$0].isNull && members.contains(rows[$0]) }, "\(comment)")
            }
        }
    }

    /// CONTAINS searches the texts of a chunk as one; neighbours must not flow together.
    @Test func searchAgreesWithMatchingEachText() throws {
        let alphabet = ["a", "A", "b", "n", "N", "é", "É", "\u{212A}", "k", "ß", " "]
        try PropertyTest.run(rounds: 120) { random, comment in
            let letters = random.chance(50) ? 5 : alphabet.count
            func text(_ limit: Int) -> String {
                (0 ..< random.below(limit)).map { _ in alphabet[random.below(letters)] }.joined()
            }
            let rows = (0 ..< random.below(120)).map { _ in random.chance(8) ? Value.null : .string(text(14)) }
            let pattern = text(4), options = TextOptions(rawValue: UInt8(random.below(4)))
            for mode in [TextMatcher.Mode.contains, .beginsWith, .endsWith, .equal, .like] {
                let matcher = pattern.withUTF8Bytes { TextMatcher(mode, $0, options) }
                try KernelTests.makeChunk(.string, rows) { chunk in
                    let found = selected(chunk) { TextKernels.select(chunk, matching: matcher, into: $0) }
                    let expected = rows.indices.filter { row in
                        !rows[row].isNull && Self.naive(mode, rows[row], pattern, options)
                    }
                    #expect(found == expected, "\(mode) '\(pattern)' \(options): \(comment)")
                }
            }
        }
    }

    private static func naive(
        _ mode: TextMatcher.Mode, _ value: Value, _ pattern: String, _ options: TextOptions
    ) -> Bool {
        guard case .string(let text) = value else { return false }
        func fold(_ text: String) -> [UInt8] {
            let isLower = options.contains(.ignoresCase), isBare = options.contains(.ignoresDiacritics)
            let lower = isLower ? text.unicodeScalars.map(\.properties.lowercaseMapping).joined() : text
            return isBare ? TextFoldingTests.withoutMarks(lower) : Array(lower.utf8)
        }
        let text8 = fold(text), pattern8 = fold(pattern)
        switch mode {
        case .equal, .like: return text8 == pattern8
        case .beginsWith: return !pattern8.isEmpty && text8.starts(with: pattern8)
        case .endsWith: return !pattern8.isEmpty && text8.reversed().starts(with: pattern8.reversed())
        case .contains:
            guard !pattern8.isEmpty, text8.count >= pattern8.count else { return false }
            return (0 ... text8.count - pattern8.count).contains { text8[$0...].starts(with: pattern8) }
        }
    }

    @Test func totalsAgreeWithAddingUp() throws {
        try PropertyTest.run(rounds: 80) { random, comment in
            let rows = values(.int, &random, random.below(300), nulls: random.chance(50))
            let chosen = random.chance(50) ? nil : rows.indices.filter { _ in random.chance(50) }
            let ints = (chosen ?? Array(rows.indices)).compactMap { row -> Int64? in
                if case .int(let value) = rows[row] { return value }
                return nil
            }
            try KernelTests.makeChunk(.int, rows) { chunk in
                var words = [UInt64](repeating: 0, count: Selection.wordCount(chunk.count) + 1)
                for row in chosen ?? [] { words[row / 64] |= 1 << UInt64(row % 64) }
                var summary = AggregateKernels.IntSummary()
                words.withUnsafeBufferPointer {
                    AggregateKernels.addInts(chunk, chosen == nil ? nil : $0.baseAddress, to: &summary)
                }
                #expect(summary.count == ints.count, "\(comment)")
                #expect(summary.sum == ints.reduce(Int128(0)) { $0 + Int128($1) }, "\(comment)")
                if let lowest = ints.min(), let highest = ints.max() {
                    #expect(summary.lowest == lowest && summary.highest == highest, "\(comment)")
                }
            }
        }
    }

    /// Of every width that a chunk keeps its values in, at the ends of what ints can be.
    @Test(arguments: [0, 1, 200, 255, 256, 65_535, 65_536, 4_000_000_000, 4_294_967_295, 4_294_967_296] as [Int64])
    func totalsOfEachWidth(span: Int64) throws {
        try PropertyTest.run(rounds: 12) { random, comment in
            let bases: [Int64] = [.min, .max - span, 0, -span / 2, Int64(random.below(1 << 40)) - 1 << 39]
            let base = bases[random.below(bases.count)]
            var ints = [base, base + span]
            for _ in 0 ..< random.below(3_000) {
                ints.append(random.chance(20) ? base + span : base + Int64(random.below(Int(span) + 1)))
            }
            try KernelTests.makeChunk(.int, ints.map { .int($0) }) { chunk in
                var summary = AggregateKernels.IntSummary()
                for _ in 0 ..< 2 { AggregateKernels.addInts(chunk, nil, to: &summary) }
                #expect(summary.count == 2 * ints.count, "\(comment)")
                #expect(summary.sum == 2 * ints.reduce(Int128(0)) { $0 + Int128($1) }, "\(comment)")
                #expect(summary.lowest == base && summary.highest == base + span, "\(comment)")
            }
        }
    }

    @Test(arguments: [ColumnKind.int, .double, .string, .timestamp, .bool])
    func pairsOfColumnsAgreeWithPairsOfValues(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let left = values(kind, &random, 100)
            let other = kind == .int && random.chance(50) ? .double : kind
            let right = values(other, &random, 100)
            try KernelTests.makeChunk(kind, left) { leftChunk in
                try KernelTests.makeChunk(other, right) { rightChunk in
                    for op in ComparisonOperator.allCases {
                        let found = selected(leftChunk) {
                            ColumnPairKernels.select(leftChunk, op, rightChunk, into: $0)
                        }
                        let expected = left.indices.filter { Self.holds(left[$0], op, right[$0]) }
                        #expect(found == expected, "\(op): \(comment)")
                    }
                }
            }
        }
    }

    private static func holds(_ left: Value, _ op: ComparisonOperator, _ right: Value) -> Bool {
        if left.isNull || right.isNull { return left.isNull && right.isNull ? op.holds(0) : op == .notEqual }
        func isNaN(_ value: Value) -> Bool { if case .double(let number) = value { number.isNaN } else { false } }
        if isNaN(left) || isNaN(right) { return op == (isNaN(left) && isNaN(right) ? .equal : .notEqual) }
        return op.holds(Value.compare(left, right))
    }

    @Test(arguments: [ColumnKind.int, .link, .double, .float, .bool, .timestamp])
    func bulkDecodingAgreesWithSingleReads(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let rows = values(kind, &random, 1 + random.below(200))
            try KernelTests.makeChunk(kind, rows) { chunk in
                let first = random.below(rows.count), range = first ..< first + random.below(rows.count - first + 1)
                var ints = [Int64](repeating: 0, count: range.count + 1)
                var doubles = [Double](repeating: 0, count: range.count + 1)
                var bools = [UInt8](repeating: 9, count: range.count + 1)
                switch kind {
                case .int, .link: chunk.decodeInts(range, into: &ints)
                case .bool: chunk.decodeBools(range, into: &bools)
                case .double, .float: chunk.decodeDoubles(range, into: &doubles)
                default: break
                }
                for row in range {
                    let index = row - first
                    switch rows[row] {
                    case .null: #expect(ints[index] == (kind == .link ? -1 : 0) && doubles[index] == 0, "\(comment)")
                    case .int(let value): #expect(ints[index] == value, "\(comment)")
                    case .link(let value): #expect(ints[index] == value.key.rawValue, "\(comment)")
                    case .bool(let value): #expect(bools[index] == (value ? 1 : 0), "\(comment)")
                    case .double(let value): #expect(doubles[index].bitPattern == value.bitPattern, "\(comment)")
                    case .float(let value): #expect(Value.double(doubles[index]) == .float(value), "\(comment)")
                    default: break
                    }
                }
            }
        }
    }
}
