/// Change sets of sections.
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

    func _observeHere(
        _ keyPaths: [String]?, _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        _observeRaw(keyPaths) { changes in
            if let change = SectionedResultsChange.from(changes, of: self) { block(change) }
        }
    }

    /// Changes as the engine tells them, which can be combined.
    func _observeRaw(_ keyPaths: [String]?, _ block: @escaping (ChangeSet) -> Void) -> NotificationToken {
        guard let handle = _sections.base._managed, let sections = _sections.live else { return unmanagedToken() }
        let paths = (keyPaths ?? _Value._observedPaths)?.map(_sections.base._columnPath)
        let key = _onlyKey
        return handle.session.token { () throws(DatabaseError) in
            let tell = { (changes: ChangeSet) throws(DatabaseError) in block(changes) }
            guard let key else { return try sections.observe(keyPaths: paths, tell) }
            let section = sections.section(for: try _Sections<_Key, _Value>.stored(key))
            return try section.observe(keyPaths: paths, tell)
        }
    }
}

extension SectionedResultsChange {
    /// nil when there is nothing to tell.
    static func from(_ changes: ChangeSet, of sections: Collection) -> SectionedResultsChange? {
        if changes.isInitial { return .initial(sections) }
        guard let notified = changes.sectioned?.changes, !notified.isEmpty else { return nil }
        return .update(
            sections, deletions: notified.deletions.map(\.path), insertions: notified.insertions.map(\.path),
            modifications: notified.modificationsOld.map(\.path),
            sectionsToInsert: IndexSet(notified.sectionInsertions),
            sectionsToDelete: IndexSet(notified.sectionDeletions))
    }
}

extension SectionChanges.Place {
    fileprivate var path: IndexPath { IndexPath(item: item, section: section) }
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
