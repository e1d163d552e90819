/// The schema of a Realm file in Motte's terms, together with what a program's own schema adds to it.
///
/// A Realm file has no names for inverse properties, no public names and no defaults; a given schema brings those, and
/// has to fit what the file holds. All that does not fit is said at once.
import MotteRealmFile
import MotteSchemaModel
import MotteValues

package struct RealmSchema: Sendable {
    /// Of one class of the file.
    struct Class: Sendable {
        /// In Motte; nil where the class is left out.
        let name: String?
        /// By column of the file.
        let properties: [String]
    }

    /// Classes in the order of the file, then those that only the given schema has.
    package let schema: Schema
    /// As the file has it; 0 where it has none.
    package let version: UInt64
    package var notes: [RealmNote] { collected.all }
    /// By index in `RealmFile.tables`.
    let classes: [Class]
    let collected: RealmNotes

    /// Throws `.schemaMismatch` where the given schema does not fit the file.
    package init(_ file: RealmFile, adding given: Schema? = nil) throws(DatabaseError) {
        var derivation = RealmSchemaDerivation(file)
        derivation.nameAll()
        var types = derivation.types()
        if let given {
            var merge = RealmSchemaMerge(given)
            types = merge.merged(types, isEmpty: { derivation.isEmpty($0) })
            guard merge.problems.isEmpty else {
                throw DatabaseError(
                    .schemaMismatch,
                    "the schema does not fit the Realm file '\(file.path)': " + merge.problems.joined(separator: "; ")
                        + "; correct it, or convert without a schema and migrate afterwards", path: file.path)
            }
        }
        schema = try Schema(derivation.withoutEmptyClasses(types)).validated()
        version = file.schemaVersion == .max ? 0 : file.schemaVersion
        classes = derivation.classes
        collected = derivation.notes
    }
}

/// Classes and properties of a file under names that Motte takes.
private struct RealmSchemaDerivation {
    let file: RealmFile
    var notes = RealmNotes()
    private(set) var classes: [RealmSchema.Class] = []

    init(_ file: RealmFile) { self.file = file }

    /// Names are mostly taken as they are.
    mutating func nameAll() {
        var taken = Set<NameKey>()
        for table in file.tables {
            let name = Self.legal(table.name, SchemaValidation.classNameBytes, &taken)
            if !name.hasSameBytes(as: table.name) { notes.add(table.name, nil, "the class is named \(name) now") }
            var takenInClass = Set<NameKey>()
            var properties: [String] = []
            for column in table.columns {
                let property = Self.legal(column.name, SchemaValidation.propertyNameBytes, &takenInClass)
                if !property.hasSameBytes(as: column.name) {
                    notes.add(name, column.name, "the property is named \(property) now")
                }
                properties.append(property)
            }
            classes.append(RealmSchema.Class(name: name, properties: properties))
        }
    }

    /// What queries cannot name is replaced by '_'.
    private static func legal(_ name: String, _ limit: Int, _ taken: inout Set<NameKey>) -> String {
        var bytes = name.utf8.map { byte -> UInt8 in
            byte == UInt8(ascii: ".") || byte < 0x20 || byte == 0x7F ? UInt8(ascii: "_") : byte
        }
        if let first = bytes.first, first == UInt8(ascii: "@") || first == UInt8(ascii: "$") {
            bytes[0] = UInt8(ascii: "_")
        }
        if bytes.isEmpty { bytes = [UInt8(ascii: "_")] }
        var candidate = cut(bytes, limit)
        var number = 2
        while !taken.insert(NameKey(candidate)).inserted {
            let ending = "_\(number)"
            candidate = cut(bytes, limit - ending.utf8.count) + ending
            number += 1
        }
        return candidate
    }

    private static func cut(_ bytes: [UInt8], _ limit: Int) -> String {
        var text = String(decoding: bytes, as: UTF8.self)
        while text.utf8.count > limit { text.unicodeScalars.removeLast() }
        return text
    }

    mutating func types() -> [ObjectType] {
        var types: [ObjectType] = []
        for name in file.otherTables {
            notes.add(
                name, nil, "the table is no class of a Realm SDK ('class_' is not before its name) and is left out")
        }
        for table in file.tables {
            let name = classes[table.index].name ?? table.name
            if table.kind == .asymmetric {
                notes.add(name, nil, "the class is asymmetric in Realm, and an ordinary one here")
            }
            var properties: [Property] = []
            for (index, column) in table.columns.enumerated() {
                properties.append(property(column, isPrimaryKey: table.primaryKey == index, table, index))
            }
            types.append(ObjectType(name: name, properties: properties, isEmbedded: table.kind == .embedded))
        }
        return types
    }

