/// The failures of system calls as errors of ours: one place decides which code an errno is.
import CMotteShim
import MotteValues
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The system's calls, for types with methods of the same names.
func openDescriptor(_ path: String, _ flags: Int32) -> Int32 { motte_shim_open(path, flags, 0) }
/// A new file that a forked child does not keep, to be closed as such; what is there already, a link too, is an error.
func makeDescriptor(_ path: String, _ mode: mode_t) -> Int32 {
    motte_shim_open_own(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
}
func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

enum SystemError {
    /// Of a file that was opened as a plain one.
    static func notOpened(_ number: Int32, _ path: String) -> DatabaseError {
        switch number {
        case EISDIR: DatabaseError(.notAMotteFile, "'\(path)' is a directory, not a Motte file", path: path)
        case ENODEV, ENXIO: DatabaseError(.notAMotteFile, "'\(path)' is not a plain file, not a Motte file", path: path)
        default: error(number, "open", path)
        }
    }

    /// `action` completes "could not ...".
    static func error(_ number: Int32, _ action: String, _ path: String) -> DatabaseError {
        let text = String(cString: strerror(number))
        return DatabaseError(code(number), "could not \(action) '\(path)': \(text)", path: path, systemError: number)
    }

    static func code(_ number: Int32) -> ErrorCode {
        switch number {
        case ENOENT, ENOTDIR: .fileNotFound
        case EACCES, EPERM, EROFS: .permissionDenied
        case ENOSPC, EDQUOT, EFBIG: .diskFull
        case ENOMEM: .outOfMemory
        case EAGAIN, ENOLCK, EDEADLK: .lockFailed
        case EINVAL: .invalidArgument
        default: .inputOutput
        }
    }
}
