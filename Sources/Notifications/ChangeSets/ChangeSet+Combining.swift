/// Two change sets, one after the other, as one; and the view of a change set through a window.
import MotteValues

extension ChangeSet {
    /// This change set followed by `next`, whose old positions are this one's new ones.
    ///
    /// Costs follow the changes, not the collection. An element that came and went is not mentioned; one that came and
    /// changed is an insertion; one that changed and went is a deletion.
    package func followed(by next: ChangeSet) -> ChangeSet {
        // A failure takes the place of what was before it, and what starts over that of the failure.
        if failure != nil || next.failure != nil {
            var last = next
            last.fromVersion = fromVersion
            return last
        }
        var sum = ChangeSet(kind, from: fromVersion, to: next.toVersion)
        sum.isSourceDeleted = next.isSourceDeleted
        // Nothing was known before the initial one, so what follows is part of it; one that comes later starts over.
        sum.isInitial = isInitial || next.isInitial
        if sum.isInitial { return sum }
        if let sectioned {
            sum.sectioned = next.sectioned.map { sectioned.followed(by: $0) } ?? sectioned
            return sum
        }
        let first = PositionMap(self)
        let second = PositionMap(next)
        sum.deletions = Self.merged(deletions, next.deletions.compactMap { first.old(ofNew: $0) })
        sum.insertions = Self.merged(next.insertions, insertions.compactMap { second.new(ofOld: $0) })
        var pairs: [(old: Int, new: Int)] = []
        for (old, middle) in zip(modificationsOld, modificationsNew) {
            if let new = second.new(ofOld: middle) { pairs.append((old, new)) }
        }
        for (middle, new) in zip(next.modificationsOld, next.modificationsNew) {
            if let old = first.old(ofNew: middle) { pairs.append((old, new)) }
        }
        pairs.sort { $0.old < $1.old }
        for pair in pairs where sum.modificationsOld.last != pair.old {
            sum.modificationsOld.append(pair.old)
            sum.modificationsNew.append(pair.new)
        }
        sum.hasNewSchema = hasNewSchema || next.hasNewSchema
        sum.moveSource = moves(followedBy: next, first, second)
        sum.properties = Self.merged(properties, next.properties)
        if hasKeys || next.hasKeys { sum.addKeys(from: self, next, first, second) }
        return sum
    }

    /// Of two ascending lists without common elements, one.
    private static func merged(_ left: [Int], _ right: [Int]) -> [Int] {
        if left.isEmpty { return right }
        if right.isEmpty { return left }
        return (left + right).sorted()
    }

    /// A property that changed twice has the first old and the last new value.
    private static func merged(_ left: [PropertyChange], _ right: [PropertyChange]) -> [PropertyChange] {
        var result = left
        for change in right {
            if let index = result.firstIndex(where: { $0.name.hasSameBytes(as: change.name) }) {
                result[index] = PropertyChange(
                    name: change.name, column: change.column, old: result[index].old, new: change.new,
                    isOldKnown: result[index].isOldKnown
                )
            } else {
                result.append(change)
            }
        }
        return result
    }

    /// This change set for somebody who knows of `next` already, which came after it: from the old collection with
    /// `next` applied to the newest one. Where elements that `next` put in stand beside ones that were taken out
    /// before, theirs is the later place.
    package func knowing(_ next: ChangeSet) -> ChangeSet {
        var rest = ChangeSet(kind, from: fromVersion, to: next.toVersion)
        rest.isInitial = isInitial
        rest.hasNewSchema = hasNewSchema
        rest.failure = failure
        if isInitial || failure != nil { return rest }
        // Sections before and after do not say what they were in between: whoever knows of the last of it starts over.
        if sectioned != nil {
            rest.isInitial = true
            return rest
        }
        let before = PositionMap(self)
        let after = PositionMap(next)
        // A key that was put in again is known to be there.
        let returned = Set(next.keyInsertions.lazy.map { NameKey($0) })
        let kept = deletions.indices.filter { !(hasKeys && returned.contains(NameKey(keyDeletions[$0]))) }
        let keptDeletions = Set(kept.map { deletions[$0] })
        let removed = Self.merged(
            deletions.filter { !keptDeletions.contains($0) }, next.deletions.compactMap { before.old(ofNew: $0) })
        let allDeletions = Self.merged(deletions, next.deletions.compactMap { before.old(ofNew: $0) })
        let allInsertions = Self.merged(next.insertions, insertions.compactMap { after.new(ofOld: $0) })
        // Staying elements before each one that `next` put in.
        let gaps = next.insertions.map { $0 - PositionMap.lowerBound(allInsertions, $0) }
        func place(_ old: Int, isStaying: Bool) -> Int {
            let rank = old - PositionMap.lowerBound(allDeletions, old)
            let arrived = PositionMap.lowerBound(gaps, isStaying ? rank + 1 : rank)
            return old - PositionMap.lowerBound(removed, old) + arrived
        }
        rest.deletions = kept.map { place(deletions[$0], isStaying: false) }
        if hasKeys { rest.keyDeletions = kept.map { keyDeletions[$0] } }
        for (index, middle) in insertions.enumerated() {
            guard let new = after.new(ofOld: middle) else { continue }
            rest.insertions.append(new)
            if hasKeys { rest.keyInsertions.append(keyInsertions[index]) }
        }
        for (index, middle) in modificationsNew.enumerated() {
            guard let new = after.new(ofOld: middle) else { continue }
            rest.modificationsOld.append(place(modificationsOld[index], isStaying: true))
            rest.modificationsNew.append(new)
            if hasKeys { rest.keyModifications.append(keyModifications[index]) }
        }
        rest.properties = properties.filter { mine in
            !next.properties.contains { $0.name.hasSameBytes(as: mine.name) }
        }
        return rest
    }

