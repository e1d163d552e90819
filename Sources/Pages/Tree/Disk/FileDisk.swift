/// A disk that is a file.
import CMotteShim
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

final class FileDisk: Disk {
    let path: String
    private let descriptor: Int32

    /// Makes the file when there is none and `mode` is given.
    init(_ path: String, isWritable: Bool, making mode: mode_t?) throws(DatabaseError) {
        self.path = path
        let access = isWritable ? O_RDWR : O_RDONLY
        descriptor =
            mode.map { open(path, access | O_CLOEXEC | O_CREAT, $0) } ?? openDescriptor(path, access | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.error(errno, "open", path) }
    }

    func close() { closeDescriptor(descriptor) }

    func byteCount() throws(DatabaseError) -> Int {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SystemError.error(errno, "look at", path) }
        return Int(facts.st_size)
    }

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) -> Int {
        var done = 0
        while done < target.count, let start = target.baseAddress {
            let count = pread(descriptor, start + done, target.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError.error(errno, "read", path) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        var done = 0
        while done < bytes.count, let start = bytes.baseAddress {
            let count = pwrite(descriptor, start + done, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError.error(count == 0 ? ENOSPC : errno, "write", path) }
            done += count
        }
    }

    func flush() throws(DatabaseError) {
        guard fdatasync(descriptor) == 0 else { throw SystemError.error(errno, "flush", path) }
    }

    func resize(to byteCount: Int) throws(DatabaseError) {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else { throw SystemError.error(errno, "resize", path) }
    }
}
