/// Groups: they are made again when something they are made of has changed, and compared with what they were by their
/// keys.
///
/// A commit that changes no property that they, or the query before them, read costs a look at its summary. Every other
/// one costs what asking for the groups costs, ahead of the session where the notifier was first, and a walk over both.
import MotteLiveObjects
import MotteQueryEngine
import MotteStorage
import MotteValues

final class GroupsObserver: Observer {
    private let groups: LiveGroups
    /// As they were last reported; nil before that.
    private var known: GroupTable?

    init(_ groups: LiveGroups) throws(DatabaseError) {
        self.groups = groups
        try super.init(groups.session)
    }

    override var tellsInitialState: Bool { true }

    override var memory: ObserverMemory { .groups(known) }

    override func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .groups(let table) = memory else { throw memory.isOfAnother }
        known = table
    }

    override var thing: ObservedThing? {
        get throws(DatabaseError) {
            guard try groups.exists(), let plan = try groups.base.plan(), !plan.asksFunctions else { return nil }
            return ObservedThing(kind: .groups(plan, groups.grouping))
        }
    }

    override func show() { if let known { groups.install(known) } }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        var changes = try super.initialState()
        // The owner of a list may have gone between registering and now.
        changes.isSourceDeleted = try !groups.exists()
        known = try groups.table()
        return changes
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        // What another observer's error has kept from this one is not to be found out any more.
        guard version == context.from, let old = known else { return try restart() }
        version = context.to
        var changes = ChangeSet(.collection, from: context.from, to: context.to)
        guard try groups.exists() else {
            changes.isSourceDeleted = true
            changes.deletions = Array(0 ..< old.count)
            return changes
        }
        guard let summary = try context.summary() else { return try restart() }
        guard groups.mayChange(by: summary) else {
            show()
            return nil
        }
        let new = try groups.table()
        known = new
        let comparison = GroupComparison(old, new, isInKeyOrder: groups.grouping.isInKeyOrder)
        let difference = comparison.difference
        if difference.isEmpty { return nil }
        changes.deletions = difference.deletions
        changes.insertions = difference.insertions
        changes.modificationsOld = difference.modificationsOld
        changes.modificationsNew = difference.modificationsNew
        changes.moveSource = comparison.moves
        return changes
    }

    override func resume(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? { try restart() }

    private func restart() throws(DatabaseError) -> ChangeSet {
        session.counters.add(fullReruns: 1)
        return try initialState()
    }
}

extension LiveGroups {
    /// Whether a change can be seen in the groups.
    fileprivate func mayChange(by summary: ChangeSummary) -> Bool {
        if summary.schemaChanged { return true }
        // What a list or a snapshot holds changes in more ways than the properties that are read.
        guard case .table(let table) = base.source else { return !summary.isEmpty }
        let dependencies = grouping.dependencies + base.stages.flatMap(\.bound.dependencies)
        for key in Set([table] + dependencies.map(\.table)) {
            guard let changes = summary.table(key) else { continue }
            if !changes.inserted.runs.isEmpty || !changes.deleted.runs.isEmpty { return true }
        }
        return dependencies.contains { dependency in
            guard let changes = summary.table(dependency.table) else { return false }
            let column = dependency.column
            return changes.column(column) != nil || changes.lists.contains { $0.column == column }
                || changes.maps.contains { $0.column == column } || changes.nested.contains { $0.column == column }
        }
    }
}

/// The same groups in two versions.
struct GroupComparison {
    let difference: SequenceDifference
    let moves: ChangeSet.MoveSource

    init(_ old: GroupTable, _ new: GroupTable, isInKeyOrder: Bool) {
        (difference, moves) = isInKeyOrder ? (Self.ascending(old, new), .listed([])) : Self.ordered(old, new)
    }

    /// In the order of the keys: one walk over both.
    private static func ascending(_ old: GroupTable, _ new: GroupTable) -> SequenceDifference {
        var difference = SequenceDifference()
        var left = 0, right = 0
        while left < old.count || right < new.count {
            let order = left == old.count ? 1 : right == new.count ? -1 : compareKeys(old, left, new, right)
            if order < 0 {
                difference.deletions.append(left)
                left += 1
            } else if order > 0 {
                difference.insertions.append(right)
                right += 1
            } else {
                if differ(old, left, new, right) { difference.noteModified(old: left, new: right) }
                left += 1
                right += 1
            }
        }
        return difference
    }

    /// In any order: groups get numbers by their keys.
    private static func ordered(_ old: GroupTable, _ new: GroupTable) -> (SequenceDifference, ChangeSet.MoveSource) {
        var rows: [[Value]: Int] = [:]
        rows.reserveCapacity(old.count)
        for row in 0 ..< old.count { rows[old.key(row)] = row }
        let oldNumbers = (0 ..< old.count).map { Int64($0) }
        var newNumbers: [Int64] = []
        newNumbers.reserveCapacity(new.count)
        var modified: Set<Int64> = []
        for row in 0 ..< new.count {
            guard let before = rows[new.key(row)] else {
                newNumbers.append(Int64(old.count + row))
                continue
            }
            newNumbers.append(Int64(before))
            if differ(old, before, new, row) { modified.insert(Int64(before)) }
        }
        let difference = SequenceDifference.ordered(
            old: oldNumbers, new: newNumbers, isModified: { modified.contains($0) })
        var places: [Int64: Int] = [:]
        for position in difference.insertions { places[newNumbers[position]] = position }
        let moves = difference.deletions.compactMap { position in
            places[Int64(position)].map { ChangeSet.Move(old: position, new: $0) }
        }
        return (difference, .listed(moves))
    }

    private static func compareKeys(_ old: GroupTable, _ left: Int, _ new: GroupTable, _ right: Int) -> Int {
        for column in 0 ..< old.keyCount {
            let order = ValueOrdering.compare(old.view(column, left), new.view(column, right))
            if order != 0 { return order }
        }
        return 0
    }

    /// In anything but the keys.
    private static func differ(_ old: GroupTable, _ left: Int, _ new: GroupTable, _ right: Int) -> Bool {
        for column in old.keyCount ..< old.columns.count {
            let before = old.view(column, left), after = new.view(column, right)
            if before.kind != after.kind || ValueOrdering.compare(before, after) != 0 { return true }
        }
        return false
    }
}
