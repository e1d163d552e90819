/// One object: which of its properties changed, with their values before and after; and its deletion.
///
/// Without key paths only its own properties count, in the order of the schema. With key paths those that a path begins
/// with, when something changed that the path names; a deletion is always reported.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

final class ObjectObserver: Observer {
    private let object: LiveObject

    init(_ object: LiveObject, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.object = object
        try super.init(object.session, filter)
    }

    override var kind: ChangeSet.Kind { .object }

    override var thing: ObservedThing? {
        get throws(DatabaseError) { ObservedThing(kind: .object(object.table, object.key)) }
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
        guard let summary = try context.summary() else { return try everything(type, changes) }
        let columns = summary.table(object.table)?.columns(modifying: object.key.rawValue) ?? []
        for property in try type.properties.filtered({ property throws(DatabaseError) in
            try isTouched(property, columns, context)
        }) {
            let isSet = property.columnKey.map { columns.contains($0) } ?? false
            changes.properties.append(try change(property, summary, isSet: isSet))
        }
        return changes.isEmpty ? nil : changes
    }

    override func resume(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        version = context.to
        var changes = ChangeSet(.object, from: context.from, to: context.to)
        guard try object.exists() else {
            changes.isSourceDeleted = true
            return changes
        }
        return try everything(try object.type, changes)
    }

    /// Nothing is known but that it may have changed.
    private func everything(_ type: ObjectType, _ none: ChangeSet) throws(DatabaseError) -> ChangeSet? {
        var changes = none
        for property in type.storedProperties where isNamed(property) {
            changes.properties.append(try change(property, nil, isSet: true))
        }
        return changes.isEmpty ? nil : changes
    }

    private func isNamed(_ property: Property) -> Bool {
        filter?.paths.contains { $0.root.hasSameBytes(as: property.name) } ?? true
    }

    private func isTouched(
        _ property: Property, _ columns: [ColumnKey], _ context: DeliveryContext
    ) throws(DatabaseError) -> Bool {
        guard let filter else { return property.columnKey.map { columns.contains($0) } ?? false }
        for path in try context.resolved(filter).paths where path.root.hasSameBytes(as: property.name) {
            let keys = try context.touched(by: path)[object.table] ?? []
            if RowChanges.contains(keys, object.key.rawValue) { return true }
        }
        return false
    }

    private func change(
        _ property: Property, _ summary: ChangeSummary?, isSet: Bool
    ) throws(DatabaseError) -> ChangeSet.PropertyChange {
        func change(_ old: Value, _ new: Value, isOldKnown: Bool) -> ChangeSet.PropertyChange {
            ChangeSet.PropertyChange(
                name: property.name, column: property.columnKey, old: old, new: new, isOldKnown: isOldKnown)
        }
        guard let column = property.columnKey, !property.isCollection else {
            return change(.null, .null, isOldKnown: false)
        }
        let new = try object.get(column).owned
        // Only something that the property leads to has changed.
        if !isSet { return change(new, new, isOldKnown: true) }
        if case .whole(let old)? = try summary?.oldValue(object.table, column, object.key.rawValue) {
            return change(old, new, isOldKnown: true)
        }
        return change(.null, new, isOldKnown: false)
    }
}

/// The session itself: every version it moves to, and every commit of its own.
final class VersionObserver: Observer {
    private var shown: Catalog

    init(_ session: Session) throws(DatabaseError) {
        shown = try session.source().catalog
        try super.init(session)
    }

    override var kind: ChangeSet.Kind { .session }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        version = context.to
        guard context.moved || context.isOwnCommit else { return nil }
        return changes(context)
    }

    override func resume(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        version = context.to
        return changes(context)
    }

    private func changes(_ context: DeliveryContext) -> ChangeSet {
        var changes = ChangeSet(.session, from: context.from, to: context.to)
        // A catalog is read again only where a commit has changed it, or the file was let go of meanwhile.
        changes.hasNewSchema =
            shown !== context.source.catalog && shown.encoded() != context.source.catalog.encoded()
        shown = context.source.catalog
        return changes
    }
}
