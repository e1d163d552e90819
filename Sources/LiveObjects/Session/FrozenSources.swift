/// A frozen version for many threads: each gets a row source of its own, because row sources cache while they read.
///
///     FrozenSources    of a frozen session: the version, and a row source for each thread that has read it
///     ThreadSources    of a thread: the sessions that have one for it
///
/// What a source lends is used by its thread until that thread's next call has ended. So nobody takes a source from
/// another thread: a session that is closed lets go of the version and of the closing thread's source; each other
/// thread lets its own go at the end of its next call of the C interface, or when it ends. With the session all go that
/// are left. A thread that ends leaves its source to an open session where views live as long as that.
import CMotteShim
import MotteStorage
import MotteValues
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class FrozenSources: Sendable {
    /// The row source of one thread, which alone uses it.
    final class OfThread: @unchecked Sendable {
        // @unchecked: used by the thread that it was made for; others only let go of it.
        let snapshot: Snapshot
        /// The function of the program that a call of this thread which reads is calling; see `Session+Functions`.
        var calledFunction: String?
        let threadSources: ThreadSources
        /// Tables by their keys, as far as they were asked for; the snapshot keeps them.
        private let tables: UnsafeMutablePointer<Unmanaged<TableView>?>
        private static let tableCount = 64
        /// The snapshot's, and what it was when memory was looked after; see `Session+Memory`.
        private let memoryClock: UnsafePointer<UInt64>?
        private var seenMemoryClock: UInt64

        init(_ snapshot: Snapshot, _ threadSources: ThreadSources) {
            self.snapshot = snapshot
            self.threadSources = threadSources
            tables = .allocate(capacity: Self.tableCount)
            tables.initialize(repeating: nil, count: Self.tableCount)
            memoryClock = snapshot.memoryClock?.word
            seenMemoryClock = memoryClock.map { motte_shim_load64($0) } ?? 0
        }

        deinit { tables.deallocate() }

        @inline(__always)
        func table(_ key: TableKey) throws(DatabaseError) -> Unmanaged<TableView> {
            guard key.rawValue < Self.tableCount else { return .passUnretained(try snapshot.table(key)) }
            if let known = tables[Int(key.rawValue)] { return known }
            let found = Unmanaged.passUnretained(try snapshot.table(key))
            tables[Int(key.rawValue)] = found
            return found
        }

        /// The snapshot, if pages were given up since the last time and memory is wanted.
        @inline(__always)
        func snapshotToRelease() -> Snapshot? {
            guard let memoryClock, motte_shim_load64(memoryClock) != seenMemoryClock else { return nil }
            seenMemoryClock = motte_shim_load64(memoryClock)
            return snapshot.isMemoryWanted ? snapshot : nil
        }
    }

    // @unchecked: the snapshot is only copied from, holding the lock.
    private struct State: @unchecked Sendable {
        /// What is closed has neither.
        var original: Snapshot?
        var database: Database?
        var byThread: [UInt64: OfThread] = [:]
        /// Of threads that have ended; others may use what these were lent.
        var ended: [OfThread] = []
        /// See `Session.sharedFrozen`.
        weak var shared: Session?
    }

    /// Never used again, so that what a thread remembers is not taken for that of a later one.
    private let serial: UInt64
    let databaseNumber: UInt64
    /// Nobody closes the session; see `Session.sharedFrozen`.
    let isShared: Bool
    private let viewsAreShort: Bool
    private let state: Locked<State>
    private static let lastSerial = Atomic<UInt64>(0)

    /// `snapshot` is used by nobody else.
    init(_ snapshot: Snapshot, of database: Database, isShared: Bool, viewsAreShort: Bool) {
        self.isShared = isShared
        self.viewsAreShort = viewsAreShort
        let state = State(original: snapshot, database: database)
        self.state = Locked(state)
        databaseNumber = database.number
        serial = Self.lastSerial.add(1, ordering: .relaxed).newValue
    }

    // MARK: Reading

    /// The calling thread's, also after somebody has closed the session in the middle of its call.
    @inline(__always)
    func current() throws(DatabaseError) -> Snapshot {
        if let latest { return latest._withUnsafeGuaranteedRef { $0.snapshot } }
        return try find().snapshot
    }

    /// The one the thread has used last, if it is of this session.
    @inline(__always)
    private var latest: Unmanaged<OfThread>? {
        guard motte_shim_frozen_serial() == serial, let known = motte_shim_frozen_source() else { return nil }
        return Unmanaged<OfThread>.fromOpaque(known)
    }

    @inline(never)
    private func find() throws(DatabaseError) -> OfThread {
        let thread = motte_shim_thread_serial()
        let own = try ThreadSources.current
        let found = state.withLock { state -> OfThread? in
            if let known = state.byThread[thread] { return known }
            guard let original = state.original else { return nil }
            let made = OfThread(original.copy(), own)
            state.byThread[thread] = made
            own.note(self)
            return made
        }
        guard let found else { throw Self.closed }
        motte_shim_set_frozen(serial, Unmanaged.passUnretained(found).toOpaque())
        return found
    }

    /// The calling thread's, if it has one.
    private var known: OfThread? {
        if let latest { return latest.takeUnretainedValue() }
        let thread = motte_shim_thread_serial()
        return state.withLock { $0.byThread[thread] }
    }

    /// The thread's, if it has one whose memory is wanted.
    @inline(__always)
    func snapshotToRelease() -> Snapshot? {
        if let latest { return latest._withUnsafeGuaranteedRef { $0.snapshotToRelease() } }
        return known?.snapshotToRelease()
    }

    /// A table of the thread's source, which keeps it.
    @inline(__always)
    func lentTable(_ key: TableKey) throws(DatabaseError) -> Unmanaged<TableView> {
        if let latest { return try latest.read { own throws(DatabaseError) in try own.table(key) } }
        return try find().table(key)
    }

    var database: Database {
        get throws(DatabaseError) {
            guard let database = state.withLock({ $0.database }) else { throw Self.closed }
            return database
        }
    }

    /// A source and the file for another session that shows the same.
    func duplicate() throws(DatabaseError) -> (snapshot: Snapshot, database: Database) {
        let copy = state.withLock { state -> Duplicate? in
            guard let original = state.original, let database = state.database else { return nil }
            return Duplicate(snapshot: original.copy(), database: database)
        }
        guard let copy else { throw Self.closed }
        return (copy.snapshot, copy.database)
    }

    // @unchecked: carries a new snapshot out of the lock.
    private struct Duplicate: @unchecked Sendable {
        let snapshot: Snapshot
        let database: Database
    }

    /// The session of what is frozen by itself, as long as there is one that serves.
    func shared(
        _ serves: (Session) -> Bool, _ make: (Snapshot, Database) -> Session
    ) throws(DatabaseError) -> Session {
        let shared = state.withLock { state -> Session? in
            guard let original = state.original, let database = state.database else { return nil }
            if let known = state.shared, serves(known) { return known }
            let made = make(original.copy(), database)
            state.shared = made
            return made
        }
        guard let shared else { throw Self.closed }
        return shared
    }

    private static var closed: DatabaseError { DatabaseError(.closed, "this frozen session has been closed") }

    // MARK: Functions of the program

    /// While `body` runs, this thread's call cannot have its source taken by closing the session.
    func reading<Result>(
        in function: String, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let known = known
        let own = if let known { known } else { try find() }
        let outer = own.calledFunction
        own.calledFunction = function
        defer { own.calledFunction = outer }
        return try body()
    }

    var calledFunction: String? { known?.calledFunction }

    // MARK: Letting go

    /// `isOutermost`: the calling thread is in no other call, which may use its source. Answers false if it was closed.
    @discardableResult
    func close(isOutermost: Bool) -> Bool {
        let thread = motte_shim_thread_serial()
        let (gone, readers) = state.withLock { state -> (State, [UInt64: OfThread]) in
            let gone = State(original: state.original, database: state.database, ended: state.ended)
            state.original = nil
            state.database = nil
            state.ended = []
            return (gone, state.byThread)
        }
        for (reader, source) in readers where reader != thread || !isOutermost { source.threadSources.noteClosed(self) }
        if isOutermost { letGo(thread) }
        // Files are closed outside of the lock.
        return withExtendedLifetime(gone) { gone.original != nil }
    }

    /// By the thread itself, while no call of it uses anything of it.
    fileprivate func letGo(_ thread: UInt64) {
        if motte_shim_frozen_serial() == serial { motte_shim_set_frozen(0, nil) }
        let gone = state.withLock { $0.byThread.removeValue(forKey: thread) }
        withExtendedLifetime(gone) {}
    }

    /// By the thread itself, at its end.
    fileprivate func leave(_ thread: UInt64) {
        guard !viewsAreShort else { return letGo(thread) }
        if motte_shim_frozen_serial() == serial { motte_shim_set_frozen(0, nil) }
        // That of a closed session goes, outside of the lock.
        let gone = state.withLock { state -> OfThread? in
            guard let own = state.byThread.removeValue(forKey: thread) else { return nil }
            guard state.original != nil else { return own }
            state.ended.append(own)
            return nil
        }
        withExtendedLifetime(gone) {}
    }
}

