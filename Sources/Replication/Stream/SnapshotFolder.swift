/// Where the file of a snapshot is until it is in a stream: in a folder of its own, with what opening it makes beside
/// it, among those for temporary files. Beside the leader's file it would be in the way of who looks after that.
///
///     F1  it goes with what it has in it when its maker is done
///     F2  its maker holds a lock on it, which the system lets go with the process; so what a killed one has left is
///         known, and is removed by the next process that ships to a stream
///     F3  nothing else is removed: what is of another user, or held by somebody, or has another name
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import CMotteShim

package final class SnapshotFolder {
    package let path: String
    private let descriptor: Int32
    private static let prefix = "motte-snapshot-"
    private static let attempts = 8

    package init(in folder: String) throws(DatabaseError) {
        for _ in 0 ..< Self.attempts {
            var number: UInt64 = 0
            withUnsafeMutableBytes(of: &number) { _ = motte_shim_random($0.baseAddress, $0.count) }
            let path = "\(folder)/\(Self.prefix)\(String(number, radix: 16))"
            guard mkdir(path, 0o700) == 0 else {
                if errno == EEXIST { continue }
                throw LogFolder.error("make the folder", path)
            }
            // Whoever looks for leftovers may have taken it for one, before it was locked.
            guard let descriptor = Self.locked(path) else { continue }
            (self.path, self.descriptor) = (path, descriptor)
            return
        }
        throw DatabaseError(.busy, "could not make a folder for a snapshot in '\(folder)'; try again", path: folder)
    }

    deinit {
        Self.remove(path, descriptor)
        motte_shim_close_own(descriptor)
    }

    package func file(_ name: String) -> String { path + "/" + name }

    /// nil where somebody else has it, it is of another user, or it is gone.
    private static func locked(_ path: String) -> Int32? {
        let descriptor = motte_shim_open_own(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        guard descriptor >= 0 else { return nil }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            fstat(descriptor, &facts) == 0, facts.st_nlink > 0
        else {
            motte_shim_close_own(descriptor)
            return nil
        }
        return descriptor
    }

    /// F2, F3.
    static func removeLeftovers(in folder: String) {
        // What cannot be looked at or removed is in nobody's way.
        guard let names = try? LogFolder(folder, making: false).names() else { return }
        for name in names where name.hasPrefix(prefix) {
            let path = folder + "/" + name
            guard let descriptor = locked(path) else { continue }
            remove(path, descriptor)
            motte_shim_close_own(descriptor)
        }
    }

    private static func remove(_ path: String, _ descriptor: Int32) {
        guard let stream = motte_shim_open_folder(path) else { return }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { unlinkat(descriptor, name, 0) }
        }
        closedir(stream)
        rmdir(path)
    }
}
