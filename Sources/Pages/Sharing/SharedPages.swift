/// What all users of one file (or of one in-memory database) in this process share, whichever implementation of
/// `PageStorage` it is: the write lock, the commit signal, the observers' positions. `PageStore` is one user's handle.
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

// @unchecked: what is here is constant or behind a lock; the rest is the implementations' to guard.
package class SharedPages: @unchecked Sendable {
    final let path: String
    final let signal: CommitSignal
    final let observers: ObserverPositions
    final let faults: FaultInjection?
    fileprivate final let queue = WriteQueue()
    fileprivate final let holder = Locked<WriteHolder?>(nil)
    private final let forkGeneration = motte_shim_fork_generation()
    private final let use = Locked((userCount: 0, isClosed: false, hasWriters: false))

    init(
        path: String, signal: CommitSignal, observers: ObserverPositions, faults: FaultInjection?,
        durability: PageStoreOptions.Durability
    ) {
        agreed = Locked((durability, 0))
        self.path = path
        self.signal = signal
        self.observers = observers
        self.faults = faults
    }

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
        use.withLock { $0.userCount += 1 }
    }

    /// A handle that may write.
    final func noteWriter() { use.withLock { $0.hasWriters = true } }

    /// Whether some handle may write, or might while it was open: where all only read, the file is not changed.
    final var hasWriters: Bool { use.withLock { $0.hasWriters } }

    /// True when that was the last one.
    fileprivate final func removeUser() -> Bool {
        use.withLock { use in
            use.userCount -= 1
            return use.userCount == 0
        }
    }

    /// The registry may have found a new user before the last one got the open-files lock.
    fileprivate final func isStillUnused() -> Bool {
        use.withLock { use in
            guard use.userCount == 0, !use.isClosed else { return false }
            use.isClosed = true
            return true
        }
    }

    // MARK: Durability.

    /// What its writers in this process have asked for, the same for all of them.
    private let agreed: Locked<(durability: PageStoreOptions.Durability, writers: Int)>

    final var durability: PageStoreOptions.Durability { agreed.withLock { $0.durability } }

    /// The first decides; another may once there is none any more.
    final func addWriter(_ durability: PageStoreOptions.Durability) throws(DatabaseError) {
        let other: PageStoreOptions.Durability? = agreed.withLock { agreed in
            if agreed.writers == 0 { agreed.durability = durability }
            guard agreed.durability == durability else { return agreed.durability }
            agreed.writers += 1
            return nil
        }
        guard let other else { return }
        throw DatabaseError(
            .invalidArgument,
            "'\(path)' is open in this process with durability \"\(other)\", which is not \"\(durability)\"; open it"
                + " with the same, or close it there first (\"full\" is the default)", path: path)
    }

    final func removeWriter() { agreed.withLock { $0.writers -= 1 } }

    // MARK: Writing.

    /// Whether the calling thread is the one that has the write lock, and would wait for itself.
    final var isHeldHere: Bool { holder.withLock { $0 }?.isHere ?? false }

    final func checkFollows(_ version: Version, _ stored: Version) throws(DatabaseError) {
        guard version > stored else {
            throw DatabaseError(
                .internal, "commit \(version.rawValue) does not follow \(stored.rawValue), which '\(path)' is at",
                path: path)
        }
    }

    final var waitingWriterCount: Int { queue.waiterCount }

    /// A wait with a limit fails as it would at its end; one without fails as one that would never end.
    fileprivate final func waitsForItself(_ deadline: Deadline) -> DatabaseError {
        DatabaseError(
            deadline.isEndless ? .reentrant : .timeout,
            "'\(path)' is in a write that this thread has begun and would wait for; commit or cancel that one first, or"
                + " use it", path: path, systemError: EDEADLK)
    }

    fileprivate final var timeout: DatabaseError {
        DatabaseError(.timeout, "another writer held '\(path)' for longer than the time allowed", path: path)
    }
}

extension PageStorage {
    // MARK: Users.

    func endUse() {
        guard isOfThisProcess, removeUser() else { return }
        motte_shim_open_files_lock()
        defer { motte_shim_open_files_unlock() }
        guard isStillUnused() else { return }
        PageRegistry.remove(self)
        closeFile()
    }

    // MARK: Writing.

    func lockForWriting(
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

    func releaseWriteLock() {
        holder.withLock { $0 = nil }
        unlockAcrossProcesses()
        queue.release()
    }

    func commit(
        _ batch: borrowing PageBatch, _ version: Version, _ compaction: OnlineCompaction?
    ) throws(DatabaseError) {
        if let refusal = batch.refusal { throw refusal }
        try faults?.willCommit()
        try checkPlace(isBeginning: false)
        let changes = batch.changes
        if let first = changes.entries.first, first.key.elementsEqual(FileHeader.key) {
            throw DatabaseError(.internal, "the header record is written by the commit alone")
        }
        try apply(changes, version, compaction)
        signal.publish(version)
    }
}
