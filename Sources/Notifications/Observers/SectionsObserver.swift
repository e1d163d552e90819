/// A collection in sections, or one section of it: the collection's own observer says what came, went and changed, and
/// the keys of what may have another one are recomputed.
///
/// With a key path those are the elements from which it leads to something that changed; with a function, which may
/// look at anything, all of them, whenever an element changed within the usual links.
import MotteLiveObjects
import MotteStorage
import MotteValues

final class SectionsObserver: CollectionObserver {
    private let sections: LiveSections
    private let only: SectionLayout.Key?
    private let elements: CollectionObserver
    /// What may change a key; nil for a function.
    private let keyFilter: KeyPathFilter?
    private var layout = SectionLayout.empty
    /// Changes of the collection that the sections do not show, such as those of other sections than the observed one.
    /// They are part of the next change set, because positions moved with them.
    private var pendingChanges: PendingChanges?

    struct PendingChanges: Sendable {
        let base: ChangeSet
        let from: SectionLayout
    }

    struct Remembered: Sendable {
        let layout: SectionLayout
        let pendingChanges: PendingChanges?
        let elements: ObserverMemory
    }

    init(_ sections: LiveSections, only: SectionLayout.Key?, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.sections = sections
        self.only = only
        elements = try sections.base.observer(filter)
        if let path = sections.key.path, sections.base.target != nil {
            keyFilter = try sections.base.filter([path])
        } else {
            keyFilter = nil
        }
        try super.init(sections.base, filter)
    }

    override var watchedQuery: WatchedQuery? { elements.watchedQuery }

    /// A function is called on the session's thread, with its elements.
    override var thing: ObservedThing? {
        get throws(DatabaseError) {
            guard sections.key.path != nil, try sections.exists(), let plan = try sections.base.plan(),
                !plan.asksFunctions
            else {
                return nil
            }
            return ObservedThing(kind: .sections(plan, sections.key, only: only))
        }
    }

    override var memory: ObserverMemory {
        .sections(Remembered(layout: layout, pendingChanges: pendingChanges, elements: elements.memory))
    }

    override func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .sections(let memory) = memory else { throw memory.isOfAnother }
        try elements.remember(memory.elements, at: version)
        layout = memory.layout
        pendingChanges = memory.pendingChanges
    }

    override func show() {
        elements.show()
        sections.install(layout)
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        var changes = try elements.initialState()
        version = changes.toVersion
        changes.kind = .sections
        pendingChanges = nil
        layout = try sections.layout()
        return changes
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        let advanced = try elements.advance(context)
        if let advanced, advanced.isInitial || advanced.isSourceDeleted { return try restart(advanced) }
        let touched = try touchedPositions(context)
        guard advanced != nil || touched?.isEmpty != true else {
            sections.install(layout)
            return nil
        }
        let old = layout
        let change = advanced ?? ChangeSet(.collection, from: context.from, to: context.to)
        if let touched {
            let candidates = RowChanges.positions([change.insertions, change.modificationsNew, touched])
            var walk = StayingWalk(change)
            layout = try sections.patched(old, candidates) { walk.old($0) ?? 0 }
            sections.install(layout)
        } else {
            layout = try sections.layout()
        }
        var changes = ChangeSet(.sections, from: context.from, to: context.to)
        let base = pendingChanges.map { $0.base.followed(by: change) } ?? change
        let from = pendingChanges?.from ?? old
        changes.sectioned = SectionedChanges(
            base: base, from: from, to: layout, only: only, lastIndex: only.flatMap(old.find))
        pendingChanges = changes.isEmpty ? PendingChanges(base: base, from: from) : nil
        return changes.isEmpty ? nil : changes
    }

    private func restart(_ base: ChangeSet) throws(DatabaseError) -> ChangeSet {
        var changes = base
        changes.kind = .sections
        let old = layout
        pendingChanges = nil
        layout = try sections.layout()
        guard base.isSourceDeleted, !base.isInitial else { return changes }
        changes.sectioned = SectionedChanges(
            base: base, from: old, to: layout, only: only, lastIndex: only.flatMap(old.find))
        changes.deletions = []
        return changes
    }

    /// Positions of elements whose key may be another one; nil if all may.
    private func touchedPositions(_ context: DeliveryContext) throws(DatabaseError) -> [Int]? {
        guard let target = sections.base.target else {
            if sections.key.path != nil { return [] }
            return try context.changedPositions(ofValues: sections.base, nil).isEmpty ? [] : nil
        }
        let keys = try context.modified(target, keyFilter)
        if keys.isEmpty { return [] }
        guard keyFilter != nil else { return nil }
        let all = try sections.base.keys()
        return all.indices.filter { RowChanges.contains(keys, all[$0]) }
    }
}
