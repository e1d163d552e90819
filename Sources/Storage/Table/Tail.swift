/// The open tail: the last rows of a table, every column's chunk in one value, so that a commit of one object writes
/// one
/// page instead of one per column.
///
///     offset  0  row count     u32
///             4  column count  u32
///             8  first key     i64    repeats the table state's tailFirstKey
///            16  live offset   u32    0: all live; else a LiveBitmap's bytes
///            20  live size     u32
///            24  crc32c        u32    over the 24 bytes before, the directory and the page key
///            28  zero          u32
///            32  directory     per column: u32 column key | u32 offset | u32 size | u32 zero
///                chunks        each at a multiple of 8, with its own checksum
///
/// Readers see the tail as one more cluster. Rows move from here to clusters when the value outgrows `sizeLimit`.
import CMotteShim
import MotteValues

enum Tail {
    /// One overflow page holds 4,080 bytes.
    static let sizeLimit = 4_080
    /// Rows kept in the tail at most, whatever their size; more arrive only in bulk, where clusters are cheaper.
    static let rowLimit = 64

    struct Directory {
        var rowCount: Int
        var firstKey: Int64
        var live: Range<Int>
        var columns: [(key: ColumnKey, bytes: Range<Int>)]
    }

    /// `columns` are the encoded chunks; `live` the encoded bitmap, empty where all rows are live.
    static func encode(
        rowCount: Int, firstKey: Int64, live: [UInt8], columns: [(key: ColumnKey, bytes: [UInt8])], pageKey: [UInt8]
    ) -> [UInt8] {
        var offset = 32 + columns.count * 16
        var head = ByteWriter()
        head.write(UInt32(rowCount))
        head.write(UInt32(columns.count))
        head.write(firstKey)
        let liveOffset = live.isEmpty ? 0 : offset
        head.write(UInt32(liveOffset))
        head.write(UInt32(live.count))
        offset += (live.count + 7) & ~7
        var directory = ByteWriter()
        for column in columns {
            directory.write(column.key.rawValue)
            directory.write(UInt32(offset))
            directory.write(UInt32(column.bytes.count))
            directory.write(UInt32(0))
            offset += (column.bytes.count + 7) & ~7
        }
        var bytes = head.bytes
        bytes.reserveCapacity(offset)
        let crc = checksum(head.bytes, directory.bytes, pageKey)
        withUnsafeBytes(of: crc.littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: [0, 0, 0, 0])
        bytes.append(contentsOf: directory.bytes)
        append(live, to: &bytes)
        for column in columns { append(column.bytes, to: &bytes) }
        return bytes
    }

    static func decode(_ bytes: UnsafeRawBufferPointer, pageKey: [UInt8]) throws(DatabaseError) -> Directory {
        var reader = ByteReader(bytes, of: "a table's tail")
        let rowCount = Int(try reader.read(UInt32.self))
        let columnCount = Int(try reader.read(UInt32.self))
        let firstKey: Int64 = try reader.read()
        let liveOffset = Int(try reader.read(UInt32.self))
        let liveSize = Int(try reader.read(UInt32.self))
        let crc: UInt32 = try reader.read()
        let _: UInt32 = try reader.read()
        guard columnCount <= reader.remaining / 16 else {
            throw .corrupted("a table's tail is too short for its columns")
        }
        let directory = [UInt8](bytes[32 ..< 32 + columnCount * 16])
        guard crc == checksum([UInt8](bytes[0 ..< 24]), directory, pageKey) else {
            throw .corrupted("a table's tail fails its checksum")
        }
        var columns: [(ColumnKey, Range<Int>)] = []
        for _ in 0 ..< columnCount {
            let key: UInt32 = try reader.read()
            let offset = Int(try reader.read(UInt32.self))
            let size = Int(try reader.read(UInt32.self))
            let _: UInt32 = try reader.read()
            guard offset + size <= bytes.count else { throw .corrupted("a column of a table's tail lies outside it") }
            columns.append((ColumnKey(key), offset ..< offset + size))
        }
        guard liveOffset + liveSize <= bytes.count else {
            throw .corrupted("the live bitmap of a table's tail lies outside it")
        }
        return Directory(
            rowCount: rowCount, firstKey: firstKey, live: liveOffset ..< liveOffset + liveSize, columns: columns)
    }

    private static func append(_ part: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(contentsOf: part)
        while bytes.count & 7 != 0 { bytes.append(0) }
    }

    private static func checksum(_ head: [UInt8], _ directory: [UInt8], _ pageKey: [UInt8]) -> UInt32 {
        [head, directory, pageKey].reduce(0) { crc, part in
            part.withUnsafeBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) }
        }
    }
}
