/// The bytes of a file that is read, mapped so that memory holds no second copy of it.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class InputFile {
    package let bytes: UnsafeRawBufferPointer
    private let isMapped: Bool

    /// All that standard input has.
    package init(standardInput: Void) throws(DatabaseError) {
        bytes = try Self.readAll(0, "standard input")
        isMapped = false
    }

    package init(_ path: String) throws(DatabaseError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path) }
        defer { close(descriptor) }
        (bytes, isMapped) = try Self.map(descriptor, path)
    }

    /// What an open file has; it may be closed afterwards.
    package init(descriptor: Int32, named name: String) throws(DatabaseError) {
        (bytes, isMapped) = try Self.map(descriptor, name)
    }

    private static func map(
        _ descriptor: Int32, _ path: String
    ) throws(DatabaseError) -> (UnsafeRawBufferPointer, isMapped: Bool) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            // Pipes and devices have no size.
            return (try Self.readAll(descriptor, path), false)
        }
        let size = Int(status.st_size)
        guard size > 0 else {
            return (UnsafeRawBufferPointer(start: nil, count: 0), false)
        }
        let address = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let address, address != MAP_FAILED else { throw Self.failure(path) }
        _ = madvise(address, size, MADV_SEQUENTIAL)
        return (UnsafeRawBufferPointer(start: address, count: size), true)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    deinit {
        guard let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress) else { return }
        if isMapped { munmap(start, bytes.count) } else { start.deallocate() }
    }

    private static func readAll(_ descriptor: Int32, _ name: String) throws(DatabaseError) -> UnsafeRawBufferPointer {
        var capacity = 1 << 20
        var buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        var count = 0
        while true {
            if count == capacity {
                let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity * 2, alignment: 16)
                larger.copyMemory(from: buffer, byteCount: count)
                buffer.deallocate()
                buffer = larger
                capacity *= 2
            }
            let got = read(descriptor, buffer + count, capacity - count)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else {
                buffer.deallocate()
                throw failure(name)
            }
            if got == 0 { return UnsafeRawBufferPointer(start: buffer, count: count) }
            count += got
        }
    }

    private static func failure(_ path: String) -> DatabaseError {
        let number = errno
        let code: ErrorCode =
            switch number {
            case ENOENT, ENOTDIR: .fileNotFound
            case EACCES, EPERM: .permissionDenied
            default: .inputOutput
            }
        return DatabaseError(
            code, "cannot read '\(path)': \(String(cString: strerror(number))); check the path and its permissions",
            path: path, systemError: number)
    }
}
