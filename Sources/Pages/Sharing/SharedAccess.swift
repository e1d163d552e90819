/// Who may use the file that processes share beside a database: whoever may read the database. Readers write there
/// which versions they use, and a file of mode 444 has to be opened by its owner more than once.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct SharedAccess {
    let mode: mode_t
    /// Of the database; nil while there is none.
    private let owner: (user: uid_t, group: gid_t)?

    /// Until there is a database.
    package static let ofOwner = SharedAccess()

    private init() {
        mode = 0o600
        owner = nil
    }

    init(_ database: stat) {
        let readers = database.st_mode & 0o444
        mode = readers | readers >> 1 | 0o600
        owner = (database.st_uid, database.st_gid)
    }

    /// As far as this process may; the umask has no say. Who opens the file last, of those who may change it, says how
    /// it is.
    func apply(to descriptor: Int32) {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid() || geteuid() == 0 else { return }
        if let owner, facts.st_uid != owner.user || facts.st_gid != owner.group {
            // Only a privileged process can give it away; its group can be any of the process's own.
            if fchown(descriptor, owner.user, owner.group) != 0 { _ = fchown(descriptor, facts.st_uid, owner.group) }
        }
        if facts.st_mode & 0o777 != mode { fchmod(descriptor, mode) }
    }
}
