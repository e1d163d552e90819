/// The storage interface: what a store of pages is to the engine above it. One object per process and file, or store in
/// memory, implements it; `PageStore` is one user's handle on that object.
///
/// An implementation is a final class derived from `SharedPages`, which has what is the same for all of them: users,
/// the write lock within the process, the commit signal. There are no defaults: what an implementation leaves out does
/// not compile. There are two: `TreePages`, a page file, and `MemoryPages`, the reference that tests compare it with.
import MotteValues

protocol PageStorage: SharedPages {
    // MARK: What it is.

    var header: FileHeader { get throws(DatabaseError) }
    var canWrite: Bool { get }
    /// The key that the file is encrypted with.
    var encryptionKey: [UInt8]? { get }
    /// Fails when the file has another key, or one at all and this is nil.
    func checkKey(_ key: [UInt8]?) throws(DatabaseError)
    /// Bytes that its pages may take.
    var memoryBytes: Int { get }
    /// nil for a store without a file.
    var fileIdentity: FileIdentity? { get }
    /// Where that was found, through all links; nil without a file.
    var filePath: String? { get }
    /// Where the processes that have the file open meet; nil if they do not.
    var sidecarPath: String? { get }

    // MARK: Reading.

    /// The newest version, pinned.
    func snapshot() throws(DatabaseError) -> PageSnapshot
    /// The version a snapshot would have, perhaps without taking one.
    func newestVersion() throws(DatabaseError) -> Version

    // MARK: Writing.

    /// The right to write, against other processes; false when the time is over or the wait was cancelled.
    func lockAcrossProcesses(_ deadline: Deadline, _ cancellation: WaitCancellation?) throws(DatabaseError) -> Bool
    func unlockAcrossProcesses()
    /// Throws when the file, or one that processes share beside it, is not at its path any more. Called by a writer.
    func checkPlace(isBeginning: Bool) throws(DatabaseError)
    /// The newest version for the holder of the write lock: what a holder before left unannounced counts too.
    func newestVersionForWriter() throws(DatabaseError) -> Version
    /// Applies the changes, whose keys ascend, as `version`: as durable as the options say when it returns, and when it
    /// throws nothing changed. The caller holds the write lock. With a compaction, its next step is done with the
    /// commit.
    func apply(
        _ changes: PageBatch.Changes, _ version: Version, _ compaction: OnlineCompaction?
    ) throws(DatabaseError)

    // MARK: Inspection.

    func statistics() throws(DatabaseError) -> PageStatistics
    /// Versions pinned by any process, after those of dead ones were dropped; empty where no other process can pin any.
    func readers() throws(DatabaseError) -> [PageReader]
    /// From the oldest version that any process has pinned to the newest, both included.
    func liveVersionCount() throws(DatabaseError) -> Int
    /// The oldest position of any observer in any process.
    func oldestObservedVersion() throws(DatabaseError) -> Version?
    /// Throws the first thing that is broken in what this process knows of the newest version, and in its pages. For
    /// tests, which ask after each step.
    func checkInvariants() throws(DatabaseError)
    /// What the file was opened in spite of.
    func openingWarning() -> PassedOver?
    /// The same, to whoever asks first.
    func firstWarning() -> PassedOver?

    /// The last user is gone; called holding the open-files lock.
    func closeFile()
}
