/// The objects that link to one object through one property, in the order of their keys; one that links twice is
/// listed twice.
///
/// When the object they link to was deleted, there are none.
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveBacklinks: LiveCollection {
    package let owner: LiveObject
    package let origin: TableKey
    package let column: ColumnKey
    /// Whether the property that links here is a list, set or map.
    package let isOfCollection: Bool
    private let cachedKeys: EpochCache<[Int64]>

    init(owner: LiveObject, origin: TableKey, column: ColumnKey) throws(DatabaseError) {
        let schema = try owner.session.schema
        guard let type = schema[origin] else {
            throw DatabaseError(.unknownClass, "the file has no class with key \(origin.rawValue)")
        }
        guard let property = type.property(column) else {
            throw DatabaseError(
                .unknownProperty, "\(type.name) has no property with key \(column.rawValue)", className: type.name)
        }
        let target = property.target.flatMap { schema[$0]?.tableKey }
        guard property.type == .link, target == owner.table else {
            throw DatabaseError(
                .wrongType, "\(type.name).\(property.name) does not link to \(try owner.type.name)",
                className: type.name,
                propertyName: property.name)
        }
        self.owner = owner
        cachedKeys = EpochCache(owner.session)
        self.origin = origin
        self.column = column
        isOfCollection = property.isCollection
        super.init(owner.session, .backlinks, elementType: .link, isElementNullable: false, target: origin)
    }

    package override func exists() throws(DatabaseError) -> Bool { try owner.exists() }

    package override func count() throws(DatabaseError) -> Int {
        guard try owner.exists() else { return 0 }
        return try session.table(owner.table).backlinkCount(origin: origin, column, owner.key)
    }

    package override func value(at index: Int) throws(DatabaseError) -> ValueView {
        .link(ObjectLink(table: origin, key: try key(at: index)))
    }

    package override func keys() throws(DatabaseError) -> [Int64] {
        try cachedKeys.get(session) { () throws(DatabaseError) in
            guard try owner.exists() else { return [] }
            var keys: [Int64] = []
            try session.table(owner.table).backlinks(origin: origin, column, owner.key, into: &keys)
            return keys
        }
    }

    override func resultsSource() throws(DatabaseError) -> ResultsSource { .backlinks(self) }

    package override func plan() throws(DatabaseError) -> CollectionPlan? {
        .backlinks(owner.table, owner.key, origin: origin, column)
    }

    package override func frozen(in frozen: Session) throws(DatabaseError) -> LiveCollection {
        guard try owner.exists() else { throw owner.deleted(try owner.type) }
        return try owner.frozen(in: frozen).backlinks(origin: origin, column)
    }
}
