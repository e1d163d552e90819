/// Change sets, as observers get them.
import Foundation
import MotteNotifications
import MotteValues

/// Indexes of `deletions` and `modifications` are those before the change, of `insertions` those after it.
public enum RealmCollectionChange<CollectionType> {
    /// The collection as it is when observing begins, or begins again; always the first callback.
    case initial(CollectionType)
    /// The collection after a change, with what changed since the callback before.
    case update(CollectionType, deletions: [Int], insertions: [Int], modifications: [Int])
    /// What changed could not be found out. The next callback starts over with the collection as it is.
    case error(Swift.Error)

    static func from(_ changes: ChangeSet, of collection: CollectionType) -> RealmCollectionChange {
        if let failure = changes.failure { return .error(Realm.Error(failure)) }
        if changes.isInitial { return .initial(collection) }
        return .update(
            collection, deletions: changes.deletions, insertions: changes.insertions,
            modifications: changes.modificationsOld)
    }
}

/// The change set of a map.
public enum RealmMapChange<Collection: RealmKeyedCollection> {
    /// The map as it is when observing begins; always the first callback.
    case initial(Collection)
    /// The map after a change, with the keys that came, went or got another value since the callback before.
    case update(
        Collection, deletions: [Collection.Key], insertions: [Collection.Key], modifications: [Collection.Key])
    /// What changed could not be found out. The next callback starts over with the map as it is.
    case error(Swift.Error)

    static func from(_ changes: ChangeSet, of collection: Collection) -> RealmMapChange {
        if let failure = changes.failure { return .error(Realm.Error(failure)) }
        if changes.isInitial { return .initial(collection) }
        return .update(
            collection, deletions: changes.keyDeletions.map { Collection.Key(_mapKeyText: $0) },
            insertions: changes.keyInsertions.map { Collection.Key(_mapKeyText: $0) },
            modifications: changes.keyModifications.map { Collection.Key(_mapKeyText: $0) })
    }
}

/// The change set of an object or a projection. Nothing follows `deleted`.
public enum ObjectChange<T> {
    /// What changed could not be found out. The next callback has all properties.
    case error(_ error: NSError)
    /// Properties were set, or what the observed key paths lead to changed. The object shows the new values.
    case change(_ object: T, _ properties: [PropertyChange])
    /// The object was deleted. No callback follows.
    case deleted
}

/// A property that was set. Old values are nil in the callbacks of the realm that made the change; of collections both
/// values are nil.
public struct PropertyChange {
    /// The name of the property in Swift; the label, where a projection is observed.
    public let name: String
    /// The value before the change, if it is known. nil for collections, and in the callbacks of the realm that made
    /// the change.
    public let oldValue: Any?
    /// The value after the change; nil for null and for collections.
    public let newValue: Any?

    package init(name: String, oldValue: Any?, newValue: Any?) {
        self.name = name
        self.oldValue = oldValue
        self.newValue = newValue
    }
}
