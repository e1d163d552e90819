/// What hangs on an object: its lists, sets and maps, what is nested in its mixed values, and who links to it.
import MotteSchemaModel
import MotteStorage
import MotteValues

extension LiveObject {
    package func list(_ column: ColumnKey) throws(DatabaseError) -> LiveList {
        try LiveList(owner: self, column: column, type: try existingType())
    }

    package func set(_ column: ColumnKey) throws(DatabaseError) -> LiveSet {
        try LiveSet(owner: self, column: column, type: try existingType())
    }

    package func map(_ column: ColumnKey) throws(DatabaseError) -> LiveMap {
        try LiveMap(owner: self, column: column, type: try existingType())
    }

    /// The list or map that a mixed property holds; nil when it holds something else.
    package func nested(_ column: ColumnKey) throws(DatabaseError) -> LiveNested? {
        let type = try existingType()
        guard let property = type.property(column) else {
            throw DatabaseError(
                .unknownProperty, "\(type.name) has no property with key \(column.rawValue)", className: type.name)
        }
        guard property.type == .mixed, property.collection == .none else {
            throw DatabaseError(
                .wrongType, "\(type.name).\(property.name) does not hold one mixed value", className: type.name,
                propertyName: property.name)
        }
        return try LiveNested.open(NestedRoot(owner: self, column: column, collection: .none), [])
    }

    /// A list, set or map, whichever it is.
    package func elements(_ column: ColumnKey) throws(DatabaseError) -> LiveElements {
        let type = try existingType()
        switch type.property(column)?.collection {
        case .set: return try LiveSet(owner: self, column: column, type: type)
        case .map: return try LiveMap(owner: self, column: column, type: type)
        case .list, .some(.none), nil: return try LiveList(owner: self, column: column, type: type)
        }
    }

    /// The objects that link here through `origin`'s column.
    package func backlinks(origin: TableKey, _ column: ColumnKey) throws(DatabaseError) -> LiveBacklinks {
        _ = try existingType()
        return try LiveBacklinks(owner: self, origin: origin, column: column)
    }

    /// The collection of a list, set, map or inverse property.
    package func collection(_ name: String) throws(DatabaseError) -> LiveCollection {
        let type = try type
        let property = try type.requiredProperty(named: name)
        if property.type == .linkingObjects {
            let schema = try session.schema
            guard let source = property.target.flatMap({ schema[$0] }), let origin = source.tableKey,
                let column = property.origin.flatMap({ source.property(named: $0) })?.columnKey
            else { throw DatabaseError(.internal, "the inverse \(type.name).\(name) has no origin") }
            return try backlinks(origin: origin, column)
        }
        return try elements(try column(named: name))
    }

    private func existingType() throws(DatabaseError) -> ObjectType {
        let type = try type
        guard try exists() else { throw deleted(type) }
        return type
    }
}
