/// The bytes of a file that is read, mapped so that memory holds no second copy of it. What has no size, as pipes, is
/// read into memory, or into a file without a name if it is long.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class InputFile {
    package let bytes: UnsafeRawBufferPointer
    /// What is to be unmapped; nil where the bytes are to be freed.
    private let mapping: UnsafeRawBufferPointer?
    private static let mostInMemory = 16 << 20

    /// All that standard input still has.
    package convenience init(standardInput: Void) throws(DatabaseError) {
        try self.init(descriptor: 0, named: "standard input")
    }

    package init(_ path: String) throws(DatabaseError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path) }
        defer { close(descriptor) }
        (bytes, mapping) = try Self.contents(descriptor, path)
    }

    /// What an open file has from where it is; it may be closed afterwards.
    package init(descriptor: Int32, named name: String) throws(DatabaseError) {
        (bytes, mapping) = try Self.contents(descriptor, name)
    }

    private typealias Contents = (bytes: UnsafeRawBufferPointer, mapping: UnsafeRawBufferPointer?)

    private static func contents(_ descriptor: Int32, _ name: String) throws(DatabaseError) -> Contents {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(name) }
        guard status.st_mode & S_IFMT == S_IFREG else { return try readAll(descriptor, name) }
        return try map(descriptor, Int(status.st_size), from: Int(max(0, lseek(descriptor, 0, SEEK_CUR))), name)
    }

    private static func map(
        _ descriptor: Int32, _ size: Int, from offset: Int, _ name: String
    ) throws(DatabaseError) -> Contents {
        guard size > offset else { return (UnsafeRawBufferPointer(start: nil, count: 0), nil) }
        let address = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let address, address != MAP_FAILED else { throw Self.failure(name) }
        _ = madvise(address, size, MADV_SEQUENTIAL)
        let mapping = UnsafeRawBufferPointer(start: address, count: size)
        return (UnsafeRawBufferPointer(rebasing: mapping[offset...]), mapping)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    deinit {
        if let mapping {
            munmap(UnsafeMutableRawPointer(mutating: mapping.baseAddress), mapping.count)
        } else {
            bytes.baseAddress?.deallocate()
        }
    }

    private static func readAll(_ descriptor: Int32, _ name: String) throws(DatabaseError) -> Contents {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: mostInMemory, alignment: 16)
        var isKept = false
        defer { if !isKept { buffer.deallocate() } }
        let count = try fill(buffer, descriptor, name)
        guard count == buffer.count else {
            isKept = true
            return (UnsafeRawBufferPointer(rebasing: buffer[..<count]), nil)
        }
        let text = try file(of: buffer, descriptor, name)
        defer { withExtendedLifetime(text) {} }
        return try contents(text.rewound(), name)
    }

    /// What was read into the buffer and all that follows.
    private static func file(
        of buffer: UnsafeMutableRawBufferPointer, _ descriptor: Int32, _ name: String
    ) throws(DatabaseError) -> TemporaryText {
        let text = try TemporaryText(name)
        var count = buffer.count
        while count > 0 {
            try text.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            count = try fill(buffer, descriptor, name)
        }
        return text
    }

    /// Fewer than fit only at the end.
    private static func fill(
        _ buffer: UnsafeMutableRawBufferPointer, _ descriptor: Int32, _ name: String
    ) throws(DatabaseError) -> Int {
        var count = 0
        while count < buffer.count {
            let got = read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw failure(name) }
            if got == 0 { break }
            count += got
        }
        return count
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
