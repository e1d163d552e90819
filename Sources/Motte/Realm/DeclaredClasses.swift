/// The classes that a realm is opened with, as one schema: what RealmSwift refuses of a declaration is refused here,
/// with what to write instead, and classes that are stored under one name are views of one stored class.
import MotteSchemaModel
import MotteValues

enum DeclaredClasses {
    /// A class listed twice is one.
    static func distinct(_ types: [ObjectBase.Type]) -> [ObjectBase.Type] {
        var seen: Set<ObjectIdentifier> = []
        return types.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// Sorted, so that the order they were found in does not decide table keys.
    static func schema(_ types: [ObjectBase.Type]) throws(DatabaseError) -> MotteSchemaModel.Schema {
        let mistakes = types.flatMap(mistakes)
        guard mistakes.isEmpty else {
            throw DatabaseError(.schemaInvalid, mistakes.joined(separator: "\n"), className: types.first?.className())
        }
        var stored: [NameKey: ObjectType] = [:]
        for type in types {
            let view = ClassFields.objectType(type)
            guard let known = stored[NameKey(view.name)] else {
                stored[NameKey(view.name)] = view
                continue
            }
            stored[NameKey(view.name)] = try merged(known, view)
        }
        return try MotteSchemaModel.Schema(stored.values.sorted { $0.name.precedesInBytes($1.name) }).validated()
    }

    // MARK: Links

    private static func mistakes(_ type: ObjectBase.Type) -> [String] {
        ClassFields.of(type).fields.compactMap { mistake($0, type) }
    }

    /// Whether a link may be null is not the model's to say: a single one and those of maps may, those of lists and
    /// sets may not.
    private static func mistake(_ field: ClassFields.Field, _ type: ObjectBase.Type) -> String? {
        guard field.shape.type == .link, let target = field.shape.target?.className() else { return nil }
        let isOptional = field.shape.isOptional
        let declaration = "\(type.className()).\(field.name)"
        switch field.shape.collection {
        case .none:
            guard !isOptional, !field.shape.isCustom else { return nil }
            return "Object property '\(field.name)' must be marked as optional. Write '\(target)?' for \(declaration)"
        case .map:
            guard !isOptional, !field.shape.isCustom else { return nil }
            return "Map<String, \(target)> property '\(field.name)' must be marked as optional. "
                + "Write 'Map<String, \(target)?>' for \(declaration)"
        case .list, .set:
            guard isOptional else { return nil }
            let kind = field.shape.collection == .list ? "List" : "MutableSet"
            return "\(kind)<\(target)> property '\(field.name)' must not be marked as optional. "
                + "Write '\(kind)<\(target)>' for \(declaration)"
        }
    }

    // MARK: Views

    private static func merged(_ known: ObjectType, _ view: ObjectType) throws(DatabaseError) -> ObjectType {
        guard known.isEmbedded == view.isEmbedded else {
            throw differs(view.name, "one is an Object, the other an EmbeddedObject")
        }
        var properties = known.properties
        for property in view.properties {
            guard let index = properties.firstIndex(where: { $0.name.hasSameBytes(as: property.name) }) else {
                properties.append(property)
                continue
            }
            // An index serves both.
            var same = property
            same.isIndexed = properties[index].isIndexed
            same.isUnique = properties[index].isUnique
            guard properties[index].declaresSame(as: same) else {
                throw differs(view.name, "they declare '\(property.name)' differently", property.name)
            }
            if property.isIndexed { properties[index].isIndexed = true }
            if property.isUnique { properties[index].isUnique = true }
        }
        if let mine = known.primaryKey, let other = view.primaryKey, !mine.name.hasSameBytes(as: other.name) {
            throw differs(view.name, "their primary keys are '\(mine.name)' and '\(other.name)'")
        }
        let more = view.indexes.filter { index in !known.indexes.contains { $0.declaresSame(as: index) } }
        return ObjectType(
            name: known.name, properties: properties, isEmbedded: known.isEmbedded, indexes: known.indexes + more)
    }

    private static func differs(_ name: String, _ how: String, _ property: String? = nil) -> DatabaseError {
        DatabaseError(
            .schemaInvalid,
            "several classes are stored as '\(name)', and \(how); declare it the same in all of them, or open the "
                + "realm with one of them in objectTypes", className: name, propertyName: property)
    }
}
