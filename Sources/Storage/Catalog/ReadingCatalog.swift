/// What a snapshot that cannot write shows of a declared schema: the file's classes, and empty ones for those it lacks.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// Classes that only a reader knows get numbers far above those of the file, which the file reaches last of all, by
/// their places among the declared ones: other classes may come to the file without changing them.
struct ReadingCatalog {
    let declared: Schema
    let stored: Catalog
    let shown: Catalog

    private static let first: UInt32 = 0x4000_0000

    static func isUnknown(_ table: TableKey) -> Bool { table.rawValue >= first }

    init(_ declared: Schema, _ stored: Catalog) throws(DatabaseError) {
        guard stored.nextTableKey < Self.first else {
            throw .corrupted("its classes have numbers that no file reaches")
        }
        let difference = SchemaDifference(stored: stored.schema, declared: declared)
        try difference.checkNeedsNoMigration()
        if let missing = difference.addedProperties.first {
            throw DatabaseError(
                .schemaMismatch,
                "the file has no property \(missing.className).\(missing.property.name), and a session that only reads "
                    + "cannot add it; open the file for writing once", className: missing.className,
                propertyName: missing.property.name)
        }
        var builder = CatalogBuilder(stored)
        builder.nextTableKey = Self.first
        builder.nextIndexKey = max(builder.nextIndexKey, Self.first)
        for type in difference.addedTypes {
            let place = declared.objectTypes.firstIndex { $0.name.hasSameBytes(as: type.name) } ?? 0
            builder.addTable(TableKey(Self.first + UInt32(place)), for: type)
        }
        builder.nextTableKey += UInt32(declared.objectTypes.count)
        for type in difference.addedTypes {
            for property in type.properties { try builder.add(property, to: type.name) }
        }
        self.declared = declared
        self.stored = stored
        shown =
            difference.addedTypes.isEmpty
            ? stored : builder.finish(schemaVersion: stored.schemaVersion).catalog.stamped(changedIn: stored.changedIn)
    }
}

extension Snapshot {
    /// For a session that only reads: declared classes that the file lacks are there and empty.
    package func showForReading(_ declared: Schema) throws(DatabaseError) {
        let reading = try ReadingCatalog(declared, catalog)
        self.reading = reading
        replaceCatalog(reading.shown)
        views.removeAll()
    }

    /// How this snapshot shows another version's catalog.
    func shown(_ stored: Catalog) throws(DatabaseError) -> Catalog {
        guard let reading else { return stored }
        if reading.stored === stored { return reading.shown }
        let next = try ReadingCatalog(reading.declared, stored)
        self.reading = next
        return next.shown
    }
}
