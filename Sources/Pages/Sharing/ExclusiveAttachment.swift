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
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, place.mode)
        guard descriptor >= 0 else { throw SystemError.error(errno, "open", path) }
        do throws(DatabaseError) { try Sidecar.refuseDatabase(descriptor, path) } catch {
            close(descriptor)
            throw error
        }
        guard motte_shim_close_in_child(descriptor) == 0 else {
            close(descriptor)
            throw DatabaseError(.outOfHandles, "this process has too many Motte files open", path: path)
        }
        let status = motte_shim_lock_byte(descriptor, SidecarLayout.attachByte, Int32(MOTTE_SHIM_EXCLUSIVE))
        if status == 0 {
            do throws(DatabaseError) {
                guard let identity = FileIdentity(of: descriptor) else {
                    throw SystemError.error(errno, "look at", path)
                }
                return ExclusiveAttachment(descriptor, try FilePresence(place.path, identity, sidecarPath: path))
            } catch {
                if isNew { unlink(path) }
                forget(descriptor)
                throw error
            }
        }
        forget(descriptor)
        guard status == EAGAIN else { throw SystemError.error(status, "lock", path) }
        return nil
    }

    private static func forget(_ descriptor: Int32) {
        motte_shim_forget_descriptor(descriptor)
        close(descriptor)
    }

    /// Not called holding the open-files lock.
    deinit {
        motte_shim_open_files_lock()
        presence.close()
        Self.forget(descriptor)
        motte_shim_open_files_unlock()
    }
}
