/// One commit's changes, as a `ChangeRecorder` has collected them or as they are read back from the change log: both
/// make the same record. Its bytes are made by `ChangeRecord+Encoding`; any bytes may be decoded, and the result is an
/// error or what a recorder made.
///
/// Sections of an unknown kind are passed over if they say that they may be.
import MotteValues

package struct ChangeRecord: Equatable, Sendable {
    package struct Table: Equatable, Sendable {
        package let table: TableKey
        package var inserted = KeyRuns()
        package var deleted = KeyRuns()
        package var columns: [Column] = []
        package var lists: [List] = []
        package var maps: [Map] = []
        package var nested: [Nested] = []

        var isEmpty: Bool {
            inserted.isEmpty && deleted.isEmpty && columns.isEmpty && lists.isEmpty && maps.isEmpty && nested.isEmpty
        }

        /// Rows that came or went are in every index, a change in those of its column.
        func mayChangeIndex(of column: ColumnKey) -> Bool {
            !inserted.isEmpty || !deleted.isEmpty || columns.contains { $0.column == column }
                || lists.contains { $0.column == column } || maps.contains { $0.column == column }
                || nested.contains { $0.column == column }
        }
    }

    /// Objects of which one property was set; keys ascend.
    package struct Column: Equatable, Sendable {
        package let column: ColumnKey
        package let keys: [Int64]
        /// Of each key the value before and the value after, as `LoggedValue` writes them.
        let images: [UInt8]
        /// Where each key's values begin; empty if there are none.
        let starts: [Int]

        package var hasImages: Bool { !starts.isEmpty }

        /// The property of `keys[index]` before and after the commit; nil if the record kept no values.
        package func values(_ index: Int) throws(DatabaseError) -> (before: LoggedValue, after: LoggedValue)? {
            guard index < starts.count else { return nil }
            return try images.withBytes { bytes throws(DatabaseError) in
                var reader = LogReader(UnsafeRawBufferPointer(rebasing: bytes[starts[index]...]))
                return (try LoggedValue.read(&reader), try LoggedValue.read(&reader))
            }
        }
    }

    /// Edits of one list, in order.
    package struct List: Equatable, Sendable {
        package let column: ColumnKey
        package let owner: Int64
        package let operations: [ListOperation]
    }

    /// Changed keys of one map, ascending.
    package struct Map: Equatable, Sendable {
        package let column: ColumnKey
        package let owner: Int64
        package let changes: [MapChange]
    }

    /// Edits within the mixed values of one property of one object, in order.
    package struct Nested: Equatable, Sendable {
        package let column: ColumnKey
        package let owner: Int64
        package let operations: [NestedOperation]
    }

    package let version: Version
    /// Checksum of the record before this one; 0 if there was none.
    package let previous: UInt32
    package private(set) var checksum: UInt32
    /// How long its bytes are.
    package private(set) var byteCount: Int
    package let wallTimeNanoseconds: Int64
    package let origin: ChangeOrigin
    package private(set) var schemaChanged = false
    /// In a way that batches of changes do not carry over.
    package private(set) var breaksSchema = false
    /// Ascending.
    package private(set) var tables: [Table] = []
    /// Keys of the pages that were written of what the file keeps of others (`ReplicaPages`), ascending.
    package private(set) var replicaPages: [[UInt8]] = []

    /// What a recorder has collected, and its bytes. `tables` ascend and none is empty.
    static func encoding(
        _ tables: [Table], replicaPages: [[UInt8]], schemaChanged: Bool, breaksSchema: Bool, version: Version,
        previous: UInt32, wallTimeNanoseconds: Int64, origin: ChangeOrigin
    ) -> (record: ChangeRecord, bytes: [UInt8]) {
        var record = ChangeRecord(
            version: version, previous: previous, checksum: 0, byteCount: 0, wallTimeNanoseconds: wallTimeNanoseconds,
            origin: origin, schemaChanged: schemaChanged, tables: tables)
        record.breaksSchema = breaksSchema
        record.replicaPages = replicaPages
        let (bytes, checksum) = record.encoded()
        record.checksum = checksum
        record.byteCount = bytes.count
        return (record, bytes)
    }

    private init(
        version: Version, previous: UInt32, checksum: UInt32, byteCount: Int, wallTimeNanoseconds: Int64,
        origin: ChangeOrigin, schemaChanged: Bool, tables: [Table]
    ) {
        self.version = version
        self.previous = previous
        self.checksum = checksum
        self.byteCount = byteCount
        self.wallTimeNanoseconds = wallTimeNanoseconds
        self.origin = origin
        self.schemaChanged = schemaChanged
        self.tables = tables
    }

    package init(decoding bytes: UnsafeRawBufferPointer, version: Version) throws(DatabaseError) {
        guard bytes.count >= ChangeRecordFormat.headerSize else { throw .corrupted("a change record is too short") }
        guard bytes[0] == ChangeRecordFormat.kind else { throw .corrupted("a change record has the wrong kind") }
        guard bytes[1] == ChangeRecordFormat.format else {
            throw DatabaseError(
                .unsupportedFormat, "change record format \(bytes[1]) is newer than this library; update it")
        }
        var reader = LogReader(bytes)
        _ = try reader.u16()
        _ = try reader.u16()
        let sectionCount = try reader.u32()
        let named = Version(try reader.u64())
        previous = try reader.u32()
        checksum = try reader.u32()
        wallTimeNanoseconds = Int64(bitPattern: try reader.u64())
        origin = ChangeOrigin(high: try reader.u64(), low: try reader.u64())
        self.version = version
        byteCount = bytes.count
        let actual = ChangeRecordFormat.pageKey(version).withUnsafeBytes {
            ChangeRecordFormat.checksum(of: bytes, pageKey: $0)
        }
        guard actual == checksum, named == version else {
            throw .corrupted("the checksum of the change record of version \(version.rawValue) is wrong")
        }
        var left = sectionCount
        while left > 0 {
            try readSection(&reader)
            left -= 1
        }
        guard reader.remaining == 0 else { throw .corrupted("a change record has bytes behind its last section") }
    }

    private mutating func readSection(_ reader: inout LogReader) throws(DatabaseError) {
        let number = try reader.u16()
        let flags = try reader.u16()
        var body = LogReader(try reader.run(Int(try reader.u32())))
        switch ChangeRecordFormat.Section(rawValue: number) {
        case .schema:
            schemaChanged = true
            if body.remaining > 0 { breaksSchema = try body.byte() == 1 }
        case .inserted:
            let (table, keys) = try Self.readRuns(&body)
            withTable(table) { $0.inserted.formUnion(keys) }
        case .deleted:
            let (table, keys) = try Self.readRuns(&body)
            withTable(table) { $0.deleted.formUnion(keys) }
        case .modified:
            let (table, column) = try Self.readColumn(&body)
            withTable(table) { $0.columns.append(column) }
        case .lists:
            let (table, lists) = try Self.readLists(&body)
            withTable(table) { $0.lists.append(contentsOf: lists) }
        case .maps:
            let (table, column, owners) = try Self.readOwners(&body, minimumSize: 2) { reader throws(DatabaseError) in
                try reader.mapChange()
            }
            withTable(table) {
                $0.maps += owners.map { Map(column: column, owner: $0.owner, changes: $0.items) }
            }
        case .nested:
            let (table, column, owners) = try Self.readOwners(&body, minimumSize: 2) { reader throws(DatabaseError) in
                try reader.nestedOperation()
            }
            withTable(table) {
                $0.nested += owners.map { Nested(column: column, owner: $0.owner, operations: $0.items) }
            }
        case .replicas:
            for _ in 0 ..< (try body.count(minimumSize: 2)) {
                let key = [UInt8](try body.run(Int(clamping: try body.position())))
                guard ReplicaPages.isShipped(key), replicaPages.last.map({ $0.lexicographicallyPrecedes(key) }) ?? true
                else { throw .corrupted("a change record names pages that are none") }
                replicaPages.append(key)
            }
        case nil:
            guard flags & ChangeRecordFormat.optionalSection != 0 else {
                throw DatabaseError(
                    .unsupportedFormat, "change record section \(number) is newer than this library; update it")
            }
            return
        }
        guard body.remaining == 0 else { throw .corrupted("a section of a change record is too long") }
    }

    private mutating func withTable(_ key: TableKey, _ body: (inout Table) -> Void) {
        if tables.last?.table != key {
            // Written in order; in any other order tables would appear twice.
            if let known = tables.firstIndex(where: { $0.table == key }) { return body(&tables[known]) }
            tables.append(Table(table: key))
        }
        body(&tables[tables.count - 1])
    }

    private static func readRuns(_ reader: inout LogReader) throws(DatabaseError) -> (TableKey, KeyRuns) {
        let table = TableKey(try reader.u32())
        let count = try reader.count(minimumSize: 2)
        var keys = KeyRuns()
        var end: Int64 = 0
        for _ in 0 ..< count {
            let start = end + (try reader.position())
            guard start < 1 << 62 else { throw tooLarge() }
            end = start + (try reader.position())
            guard end < 1 << 62 else { throw tooLarge() }
            keys.append(start ..< end)
        }
        return (table, keys)
    }

    /// The next of a series of ascending keys, written as its distance from the lowest possible one.
    @inline(__always)
    private static func readKey(_ reader: inout LogReader, after next: inout Int64) throws(DatabaseError) -> Int64 {
        let key = next + (try reader.position())
        guard key < 1 << 62 else { throw tooLarge() }
        next = key + 1
        return key
    }

    private static func readColumn(_ reader: inout LogReader) throws(DatabaseError) -> (TableKey, Column) {
        let table = TableKey(try reader.u32())
        let column = ColumnKey(try reader.u32())
        let hasImages = try reader.byte() != 0
        let count = try reader.count(minimumSize: 1)
        var keys: [Int64] = []
        var next: Int64 = 0
        keys.reserveCapacity(count)
        for _ in 0 ..< count { keys.append(try readKey(&reader, after: &next)) }
        guard hasImages else { return (table, Column(column: column, keys: keys, images: [], starts: [])) }
        // Walked once so that reading one later cannot fail on good memory.
        let images = try reader.run(reader.remaining)
        var walk = LogReader(images)
        let starts = try LoggedValue.passPairs(count, &walk)
        guard walk.remaining == 0 else { throw .corrupted("a change record has values without keys") }
        return (table, Column(column: column, keys: keys, images: [UInt8](images), starts: starts))
    }

    private static func readLists(_ reader: inout LogReader) throws(DatabaseError) -> (TableKey, [List]) {
        let (table, column, owners) = try readOwners(&reader, minimumSize: 3) { reader throws(DatabaseError) in
            try readOperation(&reader)
        }
        return (table, owners.map { List(column: column, owner: $0.owner, operations: $0.items) })
    }

    private static func readOwners<Item>(
        _ reader: inout LogReader, minimumSize: Int, _ read: (inout LogReader) throws(DatabaseError) -> Item
    ) throws(DatabaseError) -> (TableKey, ColumnKey, [(owner: Int64, items: [Item])]) {
        let table = TableKey(try reader.u32())
        let column = ColumnKey(try reader.u32())
        let count = try reader.count(minimumSize: 2)
        var owners: [(owner: Int64, items: [Item])] = []
        var next: Int64 = 0
        for _ in 0 ..< count {
            let owner = try readKey(&reader, after: &next)
            let itemCount = try reader.count(minimumSize: minimumSize)
            var items: [Item] = []
            items.reserveCapacity(itemCount)
            for _ in 0 ..< itemCount { items.append(try read(&reader)) }
            owners.append((owner, items))
        }
        return (table, column, owners)
    }

    private static func readOperation(_ reader: inout LogReader) throws(DatabaseError) -> ListOperation {
        let kind = ListOperation.Kind(rawValue: try reader.byte())
        let index = Int(try reader.position())
        let other = Int(try reader.position())
        switch kind {
        case .insert: return .insert(at: index, count: other)
        case .remove: return .remove(at: index, count: other)
        case .set: return .set(at: index, count: other)
        case .move: return .move(from: index, to: other)
        case .clear: return .clear(count: other)
        case nil: throw .corrupted("a change record has an unknown list operation")
        }
    }

    private static func tooLarge() -> DatabaseError { .corrupted("a change record has an impossible key") }
}