    /// The same change as seen by somebody who sees only the first `limit` elements of the collection.
    package func limited(to limit: Int, oldCount: Int, newCount: Int) -> ChangeSet {
        guard oldCount > limit || newCount > limit else { return self }
        var window = self
        let map = PositionMap(self)
        window.deletions = Array(deletions.prefix { $0 < limit })
        window.insertions = Array(insertions.prefix { $0 < limit })
        let oldStaying = min(limit, oldCount) - window.deletions.count
        let newStaying = min(limit, newCount) - window.insertions.count
        // What stays keeps its order, so what leaves or enters the window is its end.
        if oldStaying > newStaying {
            window.deletions = Self.merged(window.deletions, (newStaying ..< oldStaying).map { map.old(ofStaying: $0) })
        } else {
            window.insertions = Self.merged(
                window.insertions, (oldStaying ..< newStaying).map { map.new(ofStaying: $0) })
        }
        // Of keys, those at the deletions and insertions of the window are meant.
        if case .listed(let moves, let set) = moveSource {
            window.moveSource = .listed(moves.filter { $0.old < limit && $0.new < limit }, set: set)
        }
        window.modificationsOld = []
        window.modificationsNew = []
        for (old, new) in zip(modificationsOld, modificationsNew) where old < limit && new < limit {
            window.modificationsOld.append(old)
            window.modificationsNew.append(new)
        }
        return window
    }
}

/// Where elements that stay are before and after a change set. The n-th staying element is the n-th old position that
/// is no deletion and the n-th new position that is no insertion.
package struct PositionMap {
    private let deletions: [Int]
    private let insertions: [Int]

    package init(_ changes: ChangeSet) {
        deletions = changes.deletions
        insertions = changes.insertions
    }

    /// nil when the element was inserted.
    package func old(ofNew new: Int) -> Int? {
        Self.rank(new, without: insertions).map(old(ofStaying:))
    }

    /// nil when the element was deleted.
    package func new(ofOld old: Int) -> Int? {
        Self.rank(old, without: deletions).map(new(ofStaying:))
    }

    package func old(ofStaying rank: Int) -> Int { Self.select(rank, without: deletions) }
    package func new(ofStaying rank: Int) -> Int { Self.select(rank, without: insertions) }

    /// How many positions below `position` are not in `excluded`; nil if it is in there itself.
    private static func rank(_ position: Int, without excluded: [Int]) -> Int? {
        let below = lowerBound(excluded, position)
        if below < excluded.count, excluded[below] == position { return nil }
        return position - below
    }

    /// The position that has `rank` positions below it that are not in `excluded`.
    static func select(_ rank: Int, without excluded: [Int]) -> Int {
        // excluded[i] - i counts the others below excluded[i]; it never falls.
        var low = 0
        var high = excluded.count
        while low < high {
            let middle = (low + high) / 2
            if excluded[middle] - middle <= rank { low = middle + 1 } else { high = middle }
        }
        return rank + low
    }

    static func contains(_ values: [Int], _ wanted: Int) -> Bool {
        let index = lowerBound(values, wanted)
        return index < values.count && values[index] == wanted
    }

    static func lowerBound(_ values: [Int], _ wanted: Int) -> Int {
        var low = 0
        var high = values.count
        while low < high {
            let middle = (low + high) / 2
            if values[middle] < wanted { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
