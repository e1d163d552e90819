/// Every rule a schema must satisfy, one function each, one error each.
///
/// All are `.schemaInvalid` with the class and the property; a message names the rule and the way out. The first broken
/// rule in the order of declaration is the one reported.
import MotteValues

extension Schema {
    /// The schema itself, or the first rule it breaks.
    package func validated() throws(DatabaseError) -> Schema {
        try SchemaValidation(schema: self).run()
        return self
    }
}

package struct SchemaValidation {
    /// Limits of the file format.
    package static let classNameBytes = 57
    package static let propertyNameBytes = 63
    package static let indexKindBytes = 63
    package static let indexParameterBytes = 4_096

    let schema: Schema

    package init(schema: Schema) { self.schema = schema }

    package func run() throws(DatabaseError) {
        try checkClassNamesAreUnique()
        for type in schema.objectTypes {
            try checkClassName(type)
            try checkPropertyNamesAreUnique(type)
            try checkHasProperty(type)
            try checkOnePrimaryKey(type)
            for property in type.properties { try check(property, of: type) }
            try checkIndexes(type)
        }
    }

    private func check(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        try checkPropertyName(property, of: type)
        try checkTargetIsGivenForLinksOnly(property, of: type)
        try checkTargetExists(property, of: type)
        try checkOriginIsGivenForInversesOnly(property, of: type)
        try checkOriginLinksHere(property, of: type)
        try checkInverseIsPlain(property, of: type)
        try checkLinkNullability(property, of: type)
        try checkPrimaryKeyType(property, of: type)
        try checkIndexedType(property, of: type)
        try checkUniqueType(property, of: type)
        try checkEmbedded(property, of: type)
        try checkWidth(property, of: type)
    }

    private func checkWidth(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard property.width != .bits64, property.type != .int else { return }
        throw broken(type, property, "has a width of \(property.width.bits) bits, which only ints have")
    }

    private func checkEmbedded(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard property.isSet, let target = property.target, schema[target]?.isEmbedded == true else { return }
        throw broken(type, property, "is a set of embedded objects; use a list")
    }

    // MARK: Names

    private func checkClassNamesAreUnique() throws(DatabaseError) {
        var seen: Set<NameKey> = []
        for type in schema.objectTypes where !seen.insert(NameKey(type.name)).inserted {
            throw DatabaseError(.schemaInvalid, "class \(type.name) is declared twice", className: type.name)
        }
    }

    private func checkPropertyNamesAreUnique(_ type: ObjectType) throws(DatabaseError) {
        var seen: Set<NameKey> = []
        for property in type.properties where !seen.insert(NameKey(property.name)).inserted {
            throw broken(type, property, "is declared twice")
        }
    }

    private func checkClassName(_ type: ObjectType) throws(DatabaseError) {
        if let problem = Self.problem(withName: type.name, limit: Self.classNameBytes) {
            throw DatabaseError(.schemaInvalid, "class name '\(type.name)' \(problem)", className: type.name)
        }
    }

    private func checkPropertyName(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        if let problem = Self.problem(withName: property.name, limit: Self.propertyNameBytes) {
            throw DatabaseError(
                .schemaInvalid, "property name '\(property.name)' of \(type.name) \(problem)", className: type.name,
                propertyName: property.name)
        }
    }

    /// Names must be usable in queries, where '.' separates the steps of a path and '@' and '$' have meanings.
    static func problem(withName name: String, limit: Int) -> String? {
        guard let first = name.utf8.first else { return "is empty" }
        let count = name.utf8.count
        if count > limit { return "has \(count) bytes; at most \(limit) are allowed" }
        if first == UInt8(ascii: "@") || first == UInt8(ascii: "$") { return "starts with '@' or '$'" }
        for byte in name.utf8 {
            if byte == UInt8(ascii: ".") { return "contains '.'" }
            if byte < 0x20 || byte == 0x7F { return "contains a control character" }
        }
        return nil
    }

    // MARK: Classes

    /// Inverse links alone will do: such an object is something that others link to.
    private func checkHasProperty(_ type: ObjectType) throws(DatabaseError) {
        if type.properties.isEmpty {
            throw DatabaseError(.schemaInvalid, "class \(type.name) has no property; add one", className: type.name)
        }
    }

    private func checkOnePrimaryKey(_ type: ObjectType) throws(DatabaseError) {
        let keys = type.properties.filter(\.isPrimaryKey)
        if keys.count > 1 {
            throw broken(type, keys[1], "is a second primary key beside '\(keys[0].name)'; a class has at most one")
        }
    }

    // MARK: Properties

    private func checkTargetIsGivenForLinksOnly(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        let linksToClass = property.type == .link || property.type == .linkingObjects
        if linksToClass, property.target == nil {
            throw broken(type, property, "is a link and must name its target class")
        }
        if !linksToClass, let target = property.target {
            throw broken(type, property, "has type \(property.type.name) and cannot have the target class '\(target)'")
        }
    }

    private func checkTargetExists(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard let target = property.target, schema[target] == nil else { return }
        let hint = NearestName.suggestion(for: target, among: schema.objectTypes.map(\.name))
        throw broken(type, property, "has the target class '\(target)', which is not in the schema\(hint)")
    }

    private func checkOriginIsGivenForInversesOnly(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        if property.type == .linkingObjects, property.origin == nil {
            throw broken(type, property, "is an inverse and must name the property that it inverts")
        }
        if property.type != .linkingObjects, property.origin != nil {
            throw broken(type, property, "has an origin property, which only inverses have")
        }
    }

    private func checkOriginLinksHere(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard property.type == .linkingObjects, let target = property.target, let origin = property.origin else {
            return
        }
        guard let source = schema[target]?.property(named: origin) else {
            throw broken(type, property, "inverts \(target).\(origin), which does not exist")
        }
        guard source.type == .link, source.target.hasSameBytes(as: type.name) else {
            throw broken(
                type, property, "inverts \(target).\(origin), which is not a link or list of links to \(type.name)")
        }
    }

    private func checkInverseIsPlain(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard property.type == .linkingObjects else { return }
        if property.collection != .none || property.isNullable {
            throw broken(type, property, "is an inverse, which is neither declared as a list nor nullable")
        }
    }

    private func checkLinkNullability(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        if property.type == .mixed, !property.isNullable {
            throw broken(type, property, "holds mixed values and must be nullable, because null is one of them")
        }
        guard property.type == .link else { return }
        if property.isList || property.isSet, property.isNullable {
            throw broken(type, property, "is a \(property.collection.name) of links, whose elements cannot be null")
        }
        if property.isMap, !property.isNullable {
            throw broken(
                type, property, "is a map of links, whose values must be nullable, because targets can be deleted")
        }
        if !property.isCollection, !property.isNullable {
            throw broken(type, property, "is a link and must be nullable, because its target can be deleted")
        }
    }

    private func checkPrimaryKeyType(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard property.isPrimaryKey else { return }
        if type.isEmbedded { throw broken(type, property, "is a primary key, which embedded objects cannot have") }
        if property.isCollection {
            throw broken(type, property, "is a \(property.collection.name) and cannot be the primary key")
        }
        if !property.type.canBePrimaryKey {
            throw broken(
                type, property, "has type \(property.type.name); a primary key is an int, string, objectId or uuid")
        }
    }

    private func checkIndexedType(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard property.isIndexed else { return }
        if property.isCollection {
            throw broken(type, property, "is a \(property.collection.name) and cannot be indexed")
        }
        if !property.type.canBeIndexed {
            throw broken(
                type, property,
                "has type \(property.type.name); bool, int, string, timestamp, objectId, uuid and mixed can be indexed")
        }
    }

    private func checkUniqueType(_ property: Property, of type: ObjectType) throws(DatabaseError) {
        guard property.isUnique else { return }
        if property.isPrimaryKey {
            throw broken(type, property, "is the primary key, which is unique anyway; take the mark 'unique' away")
        }
        if property.isCollection {
            throw broken(type, property, "is a \(property.collection.name) and cannot be unique")
        }
        if !property.type.canBeUnique {
            throw broken(
                type, property,
                "has type \(property.type.name); bools, numbers, strings, data, times, object ids and UUIDs can be "
                    + "unique")
        }
    }

    /// What is the same for all kinds; the rest is up to the kind.
    private func checkIndexes(_ type: ObjectType) throws(DatabaseError) {
        for (position, index) in type.indexes.enumerated() {
            guard !index.properties.isEmpty else {
                throw broken(type, index, "names no property; name those whose values it is to hold")
            }
            for name in index.properties {
                guard let property = type.property(named: name) else {
                    throw broken(type, index, "names '\(name)', which is no property of the class")
                }
                guard property.isStored else {
                    throw broken(type, property, "is an inverse and cannot be in an index")
                }
            }
            guard Set(index.properties.map { NameKey($0) }).count == index.properties.count else {
                throw broken(type, index, "names a property twice")
            }
            guard index.kind.utf8.count <= Self.indexKindBytes, !index.kind.isEmpty else {
                throw broken(
                    type, index, "has a kind whose name is empty or has more than \(Self.indexKindBytes) bytes")
            }
            guard index.parameters.count <= Self.indexParameterBytes else {
                throw broken(type, index, "has more than \(Self.indexParameterBytes) bytes of parameters")
            }
            guard !type.indexes[..<position].contains(where: { $0.declaresSame(as: index) }) else {
                throw broken(type, index, "is declared twice")
            }
        }
    }

    private func broken(_ type: ObjectType, _ index: IndexDeclaration, _ rule: String) -> DatabaseError {
        DatabaseError(.schemaInvalid, "the \(index.text) of \(type.name) \(rule)", className: type.name)
    }

    private func broken(_ type: ObjectType, _ property: Property, _ rule: String) -> DatabaseError {
        DatabaseError(
            .schemaInvalid, "\(type.name).\(property.name) \(rule)", className: type.name, propertyName: property.name)
    }
}
