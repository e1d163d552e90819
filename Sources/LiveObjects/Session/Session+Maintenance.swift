/// Copies and compaction of the file a session has open, what a file says without being opened for long, and its end.
import MotteSchemaModel
import MotteStorage
import MotteValues

extension Session {
    /// Writes what the session shows, in a write with its changes so far, to a new file without free pages, with the
    /// same key unless another is named; others go on meanwhile.
    package func copy(
        to path: String, encryption: CopyEncryption = .same, progress: MaintenanceProgressHandler? = nil
    ) throws(DatabaseError) {
        let snapshot = try committedSnapshot()
        try checkIsNotMigrating("copy the file")
        guard let write else {
            return try database.copy(snapshot.pages, to: path, encryption: encryption, progress: progress)
        }
        for place in nestedPlaces { try place.nested?.writeWillEnd() }
        forgetTables()
        try database.copy(try write.pagesWithChanges(), to: path, encryption: encryption, progress: progress)
    }

    /// Rewrites a file that nobody has open.
    package static func compact(
        _ options: SessionOptions, progress: MaintenanceProgressHandler? = nil
    ) throws(DatabaseError) -> CompactionOutcome {
        let outcome = try Database.compact(options.databaseOptions, progress: progress)
        guard let outcome else { throw DatabaseError(.internal, "a compaction decided against itself") }
        return outcome
    }

    /// Rewrites the session's own file if nobody else has it open, otherwise `.busy`. The session goes on at the newest
    /// version either way; frozen things count as others.
    package func compact(progress: MaintenanceProgressHandler? = nil) throws(DatabaseError) -> CompactionOutcome {
        try checkMayCompact()
        // A database in memory would be gone with its last session; this only says that it has no file.
        guard case .file = options.location else { return try Session.compact(options) }
        // What others committed is delivered while the file still has its change log.
        try refresh()
        // What is at the path is to be what is open, or there would be something else there afterwards.
        try database.pages.checkPlace()
        let place = try self.place
        leaveFile()
        let outcome: Result<CompactionOutcome, DatabaseError>
        do throws(DatabaseError) {
            outcome = .success(try Session.compact(place, progress: progress))
        } catch {
            outcome = .failure(error)
        }
        try returnToFile(place)
        return try outcome.get()
    }

    func checkMayCompact() throws(DatabaseError) {
        try checkIsLive("compact the file")
        try checkCallsNoFunction("compact the file")
        try checkIsNotDelivering("compact the file")
        tellRest()
        guard !isInWrite, !isInGroup else {
            throw DatabaseError(.alreadyInWrite, "cannot compact during a write; commit or cancel first", path: path)
        }
    }

    /// Deletes every object of every class and answers how many there were; the schema stays. Classes that link go
    /// before those they link to, whose deletion then takes no links apart.
    @discardableResult
    package func deleteAll() throws(DatabaseError) -> Int {
        let types = try requireWrite().schema.objectTypes
        var incoming: [NameKey: Int] = [:]
        for type in types {
            for target in type.linkedClasses where target != NameKey(type.name) { incoming[target, default: 0] += 1 }
        }
        var waiting = types.filter { !$0.isEmbedded }
        var deleted = 0
        while !waiting.isEmpty {
            // In a circle of links any class is as good as another.
            let next = waiting.firstIndex { incoming[NameKey($0.name), default: 0] == 0 } ?? 0
            let type = waiting.remove(at: next)
            for target in type.linkedClasses where target != NameKey(type.name) { incoming[target, default: 0] -= 1 }
            if let table = type.tableKey { deleted += try deleteAll(table) }
        }
        return deleted
    }
}

extension Session {
    /// Objects that are not embedded in others.
    package func storedObjectCount() throws(DatabaseError) -> Int {
        var count = 0
        for type in try schema.objectTypes where !type.isEmbedded {
            if let key = type.tableKey { count += try table(key).liveCount }
        }
        return count
    }
}

// MARK: Files that nobody needs to have open

extension Session {
    /// Whether there is something at the path, or a database in memory is open under the identifier.
    package static func exists(_ options: SessionOptions) throws(DatabaseError) -> Bool {
        try Database.exists(options.databaseOptions)
    }

    /// Whether the file says that it is a database; false for what is not there or cannot be read.
    package static func isDatabase(_ path: String) throws(DatabaseError) -> Bool { try Database.isDatabase(path) }

    /// A name for a file that is made in place of `target`, which must not be there.
    package static func temporaryName(
        beside target: String, _ purpose: String
    ) throws(DatabaseError) -> String {
        try Database.temporaryName(beside: target, purpose)
    }

    /// Gives a file that nobody has open another name, which nothing has.
    package static func rename(_ path: String, to target: String) throws(DatabaseError) {
        try Database.rename(SessionOptions(path: path).databaseOptions, to: target)
    }

    /// Gives a file that nobody has open the name of another one, which nobody has open either: that goes, or is kept
    /// by the name `aside`. At every moment one of the two has the name. With an origin, only if the file that goes
    /// follows that; else `.outOfSequence`.
    package static func replace(
        _ options: SessionOptions, with path: String, keepingAs aside: String?, ifFollowing origin: ChangeOrigin?
    ) throws(DatabaseError) {
        try Database.replace(options.databaseOptions, with: path, keepingAs: aside, ifFollowing: origin)
    }

    /// Removes the file and its sidecar; false when there is none, `.busy` when somebody has it open.
    package static func deleteFile(_ options: SessionOptions) throws(DatabaseError) -> Bool {
        try Database.deleteFile(options.databaseOptions)
    }

    /// The number users gave the schema of a file; nil when there is no file.
    package static func storedSchemaVersion(_ options: SessionOptions) throws(DatabaseError) -> UInt64? {
        guard try exists(options) else { return nil }
        return try Database.open(options.readingOnly.databaseOptions).snapshot().schemaVersion
    }
}

extension SessionOptions {
    /// To look at what is there and change nothing.
    package var readingOnly: SessionOptions {
        var reading = self
        reading.isReadOnly = true
        reading.forgetOpening()
        return reading
    }

    /// The file as far as it can be opened, without its schema having to be whole.
    package func openForSalvage() throws(DatabaseError) -> DamagedFile {
        try Database.openForSalvage(readingOnly.databaseOptions)
    }
}

extension ObjectType {
    fileprivate var linkedClasses: Set<NameKey> {
        Set(storedProperties.compactMap { $0.type == .link ? $0.target.map { NameKey($0) } : nil })
    }
}
