/// What all users of one file (or of one in-memory store) in this process share: the pages themselves, the write lock,
/// the commit signal, the observers' positions. `PageStore` is one user's handle on it.
///
/// It counts its users (handles, snapshots, held locks, observers) and closes when the last one goes, under the lock
/// that also guards opening, so that a file is never open twice in one process. Counting has a lock of its own: opening
/// one file may wait for another process, and must not hold up the snapshots of other files.
import CMotteShim
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

// @unchecked: the count is only touched holding 'useLock'; the rest is constant or the subclasses' to guard.
class SharedPages: @unchecked Sendable {
    final let path: String
    final let signal: CommitSignal
    final let observers: ObserverPositions
    final let faults: FaultInjection?
    private final let queue = WriteQueue()
    private final let holder = Locked<WriteHolder?>(nil)
    private final let forkGeneration = motte_shim_fork_generation()
    private let useLock = Lock()
    private final var userCount = 0
    private final var isClosed = false

    init(path: String, signal: CommitSignal, observers: ObserverPositions, faults: FaultInjection?) {
        self.path = path
        self.signal = signal
        self.observers = observers
        self.faults = faults
        signal.attach(self)
    }

    // MARK: What a form of the store provides.

    var header: FileHeader { get throws(DatabaseError) { throw SharedPages.missing } }
    var canWrite: Bool { false }
    /// Fails when the file has another key, or one at all and this is nil.
    func checkKey(_ key: [UInt8]?) throws(DatabaseError) {
        if key != nil { throw FileHead.isPlain(path) }
    }
    /// The key that the file is encrypted with.
    var encryptionKey: [UInt8]? { nil }
    /// nil for a store without a file.
    var fileIdentity: FileIdentity? { nil }
    /// Where the processes that have the file open meet; nil if they do not.
    var sidecarPath: String? { nil }
    /// Throws when the file, or one that processes share beside it, is not at its path any more. Called by a writer.
    func checkPlace(isBeginning: Bool) throws(DatabaseError) {}
    func snapshot() throws(DatabaseError) -> PageSnapshot { throw SharedPages.missing }
    /// The version a snapshot would have, perhaps without taking one.
    func newestVersion() throws(DatabaseError) -> Version { try snapshot().version }
    /// The same for the holder of the write lock: what a holder before left unannounced counts too.
    func newestVersionForWriter() throws(DatabaseError) -> Version { try newestVersion() }
    /// Applies the entries as `version`; the caller holds the write lock.
    func apply(_ entries: [PageBatch.Entry], byteCount: Int, _ version: Version) throws(DatabaseError) {
        throw SharedPages.missing
    }
    func statistics() throws(DatabaseError) -> PageStatistics { throw SharedPages.missing }
    func readers() throws(DatabaseError) -> [PageReader] { [] }
    /// What `readers` counts in.
    func latestTransactionNumber() throws(DatabaseError) -> UInt64 { try newestVersion().rawValue }
    func firstWarning() -> PassedOver? { nil }
    func openingWarning() -> PassedOver? { nil }
    /// From the oldest version that any process has pinned to the newest.
    func liveVersionCount() throws(DatabaseError) -> Int { 1 }
    /// What is wrong with the pages of the newest version; a form that cannot tell says nothing.
    func check() throws(DatabaseError) -> [PageProblem] { [] }
    func oldestObservedVersion() throws(DatabaseError) -> Version? { observers.oldestPosition }
    func lockAcrossProcesses(_ deadline: Deadline, _ cancellation: WaitCancellation?) throws(DatabaseError) -> Bool {
        true
    }
    func unlockAcrossProcesses() {}
    /// The last user is gone; called holding the open-files lock.
    func closeFile() {}

    private static var missing: DatabaseError { DatabaseError(.internal, "this form of page store is not complete") }

    // MARK: Users.

    /// False in a process forked from the one that opened the file: nothing of it may be used or closed there.
    final var isOfThisProcess: Bool { motte_shim_fork_generation() == forkGeneration }

    final func checkProcess() throws(DatabaseError) {
        guard isOfThisProcess else { throw SharedPages.forked(path) }
    }

    static func forked(_ path: String) -> DatabaseError {
        DatabaseError(
            .forked, "'\(path)' was opened before this process was forked; open it again in the child", path: path)
    }

    /// Called by a user, or by the registry holding the open-files lock.
    final func beginUse() {
        useLock.lock()
        userCount += 1
        useLock.unlock()
    }

    final func endUse() {
        guard isOfThisProcess, removeUser() else { return }
        motte_shim_open_files_lock()
        defer { motte_shim_open_files_unlock() }
        guard isStillUnused() else { return }
        PageRegistry.remove(self)
        closeFile()
    }

    /// True when that was the last one.
    private func removeUser() -> Bool {
        useLock.lock()
        defer { useLock.unlock() }
        userCount -= 1
        return userCount == 0
    }

    /// The registry may have found a new user before the last one got the open-files lock.
    private func isStillUnused() -> Bool {
        useLock.lock()
        defer { useLock.unlock() }
        guard userCount == 0, !isClosed else { return false }
        isClosed = true
        return true
    }

    // MARK: Writing.

    final func lockForWriting(
        _ deadline: Deadline, _ cancellation: WaitCancellation?, as newHolder: WriteHolder? = nil
    ) throws(DatabaseError) -> WriteLock {
        if isHeldHere { throw waitsForItself(deadline) }
        guard queue.acquire(deadline, cancellation) else { throw timeout }
        do throws(DatabaseError) {
            guard try lockAcrossProcesses(deadline, cancellation) else { throw timeout }
        } catch {
            queue.release()
            throw error
        }
        holder.withLock { $0 = newHolder }
        beginUse()
        let lock = WriteLock(self)
        try checkPlace(isBeginning: true)
        // The holder before may have died between its commit and its wake.
        signal.publish(try newestVersionForWriter())
        return lock
    }

    /// Whether the calling thread is the one that has the write lock, and would wait for itself.
    final var isHeldHere: Bool { holder.withLock { $0 }?.isHere ?? false }

    final func releaseWriteLock() {
        holder.withLock { $0 = nil }
        unlockAcrossProcesses()
        queue.release()
    }

    final func commit(_ batch: borrowing PageBatch, _ version: Version) throws(DatabaseError) {
        if let refusal = batch.refusal { throw refusal }
        try faults?.willCommit()
        try checkPlace(isBeginning: false)
        let entries = batch.effectiveEntries()
        if let first = entries.first, first.key.elementsEqual(FileHeader.key) {
            throw DatabaseError(.internal, "the header record is written by the commit alone")
        }
        try apply(entries, byteCount: batch.byteCount, version)
        signal.publish(version)
    }

    final func checkFollows(_ version: Version, _ stored: Version) throws(DatabaseError) {
        guard version > stored else {
            throw DatabaseError(
                .internal, "commit \(version.rawValue) does not follow \(stored.rawValue), which '\(path)' is at",
                path: path)
        }
    }

    final var waitingWriterCount: Int { queue.waiterCount }

    /// Who would wait as long as he may hears the same as if he had; who would wait for ever is told not to.
    private final func waitsForItself(_ deadline: Deadline) -> DatabaseError {
        DatabaseError(
            deadline.isEndless ? .reentrant : .timeout,
            "'\(path)' is in a write that this thread has begun and would wait for; commit or cancel that one first, or"
                + " use it", path: path, systemError: EDEADLK)
    }

    private final var timeout: DatabaseError {
        DatabaseError(.timeout, "another writer held '\(path)' for longer than the time allowed", path: path)
    }
}
