/// Comparing a chunk's values with a constant: each kernel fills selection words.
///
/// Null rows follow the query language: no comparison with a value selects them, apart from `notEqual`, which does.
/// Every comparison becomes a range of values, possibly complemented; the loops are in `RangeScan`.
import MotteValues

package enum ComparisonOperator: UInt8, Sendable, CaseIterable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual

    /// The operator with its sides exchanged.
    package var mirrored: ComparisonOperator {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }

    /// Whether an ordering of left against right satisfies it.
    package func holds(_ order: Int) -> Bool {
        switch self {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }
}

package enum ComparisonKernels {
    // MARK: Nulls

    package static func selectNulls(_ chunk: ColumnChunk, into words: SelectionWords) {
        guard let validity = chunk.validity else { return Selection.clear(words, rows: chunk.count) }
        for index in 0 ..< Selection.wordCount(chunk.count) {
            words[index] = ~validity.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
        }
        Selection.trim(words, rows: chunk.count)
    }

    package static func selectPresent(_ chunk: ColumnChunk, into words: SelectionWords) {
        guard let validity = chunk.validity else { return Selection.fill(words, rows: chunk.count) }
        for index in 0 ..< Selection.wordCount(chunk.count) {
            words[index] = validity.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
        }
        // A damaged bitmap may have bits past the last row.
        Selection.trim(words, rows: chunk.count)
    }

    /// Null rows out, or in for `notEqual`.
    static func settleNulls(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ words: SelectionWords) {
        guard let validity = chunk.validity else { return }
        let count = Selection.wordCount(chunk.count)
        for index in 0 ..< count {
            let present = validity.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
            if op == .notEqual { words[index] |= ~present } else { words[index] &= present }
        }
        Selection.trim(words, rows: chunk.count)
    }

    // MARK: Integers, links, bools

    /// Ints; also the object keys of links.
    package static func selectInts(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Int64, into words: SelectionWords
    ) {
        selectPacked(chunk, op, constant, words)
        settleNulls(chunk, op, words)
    }

    package static func selectLinks(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ key: Int64, into words: SelectionWords
    ) {
        selectInts(chunk, op, key, into: words)
    }

    /// lower <= value <= upper.
    package static func selectInts(
        _ chunk: ColumnChunk, between lower: Int64, and upper: Int64, into words: SelectionWords
    ) {
        guard lower <= upper else { return Selection.clear(words, rows: chunk.count) }
        selectPacked(chunk, lower, upper, words)
        settleNulls(chunk, .equal, words)
    }

    package static func selectBools(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Bool, into words: SelectionWords
    ) {
        for index in 0 ..< Selection.wordCount(chunk.count) {
            let bits = chunk.values.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
            words[index] =
                switch (op, constant) {
                case (.equal, true), (.notEqual, false), (.greater, false), (.greaterOrEqual, true): bits
                case (.equal, false), (.notEqual, true), (.less, true), (.lessOrEqual, false): ~bits
                case (.less, false), (.greater, true): 0
                case (.lessOrEqual, true), (.greaterOrEqual, false): ~0
                }
        }
        Selection.trim(words, rows: chunk.count)
        settleNulls(chunk, op, words)
    }

    static func selectPacked(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Int64, _ words: SelectionWords
    ) {
        switch op {
        case .equal: selectPacked(chunk, constant, constant, words)
        case .notEqual:
            selectPacked(chunk, constant, constant, words)
            Selection.invert(words, rows: chunk.count)
        case .less where constant == .min, .greater where constant == .max: Selection.clear(words, rows: chunk.count)
        case .less: selectPacked(chunk, .min, constant - 1, words)
        case .lessOrEqual: selectPacked(chunk, .min, constant, words)
        case .greater: selectPacked(chunk, constant + 1, .max, words)
        case .greaterOrEqual: selectPacked(chunk, constant, .max, words)
        }
    }

    /// Packed values in [lower, upper], which is not empty. Often the frame of reference decides for all rows.
    static func selectPacked(_ chunk: ColumnChunk, _ lower: Int64, _ upper: Int64, _ words: SelectionWords) {
        let rows = chunk.count, reference = chunk.reference
        // The reference is the lowest value, so distances from it are ordered as unsigned numbers.
        let farthest: UInt64 = chunk.width == 0 ? 0 : ~0 >> UInt64(64 - Int(chunk.width) * 8)
        guard upper >= reference else { return Selection.clear(words, rows: rows) }
        let low = lower <= reference ? 0 : UInt64(bitPattern: lower) &- UInt64(bitPattern: reference)
        let high = min(farthest, UInt64(bitPattern: upper) &- UInt64(bitPattern: reference))
        guard low <= farthest else { return Selection.clear(words, rows: rows) }
        if low == 0, high == farthest { return Selection.fill(words, rows: rows) }
        let values = chunk.values, span = high - low
        switch chunk.width {
        case 1: RangeScan.bytes(values, rows, UInt8(truncatingIfNeeded: low), UInt8(truncatingIfNeeded: span), words)
        case 2: RangeScan.shorts(values, rows, UInt16(truncatingIfNeeded: low), UInt16(truncatingIfNeeded: span), words)
        case 4: RangeScan.longs(values, rows, UInt32(truncatingIfNeeded: low), UInt32(truncatingIfNeeded: span), words)
        default: RangeScan.quads(values, rows, low, span, words)
        }
    }

    // MARK: Floating numbers

    /// Float and double columns, compared exactly. NaN equals NaN and orders with nothing.
    package static func selectDoubles(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Double, into words: SelectionWords
    ) {
        switch op {
        case .equal: selectEqual(chunk, constant, words)
        case .notEqual:
            selectEqual(chunk, constant, words)
            Selection.invert(words, rows: chunk.count)
        case .less: selectFloating(chunk, -.infinity, constant, includesHigh: false, words)
        case .lessOrEqual: selectFloating(chunk, -.infinity, constant, words)
        case .greater: selectFloating(chunk, constant, .infinity, includesLow: false, words)
        case .greaterOrEqual: selectFloating(chunk, constant, .infinity, words)
        }
        settleNulls(chunk, op, words)
    }

    /// lower <= value <= upper.
    package static func selectDoubles(
        _ chunk: ColumnChunk, between lower: Double, and upper: Double, into words: SelectionWords
    ) {
        selectFloating(chunk, lower, upper, words)
        settleNulls(chunk, .equal, words)
    }

    private static func selectEqual(_ chunk: ColumnChunk, _ constant: Double, _ words: SelectionWords) {
        guard constant.isNaN else { return selectFloating(chunk, constant, constant, words) }
        // Only NaN is in no range.
        selectFloating(chunk, -.infinity, .infinity, words)
        Selection.invert(words, rows: chunk.count)
    }

    private static func selectFloating(
        _ chunk: ColumnChunk, _ lower: Double, _ upper: Double, includesLow: Bool = true, includesHigh: Bool = true,
        _ words: SelectionWords
    ) {
        let rows = chunk.count
        // Also false for a NaN bound. A bound that is left out must not be the last number of its kind.
        guard lower <= upper, includesLow || lower < .infinity, includesHigh || upper > -.infinity else {
            return Selection.clear(words, rows: rows)
        }
        if chunk.kind == .float {
            // The nearest floats inside; beyond the largest float lies only infinity.
            var low = Float(lower), high = Float(upper)
            if includesLow ? Double(low) < lower : Double(low) <= lower { low = low.nextUp }
            if includesHigh ? Double(high) > upper : Double(high) >= upper { high = high.nextDown }
            RangeScan.floats(chunk.values, rows, low, high, words)
        } else {
            RangeScan.doubles(
                chunk.values, rows, includesLow ? lower : lower.nextUp, includesHigh ? upper : upper.nextDown, words)
        }
    }

    // MARK: Timestamps

    package static func selectTimestamps(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Timestamp, into words: SelectionWords
    ) {
        if chunk.extra == nil, constant.nanoseconds == 0 {
            selectPacked(chunk, op, constant.seconds, words)
        } else {
            selectSplit(chunk, op, constant, words)
        }
        settleNulls(chunk, op, words)
    }

    /// By seconds; the nanoseconds are looked at only within the constant's own second.
    private static func selectSplit(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Timestamp, _ words: SelectionWords
    ) {
        switch op {
        case .equal: Selection.clear(words, rows: chunk.count)
        case .notEqual: selectPacked(chunk, .notEqual, constant.seconds, words)
        case .less, .lessOrEqual: selectPacked(chunk, .less, constant.seconds, words)
        case .greater, .greaterOrEqual: selectPacked(chunk, .greater, constant.seconds, words)
        }
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: max(1, Selection.wordCount(chunk.count))) { same in
            guard let same = same.baseAddress else { return }
            selectPacked(chunk, .equal, constant.seconds, same)
            for index in 0 ..< Selection.wordCount(chunk.count) {
                var word = same[index]
                while word != 0 {
                    let row = index &* 64 &+ word.trailingZeroBitCount
                    word &= word &- 1
                    let order = Int(chunk.nanoseconds(row)) - Int(constant.nanoseconds)
                    if op.holds(order) { Selection.insert(words, row) }
                }
            }
        }
    }
}
