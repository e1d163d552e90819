/// Any bytes as the stored schema: an error, or a catalog that can be looked at, printed and written again.
///
/// Input: a byte (0x80: the checksum is left as it is), then the record.
import MotteSchemaModel
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let catalog = FuzzTarget(name: "catalog", seeds: CatalogFuzz.seeds, run: CatalogFuzz.run)
}

enum CatalogFuzz {
    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var record = Array(input.rest)
        if choice & 0x80 == 0 { Checksums.sealCatalog(&record) }
        let decoded = try record.asBytes { bytes in try politely { try Catalog.decode(bytes) } }
        guard let decoded else { return }
        try look(decoded)
        let again = decoded.encoded()
        let same = try again.asBytes { try Catalog.decode($0) }
        try Finding.require(
            SchemaText.print(same.schema) == SchemaText.print(decoded.schema), "writing it again changes the schema")
        guard record.count > 8 else { return }
        let place = 4 + Int(truncatingIfNeeded: bytes.hash % UInt64(record.count - 4))
        record[place] ^= 1 << UInt8(bytes.hash >> 61)
        let passes = record.asBytes { bytes in
            do throws(DatabaseError) {
                _ = try Catalog.decode(bytes)
                return true
            } catch {
                return false
            }
        }
        try Finding.require(!passes, "a catalog with byte \(place) changed is not found out")
    }

    private static func look(_ catalog: Catalog) throws {
        let isValid = try politely(ErrorCode.allCases) { try catalog.schema.validated() } != nil
        for table in catalog.tables {
            _ = catalog.table(table.key)
            _ = catalog.table(named: table.name)
            _ = catalog.incomingLinks(to: table.key)
            _ = catalog.schema[table.key]
            _ = TableLayout(table, catalog: catalog)
        }
        // What opening does with it, for another schema.
        let wanted = try SchemaText.parse("Person { id: int key, name: string indexed }\nOther { x: int }")
        if isValid { _ = SchemaDifference(stored: catalog.schema, declared: wanted).conflicts }
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        let stored = StoreContentFuzz.entries.filter { $0.key.first == 1 }.map(\.value)
        return stored.flatMap { [[0] + $0, [0x80] + $0] } + [[0] + Catalog.empty.encoded()]
    }
}
