/// The inner loops of comparisons: which of many values lie in a closed range, as selection words.
///
/// One loop per width serves every operator: `a < c` is the range below c, `a == c` a range of one value, `a != c` its
/// complement. An unsigned value lies in [low, high] just when `value - low <= high - low`, one comparison. Comparison
/// results are all-ones lanes: each step keeps the bit of its rows (`mask & weights`), and a word is gathered by oring
/// lanes together, since the portable instruction set of SwiftPM builds has no better way that Swift can name. Bytes,
/// which most numbers are kept as and the hashes of all texts are, and numbers of two bytes, such as the codes of
/// dictionaries, go through C, which has one.
///
/// Concrete on purpose: SIMD operators in generic code are not turned into instructions.
import CMotteShim

enum RangeScan {
    /// Rows whose byte is in [low, low + span].
    static func bytes(
        _ values: UnsafeRawPointer, _ rows: Int, _ low: UInt8, _ span: UInt8, _ words: SelectionWords
    ) {
        motte_shim_select_bytes(values.assumingMemoryBound(to: UInt8.self), rows, low, span, words)
    }

    static func shorts(
        _ values: UnsafeRawPointer, _ rows: Int, _ low: UInt16, _ span: UInt16, _ words: SelectionWords
    ) {
        motte_shim_select_shorts(values, rows, low, span, words)
    }

    static func longs(
        _ values: UnsafeRawPointer, _ rows: Int, _ low: UInt32, _ span: UInt32, _ words: SelectionWords
    ) {
        let lows = SIMD4<UInt32>(repeating: low), spans = SIMD4<UInt32>(repeating: span)
        var row = 0, word: UInt64 = 0
        while row &+ 16 <= rows {
            var kept = SIMD4<UInt32>(), weights = SIMD4<UInt32>(1, 2, 4, 8)
            for part in 0 ..< 4 {
                let offset = row &* 4 &+ part &* 16
                let batch = values.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt32>.self) &- lows
                kept |= unsafeBitCast(batch .<= spans, to: SIMD4<UInt32>.self) & weights
                weights = weights &<< 4
            }
            let halves = unsafeBitCast(kept, to: SIMD2<UInt64>.self)
            let both = halves[0] | halves[1]
            word |= ((both | both &>> 32) & 0xFFFF) &<< UInt64(truncatingIfNeeded: row & 63)
            row &+= 16
            if row & 63 == 0 { flush(&word, row, words) }
        }
        while row < rows {
            let isIn = values.loadUnaligned(fromByteOffset: row &* 4, as: UInt32.self) &- low <= span
            step(isIn, &row, &word, words)
        }
        if row & 63 != 0 { words[row &>> 6] = word }
    }

    /// One by one: the portable instruction set compares no 64-bit lanes.
    static func quads(
        _ values: UnsafeRawPointer, _ rows: Int, _ low: UInt64, _ span: UInt64, _ words: SelectionWords
    ) {
        var row = 0
        while row < rows {
            let end = min(64, rows &- row)
            var word: UInt64 = 0
            for bit in 0 ..< end {
                let value = values.loadUnaligned(fromByteOffset: (row &+ bit) &* 8, as: UInt64.self)
                word |= (value &- low <= span ? 1 : 0) &<< UInt64(truncatingIfNeeded: bit)
            }
            words[row &>> 6] = word
            row &+= 64
        }
    }

    /// Rows in [low, high]; NaN is in no range.
    static func doubles(
        _ values: UnsafeRawPointer, _ rows: Int, _ low: Double, _ high: Double, _ words: SelectionWords
    ) {
        let lows = SIMD2<Double>(repeating: low), highs = SIMD2<Double>(repeating: high)
        var row = 0, word: UInt64 = 0
        while row &+ 8 <= rows {
            var kept = SIMD2<UInt64>(), weights = SIMD2<UInt64>(1, 2)
            for part in 0 ..< 4 {
                let batch = values.loadUnaligned(fromByteOffset: row &* 8 &+ part &* 16, as: SIMD2<Double>.self)
                kept |=
                    unsafeBitCast(batch .>= lows, to: SIMD2<UInt64>.self)
                    & unsafeBitCast(batch .<= highs, to: SIMD2<UInt64>.self) & weights
                weights = weights &<< 2
            }
            word |= (kept[0] | kept[1]) &<< UInt64(truncatingIfNeeded: row & 63)
            row &+= 8
            if row & 63 == 0 { flush(&word, row, words) }
        }
        while row < rows {
            let value = values.loadUnaligned(fromByteOffset: row &* 8, as: Double.self)
            step(value >= low && value <= high, &row, &word, words)
        }
        if row & 63 != 0 { words[row &>> 6] = word }
    }

    static func floats(
        _ values: UnsafeRawPointer, _ rows: Int, _ low: Float, _ high: Float, _ words: SelectionWords
    ) {
        let lows = SIMD4<Float>(repeating: low), highs = SIMD4<Float>(repeating: high)
        var row = 0, word: UInt64 = 0
        while row &+ 16 <= rows {
            var kept = SIMD4<UInt32>(), weights = SIMD4<UInt32>(1, 2, 4, 8)
            for part in 0 ..< 4 {
                let batch = values.loadUnaligned(fromByteOffset: row &* 4 &+ part &* 16, as: SIMD4<Float>.self)
                kept |=
                    unsafeBitCast(batch .>= lows, to: SIMD4<UInt32>.self)
                    & unsafeBitCast(batch .<= highs, to: SIMD4<UInt32>.self) & weights
                weights = weights &<< 4
            }
            let halves = unsafeBitCast(kept, to: SIMD2<UInt64>.self)
            let both = halves[0] | halves[1]
            word |= ((both | both &>> 32) & 0xFFFF) &<< UInt64(truncatingIfNeeded: row & 63)
            row &+= 16
            if row & 63 == 0 { flush(&word, row, words) }
        }
        while row < rows {
            let value = values.loadUnaligned(fromByteOffset: row &* 4, as: Float.self)
            step(value >= low && value <= high, &row, &word, words)
        }
        if row & 63 != 0 { words[row &>> 6] = word }
    }

    @inline(__always)
    private static func flush(_ word: inout UInt64, _ row: Int, _ words: SelectionWords) {
        words[(row &>> 6) &- 1] = word
        word = 0
    }

    /// One row of the rest that fills no vector.
    @inline(__always)
    private static func step(_ isIn: Bool, _ row: inout Int, _ word: inout UInt64, _ words: SelectionWords) {
        word |= (isIn ? 1 : 0) &<< UInt64(truncatingIfNeeded: row & 63)
        row &+= 1
        if row & 63 == 0 { flush(&word, row, words) }
    }
}
