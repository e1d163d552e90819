/// The keys of everything the store keeps, in one place: which key space a thing lives in and in which order.
///
///     0x00                                          header record (owned by Pages)
///     0x01                                          catalog
///     0x02 | table                                  table state
///     0x03 | table                                  open row group: the last rows of the table, all columns in one
/// value
///     0x04 | table | column | row group               chunk (the order is `ChunkOrder`)
///     0x05 | table | row group                        live bitmap, only where a row has been deleted
///     0x06 | table | column | owner key | node      long list (`LongListFormat`)
///     0x07 | index ...                              index blocks (owned by Indexes)
///     0x08 | table | column | version | number      long value: its bytes (`LongValues`)
///     0x0B | table ...                              replication (`ReplicaPages`)
///     0x7F | version                                change log (owned by History)
///
/// Numbers are big-endian, so that byte order is numeric order: 4 bytes each, owner key and version 8.
import MotteColumns
import MotteValues

package enum PageKeys {
    package static let catalog: [UInt8] = [0x01]

    package static func tableState(_ table: TableKey) -> [UInt8] { make(0x02, table.rawValue) }
    package static func openGroup(_ table: TableKey) -> [UInt8] { make(0x03, table.rawValue) }

    package static func chunk(_ table: TableKey, _ column: ColumnKey, _ rowGroup: Int) -> [UInt8] {
        // Column before row group: a scan of one column walks neighbouring leaves. Measured with the open row
        // group in place; see docs/ARCHITECTURE.md, "Order of chunk keys".
        make(0x04, table.rawValue, column.rawValue, UInt32(truncatingIfNeeded: rowGroup))
    }

    static func chunks(_ table: TableKey) -> [UInt8] { make(0x04, table.rawValue) }

    package static func liveBitmap(_ table: TableKey, _ rowGroup: Int) -> [UInt8] {
        make(0x05, table.rawValue, UInt32(truncatingIfNeeded: rowGroup))
    }

    static func liveBitmaps(_ table: TableKey) -> [UInt8] { make(0x05, table.rawValue) }

    package static func longList(
        _ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, _ node: UInt32
    ) -> [UInt8] {
        var key = longList(table, column, owner)
        withUnsafeBytes(of: node.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    /// What the keys of all nodes of a list begin with.
    static func longList(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey) -> [UInt8] {
        var key = make(0x06, table.rawValue, column.rawValue)
        withUnsafeBytes(of: UInt64(bitPattern: owner.rawValue).bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    static func longValue(_ table: TableKey, _ column: ColumnKey, _ reference: LongTextReference) -> [UInt8] {
        var key = longValues(table, column)
        withUnsafeBytes(of: reference.version.bigEndian) { key.append(contentsOf: $0) }
        withUnsafeBytes(of: reference.number.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    /// What the keys of all long values of a column begin with.
    static func longValues(_ table: TableKey, _ column: ColumnKey) -> [UInt8] {
        make(0x08, table.rawValue, column.rawValue)
    }

    /// Spaces whose keys have a column behind the table.
    static func belongsToColumn(_ space: UInt8) -> Bool { space == 0x04 || space == 0x06 || space == 0x08 }

    /// What all keys of a column's pages begin with, apart from its index and the open row group.
    static func everything(of table: TableKey, _ column: StoredColumn) -> [[UInt8]] {
        [0x04, 0x06, 0x08].map { make($0, table.rawValue, column.key.rawValue) }
    }

    /// What the keys of pages begin with that belong to single rows.
    static func pagesOfRows(of table: TableKey) -> [[UInt8]] {
        everything(of: table).filter { ![0x02, 0x03, 0x04, 0x05, ReplicaPages.space].contains($0[0]) }
    }

    /// What all keys of a table's pages begin with, apart from its indexes.
    static func everything(of table: TableKey) -> [[UInt8]] {
        [0x02, 0x03, 0x04, 0x05, 0x06, 0x08, ReplicaPages.space].map { make($0, table.rawValue) }
    }

    private static func make(_ space: UInt8, _ table: UInt32) -> [UInt8] { make(space, 1, table, 0, 0) }

    private static func make(_ space: UInt8, _ table: UInt32, _ next: UInt32) -> [UInt8] {
        make(space, 2, table, next, 0)
    }

    private static func make(_ space: UInt8, _ table: UInt32, _ column: UInt32, _ last: UInt32) -> [UInt8] {
        make(space, 3, table, column, last)
    }

    /// The first `count` of the numbers.
    private static func make(
        _ space: UInt8, _ count: Int, _ first: UInt32, _ second: UInt32, _ third: UInt32
    ) -> [UInt8] {
        // Room for what some append; every key has a first byte.
        [UInt8](unsafeUninitializedCapacity: 24) { buffer, used in
            guard let base = buffer.baseAddress.map({ UnsafeMutableRawPointer($0) }) else { return }
            base.storeBytes(of: space, as: UInt8.self)
            base.storeBytes(of: first.bigEndian, toByteOffset: 1, as: UInt32.self)
            base.storeBytes(of: second.bigEndian, toByteOffset: 5, as: UInt32.self)
            base.storeBytes(of: third.bigEndian, toByteOffset: 9, as: UInt32.self)
            used = 1 + 4 * count
        }
    }
}
