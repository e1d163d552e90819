/// The file store: everything of ours in LMDB's main database, one environment per file and process.
///
/// The map is reserved once and never resized, because a resize under a live snapshot pulls its pages away. The write
/// lock is ours (in-process queue and sidecar), so LMDB's write transaction begins and ends inside `apply`, on one
/// thread. LMDB's files: the database itself and `x-lock` with its reader table; ours beside it: `x-shared`.
import CLMDB
import CMotteShim
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

// @unchecked: 'current', 'known' and 'idle' are only touched holding their locks.
final class LMDBPages: SharedPages, @unchecked Sendable {
    /// LMDB's number of the unnamed database.
    static let database: MDB_dbi = 1
    static let readerSlots: UInt32 = 2046

    let identity: FileIdentity
    let environment: LMDBEnvironment
    private let sidecar: Sidecar?
    private let presence: FilePresence?
    /// The file has a feature we do not know how to keep right.
    private let currentLock = Lock()
    private weak var current: LMDBSnapshot?
    /// What the latest pin found, kept after its snapshot is gone.
    private var known: (transactionNumber: Int, version: Version)?
    /// Read transactions at rest: they keep their place in the reader table and are renewed faster than begun.
    private let idleLock = Lock()
    private var idle: [OpaquePointer] = []
    private static let mostIdle = 4

    /// Takes over the environment, the sidecar and the presence.
    init(
        _ environment: LMDBEnvironment, _ sidecar: Sidecar?, _ presence: FilePresence?, _ identity: FileIdentity,
        _ header: FileHeader, _ faults: FaultInjection?
    ) {
        self.environment = environment
        self.sidecar = sidecar
        self.presence = presence
        self.identity = identity
        super.init(
            path: environment.path, signal: sidecar?.makeSignal() ?? PrivateSignalWords().makeSignal(),
            observers: ObserverPositions { sidecar?.publishOldestObserved($0) }, faults: faults)
        signal.begin(at: header.version)
    }

    override var fileIdentity: FileIdentity? { identity }
    override var canWrite: Bool { environment.isWritable }

    override func closeFile() {
        idleLock.lock()
        for transaction in idle { mdb_txn_abort(transaction) }
        idle = []
        idleLock.unlock()
        environment.close()
        presence?.close()
        sidecar?.detach()
    }

    override var sidecarPath: String? { sidecar?.path }

    override func checkPlace(isBeginning: Bool) throws(DatabaseError) {
        guard let sidecar, let presence else { return }
        guard isBeginning else {
            if !presence.hasName { throw FileIdentity.moved(path, FileIdentity(at: path)) }
            return
        }
        try identity.checkIsAt(path)
        if !sidecar.hasName { throw .sharedFileMoved(sidecar.path, beside: path) }
        if !environment.hasLockFile { throw .sharedFileMoved(environment.lockPath, beside: path) }
    }

    // MARK: Reading.

    override var header: FileHeader {
        get throws(DatabaseError) {
            let snapshot = try snapshot()
            defer { withExtendedLifetime(snapshot) {} }
            guard let record = try snapshot.get(FileHeader.key) else {
                throw .corrupted("the header record is missing")
            }
            return try FileHeader(decoding: record.bytes, path: path)
        }
    }

    override func snapshot() throws(DatabaseError) -> PageSnapshot {
        try checkProcess()
        currentLock.lock()
        defer { currentLock.unlock() }
        if let current, current.transactionNumber == environment.lastTransactionNumber { return current }
        let transaction = try beginReading()
        do throws(DatabaseError) {
            // The number above can run ahead of what a transaction is given, so compare what it was given.
            let number = mdb_txn_id(transaction)
            if let current, current.transactionNumber == number {
                recycle(transaction)
                return current
            }
            return try pin(transaction, number)
        } catch {
            recycle(transaction)
            throw error
        }
    }

    private func pin(_ transaction: OpaquePointer, _ number: Int) throws(DatabaseError) -> PageSnapshot {
        environment.renewProcessMark()
        let version = try environment.version(transaction)
        let snapshot = try LMDBSnapshot(transaction, number, version, self)
        beginUse()
        current = snapshot
        known = (number, version)
        return snapshot
    }

    override func newestVersion() throws(DatabaseError) -> Version {
        currentLock.lock()
        let known = known
        currentLock.unlock()
        if let known, known.transactionNumber == environment.lastTransactionNumber { return known.version }
        return try snapshot().version
    }

    /// A committer that died behind its last write and before it told LMDB's lock table leaves a version that readers
    /// are not given, but that the next write transaction builds upon. Beginning one mends the table.
    override func newestVersionForWriter() throws(DatabaseError) -> Version {
        let version = try newestVersion()
        currentLock.lock()
        let isNewest = known?.transactionNumber == environment.lastTransactionNumber
        currentLock.unlock()
        if isNewest { return version }
        mdb_txn_abort(try environment.begin(0))
        return try newestVersion()
    }

    private func beginReading() throws(DatabaseError) -> OpaquePointer {
        idleLock.lock()
        let rested = idle.popLast()
        idleLock.unlock()
        if let rested {
            let status = mdb_txn_renew(rested)
            if status == 0 { return rested }
            mdb_txn_abort(rested)
        }
        return try environment.begin(MDB_RDONLY)
    }

    /// Called from any thread, also by a snapshot's last release.
    func recycle(_ transaction: OpaquePointer) {
        mdb_txn_reset(transaction)
        idleLock.lock()
        let keeps = idle.count < LMDBPages.mostIdle
        if keeps { idle.append(transaction) }
        idleLock.unlock()
        if !keeps { mdb_txn_abort(transaction) }
    }

    @inline(__always)
    func lend(_ value: MDB_val, keyCount: Int) -> PageBytes {
        PageBytes(bytes: value.bytes, isStable: environment.isOverflow(keyCount: keyCount, valueCount: value.mv_size))
    }

    // MARK: Writing.

    override func lockAcrossProcesses(
        _ deadline: Deadline, _ cancellation: WaitCancellation?
    ) throws(DatabaseError) -> Bool {
        try sidecar?.lockForWriting(deadline, cancellation) ?? true
    }

    override func unlockAcrossProcesses() {
        sidecar?.unlockForWriting()
    }

    override func apply(
        _ entries: [PageBatch.Entry], byteCount: Int, _ version: Version
    ) throws(DatabaseError) {
        let transaction = try environment.begin(0)
        do throws(DatabaseError) {
            let header = try environment.header(transaction)
            try checkFollows(version, header.version)
            try LMDBWriter.apply(entries, header.advanced(to: version), transaction, path)
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        // Frees the transaction whether it succeeds or not.
        try environment.checkCommit(mdb_txn_commit(transaction), byteCount)
    }

    // MARK: Inspection.

    override func oldestObservedVersion() throws(DatabaseError) -> Version? {
        sidecar.map { $0.oldestObserved() } ?? observers.oldestPosition
    }

    override func statistics() throws(DatabaseError) -> PageStatistics {
        var statistics = try environment.statistics()
        statistics.version = try snapshot().version
        statistics.waitingWriterCount = waitingWriterCount
        return statistics
    }

    override func latestTransactionNumber() -> UInt64 { UInt64(environment.lastTransactionNumber) }

    override func liveVersionCount() throws(DatabaseError) -> Int {
        let newest = environment.lastTransactionNumber
        let oldest = try readers().map(\.transactionNumber).min() ?? UInt64(newest)
        return 1 + max(0, newest - Int(clamping: oldest))
    }

    override func readers() throws(DatabaseError) -> [PageReader] {
        environment.clearDeadReaders()
        return environment.readers()
    }
}
