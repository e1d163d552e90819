/// The keys of everything the store keeps, in one place: which key space a thing lives in and in which order.
///
///     0x00                                          header record (owned by Pages)
///     0x01                                          catalog
///     0x02 | table                                  table state
///     0x03 | table                                  tail: the last rows of the table, all columns in one value
///     0x04 | table | column | cluster               chunk (the order is `ChunkOrder`)
///     0x05 | table | cluster                        live bitmap, only where a row has been deleted
///     0x06 | table | column | owner key | node      long list (`LongListFormat`)
///     0x07 | index ...                              index blocks (owned by Indexes)
///     0x08 | table | column | version | number      long value: its bytes (`LongValues`)
///     0x7F | version                                change log (owned by History)
///
/// Numbers are big-endian, so that byte order is numeric order: 4 bytes each, owner key and version 8.
import MotteColumns
import MotteValues

enum PageKeys {
    static let catalog: [UInt8] = [0x01]

    static func tableState(_ table: TableKey) -> [UInt8] { make(0x02, table.rawValue) }
    static func tail(_ table: TableKey) -> [UInt8] { make(0x03, table.rawValue) }

    static func chunk(_ table: TableKey, _ column: ColumnKey, _ cluster: Int) -> [UInt8] {
        // Column before cluster: a scan of one column walks neighbouring leaves. Measured with the open tail in place;
        // see docs/ARCHITECTURE.md, "Order of chunk keys".
        make(0x04, table.rawValue, column.rawValue, UInt32(truncatingIfNeeded: cluster))
    }

    static func chunks(_ table: TableKey) -> [UInt8] { make(0x04, table.rawValue) }

    static func liveBitmap(_ table: TableKey, _ cluster: Int) -> [UInt8] {
        make(0x05, table.rawValue, UInt32(truncatingIfNeeded: cluster))
    }

    static func liveBitmaps(_ table: TableKey) -> [UInt8] { make(0x05, table.rawValue) }

    static func longList(_ table: TableKey, _ column: ColumnKey, _ owner: ObjectKey, _ node: UInt32) -> [UInt8] {
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

    /// What all keys of a column's pages begin with, apart from its index and the tail.
    static func everything(of table: TableKey, _ column: StoredColumn) -> [[UInt8]] {
        [0x04, 0x06, 0x08].map { make($0, table.rawValue, column.key.rawValue) }
    }

    /// What the keys of pages begin with that belong to single rows.
    static func pagesOfRows(of table: TableKey) -> [[UInt8]] {
        everything(of: table).filter { ![0x02, 0x03, 0x04, 0x05].contains($0[0]) }
    }

    /// What all keys of a table's pages begin with, apart from its indexes.
    static func everything(of table: TableKey) -> [[UInt8]] {
        [0x02, 0x03, 0x04, 0x05, 0x06, 0x08].map { make($0, table.rawValue) }
    }

    private static func make(_ space: UInt8, _ numbers: UInt32...) -> [UInt8] {
        var key = [UInt8]()
        key.reserveCapacity(24)
        key.append(space)
        for number in numbers { withUnsafeBytes(of: number.bigEndian) { key.append(contentsOf: $0) } }
        return key
    }
}
