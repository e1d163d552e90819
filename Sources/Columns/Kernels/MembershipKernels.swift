/// Which rows hold one of many values: `IN {...}` with more than a few members. Null rows are not members.
import MotteValues

package enum MembershipKernels {
    /// Ints, links and other packed values; `members` ascend strictly.
    package static func selectInts(
        _ chunk: ColumnChunk, among members: UnsafeBufferPointer<Int64>, into words: SelectionWords
    ) {
        Selection.clear(words, rows: chunk.count)
        guard let first = members.first, let last = members.last else { return }
        // A range to begin with: it is one scan, and it often leaves nothing.
        ComparisonKernels.selectInts(chunk, between: first, and: last, into: words)
        if UInt64(bitPattern: last) &- UInt64(bitPattern: first) == UInt64(members.count - 1) { return }
        for index in 0 ..< Selection.wordCount(chunk.count) {
            var candidates = words[index]
            while candidates != 0 {
                let bit = candidates.trailingZeroBitCount
                candidates &= candidates &- 1
                if !contains(members, chunk.int(index &* 64 &+ bit)) { words[index] &= ~(1 &<< UInt64(bit)) }
            }
        }
    }

    private static func contains(_ members: UnsafeBufferPointer<Int64>, _ value: Int64) -> Bool {
        var low = 0, high = members.count
        while low < high {
            let middle = (low &+ high) &>> 1
            if members[middle] < value { low = middle &+ 1 } else { high = middle }
        }
        return low < members.count && members[low] == value
    }

    /// Strings and data.
    package static func selectTexts(_ chunk: ColumnChunk, among members: TextSet, into words: SelectionWords) {
        TextKernels.select(chunk, among: members, words)
        ComparisonKernels.settleNulls(chunk, .equal, words)
    }
}

/// Texts to look for, prepared once for many chunks.
package struct TextSet: Sendable {
    /// Ascending by bytes.
    private let members: [[UInt8]]
    /// Which hash bytes occur: rows with any other are passed over without a look at their text.
    private let hashes: [Bool]

    package init(_ texts: [[UInt8]]) {
        members = texts.sorted { left, right in
            left.withUnsafeBytes { left in right.withUnsafeBytes { ValueOrdering.compareBytes(left, $0) < 0 } }
        }
        var hashes = [Bool](repeating: false, count: 256)
        for text in texts { hashes[Int(text.withUnsafeBytes { TextRun.hash($0) })] = true }
        self.hashes = hashes
    }

    @inline(__always)
    func mayContain(hash: UInt8) -> Bool { hashes[Int(hash)] }

    func contains(_ text: UnsafeRawBufferPointer) -> Bool {
        var low = 0, high = members.count
        while low < high {
            let middle = (low + high) / 2
            let order = members[middle].withUnsafeBytes { ValueOrdering.compareBytes($0, text) }
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
