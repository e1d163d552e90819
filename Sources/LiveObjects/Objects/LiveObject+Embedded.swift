/// Embedded objects, which belong to one parent: made in their place, found back from there, gone when the place is
/// taken by another or the parent goes.
import MotteSchemaModel
import MotteStorage
import MotteValues

/// Where an embedded object sits.
package struct EmbeddedPlace {
    package let owner: LiveObject
    package let column: ColumnKey
    /// The index in a list, the key in a map, null for a single link.
    package let position: Value
}

extension LiveObject {
    /// A new object in a single link; the one that was there is deleted.
    package func embeddedPut(_ column: ColumnKey) throws(DatabaseError) -> LiveObject {
        let key = try writable().embeddedPut(table, column, key)
        return try session.embedded(of: table, column, key)
    }

    /// The parent of an embedded object, nil for any other.
    package func embeddedPlace() throws(DatabaseError) -> EmbeddedPlace? {
        let view = try view()
        guard try exists() else { throw deleted(view.type) }
        guard let (parent, column, parentKey) = try view.owner(ofEmbedded: key) else { return nil }
        let owner = try session.handle(parent, parentKey)
        let position: Value
        switch try owner.type.property(column)?.collection {
        case .list: position = try owner.list(column).find(.link(link)).map { .int(Int64($0)) } ?? .null
        case .map:
            let map = try owner.map(column)
            position =
                try map.find(.link(link)).map { index throws(DatabaseError) in
                    .string(String(decoding: try map.mapKey(at: index), as: UTF8.self))
                } ?? .null
        default: position = .null
        }
        return EmbeddedPlace(owner: owner, column: column, position: position)
    }
}

extension LiveList {
    /// A new embedded object; `index` may be the count.
    package func embeddedInsert(at index: Int) throws(DatabaseError) -> LiveObject {
        let key = try writable().embeddedInsert(owner.table, column, owner.key, at: index)
        return try session.embedded(of: owner.table, column, key)
    }

    package func embeddedAppend() throws(DatabaseError) -> LiveObject { try embeddedInsert(at: try count()) }

    /// A new embedded object in place of the one at `index`, which is deleted.
    package func embeddedSet(at index: Int) throws(DatabaseError) -> LiveObject {
        let key = try writable().embeddedSet(owner.table, column, owner.key, at: index)
        return try session.embedded(of: owner.table, column, key)
    }
}

extension LiveMap {
    /// A new embedded object under a key; the one that was there is deleted.
    package func embeddedPut(_ mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> LiveObject {
        let key = try writable().embeddedMapPut(owner.table, column, owner.key, mapKey)
        return try session.embedded(of: owner.table, column, key)
    }
}

extension Session {
    fileprivate func embedded(
        of table: TableKey, _ column: ColumnKey, _ key: ObjectKey
    ) throws(DatabaseError) -> LiveObject {
        let schema = try schema
        guard let target = schema[table]?.property(column)?.target.flatMap({ schema[$0]?.tableKey }) else {
            throw DatabaseError(.internal, "an embedded object without a class")
        }
        return try handle(target, key)
    }
}
