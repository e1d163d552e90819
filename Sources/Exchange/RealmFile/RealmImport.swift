/// The objects of a Realm file into a database whose schema has its classes.
///
/// Classes go one after the other, objects in the order of the file, a cluster of up to 256 of them together: first the
/// rows, then their collections. Memory is bounded by a cluster, whatever the file's size. Embedded objects are rows
/// like others, imported before their owners where that is possible; each has to get exactly one owner. The session is
/// in a write, which whoever began it commits or cancels.
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class RealmImport {
    package struct Options {
        /// For objects whose primary key is there already.
        package var policy = UpdatePolicy.error
        /// Commits and starts over after so many objects; 0: never.
        package var commitEvery = 0
        /// Goes on behind what an import with `commitEvery` has committed, which is compared before.
        package var resumes = false
        /// Nobody else sees the database before the import ends, whatever is committed.
        package var isAlone = false
        /// What would be noted as changed or left out is an error.
        package var isStrict = false
        /// Called with the number of objects now and then, and at the end, and with how many there are.
        package var progress: ((_ done: Int, _ total: Int) throws(DatabaseError) -> Void)?
        /// Bytes of values that are held together; only tests set it.
        package var heldBytes = 64 << 20

        package init() {}
    }

    let file: RealmFile
    let session: Session
    let options: Options
    let plan: RealmPlan
    /// nil where there is nothing to import.
    let translation: RealmTranslation?
    private let schema: RealmSchema
    private(set) var summary = RealmSummary()
    private var notes: RealmNotes
    private var done = 0
    let total: Int
    private var objectsSinceCommit = 0

    /// `schema` was made from the file; the session's schema has all of it.
    package init(
        _ file: RealmFile, _ schema: RealmSchema, into session: Session, _ options: Options = Options()
    ) throws(DatabaseError) {
        self.file = file
        self.session = session
        self.options = options
        self.schema = schema
        let stored = try session.schema
        try RealmImport.check(schema, fits: stored, file.path)
        plan = try RealmPlan(file, schema, stored)
        translation = RealmTranslation(plan, session, isStrict: options.isStrict)
        notes = schema.collected
        if options.isStrict, let note = schema.notes.first {
            throw DatabaseError(.invalidArgument, note.text, path: file.path, className: note.className)
        }
        total = plan.order.reduce(0) { $0 + $1.source.objectCount }
    }

    /// Opening a database with the schema makes it fit; one that was opened without has to have it.
    private static func check(_ schema: RealmSchema, fits stored: Schema, _ path: String) throws(DatabaseError) {
        let names = Set(schema.classes.compactMap { $0.name.map { NameKey($0) } })
        var merge = RealmSchemaMerge(stored)
        _ = merge.merged(schema.schema.objectTypes.filter { names.contains(NameKey($0.name)) }, isEmpty: { _ in false })
        guard merge.missing.isEmpty else {
            throw DatabaseError(
                .schemaMismatch,
                "the database lacks what the Realm file '\(path)' has: \(merge.missing.joined(separator: ", ")); open "
                    + "it with the schema of the file, or convert the file into a database of its own", path: path)
        }
        guard merge.problems.isEmpty else {
            throw DatabaseError(
                .schemaMismatch,
                "the schema of the database does not fit the Realm file '\(path)': "
                    + merge.problems.joined(separator: "; "), path: path)
        }
    }

    // MARK: All of it

    package func run() throws(DatabaseError) -> RealmSummary {
        // Of all classes before any of them can fail: it is what giveBackKeys() goes by.
        for type in plan.order { type.leastKey = try session.table(type.table).nextNewKey }
        try allow(true)
        defer {
            session.write?.adoptsEmbedded = false
            session.write?.linksAhead = false
        }
        for type in plan.order { try prepare(type) }
        for type in plan.order {
            summary.classes.append(
                RealmSummary.Class(
                    name: type.type.name, objects: type.source.objectCount, properties: type.fields.count))
            try importRows(type)
        }
        for type in plan.order where type.isLate.contains(true) { try importLate(type) }
        for type in plan.order where type.type.isEmbedded { try dropOrphans(type) }
        try file.checkUnchanged()
        try options.progress?(done, total)
        session.write?.hidesKeys = false
        if let translation { notes.add(translation.notes.all) }
        summary.notes = notes.all
        summary.classes.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        summary.format = file.format
        summary.sourceVersion = file.version
        summary.sourceSize = file.size
        return summary
    }

    private func prepare(_ type: RealmClassPlan) throws(DatabaseError) {
        let view = try session.table(type.table)
        type.firstKey = view.nextNewKey
        type.isUpdating =
            options.policy != .error && !options.resumes && type.source.primaryKey != nil && view.liveCount > 0
        guard options.resumes else { return }
        type.firstKey = 0
        type.resumedCount = Int(view.nextKey)
        guard view.liveCount == type.resumedCount, type.resumedCount <= type.source.objectCount else {
            throw notOfThisImport(type)
        }
        // Then objects would not be where their links look.
        guard view.nextNewKey == view.nextKey else {
            throw DatabaseError(
                .invalidArgument,
                "a write of this process that was cancelled had objects of \(type.type.name), whose keys are not given "
                    + "again while the file is open; close it everywhere in the process, open it and resume",
                className: type.type.name)
        }
        // It is not known how far the second pass came; what is assigned already stays.
        for (index, field) in type.fields.enumerated() where field.mayBeLate && type.resumedCount > 0 {
            type.isLate[index] = true
        }
    }

    private func notOfThisImport(_ type: RealmClassPlan) -> DatabaseError {
        DatabaseError(
            .invalidArgument,
            "\(type.type.name) holds objects that are not from the beginning of the Realm file '\(file.path)', so "
                + "that its import cannot be resumed; import into a database of its own", className: type.type.name)
    }

    // MARK: Rows

    private func importRows(_ type: RealmClassPlan) throws(DatabaseError) {
        guard let translation, type.source.objectCount > 0 else { return }
        type.hasBegun = true
        let rows = RealmRows(self, type, translation)
        var cursor = try type.source.cursor()
        while let cluster = try cursor.next() {
            guard cluster.firstPosition >= type.resumedCount else {
                try comparePresent(type, cluster, translation)
                continue
            }
            let outcome = try rows.importCluster(cluster)
            summary.classes[summary.classes.count - 1].created += outcome.created
            summary.classes[summary.classes.count - 1].updated += outcome.updated
            try finished(cluster.count)
        }
    }

    /// What is there already must be what would be imported.
    private func comparePresent(
        _ type: RealmClassPlan, _ cluster: RealmCluster, _ translation: RealmTranslation
    ) throws(DatabaseError) {
        guard cluster.firstPosition + cluster.count <= type.resumedCount else { throw notOfThisImport(type) }
        let comparison = RealmComparison(translation, adopts: true)
        do throws(DatabaseError) { try comparison.compare(type, cluster, onlyEarly: true) } catch {
            guard error.code == .inputOutput else { throw error }
            throw notOfThisImport(type)
        }
        done += cluster.count
        try options.progress?(done, total)
    }

    private func finished(_ count: Int) throws(DatabaseError) {
        done += count
        try options.progress?(done, total)
        try commitIfDue(count)
    }

    private func commitIfDue(_ count: Int) throws(DatabaseError) {
        objectsSinceCommit += count
        guard options.commitEvery > 0, objectsSinceCommit >= options.commitEvery else { return }
        objectsSinceCommit = 0
        try allow(false)
        try session.commitAndGoOn()
        try allow(true)
        try lookAround()
    }

    /// In a new write: others may have added objects since.
    private func lookAround() throws(DatabaseError) {
        for type in plan.order {
            type.leastKey = try session.table(type.table).nextNewKey
            if !type.hasBegun, !options.resumes { type.firstKey = type.leastKey }
        }
    }

    /// After a failure whose changes were undone. Nobody has seen the keys that its rows had, and it may be resumed
    /// where it was; what the write goes on with is as in other writes.
    fileprivate func giveBackKeys() throws(DatabaseError) {
        guard let write = session.write, write.hidesKeys else { return }
        write.hidesKeys = false
        for type in plan.order { try write.nextNew(type.table, at: type.leastKey) }
    }

    /// Links to objects that are inserted later need not wait where nobody can see them before.
    private func allow(_ isAllowed: Bool) throws(DatabaseError) {
        let write = try session.requireWrite()
        write.hidesKeys = options.commitEvery > 0 || options.resumes
        let goesAhead = options.isAlone || (options.commitEvery == 0 && !options.resumes)
        write.adoptsEmbedded = isAllowed
        write.linksAhead = isAllowed && goesAhead
        translation?.resolvesAhead = goesAhead
    }

    // MARK: What comes later

    /// Everything has its key now.
    private func importLate(_ type: RealmClassPlan) throws(DatabaseError) {
        guard let translation else { return }
        let rows = RealmRows(self, type, translation)
        translation.isNoting = true
        var cursor = try type.source.cursor()
        while let cluster = try cursor.next() {
            try rows.importLate(cluster)
            try commitIfDue(cluster.count)
        }
    }

    /// Nobody can see an embedded object without an owner, here or in Realm.
    private func dropOrphans(_ type: RealmClassPlan) throws(DatabaseError) {
        guard type.ownedCount < type.source.objectCount else { return }
        var lost = 0
        var first: Int64?
        var cursor = try type.source.cursor()
        while let cluster = try cursor.next() {
            for row in 0 ..< cluster.count where !type.isOwned(cluster.firstPosition + row) {
                let key = ObjectKey(type.firstKey + Int64(cluster.firstPosition + row))
                // One that it owns itself goes with it.
                if try session.table(type.table).locate(key) != nil { try session.delete(type.table, key) }
                lost += 1
                if first == nil { first = cluster.key(row) }
            }
        }
        let reason = "embedded objects that no object owns are left out"
        guard !options.isStrict else {
            throw DatabaseError(.invalidArgument, "\(type.type.name): \(reason)", className: type.type.name)
        }
        notes.add(type.type.name, nil, reason, count: lost, key: first)
        if let index = summary.classes.firstIndex(where: { $0.name.hasSameBytes(as: type.type.name) }) {
            summary.classes[index].created -= lost
        }
    }
}

// MARK: From a path

extension RealmSchema {
    /// Of the file at a path; `key`: its 64 bytes, where it is encrypted.
    package init(path: String, key: [UInt8]?, adding given: Schema? = nil) throws(DatabaseError) {
        try self.init(try RealmFile(path, key: key), adding: given)
    }
}

extension RealmImport {
    /// All of the file at a path into the open write of a session.
    package static func run(
        _ path: String, key: [UInt8]?, adding given: Schema? = nil, into session: Session,
        _ options: Options = Options()
    ) throws(DatabaseError) -> RealmSummary {
        _ = try session.requireWrite()
        let file = try RealmFile(path, key: key)
        let importing = try RealmImport(file, try RealmSchema(file, adding: given), into: session, options)
        do throws(DatabaseError) {
            return try session.atomically { () throws(DatabaseError) in try importing.run() }
        } catch {
            try importing.giveBackKeys()
            throw error
        }
    }
}
