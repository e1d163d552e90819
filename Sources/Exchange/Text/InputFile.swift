/// The bytes of a file that is read, mapped so that memory holds no second copy of it. What has no size, as pipes, is
/// read into memory, or into a file without a name if it is long.
///
/// Whoever reads a text from its beginning to its end says now and then how far (`letGo`): so memory does not hold all
/// of what was read, however long it is. A file that is cut short meanwhile is zeros from there on, and
/// `requireWhole` says so.
import CMotteShim
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
        let descriptor = motte_shim_open(path, O_RDONLY, 0)
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
        try checkAddressSpace(for: size, name)
        guard let address = motte_shim_map_to_read(descriptor, size) else { throw Self.failure(name) }
        _ = madvise(address, size, MADV_SEQUENTIAL)
        let mapping = UnsafeRawBufferPointer(start: address, count: size)
        Self.mapped.withLock { $0.append(Mapped(bytes: mapping)) }
        return (UnsafeRawBufferPointer(rebasing: mapping[offset...]), mapping)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    deinit {
        if let mapping {
            Self.mapped.withLock { all in all.removeAll { $0.bytes.baseAddress == mapping.baseAddress } }
            motte_shim_unmap(UnsafeMutableRawPointer(mutating: mapping.baseAddress), mapping.count)
        } else {
            bytes.baseAddress?.deallocate()
        }
    }

    // MARK: Memory

    private struct Mapped {
        let bytes: UnsafeRawBufferPointer
        /// What was let go of, from the beginning on.
        var gone = 0

        /// Whether a byte of it is there; the end may be another one's beginning.
        func holds(_ place: UnsafeRawPointer) -> Bool {
            guard let start = bytes.baseAddress else { return false }
            return start <= place && place < start + max(bytes.count, 1)
        }

        /// The end as well.
        func contains(_ place: UnsafeRawPointer) -> Bool {
            guard let start = bytes.baseAddress else { return false }
            return start <= place && place <= start + bytes.count
        }
    }

    private static let mapped = Locked<[Mapped]>(ofProcess: [])
    /// Less is not worth a call of the system.
    static let pieceBytes = 4 << 20

    /// What lies in a mapped file before `end` is not looked at again soon. It may be: then it is read again.
    static func letGo(before end: UnsafeRawPointer) {
        mapped.withLock { all in
            guard let index = all.firstIndex(where: { $0.contains(end) }), let start = all[index].bytes.baseAddress
            else { return }
            let page = Int(sysconf(Int32(_SC_PAGESIZE)))
            let read = (end - start) / page * page
            // A text is being read once more.
            if read < all[index].gone { all[index].gone = 0 }
            guard read - all[index].gone >= pieceBytes else { return }
            let from = UnsafeMutableRawPointer(mutating: start + all[index].gone)
            madvise(from, read - all[index].gone, MADV_DONTNEED)
            all[index].gone = read
        }
    }

    /// Throws where a mapped file was cut short since it was opened: what was read then was not in it.
    static func requireWhole(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        guard let place = bytes.baseAddress, let file = mapping(of: place)?.baseAddress, motte_shim_is_lost(file) != 0
        else { return }
        throw DatabaseError(
            .inputOutput, "the file was cut short, or could no longer be read, while it was being imported; try again")
    }

    private static func mapping(of place: UnsafeRawPointer) -> UnsafeRawBufferPointer? {
        mapped.withLock { all in all.first { $0.holds(place) }?.bytes }
    }

    /// Where the process may have little address space, memory for what is read would be missing in the middle.
    private static func checkAddressSpace(for size: Int, _ name: String) throws(DatabaseError) {
        let left = Int(clamping: motte_shim_address_space_left())
        guard left != .max, size > left - leastRest else { return }
        throw DatabaseError(
            .outOfMemory,
            "'\(name)' has \(size) bytes, and the limit of this process's address space (ulimit -v) leaves \(left): too"
                + " few to read it; raise the limit, or split the file", path: name)
    }

    /// For what an import needs beside its text.
    private static let leastRest = 96 << 20

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
