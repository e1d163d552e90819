/// A text file that is there when all of it is: written under a temporary name, flushed, read back, renamed at the end.
/// What stops the writing leaves what was there before. A file that is replaced keeps its mode and owner; a database is
/// never replaced. What is no plain file, such as a pipe, is written to as it is.
import CMotteShim
import MotteLiveObjects
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum OutputFile {
    package static func create<Result>(
        _ path: String, _ body: (inout ByteSink) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        var facts = stat()
        let isThere = stat(path, &facts) == 0
        if isThere, facts.st_mode & S_IFMT != S_IFREG { return try fill(path, body) }
        if isThere { try checkIsNoDatabase(path) }
        // A link stays: what it leads to is replaced.
        let target = isThere ? resolved(path) : path
        let temporary = "\(target).writing-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        let descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        do throws(DatabaseError) {
            if isThere { try keepAccess(facts, descriptor, path) }
            var checksum: UInt32 = 0
            let result = try text(to: descriptor, path, &checksum, body)
            guard fsync(descriptor) == 0 else { throw failure(path) }
            guard try readBack(descriptor, path) == checksum else {
                throw DatabaseError(
                    .inputOutput, "what was written to '\(path)' does not read back; it is as it was before",
                    path: path)
            }
            guard rename(temporary, target) == 0 else { throw failure(path) }
            return result
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// A pipe or a device.
    private static func fill<Result>(
        _ path: String, _ body: (inout ByteSink) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        var checksum: UInt32 = 0
        return try text(to: descriptor, path, &checksum, body)
    }

    private static func text<Result>(
        to descriptor: Int32, _ path: String, _ checksum: inout UInt32,
        _ body: (inout ByteSink) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let sum = Locked<UInt32>(0)
        var sink = ByteSink { bytes throws(DatabaseError) in
            sum.withLock { $0 = motte_shim_crc32c($0, bytes.baseAddress, bytes.count) }
            try append(bytes, descriptor, path)
        }
        let result = try body(&sink)
        try sink.finish()
        checksum = sum.withLock { $0 }
        return result
    }

    private static func readBack(_ descriptor: Int32, _ path: String) throws(DatabaseError) -> UInt32 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var checksum: UInt32 = 0
        var offset = 0
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            if count == 0 { return checksum }
            checksum = motte_shim_crc32c(checksum, buffer.baseAddress, count)
            offset += count
        }
    }

    private static func keepAccess(_ facts: stat, _ descriptor: Int32, _ path: String) throws(DatabaseError) {
        var ours = stat()
        guard fstat(descriptor, &ours) == 0 else { throw failure(path) }
        if ours.st_uid != facts.st_uid || ours.st_gid != facts.st_gid {
            guard fchown(descriptor, facts.st_uid, facts.st_gid) == 0 else { throw failure(path) }
        }
        guard fchmod(descriptor, facts.st_mode & 0o777) == 0 else { throw failure(path) }
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

    private static func append(
        _ bytes: UnsafeRawBufferPointer, _ descriptor: Int32, _ path: String
    ) throws(DatabaseError) {
        var rest = bytes
        while !rest.isEmpty {
            let written = write(descriptor, rest.baseAddress, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw failure(path) }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }

    private static func failure(_ path: String) -> DatabaseError {
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
