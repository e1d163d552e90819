/// Applying a declared schema to the stored one: what may be added is added with fresh keys, everything else is
/// refused.
///
/// A new column needs no rewriting (older row groups read its default), a new index is built from the rows in the same
/// commit, and what the declaration leaves out stays in the file untouched.
import MotteColumns
import MotteSchemaModel
import MotteValues

struct CatalogChanges {
    let catalog: Catalog
    /// Tables whose layout differs from before.
    let touched: Set<TableKey>
    /// New ones, of classes that may have rows.
    let indexesToBuild: [(table: TableKey, index: IndexKey)]

    /// nil where the file already has all that is declared.
    static func applying(
        _ declared: Schema, schemaVersion: UInt64?, to stored: Catalog
    ) throws(DatabaseError) -> CatalogChanges? {
        let declared = try declared.validated()
        let difference = SchemaDifference(stored: stored.schema, declared: declared)
        try difference.checkNeedsNoMigration()
        let newVersion = schemaVersion ?? stored.schemaVersion
        guard difference.changesSchema || newVersion != stored.schemaVersion else { return nil }
        var builder = CatalogBuilder(stored)
        try builder.apply(difference, declared)
        return builder.finish(schemaVersion: newVersion)
    }
}

struct CatalogBuilder {
    var tables: [StoredTable]
    var nextTableKey: UInt32
    var nextIndexKey: UInt32
    var touched: Set<TableKey> = []
    var indexesToBuild: [(table: TableKey, index: IndexKey)] = []
    private let positions = KnownPositions()

    /// Where classes were when somebody asked: `tables` may have changed since.
    private final class KnownPositions {
        var byName: [NameKey: Int] = [:]
    }

    init(_ catalog: Catalog) {
        tables = catalog.tables
        nextTableKey = catalog.nextTableKey
        nextIndexKey = catalog.nextIndexKey
    }

    mutating func apply(_ difference: SchemaDifference, _ declared: Schema) throws(DatabaseError) {
        // All new tables get their keys before any column names one as its target.
        for type in difference.addedTypes {
            addTable(TableKey(nextTableKey), for: type)
            nextTableKey += 1
        }
        for type in difference.addedTypes {
            for property in type.properties { try add(property, to: type.name) }
        }
        for added in difference.addedProperties { try add(added.property, to: added.className) }
        for replaced in difference.replacedInverses {
            let position = try position(of: replaced.className)
            tables[position].inverses.removeAll { $0.name.hasSameBytes(as: replaced.property.name) }
            try add(replaced.property, to: replaced.className)
        }
        for name in difference.addedIndexes { try addIndex(name.propertyName, of: name.className) }
        for type in difference.addedTypes {
            for index in type.indexes { try add(index, to: type) }
        }
        for added in difference.addedClassIndexes {
            guard let type = declared[added.className] else { continue }
            try add(added.index, to: type)
        }
        try setWidths(difference.widthChanges)
    }

    mutating func setWidths(_ changes: [SchemaDifference.WidthChange]) throws(DatabaseError) {
        for change in changes {
            let position = try position(of: change.className)
            let columns = tables[position].columns
            guard let slot = columns.firstIndex(where: { $0.name.hasSameBytes(as: change.propertyName) }) else {
                continue
            }
            tables[position].columns[slot].width = change.to
            touched.insert(tables[position].key)
        }
    }

    mutating func addTable(_ key: TableKey, for type: ObjectType) {
        tables.append(
            StoredTable(
                key: key, name: type.name, nextColumnKey: 1, columns: [], inverses: [], isEmbedded: type.isEmbedded))
    }

