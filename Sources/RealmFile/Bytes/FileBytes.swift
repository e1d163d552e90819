/// The bytes of the file on disk, as they lie there: by `pread`, so that a file which is cut short while it is read is an
/// error. A mapping of it would end the process (SIGBUS), and saves little: reads of 16 KB at a time take 2 ms of the 40
/// that a file of 11 MB takes.
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

    init(_ path: String) throws(DatabaseError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(errno, path) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else {
            let number = errno
            close(descriptor)
            throw Self.failure(number, path)
        }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw DatabaseError(.unsupportedFormat, "'\(path)' is not a file", path: path)
        }
        count = Int(facts.st_size)
    }

    deinit { close(descriptor) }

    /// All of these bytes, or an error.
    func read(_ offset: Int, _ count: Int, to target: UnsafeMutableRawPointer) throws(DatabaseError) {
        var done = 0
        while done < count {
            let got = pread(descriptor, target + done, count - done, off_t(offset + done))
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw Self.failure(errno, path) }
            guard got > 0 else {
                throw Damage.found("the file is truncated: it ends before byte \(offset + count)")
            }
            done += got
        }
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
