/// Sums of floating columns, added side by side where all rows count, and ranges of bytes in chunks of every length.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct SummingTests {
    private static func summary(_ values: [Value], _ rows: [Bool]?, bounds: Bool) throws -> (Double, Int) {
        var summary = AggregateKernels.DoubleSummary()
        let kind: ColumnKind = if case .float? = values.first { .float } else { .double }
        var words = [UInt64](repeating: 0, count: Selection.wordCount(values.count) + 1)
        for (row, isIn) in (rows ?? []).enumerated() where isIn { words[row >> 6] |= 1 << UInt64(row & 63) }
        try KernelTests.makeChunk(kind, values) { chunk in
            words.withUnsafeBufferPointer { words in
                let selection = rows == nil ? nil : words.baseAddress
                AggregateKernels.addDoubles(chunk, selection, bounds: bounds, to: &summary)
            }
        }
        return (summary.sum, summary.count)
    }

    @Test func sumsSideBySideAreThoseOfALoop() throws {
        try PropertyTest.run(rounds: 40) { random, comment in
            let isFloat = random.chance(20), hasNulls = random.chance(20)
            let values = (0 ..< 1 + random.below(200)).map { row -> Value in
                if hasNulls, row > 0, random.chance(10) { return .null }
                let value = Double(random.below(1 << 20)) / 8
                return isFloat ? .float(Float(value)) : .double(value)
            }
            let rows = random.chance(30) ? values.map { _ in random.chance(50) } : nil
            var sum = 0.0, count = 0
            for (row, value) in values.enumerated() where rows?[row] ?? true {
                switch value {
                case .double(let value): sum += value
                case .float(let value): sum += Double(value)
                default: continue
                }
                count += 1
            }
            // Eighths of small numbers are added exactly in any order.
            for bounds in [false, true] {
                let found = try Self.summary(values, rows, bounds: bounds)
                #expect(found.0 == sum && found.1 == count, "\(found) \(sum) \(count); \(comment)")
            }
        }
    }

    @Test func whatIsNoNumberStaysInTheSum() throws {
        for place in 0 ..< 19 {
            var values = [Value](repeating: .double(1), count: 19)
            values[place] = .double(.infinity)
            #expect(try Self.summary(values, nil, bounds: false).0 == .infinity)
            values[(place + 7) % 19] = .double(-.infinity)
            #expect(try Self.summary(values, nil, bounds: false).0.isNaN)
            values[place] = .double(.nan)
            #expect(try Self.summary(values, nil, bounds: false).0.isNaN)
        }
    }

    @Test func bytesInARangeAreFoundWhateverTheirNumber() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let edges = [1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257]
            for rows in edges + [2 + random.below(300)] {
                let values = (0 ..< rows).map { _ in Int64(random.below(random.chance(50) ? 4 : 256)) }
                let low = Int64(random.below(256)), high = low + Int64(random.below(90))
                for (low, high) in [(0, 0), (0, 255), (255, 255), (3, 250), (low, high)] as [(Int64, Int64)] {
                    // What lies behind is not touched.
                    let count = Selection.wordCount(rows)
                    var words = [UInt64](repeating: ~0, count: count + 1)
                    try KernelTests.makeChunk(.int, values.map(Value.int)) { chunk in
                        ComparisonKernels.selectInts(chunk, between: low, and: high, into: &words)
                    }
                    var expected = [UInt64](repeating: 0, count: count) + [~0]
                    for (row, value) in values.enumerated() where value >= low && value <= high {
                        expected[row >> 6] |= 1 << UInt64(row & 63)
                    }
                    #expect(words == expected, "\(rows) \(low) \(high); \(comment)")
                    let bits = values.count { $0 >= low && $0 <= high }
                    #expect(Selection.count(words, rows: rows) == bits, "\(rows) \(low) \(high); \(comment)")
                }
            }
        }
    }
}
