/// A key path after its names have been looked up: steps from object to object, and what is read at the end.
///
///     friend.dogs.name     link(friend) -> list(dogs) -> column(name)
///     owners               inverse(Dog.owner) -> object
///     tags                 elements(tags)
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

extension Predicate.Path {
    /// Whether it ends inside the property, and not with it.
    func goesInside(_ property: Property) -> Bool {
        if !subscripts.isEmpty { return true }
        switch aspect {
        case .keys, .type: return true
        // Those of a map are what the map is without saying so.
        case .values: return !property.isMap
        case nil: return collectionOperator == .count && property.type == .mixed && !property.isCollection
        }
    }
}

/// One step of a path, from objects of `origin` to objects of `target`.
package struct PathStep: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case link
        case list
        /// Against the direction of a link or collection column of `target` (`isList` says which).
        case inverse(isList: Bool)
    }

    package let kind: Kind
    package let origin: TableKey
    package let target: TableKey
    /// Of `origin`; for an inverse step, of `target`.
    package let column: ColumnKey
    package let name: String

    package var isToOne: Bool { kind == .link }
}

package struct BoundPath: Sendable {
    package enum End: Sendable {
        case column(ColumnKey, PropertyType, isNullable: Bool)
        /// The values in a list of the last object.
        case elements(ColumnKey, PropertyType, isNullable: Bool)
        /// The keys of a map of the last object; first the column of its values, then that of the keys.
        case keys(ColumnKey, ColumnKey)
        /// Something inside a collection or a mixed value.
        case access(ValueAccess)
        /// The last object itself.
        case object
    }

    package var steps: [PathStep]
    package var end: End
    /// The table of the last object.
    package var table: TableKey
    /// The class and the last property, for messages: `Person.age`.
    package var name: String

    /// Whether it passes through a collection.
    package var isToMany: Bool {
        switch end {
        case .elements, .keys: return true
        case .access(let access) where access.isMany: return true
        case .access, .column, .object: return steps.contains { !$0.isToOne }
        }
    }

    /// What is compared: the type of the values at the end; links for objects.
    package var type: PropertyType {
        switch end {
        case .column(_, let type, _), .elements(_, let type, _): type
        case .keys: .string
        case .access(let access): access.comparedType
        case .object: .link
        }
    }

    /// The class its links point to, if it ends in links or objects.
    package var targetTable: TableKey?

    /// As what is compared after the functions: a text or a number that may be null.
    func applying(_ functions: TextFunctions) -> BoundPath {
        guard let last = functions.functions.last else { return self }
        var path = self
        path.end = .column(ColumnKey(0), last == .length ? .int : .string, isNullable: true)
        path.name = "\(last.word) of \(name)"
        path.targetTable = nil
        return path
    }
}

/// Looks names up in a schema.
struct PathResolver {
    let schema: Schema
    let source: QuerySource
    var arguments = Arguments()
    /// For queries over plain values: what SELF is, and what messages call it.
    var values: (type: PropertyType, name: String)?
    /// For conditions on groups, whose paths are these by their numbers.
    var columns: [BoundPath]?

    init(schema: Schema, source: QuerySource, arguments: Arguments = Arguments()) {
        self.schema = schema
        self.source = source
        self.arguments = arguments
    }

    /// More links in a row than any schema needs; walks along a path are recursive.
    static let longest = 64

    func resolve(_ path: Predicate.Path, from table: TableKey) throws(DatabaseError) -> BoundPath {
        guard path.names.count <= Self.longest else {
            throw source.error(.queryInvalid, "a path has at most \(Self.longest) parts", at: path.position)
        }
        if let values { return try resolve(path, amongValues: values) }
        if let columns, let column = path.column, columns.indices.contains(column) { return columns[column] }
        var type = try type(table)
        var result = BoundPath(steps: [], end: .object, table: table, name: type.name, targetTable: table)
        for (index, name) in path.names.enumerated() {
            let property = try property(name, of: type)
            result.name = type.name + "." + property.name
            if index == path.names.count - 1 {
                if path.goesInside(property) {
                    result.targetTable = property.type == .link ? try target(property, of: type).tableKey : nil
                    try access(&result, path, property, try column(property, of: type))
                } else {
                    try finish(&result, property, of: type)
                }
            } else {
                let step = try step(property, of: type, at: name)
                result.steps.append(step)
                result.table = step.target
                result.targetTable = step.target
                type = try self.type(step.target)
            }
        }
        return result
    }

