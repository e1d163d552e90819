/// Lists and maps inside mixed values: edits at their own path are theirs, edits further in modify the element that
/// leads there, and when something they are in is replaced, they end.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

final class NestedObserver: CollectionObserver {
    struct Remembered: Sendable {
        var place: NestedPlace
        var count = 0
        /// Of a map.
        var keys: [String] = []
    }

    private let nested: LiveNested
    private var old: Remembered

    init(_ nested: LiveNested, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.nested = nested
        old = Remembered(place: NestedPlace(path: try nested.path() ?? []))
        try super.init(nested, filter)
    }

    override var memory: ObserverMemory { .nested(old) }

    override func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .nested(let remembered) = memory else { throw memory.isOfAnother }
        old = remembered
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        var changes = try super.initialState()
        guard try nested.exists(), let path = try nested.path() else {
            changes.isSourceDeleted = true
            return changes
        }
        old.place = NestedPlace(path: path)
        try remember()
        return changes
    }

    private func remember() throws(DatabaseError) {
        old.count = try nested.count()
        guard nested.isMap else { return }
        old.keys = []
        for index in 0 ..< old.count { old.keys.append(String(decoding: try nested.mapKey(at: index), as: UTF8.self)) }
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        guard try nested.exists(), let path = try nested.path() else { return ended(old.count, context) }
        guard let summary = try context.summary() else { return try restart() }
        let owner = nested.owner.key.rawValue
        let table = summary.table(nested.owner.table)
        let operations = table?.nested(nested.column, owner)?.operations ?? []
        // The log has edits of the list around it apart from those within it, and not which came first. An edit within
        // an element sets its slot, which moves nothing.
        let around = table?.list(nested.column, owner)?.operations ?? []
        if !operations.isEmpty, around.contains(where: { $0.kind != .set }) {
            old.place = NestedPlace(path: path)
            return try restart()
        }
        var edits = NestedEdits(ListRuns(count: old.count), isNotifiedOfInner: filter == nil)
        for operation in operations {
            edits.apply(operation, old.place.path)
            old.place.follow(operation)
        }
        old.place = NestedPlace(path: path)
        let modified = try context.changedPositions(nested, filter)
        guard edits.isTouched || !modified.isEmpty else { return nil }
        return nested.isMap ? try mapChanges(edits, modified, context) : try listChanges(edits, modified, context)
    }

    private func listChanges(
        _ edits: NestedEdits, _ modified: [Int], _ context: DeliveryContext
    ) throws(DatabaseError) -> ChangeSet? {
        old.count = try nested.count()
        guard !edits.replay.isBroken, edits.replay.count == old.count else {
            throw .corrupted("the change log of a nested list does not add up to the list")
        }
        return changeSet(edits.replay.difference(modified: modified), context)
    }

    private func mapChanges(
        _ edits: NestedEdits, _ modified: [Int], _ context: DeliveryContext
    ) throws(DatabaseError) -> ChangeSet? {
        let before = old.keys
        try remember()
        var changes = ChangeSet(.collection, from: context.from, to: context.to)
        var left = 0
        var right = 0
        func isBelow(_ key: String, _ other: String) -> Bool { key.utf8.lexicographicallyPrecedes(other.utf8) }
        while left < before.count || right < old.keys.count {
            if right == old.keys.count || (left < before.count && isBelow(before[left], old.keys[right])) {
                changes.deletions.append(left)
                changes.keyDeletions.append(before[left])
                left += 1
            } else if left == before.count || isBelow(old.keys[right], before[left]) {
                changes.insertions.append(right)
                changes.keyInsertions.append(old.keys[right])
                right += 1
            } else {
                let isLinked = PositionMap.contains(modified, right)
                if isLinked || edits.touchesAllKeys || edits.keys.contains([UInt8](before[left].utf8)) {
                    changes.modificationsOld.append(left)
                    changes.modificationsNew.append(right)
                    changes.keyModifications.append(before[left])
                }
                left += 1
                right += 1
            }
        }
        return changes.isEmpty ? nil : changes
    }
}

/// What a commit did to one nested list or map.
private struct NestedEdits {
    var replay: ListRuns
    var keys: Set<[UInt8]> = []
    var touchesAllKeys = false
    var isTouched = false
    /// Whether an edit further in modifies the element that leads there.
    private let isNotifiedOfInner: Bool

    init(_ replay: ListRuns, isNotifiedOfInner: Bool) {
        self.replay = replay
        self.isNotifiedOfInner = isNotifiedOfInner
    }

    mutating func apply(_ operation: NestedOperation, _ path: NestedPath) {
        guard operation.path.starts(with: path), isNotifiedOfInner || operation.path.count == path.count else { return }
        isTouched = true
        guard operation.path.count == path.count else {
            switch operation.path[path.count] {
            case .index(let index): replay.set(at: index, count: 1)
            case .key(let key): keys.insert([UInt8](key.utf8))
            }
            return
        }
        switch operation.change {
        case .replaced: break
        case .inserted(let index, let count): replay.insert(at: index, count: count)
        case .removed(let index, let count): replay.remove(at: index, count: count)
        case .set(let index): replay.set(at: index, count: 1)
        case .keyInserted(let key), .keyModified(let key), .keyRemoved(let key): keys.insert([UInt8](key.utf8))
        case .cleared(let count):
            replay.remove(at: 0, count: count)
            touchesAllKeys = true
        }
    }
}
