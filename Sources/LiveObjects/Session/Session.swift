/// One thread's window on a file: it shows one version until it is refreshed or writes.
///
///     live      belongs to the thread that opened it; `owner` is that thread's serial
///     frozen    shows one version for good; every thread may use it (`owner` is 0)
///     closed    every call answers `.closed`
///
/// Inside a write it shows its own changes. Whatever is borrowed from a session (strings, data) lives until
/// `viewEpoch` moves. Every call checks thread, fork and state, and a violation is an error, not undefined behaviour.
import CMotteShim
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class Session: @unchecked Sendable {
    // @unchecked: a live session's state is only touched by its owner, which every call checks; a frozen one's state
    // is constant but for `frozenSources`, which locks, and `owner`, which is a word by itself.
    package let options: SessionOptions
    package let counters: Counters
    /// nil once closed, so that a session that somebody still holds does not keep the file open. Of frozen ones see
    /// `frozenSources`.
    private var openDatabase: Database?
    package let isFrozen: Bool
    /// What it lends is used until the next call only.
    package let viewsAreShort: Bool
    /// Calls of the C interface under way (`motte_shim_calls`) in one of this session that no callback of it makes.
    package let outermostCall: UInt32
    /// Set by the layer above; nil until something is observed.
    package var hook: (any SessionHook)?
    /// What ends queries of this session. Every thread may use it.
    package let queryControl: QueryControl
    /// Otherwise that of whoever made the session, and ended by it.
    private let ownsQueryControl: Bool
    /// Of queries of committed versions outside of callbacks; see `Session+Queries`.
    package var queryThreads: QueryThreads
    /// Asked now and then while a query runs; see `Session+Queries`.
    var queryProgress: (() throws(DatabaseError) -> Void)?
    /// Tests ask more often.
    package var queryProgressNanoseconds = QueryWatch.progressNanoseconds
    /// Asked before each commit of this session; see `Session+CommitCheck`.
    var commitCheck: CommitCheck?
    /// Of the schema that it was opened with.
    package let writeRules: WriteRules?
    /// Those of the write before this session joined it.
    private var formerRules: WriteRules?
    /// While a caller is asked about a query or a commit, the session refuses everything.
    var isAsking: Asking?

    enum Asking {
        case forProgress, beforeCommit
    }

    // The exclusivity of these is the owner check itself; they are read by every call.
    /// Serial of the thread that may use this; 0: any; `Session.nobody` once closed.
    var owner: UInt64 {
        get { motte_shim_peek64(&gate.pointee.owner) }
        set { motte_shim_poke64(&gate.pointee.owner, newValue) }
    }
    private var forkGeneration: UInt32 { gate.pointee.forkGeneration }
    /// What reading in place asks first: see `CellReads`.
    let gate: UnsafeMutablePointer<ReadGate>
    /// By table key; for as long as the session lives.
    @exclusivity(unchecked) var cellReads: [UnsafeMutablePointer<CellReads>?] = []
    @exclusivity(unchecked) var snapshot: Snapshot? {
        didSet {
            memoryClock = snapshot?.memoryClock?.word
            seenMemoryClock = 0
        }
    }
    /// The snapshot's, and what it was when memory was looked after: most calls have to do no more than compare them.
    @exclusivity(unchecked) private(set) var memoryClock: UnsafePointer<UInt64>?
    @exclusivity(unchecked) var seenMemoryClock: UInt64 = 0
    @exclusivity(unchecked) package internal(set) var write: WriteTransaction?
    /// Set while writes are collected that become durable together; see `Session+Groups`.
    var group: SessionGroup?
    /// The latest version that a group of this session has made durable.
    package var flushedVersion = Version(0)
    let frozenSources: FrozenSources?
    @exclusivity(unchecked) var epochBase: UInt64 = 1

    /// The tables of `source()` by their keys, as far as they were asked for, without a count of references: what is in
    /// here is kept by the source, and `forgetTables` is called before a source moves or goes. Never filled by frozen
    /// sessions, which have a source per thread.
    private let lentTables: UnsafeMutablePointer<Unmanaged<TableView>?>
    private static let lentTableCount = 64

    /// For references made in the open write.
    var writeOutcome: WriteOutcome?

    package internal(set) var writeSerial: UInt32 = 0
    /// So that objects of what was undone differ from later objects with the same keys.
    @exclusivity(unchecked) var births = Births()
    /// While it has let go of its file: what it has built on.
    private var leftSchema: SchemaPlace?
    /// Whether `atomically` runs in the open write, and what it goes back to where its body fails.
    @exclusivity(unchecked) var atomic: (isActive: Bool, savepoint: WriteTransaction.Savepoint?) = (false, nil)
    /// Of a group that has ended, while its observers are notified.
    var untold: GroupNews?
    /// While observers are notified of the version that a write begins with.
    var isBeginningWrite = false
    /// The function of the program that a call which reads is calling; see `Session+Functions`.
    @exclusivity(unchecked) var calledFunction: String?
    /// Its write belongs to a migration, which alone ends it.
    private var isMigrating = false

    /// Gets what callbacks of observers throw in calls that do not fail for it: commits, and begins of writes.
    package var onObserverFailure: ((DatabaseError) -> Void)?

    /// What was shown before the present move, while an observer has not yet been notified of it.
    package internal(set) var previous: Snapshot?
    /// As whom it has the write lock.
    private(set) lazy var writeHolder = WriteHolder(
        thread: owner >= SessionConfinement.elsewhere ? 0 : owner, isCurrent: confinement.currency)

    /// Set for sessions that belong to something else than a thread; its check stands in for that of the thread.
    private let confinement: SessionConfinement

    /// Lists and maps in mixed values that somebody holds: they follow each write to its end.
    var nestedPlaces: [WeakNested] = []

    /// See `sharedFrozen`.
    weak var lastFrozen: Session?
    var lastFrozenVersion = Version(0)

    static let nobody = UInt64.max

    init(
        _ options: SessionOptions, _ database: Database, _ snapshot: Snapshot, owner: UInt64, frozen: FrozenSources?,
        confinement: SessionConfinement = .thread, within calls: UInt32 = 0, control: QueryControl? = nil
    ) {
        self.confinement = confinement
        // Also of a migration's sides, which a caller's closure may keep: it would keep itself.
        var options = options
        options.forgetOpening()
        self.options = options
        writeRules = frozen == nil ? options.schema.flatMap { WriteRules($0) } : nil
        viewsAreShort = options.viewsAreShort
        outermostCall = calls + 1
        ownsQueryControl = control == nil
        queryControl = control ?? QueryControl(timeoutMilliseconds: options.queryTimeoutMilliseconds)
        counters = database.counters
        if frozen == nil {
            openDatabase = database
            self.snapshot = snapshot
            memoryClock = snapshot.memoryClock?.word
        }
        queryThreads = QueryThreads(min(options.queryThreads ?? QueryThreads.standardCount, QueryThreads.mostCount))
        gate = .allocate(capacity: 1)
        gate.initialize(to: ReadGate(owner: owner, forkGeneration: motte_shim_fork_generation()))
        frozenSources = frozen
        isFrozen = frozen != nil
        lentTables = .allocate(capacity: Self.lentTableCount)
        lentTables.initialize(repeating: nil, count: Self.lentTableCount)
    }

    deinit {
        write?.cancel()
        group?.pages.release()
        lentTables.deallocate()
        for reads in cellReads { reads?.pointee.free() }
        for reads in cellReads { reads?.deallocate() }
        gate.deallocate()
    }

    // MARK: Opening and closing

    /// The session belongs to the calling thread, or to what `confinement` says.
    package static func open(
        _ options: SessionOptions, confinement: SessionConfinement = .thread
    ) throws(DatabaseError) -> Session {
        guard (options.queryThreads ?? 1) >= 1 else {
            throw DatabaseError(
                .invalidArgument, "queries use at least one thread, the one that asks; query_threads is 1 or more",
                path: options.name)
        }
        let (database, snapshot) = try SessionOpening(options).run()
        return Session(
            options, database, snapshot, owner: confinement.owner, frozen: nil, confinement: confinement)
    }

    static func showing(
        _ snapshot: Snapshot, of database: Database, _ options: SessionOptions, _ confinement: SessionConfinement
    ) -> Session {
        snapshot.reliance =
            options.schema.map { SchemaReliance(declared: $0, in: snapshot.schema) } ?? SchemaReliance.all
        return Session(
            options, database, snapshot, owner: confinement.owner, frozen: nil, confinement: confinement)
    }

    /// The two sides of a migration under way: what was, which nobody can change, and what becomes.
    static func migrating(
        _ options: SessionOptions, _ database: Database, _ migration: SchemaMigration
    ) -> (old: Session, new: Session) {
        let before = migration.old.copy()
        let old = Session(
            options, database, before, owner: 0,
            frozen: FrozenSources(before, of: database, isShared: true, viewsAreShort: options.viewsAreShort),
            within: motte_shim_calls())
        old.isMigrating = true
        return (old, joining(options, database, migration.write))
    }

    /// A session in a write that somebody else ends.
    static func joining(_ options: SessionOptions, _ database: Database, _ write: WriteTransaction) -> Session {
        let session = Session(
            options, database, write.base, owner: motte_shim_thread_serial(), frozen: nil, within: motte_shim_calls())
        session.write = write
        // Declared defaults and members hold for what a program does here as in writes of its own.
        session.formerRules = write.rules
        write.rules = session.writeRules
        session.isMigrating = true
        return session
    }

    /// The schema under the session has changed: what it has lent ends.
    func schemaMoved() {
        forgetTables()
        epochBase &+= 1
    }

    /// Closes without touching the write.
    func leaveMigration() {
        if let frozenSources {
            end(frozenSources)
            return
        }
        // Another session may have joined the same write before.
        write?.rules = formerRules
        write = nil
        isMigrating = false
        forgetTables()
        epochBase &+= 1
        owner = Self.nobody
        snapshot = nil
        previous = nil
        openDatabase = nil
    }

    /// Lets go of the file and keeps the session.
    func leaveFile() {
        hook?.sessionWillLeaveFile(self)
        forgetTables()
        epochBase &+= 1
        leftSchema = snapshot.map { SchemaPlace(of: $0) }
        snapshot = nil
        previous = nil
        openDatabase = nil
    }

    /// After `leaveFile`, with what `place` was before. A failure closes the session.
    func returnToFile(_ place: SessionOptions) throws(DatabaseError) {
        // Closed by a progress handler.
        guard owner != Self.nobody else { return }
        do throws(DatabaseError) {
            let (database, snapshot) = try SessionOpening(place).reopen(after: leftSchema)
            leftSchema = nil
            openDatabase = database
            self.snapshot = snapshot
            try hook?.sessionDidReturn(self)
        } catch {
            end()
            throw error
        }
        deliver(hook, at: .refresh)
    }

    func checkIsNotMigrating(_ action: String) throws(DatabaseError) {
        guard !isMigrating else {
            throw DatabaseError(
                .reentrant,
                "cannot \(action) in a migration; it commits when its step returns, and undoes "
                    + "everything when that fails", path: path)
        }
    }

    /// Rolls back an open write. Answers false if it was closed already, or if nobody closes it. Frozen counterparts
    /// live on. Calls of other threads that read from a frozen one are answered as if they had come before.
    @discardableResult
    package func close() throws(DatabaseError) -> Bool {
        if owner == Self.nobody || frozenSources?.isShared == true { return false }
        if !isFrozen { try check() }
        try checkCallsNoFunction("close the session")
        try checkIsNotDelivering("close the session")
        try checkIsNotMigrating("close the session")
        if let frozenSources { return end(frozenSources) }
        end()
        return true
    }

    private func end() {
        hook?.sessionWillClose(self)
        hook = nil
        untold = nil
        queryProgress = nil
        commitCheck = nil
        if ownsQueryControl { queryControl.end() }
        forgetTables()
        write?.cancel()
        write = nil
        if let group { leave(group) }
        epochBase &+= 1
        owner = Self.nobody
        snapshot = nil
        previous = nil
        openDatabase = nil
    }

    package var isClosed: Bool { owner == Self.nobody }

    /// The options with the file that is open.
    package var place: SessionOptions {
        get throws(DatabaseError) { try options.placed(at: try database) }
    }

    /// By which values name the open file that their objects are of; 0 of what is closed.
    package var databaseNumber: UInt64 {
        if let frozenSources { return isClosed ? 0 : frozenSources.databaseNumber }
        return openDatabase?.number ?? 0
    }

    /// Whether both show the same open file, or the same database in memory, so that an object of one is one of the
    /// other. What is closed shows none.
    package func hasSameFile(as other: Session) -> Bool {
        self === other || databaseNumber != 0 && databaseNumber == other.databaseNumber
    }

    package var isInWrite: Bool { write != nil }
    /// Whether what was borrowed outside of writes at this epoch still holds.
    package func hasStayed(at epoch: UInt64) -> Bool { write == nil && epochBase == epoch }
    /// Of the file, or the identifier of a database in memory.
    package var path: String { options.name }

    // MARK: Checks

    /// Every call of a language binding begins with this.
    @inline(__always)
    package func check() throws(DatabaseError) {
        let thread = motte_shim_thread_serial()
        if (owner != thread && owner != 0) || motte_shim_fork_generation() != forkGeneration { try checkOtherwise() }
    }

    /// Where the thread alone does not allow it.
    @inline(never)
    private func checkOtherwise() throws(DatabaseError) {
        guard owner != Self.nobody, motte_shim_fork_generation() == forkGeneration, confinement.isHere,
            isAsking == nil
        else {
            throw refusal()
        }
    }

    @inline(never)
    private func refusal() -> DatabaseError {
        if motte_shim_fork_generation() != forkGeneration {
            return DatabaseError(
                .forked, "this session was opened before the process forked; open the file again in the child",
                path: path)
        }
        if owner == Self.nobody {
            return DatabaseError(.closed, "this session has been closed; open the file again", path: path)
        }
        switch isAsking {
        case .forProgress:
            return DatabaseError(
                .reentrant, "a query of this session is running here; use the session when it has ended", path: path)
        case .beforeCommit:
            return DatabaseError(
                .reentrant, "this session is committing; use it when the commit has ended, or another session",
                path: path)
        case nil: break
        }
        if owner == motte_shim_thread_serial() {
            return DatabaseError(
                .reentrant, "this session has let go of its file, which is being compacted; use it when that is done",
                path: path)
        }
        return DatabaseError(
            .wrongThread,
            "this session belongs to \(confinement.name); open one here, or freeze what you pass", path: path)
    }

    /// Makes the calling thread the owner; for executors that move their work between threads. The caller sees to it
    /// that no other thread is using the session.
    package func adoptCurrentThread() throws(DatabaseError) {
        if isFrozen || owner == SessionConfinement.elsewhere { return }
        if owner == Self.nobody || motte_shim_fork_generation() != forkGeneration { throw refusal() }
        owner = motte_shim_thread_serial()
        writeHolder.leaveThread()
    }

    func checkIsNotDelivering(_ action: String) throws(DatabaseError) {
        guard hook?.isDelivering != true else {
            throw DatabaseError(
                .reentrant, "cannot \(action) while its callbacks run; do it after they return", path: path)
        }
    }

    func checkIsLive(_ action: String) throws(DatabaseError) {
        try check()
        guard !isFrozen else {
            throw DatabaseError(.frozen, "cannot \(action) on something frozen; use the live session", path: path)
        }
    }

    // MARK: What it shows

    /// The rows shown now: the snapshot's or those of the open write.
    @inline(__always)
    package func source() throws(DatabaseError) -> RowSource {
        try check()
        if let write { return write }
        if let frozenSources { return try frozenSources.current() }
        guard let snapshot else { throw refusal() }
        return snapshot
    }

    /// The committed version below whatever an open write has changed.
    package func committedSnapshot() throws(DatabaseError) -> Snapshot {
        try check()
        if let frozenSources { return try frozenSources.current() }
        guard let snapshot else { throw refusal() }
        return snapshot
    }

    package func table(_ key: TableKey) throws(DatabaseError) -> TableView { try source().table(key) }

    /// The same for single reads, where counting references would cost as much as the read.
    @inline(__always)
    func lentTable(_ key: TableKey) throws(DatabaseError) -> Unmanaged<TableView> {
        try check()
        if key.rawValue < Self.lentTableCount, let table = lentTables[Int(key.rawValue)] { return table }
        return try lendTable(key)
    }

    @inline(never)
    private func lendTable(_ key: TableKey) throws(DatabaseError) -> Unmanaged<TableView> {
        if let frozenSources { return try frozenSources.lentTable(key) }
        let table = Unmanaged.passUnretained(try source().table(key))
        if key.rawValue < Self.lentTableCount { lentTables[Int(key.rawValue)] = table }
        return table
    }

    func forgetTables() {
        lentTables.update(repeating: nil, count: Self.lentTableCount)
        gate.pointee.close()
    }

    /// Whether what is read now stays where it is until `forgetTables`.
    var mayReadInPlace: Bool { write == nil && group == nil && !isFrozen && snapshot != nil }

    package var schema: Schema {
        get throws(DatabaseError) { try source().schema }
    }

    /// The number users gave the stored schema.
    package var schemaVersion: UInt64 {
        get throws(DatabaseError) { try source().catalog.schemaVersion }
    }

    package var version: Version {
        get throws(DatabaseError) { try committedSnapshot().version }
    }

    /// Committed by anybody.
    package var latestVersion: Version {
        get throws(DatabaseError) {
            try check()
            return try database.latestVersion()
        }
    }

    package var database: Database {
        get throws(DatabaseError) {
            if let frozenSources { return try frozenSources.database }
            guard let openDatabase else { throw refusal() }
            return openDatabase
        }
    }

    /// Moves when the version or the schema that is shown may be another one; not with each change of the open write.
    package var baseEpoch: UInt64 { epochBase }

    /// Moves whenever borrowed views die and whenever what was computed from the rows may be out of date: at each
    /// change
    /// made in a write, and when the session moves. Never that of a frozen session.
    @inline(__always)
    package var viewEpoch: UInt64 {
        if let write { return epochBase &+ write.changeCount }
        return epochBase
    }

    // MARK: Moving

    func keepPrevious() {
        if hook != nil, previous == nil { previous = snapshot?.copy() }
    }

    /// What was there before the move has been compared with what is there now.
    package func forgetPrevious() { previous = nil }

    /// Advances to the newest version and delivers what is pending; false when there was nothing newer.
    @discardableResult
    package func refresh() throws(DatabaseError) -> Bool { try refresh(at: .refresh) }

    package func refresh(at point: DeliveryPoint) throws(DatabaseError) -> Bool {
        try checkIsLive("refresh")
        try checkCallsNoFunction("refresh the session")
        try checkIsNotDelivering("refresh the session")
        guard write == nil else {
            throw DatabaseError(
                .alreadyInWrite, "a session in a write shows the newest version already; commit or cancel first",
                path: path)
        }
        // Nobody else can commit now, and observers are notified of what was committed here when it is durable.
        if group != nil { return false }
        tellRest()
        let snapshot = try committedSnapshot()
        forgetTables()
        keepPrevious()
        let moved = try database.advance(snapshot)
        if moved { epochBase &+= 1 }
        try hook?.deliver(self, at: point)
        return moved
    }

    /// Sleeps until somebody has committed a version newer than the one shown; false after the timeout (negative:
    /// none).
    package func waitForChange(timeoutMilliseconds: Int64) throws(DatabaseError) -> Bool {
        try checkIsLive("wait for a change")
        guard write == nil, group == nil else {
            throw DatabaseError(
                .alreadyInWrite, "nobody else can commit while this session writes; commit or cancel first", path: path)
        }
        guard
            let newest = try database.signal().wait(after: try version, timeoutMilliseconds: timeoutMilliseconds)
        else {
            return false
        }
        hook?.waitUntilPrepared(newest)
        return true
    }
}
