/// What observers of sections are told, made of what changed in the grouped collection.
///
/// Deletions, modifications and deleted sections are counted as before the change, insertions and inserted sections as
/// after it. The elements of a section that goes are not listed one by one; those of one that comes are.
import Dispatch
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

public enum SectionedResultsChange<Collection> {
    case initial(Collection)
    case update(
        Collection, deletions: [IndexPath], insertions: [IndexPath], modifications: [IndexPath],
        sectionsToInsert: IndexSet, sectionsToDelete: IndexSet)
}

/// Nothing fails any more; programs that have a `case .error:` compile as well as those that have none.
public struct SectionedResultsError: Sendable {
    public static let error = SectionedResultsError()
}
public func ~= <Collection>(pattern: SectionedResultsError, change: SectionedResultsChange<Collection>) -> Bool {
    false
}

public typealias RealmSectionedResultsChange = SectionedResultsChange

extension RealmSectionedResult {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        guard let handle = _sections.base._managed else { return unmanagedToken() }
        guard let queue else { return _observeHere(keyPaths, block) }
        let (keyOf, key) = (_sections.keyOf, _onlyKey)
        return ObserveElsewhere.on(queue, handle) { (base: Results<_Value>) in
            Self._make(_Sections(base, keyOf), key)._observeHere(keyPaths, block)
        }
    }

    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken {
        guard let handle = _sections.base._managed else { return unmanagedToken() }
        // Used by the caller only, to make a reference that may be handed over.
        nonisolated(unsafe) let observed = (handle, _sections.keyOf, _onlyKey)
        return await ObserveElsewhere.on(actor, observed.0) { (base: Results<_Value>) in
            Self._make(_Sections(base, observed.1), observed.2)._observeHere(keyPaths) { change in
                // Made and used where the callback runs.
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
        }
    }

    /// With key paths there are two observations of the collection: one that says which elements count as modified, and
    /// one that hears of everything, because a section key may change by whatever route.
    func _observeHere(
        _ keyPaths: [String]?, _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        let sections = _sections
        var filtered: NotificationToken?
        let modified = ModifiedPositions()
        if let keyPaths {
            filtered = sections.base.observeHere(keyPaths) { change in
                if case .update(_, _, _, let modifications) = change { modified.positions = modifications }
            }
        }
        var before = _Sections<_Key, _Value>.State()
        let token = sections.base.observeHere(nil) { change in
            defer { modified.positions = [] }
            let now = sections.current
            switch change {
            case .initial: block(.initial(self))
            case .update(_, let deletions, let insertions, let modifications):
                let changes = SectionDifference(
                    from: before, to: now, deletions: deletions, insertions: insertions,
                    modifications: keyPaths == nil ? modifications : modified.positions)
                if let change = changes.change(of: self) { block(change) }
            case .error: break
            }
            before = now
        }
        if let filtered { _ = token.adopt(filtered) }
        return token
    }
}

private final class ModifiedPositions {
    var positions: [Int] = []
}

extension RealmSectionedResult where Element: RealmSectionedResult, Element.Element: ObjectBase {
    public func observe(
        keyPaths: [PartialKeyPath<Element.Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken { observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block) }

    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element.Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken { await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, block) }
}

extension RealmSectionedResult where Element: ObjectBase {
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken { observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block) }

    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken { await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, block) }
}

/// A change of the collection as a change of its sections.
struct SectionDifference<Key: _Persistable & Hashable, Value: RealmCollectionValue> {
    typealias State = _Sections<Key, Value>.State

    private let old: State
    private let new: State
    private var deleted: [Int] = []
    private var inserted: [Int] = []
    private var modified: [Int] = []
    /// Sections that stayed and stand in another order among those that stayed: they go and come.
    private let moved: Set<Key>

    init(from old: State, to new: State, deletions: [Int], insertions: [Int], modifications: [Int]) {
        self.old = old
        self.new = new
        moved = Self.moved(old, new)
        let (gone, came, touched) = (Set(deletions), Set(insertions), Set(modifications))
        deleted = deletions
        inserted = insertions
        // What stays keeps its order, so old and new positions are gone over side by side.
        var position = 0
        for before in old.places.indices where !gone.contains(before) {
            while came.contains(position) { position += 1 }
            guard position < new.places.count else { break }
            if old.keys[old.places[before].section] != new.keys[new.places[position].section] {
                deleted.append(before)
                inserted.append(position)
            } else if touched.contains(before) {
                modified.append(before)
            }
            position += 1
        }
    }

    /// nil when there is nothing to tell.
    func change<Sections: RealmSectionedResult>(
        of sections: Sections
    ) -> SectionedResultsChange<Sections>? where Sections._Key == Key {
        let only = sections._onlyKey
        // Whoever observes one section does not care where it stands.
        let moved = only == nil ? moved : []
        let isGone: (Key) -> Bool = { new.indexOfKey[$0] == nil || moved.contains($0) }
        let sectionsGone = old.keys.indices.filter { isGone(old.keys[$0]) && isMeant(old.keys[$0], only) }
        let sectionsCome = new.keys.indices.filter { index in
            let key = new.keys[index]
            return (old.indexOfKey[key] == nil || moved.contains(key)) && isMeant(key, only)
        }
        let isOfMoved: (State, Int) -> Bool = { state, position in
            !moved.isEmpty && moved.contains(state.keys[state.places[position].section])
        }
        let arrived = moved.isEmpty ? [] : new.places.indices.filter { isOfMoved(new, $0) }
        let paths = (
            deletions: paths(deleted.filter { !isGone(old.keys[old.places[$0].section]) }, old, only),
            insertions: paths(inserted.filter { !isOfMoved(new, $0) } + arrived, new, only),
            modifications: paths(modified.filter { !isOfMoved(old, $0) }, old, only)
        )
        if sectionsGone.isEmpty, sectionsCome.isEmpty, paths.deletions.isEmpty, paths.insertions.isEmpty,
            paths.modifications.isEmpty
        {
            return nil
        }
        return .update(
            sections, deletions: paths.deletions, insertions: paths.insertions, modifications: paths.modifications,
            sectionsToInsert: IndexSet(sectionsCome), sectionsToDelete: IndexSet(sectionsGone))
    }

    /// All sections that stayed but a longest run of them that is in the same order before and after.
    private static func moved(_ old: State, _ new: State) -> Set<Key> {
        let staying = old.keys.filter { new.indexOfKey[$0] != nil }
        let places = staying.map { new.indexOfKey[$0] ?? 0 }
        if zip(places, places.dropFirst()).allSatisfy({ $0 < $1 }) { return [] }
        let kept = SequenceDifference.longestAscending(places).map { staying[$0] }
        return Set(staying).subtracting(kept)
    }

    private func isMeant(_ key: Key, _ only: Key?) -> Bool { only == nil || only == key }

    private func paths(_ positions: [Int], _ state: State, _ only: Key?) -> [IndexPath] {
        positions.filter { isMeant(state.keys[state.places[$0].section], only) }.map(state.path).sorted()
    }
}
