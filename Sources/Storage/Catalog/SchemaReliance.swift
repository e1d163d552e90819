/// The part of the stored schema that a session has built on: when another session changes that, the session cannot
/// follow, because its columns would mean something else.
///
/// Columns are compared by key, so that other classes, further properties and indexes may come and go.
import MotteSchemaModel
import MotteValues

package struct SchemaReliance: Sendable {
    /// nil: everything the session's catalog has.
    private let properties: [TableKey: Set<NameKey>]?

    package static let all = SchemaReliance(properties: nil)

    private init(properties: [TableKey: Set<NameKey>]?) { self.properties = properties }

    /// The declared classes and properties, as far as the file has them.
    package init(declared: Schema, in stored: Schema) {
        var properties: [TableKey: Set<NameKey>] = [:]
        for type in declared.objectTypes {
            guard let table = stored[type.name]?.tableKey else { continue }
            properties[table] = Set(type.properties.map { NameKey($0.name) })
        }
        self.init(properties: properties)
    }

    /// Also on what is declared now.
    package func adding(_ declared: Schema, in stored: Schema) -> SchemaReliance {
        guard let properties, let more = SchemaReliance(declared: declared, in: stored).properties else { return .all }
        return SchemaReliance(properties: properties.merging(more) { $0.union($1) })
    }

    /// No longer on a class.
    package func removing(_ table: TableKey, in stored: Schema) -> SchemaReliance {
        var rest = properties ?? SchemaReliance(declared: stored, in: stored).properties ?? [:]
        rest[table] = nil
        return SchemaReliance(properties: rest)
    }

    func check(
        _ before: Catalog, _ now: Catalog,
        _ consequence: String = "it continues to show its version, open a new session for newer ones"
    ) throws(DatabaseError) {
        guard let (what, className) = difference(before, now) else { return }
        throw DatabaseError(
            .schemaChanged, "the schema was changed under this session: \(what); \(consequence)",
            className: className)
    }

    /// The first thing relied on that has changed, in words.
    func difference(_ before: Catalog, _ now: Catalog) -> (what: String, className: String)? {
        guard before !== now else { return nil }
        for table in before.tables {
            let names = properties?[table.key]
            if properties != nil, names == nil { continue }
            guard let new = now.table(table.key), new.name.hasSameBytes(as: table.name) else {
                return (
                    ReadingCatalog.isUnknown(table.key)
                        ? "the file has class \(table.name) now"
                        : "class \(table.name) is gone or has another name", table.name
                )
            }
            for column in table.columns where names?.contains(NameKey(column.name)) ?? true {
                guard let other = new.column(column.key), other.name.hasSameBytes(as: column.name) else {
                    return ("\(table.name).\(column.name) is gone, has another type or another name", table.name)
                }
                guard other.isNullable == column.isNullable, other.isPrimaryKey == column.isPrimaryKey,
                    other.type == column.type, other.collection == column.collection, other.target == column.target
                else { return ("\(table.name).\(column.name) is declared otherwise", table.name) }
            }
            for inverse in table.inverses where names?.contains(NameKey(inverse.name)) ?? true {
                let isThere = new.inverses.contains {
                    $0.name.hasSameBytes(as: inverse.name) && $0.originTable == inverse.originTable
                        && $0.originProperty.hasSameBytes(as: inverse.originProperty)
                }
                if !isThere { return ("\(table.name).\(inverse.name) is gone or declared otherwise", table.name) }
            }
        }
        return nil
    }
}

/// What a session has built on, while it has no snapshot.
package struct SchemaPlace: Sendable {
    private let catalog: Catalog
    package let reliance: SchemaReliance?

    package init(of snapshot: Snapshot) { (catalog, reliance) = (snapshot.catalog, snapshot.reliance) }

    package func check(_ now: Snapshot) throws(DatabaseError) {
        try reliance?.check(
            catalog, now.catalog, "it has let go of the file meanwhile, and so it is closed; open a new session")
    }
}

extension Catalog {
    /// Whether a file that applies batches of changes can have `later` in place of this: nothing went, and nothing that
    /// stays is declared otherwise.
    func isCarriedOver(to later: Catalog) -> Bool {
        SchemaReliance.all.difference(self, later) == nil
            && SchemaDifference(stored: schema, declared: later.schema).reasonsToMigrate().isEmpty
            && tables.allSatisfy { keepsUnique($0, in: later) }
    }

    /// Whether what has to differ still has to: the other file would refuse what is allowed now.
    func keepsUnique(_ table: StoredTable, in later: Catalog) -> Bool {
        let rules = Set(later.indexes(of: table.key).map(\.key))
        return table.indexes.allSatisfy {
            table.declaration(of: $0).orderedForm?.isUnique != true || rules.contains($0.key)
        }
    }
}
