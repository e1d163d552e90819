/// Says of most keys in a few nanoseconds that a small map does not have them: a bit for each of 4,096 remainders of
/// their checksums. A WAL has a few hundred keys, a scan asks for thousands that are not among them.
import CMotteShim

package struct KeyFilter {
    private static let wordCount = 64
    private var words = [UInt64](repeating: 0, count: wordCount)

    package init() {}

    package mutating func insert(_ key: UnsafeRawBufferPointer) {
        let (word, bit) = KeyFilter.place(of: key)
        words[word] |= bit
    }

    /// False only of keys that were never inserted.
    @inline(__always)
    package func mayHave(_ key: UnsafeRawBufferPointer) -> Bool {
        let (word, bit) = KeyFilter.place(of: key)
        return words[word] & bit != 0
    }

    @inline(__always)
    private static func place(of key: UnsafeRawBufferPointer) -> (word: Int, bit: UInt64) {
        let sum = motte_shim_crc32c(0, key.baseAddress, key.count)
        return (Int(sum >> 6) & (wordCount - 1), 1 << UInt64(sum & 63))
    }
}
