/// Which files and named databases in memory this process has open: a file is open once per process, whatever its path
/// is called, so that its users share pages, pins and the queue for the write lock.
///
/// All of it happens under the open-files lock of the shim, which fork() waits for.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum PageRegistry {
    // Only touched holding the open-files lock.
    nonisolated(unsafe) private static var files: [FileIdentity: any PageStorage] = [:]
    nonisolated(unsafe) private static var memories: [NameKey: MemoryPages] = [:]
    /// Files that one thread has to itself for a while, with the fork generation of its process: a forked child has no
    /// such thread.
    nonisolated(unsafe) private static var reserved: [FileIdentity: UInt32] = [:]

    /// Waits for other processes as long as the options say, but not holding the lock: other files can be opened and
    /// closed meanwhile, and the process can fork.
    static func open(_ options: PageStoreOptions) throws(DatabaseError) -> PageStore {
        if let key = options.encryptionKey { try Libcrypto.checkKey(key) }
        let deadline = Deadline(milliseconds: options.openTimeoutMilliseconds)
        var attempt = options
        attempt.openTimeoutMilliseconds = 0
        var pause: Int64 = 250
        while true {
            do throws(DatabaseError) {
                return try openNow(attempt)
            } catch {
                // What somebody else holds for a while is marked so.
                guard error.details.systemError == EAGAIN, error.code == .busy || error.code == .timeout,
                    deadline.remaining(atMost: 1) > 0
                else { throw error }
            }
            usleep(UInt32(pause))
            pause = min(2 * pause, 4_000)
        }
    }

    private static func openNow(_ options: PageStoreOptions) throws(DatabaseError) -> PageStore {
        motte_shim_open_files_lock()
        defer { motte_shim_open_files_unlock() }
        if let disk = options.disk { return try handle(on: try TreePages.open(disk, options), options) }
        switch options.location {
        case .memory(let identifier): return try openMemory(identifier, options)
        case .file(let path): return try openFile(path, options)
        }
    }

    static func isOpen(_ identifier: String) -> Bool {
        motte_shim_open_files_lock()
        defer { motte_shim_open_files_unlock() }
        return memories[NameKey(identifier)]?.isOfThisProcess == true
    }

    /// Called holding the lock.
    static func remove(_ pages: any PageStorage) {
        if let identity = pages.fileIdentity {
            if files[identity] === pages { files[identity] = nil }
        } else if let pages = pages as? MemoryPages, let identifier = pages.identifier {
            if memories[NameKey(identifier)] === pages { memories[NameKey(identifier)] = nil }
        }
    }

    /// Keeps a file that nobody has open for the caller alone, until it is given back. `acceptsDamage`: a file that was
    /// Motte's once is enough.
    static func reserve(
        _ place: FileLocation, _ identity: FileIdentity, acceptsDamage: Bool = false
    ) throws(DatabaseError) -> ExclusiveAttachment {
        motte_shim_open_files_lock()
        defer { motte_shim_open_files_unlock() }
        do throws(DatabaseError) {
            try TreePages.checkHead(place)
        } catch {
            guard acceptsDamage, error.code != .notAMotteFile else { throw error }
        }
        try place.checkFileSystem()
        let isOpenHere = isReserved(identity) || former(at: place) != nil
        guard !isOpenHere, let attachment = try ExclusiveAttachment.take(place) else {
            throw DatabaseError(
                .busy,
                "'\(place.path)' is open \(isOpenHere ? "in this process" : "in another process");"
                    + " try again when everybody has closed it", path: place.path)
        }
        reserved[identity] = motte_shim_fork_generation()
        return attachment
    }

    private static func isReserved(_ identity: FileIdentity) -> Bool {
        reserved[identity] == motte_shim_fork_generation()
    }

    /// Who has a file open in this process that meets others at the place, whichever file that is.
    private static func former(at place: FileLocation) -> (any PageStorage)? {
        files.values.first { pages in
            pages.isOfThisProcess
                && (pages.fileIdentity == place.identity || pages.sidecarPath.hasSameBytes(as: place.sidecarPath))
        }
    }

    static func giveBack(_ identity: FileIdentity) {
        motte_shim_open_files_lock()
        reserved[identity] = nil
        motte_shim_open_files_unlock()
    }

    private static func openFile(_ path: String, _ options: PageStoreOptions) throws(DatabaseError) -> PageStore {
        let place = try FileLocation(path, options)
        // What a forked child finds here belongs to its parent.
        if let identity = place.identity, let pages = files[identity], pages.isOfThisProcess {
            guard pages.canWrite || options.readOnly || options.immutable else {
                throw DatabaseError(
                    .permissionDenied, "'\(path)' is already open in this process and cannot be written", path: path)
            }
            try pages.checkKey(options.encryptionKey)
            return try handle(on: pages, options)
        }
        if let identity = place.identity, isReserved(identity) {
            throw DatabaseError(.busy, "'\(path)' is being compacted or deleted; open it when that is done", path: path)
        }
        if !options.immutable, former(at: place) != nil { throw .formerFileIsOpen(path, inThisProcess: true) }
        let pages = try TreePages.open(place, options)
        if let identity = pages.fileIdentity { files[identity] = pages }
        return try handle(on: pages, options)
    }

    private static func openMemory(
        _ identifier: String?, _ options: PageStoreOptions
    ) throws(DatabaseError) -> PageStore {
        guard options.encryptionKey == nil else {
            throw DatabaseError(.invalidArgument, "a database in memory has no file that a key could encrypt")
        }
        if let identifier, let pages = memories[NameKey(identifier)], pages.isOfThisProcess {
            return try handle(on: pages, options)
        }
        guard !options.noCreate, !options.readOnly else {
            throw DatabaseError(.fileNotFound, "there is no database in memory '\(identifier ?? "")' to open")
        }
        let pages = try MemoryPages(identifier: identifier, options)
        if let identifier { memories[NameKey(identifier)] = pages }
        return try handle(on: pages, options)
    }

    private static func handle(
        on pages: any PageStorage, _ options: PageStoreOptions
    ) throws(DatabaseError) -> PageStore {
        let isReadOnly = options.readOnly || options.immutable
        // Nothing of what is in memory lasts.
        if !isReadOnly { try pages.addWriter(pages.fileIdentity == nil ? pages.durability : options.durability) }
        pages.beginUse()
        var plan = spillPlan(options, pages)
        plan.faults = options.faults
        return PageStore(pages, isReadOnly: isReadOnly, spillPlan: plan)
    }

    /// Large writes of a file use a file beside it.
    private static func spillPlan(_ options: PageStoreOptions, _ pages: any PageStorage) -> SpillPlan {
        let memory = options.writeMemoryBytes ?? SpillPlan.memoryBytes(beside: pages.memoryBytes)
        guard case .file(let path) = options.location, options.maySpill, options.encryptionKey == nil else {
            return SpillPlan(memoryBytes: memory, folder: nil)
        }
        return SpillPlan(memoryBytes: memory, folder: FilePath.split(path).directory)
    }
}
