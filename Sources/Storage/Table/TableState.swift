/// The few numbers of a table that every commit touching it rewrites.
///
///     offset  0  live count        i64
///             8  next key          i64   never goes back; keys below it were given out, or passed over (`GivenKeys`)
///            16  open row group's first key  i64   rows [open row group, next) are in the open row group value, all
/// others in row groups
///            24  modified in       u64   version of the last commit that touched the table
///            32  crc32c            u32   of what is before it, what is behind it, the page key
///            36  rows per row group  u32   of this table; zero: those of the file
///
/// Invariants:
///   table-1  0 <= liveCount <= nextKey
///   table-2  0 <= openGroupFirstKey <= nextKey
///   table-3  no more row groups than the file has entries, apart from those whose rows may have no bytes of their own
import CMotteShim
import MottePages
import MotteValues

package struct TableState {
    package var liveCount: Int64 = 0
    var nextKey: Int64 = 0
    var openGroupFirstKey: Int64 = 0
    package var modifiedIn: UInt64 = 0
    /// 0: those of the file. Chosen once, when the first row group has its 480th row (`TableWriter`).
    var ownRowGroupSize = 0

    package static let encodedSize = 40
    /// Keys keep their top 16 bits zero.
    package static let keyLimit: Int64 = 1 << 48

    /// Writes `encodedSize` bytes.
    package func write(to base: UnsafeMutableRawPointer, for table: TableKey) {
        assert(liveCount >= 0 && liveCount <= nextKey, "table-1")
        assert(openGroupFirstKey >= 0 && openGroupFirstKey <= nextKey, "table-2")
        base.storeBytes(of: liveCount.littleEndian, as: Int64.self)
        base.storeBytes(of: nextKey.littleEndian, toByteOffset: 8, as: Int64.self)
        base.storeBytes(of: openGroupFirstKey.littleEndian, toByteOffset: 16, as: Int64.self)
        base.storeBytes(of: modifiedIn.littleEndian, toByteOffset: 24, as: UInt64.self)
        let rows = UInt32(ownRowGroupSize)
        base.storeBytes(of: Self.checksum(base, rows, table).littleEndian, toByteOffset: 32, as: UInt32.self)
        base.storeBytes(of: rows.littleEndian, toByteOffset: 36, as: UInt32.self)
    }

    init() {}

    init(decoding bytes: UnsafeRawBufferPointer, of table: TableKey) throws(DatabaseError) {
        guard bytes.count == Self.encodedSize, let base = bytes.baseAddress else {
            throw .corrupted("state of table \(table.rawValue) has a wrong size")
        }
        // Read as they lie: sessions that follow commits read a state for each.
        liveCount = Int64(littleEndian: base.loadUnaligned(as: Int64.self))
        nextKey = Int64(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: Int64.self))
        openGroupFirstKey = Int64(littleEndian: base.loadUnaligned(fromByteOffset: 16, as: Int64.self))
        modifiedIn = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
        let stored = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 32, as: UInt32.self))
        let rows = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 36, as: UInt32.self))
        guard stored == Self.checksum(base, rows, table) else {
            throw .corrupted("state of table \(table.rawValue) fails its checksum")
        }
        ownRowGroupSize = Int(rows)
        guard liveCount >= 0, liveCount <= nextKey, openGroupFirstKey >= 0, openGroupFirstKey <= nextKey,
            nextKey <= Self.keyLimit, ownRowGroupSize <= FileHeader.mostRowGroupSize
        else {
            throw .corrupted("state of table \(table.rawValue) contradicts itself")
        }
    }

    /// Row groups and rows that nothing in the file bears witness of: every property is younger than they are.
    private static let mostSilentRowGroups: Int64 = 1 << 16
    private static let mostSilentRows: Int64 = 1 << 26

    /// The highest next key that a table of a file with so many entries can have (table-3).
    package static func mostKeys(rowGroupSize: Int, entries: Int) -> Int64 {
        let rows = Int64(rowGroupSize)
        // Each other row group has a chunk or a live bitmap.
        let (witnessed, overflows) = Int64(entries).multipliedReportingOverflow(by: rows)
        guard !overflows, witnessed < keyLimit else { return keyLimit }
        return min(keyLimit, witnessed + min(mostSilentRows, mostSilentRowGroups * rows))
    }

    /// Whoever goes through a table's row groups, or counts by its keys, relies on it.
    func requireRoom(
        in pages: PageSnapshot, rowGroupSizeOfFile: Int, of table: TableKey
    ) throws(DatabaseError) {
        let rows = rowGroupSize(ofFile: rowGroupSizeOfFile)
        guard nextKey - openGroupFirstKey <= rows else {
            throw .corrupted("state of table \(table.rawValue) has an open row group larger than a row group")
        }
        guard nextKey > Self.mostSilentRowGroups else { return }
        guard nextKey <= Self.mostKeys(rowGroupSize: rows, entries: pages.mostEntryCount) else {
            throw .corrupted("state of table \(table.rawValue) has more objects than the file can hold (table-3)")
        }
    }

    func rowGroupSize(ofFile rows: Int) -> Int { ownRowGroupSize > 0 ? ownRowGroupSize : rows }

    private static func checksum(_ base: UnsafeRawPointer, _ rows: UInt32, _ table: TableKey) -> UInt32 {
        var crc = motte_shim_crc32c(0, base, 32)
        var rows = rows.littleEndian
        crc = motte_shim_crc32c(crc, &rows, 4)
        return PageKeys.tableState(table).withUnsafeBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) }
    }
}
