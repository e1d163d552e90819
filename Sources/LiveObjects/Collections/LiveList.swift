/// The list of one object's property. Reading follows the session; changing needs an open write.
///
/// A list whose owner was deleted answers `.objectDeleted` to everything but `isValid`.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveList: LiveCollection {
    package let owner: LiveObject
    package let column: ColumnKey
    private let name: String
    private let cachedKeys = EpochCache<[Int64]>()

    init(owner: LiveObject, column: ColumnKey, type: ObjectType) throws(DatabaseError) {
        guard let property = type.property(column) else {
            throw DatabaseError(
                .unknownProperty, "\(type.name) has no property with key \(column.rawValue)", className: type.name)
        }
        guard property.isList else {
            throw DatabaseError(
                .wrongType, "\(type.name).\(property.name) is no list; read it as a value", className: type.name,
                propertyName: property.name)
        }
        self.owner = owner
        self.column = column
        name = "\(type.name).\(property.name)"
        let schema = try owner.session.schema
        super.init(
            owner.session, .list, elementType: property.type, isElementNullable: property.isNullable,
            target: property.target.flatMap { schema[$0]?.tableKey })
    }

    package override var isValid: Bool { owner.isValid }
    override var valueName: String { name }

    private func view() throws(DatabaseError) -> TableView {
        if owner.birth != 0, try !owner.exists() {
            throw DatabaseError(.objectDeleted, "the object that this list belongs to has been deleted")
        }
        return try session.table(owner.table)
    }

    package override func count() throws(DatabaseError) -> Int { try view().listCount(column, owner.key) }

    package override func value(at index: Int) throws(DatabaseError) -> ValueView {
        try view().listElement(column, owner.key, index)
    }

    package override func key(at index: Int) throws(DatabaseError) -> ObjectKey {
        guard target != nil else { throw notObjects() }
        return try value(at: index).linkValue.key
    }

    package override func keys() throws(DatabaseError) -> [Int64] {
        guard target != nil else { throw notObjects() }
        return try cachedKeys.get(session) { () throws(DatabaseError) in
            var keys: [Int64] = []
            let view = try view()
            keys.reserveCapacity(try view.listCount(column, owner.key))
            try view.listValues(column, owner.key) { chunk, range in
                for row in range { keys.append(chunk.link(row)) }
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

    package override func freeze() throws(DatabaseError) -> LiveCollection {
        isFrozen ? self : try owner.freeze().list(column)
    }

    // MARK: Changing

    private func writable() throws(DatabaseError) -> WriteTransaction {
        let write = try session.requireWrite()
        guard try owner.exists() else {
            throw DatabaseError(.objectDeleted, "the object that this list belongs to has been deleted")
        }
        return write
    }

    package func set(_ index: Int, to value: ValueView) throws(DatabaseError) {
        try writable().listSet(owner.table, column, owner.key, at: index, value)
    }

    /// `index` may be the count.
    package func insert(_ value: ValueView, at index: Int) throws(DatabaseError) {
        try writable().listInsert(owner.table, column, owner.key, at: index, [value])
    }

    /// All or nothing.
    package func append(_ values: [ValueView]) throws(DatabaseError) {
        let write = try writable()
        try write.listInsert(owner.table, column, owner.key, at: try count(), values)
    }

    package func append(_ value: Value) throws(DatabaseError) {
        try value.withView { view throws(DatabaseError) in try append([view]) }
    }

    package func append(_ object: LiveObject) throws(DatabaseError) { try append([.link(object.link)]) }

    package func remove(at index: Int, count: Int = 1) throws(DatabaseError) {
        try writable().listRemove(owner.table, column, owner.key, at: index, count: count)
    }

    /// Afterwards the element stands at `target`.
    package func move(from index: Int, to target: Int) throws(DatabaseError) {
        try writable().listMove(owner.table, column, owner.key, from: index, to: target)
    }

    package func swap(_ index: Int, _ other: Int) throws(DatabaseError) {
        let write = try writable()
        let left = try value(at: index).owned
        let right = try value(at: other).owned
        guard index != other else { return }
        try right.withView { view throws(DatabaseError) in
            try write.listSet(owner.table, column, owner.key, at: index, view)
        }
        try left.withView { view throws(DatabaseError) in
            try write.listSet(owner.table, column, owner.key, at: other, view)
        }
    }

    /// Removes `removeCount` elements at a position and inserts `values` there; all or nothing.
    package func splice(at index: Int, removing removeCount: Int, inserting values: [ValueView]) throws(DatabaseError) {
        let write = try writable()
        let count = try count()
        guard index >= 0, index <= count else { throw outOfBounds(index, count) }
        guard removeCount >= 0, removeCount <= count - index else {
            throw outOfBounds(index + max(removeCount, 0), count)
        }
        // The insertion checks the values, so it goes first; then nothing can fail any more.
        try write.listInsert(owner.table, column, owner.key, at: index, values)
        if removeCount > 0 {
            try write.listRemove(owner.table, column, owner.key, at: index + values.count, count: removeCount)
        }
    }

    /// The objects in it stay.
    package func clear() throws(DatabaseError) { try writable().listClear(owner.table, column, owner.key) }

    // MARK: Assigning

    /// Makes the list consist of these values, which are not borrowed from itself; all or nothing. Positions that both
    /// have are set, with `.modified` only where they differ; then the rest is removed or appended.
    package func assign(_ values: [ValueView], policy: UpdatePolicy = .all) throws(DatabaseError) {
        let write = try writable()
        let count = try count()
        var fitted: [ValueView] = []
        fitted.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            do throws(DatabaseError) { fitted.append(try write.fitted(owner.table, column, value)) } catch {
                throw error.at(rowIndex: index)
            }
        }
        for index in 0 ..< min(count, fitted.count) {
            if policy == .modified, try !value(at: index).differs(from: fitted[index]) { continue }
            try write.listSet(owner.table, column, owner.key, at: index, fitted[index])
        }
        if fitted.count > count {
            try write.listInsert(owner.table, column, owner.key, at: count, Array(fitted[count...]))
        } else if count > fitted.count {
            try write.listRemove(
                owner.table, column, owner.key, at: fitted.count, count: count - fitted.count)
        }
    }

    /// The elements of another collection; of this very list, nothing happens.
    package func assign(from other: LiveCollection, policy: UpdatePolicy = .all) throws(DatabaseError) {
        _ = try writable()
        if let list = other as? LiveList, list.column == column, list.owner.isSame(as: owner) { return }
        let values = try other.fixedValues()
        try assign(values.all, policy: policy)
    }
}
