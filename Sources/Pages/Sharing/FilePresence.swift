/// That this process has a database file open, said in the file itself: a lock for reading on one byte far behind its
/// end. The sidecar says which byte, so those who share a sidecar hold the same one.
///
/// Locks, pins and announcements are in the sidecar, which is found by its name. Somebody who has another one, because
/// the first was deleted while in use, because the file has a second name, or because another directory for it was
/// given, would see nothing of the others and write over what they wrote. He holds another byte, and whoever comes
/// second finds that and is refused: each takes his own byte first and then looks at all others.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class FilePresence: Sendable {
    /// Of the file that the lock is on.
    let identity: FileIdentity
    private let descriptor: Int32

    private static let firstByte: Int64 = 1 << 62
    private static let byteCount: Int64 = 1 << 40

    /// Called holding the open-files lock, once the file is there.
    init(_ path: String, _ sidecar: FileIdentity, sidecarPath: String) throws(DatabaseError) {
        let descriptor = motte_shim_open_own(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw SystemError.error(errno, "open", path) }
        do throws(DatabaseError) {
            guard let identity = FileIdentity(of: descriptor) else { throw SystemError.error(errno, "look at", path) }
            try FilePresence.lock(descriptor, FilePresence.byte(of: sidecar), path, sidecarPath)
            self.identity = identity
            self.descriptor = descriptor
        } catch {
            motte_shim_close_own(descriptor)
            throw error
        }
    }

    /// Its length; nil once the file was deleted, or another was put in its place.
    var byteCount: Int? {
        var size: UInt64 = 0
        guard motte_shim_has_name(descriptor, &size) != 0 else { return nil }
        return Int(clamping: size)
    }

    /// Called holding the open-files lock.
    func close() { motte_shim_close_own(descriptor) }

    private static func lock(
        _ descriptor: Int32, _ byte: Int64, _ path: String, _ sidecarPath: String
    ) throws(DatabaseError) {
        let status = motte_shim_lock_byte(descriptor, byte, Int32(MOTTE_SHIM_SHARED))
        // A read-only medium may have no locks, where the sidecar lies on a file system that has.
        if [EINVAL, ENOLCK, EOPNOTSUPP, ENOSYS].contains(status) { return }
        guard status == 0 else { throw SystemError.error(status, "lock", path) }
        let others = motte_shim_test_bytes_except(descriptor, firstByte, byteCount, byte)
        if others == 0 { return }
        guard others == EAGAIN else { throw SystemError.error(others, "lock", path) }
        throw DatabaseError(
            .fileMoved,
            "'\(path)' is open elsewhere without sharing '\(sidecarPath)': that was deleted while in use, or the file"
                + " is open under another name or with another lock directory; close it there first", path: path)
    }

    private static func byte(of sidecar: FileIdentity) -> Int64 {
        let mixed = (sidecar.inode ^ (sidecar.device &* 0x9E37_79B9_7F4A_7C15)) & UInt64(byteCount - 1)
        return firstByte + Int64(mixed)
    }
}

extension FileIdentity {
    /// nil when there is nothing at the path.
    init?(at path: String) {
        var device: UInt64 = 0, inode: UInt64 = 0
        guard motte_shim_file_identity(path, &device, &inode) == 0 else { return nil }
        self.init(device: device, inode: inode)
    }

    init?(of descriptor: Int32) {
        var device: UInt64 = 0, inode: UInt64 = 0
        guard motte_shim_descriptor_identity(descriptor, &device, &inode) == 0 else { return nil }
        self.init(device: device, inode: inode)
    }

    /// Throws when the path of an open database leads to something else by now. What would be written then nobody would
    /// find again.
    func checkIsAt(_ path: String) throws(DatabaseError) {
        let found = FileIdentity(at: path)
        if found != self { throw FileIdentity.moved(path, found) }
    }

    /// `found` is what is there instead.
    static func moved(_ path: String, _ found: FileIdentity?) -> DatabaseError {
        DatabaseError(
            .fileMoved,
            (found == nil
                ? "'\(path)' was deleted or renamed while it was open"
                : "'\(path)' was replaced by another file while it was open")
                + ", so nothing can be written to it any more; close it everywhere, then open what is there",
            path: path)
    }
}

extension DatabaseError {
    /// Of a file that processes share beside an open database.
    static func sharedFileMoved(_ shared: String, beside path: String) -> DatabaseError {
        DatabaseError(
            .fileMoved,
            "'\(shared)', which processes share beside '\(path)', was deleted, replaced or overwritten while in use, so"
                + " writers would not see each other; close the database everywhere, then open it again", path: path)
    }

    /// For who opens a path while somebody still has the file open that was there before.
    static func formerFileIsOpen(_ path: String, inThisProcess: Bool) -> DatabaseError {
        DatabaseError(
            .fileMoved,
            "the file that was at '\(path)' before was deleted, renamed or replaced while open and still is open in "
                + (inThisProcess ? "this process" : "another process") + "; close it there first", path: path)
    }
}
