/// From a stored catalog and a declared schema to the catalog after a migration, and what the rows have to go through.
///
/// Data stays where it is wherever that is possible: a renamed column keeps its key, a column that becomes optional its
/// chunks. A column whose values are lost (another type, optional to required) is a new column in the place of the old
/// one, whose pages go by key range. Keys are never used again; keys that an earlier plan of the same write gave to
/// something new are given to the same thing again, so that who holds one may go on using it.
import MotteColumns
import MotteSchemaModel
import MotteValues

struct CatalogMigration {
    let catalog: Catalog
    let plan: SchemaPlan
    /// Indexes that are not there yet: built from the rows when those are final.
    let indexesToBuild: [(table: TableKey, index: IndexKey)]
    /// Columns whose values have to be distinct from now on.
    let newPrimaryKeys: [(table: TableKey, column: ColumnKey)]
    /// Columns that have become optional: rows older than the column keep its former default.
    let relaxed: [(table: TableKey, column: ColumnKey)]
    /// Ordinary classes until their objects have one parent each.
    let becomingEmbedded: [TableKey]
    /// Classes of whose objects some may have lost the property that held them: if they are embedded, these go too.
    let orphaned: Set<TableKey>
    /// Classes that can only go when nothing links to their objects any more: mixed values may.
    let deletedLate: [String]
    let obsoletePages: [[UInt8]]
    /// Tables from which a column went: their open row groups are rewritten without it.
    let shortened: Set<TableKey>

    static func make(
        _ declared: Schema, schemaVersion: UInt64, renames: SchemaRenames, deleting: [String], stored: Catalog,
        previous: Catalog?
    ) throws(DatabaseError) -> CatalogMigration {
        try renames.check(stored: stored.schema, declared: declared)
        var builder = CatalogBuilder(stored)
        var work = MigrationWork(previous: previous)
        work.rename(renames, in: &builder)
        let renamed = Catalog(
            schemaVersion: stored.schemaVersion, changedIn: stored.changedIn, nextTableKey: stored.nextTableKey,
            nextIndexKey: stored.nextIndexKey, tables: builder.tables)
        let difference = SchemaDifference(stored: renamed.schema, declared: declared)
        let doomed = deleting.filter { declared[$0] == nil && renamed.schema[$0] != nil }
        let hasMixed = stored.tables.contains { $0.columns.contains { $0.type == .mixed } }
        if !hasMixed { for name in doomed { work.drop(type: name, in: &builder) } }
        for change in difference.embeddingChanges {
            let position = try builder.position(of: change.className)
            if change.becomesEmbedded {
                work.becomingEmbedded.append(builder.tables[position].key)
            } else {
                builder.tables[position].isEmbedded = false
            }
        }
        try work.apply(difference, to: &builder)
        work.arrange(declared, in: &builder)
        try work.arrangeIndexes(declared, in: &builder)
        work.dropStrayInverses(in: &builder)
        let plan = SchemaPlan(
            action: .migrate, storedVersion: stored.schemaVersion, declaredVersion: schemaVersion,
            lines: renames.lines() + difference.additionLines() + difference.migrationLines(deleting: doomed))
        return CatalogMigration(
            catalog: builder.finish(schemaVersion: schemaVersion).catalog, plan: plan,
            indexesToBuild: builder.indexesToBuild.filter { entry in
                builder.tables.contains { $0.key == entry.table && $0.hasIndex(entry.index) }
            },
            newPrimaryKeys: work.newPrimaryKeys, relaxed: work.relaxed,
            becomingEmbedded: work.becomingEmbedded, orphaned: work.orphaned, deletedLate: hasMixed ? doomed : [],
            obsoletePages: work.obsolete, shortened: work.shortened)
    }
}

/// The steps of one migration over the tables of a builder.
private struct MigrationWork {
    let previous: Catalog?
    var newPrimaryKeys: [(table: TableKey, column: ColumnKey)] = []
    var relaxed: [(table: TableKey, column: ColumnKey)] = []
    var becomingEmbedded: [TableKey] = []
    var orphaned: Set<TableKey> = []
    var obsolete: [[UInt8]] = []
    var shortened: Set<TableKey> = []

    init(previous: Catalog?) { self.previous = previous }

    // MARK: Renaming

    mutating func rename(_ renames: SchemaRenames, in builder: inout CatalogBuilder) {
        for rename in renames.types {
            guard let position = builder.tables.firstIndex(where: { $0.name.hasSameBytes(as: rename.from) }) else {
                continue
            }
            builder.tables[position].name = rename.to
        }
        for rename in renames.properties {
            guard
                let position = builder.tables.firstIndex(where: { $0.name.hasSameBytes(as: rename.className) }),
                let slot = builder.tables[position].columns.firstIndex(where: {
                    $0.name.hasSameBytes(as: rename.from)
                })
            else { continue }
            let table = builder.tables[position].key
            builder.tables[position].columns[slot].name = rename.to
            if let keys = builder.tables[position].columns[slot].keyColumn,
                let keySlot = builder.tables[position].columns.firstIndex(where: { $0.key == keys })
            {
                builder.tables[position].columns[keySlot].name = rename.to + ".@keys"
            }
            for other in builder.tables.indices {
                for inverse in builder.tables[other].inverses.indices
                where builder.tables[other].inverses[inverse].originTable == table
                    && builder.tables[other].inverses[inverse].originProperty.hasSameBytes(as: rename.from)
                {
                    builder.tables[other].inverses[inverse].originProperty = rename.to
                }
            }
        }
    }

