/// What a snapshot that cannot write shows of a declared schema: the file's classes, and empty ones for those it lacks.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// Classes that only a reader knows get numbers far above those of the file, which the file reaches last of all.
struct ReadingCatalog {
    let declared: Schema
    let stored: Catalog
    let shown: Catalog

    private static let distance: UInt32 = 10_000

    init(_ declared: Schema, _ stored: Catalog) throws(DatabaseError) {
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
        builder.nextTableKey += Self.distance
        builder.nextIndexKey += Self.distance
        for type in difference.addedTypes {
            builder.addTable(TableKey(builder.nextTableKey), for: type)
            builder.nextTableKey += 1
        }
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
