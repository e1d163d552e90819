/// A folder whose files come and go whole: each is written under a name that nobody looks for, flushed, read back and
/// compared, and only then gets its name, which nothing has then. After a power cut a name leads to all of its bytes or
/// is not there. What a maker that was killed left behind is removed by the next one.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Steps between which a process may be killed, or a disk be full: tests throw there.
package enum LogStep: CaseIterable, Sendable {
    case make, write, flush, check, name, flushFolder, remove
}

package typealias LogFault = (LogStep) throws(DatabaseError) -> Void

package struct LogFolder {
    package let path: String
    private let fault: LogFault?
    private static let unfinished = ".making-"
    private static let fileMode: mode_t = 0o644
    private static let folderMode: mode_t = 0o755

    /// The folder is made if it is not there.
    package init(_ path: String, making: Bool, fault: LogFault? = nil) throws(DatabaseError) {
        self.path = path
        self.fault = fault
        guard making else { return }
        guard mkdir(path, Self.folderMode) == 0 || errno == EEXIST else { throw Self.error("make the folder", path) }
    }

    package func file(_ name: String) -> String { path + "/" + name }

    /// Names of files, in their order; none where there is no folder.
    package func names() throws(DatabaseError) -> [String] {
        guard let stream = motte_shim_open_folder(path) else {
            if errno == ENOENT { return [] }
            throw Self.error("read the folder", path)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            // The end is no error, and an error not the end.
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        guard errno == 0 else { throw Self.error("read the folder", path) }
        return names.sorted { $0.precedesInBytes($1) }
    }

    /// nil where there is no such file.
    package func read(_ name: String) throws(DatabaseError) -> [UInt8]? {
        let descriptor = motte_shim_open_plain(file(name), O_RDONLY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.error("read", file(name))
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw Self.error("read", file(name)) }
        var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes { space in
                pread(descriptor, space.baseAddress.map { $0 + done }, space.count - done, off_t(done))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.error("read", file(name)) }
            guard count > 0 else { break }
            done += count
        }
        bytes.removeLast(bytes.count - done)
        return bytes
    }

    /// False where there is a file of that name, which is left as it is.
    package func create(_ name: String, _ bytes: [UInt8]) throws(DatabaseError) -> Bool {
        let temporary = try made(bytes)
        try fault?(.name)
        guard link(temporary, file(name)) == 0 else {
            let number = errno
            unlink(temporary)
            if number == EEXIST { return false }
            throw Self.error("name", file(name), number)
        }
        unlink(temporary)
        try flushFolder()
        return true
    }

    /// In place of the one that there may be.
    package func replace(_ name: String, _ bytes: [UInt8]) throws(DatabaseError) {
        let temporary = try made(bytes)
        try fault?(.name)
        guard rename(temporary, file(name)) == 0 else {
            let number = errno
            unlink(temporary)
            throw Self.error("name", file(name), number)
        }
        try flushFolder()
    }

    /// A name for a file that somebody else makes, to be given its own by `name(_:as:)`.
    package func temporaryName() -> String {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number) { _ = motte_shim_random($0.baseAddress, $0.count) }
        return file(Self.unfinished + String(number, radix: 16))
    }

    package func remove(_ name: String) throws(DatabaseError) {
        try fault?(.remove)
        guard unlink(file(name)) == 0 || errno == ENOENT else { throw Self.error("remove", file(name)) }
    }

    /// Only for whoever has the folder to himself.
    package func removeUnfinished() throws(DatabaseError) {
        guard let stream = motte_shim_open_folder(path) else { throw Self.error("read the folder", path) }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(Self.unfinished) { unlink(file(name)) }
        }
    }

    /// With what makers have left in it that were killed, and what `isLeft`; it stays if there is anything else.
    func removeFolder(_ isLeft: (String) -> Bool) {
        guard let stream = motte_shim_open_folder(path) else { return }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(Self.unfinished) || isLeft(name) { unlink(file(name)) }
        }
        closedir(stream)
        rmdir(path)
    }

    package func flushFolder() throws(DatabaseError) {
        try fault?(.flushFolder)
        let descriptor = motte_shim_open(path, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { throw Self.error("flush the folder", path) }
        defer { close(descriptor) }
        // Some file systems cannot, and say so.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw Self.error("flush the folder", path) }
    }

    func step(_ step: LogStep) throws(DatabaseError) { try fault?(step) }

    // MARK: Making

    private func made(_ bytes: [UInt8]) throws(DatabaseError) -> String {
        try fault?(.make)
        let name = temporaryName()
        let descriptor = motte_shim_open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, Self.fileMode)
        guard descriptor >= 0 else { throw Self.error("write", name) }
        defer { close(descriptor) }
        do throws(DatabaseError) {
            try write(bytes, to: descriptor, name)
            try fault?(.flush)
            guard fsync(descriptor) == 0 else { throw Self.error("flush", name) }
            posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
            try fault?(.check)
            guard try isThere(bytes, in: descriptor, name) else {
                throw DatabaseError(
                    .inputOutput, "what was written to '\(path)' is not what is read back; nothing was named",
                    path: path)
            }
        } catch {
            unlink(name)
            throw error
        }
        return name
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32, _ name: String) throws(DatabaseError) {
        // Half of it, so that a test meets a torn file.
        let half = fault == nil ? 0 : bytes.count / 2
        try write(bytes, 0 ..< half, to: descriptor, name)
        try fault?(.write)
        try write(bytes, half ..< bytes.count, to: descriptor, name)
    }

    private func write(
        _ bytes: [UInt8], _ range: Range<Int>, to descriptor: Int32, _ name: String
    ) throws(DatabaseError) {
        var done = range.lowerBound
        while done < range.upperBound {
            let count = bytes.withUnsafeBytes { all in
                pwrite(descriptor, all.baseAddress.map { $0 + done }, range.upperBound - done, off_t(done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.error("write", name) }
            done += count
        }
    }

    private func isThere(_ bytes: [UInt8], in descriptor: Int32, _ name: String) throws(DatabaseError) -> Bool {
        var block = [UInt8](repeating: 0, count: min(1 << 20, bytes.count + 1))
        var done = 0
        while true {
            let count = block.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(done)) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.error("read back", name) }
            if count == 0 { return done == bytes.count }
            guard done + count <= bytes.count, bytes[done ..< done + count].elementsEqual(block[..<count]) else {
                return false
            }
            done += count
        }
    }

    static func error(_ action: String, _ path: String, _ number: Int32 = errno) -> DatabaseError {
        let code: ErrorCode =
            switch number {
            case ENOENT, ENOTDIR: .fileNotFound
            case EACCES, EPERM, EROFS: .permissionDenied
            case ENOSPC, EDQUOT, EFBIG: .diskFull
            default: .inputOutput
            }
        return DatabaseError(
            code, "could not \(action) '\(path)': \(String(cString: strerror(number)))", path: path,
            systemError: number)
    }
}

/// Held by the one process that may make files in a folder.
package final class LogFolderLock {
    private let descriptor: Int32

    package init(_ folder: LogFolder) throws(DatabaseError) {
        let path = folder.file(".lock")
        descriptor = motte_shim_open_own(path, O_RDWR | O_CREAT, 0o644)
        guard descriptor >= 0 else { throw LogFolder.error("lock", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            motte_shim_close_own(descriptor)
            throw DatabaseError(
                .busy, "another process ships to '\(folder.path)'; end that one first", path: folder.path)
        }
    }

    deinit { motte_shim_close_own(descriptor) }
}
