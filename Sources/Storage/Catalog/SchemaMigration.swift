/// A migration under way: one write transaction in which the rows go from the stored schema to the declared one.
///
/// From `begin` on the write shows the declared schema; what could not keep its values shows defaults. The caller's
/// step then reads the old state through `old` and changes rows through `write`. Value indexes that are new wait
/// until `finish`: until then look-ups in them scan, and distinctness of primary keys is checked at the end.
/// Nothing reaches the file before the write commits.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

/// How far a long migration is. `total` is 0 while it is not known.
package struct MigrationProgress: Sendable {
    package enum Phase: Sendable {
        case objects, embedding, indexes, commit
    }

    package var phase: Phase
    package var done: Int
    package var total: Int

    package init(phase: Phase, done: Int, total: Int) {
        self.phase = phase
        self.done = done
        self.total = total
    }
}

/// Called with the progress; what it throws undoes the migration.
package typealias MigrationProgressHandler = (MigrationProgress) throws(DatabaseError) -> Void

package final class SchemaMigration {
    package let write: WriteTransaction
    /// The rows as they were, under the stored schema.
    package let old: Snapshot
    package private(set) var plan: SchemaPlan
    package let declared: Schema
    private let schemaVersion: UInt64
    /// Whether the caller gives values to what has to have one and has no default.
    private let hasStep: Bool
    private let fill: SchemaRequest.Fill?
    private var renames: SchemaRenames
    private var deleting: [String]
    private var current: CatalogMigration
    private var installedAt: UInt64 = 0
    package let progress: MigrationProgressHandler?

    /// What the write has to know of its migration.
    final class State {
        /// Indexes that are not there yet.
        var deferred: Set<IndexKey> = []
        var obsoletePages: [[UInt8]] = []
        /// Primary keys that were set, which otherwise never happens.
        var changedPrimaryKeys: Set<ColumnLocation> = []
        /// Classes deleted after rows had been changed, and the columns that linked to them.
        var droppedTables: Set<TableKey> = []
        var droppedColumns: [ColumnLocation] = []
    }

    struct ColumnLocation: Hashable {
        let table: TableKey
        let column: ColumnKey
    }

    init(
        _ write: WriteTransaction, declared: Schema, schemaVersion: UInt64, renames: SchemaRenames, deleting: [String],
        progress: MigrationProgressHandler?, hasStep: Bool = true, fill: SchemaRequest.Fill? = nil
    ) throws(DatabaseError) {
        self.write = write
        self.hasStep = hasStep
        self.fill = fill
        self.declared = declared
        self.schemaVersion = schemaVersion
        self.renames = renames
        self.deleting = deleting
        self.progress = progress
        old = write.base.copy()
        current = try CatalogMigration.make(
            declared, schemaVersion: schemaVersion, renames: renames, deleting: deleting, stored: write.base.catalog,
            previous: nil)
        plan = current.plan
        try install()
    }

    /// Rules are for what the program writes, and not for what the library changes itself.
    private func withoutRules(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        let rules = write.rules
        write.rules = nil
        defer { write.rules = rules }
        try body()
    }

    private func install() throws(DatabaseError) {
        try withoutRules { () throws(DatabaseError) in try installPlan() }
    }

    private func installPlan() throws(DatabaseError) {
        let state = State()
        state.obsoletePages = current.obsoletePages
        for (_, index) in current.indexesToBuild { state.deferred.insert(index) }
        write.beginMigration(state, current.catalog)
        plan = current.plan
        for (table, column) in current.relaxed { try keepFormerDefaults(table, column) }
        try write.fillAdditions(declared, mayStayEmpty: hasStep, by: fill)
        installedAt = write.changeCount
    }

    private func replan(_ renames: SchemaRenames, _ deleting: [String]) throws(DatabaseError) {
        let next = try CatalogMigration.make(
            declared, schemaVersion: schemaVersion, renames: renames, deleting: deleting, stored: write.base.catalog,
            previous: current.catalog)
        let before = (current, self.renames, self.deleting)
        (current, self.renames, self.deleting) = (next, renames, deleting)
        do throws(DatabaseError) { try install() } catch {
            // As it was: nothing had been changed.
            (current, self.renames, self.deleting) = before
            try write.completing { () throws(DatabaseError) in try install() }
            throw error
        }
    }

    package var isUntouched: Bool { write.changeCount == installedAt }

    /// Whether the class goes, and not its objects alone.
    package func deletesClass(_ name: String) -> Bool { write.schema[name] != nil && declared[name] == nil }

    // MARK: For the caller's step

    /// The property's values under its new name. Before anything was changed the column itself is kept; later its
    /// values are copied.
    package func renameProperty(of className: String, from: String, to: String) throws(DatabaseError) {
        var more = renames
        more.renameProperty(of: className, from: from, to: to)
        if isUntouched { return try replan(more, deleting) }
        try more.check(stored: old.schema, declared: declared)
        try withoutRules { () throws(DatabaseError) in
            // As a column that is kept does.
            try write.keepingWideInts { () throws(DatabaseError) in try copyValues(className, from, to) }
        }
    }

    /// Only before anything was changed: the rows stay where they are.
    package func renameType(_ from: String, to: String) throws(DatabaseError) {
        guard isUntouched else {
            throw DatabaseError(
                .invalidArgument,
                "class \(from) can only be renamed before the migration changes objects; rename first",
                className: from)
        }
        var more = renames
        more.renameType(from, to: to)
        try replan(more, deleting)
    }

    /// Of a class that is still declared the objects go, of another one the whole class; false where the file has none.
    package func deleteData(ofType name: String) throws(DatabaseError) -> Bool {
        if let type = write.schema[name], declared[name] != nil {
            guard let table = type.tableKey else { return false }
            let view = try write.table(table)
            for rowGroup in 0 ..< view.rowGroupCount {
                for key in try view.rowGroup(rowGroup).liveKeys where try view.locate(ObjectKey(key)) != nil {
                    try write.delete(table, ObjectKey(key))
                }
            }
            return true
        }
        guard write.schema[name] != nil else { return false }
        guard isUntouched else {
            if !current.deletedLate.contains(where: { $0.hasSameBytes(as: name) }) { try write.dropTable(named: name) }
            return true
        }
        try replan(renames, deleting + [name])
        return true
    }

    private func copyValues(_ className: String, _ from: String, _ to: String) throws(DatabaseError) {
        let oldName = renames.types.first { $0.to.hasSameBytes(as: className) }?.from ?? className
        guard let type = write.schema[className], let table = type.tableKey,
            let target = type.property(named: to), let targetKey = target.columnKey,
            let source = old.schema[oldName]?.property(named: from), let sourceKey = source.columnKey
        else { return }
        guard target.target.flatMap({ write.schema[$0] })?.isEmbedded != true else {
            throw DatabaseError(
                .invalidArgument,
                "\(className).\(from) has embedded objects, which have one owner: rename it before the migration "
                    + "changes objects", className: className, propertyName: from)
        }
        let before = try old.table(table)
        let now = try write.table(table)
        for rowGroup in 0 ..< before.rowGroupCount {
            for raw in try before.rowGroup(rowGroup).liveKeys {
                let key = ObjectKey(raw)
                guard try now.locate(key) != nil else { continue }
                switch source.collection {
                case .none:
                    let value = try carried(try before.value(sourceKey, key)) ?? .null
                    try value.withView { value throws(DatabaseError) in
                        try write.set(table, targetKey, key, to: value)
                    }
                case .list, .set: try copyElements(before, sourceKey, table, targetKey, key, source.collection)
                case .map: try copyEntries(before, sourceKey, table, targetKey, key)
                }
            }
        }
    }

    private func copyElements(
        _ before: TableView, _ source: ColumnKey, _ table: TableKey, _ target: ColumnKey, _ key: ObjectKey,
        _ collection: CollectionKind
    ) throws(DatabaseError) {
        collection == .list ? try write.listClear(table, target, key) : try write.setClear(table, target, key)
        var count = 0
        for index in 0 ..< (try before.listCount(source, key)) {
            guard let value = try carried(try before.listElement(source, key, index)) else { continue }
            try value.withView { view throws(DatabaseError) in
                if collection == .list {
                    try write.listInsert(table, target, key, at: count, [view])
                } else {
                    try write.setInsert(table, target, key, view)
                }
            }
            count += 1
        }
    }

    private func copyEntries(
        _ before: TableView, _ source: ColumnKey, _ table: TableKey, _ target: ColumnKey, _ key: ObjectKey
    ) throws(DatabaseError) {
        try write.mapClear(table, target, key)
        for index in 0 ..< (try before.listCount(source, key)) {
            let value = try carried(try before.listElement(source, key, index)) ?? .null
            let mapKey = [UInt8](try before.mapKey(source, key, index))
            try value.withView { view throws(DatabaseError) in
                try mapKey.withBytes { mapKey throws(DatabaseError) in
                    _ = try write.mapPut(table, target, key, mapKey, view)
                }
            }
        }
    }

    /// nil for a link to what the step has deleted.
    private func carried(_ value: ValueView) throws(DatabaseError) -> Value? {
        let value = value.owned
        guard case .link(let link) = value else { return value }
        guard write.catalog.table(link.table) != nil, try write.table(link.table).locate(link.key) != nil else {
            return nil
        }
        return value
    }

    // MARK: Ending

    /// Everything that has to wait for the rows' final values. The write is then ready to commit.
    package func finish() throws(DatabaseError) {
        guard let state = write.migration else { return }
        try withoutRules { () throws(DatabaseError) in try finishRows(state) }
    }

    private func finishRows(_ state: State) throws(DatabaseError) {
        for name in current.deletedLate { try write.dropTable(named: name) }
        try write.keepingWideInts { () throws(DatabaseError) in try embed(current.becomingEmbedded) }
        try deleteOrphans(of: current.orphaned)
        for table in current.shortened { try write.rewriteOpenGroup(table) }
        try buildIndexes(state)
        for (table, column) in current.newPrimaryKeys { try write.checkDistinct(table, column) }
        for place in state.changedPrimaryKeys { try write.checkDistinct(place.table, place.column) }
        write.removeDroppedTables()
        // Of classes that are not declared, too.
        _ = try write.catalog.schema.validated()
        try progress?(MigrationProgress(phase: .commit, done: 0, total: 0))
    }

    private func buildIndexes(_ state: State) throws(DatabaseError) {
        var total = 0
        for (table, _) in current.indexesToBuild { total += try write.table(table).liveCount }
        var done = 0
        try progress?(MigrationProgress(phase: .indexes, done: 0, total: total))
        for (table, index) in current.indexesToBuild {
            state.deferred.remove(index)
            try write.buildIndex(index)
            done += try write.table(table).liveCount
            try progress?(MigrationProgress(phase: .indexes, done: done, total: total))
        }
    }

    /// Rows older than a column show its default, which becomes null when the column becomes optional: their former
    /// default is written out.
    private func keepFormerDefaults(_ table: TableKey, _ column: ColumnKey) throws(DatabaseError) {
        let view = try write.table(table)
        let slot = try view.layout.slot(column)
        guard view.layout.columns[slot].collection == .none else { return }
        for rowGroup in 0 ..< view.rowGroupCount {
            let rows = try view.rowGroup(rowGroup)
            guard rows.liveCount > 0, try !write.base.hasChunk(table, column, rowGroup) else { continue }
            let kind = view.layout.columns[slot].kind
            let former = ChunkBuilder(kind: kind, nullable: false, capacity: 1)
            former.appendDefaults(1)
            let (changed, builder) = try write.writer(table).values(slot, rowGroup)
            for row in 0 ..< rows.rowCount { builder.set(row, former.view(0)) }
            changed.markChanged()
        }
    }
}

extension RowGroupView {
    /// Keys of the rows that exist, ascending.
    package var liveKeys: [Int64] {
        guard let liveWords else { return Array(firstKey ..< firstKey + Int64(rowCount)) }
        return (0 ..< rowCount).compactMap { row in
            liveWords[row >> 6] & (1 << UInt64(row & 63)) == 0 ? nil : firstKey + Int64(row)
        }
    }
}
