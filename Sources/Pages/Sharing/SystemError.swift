/// The failures of system calls as errors of ours: one place decides which code an errno is.
import MotteValues
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The system's calls, for types with methods of the same names.
func openDescriptor(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
/// A new file; what is there already, a link too, is an error.
func makeDescriptor(_ path: String, _ mode: mode_t) -> Int32 {
    open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
}
func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

enum SystemError {
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
