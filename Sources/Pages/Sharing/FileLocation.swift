/// Where a database file is: its path without symbolic links (so that every user derives the same lock files from it),
/// and what stands there now. Says early, in words, why something cannot be a database.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
}

package struct FileLocation {
    let path: String
    /// nil: there is no file yet.
    let identity: FileIdentity?
    private(set) var sizeBytes: Int
    /// For the file that processes share.
    let sharing: SharedAccess
    let isWritable: Bool

    /// Of the file that processes share: beside the database, or in a directory of its own.
    let sidecarPath: String
    static let sharedEnding = "-shared"

    package init(_ given: String, _ options: PageStoreOptions) throws(DatabaseError) {
        guard !given.isEmpty, !given.utf8.contains(0) else {
            throw DatabaseError(.invalidArgument, "the path of a database must not be empty or contain a zero byte")
        }
        let wantsExisting = options.noCreate || options.readOnly || options.immutable
        var facts = stat()
        guard stat(given, &facts) == 0 else {
            let number = errno
            guard number == ENOENT, !wantsExisting else { throw SystemError.error(number, "open", given) }
            if try FileLocation.isThere(given) {
                // Another process has just made it.
                self = try FileLocation(given, options)
                return
            }
            path = try FileLocation.resolveNew(given)
            sidecarPath = try FileLocation.sidecarPath(path, options)
            identity = nil
            sizeBytes = 0
            sharing = .ofOwner
            isWritable = true
            return
        }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw SystemError.notOpened(facts.st_mode & S_IFMT == S_IFDIR ? EISDIR : ENODEV, given)
        }
        guard facts.st_size > 0 || !wantsExisting else {
            throw DatabaseError(.notAMotteFile, "'\(given)' is empty, not a Motte file", path: given)
        }
        path = try FileLocation.resolve(given)
        sidecarPath = try FileLocation.sidecarPath(path, options)
        identity = FileIdentity(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
        sizeBytes = Int(facts.st_size)
        sharing = SharedAccess(facts)
        isWritable = access(given, W_OK) == 0
        guard access(given, R_OK) == 0 else { throw SystemError.error(errno, "read", given) }
        guard isWritable || options.readOnly || options.immutable else {
            throw SystemError.error(errno == 0 ? EACCES : errno, "write", given)
        }
    }

    /// Looks again, after waiting for whoever was making the file.
    func refreshed(_ options: PageStoreOptions) throws(DatabaseError) -> FileLocation {
        var facts = stat()
        guard let identity, stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size > 0,
            identity == FileIdentity(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
        else { return try FileLocation(path, options) }
        // The same file: only its size can be another.
        var place = self
        place.sizeBytes = Int(facts.st_size)
        return place
    }

    /// Locks and shared memory do not hold across machines.
    func checkFileSystem() throws(DatabaseError) {
        let directory = FilePath.split(path).directory
        let type = motte_shim_file_system_type(directory)
        // NFS, SMB, CIFS, SMB2, AFS, Coda, Ceph; from linux/magic.h.
        let network: Set<UInt32> = [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x7375_7245, 0x00C3_6400]
        guard !network.contains(type) else {
            throw DatabaseError(
                .unsupported, "'\(path)' is on a network file system, where locks do not hold; use a local disk",
                path: path)
        }
    }

    /// So that a file that was made or renamed is found after a power cut. File systems that cannot do it say so.
    func flushDirectory() {
        let descriptor = openDescriptor(FilePath.split(path).directory, O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        closeDescriptor(descriptor)
    }

    private static func resolve(_ given: String) throws(DatabaseError) -> String {
        guard let resolved = realpath(given, nil) else { throw SystemError.error(errno, "open", given) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// One name per path, so that files of equal names do not meet.
    private static func sidecarPath(_ path: String, _ options: PageStoreOptions) throws(DatabaseError) -> String {
        guard let directory = options.lockDirectory, !options.immutable else { return path + sharedEnding }
        let resolved = try resolve(directory)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return resolved + "/" + FilePath.split(path).name + "-" + String(hash, radix: 16) + sharedEnding
    }

    /// Whether there is a file now that has anything in it.
    var isThereNow: Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_size > 0
    }

    /// Whether a file that was not there is there now.
    package static func isThere(_ given: String) throws(DatabaseError) -> Bool {
        var entry = stat(), target = stat()
        // In this order: what the link leads to may come to be as well.
        let isEntry = lstat(given, &entry) == 0
        if stat(given, &target) == 0 { return true }
        guard isEntry, entry.st_mode & S_IFMT == S_IFLNK else { return false }
        throw DatabaseError(.fileNotFound, "'\(given)' is a symbolic link that leads nowhere", path: given)
    }

    /// For a file that is not there yet: its directory is resolved.
    private static func resolveNew(_ given: String) throws(DatabaseError) -> String {
        let (directory, name) = FilePath.split(given)
        guard !name.isEmpty, name != ".", name != ".." else {
            throw DatabaseError(.notAMotteFile, "'\(given)' names a directory, not a Motte file", path: given)
        }
        guard let resolved = realpath(directory, nil) else {
            throw SystemError.error(errno, "use the directory of", given)
        }
        defer { free(resolved) }
        let base = String(cString: resolved)
        return base == "/" ? "/" + name : base + "/" + name
    }
}
