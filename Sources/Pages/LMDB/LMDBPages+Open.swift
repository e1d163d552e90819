/// From a path to an open file: checks before LMDB touches anything, the sidecar, the environment, and the header
/// record of a new file.
import CLMDB
import CMotteShim
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension LMDBPages {
    /// Called holding the open-files lock.
    static func open(_ place: FilePlace, _ options: PageStoreOptions) throws(DatabaseError) -> LMDBPages {
        let mapSizeBytes = try chosenMapSize(options)
        if options.immutable { return try openImmutable(place, mapSizeBytes, options) }
        // Before anything is made beside a file that may be somebody else's.
        if place.sizeBytes > 0 { try FileCheck.check(place.path) }
        try place.checkFileSystem()
        try place.linkSharedPath()
        let sidecar = try Sidecar(
            attaching: place.sidecarPath, mode: place.mode, timeoutMilliseconds: options.openTimeoutMilliseconds)
        do throws(DatabaseError) {
            return try open(place, mapSizeBytes, sidecar, options)
        } catch {
            sidecar.detach()
            throw error
        }
    }

    private static func open(
        _ given: FilePlace, _ mapSizeBytes: Int, _ sidecar: Sidecar, _ options: PageStoreOptions
    ) throws(DatabaseError) -> LMDBPages {
        // One process at a time opens: so none meets a file that another is still making.
        guard try sidecar.lockForOpening(Deadline(milliseconds: options.openTimeoutMilliseconds)) else {
            throw DatabaseError(
                .timeout, "another process is opening '\(given.path)' for too long", path: given.path,
                systemError: EAGAIN)
        }
        defer { sidecar.unlockForOpening() }
        let place = try given.refreshed(options)
        if place.sizeBytes > 0 {
            try FileCheck.check(place.path)
        } else if sidecar.isFileOpenElsewhere() {
            throw .formerFileIsOpen(place.path, inThisProcess: false)
        }
        let environment = try LMDBEnvironment(
            place.path, sharedPath: place.sharedPath, isWritable: place.isWritable, sidecar: sidecar, mode: place.mode,
            mapSizeBytes: mapSizeBytes, durability: options.durability)
        var presence: FilePresence?
        do throws(DatabaseError) {
            let header: FileHeader
            if let existing = try existingHeader(environment) {
                header = existing
            } else {
                header = try makeHeader(environment, options)
                if options.durability != .none { place.flushDirectory() }
            }
            let identity = try identity(of: place.path)
            let found = try FilePresence(place.path, sidecar.identity, sidecarPath: sidecar.path)
            presence = found
            guard found.identity == identity, sidecar.checkFile(header.fileUUID, identity) else {
                throw DatabaseError.formerFileIsOpen(place.path, inThisProcess: false)
            }
            if let lockFile = environment.lockFile, !sidecar.checkLockFile(lockFile.inode) {
                throw DatabaseError.sharedFileMoved(place.lockPath, beside: place.path)
            }
            environment.clearDeadReaders()
            sidecar.markOpened()
            return LMDBPages(environment, sidecar, found, identity, header, options.faults)
        } catch {
            environment.close()
            presence?.close()
            throw error
        }
    }

    /// For who has the file to itself: no locks, nothing shared, not in the registry.
    static func openUnshared(_ place: FilePlace, _ options: PageStoreOptions) throws(DatabaseError) -> LMDBPages {
        try openImmutable(place, try chosenMapSize(options), options)
    }

    private static func openImmutable(
        _ place: FilePlace, _ mapSizeBytes: Int, _ options: PageStoreOptions
    ) throws(DatabaseError) -> LMDBPages {
        try FileCheck.check(place.path)
        let environment = try LMDBEnvironment(
            place.path, isWritable: false, sidecar: nil, mode: place.mode, mapSizeBytes: mapSizeBytes,
            durability: options.durability)
        do throws(DatabaseError) {
            guard let header = try existingHeader(environment) else {
                throw DatabaseError(.notAMotteFile, "'\(place.path)' is not a Motte file", path: place.path)
            }
            return LMDBPages(environment, nil, nil, try identity(of: place.path), header, options.faults)
        } catch {
            environment.close()
            throw error
        }
    }

    private static func existingHeader(_ environment: LMDBEnvironment) throws(DatabaseError) -> FileHeader? {
        let transaction = try environment.begin(MDB_RDONLY)
        defer { mdb_txn_abort(transaction) }
        guard let record = try environment.headerRecord(transaction) else { return nil }
        let header = try FileHeader(decoding: record, path: environment.path)
        guard header.pageBytes == environment.pageBytes else {
            throw .corrupted("the header record says \(header.pageBytes) bytes a page, it has \(environment.pageBytes)")
        }
        return header
    }

    /// A file that LMDB just made, or whose maker died before its first commit, gets its header record.
    private static func makeHeader(
        _ environment: LMDBEnvironment, _ options: PageStoreOptions
    ) throws(DatabaseError) -> FileHeader {
        let path = environment.path
        let mayMake = environment.isWritable && !options.noCreate && !options.readOnly
        guard environment.lastTransactionNumber == 0, mayMake else {
            throw DatabaseError(.notAMotteFile, "'\(path)' is not a Motte file", path: path)
        }
        let header = try FileHeader.new(
            rowsPerCluster: options.rowsPerCluster ?? FileHeader.defaultRowsPerCluster,
            pageBytes: environment.pageBytes)
        let transaction = try environment.begin(0)
        do throws(DatabaseError) {
            try LMDBWriter.apply([], header, transaction, path)
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        try environment.checkCommit(mdb_txn_commit(transaction), FileHeader.byteCount)
        return header
    }

    private static func identity(of path: String) throws(DatabaseError) -> FileIdentity {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw SystemError.error(errno, "look at", path) }
        return FileIdentity(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
    }

    /// The option, the environment variable, or 16 GiB.
    static func chosenMapSize(_ options: PageStoreOptions) throws(DatabaseError) -> Int {
        if let size = options.mapSizeBytes {
            guard size > 0 else { throw DatabaseError(.invalidArgument, "map_size is \(size); it must be above 0") }
            return size
        }
        guard let text = getenv("MOTTE_MAP_SIZE") else { return LMDBEnvironment.defaultMapSize }
        guard let size = parseSize(String(cString: text)) else {
            throw DatabaseError(
                .invalidArgument,
                "MOTTE_MAP_SIZE is '\(String(cString: text))'; a number of bytes is meant, or 512M or 64G")
        }
        return size
    }

    static func parseSize(_ text: String) -> Int? {
        var digits = Array(text.utf8)
        var shift = 0
        switch digits.last {
        case UInt8(ascii: "K"), UInt8(ascii: "k"): shift = 10
        case UInt8(ascii: "M"), UInt8(ascii: "m"): shift = 20
        case UInt8(ascii: "G"), UInt8(ascii: "g"): shift = 30
        default: break
        }
        if shift > 0 { digits.removeLast() }
        guard let number = Int(String(decoding: digits, as: UTF8.self)), number > 0 else { return nil }
        let (size, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        return overflow ? nil : size
    }
}
