/// The bytes of the file on disk, as they lie there: by `pread`, so that a file which is cut short while it is read
/// is an error. A mapping of it would end the process (SIGBUS), and saves little: of the 730 ms that reading all
/// values of a file of 97 MB takes, 7 are reads of 16 KB at a time.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class FileBytes {
    let path: String
    /// When it was opened.
    let count: Int
    private let descriptor: Int32
    private let memory: [UInt8]

    /// A file that is in memory: of tests.
    init(_ path: String, holding bytes: [UInt8]) {
        self.path = path
        count = bytes.count
        descriptor = -1
        memory = bytes
    }

    init(_ path: String) throws(DatabaseError) {
        self.path = path
        memory = []
        descriptor = motte_shim_open_plain(path, O_RDONLY)
        guard descriptor >= 0 else {
            let number = errno
            guard ![EISDIR, ENODEV, ENXIO].contains(number) else {
                throw DatabaseError(.unsupportedFormat, "'\(path)' is not a file", path: path)
            }
            throw Self.failure(number, path)
        }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else {
            let number = errno
            close(descriptor)
            throw Self.failure(number, path)
        }
        count = Int(facts.st_size)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// All of these bytes, or an error.
    func read(_ offset: Int, _ count: Int, to target: UnsafeMutableRawPointer) throws(DatabaseError) {
        if descriptor < 0 { return try copy(offset, count, to: target) }
        var done = 0
        while done < count {
            let got = pread(descriptor, target + done, count - done, off_t(offset + done))
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw Self.failure(errno, path) }
            guard got > 0 else { throw Self.truncated(offset + count) }
            done += got
        }
    }

    private func copy(_ offset: Int, _ count: Int, to target: UnsafeMutableRawPointer) throws(DatabaseError) {
        guard count <= memory.count - offset else { throw Self.truncated(offset + count) }
        memory.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: target, count: count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset ..< offset + count]))
        }
    }

    private static func truncated(_ end: Int) -> DatabaseError {
        Damage.found("the file is truncated: it ends before byte \(end)")
    }

    private static func failure(_ number: Int32, _ path: String) -> DatabaseError {
        let code: ErrorCode =
            switch number {
            case ENOENT, ENOTDIR: .fileNotFound
            case EACCES, EPERM: .permissionDenied
            default: .inputOutput
            }
        return DatabaseError(
            code, "cannot read '\(path)': \(String(cString: strerror(number)))", path: path, systemError: number)
    }
}
