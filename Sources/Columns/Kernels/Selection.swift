/// Which rows of a row group are in play: one bit per row in 64-bit words, bits past the last row 0.
import CMotteShim
import MotteValues

package typealias SelectionWords = UnsafeMutablePointer<UInt64>

package enum Selection {
    package static func wordCount(_ rows: Int) -> Int { (rows + 63) >> 6 }

    /// All ones for `rows` rows.
    package static func fill(_ words: SelectionWords, rows: Int) {
        let count = wordCount(rows)
        for index in 0 ..< count { words[index] = ~0 }
        trim(words, rows: rows)
    }

    package static func clear(_ words: SelectionWords, rows: Int) {
        for index in 0 ..< wordCount(rows) { words[index] = 0 }
    }

    package static func trim(_ words: SelectionWords, rows: Int) {
        if rows & 63 != 0 { words[rows >> 6] &= (1 << UInt64(rows & 63)) &- 1 }
    }

    package static func invert(_ words: SelectionWords, rows: Int) {
        for index in 0 ..< wordCount(rows) { words[index] = ~words[index] }
        trim(words, rows: rows)
    }

    package static func formAnd(_ words: SelectionWords, _ other: UnsafePointer<UInt64>, rows: Int) {
        for index in 0 ..< wordCount(rows) { words[index] &= other[index] }
    }

    package static func formOr(_ words: SelectionWords, _ other: UnsafePointer<UInt64>, rows: Int) {
        for index in 0 ..< wordCount(rows) { words[index] |= other[index] }
    }

    package static func count(_ words: UnsafePointer<UInt64>, rows: Int) -> Int {
        motte_shim_count_bits(words, wordCount(rows))
    }

    package static func isEmpty(_ words: UnsafePointer<UInt64>, rows: Int) -> Bool {
        for index in 0 ..< wordCount(rows) where words[index] != 0 { return false }
        return true
    }

    package static func contains(_ words: UnsafePointer<UInt64>, _ row: Int) -> Bool {
        words[row >> 6] & (1 << UInt64(row & 63)) != 0
    }

    package static func insert(_ words: SelectionWords, _ row: Int) { words[row >> 6] |= 1 << UInt64(row & 63) }

    /// Appends `first + row` for every selected row.
    package static func appendKeys(_ words: UnsafePointer<UInt64>, rows: Int, first: Int64, to keys: inout [Int64]) {
        for index in 0 ..< wordCount(rows) {
            var word = words[index]
            let base = first &+ Int64(index << 6)
            while word != 0 {
                keys.append(base &+ Int64(word.trailingZeroBitCount))
                word &= word &- 1
            }
        }
    }
}
