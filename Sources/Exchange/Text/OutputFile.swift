/// A text file that is there when all of it is: written without a name, flushed, read back, named at the end. What
/// stops the writing, the end of the process too, leaves what was there before and nothing beside it; only where the
/// file system has no files without names, a process that is killed leaves one with a temporary name. A file that is
/// replaced keeps its mode and owner; a database is never replaced. What is no plain file, such as a pipe, is written
/// to as it is.
import CMotteShim
import MotteLiveObjects
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class OutputFile {
    package let path: String
    package let descriptor: Int32
    /// What gets the text: the file of that path, or the one that a link there leads to. nil: the text is written to it
    /// as it comes.
    private let target: String?
    /// The name until the end; nil for a file that has none.
    private var temporary: String?
    private var checksum: UInt32 = 0
    private var isWhole = true

    package static func create<Result>(
        _ path: String, _ body: (inout ByteSink) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let file = try OutputFile(path)
        var sink = ByteSink { bytes throws(DatabaseError) in try file.append(bytes) }
        let result = try body(&sink)
        try sink.finish()
        try file.finish()
        return result
    }

    package init(_ path: String) throws(DatabaseError) {
        self.path = path
        var facts = stat()
        let isThere = stat(path, &facts) == 0
        guard !isThere || facts.st_mode & S_IFMT == S_IFREG else {
            // A pipe or a device.
            target = nil
            descriptor = motte_shim_open(path, O_WRONLY, 0)
            guard descriptor >= 0 else { throw Self.failure(path) }
            return
        }
        if isThere { try Self.checkIsNoDatabase(path) }
        // A link stays: what it leads to is replaced.
        let target = isThere ? Self.resolved(path) : path
        self.target = target
        let unnamed = motte_shim_open_unnamed(Self.folder(of: target), Self.newFileMode)
        let name = unnamed < 0 ? Self.temporaryName(target) : nil
        temporary = name
        descriptor =
            name.map { motte_shim_open($0, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, Self.newFileMode) } ?? unnamed
        guard descriptor >= 0 else {
            temporary = nil
            throw Self.failure(path)
        }
        if isThere { try keepAccess(facts) }
    }

    deinit {
        if let temporary { unlink(temporary) }
        if descriptor >= 0 { close(descriptor) }
    }

    // MARK: Its text

    package func append(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        var rest = bytes
        while !rest.isEmpty {
            let written = write(descriptor, rest.baseAddress, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                isWhole = false
                throw Self.failure(path)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
        noteWritten(bytes)
    }

    /// What somebody else has written to the descriptor.
    package func noteWritten(_ bytes: UnsafeRawBufferPointer) {
        checksum = motte_shim_crc32c(checksum, bytes.baseAddress, bytes.count)
    }

    /// Something could not be written: the file gets no name.
    package func noteFailure() { isWhole = false }

    // MARK: Its name

    /// Once, when all is written.
    package func finish() throws(DatabaseError) {
        guard isWhole else {
            throw DatabaseError(
                .inputOutput, "'\(path)' is as it was before: not all could be written that was to be in it", path: path
            )
        }
        guard let target else { return }
        guard fsync(descriptor) == 0 else { throw Self.failure(path) }
        guard try readBack() == checksum else {
            throw DatabaseError(
                .inputOutput, "what was written to '\(path)' does not read back; it is as it was before", path: path)
        }
        if temporary == nil {
            let name = Self.temporaryName(target)
            guard motte_shim_name_file(descriptor, name) == 0 else { throw Self.failure(path) }
            temporary = name
        }
        guard let name = temporary, rename(name, target) == 0 else { throw Self.failure(path) }
        temporary = nil
        try Self.flushFolder(of: target)
    }

    private static let newFileMode: mode_t = 0o644

    private static func temporaryName(_ target: String) -> String {
        "\(target).writing-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    }

    private static func folder(of path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// So that a name is there after a power cut. Folders that cannot be opened or flushed are let be.
    static func flushFolder(of path: String) throws(DatabaseError) {
        let descriptor = motte_shim_open(folder(of: path), O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == EOPNOTSUPP else { throw failure(path) }
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private func readBack() throws(DatabaseError) -> UInt32 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var checksum: UInt32 = 0
        var offset = 0
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(path) }
            if count == 0 { return checksum }
            checksum = motte_shim_crc32c(checksum, buffer.baseAddress, count)
            offset += count
        }
    }

    // MARK: What it replaces

    private func keepAccess(_ facts: stat) throws(DatabaseError) {
        var ours = stat()
        guard fstat(descriptor, &ours) == 0 else { throw Self.failure(path) }
        if ours.st_uid != facts.st_uid || ours.st_gid != facts.st_gid {
            guard fchown(descriptor, facts.st_uid, facts.st_gid) == 0 else { throw Self.failure(path) }
        }
        guard fchmod(descriptor, facts.st_mode & 0o777) == 0 else { throw Self.failure(path) }
    }

    /// Whoever names a database as the place of a text has mixed up two names. One with a damaged head is known by its
    /// name or by its sidecar: who salvages it into itself would lose everything.
    private static func checkIsNoDatabase(_ path: String) throws(DatabaseError) {
        let seemsOne =
            path.utf8.suffix(6).elementsEqual(".motte".utf8) || access(path + "-shared", F_OK) == 0
        let isOne = try Session.isDatabase(path)
        guard seemsOne || isOne else { return }
        throw DatabaseError(
            .invalidArgument, "'\(path)' is a Motte database, which no text replaces; name another file", path: path)
    }

    static func failure(_ path: String) -> DatabaseError {
        let number = errno
        let code: ErrorCode =
            switch number {
            case ENOENT, ENOTDIR: .fileNotFound
            case EACCES, EPERM, EROFS: .permissionDenied
            case ENOSPC, EDQUOT, EFBIG: .diskFull
            default: .inputOutput
            }
        return DatabaseError(
            code, "cannot write '\(path)': \(String(cString: strerror(number)))", path: path, systemError: number)
    }
}
