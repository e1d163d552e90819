/// A file made beside the one that it is going to be, under a name that nobody can foresee, and that only we can have
/// made: no link that somebody planted is followed and nothing that is there is written to.
///
///     flights.motte.compacting-6f0c22d19be47a35
///
/// It goes with its maker, unless it got its name. What a killed maker left behind is removed by the next one that
/// makes a file beside the same target, or that deletes the target: the maker at work holds a lock on its file
/// (`flock`), so one that can be locked has lost its maker.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class TemporaryFile {
    /// Part of the name, which says what a file is that was left behind.
    package enum Purpose: String, CaseIterable {
        case making, copying, compacting, salvaging
    }

    /// Who may do what with the file.
    package enum Permissions {
        /// As for any new file: 0644 less the umask.
        case new
        /// The mode of the file at a path, and its owner may write; the owner's alone if it is not there any more.
        case like(String)
        /// Mode and owner of the file that this one replaces.
        case replacing(stat)
    }

    package let path: String
    private let descriptor: Int32
    /// The temporary name is there.
    private var isNamed = true
    private let forkGeneration = motte_shim_fork_generation()

    private static let newFileMode: mode_t = 0o644
    private static let longestName = 255
    private static let numberDigits = 16
    private static let mostAttempts = 16

    package init(_ purpose: Purpose, of target: String, _ permissions: Permissions) throws(DatabaseError) {
        try TemporaryFile.checkName(of: target)
        TemporaryFile.removeLeftovers(of: target)
        (path, descriptor) = try TemporaryFile.make(purpose, target)
        do throws(DatabaseError) {
            switch permissions {
            case .new: break
            case .like(let source):
                var facts = stat()
                try set((stat(source, &facts) == 0 ? facts.st_mode & 0o777 : 0) | 0o600)
            case .replacing(let facts):
                try setOwner(facts, of: target)
                try set(facts.st_mode & 0o777)
            }
        } catch {
            discard()
            motte_shim_close_own(descriptor)
            throw error
        }
    }

    deinit {
        discard()
        motte_shim_close_own(descriptor)
    }

    /// Another descriptor of the file.
    func openAgain() throws(DatabaseError) -> Int32 {
        let other = motte_shim_duplicate(descriptor)
        guard other >= 0 else { throw SystemError.error(errno, "open", path) }
        return other
    }

    /// All of it on the disk, with mode and owner. What is read after that comes from there.
    func flush() throws(DatabaseError) {
        guard fsync(descriptor) == 0 else { throw SystemError.error(errno, "flush", path) }
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// A forked child leaves its parent's file alone.
    func discard() {
        guard isNamed, motte_shim_fork_generation() == forkGeneration else { return }
        unlink(path)
        isNamed = false
    }

    // MARK: Giving it its name.

    /// `.invalidArgument` when there is something under that name already. The file was flushed before, and with
    /// `isLasting` its name is there after a power cut as well.
    func name(_ target: String, isLasting: Bool = true) throws(DatabaseError) {
        try checkIsOurs()
        // A second name rather than a rename, which would replace what somebody else has just made.
        if link(path, target) == 0 {
            discard()
        } else {
            let number = errno
            guard number != EEXIST else { throw TemporaryFile.exists(target) }
            // Not all file systems have second names.
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(number), !TemporaryFile.isThere(target) else {
                throw SystemError.error(number, "write", target)
            }
            guard rename(path, target) == 0 else { throw SystemError.error(errno, "write", target) }
            isNamed = false
        }
        if isLasting { try TemporaryFile.flushDirectory(of: target) }
    }

    /// Takes the place of another file, which must still be the one that this was made of.
    func replace(
        _ target: String, _ identity: FileIdentity, isLasting: Bool = true
    ) throws(DatabaseError) {
        try checkIsOurs()
        guard let found = TemporaryFile.facts(target), FileIdentity(found) == identity else {
            throw DatabaseError(
                .busy, "'\(target)' was replaced by another file meanwhile, which is left as it is", path: target)
        }
        guard rename(path, target) == 0 else { throw SystemError.error(errno, "replace", target) }
        isNamed = false
        if isLasting { try TemporaryFile.flushDirectory(of: target) }
    }

    /// Somebody who may write to the directory can put another file under our name.
    private func checkIsOurs() throws(DatabaseError) {
        var ours = stat()
        guard fstat(descriptor, &ours) == 0, let found = TemporaryFile.facts(path),
            FileIdentity(found) == FileIdentity(ours)
        else {
            isNamed = false
            throw DatabaseError(
                .inputOutput, "'\(path)' was replaced by another process; nothing was changed", path: path)
        }
    }

    static func exists(_ path: String) -> DatabaseError {
        DatabaseError(.invalidArgument, "there is a file '\(path)' already; a copy replaces nothing", path: path)
    }

    /// Whether there is anything with that name, also a link that leads nowhere.
    package static func isThere(_ path: String) -> Bool { facts(path) != nil }

    /// Of what has the name itself, not of what it may lead to.
    package static func facts(_ path: String) -> stat? {
        var facts = stat()
        return lstat(path, &facts) == 0 ? facts : nil
    }

    /// So that a name that was given is there after a power cut. File systems that cannot do it say so.
    private static func flushDirectory(of path: String) throws(DatabaseError) {
        let directory = split(path).directory
        let descriptor = openDescriptor(directory, O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else {
            // A directory may allow names to be made and not to be listed.
            guard errno != EACCES else { return }
            throw SystemError.error(errno, "flush", directory)
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == EOPNOTSUPP else {
            throw SystemError.error(errno, "flush", directory)
        }
    }

    // MARK: Making it.

    /// A file cannot be opened where the one that processes share beside it can have no name.
    private static func checkName(of target: String) throws(DatabaseError) {
        let count = split(target).name.utf8.count
        let most = longestName - FileLocation.sharedEnding.utf8.count
        guard count > most, count <= longestName else { return }
        throw DatabaseError(
            .invalidArgument,
            "the name of '\(target)' has \(count) bytes, and that of a database has at most \(most): processes share a"
                + " file beside it with '\(FileLocation.sharedEnding)' behind the name", path: target)
    }

    private static func make(_ purpose: Purpose, _ target: String) throws(DatabaseError) -> (String, Int32) {
        let mode = newFileMode
        for _ in 0 ..< mostAttempts {
            var number: UInt64 = 0
            guard motte_shim_random(&number, 8) == 0 else {
                throw DatabaseError(.inputOutput, "the system gives no random numbers", path: target)
            }
            let digits = String(number, radix: 16)
            let zeros = String(repeating: "0", count: numberDigits - digits.utf8.count)
            let path = prefix(target) + purpose.rawValue + "-" + zeros + digits
            let descriptor = makeDescriptor(path, mode)
            guard descriptor >= 0 else {
                if errno == EEXIST { continue }
                throw SystemError.error(errno, "write beside", target)
            }
            let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
            // Somebody may have taken it for a leftover before it was locked.
            var facts = stat()
            if isLocked, fstat(descriptor, &facts) == 0, facts.st_nlink > 0 { return (path, descriptor) }
            motte_shim_close_own(descriptor)
        }
        throw DatabaseError(.inputOutput, "could not make a file beside '\(target)'", path: target)
    }

    private func set(_ mode: mode_t) throws(DatabaseError) {
        guard fchmod(descriptor, mode) == 0 else { throw SystemError.error(errno, "set the mode of", path) }
    }

    private func setOwner(_ facts: stat, of target: String) throws(DatabaseError) {
        var ours = stat()
        guard fstat(descriptor, &ours) == 0 else { throw SystemError.error(errno, "look at", path) }
        if ours.st_uid == facts.st_uid, ours.st_gid == facts.st_gid { return }
        guard fchown(descriptor, facts.st_uid, facts.st_gid) == 0 else {
            let number = errno
            throw DatabaseError(
                .permissionDenied,
                "'\(target)' belongs to user \(facts.st_uid) and group \(facts.st_gid), which a file that replaces it"
                    + " cannot be given by this user; let its owner do this",
                path: target, systemError: number)
        }
    }

    // MARK: What others left.

    /// Removes files that were made beside `target` and have lost their maker.
    static func removeLeftovers(of target: String) {
        let (directory, _) = split(target)
        guard let stream = motte_shim_open_folder(directory) else { return }
        defer { closedir(stream) }
        let start = Array(split(prefix(target)).name.utf8)
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard name.starts(with: start), isTemporary(name[start.count...]) else { continue }
            removeIfLeft(directory + "/" + String(decoding: name, as: UTF8.self))
        }
    }

    private static func isTemporary(_ end: ArraySlice<UInt8>) -> Bool {
        Purpose.allCases.contains { purpose in
            let word = Array((purpose.rawValue + "-").utf8)
            guard end.starts(with: word), end.count == word.count + numberDigits else { return false }
            return end.dropFirst(word.count).allSatisfy {
                (UInt8(ascii: "0") ... UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a") ... UInt8(ascii: "f")).contains($0)
            }
        }
    }

    private static func removeIfLeft(_ path: String) {
        let descriptor = motte_shim_open_plain(path, O_RDONLY | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid() || geteuid() == 0,
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        unlink(path)
    }

    /// The target and a dot; cut where the whole name would be too long for a file.
    private static func prefix(_ target: String) -> String {
        let (directory, name) = split(target)
        let longest = Purpose.allCases.reduce(0) { max($0, $1.rawValue.utf8.count) } + numberDigits + 2
        var short = Substring(name)
        while short.utf8.count > longestName - longest { short.removeLast() }
        return directory + "/" + short + "."
    }

    private static func split(_ path: String) -> (directory: String, name: String) {
        let bytes = Array(path.utf8)
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let directory = slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
        return (directory, String(decoding: bytes[(slash + 1)...], as: UTF8.self))
    }
}

extension FileIdentity {
    init(_ facts: stat) {
        self.init(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
    }
}
