/// A file without a name, which is gone when nobody has it any more: for text that is too long for memory.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class TemporaryText {
    private let descriptor: Int32
    private let name: String

    /// `name` is that of what it is made of.
    init(_ name: String) throws(DatabaseError) {
        self.name = name
        let named = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let folder = named.isEmpty ? "/tmp" : named
        let unnamed = motte_shim_open_unnamed(folder, 0o600)
        descriptor = unnamed >= 0 ? unnamed : Self.made(in: folder)
        guard descriptor >= 0 else {
            throw Self.failure("make a temporary file; name a folder that can be written with TMPDIR")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Where the file system has only files with names.
    private static func made(in folder: String) -> Int32 {
        var template = Array((folder + "/motte-XXXXXX").utf8CString)
        let descriptor = motte_shim_open_temporary(&template)
        guard descriptor >= 0 else { return -1 }
        template.withUnsafeBufferPointer { path in if let start = path.baseAddress { _ = unlink(start) } }
        return descriptor
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        var rest = bytes
        while !rest.isEmpty {
            let written = write(descriptor, rest.baseAddress, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                throw Self.failure("write '\(name)' to a temporary file; TMPDIR names where that is")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }

    func finish() throws(DatabaseError) -> InputFile { try InputFile(descriptor: rewound(), named: name) }

    /// To be read from its beginning.
    func rewound() -> Int32 {
        lseek(descriptor, 0, SEEK_SET)
        return descriptor
    }

    private static func failure(_ what: String) -> DatabaseError {
        let number = errno
        return DatabaseError(
            [ENOSPC, EDQUOT, EFBIG].contains(number) ? .diskFull : .inputOutput,
            "cannot \(what): \(String(cString: strerror(number)))", systemError: number)
    }
}
