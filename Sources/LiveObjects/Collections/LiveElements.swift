/// The elements of one object's list, set or map, by position: what the three have in common. Reading follows the
/// session; changing needs an open write.
///
/// When the owner was deleted, everything but `exists` and `isValid` answers `.objectDeleted`.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

package class LiveElements: LiveCollection {
    package let owner: LiveObject
    package let column: ColumnKey
    /// Class and property.
    let name: String
    private let cachedKeys: EpochCache<[Int64]>

    /// `kind` is that of a property with this collection.
    init(
        owner: LiveObject, column: ColumnKey, type: ObjectType, _ collection: CollectionKind, _ kind: Kind
    ) throws(DatabaseError) {
        guard let property = type.property(column) else {
            throw DatabaseError(
                .unknownProperty, "\(type.name) has no property with key \(column.rawValue)", className: type.name)
        }
        guard property.collection == collection else {
            throw DatabaseError(
                .wrongType,
                "\(type.name).\(property.name) is no \(collection.name); read it as a \(property.collection.name)",
                className: type.name, propertyName: property.name)
        }
        self.owner = owner
        self.column = column
        cachedKeys = EpochCache(owner.session)
        name = "\(type.name).\(property.name)"
        let schema = try owner.session.schema
        super.init(
            owner.session, kind, elementType: property.type, isElementNullable: property.isNullable,
            target: property.target.flatMap { schema[$0]?.tableKey })
    }

    /// The hidden strings beside a map's values.
    init(keysOf map: LiveElements, column: ColumnKey) {
        owner = map.owner
        self.column = column
        name = map.name
        cachedKeys = EpochCache(map.session)
        super.init(map.session, .results, elementType: .string, isElementNullable: false, target: nil)
    }

    /// The column that the change log speaks of.
    package var valuesColumn: ColumnKey { column }

    package override func exists() throws(DatabaseError) -> Bool { try owner.exists() }
    override var valueName: String { name }

    func view() throws(DatabaseError) -> TableView {
        if owner.birth != 0, try !owner.exists() {
            throw DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
        }
        return try session.table(owner.table)
    }

    package override func count() throws(DatabaseError) -> Int { try view().listCount(column, owner.key) }

    package override func value(at index: Int) throws(DatabaseError) -> ValueView {
        try view().listElement(column, owner.key, index)
    }

    package override func key(at index: Int) throws(DatabaseError) -> ObjectKey {
        guard target != nil else { throw notObjects() }
        let value = try value(at: index)
        // Maps keep null where an object has been deleted.
        return value.isNull ? ObjectKey(-1) : value.linkValue.key
    }

    package override func keys() throws(DatabaseError) -> [Int64] {
        guard target != nil else { throw notObjects() }
        return try cachedKeys.get(session) { () throws(DatabaseError) in
            var keys: [Int64] = []
            let view = try view()
            keys.reserveCapacity(try view.listCount(column, owner.key))
            try view.listValues(column, owner.key) { chunk, range in
                for row in range { keys.append(chunk.isNull(row) ? -1 : chunk.link(row)) }
            }
            return keys
        }
    }

    override func forEachRun(
        _ column: ColumnKey?, from first: Int, limit: Int,
        _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        guard column == nil else { return try super.forEachRun(column, from: first, limit: limit, body) }
        var position = first
        try view().listValues(self.column, owner.key, from: first, limit: limit) { chunk, range throws(DatabaseError) in
            try body(chunk, range, position)
            position += range.count
        }
    }

    override func resultsSource() throws(DatabaseError) -> ResultsSource {
        _ = try count()
        return .list(self)
    }

    package override func plan() throws(DatabaseError) -> CollectionPlan? { .elements(owner.table, owner.key, column) }

    package override func frozen(in frozen: Session) throws(DatabaseError) -> LiveCollection {
        guard try owner.exists() else { throw owner.deleted(try owner.type) }
        return try counterpart(of: try owner.frozen(in: frozen))
    }

    /// The same property of the same object in another session.
    func counterpart(of owner: LiveObject) throws(DatabaseError) -> LiveElements { try owner.elements(column) }

    /// The open write, as long as the owner is there.
    func writable() throws(DatabaseError) -> WriteTransaction {
        let write = try session.requireWrite()
        guard try owner.exists() else {
            throw DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
        }
        return write
    }

    /// Whether that is the same collection seen through the same session.
    func isSame(as other: LiveCollection) -> Bool {
        guard let other = other as? LiveElements else { return false }
        return column == other.column && owner.isSame(as: other.owner)
    }
}
