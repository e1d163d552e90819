/// The write in progress: its overlay of changed rows, its pending index entries and its change record.
///
/// Holds the file's write lock from `Database.beginWrite` to `commit` or `cancel`, or borrows that of a group. Nothing
/// reaches the pages before `commit`, which applies one sorted batch; cancelling only forgets. A commit that fails
/// (disk full, say) leaves the write open with everything in it. One thread at a time.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

package final class WriteTransaction: RowSource {
    package let base: Snapshot
    let database: Database
    /// nil once it has ended.
    @exclusivity(unchecked) private var right: Right?
    @exclusivity(unchecked) package private(set) var recorder: ChangeRecorder
    /// What its savepoints would undo.
    package let undo = UndoLog()
    let lent = LentRows()
    /// Full row groups of a bulk load, encoded, until the commit.
    @exclusivity(unchecked) package private(set) var spill: SpillFile
    @exclusivity(unchecked) package private(set) var longValues: PendingLongValues
    @exclusivity(unchecked) package internal(set) var opened: OpenBuilders
    @exclusivity(unchecked) private(set) var writers = TableSlots<TableWriter>()
    @exclusivity(unchecked) private(set) var deltas: [IndexKey: IndexDelta] = [:]
    @exclusivity(unchecked) private var lastDelta: (key: IndexKey, delta: IndexDelta)?
    /// Of indexes that are declared with a class.
    var pendingIndexes: [IndexKey: PendingIndex] = [:]
    /// What the write before has left and this one has not taken up.
    private var keptBuilders: KeptBuilders?
    /// Set while this write migrates the file to another schema.
    var migration: SchemaMigration.State?
    /// How long lists are cut; tests cut them small.
    package var listShape = LongListShape.standard
    /// From so many deleted at once on it pays to look for collections that hold several of them; tests lower it.
    package var manyObjects = 16
    /// While an embedded object is made through its parent; at other times none can be.
    var isCreatingEmbedded = false
    /// Set by an import that makes embedded objects before their owners: they may be inserted like others, and a link
    /// to one that nobody owns yet may be assigned. The import sees to it that each gets exactly one owner.
    package var adoptsEmbedded = false
    /// Set by an import that knows the keys of objects before it inserts them: links may lead to what comes later. The
    /// import sees to it that everything is there before the write, or the file, is anybody else's.
    package var linksAhead = false
    /// Set by an import that goes on where it stopped, which needs keys without gaps: nobody has seen those that go
    /// with this write if it is cancelled.
    package var hidesKeys = false
    /// See `keepingWideInts`.
    var keepsWideInts = false
    /// See `postponingIndexChecks`.
    var postponesIndexChecks = false
    /// Pages of replication that are written with the commit, by their keys.
    package var replicaPages: [[UInt8]: [UInt8]] = [:]
    /// Of whoever writes; nil for what comes from another file.
    package var rules: WriteRules?
    /// Asked before the commit.
    package var commitCheck: CommitCheck?
    /// The commit was refused by that; the write is to be cancelled.
    package private(set) var isRefused = false
    /// The change record of the batch that was made last.
    var recorded: ChangeRecord?
    /// The indexes that are in that batch.
    var writtenIndexes: [IndexKey] = []
    /// Set when the schema has been changed in this write.
    private(set) var newCatalog: Catalog?
    /// Counts changes, so that what was computed from this source can tell that it is out of date.
    @exclusivity(unchecked) package private(set) var changeCount: UInt64 = 0

    /// By which it may commit.
    enum Right {
        case own(WriteLock)
        /// Together with others, who keep the lock.
        case group(PageGroup)
    }

    init(base: Snapshot, database: Database, by right: Right) {
        self.base = base
        self.database = database
        self.right = right
        recorder = ChangeRecorder(undo: undo)
        spill = SpillFile(database.pages.spillPlan)
        opened = OpenBuilders(database.pages.spillPlan)
        keptBuilders = base.takeKeptBuilders()
        longValues = Self.noLongValues(base, LongValues.limit(rowGroupSize: base.rowGroupSize), spill, keptBuilders)
        super.init(catalog: base.catalog, counters: base.counters, rowGroupSize: base.rowGroupSize)
    }

    package override var version: Version { base.version }
    package var isOpen: Bool { right != nil }
    var isInGroup: Bool { if case .group = right { true } else { false } }
    package var hasChanges: Bool { standingChangeCount > 0 || newCatalog != nil }
    /// Without those that savepoints have undone.
    package var standingChangeCount: UInt64 { changeCount &- undoneCount }
    /// Changes that savepoints have undone.
    private(set) var undoneCount: UInt64 = 0

    func noteUndone(since count: UInt64, undoneCount former: UInt64) {
        noteChange()
        undoneCount = former &+ (changeCount &- count)
    }

    func requireOpen() throws(DatabaseError) {
        guard right != nil else {
            throw DatabaseError(.notInWrite, "this write transaction has ended; begin another")
        }
    }

    @inline(__always)
    package func noteChange() {
        changeCount &+= 1
        lookAfter()
    }

    /// At the end of a call that changes rows, and between the objects of one that changes many: nothing that was
    /// opened or handed in is used any more. Views that were lent before it have ended if something has changed since
    /// `changeCount` was `count`, else they hold.
    @inline(__always)
    func settle(since count: UInt64) {
        guard opened.areMany, changeCount != count else { return }
        opened.seal()
        spill.letGo()
    }

    private static func noLongValues(
        _ base: Snapshot, _ limit: Int, _ spill: SpillFile, _ keptBuilders: KeptBuilders?
    ) -> PendingLongValues {
        PendingLongValues(
            version: base.version.rawValue + 1, limit: limit, spill,
            areStored: keptBuilders?.hasNoLongValues == true ? false : nil)
    }

    /// Forgets all changes, under the same lock. By table the first key that is free again.
    func beginAgain() -> [(table: TableKey, key: ObjectKey)] {
        var firstKeys: [(table: TableKey, key: ObjectKey)] = []
        noteGivenKeys()
        for writer in writers.all where writer.touched {
            firstKeys.append((writer.layout.key, ObjectKey(writer.directory.state.nextKey)))
        }
        views.removeAll()
        writers.removeAll()
        forgetIndexChanges()
        replicaPages.removeAll()
        recorder = ChangeRecorder(undo: undo)
        spill = SpillFile(database.pages.spillPlan)
        opened = OpenBuilders(database.pages.spillPlan)
        longValues = Self.noLongValues(base, longValues.limit, spill, keptBuilders)
        return firstKeys
    }

    // MARK: Reading

    override func makeView(_ key: TableKey) throws(DatabaseError) -> TableView {
        TableView(directory: try writer(key).directory, writer: try writer(key), source: self)
    }

    package func writer(_ key: TableKey) throws(DatabaseError) -> TableWriter {
        if let writer = writers[key] { return writer }
        let directory: TableDirectory
        var kept: KeptBuilders.OpenGroup?
        if isOfItsOwnLayout(key) {
            // A table or column that this write has added: its rows are read through the new layout.
            guard let stored = catalog.table(key) else { throw unknownTable(key) }
            directory = try TableDirectory(
                TableLayout(stored, catalog: catalog), pages: base.pages, rowGroupSize: rowGroupSize,
                counters: counters)
        } else {
            directory = try base.directory(key)
            kept = keptBuilders?.takeOpenGroup(directory.layout)
        }
        let writer = TableWriter(
            directory, spill, longValues, kept, undo, lent, opened, leastKey: database.givenKeys.leastKey(key))
        writers[key] = writer
        return writer
    }

    /// Whether the write has added the table or changed its columns.
    func isOfItsOwnLayout(_ key: TableKey) -> Bool {
        newCatalog != nil && (base.catalog.table(key) == nil || schemaTouched.contains(key))
    }

    package override func indexView(_ key: IndexKey) throws(DatabaseError) -> IndexView { indexView(key, over: base) }

    func indexView(_ key: IndexKey, over stored: Snapshot) -> IndexView {
        let delta = deltas[key]
        return IndexView(delta?.isCleared == true ? nil : stored.reader(key), delta)
    }

    override func answers(of index: TableIndex) throws(DatabaseError) -> any IndexAnswering {
        answers(of: index, over: base)
    }

    func answers(of index: TableIndex, over stored: Snapshot) -> any IndexAnswering {
        let pending: (any IndexWriting)? = deltas[index.key] ?? pendingIndexes[index.key]?.writer
        let reader = pending?.isCleared == true ? nil : stored.reader(of: index)
        return index.kind.answers(of: index, reader, pending: pending)
    }

    package override var isMemoryWanted: Bool { base.isMemoryWanted }
    package override var memoryClock: MemoryClock? { base.memoryClock }
    package override var exceedsMemory: Bool { base.exceedsMemory }
    package override var memoryBytes: Int { base.memoryBytes }
    package override func makeScratchFile() throws(DatabaseError) -> ScratchFile { try base.makeScratchFile() }
    package override func copyForScan() -> RowSource { Scan(self) }
    package override func releaseMemory(butLatest: Bool = false) { releasePages(butLatest: butLatest) }

    override func hasPendingChanges(of index: TableIndex) -> Bool {
        pendingIndexes[index.key].map { !$0.writer.isEmpty } ?? false
    }

    /// Of an index that a column has by itself.
    func delta(_ key: IndexKey, _ form: EntryForm) -> IndexDelta {
        // An index that is not there yet is built from the final rows; changes before that are ignored.
        if let migration, migration.deferred.contains(key) { return IndexDelta(key, form, spill: nil, undo: nil) }
        if let lastDelta, lastDelta.key == key { return lastDelta.delta }
        let known = deltas[key]
        let delta = known ?? IndexDelta(key, form, spill: spill, undo: undo)
        if known == nil {
            deltas[key] = delta
            delta.freeFrom = keptBuilders?.takeFree(key)
        }
        lastDelta = (key, delta)
        return delta
    }

    // MARK: Schema

    private var schemaTouched: Set<TableKey> = []

    /// Puts a changed schema into this write, before any row of it is touched.
    func install(_ catalog: Catalog, touching tables: Set<TableKey>) {
        newCatalog = catalog
        schemaTouched = tables
        keptBuilders = nil
        self.replaceCatalog(catalog)
        noteGivenKeys()
        views.removeAll()
        writers.removeAll()
        opened = OpenBuilders(database.pages.spillPlan)
        recorder.schemaChanged()
        noteChange()
    }

    /// A schema with less in it than the rows of this write know; when nothing reads them any more.
    package func amend(_ catalog: Catalog) {
        newCatalog = catalog
        replaceCatalog(catalog)
    }

    /// The schema from before a change of it that failed.
    func takeBack(_ catalog: Catalog, _ new: Catalog?) {
        newCatalog = new
        replaceCatalog(catalog)
    }

    /// nil: of all.
    func forgetIndexChanges(of index: IndexKey? = nil) {
        lastDelta = nil
        if let index {
            deltas[index] = nil
            pendingIndexes[index] = nil
        } else {
            deltas.removeAll()
            pendingIndexes.removeAll()
        }
    }

    override func isDeferred(_ index: IndexKey) -> Bool {
        if let migration, migration.deferred.contains(index) { return true }
        return !catalog.outdatedIndexes.isEmpty && catalog.outdatedIndexes.contains(index)
    }

    // MARK: Ending

    /// Makes everything durable as one version and moves the base snapshot to it. In a group the version is durable
    /// once the group is.
    @discardableResult
    package func commit() throws(DatabaseError) -> Version {
        try requireOpen()
        guard let right else { return version }
        try requireWhole()
        undo.releaseAll()
        guard hasChanges else {
            close()
            return version
        }
        try rebuildOutdatedIndexes()
        assertInvariants()
        let next = Version(base.version.rawValue + 1)
        var batch = try makeBatch(for: next)
        if let commitCheck {
            isRefused = true
            try ask(commitCheck, batch, next)
            isRefused = false
        }
        switch right {
        case .own(let lock):
            try database.pages.commit(&batch, lock: lock, version: next, makingRoom: trimHistory)
            // Still under the lock, so that the snapshot is exactly the version just made. It is there: should it not
            // be possible to pin it just now, it is read from memory.
            show((try? database.pages.snapshot()) ?? (try? base.pages.with(batch, as: next)))
        case .group(let group):
            // A version that changes the schema is known to all by its number, so it must never be taken back.
            show(try group.add(&batch, version: next, alone: newCatalog != nil, makingRoom: trimHistory))
        }
        if let recorded { database.recentChanges.note(recorded) }
        handOver(next)
        close()
        return next
    }

    /// Moves the base snapshot to what was committed. A failure is none of the commit; the snapshot then moves when it
    /// is refreshed, or when the next write begins.
    private func show(_ newest: PageSnapshot?) {
        guard let newest else { return }
        do throws(DatabaseError) {
            try database.advance(base, to: newest, after: self)
        } catch {
            return
        }
    }

    package func cancel() {
        guard right != nil else { return }
        close()
    }

    private func close() {
        noteGivenKeys()
        releaseRight()
        views.removeAll()
        writers.removeAll()
        deltas.removeAll()
        pendingIndexes.removeAll()
        keptBuilders = nil
        migration = nil
        undo.releaseAll()
    }

    deinit {
        guard right != nil else { return }
        noteGivenKeys()
        releaseRight()
    }

    private func releaseRight() {
        if case .own(let lock) = right { lock.release() }
        right = nil
    }

    /// Leaves to the next write on the snapshot what still holds in the version that this one has made.
    private func handOver(_ version: Version) {
        guard newCatalog == nil, base.version == version else { return }
        var next = KeptBuilders(version, rest: keptBuilders)
        next.hasNoLongValues = longValues.areNowhere
        for writer in writers.all { if let openGroup = writer.handOverOpenGroup() { next.add(openGroup) } }
        for (index, delta) in deltas { if let value = delta.freeFromAfterwards { next.add(index, freeFrom: value) } }
        base.leave(next)
    }
}
