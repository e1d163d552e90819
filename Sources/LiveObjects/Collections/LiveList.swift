/// The list of one object's property.
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveList: LiveElements {
    init(owner: LiveObject, column: ColumnKey, type: ObjectType) throws(DatabaseError) {
        try super.init(owner: owner, column: column, type: type, .list, .list)
    }

    // MARK: Changing

    package func set(_ index: Int, to value: ValueView) throws(DatabaseError) {
        try writable().listSet(owner.table, column, owner.key, at: index, value)
    }

    /// `index` may be the count.
    package func insert(_ value: ValueView, at index: Int) throws(DatabaseError) {
        try insert([value], at: index)
    }

    /// All or nothing; `index` may be the count.
    package func insert(_ values: [ValueView], at index: Int) throws(DatabaseError) {
        try splice(at: index, removing: 0, inserting: values)
    }

    /// All or nothing.
    package func append(_ values: [ValueView]) throws(DatabaseError) {
        _ = try writable()
        try insert(values, at: try count())
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
        try writable().listSwap(owner.table, column, owner.key, index, other)
    }

    /// Removes `removeCount` elements at a position and inserts `values` there; all or nothing.
    package func splice(at index: Int, removing removeCount: Int, inserting values: [ValueView]) throws(DatabaseError) {
        try writable().listSplice(
            owner.table, column, owner.key, at: index, removing: removeCount, inserting: values)
    }

    /// The objects in it stay, unless they are embedded.
    package func clear() throws(DatabaseError) {
        try writable().listClear(owner.table, column, owner.key)
    }

    // MARK: Assigning

    /// Makes the list consist of these values; all or nothing. Positions that both have are set, with `.modified` only
    /// where they differ; then the rest is removed or appended.
    package func assign(_ values: [ValueView], policy: UpdatePolicy = .all) throws(DatabaseError) {
        let write = try writable()
        try session.atomically { () throws(DatabaseError) in
            try write.withOwned(values) { values throws(DatabaseError) in try assignOwned(values, policy, write) }
        }
    }

    private func assignOwned(
        _ values: [ValueView], _ policy: UpdatePolicy, _ write: WriteTransaction
    ) throws(DatabaseError) {
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
            try insert(Array(fitted[count...]), at: count)
        } else if count > fitted.count {
            try remove(at: fitted.count, count: count - fitted.count)
        }
    }

    /// The elements of another collection; of this very list, nothing happens.
    package func assign(from other: LiveCollection, policy: UpdatePolicy = .all) throws(DatabaseError) {
        _ = try writable()
        if isSame(as: other) { return }
        try other.fixedValues().withAll { values throws(DatabaseError) in try assign(values, policy: policy) }
    }
}
