/// Tests on the values of one column, and on the identity of objects.
import MotteColumns
import MotteValues

final class ColumnOperator: Operator {
    private let cursor: ColumnCursor
    private let test: ColumnTest
    /// Whether looking at a value takes longer than finding the few rows that are left.
    private let isCostly: Bool

    /// `isShared`: other threads decide the same test. Looking at a value counts references of it, for which they would
    /// wait for each other; except where texts are matched.
    init(_ cursor: ColumnCursor, _ test: ColumnTest, isShared: Bool = false) {
        self.cursor = cursor
        self.test = test
        isCostly = if case .match = test { true } else { test.looksAtEachValue && !isShared }
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let chunk = try cursor.chunk(rows.index)
        if isCostly {
            // Of a dictionary each text is looked at once.
            let looks = chunk.pointee.isDictionary ? chunk.pointee.distinctCount : rows.rowCount
            if Selection.count(candidates, rows: rows.rowCount) * 4 < looks {
                if case .match(let matcher) = test {
                    return matcher.select(chunk.pointee, among: candidates, into: words)
                }
                return Self.select(test, chunk, candidates, words)
            }
        }
        if case .text(let op, let bytes) = test {
            return bytes.withBytes { TextKernels.select(chunk.pointee, op, $0, among: candidates, into: words) }
        }
        test.select(chunk.pointee, into: words)
    }

    private static func select(
        _ test: ColumnTest, _ chunk: UnsafePointer<ColumnChunk>, _ candidates: UnsafePointer<UInt64>,
        _ words: SelectionWords
    ) {
        for index in 0 ..< Selection.wordCount(chunk.pointee.count) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                if test.holds(chunk.pointee.view(index &* 64 &+ bit)) { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }
}

final class ObjectOperator: Operator {
    private let keys: [Int64]

    init(_ keys: [Int64]) { self.keys = keys }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        Selection.clear(words, rows: rows.rowCount)
        for key in keys where key >= rows.firstKey && key - rows.firstKey < Int64(rows.rowCount) {
            Selection.insert(words, Int(key - rows.firstKey))
        }
    }
}

extension ColumnTest {
    /// Whether threads gain from deciding it beside each other: where loops count no references for each value.
    var canBeShared: Bool {
        switch self {
        case .always, .never, .present, .null, .bool, .int, .intRange, .double, .timestamp, .link, .text, .intSet,
            .textSet, .match:
            true
        case .value, .valueSet, .matchAmongMixed, .applied: false
        case .not(let test): test.canBeShared
        case .any(let tests), .all(let tests): tests.allSatisfy { $0.canBeShared }
        }
    }

    /// Whether there is no loop for it that compares many values at once.
    fileprivate var looksAtEachValue: Bool {
        switch self {
        case .always, .never, .present, .null, .bool, .int, .intRange, .double, .timestamp, .link: false
        case .text(let op, _): op != .equal && op != .notEqual
        case .intSet, .textSet, .match, .value, .valueSet, .matchAmongMixed, .applied: true
        case .not(let test): test.looksAtEachValue
        case .any(let tests), .all(let tests): tests.contains { $0.looksAtEachValue }
        }
    }

    /// Which values of a chunk pass: of rows, or of the elements of lists.
    func select(_ chunk: ColumnChunk, into words: SelectionWords) {
        let rows = chunk.count
        switch self {
        case .always: Selection.fill(words, rows: rows)
        case .never: Selection.clear(words, rows: rows)
        case .present: ComparisonKernels.selectPresent(chunk, into: words)
        case .null: ComparisonKernels.selectNulls(chunk, into: words)
        case .bool(let op, let value): ComparisonKernels.selectBools(chunk, op, value, into: words)
        case .int(let op, let value), .link(let op, let value):
            ComparisonKernels.selectInts(chunk, op, value, into: words)
        case .intRange(let low, let high): ComparisonKernels.selectInts(chunk, between: low, and: high, into: words)
        case .intSet(let values): Self.select(chunk, inInts: values, into: words)
        case .double(let op, let value): ComparisonKernels.selectDoubles(chunk, op, value, into: words)
        case .timestamp(let op, let value): ComparisonKernels.selectTimestamps(chunk, op, value, into: words)
        case .text(let op, let bytes): bytes.withBytes { TextKernels.select(chunk, op, $0, into: words) }
        case .textSet(let texts): Self.select(chunk, inTexts: texts, into: words)
        case .match(let matcher): TextKernels.select(chunk, matching: matcher, into: words)
        case .value(let op, let value):
            value.withView { ComparisonKernels.selectValues(chunk, op, $0, into: words) }
        case .valueSet, .matchAmongMixed:
            Selection.clear(words, rows: rows)
            for row in 0 ..< rows where !chunk.isNull(row) && holds(chunk.view(row)) { Selection.insert(words, row) }
        case .applied(let functions, let test): Self.select(chunk, functions, test, into: words)
        case .not(let test):
            test.select(chunk, into: words)
            Selection.invert(words, rows: rows)
        case .any(let tests):
            Selection.clear(words, rows: rows)
            Self.combine(tests, chunk) { Selection.formOr(words, $0, rows: rows) }
        case .all(let tests):
            Selection.fill(words, rows: rows)
            Self.combine(tests, chunk) { Selection.formAnd(words, $0, rows: rows) }
        }
    }

    private static func combine(_ tests: [ColumnTest], _ chunk: ColumnChunk, _ join: (SelectionWords) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: max(1, Selection.wordCount(chunk.count))) { other in
            guard let other = other.baseAddress else { return }
            for test in tests {
                test.select(chunk, into: other)
                join(other)
            }
        }
    }

    private static func select(
        _ chunk: ColumnChunk, _ functions: TextFunctions, _ test: ColumnTest, into words: SelectionWords
    ) {
        Selection.clear(words, rows: chunk.count)
        let nullPasses = test.holdsForNull
        for row in 0 ..< chunk.count {
            let passes =
                chunk.isNull(row) ? nullPasses : functions.apply(chunk.view(row)) { test.holds($0) }
            if passes { Selection.insert(words, row) }
        }
    }

    private static func select(_ chunk: ColumnChunk, inInts values: [Int64], into words: SelectionWords) {
        Selection.clear(words, rows: chunk.count)
        values.withUnsafeBufferPointer { values in
            for row in 0 ..< chunk.count where !chunk.isNull(row) {
                let value = chunk.int(row)
                let index = lowerBound(values) { $0 < value }
                if index < values.count, values[index] == value { Selection.insert(words, row) }
            }
        }
    }

    private static func select(_ chunk: ColumnChunk, inTexts texts: [[UInt8]], into words: SelectionWords) {
        Selection.clear(words, rows: chunk.count)
        texts.withUnsafeBufferPointer { texts in
            for row in 0 ..< chunk.count where !chunk.isNull(row) {
                let bytes = chunk.bytes(row)
                let index = lowerBound(texts) { text in text.withBytes { ValueOrdering.compareBytes($0, bytes) } < 0 }
                if index < texts.count, texts[index].withBytes({ ValueOrdering.compareBytes($0, bytes) }) == 0 {
                    Selection.insert(words, row)
                }
            }
        }
    }

    @inline(__always)
    private static func lowerBound<Element>(
        _ values: UnsafeBufferPointer<Element>, _ isBelow: (Element) -> Bool
    ) -> Int {
        var low = 0, high = values.count
        while low < high {
            let middle = (low + high) / 2
            if isBelow(values[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
