/// Texts of at most sixteen bytes as two words, whose bytes behind the end of the text are zero: read with two loads
/// and two masks, whatever the size.
import MotteValues

/// The texts of a chunk that can be read so: not those within sixteen bytes of the end of all texts, behind which
/// nothing may be read.
struct ShortTexts {
    static let mostBytes = 16

    struct Words {
        let first: UInt64
        let second: UInt64
        let size: Int

        /// Sixteen bytes must be there. Of larger sizes the first sixteen bytes.
        @inline(__always)
        init(at place: UnsafeRawPointer, _ size: Int) {
            // Shifts of 64 bits and more leave nothing.
            let firstMask = ~(~UInt64(0) << UInt64(truncatingIfNeeded: size &* 8))
            let secondMask = ~(~UInt64(0) << UInt64(truncatingIfNeeded: max(0, size &- 8) &* 8))
            first = UInt64(littleEndian: place.loadUnaligned(as: UInt64.self)) & firstMask
            second = UInt64(littleEndian: place.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) & secondMask
            self.size = size
        }

        /// Reads no byte beyond the text, of which there are at most sixteen.
        init(byByte text: UnsafeRawBufferPointer) {
            var words: (UInt64, UInt64) = (0, 0)
            for (index, byte) in text.enumerated() {
                if index < 8 {
                    words.0 |= UInt64(byte) << UInt64(index &* 8)
                } else {
                    words.1 |= UInt64(byte) << UInt64(index &* 8 &- 64)
                }
            }
            (first, second) = words
            size = text.count
        }
    }

    private let chunk: ColumnChunk
    private let heap: UnsafeRawPointer
    /// The last place at which a text can begin that is read so.
    private let lastStart: Int

    /// nil where texts lie elsewhere. `count`: how many texts are stored.
    @inline(__always)
    init?(_ chunk: ColumnChunk, _ count: Int) {
        guard let heap = chunk.heap, !chunk.hasLongTexts else { return nil }
        self.chunk = chunk
        self.heap = heap
        lastStart = chunk.offset(count) &- Self.mostBytes
    }

    @inline(__always)
    func text(_ index: Int) -> UnsafeRawBufferPointer { chunk.text(index) }

    /// nil of longer texts, and of the last ones.
    @inline(__always)
    func words(_ index: Int) -> Words? {
        let start = chunk.offset(index)
        let size = chunk.offset(index &+ 1) &- start
        guard size <= Self.mostBytes, start <= lastStart else { return nil }
        return Words(at: heap + start, size)
    }
}
