// Codes of texts: equal texts have one, others have others, whatever their sizes and wherever in a chunk they lie.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct TextTableTests {
    /// Sizes around eight and sixteen bytes, texts that differ in their last byte alone, or in zeros behind the end.
    private static func text(_ random: inout SeededRandom, _ spread: Int) -> Value {
        let size = random.pick([0, 1, 7, 8, 9, 15, 16, 17, 31, 33])
        var bytes = [UInt8](repeating: UInt8(65 + random.below(spread)), count: size)
        if size > 0 { bytes[size - 1] = UInt8(random.below(spread)) }
        return .data(bytes)
    }

    @Test(arguments: [2, 60]) func equalTextsHaveOneCode(spread: Int) throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let table = UnsafeMutablePointer<TextTable>.allocate(capacity: 1)
            table.initialize(to: TextTable())
            defer {
                table.pointee.deallocate()
                table.deallocate()
            }
            var known: [Value: UInt32] = [.null: 0]
            for _ in 0 ..< 6 {
                let hasNulls = random.chance(50)
                let values = (0 ..< 1 + random.below(900)).map { _ in
                    hasNulls && random.chance(10) ? Value.null : Self.text(&random, spread)
                }
                let rows = values.indices.filter { _ in random.chance(70) }.map { UInt32($0) }
                try KernelTests.makeChunk(.data, values) { chunk in
                    for chosen in [rows, Array(rows.prefix(3)), values.indices.map { UInt32($0) }] {
                        let codes = Self.codes(table, chunk, chosen, isDense: chosen.count == values.count)
                        for (row, code) in zip(chosen, codes) {
                            let value = values[Int(row)]
                            #expect(known[value, default: code] == code, "\(value): \(comment)")
                            known[value] = code
                            if code > 0 { #expect(Value.data(Array(table.pointee.bytes(code))) == value, "\(comment)") }
                        }
                    }
                }
            }
            #expect(Set(known.values).count == known.count, "\(comment)")
        }
    }

    private static func codes(
        _ table: UnsafeMutablePointer<TextTable>, _ chunk: ColumnChunk, _ rows: [UInt32], isDense: Bool
    ) -> [UInt32] {
        let output = UnsafeMutablePointer<UInt32>.allocate(capacity: max(1, rows.count))
        defer { output.deallocate() }
        rows.withUnsafeBufferPointer { rows in
            guard let start = rows.baseAddress else { return }
            table.pointee.codes(chunk, Slots(start: start, count: rows.count), isDense: isDense, into: output)
        }
        return Array(UnsafeBufferPointer(start: output, count: rows.count))
    }

    /// Of the rows that nobody asks about nothing is promised, of the others all.
    @Test func equalityAmongSomeRows() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let values = (0 ..< 1 + random.below(900)).map { _ in
                random.chance(10) ? Value.null : Self.text(&random, random.pick([2, 60]))
            }
            let wanted = Self.text(&random, 2)
            try KernelTests.makeChunk(.data, values) { chunk in
                for op in [ComparisonOperator.equal, .notEqual] {
                    let count = Selection.wordCount(values.count)
                    var open = (0 ..< count).map { _ in random.next() }, words = open
                    open.withUnsafeMutableBufferPointer {
                        if let base = $0.baseAddress { Selection.trim(base, rows: values.count) }
                    }
                    wanted.withView { TextKernels.select(chunk, op, $0.bytes, among: open, into: &words) }
                    for (row, value) in values.enumerated() where open[row >> 6] & (1 << UInt64(row & 63)) != 0 {
                        let isSelected = words[row >> 6] & (1 << UInt64(row & 63)) != 0
                        #expect(isSelected == ((value == wanted) == (op == .equal)), "\(row) \(op): \(comment)")
                    }
                }
            }
        }
    }
}