    // MARK: Removing

    /// A class that is not declared goes with its rows, and with it whatever links to it.
    mutating func drop(type name: String, in builder: inout CatalogBuilder) {
        guard let position = builder.tables.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else { return }
        let gone = builder.tables[position]
        for column in gone.columns { forget(column, of: gone.key) }
        for index in gone.indexes { obsolete += IndexSpace.everything(of: index.key) }
        obsolete += PageKeys.everything(of: gone.key)
        builder.tables.remove(at: position)
        for other in builder.tables.indices {
            for column in builder.tables[other].columns where column.target == gone.key {
                remove(column, at: other, in: &builder)
            }
        }
    }

    private mutating func remove(_ column: StoredColumn, at position: Int, in builder: inout CatalogBuilder) {
        // A map goes with its keys.
        let gone = builder.tables[position].columns.filter { $0.key == column.key || $0.key == column.keyColumn }
        builder.tables[position].columns.removeAll { $0.key == column.key || $0.key == column.keyColumn }
        for column in gone {
            forget(column, of: builder.tables[position].key)
            drop(at: position, in: &builder) { $0.columns.contains(column.key) }
        }
        shortened.insert(builder.tables[position].key)
    }

    /// The column's pages are deleted when the migration commits.
    private mutating func forget(_ column: StoredColumn, of table: TableKey) {
        obsolete += PageKeys.everything(of: table, column)
        for index in column.indexes { obsolete += IndexSpace.everything(of: index) }
        if let target = column.target { orphaned.insert(target) }
    }

    /// Indexes that are declared with a class.
    private mutating func drop(
        at position: Int, in builder: inout CatalogBuilder, where isGone: (StoredIndex) -> Bool
    ) {
        for index in builder.tables[position].indexes where isGone(index) {
            obsolete += IndexSpace.everything(of: index.key)
        }
        builder.tables[position].indexes.removeAll(where: isGone)
    }

    /// Those that are no longer declared go; those that are come, be it because their columns have been replaced.
    mutating func arrangeIndexes(_ declared: Schema, in builder: inout CatalogBuilder) throws(DatabaseError) {
        for type in declared.objectTypes {
            let position = try builder.position(of: type.name)
            let table = builder.tables[position]
            drop(at: position, in: &builder) { index in
                !type.indexes.contains { $0.declaresSame(as: table.declaration(of: index)) }
            }
            for index in type.indexes
            where !table.indexes.contains(where: { table.declaration(of: $0).declaresSame(as: index) }) {
                try builder.add(index, to: type)
            }
        }
    }

    /// Inverses of properties that went or link elsewhere now. Those of declared classes have been seen to already.
    mutating func dropStrayInverses(in builder: inout CatalogBuilder) {
        let tables = builder.tables
        for position in tables.indices {
            builder.tables[position].inverses.removeAll { inverse in
                let origin = tables.first { $0.key == inverse.originTable }
                let property = origin?.columns.first { $0.name.hasSameBytes(as: inverse.originProperty) }
                return property?.target != tables[position].key
            }
        }
    }

    // MARK: Changing

    mutating func apply(_ difference: SchemaDifference, to builder: inout CatalogBuilder) throws(DatabaseError) {
        for undeclared in difference.undeclaredProperties {
            let position = try builder.position(of: undeclared.className)
            if let column = column(undeclared.propertyName, at: position, in: builder) {
                remove(column, at: position, in: &builder)
            }
            builder.tables[position].inverses.removeAll { $0.name.hasSameBytes(as: undeclared.propertyName) }
        }
        // All classes get their keys before a property names one as its target.
        try addTypes(difference.addedTypes, to: &builder)
        for change in difference.changedProperties { try apply(change, to: &builder) }
        for added in difference.addedProperties { try add(added.property, to: added.className, in: &builder) }
        for replaced in difference.replacedInverses {
            let position = try builder.position(of: replaced.className)
            builder.tables[position].inverses.removeAll { $0.name.hasSameBytes(as: replaced.property.name) }
            try builder.add(replaced.property, to: replaced.className)
        }
        for name in difference.addedIndexes { try builder.addIndex(name.propertyName, of: name.className) }
        try builder.setWidths(difference.widthChanges)
        for name in difference.droppedIndexes {
            let position = try builder.position(of: name.className)
            setMarks(name.propertyName, at: position, in: &builder) { column in
                column.isIndexed = false
            }
        }
    }

