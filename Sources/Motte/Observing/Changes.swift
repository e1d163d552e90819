/// Change sets, as observers get them.
import Foundation
import MotteNotifications
import MotteValues

/// Indexes of `deletions` and `modifications` are those before the change, of `insertions` those after it.
public enum RealmCollectionChange<CollectionType> {
    case initial(CollectionType)
    case update(CollectionType, deletions: [Int], insertions: [Int], modifications: [Int])
    /// Kept for programs that switch over it; nothing fails any more.
    case error(Swift.Error)

    static func from(_ changes: ChangeSet, of collection: CollectionType) -> RealmCollectionChange {
        if changes.isInitial { return .initial(collection) }
        return .update(
            collection, deletions: changes.deletions, insertions: changes.insertions,
            modifications: changes.modificationsOld)
    }
}

/// The change set of a map.
public enum RealmMapChange<Collection: RealmKeyedCollection> {
    case initial(Collection)
    case update(
        Collection, deletions: [Collection.Key], insertions: [Collection.Key], modifications: [Collection.Key])
    case error(Swift.Error)

    static func from(_ changes: ChangeSet, of collection: Collection) -> RealmMapChange {
        if changes.isInitial { return .initial(collection) }
        return .update(
            collection, deletions: changes.keyDeletions.map { Collection.Key(_mapKeyText: $0) },
            insertions: changes.keyInsertions.map { Collection.Key(_mapKeyText: $0) },
            modifications: changes.keyModifications.map { Collection.Key(_mapKeyText: $0) })
    }
}

/// The change set of an object or a projection. Nothing follows `deleted`.
public enum ObjectChange<T> {
    case error(_ error: NSError)
    case change(_ object: T, _ properties: [PropertyChange])
    case deleted
}

/// Old values are nil in the callbacks of the thread that made the change, and of collections both are.
public struct PropertyChange {
    public let name: String
    public let oldValue: Any?
    public let newValue: Any?

    package init(name: String, oldValue: Any?, newValue: Any?) {
        self.name = name
        self.oldValue = oldValue
        self.newValue = newValue
    }
}
