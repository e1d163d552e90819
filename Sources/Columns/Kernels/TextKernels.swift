/// Comparing a chunk's strings or data: equality by hash bytes or dictionary code first, all else text by text, and
/// once per distinct text where there is a dictionary.
import MotteValues

package enum TextKernels {
    /// With `candidates`, of others than those nothing is promised: texts that nobody asks about are not fetched.
    package static func select(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: UnsafeRawBufferPointer,
        among candidates: UnsafePointer<UInt64>? = nil, into words: SelectionWords
    ) {
        if op == .equal || op == .notEqual {
            selectEqual(chunk, constant, candidates, words)
            if op == .notEqual { Selection.invert(words, rows: chunk.count) }
        } else {
            selectTexts(chunk, words) { op.holds(ValueOrdering.compareBytes(chunk.text($0), constant)) }
        }
        ComparisonKernels.settleNulls(chunk, op, words)
    }

    /// Null rows never match.
    package static func select(_ chunk: ColumnChunk, matching matcher: TextMatcher, into words: SelectionWords) {
        if matcher.isContains {
            TextSearch.select(chunk, containing: matcher, words)
        } else {
            selectTexts(chunk, words) { matcher.matches(chunk.text($0)) }
        }
        ComparisonKernels.settleNulls(chunk, .equal, words)
    }

    static func select(_ chunk: ColumnChunk, among members: TextSet, _ words: SelectionWords) {
        let hashes = chunk.hashes
        selectTexts(chunk, words) { index in
            members.mayContain(hash: hashes.load(fromByteOffset: index, as: UInt8.self))
                && members.contains(chunk.text(index))
        }
    }

    private static func selectEqual(
        _ chunk: ColumnChunk, _ constant: UnsafeRawBufferPointer, _ candidates: UnsafePointer<UInt64>?,
        _ words: SelectionWords
    ) {
        let hash = TextRun.hash(constant)
        guard !chunk.isDictionary else {
            guard let code = code(of: constant, hash, chunk) else {
                return Selection.clear(words, rows: chunk.count)
            }
            return selectCode(chunk, code, words)
        }
        RangeScan.bytes(chunk.hashes, chunk.count, hash, 0, words)
        for index in 0 ..< Selection.wordCount(chunk.count) {
            var open = words[index]
            if open == 0 { continue }
            if let candidates { open &= candidates[index] }
            words[index] = open
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let isEqual = ValueOrdering.compareBytes(chunk.text(index &* 64 &+ bit), constant) == 0
                if !isEqual { words[index] &= ~(1 &<< UInt64(bit)) }
            }
        }
    }

    /// Where a text is in the dictionary of a chunk: a loop over its hash bytes, of which few have that of the text.
    private static func code(of text: UnsafeRawBufferPointer, _ hash: UInt8, _ chunk: ColumnChunk) -> Int? {
        let count = chunk.distinctCount
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: max(1, Selection.wordCount(count))) { room in
            guard let words = room.baseAddress else { return nil }
            RangeScan.bytes(chunk.hashes, count, hash, 0, words)
            for index in 0 ..< Selection.wordCount(count) {
                var open = words[index]
                while open != 0 {
                    let code = index &* 64 &+ open.trailingZeroBitCount
                    open &= open &- 1
                    if ValueOrdering.compareBytes(chunk.text(code), text) == 0 { return code }
                }
            }
            return nil
        }
    }

    private static func selectCode(_ chunk: ColumnChunk, _ code: Int, _ words: SelectionWords) {
        if chunk.width == 1 {
            RangeScan.bytes(chunk.values, chunk.count, UInt8(truncatingIfNeeded: code), 0, words)
        } else {
            RangeScan.shorts(chunk.values, chunk.count, UInt16(truncatingIfNeeded: code), 0, words)
        }
    }

    /// Rows of strings or data whose first eight bytes, as a number, are not after `code` in an order. Rows with fewer
    /// bytes, and null ones, are all among them.
    package static func selectBeginnings(
        _ chunk: ColumnChunk, isAscending: Bool, notAfter code: UInt64, into words: SelectionWords
    ) {
        let flip: UInt64 = isAscending ? 0 : ~0
        let bound = code ^ flip
        selectTexts(chunk, words) { index in
            let text = chunk.text(index)
            guard text.count >= 8, let base = text.baseAddress else { return true }
            return UInt64(bigEndian: base.loadUnaligned(as: UInt64.self)) ^ flip <= bound
        }
    }

    /// `test` gets positions of stored texts: rows, or codes of a dictionary.
    @inline(__always)
    static func selectTexts(_ chunk: ColumnChunk, _ words: SelectionWords, _ test: (Int) -> Bool) {
        guard chunk.isDictionary else {
            for index in 0 ..< Selection.wordCount(chunk.count) {
                var word: UInt64 = 0
                for bit in 0 ..< min(64, chunk.count &- index &* 64) where test(index &* 64 &+ bit) {
                    word |= 1 &<< UInt64(truncatingIfNeeded: bit)
                }
                words[index] = word
            }
            return
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(1, chunk.distinctCount)) { matching in
            var found = 0, last = 0
            for code in 0 ..< chunk.distinctCount {
                let matches = test(code)
                matching[code] = matches ? 1 : 0
                if matches {
                    found &+= 1
                    last = code
                }
            }
            if found == 0 { return Selection.clear(words, rows: chunk.count) }
            if found == 1 { return selectCode(chunk, last, words) }
            if found == chunk.distinctCount { return Selection.fill(words, rows: chunk.count) }
            for index in 0 ..< Selection.wordCount(chunk.count) {
                var word: UInt64 = 0
                for bit in 0 ..< min(64, chunk.count &- index &* 64) {
                    word |= UInt64(matching[chunk.code(index &* 64 &+ bit)]) &<< UInt64(truncatingIfNeeded: bit)
                }
                words[index] = word
            }
        }
    }
}

extension ColumnChunk {
    /// Whether a row of strings or data is present and equals `wanted`.
    @inline(__always)
    package func hasText(_ row: Int, _ wanted: UnsafeRawBufferPointer) -> Bool {
        guard !isNull(row) else { return false }
        let found = bytes(row)
        return found.count == wanted.count && ValueOrdering.compareBytes(found, wanted) == 0
    }

    /// The bytes of a row of strings or data, none where it is null.
    @inline(__always)
    package func presentText(_ row: Int) -> UnsafeRawBufferPointer {
        isNull(row) ? UnsafeRawBufferPointer(start: nil, count: 0) : bytes(row)
    }

    /// Whether texts of eight bytes or more are equal; without a call, because callers compare many in a row.
    @inline(__always)
    package static func areEqualTexts(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let count = left.count
        guard count == right.count, count >= 8, let left = left.baseAddress, let right = right.baseAddress else {
            return false
        }
        let last = count &- 8
        var difference =
            left.loadUnaligned(fromByteOffset: last, as: UInt64.self)
            ^ right.loadUnaligned(fromByteOffset: last, as: UInt64.self)
        var offset = 0
        while offset < last {
            difference |=
                left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        return difference == 0
    }
}
