/// What the engine sees of whatever keeps its bytes: a versioned, ordered map from key bytes to value bytes.
///
/// Readers pin a version (`snapshot`), a writer takes the write lock and commits a batch as the next version. All a
/// transaction does before its commit happens in the layers above. A store object is one user's handle: every `open`
/// makes one, all those of one file in a process share what is behind them (`sharedIdentity`), and closing one does not
/// disturb the others. Calls may come from any thread.
///
/// What is behind it implements `PageStorage`: a page file (`TreePages`) or a database in memory (`MemoryPages`).
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class PageStore: Sendable {
    private struct User {
        /// nil once this handle is closed.
        var pages: (any PageStorage)?
        /// This handle refuses to write.
        var isReadOnly: Bool
    }

    private let user: Locked<User>
    private let path: String
    private let forkGeneration = motte_shim_fork_generation()

    /// For the spill files of this handle's writes.
    package let spillPlan: SpillPlan

    init(_ pages: any PageStorage, isReadOnly: Bool, spillPlan: SpillPlan = .memory) {
        self.spillPlan = spillPlan
        user = Locked(User(pages: pages, isReadOnly: isReadOnly))
        path = pages.path
        if !isReadOnly { pages.noteWriter() }
    }

    deinit {
        close()
    }

    /// Opens, and makes the file with its header record when there is none and the options allow it.
    package static func open(_ options: PageStoreOptions) throws(DatabaseError) -> PageStore {
        try PageRegistry.open(options)
    }

    /// Further calls on this handle answer `.closed`. Snapshots, locks and observer slots taken from it stay good; the
    /// file is closed with the last of them.
    package func close() {
        guard motte_shim_fork_generation() == forkGeneration else { return }
        let last = user.withLock { user in
            defer { user.pages = nil }
            return user
        }
        guard let pages = last.pages else { return }
        if !last.isReadOnly { pages.removeWriter() }
        pages.endUse()
    }

    /// Lets this handle write from here on if the other one may, which is of the same file and not used any more.
    package func join(_ other: PageStore) {
        guard self !== other else { return }
        let writes = other.user.withLock { user in
            defer { user.isReadOnly = true }
            return !user.isReadOnly
        }
        guard writes else { return }
        let pages = user.withLock { user in
            defer { user.isReadOnly = false }
            return user.isReadOnly ? nil : user.pages
        }
        // It was one of them already.
        pages?.removeWriter()
    }

    /// Equal for all handles of one file or one named database in memory in this process, while any of them lives.
    package var sharedIdentity: ObjectIdentifier {
        get throws(DatabaseError) { ObjectIdentifier(try pages()) }
    }

    /// Where the file is, whatever the path that it was opened by leads to now; nil in memory.
    package var filePath: String? {
        get throws(DatabaseError) { try pages().filePath }
    }

    /// Of a file that is encrypted.
    package var encryptionKey: [UInt8]? {
        get throws(DatabaseError) { try pages().encryptionKey }
    }

    /// The header record as of now.
    package var header: FileHeader {
        get throws(DatabaseError) { try pages().header }
    }

    // MARK: Reading.

    /// The newest version, pinned. Cheap when nothing was committed since the last call.
    package func snapshot() throws(DatabaseError) -> PageSnapshot {
        let pages = try pages()
        guard let faults = pages.faults else { return try pages.snapshot() }
        try faults.willPin()
        let snapshot = try pages.snapshot()
        return faults.countsReads ? CountedSnapshot(snapshot, faults) : snapshot
    }

    /// The newest version that was made known; may lag behind the file for a moment when a committer died.
    package var latestVersion: Version {
        get throws(DatabaseError) {
            let pages = try pages()
            try pages.faults?.willLook?()
            return pages.signal.published
        }
    }

    /// For waiting until there is a newer version.
    package var signal: CommitSignal {
        get throws(DatabaseError) { try pages().signal }
    }

    // MARK: Writing.

    /// Waits for the right to commit: first come, first served within the process, and fair between processes.
    /// Throws `.timeout` after the time allowed (negative: never; 0: at once) or when the wait is cancelled. Where it
    /// would wait for the calling thread it throws at once, `.reentrant` if that would be for ever, else `.timeout`,
    /// and names EDEADLK. `.fileMoved`: the file, or one that is shared beside it, was deleted, moved or replaced.
    package func lockForWriting(
        timeoutMilliseconds: Int64, cancellation: WaitCancellation? = nil, as holder: WriteHolder? = nil
    ) throws(DatabaseError) -> WriteLock {
        let pages = try pagesForWriting()
        return try pages.lockForWriting(Deadline(milliseconds: timeoutMilliseconds), cancellation, as: holder)
    }

    /// Throws `.fileMoved` where the file, or one that is shared beside it, is not where it was opened.
    package func checkPlace() throws(DatabaseError) { try pages().checkPlace(isBeginning: true) }

    /// Makes the batch the state of `version`, which must be above every version before. When it returns, the commit is
    /// as durable as the options say and waiters are awake; when it throws, nothing changed and the batch is intact.
    /// With a compaction, its next step is done with the commit.
    package func commit(
        _ batch: borrowing PageBatch, lock: WriteLock, version: Version, compaction: OnlineCompaction? = nil
    ) throws(DatabaseError) {
        let pages = try pagesForWriting()
        guard lock.isFor(pages) else {
            throw DatabaseError(.notInWrite, "the write lock of '\(path)' is not held", path: path)
        }
        try pages.commit(batch, version, compaction)
    }

    /// The same. Where there is no room, `makingRoom` may add deletions of what nobody needs, and then it is tried once
    /// more; should that have no room either, the first reason is thrown.
    package func commit(
        _ batch: inout PageBatch, lock: WriteLock, version: Version, makingRoom: PageBatch.Shrinking
    ) throws(DatabaseError) {
        do throws(DatabaseError) {
            try commit(batch, lock: lock, version: version)
        } catch {
            guard error.code == .mapFull || error.code == .diskFull else { throw error }
            let (first, count) = (error, batch.count)
            try makingRoom(&batch)
            guard batch.count > count else { throw error }
            do throws(DatabaseError) {
                try commit(batch, lock: lock, version: version)
            } catch {
                // Any other failure may have come when the commit was in the file already.
                throw error.code == .mapFull || error.code == .diskFull ? first : error
            }
        }
    }

    // MARK: Observers and inspection.

    /// Asks that history from `version` on be kept.
    package func claimObserverSlot(at version: Version) throws(DatabaseError) -> ObserverSlot {
        ObserverSlot(try pages(), at: version)
    }

    /// The oldest position of any observer in any process that has the file open; nil when there is none.
    package func oldestObservedVersion() throws(DatabaseError) -> Version? { try pages().oldestObservedVersion() }

    package func statistics() throws(DatabaseError) -> PageStatistics { try pages().statistics() }

    /// How many versions lie between the oldest one that any process has pinned and the newest, both included.
    package func liveVersionCount() throws(DatabaseError) -> Int { try pages().liveVersionCount() }

    /// The newest version, also where it was not made known yet.
    package func newestVersion() throws(DatabaseError) -> Version { try pages().newestVersion() }

    /// The process that calls.
    package static var thisProcess: Int32 { getpid() }

    /// Versions pinned by any process, after the entries of dead ones were cleared.
    package func readers() throws(DatabaseError) -> [PageReader] { try pages().readers() }

    /// Reads every page in use and answers what is wrong; a database in memory has none.
    package func check() throws(DatabaseError) -> [PageProblem] { try snapshot().pageProblems() }

    /// For tests, after each step: throws the first thing that is broken in pages or in what is known of them.
    package func checkInvariants() throws(DatabaseError) { try pages().checkInvariants() }

    /// What the file was opened in spite of.
    package func openingWarning() throws(DatabaseError) -> PassedOver? { try pages().openingWarning() }

    /// The same, to whoever asks first of those that have it open in this process.
    package func firstWarning() throws(DatabaseError) -> PassedOver? { try pages().firstWarning() }

    func pages() throws(DatabaseError) -> any PageStorage {
        // A fork may have copied the lock while a thread held it that the child does not have: so this comes first.
        guard motte_shim_fork_generation() == forkGeneration else { throw SharedPages.forked(path) }
        guard let pages = user.withLock({ $0.pages }) else {
            throw DatabaseError(.closed, "'\(path)' is closed", path: path)
        }
        return pages
    }

    /// The same of a file, for tests of what is within.
    package func treePages() throws(DatabaseError) -> TreePages? { try pages() as? TreePages }

    private func pagesForWriting() throws(DatabaseError) -> any PageStorage {
        let pages = try pages()
        guard !user.withLock({ $0.isReadOnly }), pages.canWrite else {
            throw DatabaseError(.readOnly, "'\(path)' is open for reading only", path: path)
        }
        return pages
    }
}
