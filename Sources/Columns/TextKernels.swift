/// Comparing a chunk's strings or data: equality by hash bytes or dictionary code first, all else text by text, and once
/// per distinct text where there is a dictionary.
import MotteValues

package enum TextKernels {
    package static func select(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: UnsafeRawBufferPointer, into words: SelectionWords
    ) {
        if !chunk.isDictionary, op == .equal || op == .notEqual {
            selectEqual(chunk, constant, words)
            if op == .notEqual { Selection.invert(words, rows: chunk.count) }
        } else {
            selectTexts(chunk, words) { op.holds(ValueOrdering.compareBytes($0, constant)) }
        }
        ComparisonKernels.settleNulls(chunk, op, words)
    }

    /// Null rows never match.
    package static func select(_ chunk: ColumnChunk, matching matcher: TextMatcher, into words: SelectionWords) {
        selectTexts(chunk, words) { matcher.matches($0) }
        ComparisonKernels.settleNulls(chunk, .equal, words)
    }

    private static func selectEqual(_ chunk: ColumnChunk, _ constant: UnsafeRawBufferPointer, _ words: SelectionWords) {
        RangeScan.bytes(chunk.values, chunk.count, TextRun.hash(constant), 0, words)
        for index in 0 ..< Selection.wordCount(chunk.count) {
            var candidates = words[index]
            while candidates != 0 {
                let bit = candidates.trailingZeroBitCount
                candidates &= candidates &- 1
                if ValueOrdering.compareBytes(chunk.text(index &* 64 &+ bit), constant) != 0 { words[index] &= ~(1 << UInt64(bit)) }
            }
        }
    }

    @inline(__always)
    private static func selectTexts(_ chunk: ColumnChunk, _ words: SelectionWords, _ test: (UnsafeRawBufferPointer) -> Bool) {
        Selection.clear(words, rows: chunk.count)
        guard chunk.isDictionary else {
            for row in 0 ..< chunk.count where test(chunk.text(row)) { Selection.insert(words, row) }
            return
        }
        withUnsafeTemporaryAllocation(of: Bool.self, capacity: max(1, chunk.distinctCount)) { matching in
            var any = false
            for code in 0 ..< chunk.distinctCount {
                let matches = test(chunk.text(code))
                matching[code] = matches
                any = any || matches
            }
            guard any else { return }
            for row in 0 ..< chunk.count where matching[chunk.code(row)] { Selection.insert(words, row) }
        }
    }
}
