// Values of random chunks as Arrow lays them out, in runs and scattered, beside the values themselves.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct ArrowKernelTests {
    @Test func bitsAreCopiedToAnyPlace() throws {
        try PropertyTest.run(rounds: 200) { random, repetition in
            let comment = Comment(rawValue: repetition)
            let source = (0 ..< 40).map { _ in UInt8(truncatingIfNeeded: random.below(256)) }
            var target = (0 ..< 40).map { _ in UInt8(truncatingIfNeeded: random.below(256)) }
            let first = random.below(60), place = random.below(60), count = random.below(200)
            func bit(_ bytes: [UInt8], _ index: Int) -> Bool { bytes[index / 8] >> UInt8(index % 8) & 1 == 1 }
            let before = target
            source.withUnsafeBytes { source in
                target.withUnsafeMutableBytes { target in
                    // unsafelyUnwrapped: neither is empty.
                    BitRuns.copy(
                        source.baseAddress.unsafelyUnwrapped, from: first, count: count,
                        to: target.baseAddress.unsafelyUnwrapped, at: place)
                }
            }
            #expect((0 ..< count).allSatisfy { bit(target, place + $0) == bit(source, first + $0) }, comment)
            #expect((0 ..< place).allSatisfy { bit(target, $0) == bit(before, $0) }, comment)
            let ones = source.withUnsafeBytes {
                BitRuns.countOnes($0.baseAddress.unsafelyUnwrapped, from: first, count: count)
            }
            #expect(ones == (0 ..< count).count { bit(source, first + $0) }, comment)
        }
    }

    @Test(arguments: [ColumnKind.int, .double, .float, .bool, .timestamp, .link, .uuid, .objectID])
    func numbersMatch(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 20) { random, repetition in
            let comment = Comment(rawValue: repetition)
            try Self.withChunk(kind, &random) { chunk, values, rows, slots, rowsOfSlots in
                let output = UnsafeMutableRawPointer.allocate(byteCount: 16 * values.count + 64, alignment: 16)
                defer { output.deallocate() }
                Kernels(chunk, rows).copy(kind, to: output)
                for (index, row) in rows.enumerated() { Self.expect(output, index, values[row], kind, comment) }
                Kernels(chunk, slots).copy(kind, to: output)
                for (index, row) in rowsOfSlots.enumerated() {
                    Self.expect(output, index, values[row], kind, comment)
                }
                let nulls = chunk.copyPresence(slots, to: output, at: 3)
                #expect(nulls == rowsOfSlots.count { values[$0] == .null }, comment)
                #expect(nulls == chunk.countNulls(slots), comment)
                #expect(chunk.copyPresence(rows, to: output, at: 5) == chunk.countNulls(rows), comment)
                #expect(chunk.countNulls(rows) == rows.count { values[$0] == .null }, comment)
            }
        }
    }

    @Test(arguments: [ColumnKind.string, .data])
    func textsMatch(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 40) { random, repetition in
            let comment = Comment(rawValue: repetition)
            try Self.withChunk(kind, &random) { chunk, values, rows, slots, rowsOfSlots in
                let expected = rows.map { Self.bytes(values[$0]) }
                let scattered = rowsOfSlots.map { Self.bytes(values[$0]) }
                let bound = max(chunk.byteBound(rows), chunk.viewedByteCount(rows), chunk.byteBound(slots)) + 16
                let heap = UnsafeMutableRawPointer.allocate(byteCount: bound, alignment: 16)
                let ends = UnsafeMutablePointer<Int32>.allocate(capacity: values.count + 1)
                let views = UnsafeMutablePointer<TextView>.allocate(capacity: values.count + 1)
                defer {
                    heap.deallocate()
                    ends.deallocate()
                    views.deallocate()
                }
                var used = chunk.copyTexts(rows, base: 0, ends: ends, heap: heap)
                #expect(used <= bound - 16 && Self.texts(heap, ends, rows.count) == expected, comment)
                used = chunk.copyViews(rows, base: 0, buffer: 0, views: views, heap: heap)
                #expect(used <= bound - 16 && Self.texts(heap, views, rows.count) == expected, comment)
                used = chunk.copyTexts(slots, base: 0, ends: ends, heap: heap)
                #expect(used <= bound - 16 && Self.texts(heap, ends, slots.count) == scattered, comment)
                used = chunk.copyViews(slots, base: 0, buffer: 0, views: views, heap: heap)
                #expect(used <= bound - 16 && Self.texts(heap, views, slots.count) == scattered, comment)
            }
        }
    }

    // MARK: How

    /// A chunk, its values, a run of rows, and rows in any order.
    private static func withChunk(
        _ kind: ColumnKind, _ random: inout SeededRandom,
        _ body: (ColumnChunk, [Value], Range<Int>, Slots, [Int]) throws -> Void
    ) throws {
        let builder = ChunkBuilder(kind: kind, nullable: true, capacity: 4)
        var values: [Value] = []
        let few = (0 ..< 1 + random.below(6)).map { _ in KernelTests.randomValue(kind, &random, spread: 40) }
        let hasNulls = random.chance(60), isFew = random.chance(50)
        for _ in 0 ..< random.below(200) {
            var value = isFew ? few[random.below(few.count)] : KernelTests.randomValue(kind, &random, spread: 1 << 20)
            if hasNulls, random.chance(20) { value = .null }
            value.withView { builder.append($0) }
            values.append(value)
        }
        let first = random.below(values.count + 1)
        let rows = first ..< first + random.below(values.count - first + 1)
        let slots = (0 ..< (values.isEmpty ? 0 : random.below(values.count + 1))).map { _ in
            UInt32(random.below(values.count))
        }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        try builder.encode(key: none).withBytes { (bytes) throws(DatabaseError) in
            let chunk = try ColumnChunk(validating: bytes, kind: kind, key: none)
            slots.withUnsafeBufferPointer { slots in
                do { try body(chunk, values, rows, slots, slots.map { Int($0) }) } catch { Issue.record(error) }
            }
        }
    }

    /// The kernels for a run of rows, or for rows in any order.
    private struct Kernels {
        let doubles: (UnsafeMutablePointer<Double>) -> Void
        let floats: (UnsafeMutablePointer<Float>) -> Void
        let ints: (UnsafeMutablePointer<Int64>) -> Void
        let milliseconds: (UnsafeMutablePointer<Int64>) -> Int?
        let bits: (UnsafeMutableRawPointer) -> Void
        let fixed: (Int, UnsafeMutableRawPointer) -> Void

        init(_ chunk: ColumnChunk, _ rows: Range<Int>) {
            doubles = { chunk.decodeDoubles(rows, into: $0) }
            floats = { chunk.decodeFloats(rows, into: $0) }
            ints = { chunk.decodeInts(rows, into: $0) }
            milliseconds = { chunk.decodeTimes(rows, unitsPerSecond: 1_000, into: $0) }
            bits = { chunk.copyBits(rows, to: $0, at: 0) }
            fixed = { chunk.copyFixed(rows, width: $0, to: $1) }
        }

        init(_ chunk: ColumnChunk, _ slots: Slots) {
            doubles = { chunk.decodeDoubles(slots, into: $0) }
            floats = { chunk.decodeFloats(slots, into: $0) }
            ints = { chunk.decodeInts(slots, into: $0) }
            milliseconds = { chunk.decodeTimes(slots, unitsPerSecond: 1_000, into: $0) }
            bits = { chunk.copyBits(slots, to: $0, at: 0) }
            fixed = { chunk.copyFixed(slots, width: $0, to: $1) }
        }

        func copy(_ kind: ColumnKind, to output: UnsafeMutableRawPointer) {
            switch kind {
            case .double: doubles(output.assumingMemoryBound(to: Double.self))
            case .float: floats(output.assumingMemoryBound(to: Float.self))
            case .bool: bits(output)
            case .timestamp: #expect(milliseconds(output.assumingMemoryBound(to: Int64.self)) == nil)
            case .uuid: fixed(16, output)
            case .objectID: fixed(12, output)
            default: ints(output.assumingMemoryBound(to: Int64.self))
            }
        }
    }

    private static func expect(
        _ output: UnsafeMutableRawPointer, _ index: Int, _ value: Value, _ kind: ColumnKind, _ comment: Comment
    ) {
        if value == .null { return }
        value.withView { view in
            switch kind {
            case .double: #expect(output.load(fromByteOffset: index * 8, as: UInt64.self) == view.low, comment)
            case .float:
                let bits = output.load(fromByteOffset: index * 4, as: UInt32.self)
                #expect(bits == UInt32(truncatingIfNeeded: view.low), comment)
            case .bool: #expect(BitRuns.bit(output, index) == view.boolValue, comment)
            case .timestamp:
                let time = view.timestampValue
                #expect(
                    output.load(fromByteOffset: index * 8, as: Int64.self)
                        == time.seconds * 1_000 + Int64(time.nanoseconds / 1_000_000), comment)
            case .uuid, .objectID:
                let width = kind == .uuid ? 16 : 12
                withUnsafeBytes(of: (view.low, view.high)) { bytes in
                    let found = UnsafeRawBufferPointer(start: output + index * width, count: width)
                    #expect(found.elementsEqual(bytes.prefix(width)), comment)
                }
            default: #expect(output.load(fromByteOffset: index * 8, as: Int64.self) == view.intValue, comment)
            }
        }
    }

    private static func bytes(_ value: Value) -> [UInt8] {
        value == .null ? [] : value.withView { Array($0.bytes) }
    }

    private static func texts(
        _ heap: UnsafeMutableRawPointer, _ ends: UnsafeMutablePointer<Int32>, _ count: Int
    ) -> [[UInt8]] {
        var start = 0
        return (0 ..< count).map { index in
            defer { start = Int(ends[index]) }
            return Array(UnsafeRawBufferPointer(start: heap + start, count: Int(ends[index]) - start))
        }
    }

    private static func texts(
        _ heap: UnsafeMutableRawPointer, _ views: UnsafeMutablePointer<TextView>, _ count: Int
    ) -> [[UInt8]] {
        (0 ..< count).map { index in
            let view = UnsafeRawPointer(views + index)
            let size = Int(view.load(as: Int32.self))
            if size <= TextView.mostInPlace { return Array(UnsafeRawBufferPointer(start: view + 4, count: size)) }
            let start = Int(view.load(fromByteOffset: 12, as: Int32.self))
            return Array(UnsafeRawBufferPointer(start: heap + start, count: size))
        }
    }
}
