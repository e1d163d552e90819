/// Which rows of a row group still exist. Stored only for row groups in which a row has been deleted.
///
///     offset  0  row count   u32   rows of the row group when it was written
///             4  live count  u32   0: the whole row group is gone, its chunks too, and no words follow
///             8  crc32c      u32   over header (with crc 0), words and page key
///            12  zero        u32
///            16  words       u64 each, bit i = row i; bits past the row count are 0
///
/// Invariant L0: live count = number of bits set, all of them of rows.
import CMotteShim
import MotteValues

package struct LiveBitmap {
    var rowCount: Int
    var words: [UInt64]

    package init(allLive rowCount: Int) {
        self.rowCount = rowCount
        words = []
        extend(to: rowCount, from: 0)
    }

    init(allDead rowCount: Int) {
        self.init(rowCount: rowCount, words: [UInt64](repeating: 0, count: (rowCount + 63) / 64))
    }

    private init(rowCount: Int, words: [UInt64]) {
        self.rowCount = rowCount
        self.words = words
    }

    var liveCount: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    func isLive(_ slot: Int) -> Bool { words[slot >> 6] & (1 << UInt64(slot & 63)) != 0 }

    package mutating func kill(_ slot: Int) { words[slot >> 6] &= ~(1 << UInt64(slot & 63)) }

    /// Rows appended to the row group are live.
    mutating func extend(to count: Int) {
        extend(to: count, from: rowCount)
        rowCount = count
    }

    private mutating func extend(to count: Int, from first: Int) {
        while words.count * 64 < count { words.append(0) }
        for slot in first ..< max(first, count) { words[slot >> 6] |= 1 << UInt64(slot & 63) }
    }

    package func encoded(key: [UInt8]) -> [UInt8] {
        let live = liveCount
        var writer = ByteWriter()
        writer.write(UInt32(rowCount))
        writer.write(UInt32(live))
        writer.write(UInt32(0))
        writer.write(UInt32(0))
        if live > 0 { for word in words { writer.write(word) } }
        var bytes = writer.bytes
        let crc = bytes.withUnsafeBytes { Self.checksum($0, key) }
        withUnsafeBytes(of: crc.littleEndian) { crcBytes in for index in 0 ..< 4 { bytes[8 + index] = crcBytes[index] }
        }
        return bytes
    }

    /// Of a row group with so many rows, each of which can then be asked for. `isOlder`: there may have come more
    /// since.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, key: [UInt8], rowCount expected: Int, isOlder: Bool = false
    ) throws(DatabaseError) -> LiveBitmap {
        guard bytes.count >= 16 else { throw .corrupted("a live bitmap ends too early") }
        // Read as they lie: a scan after deletions decodes one of these for each row group.
        let rowCount = Int(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
        let live = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        let crc = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        guard crc == checksum(bytes, key) else { throw .corrupted("a live bitmap fails its checksum") }
        guard rowCount == expected || isOlder && rowCount < expected, live <= rowCount else {
            throw .corrupted("a live bitmap contradicts itself")
        }
        if live == 0 {
            return LiveBitmap(rowCount: rowCount, words: [UInt64](repeating: 0, count: (rowCount + 63) / 64))
        }
        let first = 16
        let count = (rowCount + 63) / 64
        guard bytes.count - first >= count * 8 else { throw .corrupted("a live bitmap ends too early") }
        // Some row lives, so there is a word.
        let words = [UInt64](unsafeUninitializedCapacity: count) { words, initialized in
            for word in 0 ..< count {
                let stored = bytes.loadUnaligned(fromByteOffset: first + word * 8, as: UInt64.self)
                words.initializeElement(at: word, to: UInt64(littleEndian: stored))
            }
            initialized = count
        }
        let bitmap = LiveBitmap(rowCount: rowCount, words: words)
        let isPadded = rowCount & 63 == 0 || words.last.map { $0 >> UInt64(rowCount & 63) == 0 } ?? true
        guard bitmap.liveCount == live, isPadded else { throw .corrupted("a live bitmap miscounts (L0)") }
        return bitmap
    }

    /// As if its own place were 0.
    private static func checksum(_ bytes: UnsafeRawBufferPointer, _ key: [UInt8]) -> UInt32 {
        var crc = motte_shim_crc32c(0, bytes.baseAddress, 8)
        crc = withUnsafeBytes(of: UInt32(0)) { motte_shim_crc32c(crc, $0.baseAddress, 4) }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[12...])
        crc = motte_shim_crc32c(crc, rest.baseAddress, rest.count)
        return key.withUnsafeBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) }
    }
}