    private mutating func addTypes(
        _ types: [ObjectType], to builder: inout CatalogBuilder
    ) throws(DatabaseError) {
        for type in types {
            let known = previous?.tables.first { $0.name.hasSameBytes(as: type.name) }?.key
            let isFree = known.map { key in !builder.tables.contains { $0.key == key } } ?? false
            let key: TableKey
            if let known, isFree {
                key = known
            } else {
                key = TableKey(max(builder.nextTableKey, previous?.nextTableKey ?? 0))
            }
            builder.nextTableKey = max(builder.nextTableKey, key.rawValue + 1, previous?.nextTableKey ?? 0)
            builder.addTable(key, for: type)
        }
        builder.tables.sort { $0.key < $1.key }
        for type in types {
            for property in type.properties { try add(property, to: type.name, in: &builder) }
        }
    }

    private mutating func apply(
        _ change: SchemaDifference.ChangedProperty, to builder: inout CatalogBuilder
    ) throws(DatabaseError) {
        let position = try builder.position(of: change.className)
        guard change.keepsValues, let column = column(change.stored.name, at: position, in: builder) else {
            if let column = column(change.stored.name, at: position, in: builder) {
                remove(column, at: position, in: &builder)
            }
            builder.tables[position].inverses.removeAll { $0.name.hasSameBytes(as: change.stored.name) }
            return try add(change.declared, to: change.className, in: &builder)
        }
        let table = builder.tables[position].key
        if change.declared.isNullable, !change.stored.isNullable { relaxed.append((table, column.key)) }
        if change.declared.isPrimaryKey, !change.stored.isPrimaryKey { newPrimaryKeys.append((table, column.key)) }
        setMarks(change.stored.name, at: position, in: &builder) { column in
            column.isNullable = change.declared.isNullable
            column.isPrimaryKey = change.declared.isPrimaryKey
            column.isIndexed = change.declared.isIndexed
            column.width = change.declared.width
        }
    }

    /// A new column under a key that is nobody's, or the one that an earlier plan of this write gave it.
    private mutating func add(
        _ property: Property, to className: String, in builder: inout CatalogBuilder
    ) throws(DatabaseError) {
        let position = try builder.position(of: className)
        let table = builder.tables[position].key
        let before = builder.tables[position].nextColumnKey
        let planned = previous?.table(table)
        let known = planned?.columns.first { $0.name.hasSameBytes(as: property.name) }?.key.rawValue
        if let planned { builder.tables[position].nextColumnKey = max(before, planned.nextColumnKey) }
        let next = builder.tables[position].nextColumnKey
        if let known, known >= before, !builder.tables[position].columns.contains(where: { $0.key.rawValue == known }) {
            builder.tables[position].nextColumnKey = known
        }
        try builder.add(property, to: className)
        builder.tables[position].nextColumnKey = max(next, builder.tables[position].nextColumnKey)
        guard property.isPrimaryKey, let column = column(property.name, at: position, in: builder) else { return }
        newPrimaryKeys.append((table, column.key))
    }

    /// Changes what is declared of a column that stays, and gives or takes its index accordingly.
    private mutating func setMarks(
        _ name: String, at position: Int, in builder: inout CatalogBuilder, _ change: (inout StoredColumn) -> Void
    ) {
        guard let slot = builder.tables[position].columns.firstIndex(where: { $0.name.hasSameBytes(as: name) })
        else { return }
        let table = builder.tables[position].key
        change(&builder.tables[position].columns[slot])
        let column = builder.tables[position].columns[slot]
        guard !column.isLink else { return }
        let wantsIndex = column.isPrimaryKey || column.isIndexed
        if wantsIndex, column.index == nil {
            let index = builder.takeIndexKey()
            builder.tables[position].columns[slot].index = index
            builder.indexesToBuild.append((table, index))
        } else if !wantsIndex, let index = column.index {
            builder.tables[position].columns[slot].index = nil
            obsolete += IndexSpace.everything(of: index)
        }
    }

    private func column(_ name: String, at position: Int, in builder: CatalogBuilder) -> StoredColumn? {
        builder.tables[position].columns.first { $0.name.hasSameBytes(as: name) }
    }

    /// Columns of declared classes in the order of their declaration. A primary key may be marked as indexed beside,
    /// which changes nothing but the mark.
    func arrange(_ declared: Schema, in builder: inout CatalogBuilder) {
        for position in builder.tables.indices {
            guard let type = declared[builder.tables[position].name] else { continue }
            let order = Dictionary(
                uniqueKeysWithValues: type.properties.enumerated().map { (NameKey($0.element.name), $0.offset) })
            for slot in builder.tables[position].columns.indices
            where builder.tables[position].columns[slot].isPrimaryKey {
                builder.tables[position].columns[slot].isIndexed =
                    type.property(named: builder.tables[position].columns[slot].name)?.isIndexed ?? false
            }
            // Keys of maps are no properties and stay right behind their maps.
            let keys = builder.tables[position].columns.filter(\.isMapKeys)
            var properties = builder.tables[position].columns.filter { !$0.isMapKeys }
            properties.sort { (order[NameKey($0.name)] ?? 0) < (order[NameKey($1.name)] ?? 0) }
            builder.tables[position].columns = properties.flatMap { column in
                [column] + keys.filter { $0.key == column.keyColumn }
            }
        }
    }
}
