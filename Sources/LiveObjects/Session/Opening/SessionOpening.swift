/// The way from options to an open store whose schema is the declared one.
import CMotteShim
import MotteSchemaModel
import MotteStorage
import MotteValues

/// What opening does to a file.
package enum OpeningNote: Sendable {
    case compacted(CompactionOutcome)
    /// The schema that the file was given; not called if it had all that is declared.
    case schema(SchemaPlan)
    case opened(Version)
}

struct SessionOpening {
    let options: SessionOptions

    init(_ options: SessionOptions) { self.options = options }

    func run() throws(DatabaseError) -> (Database, Snapshot) {
        let declared = try options.schema?.validated()
        try prepareFile()
        let began = motte_shim_monotonic_ms()
        let database = try Database.open(options.databaseOptions)
        if options.maximumLiveVersions != nil { database.limitLiveVersions() }
        let snapshot = try database.snapshot()
        if let declared {
            if options.isReadOnly || options.isImmutable {
                try snapshot.showForReading(declared)
            } else {
                var request = request(declared, database)
                let limit = options.openTimeoutMilliseconds
                if limit >= 0 { request.timeoutMilliseconds = max(0, limit - (motte_shim_monotonic_ms() - began)) }
                let plan = try database.reconcile(request, on: snapshot)
                if plan.action != .nothing { options.openingNote?(.schema(plan)) }
            }
        }
        snapshot.reliance =
            declared.map { SchemaReliance(declared: $0, in: snapshot.schema) } ?? SchemaReliance.all
        options.openingNote?(.opened(snapshot.version))
        return (database, snapshot)
    }

    /// The same file again. Another process may have opened it before and changed its schema.
    func reopen(after former: SchemaPlace?) throws(DatabaseError) -> (Database, Snapshot) {
        var wanted = options
        wanted.noCreate = true
        let database = try Database.open(wanted.databaseOptions)
        if options.maximumLiveVersions != nil { database.limitLiveVersions() }
        let snapshot = try database.snapshot()
        if let declared = options.schema, options.isReadOnly || options.isImmutable {
            try snapshot.showForReading(declared)
        }
        snapshot.reliance =
            former?.reliance ?? options.schema.map { SchemaReliance(declared: $0, in: snapshot.schema) } ?? .all
        try former?.check(snapshot)
        return (database, snapshot)
    }

    /// Seed and compaction, before anybody has the file open.
    private func prepareFile() throws(DatabaseError) {
        guard case .file(let path) = options.location, !options.isReadOnly, !options.isImmutable else { return }
        if let seed = options.seedPath { try Database.copySeed(seed, to: path, encryptionKey: options.encryptionKey) }
        guard let wants = options.compactOnLaunch else { return }
        do throws(DatabaseError) {
            let outcome = try Database.compact(options.databaseOptions, decide: wants)
            if let outcome { options.openingNote?(.compacted(outcome)) }
        } catch {
            // Not there yet, or in use by somebody: then it is not launched, only joined. Nor is it replaced where the
            // folder does not allow that, or has no room, or where its owner would become another one. Of a damaged
            // one opening says what is wrong.
            let harmless: [ErrorCode] = [.fileNotFound, .busy, .permissionDenied, .diskFull, .corrupted]
            guard harmless.contains(error.code) else { throw error }
        }
    }

    /// What opening for writing would do to the file, which is not changed.
    func plan() throws(DatabaseError) -> SchemaPlan {
        guard try Session.exists(options) else {
            let declared = try options.schema?.validated() ?? .empty
            let difference = SchemaDifference(stored: .empty, declared: declared)
            return SchemaPlan(
                action: .create, storedVersion: 0, declaredVersion: options.schemaVersion ?? 0,
                lines: difference.additionLines())
        }
        let database = try Database.open(options.readingOnly.databaseOptions)
        let snapshot = try database.snapshot()
        guard let declared = options.schema else {
            return SchemaPlan(
                action: .nothing, storedVersion: snapshot.schemaVersion, declaredVersion: snapshot.schemaVersion,
                lines: [])
        }
        return try snapshot.plan(request(declared, database))
    }

    private func request(_ declared: Schema, _ database: Database) -> SchemaRequest {
        var request = SchemaRequest(declared, version: options.schemaVersion)
        request.renames = options.migration.renames
        request.deletedTypes = options.migration.deletedTypes
        request.resetsInsteadOfMigrating = options.migration.deletesInsteadOfMigrating
        request.fixesProperties = options.migration.fixesProperties
        request.progress = options.migration.progress
        if let step = options.migration.step {
            request.step = { (migration) throws(DatabaseError) in
                let sides = Migration(migration, options, database)
                defer { sides.end() }
                try step(sides)
            }
        }
        request.fill = { (write, table, column, keys, filler) throws(DatabaseError) in
            guard let filler = filler as? any ObjectFiller else { return }
            let session = Session.joining(options, database, write)
            defer { session.leaveMigration() }
            try filler.fill(session, table, column, keys)
        }
        request.populatesAdditions = options.fillsAdditions
        if let firstOpen = options.firstOpen {
            request.populate = { (write) throws(DatabaseError) in
                let session = Session.joining(options, database, write)
                defer { session.leaveMigration() }
                try firstOpen(session)
            }
        }
        return request
    }
}

extension Session {
    /// What opening with these options would do to the file's schema. Throws what opening would throw; nothing is
    /// changed.
    package static func schemaPlan(_ options: SessionOptions) throws(DatabaseError) -> SchemaPlan {
        try SessionOpening(options).plan()
    }
}
