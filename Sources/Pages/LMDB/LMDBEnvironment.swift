/// One open LMDB environment: opening with a map that fits the machine, transactions, what LMDB knows about itself.
import CLMDB
import CMotteShim
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

final class LMDBEnvironment: @unchecked Sendable {  // @unchecked: the pointer is constant, LMDB's calls take its locks
    let path: String
    let isWritable: Bool
    let pageBytes: Int
    let mapSizeBytes: Int
    private let environment: OpaquePointer
    /// nil: the file cannot change, and there are no locks of LMDB either. Lives longer than this.
    private let sidecar: Sidecar?
    /// Values for which key, value and node header exceed this have overflow pages of their own; as LMDB reckons it.
    private let longestNode: Int
    /// Holds an open-file-description lock on byte 0 of LMDB's lock file; -1 when there is none.
    private var lockDescriptor: Int32 = -1
    let lockPath: String
    /// nil where LMDB has none.
    private(set) var lockFile: FileIdentity?

    static let defaultMapSize = 16 << 30
    private static let smallestMapSize = 64 << 20
    private static let nodeHeader = 8
    private static let pageHeader = 16

    /// Opens; makes an empty LMDB file when there is none. `sharedPath` is another name of the file, beside which the
    /// lock file of LMDB lies. Called holding the open-files lock.
    init(
        _ path: String, sharedPath: String? = nil, isWritable: Bool, sidecar: Sidecar?, mode: mode_t, mapSizeBytes: Int,
        durability: PageStoreOptions.Durability
    ) throws(DatabaseError) {
        self.sidecar = sidecar
        // The kernel's read-ahead stays on: without it a cold scan takes twice as long (255 ms instead of 120 for
        // 80 MB), though cold single reads gain (10 us instead of 80). Columns are for scanning.
        var flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS)
        if !isWritable { flags |= UInt32(MDB_RDONLY) }
        if sidecar == nil { flags |= UInt32(MDB_NOLOCK) }
        switch durability {
        case .full: break
        case .relaxed: flags |= UInt32(MDB_NOMETASYNC)
        case .none: flags |= UInt32(MDB_NOSYNC)
        }
        if sidecar != nil { try LMDBEnvironment.makeLockFile((sharedPath ?? path) + "-lock", mode) }
        (environment, self.mapSizeBytes) = try LMDBEnvironment.open(
            sharedPath ?? path, flags, mode, mapSizeBytes)
        self.path = path
        lockPath = (sharedPath ?? path) + "-lock"
        self.isWritable = isWritable
        var facts = MDB_stat()
        mdb_env_stat(environment, &facts)
        pageBytes = Int(facts.ms_psize)
        // LMDB: ((psize - header) / MDB_MINKEYS, made even) - sizeof(indx_t), with MDB_MINKEYS 2.
        longestNode = ((pageBytes - LMDBEnvironment.pageHeader) / 2 & ~1) - 2
        do throws(DatabaseError) {
            try useDatabase()
            if sidecar != nil { try holdLockFile(lockPath) }
        } catch {
            mdb_env_close(environment)
            throw error
        }
    }

    /// LMDB would follow a link that somebody planted and write to whatever it leads to. So the lock file is there
    /// before LMDB looks, and is a plain file. What is there already is not opened, which would cost LMDB its locks.
    private static func makeLockFile(_ path: String, _ mode: mode_t) throws(DatabaseError) {
        let descriptor = makeDescriptor(path, mode)
        if descriptor >= 0 {
            closeDescriptor(descriptor)
            return
        }
        guard let facts = TemporaryFile.facts(path), facts.st_mode & S_IFMT != S_IFREG else { return }
        throw DatabaseError(.lockFailed, "'\(path)' must be a plain file; remove it", path: path)
    }

    /// Called holding the open-files lock, with no transaction left.
    func close() {
        mdb_env_close(environment)
        guard lockDescriptor >= 0 else { return }
        // After the environment: closing any descriptor of the lock file drops LMDB's own locks on it.
        motte_shim_forget_descriptor(lockDescriptor)
        closeDescriptor(lockDescriptor)
        lockDescriptor = -1
    }

    /// Halves the reservation until the machine grants it.
    private static func open(
        _ path: String, _ flags: UInt32, _ mode: mode_t, _ wanted: Int
    ) throws(DatabaseError) -> (OpaquePointer, Int) {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        var size = max(wanted, page * 16) / page * page
        while true {
            var made: OpaquePointer?
            try LMDBStatus.check(mdb_env_create(&made), "open", path)
            guard let environment = made else { throw DatabaseError(.outOfMemory, "LMDB made no environment") }
            mdb_env_set_maxreaders(environment, LMDBPages.readerSlots)
            mdb_env_set_mapsize(environment, size)
            let status = mdb_env_open(environment, path, flags, mode)
            if status == 0 {
                keepFromExecutedPrograms(environment)
                return (environment, size)
            }
            mdb_env_close(environment)
            guard status == ENOMEM, size > smallestMapSize else { throw LMDBStatus.error(status, "open", path) }
            size = size / 2 / page * page
        }
    }

    /// LMDB 0.9.24 opens the data file without O_CLOEXEC.
    private static func keepFromExecutedPrograms(_ environment: OpaquePointer) {
        var descriptor: Int32 = -1
        guard mdb_env_get_fd(environment, &descriptor) == 0, descriptor >= 0 else { return }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// LMDB learns how to compare keys of the unnamed database only when it is opened once.
    private func useDatabase() throws(DatabaseError) {
        let transaction = try begin(MDB_RDONLY)
        defer { mdb_txn_abort(transaction) }
        var database: MDB_dbi = 0
        try LMDBStatus.check(mdb_dbi_open(transaction, nil, 0, &database), "open", path)
        guard database == LMDBPages.database else {
            throw DatabaseError(.internal, "LMDB numbers databases otherwise")
        }
    }

    /// LMDB's own lock on its lock file dies when anything in the process closes a descriptor of that file, and the
    /// next opener would then set the reader table up anew. This lock belongs to a descriptor nobody else has.
    private func holdLockFile(_ lockPath: String) throws(DatabaseError) {
        let descriptor = openDescriptor(lockPath, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            // On a read-only file system LMDB goes without a lock file; so do we.
            if errno == EROFS || errno == ENOENT { return }
            throw SystemError.error(errno, "open", lockPath)
        }
        let status = motte_shim_lock_byte(descriptor, 0, Int32(MOTTE_SHIM_SHARED))
        guard status == 0 else {
            closeDescriptor(descriptor)
            throw SystemError.error(status, "lock", lockPath)
        }
        guard motte_shim_close_in_child(descriptor) == 0 else {
            closeDescriptor(descriptor)
            throw DatabaseError(.outOfHandles, "this process has too many Motte files open", path: path)
        }
        lockDescriptor = descriptor
        lockFile = FileIdentity(of: descriptor)
    }

    /// False once its name leads to another, or to none.
    var hasLockFile: Bool { lockDescriptor < 0 || motte_shim_has_name(lockDescriptor) != 0 }

    /// LMDB marks a process with readers by a POSIX lock on the byte of its process id, which anything that closes a
    /// descriptor of the lock file in this process drops. Taking it again is cheap and harmless.
    func renewProcessMark() {
        guard lockDescriptor >= 0 else { return }
        _ = motte_shim_lock_byte_of_process(lockDescriptor, Int64(getpid()))
    }

    // MARK: Transactions.

    func begin(_ flags: Int32) throws(DatabaseError) -> OpaquePointer {
        var begun: OpaquePointer?
        var status = mdb_txn_begin(environment, nil, UInt32(flags), &begun)
        if status == MDB_READERS_FULL {
            clearDeadReaders()
            status = mdb_txn_begin(environment, nil, UInt32(flags), &begun)
        }
        try LMDBStatus.check(status, flags == MDB_RDONLY ? "read" : "write", path)
        guard let begun else { throw DatabaseError(.internal, "LMDB began no transaction") }
        return begun
    }

    func header(_ transaction: OpaquePointer) throws(DatabaseError) -> FileHeader {
        guard let record = try headerRecord(transaction) else { throw .corrupted("the header record is missing") }
        return try FileHeader(decoding: record, path: path)
    }

    func version(_ transaction: OpaquePointer) throws(DatabaseError) -> Version {
        guard let record = try headerRecord(transaction), let version = FileHeader.version(in: record) else {
            throw .corrupted("the header record is missing or broken")
        }
        return version
    }

    func headerRecord(_ transaction: OpaquePointer) throws(DatabaseError) -> UnsafeRawBufferPointer? {
        var value = MDB_val()
        let status = FileHeader.key.withUnsafeBytes { bytes in
            var key = MDB_val(bytes)
            return mdb_get(transaction, LMDBPages.database, &key, &value)
        }
        if status == MDB_NOTFOUND { return nil }
        try LMDBStatus.check(status, "read", path)
        return value.bytes
    }

    /// What `mdb_txn_commit` answered. A short write is EIO to LMDB though it is a full disk to everyone else.
    func checkCommit(_ status: Int32, _ byteCount: Int) throws(DatabaseError) {
        guard status != 0 else { return }
        var facts = statvfs()
        if status == EIO, statvfs(path, &facts) == 0 {
            let available = Int(facts.f_bavail) * Int(facts.f_frsize)
            if available < byteCount + (1 << 20) { throw LMDBStatus.error(ENOSPC, "write", path) }
        }
        throw LMDBStatus.error(status, "write", path)
    }

    /// Number of the latest commit as LMDB's meta pages say; cheap, and of any process.
    var lastTransactionNumber: Int {
        var facts = MDB_envinfo()
        mdb_env_info(environment, &facts)
        return facts.me_last_txnid
    }

    @inline(__always)
    func isOverflow(keyCount: Int, valueCount: Int) -> Bool {
        LMDBEnvironment.nodeHeader + keyCount + valueCount > longestNode
    }

    /// Everything that was committed, however it was, is on disk when this returns.
    func flush() throws(DatabaseError) {
        try LMDBStatus.check(mdb_env_sync(environment, 1), "write", path)
    }

    // MARK: Inspection.

    /// All but version and waiting writers.
    func statistics() throws(DatabaseError) -> PageStatistics {
        var tree = MDB_stat()
        var facts = MDB_envinfo()
        var file = stat()
        mdb_env_stat(environment, &tree)
        mdb_env_info(environment, &facts)
        guard stat(path, &file) == 0 else { throw SystemError.error(errno, "look at", path) }
        return PageStatistics(
            version: Version(0), entryCount: tree.ms_entries, pageBytes: Int(tree.ms_psize),
            pageCount: facts.me_last_pgno + 1, branchPageCount: tree.ms_branch_pages, leafPageCount: tree.ms_leaf_pages,
            overflowPageCount: tree.ms_overflow_pages, treeDepth: Int(tree.ms_depth), fileBytes: Int(file.st_size),
            mapSizeBytes: facts.me_mapsize, waitingWriterCount: 0)
    }

    func readers() -> [PageReader] {
        var text: [UInt8] = []
        withUnsafeMutablePointer(to: &text) { text in
            _ = mdb_reader_list(
                environment,
                { line, context in
                    guard let line, let text = context?.assumingMemoryBound(to: [UInt8].self) else { return 0 }
                    text.pointee.append(contentsOf: UnsafeRawBufferPointer(start: line, count: strlen(line)))
                    return 0
                }, text)
        }
        return LMDBEnvironment.parseReaders(text)
    }

    /// Lines of "pid thread txnid", with a heading; a reader at rest has "-" as txnid.
    private static func parseReaders(_ text: [UInt8]) -> [PageReader] {
        text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            guard words.count == 3, let process = Int32(words[0]), let number = UInt64(words[2]) else { return nil }
            return PageReader(processID: process, transactionNumber: number)
        }
    }

    /// Frees reader slots of dead processes. LMDB judges by a POSIX lock that a live process can lose by accident, so
    /// it is asked only when each reader without that lock is gone by our own knowledge too.
    func clearDeadReaders() {
        guard lockDescriptor >= 0 else { return }
        for reader in readers() where reader.processID != getpid() {
            let isLocked = motte_shim_test_byte(lockDescriptor, Int64(reader.processID)) != 0
            if !isLocked, sidecar?.isAttached(reader.processID) == true { return }
        }
        var cleared: Int32 = 0
        mdb_reader_check(environment, &cleared)
    }
}
