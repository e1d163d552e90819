/// A file deleted with its sidecar. Nobody may have it open, and it has to be Motte's: a text with that name is
/// not touched, while a damaged file of ours goes.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension PageStore {
    /// Whether there is something at the path, whatever it is; whether a database in memory is open.
    package static func exists(_ options: PageStoreOptions) throws(DatabaseError) -> Bool {
        switch options.location {
        case .memory(let identifier): return identifier.map(PageRegistry.isOpen) ?? false
        case .file(let path):
            var facts = stat()
            if stat(path, &facts) == 0 { return true }
            guard errno == ENOENT || errno == ENOTDIR else { throw SystemError.error(errno, "look at", path) }
            return false
        }
    }

    /// Whether a file begins like a database; false for what is not there or cannot be read.
    package static func isDatabase(_ path: String) throws(DatabaseError) -> Bool {
        guard access(path, R_OK) == 0 else { return false }
        let disk = try FileDisk(path, isWritable: false, making: nil)
        defer { disk.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 32, alignment: 16)
        defer { buffer.deallocate() }
        guard try disk.read(buffer, at: 0) == buffer.count else { return false }
        return FileHead.hasMagic(UnsafeRawBufferPointer(buffer))
    }

    /// False when there is no such file; `.busy` when somebody has it open.
    package static func deleteFile(_ options: PageStoreOptions) throws(DatabaseError) -> Bool {
        guard case .file(let path) = options.location else {
            throw DatabaseError(
                .unsupported,
                "a database in memory has no file to delete; it goes with its last session")
        }
        guard try exists(options) else { return false }
        let place = try FileLocation(path, options)
        guard let identity = place.identity else { return false }
        let held = HeldFile(place.path)
        defer { held.end() }
        let attachment = try PageRegistry.reserve(place, identity, acceptsDamage: true)
        defer { PageRegistry.giveBack(identity) }
        guard unlink(place.path) == 0 else { throw SystemError.error(errno, "delete", place.path) }
        TemporaryFile.removeLeftovers(of: place.path)
        unlink(place.sidecarPath)
        place.flushDirectory()
        _ = consume attachment
        return true
    }
}