/// Which frozen sessions have a row source for a thread. It goes with the thread, and so do they.
final class ThreadSources: @unchecked Sendable {
    // @unchecked: `lastClosed` is a word that all its users take as one.
    private struct Reference {
        weak var sources: FrozenSources?
        var number: UInt64 = 0
    }
    /// Those that are gone are looked for when there are twice as many as the last time.
    private struct References {
        private(set) var all: [Reference] = []
        private var limit = 8

        mutating func add(_ sources: FrozenSources, number: UInt64 = 0) {
            if all.count >= limit {
                all.removeAll { $0.sources == nil }
                limit = max(8, 2 * all.count)
            }
            all.append(Reference(sources: sources, number: number))
        }

        mutating func take(upTo number: UInt64) -> [Reference] {
            defer { all.removeAll { $0.number <= number } }
            return all.filter { $0.number <= number }
        }
    }
    private struct State {
        var read = References()
        var closed = References()
        var closedCount: UInt64 = 0
    }

    private let thread = motte_shim_thread_serial()
    private let fork = motte_shim_fork_generation()
    private let state = Locked(State())
    /// The number of the last of `closed`, 0 if there is none; for the beginning of each call.
    private let lastClosed = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)

    /// Nil if the process has as many keys of threads as the system allows.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key) { own in
            if let own { Unmanaged<ThreadSources>.fromOpaque(own).takeRetainedValue().end() }
        }
        return status == 0 ? key : nil
    }()

    private init() { lastClosed.initialize(to: 0) }

    /// To the ends of the thread's calls.
    private func listen() { motte_shim_let_go_by({ ThreadSources.letGo(upTo: $0) }, lastClosed) }

    deinit { lastClosed.deallocate() }

    /// The calling thread's. What came along through a fork is left as it is: others may have held its locks.
    private static var known: ThreadSources? {
        guard let key, let known = pthread_getspecific(key) else { return nil }
        let found = Unmanaged<ThreadSources>.fromOpaque(known).takeUnretainedValue()
        return found.fork == motte_shim_fork_generation() ? found : nil
    }

    static var current: ThreadSources {
        get throws(DatabaseError) {
            if let known { return known }
            guard let key else { throw noRoom }
            let made = ThreadSources()
            let own = Unmanaged.passRetained(made)
            guard pthread_setspecific(key, own.toOpaque()) == 0 else {
                own.release()
                throw noRoom
            }
            made.listen()
            return made
        }
    }

    private static var noRoom: DatabaseError {
        DatabaseError(.outOfMemory, "the system has no room left for what a thread keeps of frozen sessions")
    }

    func note(_ sources: FrozenSources) { state.withLock { $0.read.add(sources) } }

    /// By whichever thread has closed it.
    func noteClosed(_ sources: FrozenSources) {
        state.withLock { state in
            state.closedCount += 1
            state.closed.add(sources, number: state.closedCount)
            motte_shim_store64(lastClosed, state.closedCount)
        }
    }

    /// At the end of a call of this thread that is in no other one, of what was closed before it began.
    private static func letGo(upTo number: UInt64) {
        guard let known else { return motte_shim_forget_closed() }
        let closed = known.state.withLock { state -> [Reference] in
            let closed = state.closed.take(upTo: number)
            motte_shim_store64(known.lastClosed, state.closed.all.last?.number ?? 0)
            return closed
        }
        for each in closed { each.sources?.letGo(known.thread) }
    }

    /// The thread ends.
    private func end() {
        motte_shim_forget_closed()
        guard fork == motte_shim_fork_generation() else { return }
        let read = state.withLock { $0.read.all }
        for each in read { each.sources?.leave(thread) }
    }
}
