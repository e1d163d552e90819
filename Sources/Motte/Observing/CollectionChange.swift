/// What observers are told.
import Foundation
import MotteNotifications
import MotteValues

/// Deletions and modifications are positions in the old collection, insertions in the new one.
public enum RealmCollectionChange<CollectionType> {
    case initial(CollectionType)
    case update(CollectionType, deletions: [Int], insertions: [Int], modifications: [Int])
    case error(any Error)

    package init(_ changes: ChangeSet, of collection: CollectionType) {
        self =
            changes.isInitial
            ? .initial(collection)
            : .update(
                collection, deletions: changes.deletions, insertions: changes.insertions,
                modifications: changes.modificationsOld)
    }
}

public struct PropertyChange {
    public let name: String
    /// nil for collections, and where the value before is not known.
    public let oldValue: Any?
    public let newValue: Any?
}

public enum ObjectChange<T: ObjectBase> {
    case change(_ object: T, _ properties: [PropertyChange])
    case deleted
    case error(any Error)

    init(_ changes: ChangeSet, of object: T, _ session: RealmSession) {
        if changes.isSourceDeleted {
            self = .deleted
            return
        }
        self = .change(
            object,
            changes.properties.map { change in
                PropertyChange(
                    name: change.name, oldValue: Self.any(change.old),
                    newValue: Self.any(change.new))
            })
    }

    private static func any(_ value: Value) -> Any? {
        switch value {
        case .null, .link: nil
        case .bool(let value): value
        case .int(let value): Int(value)
        case .float(let value): value
        case .double(let value): value
        case .string(let value): value
        case .data: Data(_stored: _StoredValue(value))
        case .timestamp: Date(_stored: _StoredValue(value))
        case .decimal, .objectID, .uuid, .list, .map: nil
        }
    }
}
