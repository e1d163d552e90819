/// Lists, sets and backlinks: what they share with results, and how each is compared with what it was.
///
/// A collection is remembered as little as possible: a list by its count, because the log has its edits; backlinks by
/// their keys, which are looked up again when a link of their property changed.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

class CollectionObserver: Observer {
    final let collection: LiveCollection

    init(_ collection: LiveCollection, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.collection = collection
        try super.init(collection.session, filter)
    }

    override var tellsInitialState: Bool { true }

    override var thing: ObservedThing? {
        get throws(DatabaseError) {
            guard try collection.exists(), let plan = try collection.plan(), !plan.asksFunctions else { return nil }
            return ObservedThing(kind: .collection(plan))
        }
    }

    /// The log no longer reaches back to what is remembered: start over.
    func restart() throws(DatabaseError) -> ChangeSet {
        session.counters.add(fullReruns: 1)
        return try initialState()
    }

    override func resume(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? { try restart() }

    final func changeSet(_ difference: SequenceDifference, _ context: DeliveryContext) -> ChangeSet? {
        guard !difference.isEmpty else { return nil }
        var changes = ChangeSet(.collection, from: context.from, to: context.to)
        changes.deletions = difference.deletions
        changes.insertions = difference.insertions
        changes.modificationsOld = difference.modificationsOld
        changes.modificationsNew = difference.modificationsNew
        return changes
    }

    /// The last change set: everything that was in it went with its owner.
    final func ended(_ oldCount: Int, _ context: DeliveryContext) -> ChangeSet {
        var changes = ChangeSet(.collection, from: context.from, to: context.to)
        changes.isSourceDeleted = true
        changes.deletions = Array(0 ..< oldCount)
        return changes
    }
}

/// Of what an object holds and the change log has the edits of, so that its count is enough to remember.
class ElementsObserver: CollectionObserver {
    final let elements: LiveElements
    final var oldCount = 0

    init(_ elements: LiveElements, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.elements = elements
        try super.init(elements, filter)
    }

    override var memory: ObserverMemory { .count(oldCount) }

    override func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .count(let count) = memory else { throw memory.isOfAnother }
        oldCount = count
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        var changes = try super.initialState()
        // The owner may have gone between registering and now.
        guard try elements.owner.exists() else {
            changes.isSourceDeleted = true
            return changes
        }
        oldCount = try elements.count()
        return changes
    }
}

/// Of lists, and of sets, whose edits are logged in the same way.
final class ListObserver: ElementsObserver {
    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        let owner = elements.owner
        guard try owner.exists() else { return ended(oldCount, context) }
        guard let summary = try context.summary() else { return try restart() }
        var replay = ListRuns(count: oldCount)
        let edits = summary.table(owner.table)?.list(elements.column, owner.key.rawValue)?.operations ?? []
        for edit in edits { replay.apply(edit) }
        let newCount = try elements.count()
        guard !replay.isBroken, replay.count == newCount else {
            throw .corrupted("the change log of a list does not add up to the list")
        }
        oldCount = newCount
        let modified = try context.changedPositions(elements, filter)
        if edits.isEmpty, modified.isEmpty { return nil }
        var changes = changeSet(replay.difference(modified: modified), context)
        changes?.moveSource = .edits(replay)
        return changes
    }
}

extension ListRuns {
    mutating func apply(_ edit: ListOperation) {
        switch edit.kind {
        case .insert: insert(at: edit.index, count: edit.count)
        case .remove, .clear: remove(at: edit.index, count: edit.count)
        case .set: set(at: edit.index, count: edit.count)
        case .move: move(from: edit.index, to: edit.destination)
        }
    }
}

final class BacklinksObserver: CollectionObserver {
    private let backlinks: LiveBacklinks
    private var oldKeys: [Int64] = []

    init(_ backlinks: LiveBacklinks, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.backlinks = backlinks
        try super.init(backlinks, filter)
    }

    override var memory: ObserverMemory { .objectKeys(oldKeys) }

    override func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .objectKeys(let keys) = memory else { throw memory.isOfAnother }
        oldKeys = keys
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        var changes = try super.initialState()
        oldKeys = try backlinks.keys()
        changes.isSourceDeleted = !(try backlinks.owner.exists())
        return changes
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        guard try backlinks.owner.exists() else { return ended(oldKeys.count, context) }
        guard try context.summary() != nil else { return try restart() }
        let modified = try context.modified(backlinks.origin, filter)
        let regrouped = try context.regrouped(
            origin: backlinks.origin, backlinks.column, isCollection: backlinks.isOfCollection)
        guard RowChanges.contains(regrouped, backlinks.owner.key.rawValue) else {
            return modifications(modified, context)
        }
        let keys = try backlinks.keys()
        defer { oldKeys = keys }
        let difference = SequenceDifference.ascending(old: oldKeys, new: keys) { RowChanges.contains(modified, $0) }
        return changeSet(difference, context)
    }

    /// Where nothing came or went.
    private func modifications(_ modified: [Int64], _ context: DeliveryContext) -> ChangeSet? {
        var difference = SequenceDifference()
        for key in modified {
            var index = ResultsPatch.lowerBound(oldKeys, key, from: 0)
            while index < oldKeys.count, oldKeys[index] == key {
                difference.noteModified(old: index, new: index)
                index += 1
            }
        }
        return changeSet(difference, context)
    }
}
