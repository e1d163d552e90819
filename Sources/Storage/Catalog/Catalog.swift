/// The stored schema: every table and column of the file with the keys the rest of the store refers to them by.
///
/// What is reserved is zero, and a file where it is not is refused.
///
/// One record (`PageKeys.catalog`) holds it all and is rewritten by a commit that changes the schema. Table, column and
/// index keys ascend from 1 and are never reused. Values are immutable; a schema change makes a new `Catalog`.
///
///     u32 format (3) | u32 crc32c of what follows | u64 schema version | u64 changed in (commit version)
///     u32 next table key | u32 next index key | u32 table count
///     table:   u32 key | text name | u32 next column key | u32 flags (1 embedded)
///              16 bytes reserved: identity in replication | u32 column count | columns
///              u32 inverse count | inverses | u32 index count | indexes (`StoredIndex`)
///     column:  u32 key | text name | u8 type | u8 collection | u8 flags (1 nullable, 2 primary key, 4 indexed,
///              8 the keys of the map before it; times 16 the width of ints: 0 64 bits, 1 8, 2 16, 3 32)
///              u32 target table (0: none; of mixed values the index of the links in them) | u32 index key (0: none)
///     inverse: text name | u32 origin table | text origin property
import CMotteShim
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct StoredColumn: Sendable {
    package var key: ColumnKey
    package var name: String
    package var type: PropertyType
    package var width = IntWidth.bits64
    package var collection: CollectionKind
    package var isNullable: Bool
    package var isPrimaryKey: Bool
    package var isIndexed: Bool
    package var target: TableKey?
    /// The index kept for this column: of a primary key or indexed column its values, of a link column its backlinks.
    package var index: IndexKey?
    /// Of a column of mixed values: the index of the links in them, at any depth.
    package var linkIndex: IndexKey?
    package var kind: ColumnKind
    /// Of a map: the column that holds its keys, in step with the values here.
    package var keyColumn: ColumnKey?
    /// The keys of a map: a column that users do not see.
    package var isMapKeys = false

    /// Declared indexes of the elements of this collection.
    package var elementIndexes: [IndexKey] = []

    /// Whether a row has a run of elements here: a list, a set, a map's values or its keys.
    package var isList: Bool { collection != .none }
    package var isLink: Bool { type == .link }
    /// Those that the column has by itself, and that have to go when it goes.
    package var indexes: [IndexKey] { [index, linkIndex].compactMap { $0 } }
}

package struct StoredInverse: Sendable {
    package var name: String
    package var originTable: TableKey
    package var originProperty: String
    /// Column keys that the table had given out when the property was declared. Column keys ascend in the order of
    /// declaration, so this says between which columns the property stands.
    package var precedingColumns: UInt32

    /// The position among properties that keeps the order of declaration.
    fileprivate func place(in properties: [Property]) -> Int {
        let before = properties.lastIndex { $0.columnKey.map { $0.rawValue <= precedingColumns } ?? false } ?? -1
        var place = before + 1
        // Behind inverse properties that were declared at the same place before it.
        while place < properties.count, !properties[place].isStored { place += 1 }
        return place
    }
}

package struct StoredTable: Sendable {
    /// Keys of columns stay below: tables of slots have a place for each. No class has had a million properties.
    package static let columnKeyLimit: UInt32 = 1 << 20

    package var key: TableKey
    package var name: String
    package var nextColumnKey: UInt32
    package var columns: [StoredColumn]
    package var inverses: [StoredInverse]
    package var isEmbedded = false
    /// Those that columns do not have by themselves.
    package var indexes: [StoredIndex] = []

    package var primaryKey: StoredColumn? { columns.first { $0.isPrimaryKey } }
    package func column(_ key: ColumnKey) -> StoredColumn? { columns.first { $0.key == key } }
    package func column(named name: String) -> StoredColumn? { columns.first { $0.name.hasSameBytes(as: name) } }
}

