/// A migration as its step sees it: the objects as they were beside the objects as they become.
///
/// Lives as long as the step runs, on its thread. `old` is frozen; `new` is in a write that the migration ends. An
/// object keeps its key, so the old and the new one of a pair are the same row under two schemas.
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class Migration {
    package let old: Session
    package let new: Session
    package let oldVersion: UInt64
    package let newVersion: UInt64
    /// nil when the step has returned: what a program keeps of a migration keeps neither version.
    private var running: SchemaMigration?
    /// New names of classes that the step renamed.
    private var formerNames: [(now: String, before: String)] = []

    init(_ migration: SchemaMigration, _ options: SessionOptions, _ database: Database) {
        running = migration
        oldVersion = migration.plan.storedVersion
        newVersion = migration.plan.declaredVersion
        (old, new) = Session.migrating(options, database, migration)
        formerNames = options.migration.renames.types.map { ($0.to, $0.from) }
    }

    func end() {
        new.leaveMigration()
        old.leaveMigration()
        running = nil
    }

    private func migration() throws(DatabaseError) -> SchemaMigration {
        try new.check()
        guard let running else { throw DatabaseError(.closed, "the migration has ended") }
        return running
    }

    // MARK: Objects

    /// Every object that both sides have, as a pair; of a class that only one side has, with nil for the other.
    /// Objects that the step deleted before or creates on the way are not visited.
    package func enumerate(
        _ className: String, _ body: (LiveObject?, LiveObject?) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let formerName = formerNames.first { $0.now.hasSameBytes(as: className) }?.before ?? className
        let before = try old.schema[formerName]?.tableKey
        let after = try new.schema[className]?.tableKey
        guard let side = before ?? after else { return }
        let keys = try (before != nil ? old : new).table(side).allLiveKeys()
        for (position, raw) in keys.enumerated() {
            if position & 1023 == 0 { try report(position, keys.count) }
            old.releaseMemory()
            new.releaseMemory()
            let key = ObjectKey(raw)
            var pair: (old: LiveObject?, new: LiveObject?) = (nil, nil)
            if let before { pair.old = LiveObject(session: old, table: before, key: key, birth: 0) }
            if let after {
                guard try new.table(after).locate(key) != nil else { continue }
                pair.new = LiveObject(session: new, table: after, key: key, birth: 0)
            }
            try body(pair.old, pair.new)
        }
        try report(keys.count, keys.count)
    }

    private func report(_ done: Int, _ total: Int) throws(DatabaseError) {
        try running?.progress?(MigrationProgress(phase: .objects, done: done, total: total))
    }

    // MARK: Schema

    /// The new property gets the old one's values; the column stays if nothing was changed before.
    package func renameProperty(of className: String, from: String, to: String) throws(DatabaseError) {
        let migration = try migration()
        defer { new.schemaMoved() }
        guard migration.isUntouched else {
            return try new.atomically { () throws(DatabaseError) in
                try migration.renameProperty(of: className, from: from, to: to)
            }
        }
        try requireNoSavepoint()
        try migration.renameProperty(of: className, from: from, to: to)
    }

    /// Before anything was changed: the class's objects stay under another name.
    package func renameType(_ from: String, to: String) throws(DatabaseError) {
        let migration = try migration()
        try requireNoSavepoint()
        defer { new.schemaMoved() }
        try migration.renameType(from, to: to)
        formerNames.append((now: to, before: from))
    }

    /// Going back to one would undo what becomes of objects, and not what becomes of the schema.
    private func requireNoSavepoint() throws(DatabaseError) {
        guard new.hasSavepoints else { return }
        throw DatabaseError(
            .invalidArgument,
            "a class or a property cannot be renamed or deleted within a savepoint, or a block of the write, which "
                + "could not undo that: do it before, or after", path: new.path)
    }

    /// Deletes all objects of a class; one that is not declared goes altogether. False where there is no such class.
    package func deleteData(ofType name: String) throws(DatabaseError) -> Bool {
        let migration = try migration()
        defer { new.schemaMoved() }
        if migration.deletesClass(name) {
            try requireNoSavepoint()
            if migration.isUntouched { return try migration.deleteData(ofType: name) }
        }
        return try new.atomically { () throws(DatabaseError) in try migration.deleteData(ofType: name) }
    }
}

extension TableView {
    func allLiveKeys() throws(DatabaseError) -> [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(liveCount)
        for rowGroup in 0 ..< rowGroupCount {
            let rows = try self.rowGroup(rowGroup)
            if rows.liveCount > 0 { keys += rows.liveKeys }
        }
        return keys
    }
}
