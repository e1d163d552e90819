/// One object: which of its own properties changed, with their values before and after; and its deletion.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

final class ObjectObserver: Observer {
    private let object: LiveObject

    init(_ object: LiveObject) throws(DatabaseError) {
        self.object = object
        try super.init(object.session)
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        var changes = ChangeSet(.object, from: context.from, to: context.to)
        guard try object.exists() else {
            changes.isSourceDeleted = true
            return changes
        }
        let type = try object.type
        guard let summary = try context.summary() else {
            // Nothing is known but that it may have changed.
            for property in type.storedProperties {
                if let column = property.columnKey { changes.properties.append(try change(column, property, nil)) }
            }
            return changes
        }
        let columns = summary.table(object.table)?.columns(modifying: object.key.rawValue) ?? []
        // In the order of the schema.
        for property in type.storedProperties {
            guard let column = property.columnKey, columns.contains(column) else { continue }
            changes.properties.append(try change(column, property, summary))
        }
        return changes.isEmpty ? nil : changes
    }

    private func change(
        _ column: ColumnKey, _ property: Property, _ summary: ChangeSummary?
    ) throws(DatabaseError) -> ChangeSet.PropertyChange {
        if property.isCollection {
            return ChangeSet.PropertyChange(column: column, old: .null, new: .null, isOldKnown: false)
        }
        let new = try object.get(column).owned
        if case .whole(let old)? = try summary?.oldValue(object.table, column, object.key.rawValue) {
            return ChangeSet.PropertyChange(column: column, old: old, new: new, isOldKnown: true)
        }
        return ChangeSet.PropertyChange(column: column, old: .null, new: new, isOldKnown: false)
    }
}

/// The session itself: every version it moves to, and every commit of its own.
final class VersionObserver: Observer {
    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        version = context.to
        guard context.moved || context.isOwnCommit else { return nil }
        return ChangeSet(.session, from: context.from, to: context.to)
    }
}
