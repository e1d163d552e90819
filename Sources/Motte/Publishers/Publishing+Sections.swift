/// Publishers of sections.
import Dispatch
import Foundation
import OpenCombine

extension RealmPublishers {
    /// The change sets of sections, or of one section.
    public typealias SectionChangeset<Collection: RealmSectionedResult> = Changes<SectionedResultsChange<Collection>>
}

extension RealmSubscribable where Self: RealmSectionedResult {
    public var _isObservable: Bool { realm != nil }
    public func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, sendsInitial: Bool, _ receive: @escaping (Any) -> Void,
        finish: @escaping () -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue) { $0.pass(to: receive, sendsInitial: sendsInitial, finish) }
    }
}

extension SectionedResults: RealmSubscribable {}
extension ResultsSection: RealmSubscribable {}

extension RealmSectionedResult where Self: RealmSubscribable {
    /// Void after every change.
    public var objectWillChange: RealmPublishers.WillChange<Self> { RealmPublishers.WillChange(self) }
    /// The sections as they are, and again after every change.
    public var collectionPublisher: RealmPublishers.Value<Self> { RealmPublishers.Value(self) }
    /// The sections as they are, and again after every change of what the key paths name.
    public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
        RealmPublishers.Value(self, keyPaths)
    }
    /// The change sets of `observe`.
    public var changesetPublisher: RealmPublishers.SectionChangeset<Self> { changesetPublisher(keyPaths: nil) }
    /// The change sets of `observe`, of what the key paths name.
    public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.SectionChangeset<Self> {
        RealmPublishers.Changes(isObservable: _isObservable) { queue, receive, _ in
            observe(keyPaths: keyPaths, on: queue, receive)
        }
    }
}

extension Publisher {
    /// Every change set with its sections frozen, for all threads.
    public func freeze<C: RealmSectionedResult>() -> Publishers.Map<Self, Output>
    where Output == SectionedResultsChange<C> { map { $0.mapped { $0.freeze() } } }

    /// Lets `receive(on:)` take change sets of sections to another thread or queue.
    public func threadSafeReference<C: RealmSectionedResult>() -> RealmPublishers.MakeThreadSafe<Self>
    where Output == SectionedResultsChange<C> {
        RealmPublishers.MakeThreadSafe(self) { change in
            RealmHandover(change, change.collection) { change, resolved in change.mapped { _ in resolved } }
        }
    }
}

extension SectionedResultsChange {
    func mapped(_ body: (Collection) -> Collection) -> SectionedResultsChange {
        switch self {
        case .initial(let sections): .initial(body(sections))
        case .update(let sections, let deletions, let insertions, let modifications, let inserted, let deleted):
            .update(
                body(sections), deletions: deletions, insertions: insertions, modifications: modifications,
                sectionsToInsert: inserted, sectionsToDelete: deleted)
        }
    }

    var collection: Collection? {
        switch self {
        case .initial(let sections), .update(let sections, _, _, _, _, _): sections
        }
    }
}
