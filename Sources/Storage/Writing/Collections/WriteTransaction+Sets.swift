/// Editing sets. A set is a list whose elements ascend in the order of values and are distinct; numbers of different
/// kinds that are equal are one element. The change log has its edits as those of a list.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// What becomes of a set that is combined with other values.
package enum SetOperation: Sendable {
    case union, intersection, subtraction, symmetricDifference
    /// The other values alone.
    case assignment
}

extension WriteTransaction {
    /// Where the value is now, and whether it was not there before.
    @discardableResult
    package func setInsert(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ value: ValueView
    ) throws(DatabaseError) -> (index: Int, inserted: Bool) {
        let before = changeCount
        defer { settle(since: before) }
        var edit = try beginEdit(table, column, key, .set)
        let fitted = try fittedElement(value, edit)
        return try insertElement(fitted, &edit)
    }

    /// Where the value was; nil if it was not there.
    @discardableResult
    package func setRemove(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ value: ValueView
    ) throws(DatabaseError) -> Int? {
        let before = changeCount
        defer { settle(since: before) }
        var edit = try beginEdit(table, column, key, .set)
        let found = try edit.find(value)
        guard found.isThere else { return nil }
        try completing { () throws(DatabaseError) in
            try removeElements(found.index ..< found.index + 1, &edit)
        }
        noteChange()
        return found.index
    }

    package func setClear(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        var edit = try beginEdit(table, column, key, .set)
        guard edit.count > 0 else { return }
        try completing { () throws(DatabaseError) in try removeElements(0 ..< edit.count, &edit) }
        noteChange()
    }

    /// What the set held and the values do not goes, what is new comes; the rest is not touched.
    package func setAssign(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ values: [ValueView]
    ) throws(DatabaseError) {
        try setCombine(table, column, key, .assignment, values)
    }

    package func setCombine(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ operation: SetOperation, _ values: [ValueView]
    ) throws(DatabaseError) {
        let before = changeCount
        defer { settle(since: before) }
        var edit = try beginEdit(table, column, key, .set)
        // Copied, because they may lie in this very set.
        let copies = ChunkBuilder(kind: edit.column.kind, nullable: edit.column.isNullable, capacity: values.count)
        // What takes elements away may look for nulls where there can be none.
        let adds = operation != .intersection && operation != .subtraction
        for value in values where adds || !value.isNull || edit.column.isNullable {
            copies.append(try fittedElement(value, edit))
        }
        try withExtendedLifetime(copies) { () throws(DatabaseError) in
            let sorted = Self.distinct(copies)
            let changes = try Self.changes(edit, operation, sorted)
            if changes.contains(where: { !$0.added.isEmpty }) { try edit.requireRoom() }
            try completing { () throws(DatabaseError) in
                for change in changes.reversed() {
                    if change.removed > 0 { try removeElements(change.index ..< change.index + change.removed, &edit) }
                    guard !change.added.isEmpty else { continue }
                    let added = Array(sorted[change.added])
                    for value in added { index(edit.linked(value), edit.column, key) }
                    try edit.insert(added, at: change.index)
                    recordInsertion(edit, at: change.index, count: added.count)
                }
            }
            if !changes.isEmpty { noteChange() }
        }
    }

    private static func distinct(_ values: ChunkBuilder) -> [ValueView] {
        let sorted = (0 ..< values.count).map { values.view($0) }.sorted { ValueOrdering.compare($0, $1) < 0 }
        var kept: [ValueView] = []
        for value in sorted {
            if let last = kept.last, ValueOrdering.compare(last, value) == 0 { continue }
            kept.append(value)
        }
        return kept
    }

    private struct Change {
        /// Before any of the changes.
        let index: Int
        var removed = 0
        /// Of the other values, put where `removed` elements were.
        var added: Range<Int>
    }

    /// Both runs are sorted, so one pass finds what has to be done.
    private static func changes(
        _ edit: ListEdit, _ operation: SetOperation, _ others: [ValueView]
    ) throws(DatabaseError) -> [Change] {
        let adds = operation == .union || operation == .symmetricDifference || operation == .assignment
        let dropsOld = operation == .intersection || operation == .assignment
        let dropsShared = operation == .subtraction || operation == .symmetricDifference
        var changes: [Change] = []
        var other = 0
        func add(at index: Int, _ range: Range<Int>) {
            guard adds, !range.isEmpty else { return }
            changes.append(Change(index: index, added: range))
        }
        try edit.forEach(0 ..< edit.count) { index, element in
            let start = other
            while other < others.count, ValueOrdering.compare(others[other], element) < 0 { other += 1 }
            add(at: index, start ..< other)
            let isShared = other < others.count && ValueOrdering.compare(others[other], element) == 0
            if isShared { other += 1 }
            guard isShared ? dropsShared : dropsOld else { return }
            if let last = changes.last, last.added.isEmpty, last.index + last.removed == index {
                changes[changes.count - 1].removed += 1
            } else {
                changes.append(Change(index: index, removed: 1, added: 0 ..< 0))
            }
        }
        add(at: edit.count, other ..< others.count)
        return changes
    }

    /// `value` fits the set.
    func insertElement(
        _ value: ValueView, _ edit: inout ListEdit
    ) throws(DatabaseError) -> (index: Int, inserted: Bool) {
        let found = try edit.find(value)
        guard !found.isThere else { return (found.index, false) }
        try edit.requireRoom()
        index(value, edit.column, edit.key)
        try completing { () throws(DatabaseError) in try edit.insert([value], at: found.index) }
        recordInsertion(edit, at: found.index, count: 1)
        noteChange()
        return (found.index, true)
    }
}

extension ListEdit {
    /// Links lie in their column without the class they belong to.
    func linked(_ value: ValueView) -> ValueView {
        guard column.isLink, !value.isNull, let target = column.target else { return value }
        return .link(ObjectLink(table: target, key: value.linkValue.key))
    }

    /// Where a value is in a set, or where it would be.
    func find(_ value: ValueView) throws(DatabaseError) -> (index: Int, isThere: Bool) {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let order = ValueOrdering.compare(linked(try view(middle)), value)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}
