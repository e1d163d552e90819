/// The open row group: the last rows of a table, every column's chunk in one value, so that a commit of one object
/// writes one page instead of one per column.
///
///     offset  0  row count     u32
///             4  column count  u32
///             8  first key     i64    repeats the table state's openGroupFirstKey
///            16  live offset   u32    0: all live; else a LiveBitmap's bytes
///            20  live size     u32
///            24  crc32c        u32    over the 24 bytes before, the directory and the page key
///            28  zero          u32
///            32  directory     per column: u32 column key | u32 offset | u32 size | u32 zero
///                chunks        each at a multiple of 8, with its own checksum
///
/// Readers see the open row group as one more row group. Rows move from here to row groups when the value outgrows
/// `sizeLimit`.
import CMotteShim
import MottePages
import MotteValues

enum OpenGroup {
    /// One overflow page holds 4,080 bytes.
    static let sizeLimit = 4_064
    /// Rows kept in the open row group at most, whatever their size; more arrive only in bulk, where row groups are
    /// cheaper.
    static let rowLimit = 64

    struct Directory {
        var rowCount: Int
        var firstKey: Int64
        var live: Range<Int>
        var columns: [(key: ColumnKey, bytes: Range<Int>)]
    }

    /// A column, ready to be written, and how many bytes it takes.
    struct Column {
        let key: ColumnKey
        let size: Int
        let encoder: ColumnEncoder

        init(_ key: ColumnKey, _ encoder: ColumnEncoder) {
            self.key = key
            self.encoder = encoder
            size = encoder.size
        }
    }

    /// What an open row group is written from: how large it gets is known before a byte of it is made.
    struct Encoder {
        private let rowCount: Int
        private let firstKey: Int64
        private let live: [UInt8]
        private let columns: [Column]
        let size: Int

        /// `live` is the encoded bitmap, empty where all rows are live.
        init(rowCount: Int, firstKey: Int64, live: [UInt8], columns: [Column]) {
            self.rowCount = rowCount
            self.firstKey = firstKey
            self.live = live
            self.columns = columns
            var size = headSize + columns.count * entrySize + padded(live.count)
            for index in columns.indices { size += padded(columns[index].size) }
            self.size = size
        }

        /// Writes `size` bytes.
        func write(to base: UnsafeMutableRawPointer, pageKey: [UInt8]) {
            var offset = headSize + columns.count * entrySize
            store(UInt32(rowCount), base, 0)
            store(UInt32(columns.count), base, 4)
            base.storeBytes(of: firstKey.littleEndian, toByteOffset: 8, as: Int64.self)
            store(live.isEmpty ? 0 : UInt32(offset), base, 16)
            store(UInt32(live.count), base, 20)
            store(0, base, 28)
            live.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(start: base + offset, count: $0.count).copyMemory(from: $0)
            }
            pad(base, offset, live.count)
            offset += padded(live.count)
            var entry = headSize
            pageKey.withUnsafeBytes { key in
                for index in columns.indices {
                    let size = columns[index].size
                    store(columns[index].key.rawValue, base, entry)
                    store(UInt32(offset), base, entry + 4)
                    store(UInt32(size), base, entry + 8)
                    store(0, base, entry + 12)
                    columns[index].encoder.write(to: base + offset, key: key)
                    pad(base, offset, size)
                    offset += padded(size)
                    entry += entrySize
                }
            }
            assert(offset == size, "an open row group's size was reckoned wrongly")
            store(checksum(base, columns.count, pageKey), base, 24)
        }

        private func store(_ number: UInt32, _ base: UnsafeMutableRawPointer, _ offset: Int) {
            base.storeBytes(of: number.littleEndian, toByteOffset: offset, as: UInt32.self)
        }

        private func pad(_ base: UnsafeMutableRawPointer, _ offset: Int, _ size: Int) {
            for place in offset + size ..< offset + padded(size) {
                base.storeBytes(of: 0, toByteOffset: place, as: UInt8.self)
            }
        }
    }

    private static let headSize = 32
    private static let entrySize = 16
    private static func padded(_ size: Int) -> Int { (size + 7) & ~7 }

    static func decode(_ bytes: UnsafeRawBufferPointer, pageKey: [UInt8]) throws(DatabaseError) -> Directory {
        guard bytes.count >= headSize, let base = bytes.baseAddress else {
            throw .corrupted("an open row group is too short")
        }
        func number(_ offset: Int) -> Int {
            Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        }
        let columnCount = number(4)
        let firstKey = Int64(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: Int64.self))
        guard (0 ... TableState.keyLimit).contains(firstKey), number(0) <= FileHeader.mostRowGroupSize else {
            throw .corrupted("an open row group contradicts itself")
        }
        guard columnCount <= (bytes.count - headSize) / entrySize else {
            throw .corrupted("an open row group is too short for its columns")
        }
        guard number(24) == Int(checksum(base, columnCount, pageKey)) else {
            throw .corrupted("an open row group fails its checksum")
        }
        var columns: [(ColumnKey, Range<Int>)] = []
        columns.reserveCapacity(columnCount)
        for entry in stride(from: headSize, to: headSize + columnCount * entrySize, by: entrySize) {
            let offset = number(entry + 4), size = number(entry + 8)
            guard offset + size <= bytes.count else { throw .corrupted("a column is outside its open row group") }
            guard number(entry + 12) == 0, isZero(bytes, offset + size) else {
                throw .corrupted("an open row group has something between its columns")
            }
            columns.append((ColumnKey(UInt32(truncatingIfNeeded: number(entry))), offset ..< offset + size))
        }
        let liveOffset = number(16), liveSize = number(20)
        guard liveOffset + liveSize <= bytes.count else {
            throw .corrupted("the live bitmap is outside its open row group")
        }
        guard number(28) == 0, liveSize == 0 || isZero(bytes, liveOffset + liveSize) else {
            throw .corrupted("an open row group has something where nothing belongs")
        }
        return Directory(
            rowCount: number(0), firstKey: firstKey, live: liveOffset ..< liveOffset + liveSize, columns: columns)
    }

    /// Whether there is nothing from here to the next multiple of 8.
    private static func isZero(_ bytes: UnsafeRawBufferPointer, _ end: Int) -> Bool {
        for place in end ..< min(padded(end), bytes.count) where bytes[place] != 0 { return false }
        return true
    }

    private static func checksum(_ base: UnsafeRawPointer, _ columnCount: Int, _ pageKey: [UInt8]) -> UInt32 {
        var crc = motte_shim_crc32c(0, base, 24)
        crc = motte_shim_crc32c(crc, base + headSize, columnCount * entrySize)
        return pageKey.withUnsafeBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) }
    }
}
