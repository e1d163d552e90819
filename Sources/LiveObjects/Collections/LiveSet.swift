/// The set of one object's property: its elements ascend in the order of values, and equal ones are one.
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveSet: LiveElements {
    /// How a set stands to another collection; several can hold at once.
    package struct Relation: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let isSubset = Relation(rawValue: 1)
        package static let isStrictSubset = Relation(rawValue: 2)
        package static let isSuperset = Relation(rawValue: 4)
        package static let isStrictSuperset = Relation(rawValue: 8)
        package static let intersects = Relation(rawValue: 16)
        package static let isEqual = Relation(rawValue: 32)
    }

    init(owner: LiveObject, column: ColumnKey, type: ObjectType) throws(DatabaseError) {
        try super.init(owner: owner, column: column, type: type, .set, .set)
    }

    // MARK: Looking

    package override func find(_ value: ValueView) throws(DatabaseError) -> Int? {
        try view().setFind(column, owner.key, value)
    }

    /// False also for values of another type.
    package func contains(_ value: ValueView) throws(DatabaseError) -> Bool { try find(value) != nil }

    package override func index(of key: ObjectKey) throws(DatabaseError) -> Int? {
        guard let target else { throw notObjects() }
        return try find(.link(ObjectLink(table: target, key: key)))
    }

    /// The other collection counts as a set: repetitions do not matter.
    package func relation(to other: LiveCollection) throws(DatabaseError) -> Relation {
        try checkIsOfSameFile(other)
        let theirs = try other.fixedValues()
        return try fixedValues().withAll { mine throws(DatabaseError) in
            try theirs.withAll { Self.relation(mine, $0) }
        }
    }

    /// `mine` ascend without repetitions.
    private static func relation(_ mine: [ValueView], _ theirs: [ValueView]) -> Relation {
        var shared = 0
        var others = 0
        var next = 0
        var last: ValueView?
        for value in theirs.sorted(by: { ValueOrdering.compare($0, $1) < 0 }) {
            if let last, ValueOrdering.compare(last, value) == 0 { continue }
            last = value
            others += 1
            while next < mine.count, ValueOrdering.compare(mine[next], value) < 0 { next += 1 }
            if next < mine.count, ValueOrdering.compare(mine[next], value) == 0 { shared += 1 }
        }
        var relation: Relation = []
        if shared == mine.count { relation.insert(others > shared ? [.isSubset, .isStrictSubset] : .isSubset) }
        if shared == others { relation.insert(mine.count > shared ? [.isSuperset, .isStrictSuperset] : .isSuperset) }
        if shared > 0 { relation.insert(.intersects) }
        if shared == mine.count, shared == others { relation.insert(.isEqual) }
        return relation
    }

    // MARK: Changing

    /// Where the value is now, and whether it is new.
    @discardableResult
    package func insert(_ value: ValueView) throws(DatabaseError) -> (index: Int, inserted: Bool) {
        try writable().setInsert(owner.table, column, owner.key, value)
    }

    /// All or nothing; answers how many are new.
    @discardableResult
    package func insert(_ values: [ValueView]) throws(DatabaseError) -> Int {
        let write = try writable()
        let before = try count()
        try write.setCombine(owner.table, column, owner.key, .union, values)
        return try count() - before
    }

    /// False if it was not there.
    @discardableResult
    package func remove(_ value: ValueView) throws(DatabaseError) -> Bool {
        try writable().setRemove(owner.table, column, owner.key, value) != nil
    }

    /// The objects in it stay.
    package func clear() throws(DatabaseError) { try writable().setClear(owner.table, column, owner.key) }

    /// Makes the set consist of these values; all or nothing. What stays is not touched, with any policy.
    package func assign(_ values: [ValueView]) throws(DatabaseError) {
        try writable().setAssign(owner.table, column, owner.key, values)
    }

    package func assign(from other: LiveCollection) throws(DatabaseError) { try combine(.assignment, other) }
    package func formUnion(_ other: LiveCollection) throws(DatabaseError) { try combine(.union, other) }
    package func formIntersection(_ other: LiveCollection) throws(DatabaseError) { try combine(.intersection, other) }
    package func subtract(_ other: LiveCollection) throws(DatabaseError) { try combine(.subtraction, other) }
    package func formSymmetricDifference(_ other: LiveCollection) throws(DatabaseError) {
        try combine(.symmetricDifference, other)
    }

    package func combine(_ operation: SetOperation, _ other: LiveCollection) throws(DatabaseError) {
        let write = try writable()
        try checkIsOfSameFile(other)
        try other.fixedValues().withAll { values throws(DatabaseError) in
            try write.setCombine(owner.table, column, owner.key, operation, values)
        }
    }

    /// Keys of objects mean nothing in another file.
    private func checkIsOfSameFile(_ other: LiveCollection) throws(DatabaseError) {
        guard other.target != nil || other.elementType == .mixed else { return }
        guard try other.session.database === session.database else {
            throw DatabaseError(.invalidArgument, "\(name) cannot be combined with objects of another file")
        }
    }
}
