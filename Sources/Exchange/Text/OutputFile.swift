/// A text file that is there when all of it is: written under a passing name, renamed at the end. What stops the
/// writing leaves what was there before.
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
        let passing = "\(path).writing-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let descriptor = open(passing, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(path) }
        var isOpen = true
        do throws(DatabaseError) {
            var sink = ByteSink { bytes throws(DatabaseError) in try append(bytes, descriptor, path) }
            let result = try body(&sink)
            try sink.finish()
            isOpen = false
            guard close(descriptor) == 0, rename(passing, path) == 0 else { throw failure(path) }
            return result
        } catch {
            if isOpen { close(descriptor) }
            unlink(passing)
            throw error
        }
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
