/// Where in a column's index everything is that passes a test: an order, BETWEEN, or the beginning of a text.
///
/// Numbers and timestamps lie in their order. Of texts only those of up to seven bytes do; longer ones are kept by a
/// hash, all behind the short ones, so that a range of texts is the short ones of it and every long one. That helps
/// with codes and abbreviations, and the count tells where it does.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

struct IndexRange {
    /// Ascending and apart.
    var ranges: [ClosedRange<UInt64>]
    /// Whether everything in them passes.
    var isExact: Bool

    /// nil where the test is no range, or the type's index has no order.
    static func make(_ test: ColumnTest, _ type: PropertyType) -> IndexRange? {
        switch (test, type) {
        case (.all(let tests), _):
            var range: IndexRange?
            for test in tests {
                guard let next = make(test, type) else { return nil }
                range = range?.intersection(next) ?? next
            }
            return range
        case (.int(let op, let value), .int):
            return span(op, IndexValue.int(value).raw, lowest: 0, highest: .max, isExact: true)
        case (.intRange(let low, let high), .int):
            let (first, last) = (IndexValue.int(low).raw, IndexValue.int(high).raw)
            return IndexRange(ranges: first <= last ? [first ... last] : [], isExact: true)
        case (.double(let op, let value), .float), (.double(let op, let value), .double):
            return number(op, value, isExact: true)
        // What lies between two neighbouring doubles shares their bits.
        case (.value(let op, .decimal(let value)), .decimal):
            return number(op, value.doubleValue, isExact: false)
        case (.timestamp(let op, let value), .timestamp): return time(op, value)
        case (.text(let op, let bytes), .string): return text(op, bytes)
        case (.match(let matcher), .string): return matcher.prefix.flatMap { prefix($0) }
        default: return nil
        }
    }

    func intersection(_ other: IndexRange) -> IndexRange {
        var shared: [ClosedRange<UInt64>] = []
        for one in ranges {
            for two in other.ranges where one.overlaps(two) { shared.append(one.clamped(to: two)) }
        }
        return IndexRange(ranges: shared, isExact: isExact && other.isExact)
    }

    private static func span(
        _ op: ComparisonOperator, _ value: UInt64, lowest: UInt64, highest: UInt64, isExact: Bool
    ) -> IndexRange? {
        let bounds: (low: UInt64, high: UInt64)?
        switch op {
        case .less: bounds = value > lowest ? (lowest, value - 1) : nil
        case .lessOrEqual: bounds = (lowest, value)
        case .greater: bounds = value < highest ? (value + 1, highest) : nil
        case .greaterOrEqual: bounds = (value, highest)
        case .equal, .notEqual: return nil
        }
        guard let bounds, bounds.low <= bounds.high else { return IndexRange(ranges: [], isExact: true) }
        return IndexRange(ranges: [bounds.low ... bounds.high], isExact: isExact)
    }

    /// NaN lies below all numbers and is in no range.
    private static func number(_ op: ComparisonOperator, _ value: Double, isExact: Bool) -> IndexRange? {
        if value.isNaN { return nil }
        let wide: ComparisonOperator = isExact ? op : op == .less ? .lessOrEqual : op == .greater ? .greaterOrEqual : op
        return span(
            wide, IndexValue.double(value).raw, lowest: IndexValue.double(-.infinity).raw,
            highest: IndexValue.double(.infinity).raw, isExact: isExact)
    }

    /// The index knows the seconds only.
    private static func time(_ op: ComparisonOperator, _ value: Timestamp) -> IndexRange? {
        let isWhole = value.nanoseconds == 0
        let wide: ComparisonOperator
        switch op {
        case .less: wide = isWhole ? .less : .lessOrEqual
        case .greater: wide = .greaterOrEqual
        default: wide = op
        }
        let isExact = isWhole && (op == .less || op == .greaterOrEqual)
        return span(wide, IndexValue.timestamp(value).raw, lowest: 0, highest: .max, isExact: isExact)
    }

    // MARK: Texts

    private static let longTexts: ClosedRange<UInt64> = 1 << 63 ... .max
    private static let lastShortText: UInt64 = 1 << 63 - 1

    private static func text(_ op: ComparisonOperator, _ bytes: [UInt8]) -> IndexRange? {
        let isShort = bytes.count <= IndexValue.longestExactBytes
        let value = Array(bytes.prefix(IndexValue.longestExactBytes)).withBytes { IndexValue.bytes($0).raw }
        // A short text below a long one may be its beginning, and one above it is above its beginning.
        let wide: ComparisonOperator =
            isShort ? op : op == .less ? .lessOrEqual : op == .greaterOrEqual ? .greater : op
        guard var range = span(wide, value, lowest: 0, highest: lastShortText, isExact: false) else { return nil }
        range.ranges.append(longTexts)
        range.isExact = false
        return range
    }

    private static func prefix(_ bytes: [UInt8]) -> IndexRange? {
        guard !bytes.isEmpty else { return nil }
        let most = IndexValue.longestExactBytes
        guard bytes.count <= most else { return IndexRange(ranges: [longTexts], isExact: false) }
        let first = bytes.withBytes { IndexValue.bytes($0).raw }
        let last = (bytes + Array(repeating: 0xFF, count: most - bytes.count)).withBytes { IndexValue.bytes($0).raw }
        return IndexRange(ranges: [first ... last, longTexts], isExact: false)
    }
}