    private func resolve(
        _ path: Predicate.Path, amongValues values: (type: PropertyType, name: String)
    ) throws(DatabaseError) -> BoundPath {
        if !path.subscripts.isEmpty || path.aspect != nil {
            throw source.error(.unsupported, "queries over plain values compare SELF as a whole", at: path.position)
        }
        if let name = path.names.first {
            throw source.error(
                .queryInvalid, "the values of \(values.name) have no property '\(name.text)'; compare SELF",
                at: name.position)
        }
        return BoundPath(
            steps: [], end: .column(ColumnKey(0), values.type, isNullable: true), table: TableKey(0), name: values.name,
            targetTable: nil)
    }

    func type(_ table: TableKey) throws(DatabaseError) -> ObjectType {
        guard let type = schema[table] else {
            throw DatabaseError(.unknownClass, "the schema has no class with key \(table.rawValue)")
        }
        return type
    }

    private func property(_ name: Predicate.Name, of type: ObjectType) throws(DatabaseError) -> Property {
        if let property = type.property(named: name.text) { return property }
        let hint = NearestName.suggestion(for: name.text, among: type.properties.map(\.name))
        throw source.error(
            .unknownProperty, "\(type.name) has no property '\(name.text)'\(hint)", at: name.position,
            className: type.name, propertyName: name.text)
    }

    private func finish(_ path: inout BoundPath, _ property: Property, of type: ObjectType) throws(DatabaseError) {
        let isObjects = property.type == .linkingObjects || (property.type == .link && property.isCollection)
        if isObjects {
            let step = try step(property, of: type, at: nil)
            path.steps.append(step)
            path.table = step.target
            path.targetTable = step.target
            path.end = .object
            return
        }
        let column = try column(property, of: type)
        path.targetTable = property.type == .link ? try target(property, of: type).tableKey : nil
        path.end =
            property.isCollection
            ? .elements(column, property.type, isNullable: property.isNullable)
            : .column(column, property.type, isNullable: property.isNullable || property.type == .link)
    }

    private func step(
        _ property: Property, of type: ObjectType, at name: Predicate.Name?
    ) throws(DatabaseError) -> PathStep {
        guard let origin = type.tableKey else { throw unstored(type) }
        switch property.type {
        case .link:
            guard let target = try target(property, of: type).tableKey else { throw unstored(type) }
            return PathStep(
                kind: property.isCollection ? .list : .link, origin: origin, target: target,
                column: try column(property, of: type), name: property.name)
        case .linkingObjects:
            let linking = try target(property, of: type)
            guard let target = linking.tableKey else { throw unstored(linking) }
            guard let back = linking.property(named: property.origin ?? "") else {
                throw source.error(
                    .queryInvalid,
                    "\(type.name).\(property.name) goes back over \(linking.name).\(property.origin ?? ""),"
                        + " which the file has no longer", at: name?.position ?? .none, className: type.name,
                    propertyName: property.name)
            }
            return PathStep(
                kind: .inverse(isList: back.isCollection), origin: origin, target: target,
                column: try column(back, of: linking), name: property.name)
        default:
            throw source.error(
                .queryInvalid, "\(type.name).\(property.name) is \(property.type.name) and has no properties",
                at: name?.position ?? .none, className: type.name, propertyName: property.name)
        }
    }

    private func target(_ property: Property, of type: ObjectType) throws(DatabaseError) -> ObjectType {
        guard let name = property.target, let target = schema[name] else { throw unstored(type) }
        return target
    }

    private func column(_ property: Property, of type: ObjectType) throws(DatabaseError) -> ColumnKey {
        guard let column = property.columnKey else { throw unstored(type) }
        return column
    }

    /// Queries are bound to the schema of a row source, where everything has its keys.
    private func unstored(_ type: ObjectType) -> DatabaseError {
        DatabaseError(.internal, "a query was bound to a schema that is not stored", className: type.name)
    }
}
