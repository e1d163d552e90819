/// The few numbers of a table that every commit touching it rewrites.
///
///     offset  0  live count        i64
///             8  next key          i64   never handed out before; never goes back
///            16  tail's first key  i64   rows [tail, next) are in the tail value, all others in clusters
///            24  modified in       u64   version of the last commit that touched the table
///            32  crc32c            u32   of what is before it, what is behind it unless that is zero, the page key
///            36  rows per cluster  u32   of this table; zero: those of the file
///
/// Invariants:
///   T1  0 <= liveCount <= nextKey
///   T2  0 <= tailFirstKey <= nextKey
import CMotteShim
import MottePages
import MotteValues

struct TableState {
    var liveCount: Int64 = 0
    var nextKey: Int64 = 0
    var tailFirstKey: Int64 = 0
    var modifiedIn: UInt64 = 0
    /// 0: those of the file. Chosen once, when the first cluster has its 480th row (`TableWriter`).
    var ownRowsPerCluster = 0

    static let encodedSize = 40
    /// Keys keep their top 16 bits zero.
    static let keyLimit: Int64 = 1 << 48

    func encoded(for table: TableKey) -> [UInt8] {
        assert(liveCount >= 0 && liveCount <= nextKey, "T1")
        assert(tailFirstKey >= 0 && tailFirstKey <= nextKey, "T2")
        var writer = ByteWriter()
        writer.write(liveCount)
        writer.write(nextKey)
        writer.write(tailFirstKey)
        writer.write(modifiedIn)
        let rows = UInt32(ownRowsPerCluster)
        let crc = Self.checksum(writer.bytes, rows, table)
        writer.write(crc)
        writer.write(rows)
        return writer.bytes
    }

    init() {}

    init(decoding bytes: UnsafeRawBufferPointer, of table: TableKey) throws(DatabaseError) {
        guard bytes.count == Self.encodedSize else {
            throw .corrupted("state of table \(table.rawValue) has a wrong size")
        }
        var reader = ByteReader(bytes, of: "state of table \(table.rawValue)")
        liveCount = try reader.read()
        nextKey = try reader.read()
        tailFirstKey = try reader.read()
        modifiedIn = try reader.read()
        let stored: UInt32 = try reader.read()
        let rows: UInt32 = try reader.read()
        guard stored == Self.checksum([UInt8](bytes[0 ..< 32]), rows, table) else {
            throw .corrupted("state of table \(table.rawValue) fails its checksum")
        }
        ownRowsPerCluster = Int(rows)
        guard liveCount >= 0, liveCount <= nextKey, tailFirstKey >= 0, tailFirstKey <= nextKey,
            nextKey <= Self.keyLimit, ownRowsPerCluster <= FileHeader.mostRowsPerCluster
        else {
            throw .corrupted("state of table \(table.rawValue) contradicts itself")
        }
    }

    func rowsPerCluster(ofFile rows: Int) -> Int { ownRowsPerCluster > 0 ? ownRowsPerCluster : rows }

    /// Zero adds nothing to it: so it was before tables had numbers of their own.
    private static func checksum(_ body: [UInt8], _ rows: UInt32, _ table: TableKey) -> UInt32 {
        let key = PageKeys.tableState(table)
        var crc = body.withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress, $0.count) }
        if rows != 0 {
            crc = withUnsafeBytes(of: rows.littleEndian) { motte_shim_crc32c(crc, $0.baseAddress, $0.count) }
        }
        return key.withUnsafeBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) }
    }
}