    private mutating func property(
        _ column: RealmColumn, isPrimaryKey: Bool, _ table: RealmTable, _ index: Int
    ) -> Property {
        let className = classes[table.index].name ?? table.name
        let name = classes[table.index].properties[index]
        // A link that names no class may lead to any.
        let isLink = column.type == .link && column.target != nil
        let type: PropertyType =
            isLink ? .link : column.type.flatMap { $0 == .link ? nil : PropertyType(rawValue: $0.rawValue) } ?? .mixed
        let collection: CollectionKind =
            switch column.collection {
            case .none: .none
            case .list: .list
            case .set: .set
            case .map: .map
            }
        var property = Property(name: name, type: type, collection: collection, isPrimaryKey: isPrimaryKey)
        property.isNullable = column.isNullable
        if type == .mixed { property.isNullable = true }
        if isLink { property.isNullable = collection == .none || collection == .map }
        property.target = isLink ? column.target.flatMap { classes[$0].name } : nil
        if column.isIndexed, !isPrimaryKey {
            property.isIndexed = collection == .none && type.canBeIndexed
            if !property.isIndexed { notes.add(className, name, "the index is left out, there is none of that type") }
        }
        if column.hasFullTextIndex {
            notes.add(className, name, "the full-text index is left out; queries for words read all values")
        }
        if column.hasIntKeys { notes.add(className, name, "the keys of the map are ints in Realm, and texts here") }
        return property
    }

    func isEmpty(_ name: String) -> Bool {
        classes.firstIndex { $0.name.hasSameBytes(as: name) }.map { file.tables[$0].columns.isEmpty } ?? false
    }

    /// A class needs a property. One that others link to gets the inverse of such a link; one that nothing leads to has
    /// nothing that could be kept.
    mutating func withoutEmptyClasses(_ types: [ObjectType]) -> [ObjectType] {
        var kept: [ObjectType] = []
        for type in types {
            guard type.properties.isEmpty,
                let index = classes.firstIndex(where: { $0.name.hasSameBytes(as: type.name) })
            else {
                kept.append(type)
                continue
            }
            if let (origin, property) = Self.firstLink(to: type.name, types) {
                let inverse = Property(name: "origins", type: .linkingObjects, target: origin)
                    .listing(origin: property)
                notes.add(
                    type.name, nil,
                    "the class has no properties; it has got \(inverse.name), which lists what links here by "
                        + "\(origin).\(property)")
                kept.append(ObjectType(name: type.name, properties: [inverse], isEmbedded: type.isEmbedded))
                continue
            }
            notes.add(
                type.name, nil, "the class has no properties and is left out", count: file.tables[index].objectCount)
            classes[index] = RealmSchema.Class(name: nil, properties: [])
        }
        return kept
    }

    private static func firstLink(to name: String, _ types: [ObjectType]) -> (String, String)? {
        for type in types {
            if let property = type.properties.first(where: { $0.type == .link && $0.target.hasSameBytes(as: name) }) {
                return (type.name, property.name)
            }
        }
        return nil
    }
}

/// The classes of a file and those of a program put together.
struct RealmSchemaMerge {
    let given: Schema
    /// Sentences without a full stop.
    private(set) var problems: [String] = []
    /// Of the file, where the given schema has no such class or property.
    private(set) var missing: [String] = []

    init(_ given: Schema) { self.given = given }

    /// `isEmpty`: classes of the file without properties.
    mutating func merged(_ types: [ObjectType], isEmpty: (String) -> Bool) -> [ObjectType] {
        var merged: [ObjectType] = []
        for type in types {
            guard let other = given[type.name] else {
                missing.append("class " + type.name)
                merged.append(type)
                continue
            }
            merged.append(self.merged(type, other))
        }
        let known = Set(types.map { NameKey($0.name) })
        merged += given.objectTypes.filter { !known.contains(NameKey($0.name)) }
        return merged
    }

    private mutating func merged(_ type: ObjectType, _ other: ObjectType) -> ObjectType {
        if type.isEmbedded != other.isEmbedded {
            problems.append("class \(type.name) is \(type.isEmbedded ? "" : "not ")embedded in the file")
        }
        var properties: [Property] = []
        for property in type.properties {
            guard let wanted = other.property(named: property.name) else {
                missing.append("\(type.name).\(property.name)")
                properties.append(property)
                continue
            }
            check(type, property, wanted)
            properties.append(wanted)
        }
        for wanted in other.properties where type.property(named: wanted.name) == nil {
            if wanted.isPrimaryKey {
                problems.append("\(type.name).\(wanted.name) is the primary key, and the file does not have it")
            }
            properties.append(wanted)
        }
        return ObjectType(
            name: type.name, properties: properties, isEmbedded: type.isEmbedded, indexes: other.indexes)
    }

    private mutating func check(_ type: ObjectType, _ property: Property, _ wanted: Property) {
        let name = "\(type.name).\(property.name)"
        if property.type != wanted.type || property.collection != wanted.collection
            || !property.target.hasSameBytes(as: wanted.target)
        {
            problems.append("\(name) is \(SchemaText.typeText(property)), not \(SchemaText.typeText(wanted))")
        } else if property.isNullable, !wanted.isNullable {
            problems.append("\(name) may be null in the file and must be declared so")
        }
        if property.isPrimaryKey != wanted.isPrimaryKey {
            problems.append("\(name) is \(property.isPrimaryKey ? "" : "not ")the primary key in the file")
        }
    }
}
