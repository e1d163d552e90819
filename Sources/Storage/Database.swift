/// One open file (or in-memory database) of this process: where snapshots and writes come from.
///
/// Sessions of every language binding on one file share it, and with it the pages, the counters and the newest catalog.
/// Any thread.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues
import Synchronization

package final class Database: Sendable {
    package let pages: PageStore
    package let counters = Counters()
    private let rowGroupSize: Int
    private let newestCatalog = Locked<Catalog>(.empty)
    package let recentChanges = RecentChanges()
    let givenKeys = GivenKeys()
    private let versionsAreLimited = Atomic<Bool>(false)

    /// Of all databases that this process opens, each has another number; 0 is none.
    package let number = Database.numbers.add(1, ordering: .relaxed).newValue
    private static let numbers = Atomic<UInt64>(0)

    private let identity: ObjectIdentifier

    private init(_ pages: PageStore, _ identity: ObjectIdentifier, rowGroupSize: Int) {
        self.pages = pages
        self.identity = identity
        self.rowGroupSize = rowGroupSize
    }

    deinit { Self.open.remove(identity, self) }

    // MARK: Opening

    /// Databases by their page store, which is one per file and process.
    private static let open = WeakRegistry<ObjectIdentifier, Database>()

    /// That this release reads and writes.
    package static var fileFormat: String { FileHeader.format }

    package static func open(_ options: PageStoreOptions) throws(DatabaseError) -> Database {
        try joined(try PageStore.open(options))
    }

    /// The database of a page store, which is one for all who have it open.
    static func joined(_ pages: PageStore) throws(DatabaseError) -> Database {
        let rowGroupSize = try pages.header.rowGroupSize
        let identity = try pages.sharedIdentity
        let database = open.object(identity) { Database(pages, identity, rowGroupSize: rowGroupSize) }
        // Who came first may only have wanted to read.
        database.pages.join(pages)
        return database
    }

    /// Somebody in this process has asked for no more than some live versions: none is to be pinned that nobody sees.
    package var limitsLiveVersions: Bool { versionsAreLimited.load(ordering: .relaxed) }
    package func limitLiveVersions() { versionsAreLimited.store(true, ordering: .relaxed) }

    package func latestVersion() throws(DatabaseError) -> Version { try pages.latestVersion }
    package func signal() throws(DatabaseError) -> CommitSignal { try pages.signal }

    // MARK: Reading

    /// The newest version, for one thread.
    package func snapshot() throws(DatabaseError) -> Snapshot {
        let newest = try pages.snapshot()
        return Snapshot(
            pages: newest, catalog: try catalog(in: newest), counters: counters, rowGroupSize: rowGroupSize)
    }

    /// Moves a snapshot to the newest version; false when it is there already.
    package func advance(_ snapshot: Snapshot) throws(DatabaseError) -> Bool {
        guard let newest = try newest(after: snapshot) else { return false }
        try advance(snapshot, to: newest)
        return true
    }

    /// The newest version; nil when the snapshot shows it already.
    private func newest(after snapshot: Snapshot) throws(DatabaseError) -> PageSnapshot? {
        guard try latestVersion() > snapshot.version else { return nil }
        let newest = try pages.snapshot()
        return newest.version > snapshot.version ? newest : nil
    }

    private func advance(_ snapshot: Snapshot, to newest: PageSnapshot) throws(DatabaseError) {
        let catalog = try snapshot.shown(try catalog(in: newest))
        try snapshot.reliance?.check(snapshot.catalog, catalog)
        let touched = catalog === snapshot.catalog ? try touched(from: snapshot.version, to: newest, catalog) : nil
        try snapshot.advance(to: newest, catalog: catalog, touched: touched)
    }

    /// After a commit of `write`, still under its lock: what it changed is known without reading the log.
    func advance(_ snapshot: Snapshot, to newest: PageSnapshot, after write: WriteTransaction) throws(DatabaseError) {
        guard write.newCatalog == nil else {
            return try snapshot.advance(to: newest, catalog: try catalog(in: newest), touched: nil)
        }
        snapshot.advance(to: newest, after: write)
    }

    /// What the commits in (from, to] changed; nil where records have been trimmed, so that a caller must compute from
    /// scratch.
    package func changes(from: Version, to snapshot: Snapshot) throws(DatabaseError) -> ChangeSummary? {
        try changes(from: from, in: snapshot.pages)
    }

    private func changes(from: Version, in newest: PageSnapshot) throws(DatabaseError) -> ChangeSummary? {
        // It goes over the checksum of the record before: records that are alike in it are the same.
        let checksum = try HistoryLog.checksum(of: newest.version, in: newest)
        let to = newest.version
        if let known = recentChanges.summary(from: from, to: to, checksum: checksum) { return known }
        let summary = try HistoryLog.changes(from: from, to: to, snapshot: newest)
        counters.add(logRecordsRead: Int(to.rawValue - from.rawValue))
        if let summary { recentChanges.keep(summary, checksum: checksum) }
        return summary
    }

    private func touched(
        from: Version, to newest: PageSnapshot, _ catalog: Catalog
    ) throws(DatabaseError) -> TouchedPages? {
        // Many versions at once are read faster from scratch than from their records.
        guard newest.version.rawValue - from.rawValue <= 64 else { return nil }
        guard let summary = try changes(from: from, in: newest) else { return nil }
        var touched = TouchedPages()
        for table in summary.tables {
            let state = try TableDirectory.readState(table.table, newest, rowGroupSize)
            touched.rowGroups[table.table] = table.touchedBlocks(
                of: state.rowGroupSize(ofFile: rowGroupSize), below: state.nextKey)
        }
        // From each record: what came in one commit and went in the next has been in the index nevertheless.
        for part in summary.records.flatMap(\.tables) {
            guard let stored = catalog.table(part.table) else { return nil }
            for index in catalog.indexes(of: stored.key)
            where index.columns.contains(where: { part.mayChangeIndex(of: $0.key) }) {
                touched.indexes.insert(index.key)
            }
        }
        return touched
    }

    private func catalog(in pages: PageSnapshot) throws(DatabaseError) -> Catalog {
        guard let record = try pages.get(PageKeys.catalog) else { return .empty }
        let known = newestCatalog.withLock { $0 }
        if let changedIn = Catalog.changedIn(record.bytes), changedIn == known.changedIn { return known }
        let decoded = try Catalog.decode(record.bytes)
        return newestCatalog.withLock { newest in
            if newest.changedIn == decoded.changedIn { return newest }
            if decoded.changedIn > newest.changedIn { newest = decoded }
            return decoded
        }
    }

    // MARK: Writing

    /// Takes the write lock (waiting at most `timeoutMilliseconds`, for ever if negative), moves `snapshot` to the
    /// newest version and opens a write on it. `holder` is who would have to end it.
    /// With `maximumLiveVersions`, it refuses to add to more versions than that. A file that follows another is written
    /// to `asFollower` alone. A refusal leaves the snapshot where it was, but for that of too many live versions, which
    /// may come after it has moved.
    package func beginWrite(
        on snapshot: Snapshot, timeoutMilliseconds: Int64 = -1, maximumLiveVersions: Int? = nil,
        as holder: WriteHolder? = nil, changesSchema: Bool = false, asFollower: Bool = false
    ) throws(DatabaseError) -> WriteTransaction {
        let lock = try lockForWriting(
            on: snapshot, timeoutMilliseconds, maximumLiveVersions, holder, changesSchema: changesSchema,
            asFollower: asFollower)
        return WriteTransaction(base: snapshot, database: self, by: .own(lock))
    }

    private func lockForWriting(
        on snapshot: Snapshot, _ timeoutMilliseconds: Int64, _ maximumLiveVersions: Int?, _ holder: WriteHolder?,
        changesSchema: Bool = false, asFollower: Bool = false
    ) throws(DatabaseError) -> WriteLock {
        let lock = try pages.lockForWriting(timeoutMilliseconds: timeoutMilliseconds, as: holder)
        do throws(DatabaseError) {
            let newest = try newest(after: snapshot)
            let shown = newest ?? snapshot.pages
            if !changesSchema { try (newest.map(catalog) ?? snapshot.catalog).requireKnownIndexes() }
            if !asFollower, let leader = try FollowedLeader.leader(in: shown) { throw leader.refusal }
            // The version that the snapshot shows may be the one too many, which is known once it has moved.
            if newest == nil, let maximumLiveVersions { try checkLiveVersions(maximumLiveVersions) }
            if let newest {
                try advance(snapshot, to: newest)
                if let maximumLiveVersions { try checkLiveVersions(maximumLiveVersions) }
            }
            return lock
        } catch {
            lock.release()
            throw error
        }
    }

    /// The same for several writes in turn that become durable together.
    package func beginGroup(
        on snapshot: Snapshot, timeoutMilliseconds: Int64 = -1, maximumLiveVersions: Int? = nil,
        as holder: WriteHolder? = nil
    ) throws(DatabaseError) -> PageGroup {
        let lock = try lockForWriting(on: snapshot, timeoutMilliseconds, maximumLiveVersions, holder)
        let pages = pages
        return try PageGroup(pages, lock: lock) { newest, batch throws(DatabaseError) in
            let observed = try pages.oldestObservedVersion()
            try HistoryLog.trim(observed: observed, kept: HistoryLog.kept(in: newest), over: newest, into: &batch)
        }
    }

    /// The next write of a group, whose newest version `snapshot` shows.
    package func beginWrite(on snapshot: Snapshot, in group: PageGroup) -> WriteTransaction {
        WriteTransaction(base: snapshot, database: self, by: .group(group))
    }

    /// Moves a snapshot of the group's newest version from memory to the file, where it is now.
    package func settle(_ snapshot: Snapshot, _ group: PageGroup) throws(DatabaseError) {
        let newest = group.newest
        try snapshot.advance(to: newest, catalog: try catalog(in: newest), touched: TouchedPages())
    }
}

extension Database {
    /// Pinned versions keep their pages from being used again: many of them make a file grow.
    private func checkLiveVersions(_ limit: Int) throws(DatabaseError) {
        let count = try pages.liveVersionCount()
        guard count > limit else { return }
        throw DatabaseError(
            .busy,
            "the file has \(count) live versions and \(limit) are allowed: a session or something frozen shows an old "
                + "one; refresh or close it")
    }
}

extension Catalog {
    /// The commit that wrote a record, read without decoding the rest.
    static func changedIn(_ record: UnsafeRawBufferPointer) -> UInt64? {
        guard record.count >= 24 else { return nil }
        return UInt64(littleEndian: record.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
    }
}