package final class Catalog: Sendable {
    package let schemaVersion: UInt64
    /// Version of the commit that last changed the schema; sessions notice a change of schema by it.
    package let changedIn: UInt64
    package let nextTableKey: UInt32
    package let nextIndexKey: UInt32
    package let tables: [StoredTable]
    /// The same as what users declare, with table and column keys filled in.
    package let schema: Schema
    /// Columns of mixed values, which may link to objects of any class.
    package let mixedColumns: [(table: TableKey, column: StoredColumn)]
    private let incoming: [TableKey: [(table: TableKey, column: StoredColumn)]]
    private let tableIndexes: [TableKey: [TableIndex]]
    private let indexesByKey: [IndexKey: TableIndex]
    let hasUnknownIndexes: Bool
    /// To be built again by the next commit.
    let outdatedIndexes: Set<IndexKey>
    /// What the planner knows of the classes while this is their schema.
    let samples = TableSamples()

    package init(
        schemaVersion: UInt64, changedIn: UInt64, nextTableKey: UInt32, nextIndexKey: UInt32, tables: [StoredTable]
    ) {
        self.schemaVersion = schemaVersion
        self.changedIn = changedIn
        self.nextTableKey = nextTableKey
        self.nextIndexKey = nextIndexKey
        let tables = tables.map { $0.indexes.isEmpty ? $0 : $0.withElementIndexes() }
        self.tables = tables
        self.schema = Self.makeSchema(tables)
        var byTable: [TableKey: [TableIndex]] = [:]
        var byKey: [IndexKey: TableIndex] = [:]
        for table in tables {
            let indexes = table.makeIndexes()
            byTable[table.key] = indexes
            for index in indexes { byKey[index.key] = index }
        }
        tableIndexes = byTable
        indexesByKey = byKey
        hasUnknownIndexes = byKey.values.contains { $0.kind is UnknownIndexKind }
        outdatedIndexes = Set(byKey.values.lazy.filter(\.isOutdated).map(\.key))
        var incoming: [TableKey: [(table: TableKey, column: StoredColumn)]] = [:]
        for table in tables {
            for column in table.columns where column.isLink {
                if let target = column.target { incoming[target, default: []].append((table.key, column)) }
            }
        }
        self.incoming = incoming
        mixedColumns = tables.flatMap { table in
            table.columns.filter { $0.type == .mixed }.map { (table: table.key, column: $0) }
        }
    }

    package static let empty = Catalog(schemaVersion: 0, changedIn: 0, nextTableKey: 1, nextIndexKey: 1, tables: [])

    package func table(_ key: TableKey) -> StoredTable? {
        // Keys ascend in the array, and mostly without gaps.
        let guess = Int(key.rawValue) - 1
        if guess >= 0, guess < tables.count, tables[guess].key == key { return tables[guess] }
        var low = 0, high = tables.count
        while low < high {
            let middle = (low + high) / 2
            if tables[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low < tables.count && tables[low].key == key ? tables[low] : nil
    }

    /// All of a class, those of its columns first.
    package func indexes(of table: TableKey) -> [TableIndex] { tableIndexes[table] ?? [] }
    package func index(_ key: IndexKey) -> TableIndex? { indexesByKey[key] }

    package func table(named name: String) -> StoredTable? { schema[name]?.tableKey.flatMap { table($0) } }

    /// Every link column of any table that points to `target`, with the index of its backlinks.
    package func incomingLinks(to target: TableKey) -> [(table: TableKey, column: StoredColumn)] {
        incoming[target] ?? []
    }

    private static func makeSchema(_ tables: [StoredTable]) -> Schema {
        let names = Dictionary(uniqueKeysWithValues: tables.map { ($0.key, $0.name) })
        return Schema(
            tables.map { table in
                var properties = table.columns.filter { !$0.isMapKeys }.map { column in
                    Property(
                        name: column.name, type: column.type, width: column.width, collection: column.collection,
                        isNullable: column.isNullable,
                        isPrimaryKey: column.isPrimaryKey, isIndexed: column.isIndexed,
                        target: column.target.flatMap { names[$0] }
                    ).stored(in: column.key, keys: column.keyColumn)
                }
                for inverse in table.inverses {
                    let property = Property(
                        name: inverse.name, type: .linkingObjects, target: names[inverse.originTable]
                    ).listing(origin: inverse.originProperty)
                    properties.insert(property, at: inverse.place(in: properties))
                }
                return ObjectType(
                    name: table.name, properties: properties, tableKey: table.key, isEmbedded: table.isEmbedded,
                    indexes: table.indexes.map { table.declaration(of: $0) })
            })
    }
}

// MARK: - Bytes

extension Catalog {
    private static let format: UInt32 = 4
    /// Keys of tables and indexes of a sound file stay far below; the next one always fits.
    static let keyLimit: UInt32 = 1 << 30

    package func encoded() -> [UInt8] {
        var body = ByteWriter()
        body.write(schemaVersion)
        body.write(changedIn)
        body.write(nextTableKey)
        body.write(nextIndexKey)
        body.write(UInt32(tables.count))
        for table in tables { Self.write(table, to: &body) }
        var record = ByteWriter()
        record.write(Self.format)
        record.write(Self.checksum(body.bytes))
        body.bytes.withUnsafeBytes { record.write(raw: $0) }
        return record.bytes
    }

    private static func write(_ table: StoredTable, to body: inout ByteWriter) {
        body.write(table.key.rawValue)
        body.write(text: table.name)
        body.write(table.nextColumnKey)
        body.write(UInt32(table.isEmbedded ? 1 : 0))
        body.write(UInt64(0))
        body.write(UInt64(0))
        body.write(UInt32(table.columns.count))
        for column in table.columns {
            body.write(column.key.rawValue)
            body.write(text: column.name)
            body.write(UInt8(truncatingIfNeeded: column.type.rawValue))
            body.write(UInt8(truncatingIfNeeded: column.collection.rawValue))
            var flags: UInt8 = column.isNullable ? 1 : 0
            if column.isPrimaryKey { flags |= 2 }
            if column.isIndexed { flags |= 4 }
            if column.isMapKeys { flags |= 8 }
            flags |= column.width.rawValue << 4
            body.write(flags)
            body.write(column.target?.rawValue ?? column.linkIndex?.rawValue ?? 0)
            body.write(column.index?.rawValue ?? 0)
        }
        body.write(UInt32(table.inverses.count))
        for inverse in table.inverses {
            body.write(text: inverse.name)
            body.write(inverse.originTable.rawValue)
            body.write(text: inverse.originProperty)
            body.write(inverse.precedingColumns)
        }
        body.write(UInt32(table.indexes.count))
        for index in table.indexes { index.write(to: &body) }
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> Catalog {
        var reader = ByteReader(bytes, of: "the stored schema")
        let format: UInt32 = try reader.read()
        guard format == Self.format else {
            throw DatabaseError(
                .unsupportedFormat, "the stored schema has format \(format); this library reads \(Self.format)")
        }
        let crc: UInt32 = try reader.read()
        guard crc == checksum([UInt8](bytes[reader.offset...])) else {
            throw .corrupted("the stored schema fails its checksum")
        }
        let schemaVersion: UInt64 = try reader.read()
        let changedIn: UInt64 = try reader.read()
        let nextTableKey: UInt32 = try reader.read()
        let nextIndexKey: UInt32 = try reader.read()
        let count: UInt32 = try reader.read()
        var tables: [StoredTable] = []
        for _ in 0 ..< count { tables.append(try readTable(&reader)) }
        guard zip(tables, tables.dropFirst()).allSatisfy({ $0.key < $1.key }),
            tables.allSatisfy({ $0.key.rawValue < nextTableKey })
        else {
            throw .corrupted("the stored schema's tables are out of order")
        }
        // Whoever follows a link relies on it: a class goes with the links to it.
        let keys = Set(tables.map(\.key))
        for table in tables {
            for column in table.columns where column.type == .link && !(column.target.map(keys.contains) ?? false) {
                throw .corrupted("the stored schema has links to no class in \(table.name).\(column.name)")
            }
        }
        guard max(nextTableKey, nextIndexKey) <= keyLimit else {
            throw .corrupted("the stored schema has keys beyond \(keyLimit)")
        }
        return Catalog(
            schemaVersion: schemaVersion, changedIn: changedIn, nextTableKey: nextTableKey, nextIndexKey: nextIndexKey,
            tables: tables)
    }

    private static func readTable(_ reader: inout ByteReader) throws(DatabaseError) -> StoredTable {
        let key: UInt32 = try reader.read()
        let name = try reader.readText()
        let nextColumnKey: UInt32 = try reader.read()
        let flags: UInt32 = try reader.read()
        let identity: (UInt64, UInt64) = (try reader.read(), try reader.read())
        guard flags <= 1, identity == (0, 0) else { throw isUnknown("class \(name)") }
        let columnCount: UInt32 = try reader.read()
        var columns: [StoredColumn] = []
        for _ in 0 ..< columnCount {
            let column = try readColumn(&reader, table: name)
            if column.isMapKeys {
                guard let last = columns.indices.last, columns[last].collection == .map, column.type == .string else {
                    throw .corrupted("the stored schema has keys without a map in class \(name)")
                }
                columns[last].keyColumn = column.key
            }
            columns.append(column)
        }
        guard columns.allSatisfy({ $0.collection != .map || $0.keyColumn != nil }) else {
            throw .corrupted("the stored schema has a map without keys in class \(name)")
        }
        guard nextColumnKey <= StoredTable.columnKeyLimit, Set(columns.map(\.key)).count == columns.count,
            columns.allSatisfy({ $0.key.rawValue < nextColumnKey })
        else {
            throw .corrupted("the stored schema has impossible keys of properties in class \(name)")
        }
        let inverseCount: UInt32 = try reader.read()
        var inverses: [StoredInverse] = []
        for _ in 0 ..< inverseCount {
            let inverseName = try reader.readText()
            let origin: UInt32 = try reader.read()
            inverses.append(
                StoredInverse(
                    name: inverseName, originTable: TableKey(origin), originProperty: try reader.readText(),
                    precedingColumns: try reader.read()))
        }
        let indexCount: UInt32 = try reader.read()
        var indexes: [StoredIndex] = []
        for _ in 0 ..< indexCount { indexes.append(try StoredIndex(&reader, of: name, columns)) }
        return StoredTable(
            key: TableKey(key), name: name, nextColumnKey: nextColumnKey, columns: columns, inverses: inverses,
            isEmbedded: flags & 1 != 0, indexes: indexes)
    }

    private static func readColumn(_ reader: inout ByteReader, table: String) throws(DatabaseError) -> StoredColumn {
        let key: UInt32 = try reader.read()
        let name = try reader.readText()
        let typeNumber: UInt8 = try reader.read()
        let collectionNumber: UInt8 = try reader.read()
        let flags: UInt8 = try reader.read()
        let target: UInt32 = try reader.read()
        let index: UInt32 = try reader.read()
        guard flags >> 6 == 0 else { throw isUnknown("property \(table).\(name)") }
        guard let type = PropertyType(rawValue: UInt32(typeNumber)), let kind = ColumnKind(rawValue: typeNumber),
            let collection = CollectionKind(rawValue: UInt32(collectionNumber)), key > 0
        else {
            throw DatabaseError(
                .unsupportedFormat, "property \(table).\(name) has a type that this release does not know")
        }
        return StoredColumn(
            key: ColumnKey(key), name: name, type: type,
            width: type == .int ? IntWidth(rawValue: flags >> 4 & 3) ?? .bits64 : .bits64, collection: collection,
            isNullable: flags & 1 != 0,
            isPrimaryKey: flags & 2 != 0, isIndexed: flags & 4 != 0,
            target: target == 0 || type == .mixed ? nil : TableKey(target), index: index == 0 ? nil : IndexKey(index),
            linkIndex: target != 0 && type == .mixed ? IndexKey(target) : nil, kind: kind, isMapKeys: flags & 8 != 0)
    }

    private static func isUnknown(_ what: String) -> DatabaseError {
        DatabaseError(.unsupportedFormat, "\(what) of the stored schema has something that this library does not know")
    }

    private static func checksum(_ body: [UInt8]) -> UInt32 {
        body.withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress, $0.count) }
    }
}
