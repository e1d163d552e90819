/// Change sets of sections.
///
/// Deletions, modifications and deleted sections are counted as before the change, insertions and inserted sections as
/// after it. The elements of a section that goes are not listed one by one; those of one that comes are.
import Dispatch
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

/// The change set of sections, or of one section.
public enum SectionedResultsChange<Collection> {
    /// The sections as they are when observing begins; always the first callback.
    case initial(Collection)
    /// The sections after a change, with what changed since the callback before. Deletions, modifications and deleted
    /// sections are counted as before the change, insertions and inserted sections as after it.
    case update(
        Collection, deletions: [IndexPath], insertions: [IndexPath], modifications: [IndexPath],
        sectionsToInsert: IndexSet, sectionsToDelete: IndexSet)
}

/// Nothing fails any more; programs that have a `case .error:` compile as well as those that have none.
public struct SectionedResultsError: Sendable {
    /// What `case .error:` matches against; no change is one.
    public static let error = SectionedResultsError()
}
/// False: no change is an error.
public func ~= <Collection>(pattern: SectionedResultsError, change: SectionedResultsChange<Collection>) -> Bool {
    false
}

/// The longer name, as of the other kinds of change sets.
public typealias RealmSectionedResultsChange = SectionedResultsChange

extension RealmSectionedResult {
    /// Notifies of changes; the first call has the sections, or the one section, as they are.
    ///
    /// - Parameters:
    ///   - keyPaths: which changes within an element count. nil: those of everything it reaches over four links. A
    ///     change of an element's section key counts in any case.
    ///   - queue: a serial queue to be notified on; nil: the owner of the realm.
    ///   - block: gets the change sets. Observing a section that is not there yet is possible.
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

    /// Notifies an actor of changes; the first call has the sections, or the one section, as they are. Returns once
    /// observing has begun there. `keyPaths` as for the form with a queue.
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
    /// Notifies of changes, within elements those of what the key paths name; the first call has the sections as they
    /// are.
    public func observe(
        keyPaths: [PartialKeyPath<Element.Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken { observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block) }

    /// Notifies an actor of changes, within elements those of what the key paths name; the first call has the sections
    /// as they are. Returns once observing has begun there.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element.Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken { await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, block) }
}

extension RealmSectionedResult where Element: ObjectBase {
    /// Notifies of changes of one section, within elements those of what the key paths name; the first call has the
    /// section as it is.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken { observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block) }

    /// Notifies an actor of changes of one section, within elements those of what the key paths name; the first call
    /// has the section as it is. Returns once observing has begun there.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken { await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, block) }
}
