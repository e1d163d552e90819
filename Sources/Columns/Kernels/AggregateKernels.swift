/// Sums, extremes and counts over the selected, non-null values of a chunk.
import MotteValues

package enum AggregateKernels {
    package struct IntSummary {
        /// Never overflows: a sum of 2^48 values fits.
        package var sum: Int128 = 0
        package var count = 0
        package var lowest = Int64.max
        package var highest = Int64.min
        package init() {}

        package mutating func add(_ other: IntSummary) {
            sum += other.sum
            count += other.count
            lowest = min(lowest, other.lowest)
            highest = max(highest, other.highest)
        }
    }

    package struct DoubleSummary {
        package var sum = 0.0
        package var count = 0
        /// In the order of values: NaN is below all other numbers. Meaningless while `count` is 0.
        package var lowest = Double.infinity
        package var highest = -Double.infinity
        package var sawNaN = false
        package init() {}

        package mutating func add(_ other: DoubleSummary) {
            sum += other.sum
            count += other.count
            lowest = min(lowest, other.lowest)
            highest = max(highest, other.highest)
            sawNaN = sawNaN || other.sawNaN
        }
    }

    /// `selection` nil takes every row.
    package static func addInts(
        _ chunk: ColumnChunk, _ selection: UnsafePointer<UInt64>?, to summary: inout IntSummary
    ) {
        if selection == nil, !chunk.hasNulls, chunk.count < 1 << 24 {
            switch chunk.width {
            case 1: return addOffsets(chunk, UInt8.self, to: &summary)
            case 2: return addOffsets(chunk, UInt16.self, to: &summary)
            case 4: return addOffsets(chunk, UInt32.self, to: &summary)
            default: break
            }
        }
        forEach(chunk, selection) { row in
            let value = chunk.int(row)
            summary.sum += Int128(value)
            summary.count &+= 1
            if value < summary.lowest { summary.lowest = value }
            if value > summary.highest { summary.highest = value }
        }
    }

    /// Values behind the chunk's reference, of which 2^24 in 32 bits have a sum in 64.
    @inline(__always)
    private static func addOffsets<Offset: FixedWidthInteger & UnsignedInteger>(
        _ chunk: ColumnChunk, _: Offset.Type, to summary: inout IntSummary
    ) {
        guard chunk.count > 0 else { return }
        let size = MemoryLayout<Offset>.size
        var sum: UInt64 = 0
        var lowest = Offset.max, highest = Offset.min
        for row in 0 ..< chunk.count {
            let value = chunk.values.loadUnaligned(fromByteOffset: row &* size, as: Offset.self)
            sum &+= UInt64(truncatingIfNeeded: value)
            lowest = min(lowest, value)
            highest = max(highest, value)
        }
        summary.sum += Int128(sum)
        summary.sum += Int128(chunk.reference) * Int128(chunk.count)
        summary.count += chunk.count
        summary.lowest = min(summary.lowest, chunk.reference &+ Int64(lowest))
        summary.highest = max(summary.highest, chunk.reference &+ Int64(highest))
    }

    /// Float and double columns. Without `bounds` only the sum and the count are right. Rows that are all there are
    /// added in eight sums side by side, each of which waits for none of the others.
    package static func addDoubles(
        _ chunk: ColumnChunk, _ selection: UnsafePointer<UInt64>?, bounds: Bool, to summary: inout DoubleSummary
    ) {
        let isFloat = chunk.kind == .float
        if !bounds, !isFloat, selection == nil, !chunk.hasNulls { return sumDoubles(chunk, to: &summary) }
        if !bounds {
            var sum = 0.0, count = 0
            forEach(chunk, selection) { row in
                sum += isFloat ? Double(chunk.float(row)) : chunk.double(row)
                count &+= 1
            }
            summary.sum += sum
            summary.count &+= count
            return
        }
        forEach(chunk, selection) { row in
            let value = isFloat ? Double(chunk.float(row)) : chunk.double(row)
            summary.sum += value
            summary.count &+= 1
            if value.isNaN { summary.sawNaN = true }
            if value < summary.lowest { summary.lowest = value }
            if value > summary.highest { summary.highest = value }
        }
    }

    private static func sumDoubles(_ chunk: ColumnChunk, to summary: inout DoubleSummary) {
        var first = SIMD2<Double>.zero, second = SIMD2<Double>.zero
        var third = SIMD2<Double>.zero, fourth = SIMD2<Double>.zero
        var row = 0
        while row &+ 8 <= chunk.count {
            let place = chunk.values + row &* 8
            first += place.loadUnaligned(as: SIMD2<Double>.self)
            second += place.loadUnaligned(fromByteOffset: 16, as: SIMD2<Double>.self)
            third += place.loadUnaligned(fromByteOffset: 32, as: SIMD2<Double>.self)
            fourth += place.loadUnaligned(fromByteOffset: 48, as: SIMD2<Double>.self)
            row &+= 8
        }
        let lanes = (first + second) + (third + fourth)
        var sum = lanes[0] + lanes[1]
        while row < chunk.count {
            sum += chunk.double(row)
            row &+= 1
        }
        summary.sum += sum
        summary.count &+= chunk.count
    }

    package static func addTimestamps(
        _ chunk: ColumnChunk, _ selection: UnsafePointer<UInt64>?, lowest: inout Timestamp?, highest: inout Timestamp?
    ) {
        forEach(chunk, selection) { row in
            let value = chunk.timestamp(row)
            if lowest.map({ value < $0 }) ?? true { lowest = value }
            if highest.map({ value > $0 }) ?? true { highest = value }
        }
    }

    package static func countPresent(_ chunk: ColumnChunk, _ selection: UnsafePointer<UInt64>?) -> Int {
        guard chunk.hasNulls || selection != nil else { return chunk.count }
        var count = 0
        forEach(chunk, selection) { _ in count &+= 1 }
        return count
    }

    @inline(__always)
    private static func forEach(_ chunk: ColumnChunk, _ selection: UnsafePointer<UInt64>?, _ body: (Int) -> Void) {
        if selection == nil, !chunk.hasNulls {
            for row in 0 ..< chunk.count { body(row) }
            return
        }
        for index in 0 ..< Selection.wordCount(chunk.count) {
            var word = selection?[index] ?? ~0
            if let validity = chunk.validity {
                word &= validity.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
            }
            if index == chunk.count >> 6 { word &= (1 << UInt64(chunk.count & 63)) &- 1 }
            while word != 0 {
                body(index &* 64 &+ word.trailingZeroBitCount)
                word &= word &- 1
            }
        }
    }
}
