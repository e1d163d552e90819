/// A file kept to oneself, against every other user in every process: the sidecar's attach lock, held exclusively.
///
/// Whoever opens the file meanwhile waits for it, as for somebody who is setting the sidecar up.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct ExclusiveAttachment: ~Copyable {
    private let descriptor: Int32
    /// Against those who have another sidecar.
    private let presence: FilePresence

    private init(_ descriptor: Int32, _ presence: FilePresence) {
        self.descriptor = descriptor
        self.presence = presence
    }

    /// nil when somebody else is attached. Called holding the open-files lock.
    static func take(_ place: FileLocation) throws(DatabaseError) -> ExclusiveAttachment? {
        let path = place.sidecarPath
        let isNew = access(path, F_OK) != 0
        let descriptor = try Sidecar.openFile(path, place.sharing)
        let status = motte_shim_lock_byte(descriptor, SidecarLayout.attachByte, Int32(MOTTE_SHIM_EXCLUSIVE))
        if status == 0 {
            do throws(DatabaseError) {
                guard let identity = FileIdentity(of: descriptor) else {
                    throw SystemError.error(errno, "look at", path)
                }
                return ExclusiveAttachment(descriptor, try FilePresence(place.path, identity, sidecarPath: path))
            } catch {
                if isNew { unlink(path) }
                motte_shim_close_own(descriptor)
                throw error
            }
        }
        motte_shim_close_own(descriptor)
        guard status == EAGAIN else { throw SystemError.error(status, "lock", path) }
        return nil
    }

    /// Not called holding the open-files lock.
    deinit {
        motte_shim_open_files_lock()
        presence.close()
        motte_shim_close_own(descriptor)
        motte_shim_open_files_unlock()
    }
}