    mutating func add(_ property: Property, to className: String) throws(DatabaseError) {
        let position = try position(of: className)
        touched.insert(tables[position].key)
        let target: TableKey? = if let name = property.target { tables[try self.position(of: name)].key } else { nil }
        guard property.isStored, let kind = ColumnKind(rawValue: UInt8(truncatingIfNeeded: property.type.rawValue))
        else {
            if let target, let origin = property.origin {
                tables[position].inverses.append(
                    StoredInverse(
                        name: property.name, originTable: target, originProperty: origin,
                        precedingColumns: tables[position].nextColumnKey - 1))
            }
            return
        }
        // A map takes two.
        guard tables[position].nextColumnKey <= StoredTable.columnKeyLimit - 2 else {
            throw DatabaseError(
                .schemaInvalid,
                "class \(className) has had \(StoredTable.columnKeyLimit) properties and cannot have another; "
                    + "copy its objects to a new class",
                className: className, propertyName: property.name)
        }
        let column = ColumnKey(tables[position].nextColumnKey)
        tables[position].nextColumnKey += 1
        let index: IndexKey? = property.hasIndex || property.type == .link ? takeIndexKey() : nil
        tables[position].columns.append(
            StoredColumn(
                key: column, name: property.name, type: property.type, width: property.width,
                collection: property.collection, isNullable: property.isNullable,
                isPrimaryKey: property.isPrimaryKey, isIndexed: property.isIndexed, target: target, index: index,
                linkIndex: property.type == .mixed ? takeIndexKey() : nil, kind: kind))
        if property.isMap {
            // Allocated with the map and kept behind it.
            let keys = ColumnKey(tables[position].nextColumnKey)
            tables[position].nextColumnKey += 1
            tables[position].columns[tables[position].columns.count - 1].keyColumn = keys
            tables[position].columns.append(
                StoredColumn(
                    key: keys, name: property.name + ".@keys", type: .string, collection: .list, isNullable: false,
                    isPrimaryKey: false, isIndexed: false, target: nil, index: nil, kind: .string, isMapKeys: true))
        }
        if let index, property.type != .link { indexesToBuild.append((tables[position].key, index)) }
        // The target's incoming links have changed as well.
        if let target { touched.insert(target) }
    }

    mutating func addIndex(_ propertyName: String, of className: String) throws(DatabaseError) {
        let position = try position(of: className)
        let columns = tables[position].columns
        // One that is indexed already keeps its index as it is: building it again would put its entries in twice.
        guard let slot = columns.firstIndex(where: { $0.name.hasSameBytes(as: propertyName) }),
            !columns[slot].isIndexed
        else { return }
        tables[position].columns[slot].isIndexed = true
        let index = columns[slot].index ?? takeIndexKey()
        tables[position].columns[slot].index = index
        touched.insert(tables[position].key)
        indexesToBuild.append((tables[position].key, index))
    }

    /// An index that is declared with the class. All of the class's columns are there.
    mutating func add(_ index: IndexDeclaration, to type: ObjectType) throws(DatabaseError) {
        try IndexKinds.check(index, of: type)
        let position = try position(of: type.name)
        var columns: [ColumnKey] = []
        for name in index.properties {
            guard let column = tables[position].columns.first(where: { $0.name.hasSameBytes(as: name) }) else {
                throw DatabaseError(
                    .unknownProperty, "\(type.name) has no property '\(name)' for an index", className: type.name)
            }
            columns.append(column.key)
        }
        let key = takeIndexKey()
        tables[position].indexes.append(
            StoredIndex(
                key: key, kind: index.kind, columns: columns,
                parameters: IndexKinds.kind(named: index.kind).storedParameters(index.parameters)))
        touched.insert(tables[position].key)
        indexesToBuild.append((tables[position].key, key))
    }

    mutating func takeIndexKey() -> IndexKey {
        defer { nextIndexKey += 1 }
        return IndexKey(nextIndexKey)
    }

    func position(of className: String) throws(DatabaseError) -> Int {
        if let known = positions.byName[NameKey(className)], known < tables.count,
            tables[known].name.hasSameBytes(as: className)
        {
            return known
        }
        positions.byName.removeAll(keepingCapacity: true)
        for (position, table) in tables.enumerated() { positions.byName[NameKey(table.name)] = position }
        guard let position = positions.byName[NameKey(className)] else {
            throw DatabaseError(
                .unknownClass, "the schema refers to a class \(className) that it does not declare",
                className: className)
        }
        return position
    }

    func finish(schemaVersion: UInt64) -> CatalogChanges {
        CatalogChanges(
            catalog: Catalog(
                schemaVersion: schemaVersion, changedIn: 0, nextTableKey: nextTableKey, nextIndexKey: nextIndexKey,
                tables: tables),
            touched: touched, indexesToBuild: indexesToBuild)
    }
}
