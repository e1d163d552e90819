/// Comparing a chunk's values with a constant: each kernel fills selection words.
///
/// Null rows follow the query language: no comparison with a value selects them, apart from `notEqual`, which does.
/// The inner loops compare eight values at once and gather the eight outcomes into a byte with one multiplication.
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
    package static func selectInts(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Int64, into words: SelectionWords) {
        selectPacked(chunk, op, constant, words)
        settleNulls(chunk, op, words)
    }

    package static func selectLinks(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ key: Int64, into words: SelectionWords) {
        selectInts(chunk, op, key, into: words)
    }

    /// An int column against a floating constant, compared exactly.
    package static func selectInts(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Double, into words: SelectionWords) {
        if constant == constant.rounded(.towardZero), constant >= -0x1p63, constant < 0x1p63 {
            return selectInts(chunk, op, Int64(constant), into: words)
        }
        // No int equals it; every int is below or above it.
        Selection.clear(words, rows: chunk.count)
        if op == .notEqual {
            Selection.fill(words, rows: chunk.count)
        } else if constant.isNaN {
            // Ordering against NaN never holds.
        } else if constant >= 0x1p63 {
            if op == .less || op == .lessOrEqual { Selection.fill(words, rows: chunk.count) }
        } else if constant < -0x1p63 {
            if op == .greater || op == .greaterOrEqual { Selection.fill(words, rows: chunk.count) }
        } else {
            let below = Int64(constant.rounded(.down))
            switch op {
            case .less, .lessOrEqual: selectPacked(chunk, .lessOrEqual, below, words)
            case .greater, .greaterOrEqual: selectPacked(chunk, .greater, below, words)
            case .equal, .notEqual: break
            }
        }
        settleNulls(chunk, op, words)
    }

    /// lower <= value <= upper.
    package static func selectInts(_ chunk: ColumnChunk, between lower: Int64, and upper: Int64, into words: SelectionWords) {
        guard lower <= upper else { return Selection.clear(words, rows: chunk.count) }
        selectPacked(chunk, .greaterOrEqual, lower, words)
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: max(1, Selection.wordCount(chunk.count))) { other in
            guard let other = other.baseAddress else { return }
            selectPacked(chunk, .lessOrEqual, upper, other)
            Selection.formAnd(words, other, rows: chunk.count)
        }
        settleNulls(chunk, .equal, words)
    }

    package static func selectBools(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Bool, into words: SelectionWords) {
        for index in 0 ..< Selection.wordCount(chunk.count) {
            let bits = chunk.values.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
            words[index] = switch (op, constant) {
            case (.equal, true), (.notEqual, false), (.greater, false), (.greaterOrEqual, true): bits
            case (.equal, false), (.notEqual, true), (.less, true), (.lessOrEqual, false): ~bits
            case (.less, false), (.greater, true): 0
            case (.lessOrEqual, true), (.greaterOrEqual, false): ~0
            }
        }
        Selection.trim(words, rows: chunk.count)
        settleNulls(chunk, op, words)
    }

    private static func selectPacked(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Int64, _ words: SelectionWords) {
        let rows = chunk.count
        // The whole chunk may lie on one side of the constant.
        let highest: UInt64 = chunk.width == 0 ? 0 : ~0 >> UInt64(64 - Int(chunk.width) * 8)
        if constant < chunk.reference { return decide(op, order: 1, rows, words) }
        // The reference is the lowest value, so differences from it are ordered as unsigned numbers.
        let packed = UInt64(bitPattern: constant) &- UInt64(bitPattern: chunk.reference)
        if packed > highest { return decide(op, order: -1, rows, words) }
        switch chunk.width {
        case 0: decide(op, order: 0, rows, words)
        case 1: select(chunk.values, rows, op, UInt8(truncatingIfNeeded: packed), words)
        case 2: select(chunk.values, rows, op, UInt16(truncatingIfNeeded: packed), words)
        case 4: select(chunk.values, rows, op, UInt32(truncatingIfNeeded: packed), words)
        default: select(chunk.values, rows, op, packed, words)
        }
    }

    /// Every row compares alike.
    static func decide(_ op: ComparisonOperator, order: Int, _ rows: Int, _ words: SelectionWords) {
        if op.holds(order) { Selection.fill(words, rows: rows) } else { Selection.clear(words, rows: rows) }
    }

    private static func select(_ values: UnsafeRawPointer, _ rows: Int, _ op: ComparisonOperator, _ constant: UInt8, _ words: SelectionWords) {
        run(values, rows, op, constant, words)
    }
    private static func select(_ values: UnsafeRawPointer, _ rows: Int, _ op: ComparisonOperator, _ constant: UInt16, _ words: SelectionWords) {
        run(values, rows, op, constant, words)
    }
    private static func select(_ values: UnsafeRawPointer, _ rows: Int, _ op: ComparisonOperator, _ constant: UInt32, _ words: SelectionWords) {
        run(values, rows, op, constant, words)
    }

    private static func select(_ values: UnsafeRawPointer, _ rows: Int, _ op: ComparisonOperator, _ constant: UInt64, _ words: SelectionWords) {
        run(values, rows, op, constant, words)
    }

    @inline(__always)
    private static func run<T: FixedWidthInteger & UnsignedInteger & SIMDScalar>(
        _ values: UnsafeRawPointer, _ rows: Int, _ op: ComparisonOperator, _ constant: T, _ words: SelectionWords
    ) {
        switch op {
        case .equal: loop(values, rows, words, SIMD8(repeating: constant), invert: false) { $0 .== $1 } _: { $0 == constant }
        case .notEqual: loop(values, rows, words, SIMD8(repeating: constant), invert: true) { $0 .== $1 } _: { $0 == constant }
        case .less: loop(values, rows, words, SIMD8(repeating: constant), invert: false) { $0 .< $1 } _: { $0 < constant }
        case .lessOrEqual: loop(values, rows, words, SIMD8(repeating: constant), invert: true) { $0 .> $1 } _: { $0 > constant }
        case .greater: loop(values, rows, words, SIMD8(repeating: constant), invert: false) { $0 .> $1 } _: { $0 > constant }
        case .greaterOrEqual: loop(values, rows, words, SIMD8(repeating: constant), invert: true) { $0 .< $1 } _: { $0 < constant }
        }
    }

    @inline(__always)
    static func loop<T: SIMDScalar>(
        _ values: UnsafeRawPointer, _ rows: Int, _ words: SelectionWords, _ constant: SIMD8<T>, invert: Bool,
        _ eight: (SIMD8<T>, SIMD8<T>) -> SIMDMask<SIMD8<T.SIMDMaskScalar>>, _ one: (T) -> Bool
    ) {
        let stride = MemoryLayout<T>.stride
        var word: UInt64 = 0
        var row = 0
        while row &+ 8 <= rows {
            let batch = values.loadUnaligned(fromByteOffset: row &* stride, as: SIMD8<T>.self)
            let mask = eight(batch, constant)
            let wide = SIMD8<T.SIMDMaskScalar>(repeating: 0).replacing(with: 1, where: mask)
            let ones = SIMD8<UInt8>(truncatingIfNeeded: wide)
            let byte = (unsafeBitCast(ones, to: UInt64.self) &* 0x0102_0408_1020_4080) >> 56
            word |= byte << UInt64(row & 63)
            row &+= 8
            if row & 63 == 0 {
                words[(row >> 6) &- 1] = invert ? ~word : word
                word = 0
            }
        }
        while row < rows {
            if one(values.loadUnaligned(fromByteOffset: row &* stride, as: T.self)) { word |= 1 << UInt64(row & 63) }
            row &+= 1
        }
        if rows & 63 != 0 {
            words[rows >> 6] = invert ? ~word : word
            Selection.trim(words, rows: rows)
        }
    }

    // MARK: Floating numbers

    /// Float and double columns. NaN equals NaN and orders with nothing.
    package static func selectDoubles(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Double, into words: SelectionWords) {
        if chunk.kind == .float { selectFloats(chunk, op, constant, words) } else { selectWide(chunk, op, constant, words) }
        settleNulls(chunk, op, words)
    }

    private static func selectWide(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Double, _ words: SelectionWords) {
        let rows = chunk.count, values = chunk.values
        let all = SIMD8(repeating: constant)
        if constant.isNaN {
            switch op {
            case .equal: loop(values, rows, words, all, invert: false) { batch, _ in batch .!= batch } _: { $0.isNaN }
            case .notEqual: loop(values, rows, words, all, invert: true) { batch, _ in batch .!= batch } _: { $0.isNaN }
            default: Selection.clear(words, rows: rows)
            }
            return
        }
        switch op {
        case .equal: loop(values, rows, words, all, invert: false) { $0 .== $1 } _: { $0 == constant }
        case .notEqual: loop(values, rows, words, all, invert: true) { $0 .== $1 } _: { $0 == constant }
        case .less: loop(values, rows, words, all, invert: false) { $0 .< $1 } _: { $0 < constant }
        case .lessOrEqual: loop(values, rows, words, all, invert: false) { $0 .<= $1 } _: { $0 <= constant }
        case .greater: loop(values, rows, words, all, invert: false) { $0 .> $1 } _: { $0 > constant }
        case .greaterOrEqual: loop(values, rows, words, all, invert: false) { $0 .>= $1 } _: { $0 >= constant }
        }
    }

    private static func selectFloats(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Double, _ words: SelectionWords) {
        Selection.clear(words, rows: chunk.count)
        for row in 0 ..< chunk.count {
            let value = Double(chunk.float(row))
            let selected: Bool = if constant.isNaN || value.isNaN {
                (op == .equal && value.isNaN && constant.isNaN) || (op == .notEqual && value.isNaN != constant.isNaN)
            } else {
                op.holds(value < constant ? -1 : value > constant ? 1 : 0)
            }
            if selected { Selection.insert(words, row) }
        }
    }

    // MARK: Timestamps

    package static func selectTimestamps(_ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: Timestamp, into words: SelectionWords) {
        if chunk.extra == nil, constant.nanoseconds == 0 {
            selectPacked(chunk, op, constant.seconds, words)
        } else {
            Selection.clear(words, rows: chunk.count)
            for row in 0 ..< chunk.count {
                let value = chunk.timestamp(row)
                if op.holds(value < constant ? -1 : value == constant ? 0 : 1) { Selection.insert(words, row) }
            }
        }
        settleNulls(chunk, op, words)
    }
}
