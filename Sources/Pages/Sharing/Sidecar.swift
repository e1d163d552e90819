/// The memory and the locks that processes share about one file; see `SidecarLayout` for the bytes.
///
/// Attached by the first opener in a process and kept until the last user goes. Whoever finds nobody attached sets it
/// up again, so nothing in it outlives its users, and a machine that lost power needs no repair of it.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// @unchecked: shared words are touched atomically, the rest is constant.
package final class Sidecar: @unchecked Sendable {
    let path: String
    /// Which file it is, by whatever name.
    let identity: FileIdentity
    private let descriptor: Int32
    private let base: UnsafeMutableRawPointer
    private var slot = 0

    /// Called holding the open-files lock.
    package init(attaching path: String, _ sharing: SharedAccess, timeoutMilliseconds: Int64) throws(DatabaseError) {
        self.path = path
        (descriptor, base, identity) = try Sidecar.attach(path, sharing, Deadline(milliseconds: timeoutMilliseconds))
        do throws(DatabaseError) {
            slot = try claimSlot(Deadline(milliseconds: timeoutMilliseconds))
        } catch {
            motte_shim_unmap(base, SidecarLayout.byteCount)
            motte_shim_close_own(descriptor)
            throw error
        }
    }

    /// Called holding the open-files lock, in the process that attached.
    package func detach() {
        motte_shim_store64(word64(SidecarLayout.slotOffset(slot) + SidecarLayout.slotOldest), 0)
        motte_shim_store64(word64(SidecarLayout.slotOffset(slot) + SidecarLayout.slotProcess), 0)
        motte_shim_unmap(base, SidecarLayout.byteCount)
        // Which drops the locks of the descriptor: the slot's and the shared attach lock.
        motte_shim_close_own(descriptor)
    }

    /// After a database could not be made: what was made for it goes with it, unless another process is attached, which
    /// may make the database itself. Whoever opened this sidecar and waits for it looks again at its name. Called as
    /// `detach` is.
    func removeAndDetach() {
        defer { detach() }
        let isAlone = motte_shim_lock_byte(descriptor, SidecarLayout.attachByte, Int32(MOTTE_SHIM_EXCLUSIVE)) == 0
        if isAlone, FileIdentity(at: path) == identity { unlink(path) }
    }

    /// False once it was deleted or replaced: whoever comes next finds another one.
    var hasName: Bool { motte_shim_has_name(descriptor, nil) != 0 }

    /// False once it was cut short or written over: who takes part finds no others in it. See `motte_shim_map`.
    var isWhole: Bool { Sidecar.isSetUp(base) }

    /// Of a file that was just made, which has other permissions than one that is not there.
    func adopt(_ sharing: SharedAccess) { sharing.apply(to: descriptor) }

    // MARK: What it says.

    func makeSignal() -> CommitSignal {
        CommitSignal(
            futex: word32(SidecarLayout.versionWordOffset), number: word64(SidecarLayout.versionOffset), keeping: self)
    }

    /// The first to know the file's UUID and which one it is writes them down; another file under the same name is then
    /// found out, also an older copy of the same one. Called holding the opening lock.
    func checkFile(_ uuid: FileHeader.UUID, _ file: FileIdentity?) -> Bool {
        if let file, !isWrittenDown(file.inode, SidecarLayout.inodeOffset) { return false }
        if let file, !isWrittenDown(file.device &+ 1, SidecarLayout.deviceOffset) { return false }
        let high = word64(SidecarLayout.uuidOffset)
        let low = word64(SidecarLayout.uuidOffset + 8)
        if motte_shim_load64(high) == 0 {
            motte_shim_store64(low, uuid.low)
            _ = motte_shim_compare_exchange64(high, 0, uuid.high)
        }
        return motte_shim_load64(high) == uuid.high && motte_shim_load64(low) == uuid.low
    }

    private func isWrittenDown(_ value: UInt64, _ offset: Int) -> Bool {
        _ = motte_shim_compare_exchange64(word64(offset), 0, value)
        return motte_shim_load64(word64(offset)) == value
    }

    func publishOldestObserved(_ version: Version?) {
        let value = version.map { $0.rawValue &+ 1 } ?? 0
        motte_shim_store64(word64(SidecarLayout.slotOffset(slot) + SidecarLayout.slotOldest), value)
    }

    /// The oldest position of all processes. Slots of dead processes are cleared on the way.
    func oldestObserved() -> Version? {
        var oldest: UInt64?
        for other in 0 ..< SidecarLayout.slotCount where isTaken(other) {
            guard isAlive(other) else { continue }
            let value = motte_shim_load64(word64(SidecarLayout.slotOffset(other) + SidecarLayout.slotOldest))
            if value != 0 { oldest = min(oldest ?? value, value) }
        }
        return oldest.map { Version($0 - 1) }
    }

    // MARK: Pins and durability.

    package var ownSlot: Int { slot }

    /// Slots that other processes claimed; some of those may have died since.
    package func otherSlots() -> [Int] { (0 ..< SidecarLayout.slotCount).filter { $0 != slot && isTaken($0) } }

    /// Another one once another process has attached.
    var claimCount: UInt32 { motte_shim_load32(word32(SidecarLayout.claimsOffset)) }

    func isAlive(_ other: Int) -> Bool {
        if other == slot { return true }
        // Before the test: by the time it has been made the slot may have gone to somebody else.
        let claim = claim(other)
        if motte_shim_test_byte(descriptor, SidecarLayout.slotByte(other)) != 0 { return true }
        clear(other, ifStill: claim)
        return false
    }

    package func process(_ slot: Int) -> Int32 { Int32(truncatingIfNeeded: claim(slot)) }

    func pinRow(_ slot: Int) -> UnsafeMutablePointer<UInt64> { word64(SidecarLayout.pinRowOffset(slot)) }

    /// The newest version that some process saw flushed.
    var durable: Version? {
        let value = motte_shim_load64(word64(SidecarLayout.durableOffset))
        return value == 0 ? nil : Version(value - 1)
    }

    /// Called holding the write lock.
    func publishDurable(_ version: Version) {
        motte_shim_store64(word64(SidecarLayout.durableOffset), version.rawValue + 1)
    }

    /// The latest version in which a compaction has moved values.
    var movedIn: Version { Version(motte_shim_load64(word64(SidecarLayout.movedOffset))) }

    /// Called holding the write lock, before others can find the version.
    func publishMoved(_ version: Version) {
        motte_shim_store64(word64(SidecarLayout.movedOffset), version.rawValue)
    }

    /// Whether other processes have the file open, so that its newest version is the announced one. A process that is
    /// attached may still be waiting to open it, and then nothing may have been announced yet, or the last thing by
    /// one that died. Called holding the opening lock.
    func isFileOpenElsewhere() -> Bool {
        motte_shim_load64(word64(SidecarLayout.openedOffset)) != 0 && otherSlots().contains { isAlive($0) }
    }

    /// Called holding the opening lock, once a version is announced.
    func markOpened() { motte_shim_store64(word64(SidecarLayout.openedOffset), 1) }

    // MARK: The write lock.

    /// Takes the turnstile, then the lock, then leaves the turnstile: who waits stands in the turnstile, so that a
    /// process that writes again and again cannot keep the lock from it. Where nobody waits there is none to pass.
    /// False when the time is over.
    func lockForWriting(_ deadline: Deadline, _ cancellation: WaitCancellation?) throws(DatabaseError) -> Bool {
        if motte_shim_load32(word32(SidecarLayout.waitersOffset)) == 0 {
            let status = motte_shim_lock_byte(descriptor, SidecarLayout.writeLockByte, Int32(MOTTE_SHIM_EXCLUSIVE))
            if status != EAGAIN { return try isTaken(status) }
        }
        guard try lockByte(SidecarLayout.turnstileByte, deadline, cancellation) else { return false }
        defer {
            _ = motte_shim_lock_byte(descriptor, SidecarLayout.turnstileByte, Int32(MOTTE_SHIM_UNLOCK))
            announceRelease()
        }
        return try lockByte(SidecarLayout.writeLockByte, deadline, cancellation)
    }

    /// By another process.
    func isLockedForWriting() -> Bool { motte_shim_test_byte(descriptor, SidecarLayout.writeLockByte) != 0 }

    func unlockForWriting() {
        _ = motte_shim_lock_byte(descriptor, SidecarLayout.writeLockByte, Int32(MOTTE_SHIM_UNLOCK))
        announceRelease()
    }

    func lockForOpening(_ deadline: Deadline) throws(DatabaseError) -> Bool {
        try lockByte(SidecarLayout.openingByte, deadline, nil)
    }

    func unlockForOpening() {
        _ = motte_shim_lock_byte(descriptor, SidecarLayout.openingByte, Int32(MOTTE_SHIM_UNLOCK))
        announceRelease()
    }

    private func announceRelease() {
        let releases = word32(SidecarLayout.releasesOffset)
        _ = motte_shim_add32(releases, 1)
        if motte_shim_load32(word32(SidecarLayout.waitersOffset)) != 0 { motte_shim_futex_wake_all(releases) }
    }

    /// Releases wake the waiters; the kernel's release of a dead holder's lock does not, so nobody sleeps long.
    private func lockByte(
        _ byte: Int64, _ deadline: Deadline, _ cancellation: WaitCancellation?
    ) throws(DatabaseError) -> Bool {
        var status = motte_shim_lock_byte(descriptor, byte, Int32(MOTTE_SHIM_EXCLUSIVE))
        guard status == EAGAIN else { return try isTaken(status) }
        let releases = word32(SidecarLayout.releasesOffset)
        let waiters = word32(SidecarLayout.waitersOffset)
        _ = motte_shim_add32(waiters, 1)
        defer { _ = motte_shim_add32(waiters, UInt32.max) }
        while true {
            let seen = motte_shim_load32(releases)
            status = motte_shim_lock_byte(descriptor, byte, Int32(MOTTE_SHIM_EXCLUSIVE))
            guard status == EAGAIN else { return try isTaken(status) }
            let remaining = deadline.remaining(atMost: 20)
            if remaining <= 0 || cancellation?.isCancelled == true { return false }
            _ = motte_shim_futex_wait(releases, seen, remaining)
        }
    }

    private func isTaken(_ status: Int32) throws(DatabaseError) -> Bool {
        guard status == 0 else { throw SystemError.error(status, "lock", path) }
        return true
    }

    // MARK: Setting up.

    static func openFile(_ path: String, _ sharing: SharedAccess) throws(DatabaseError) -> Int32 {
        let descriptor = motte_shim_open_own(path, O_RDWR | O_CREAT | O_NOFOLLOW, sharing.mode)
        guard descriptor >= 0 else {
            let number = errno
            guard SystemError.code(number) == .permissionDenied else { throw SystemError.error(number, "open", path) }
            throw DatabaseError(
                .permissionDenied,
                "could not open '\(path)', which processes share beside the file: \(String(cString: strerror(number)));"
                    + (access(path, F_OK) == 0
                        ? " let its owner open the file once, which gives it the permissions of the file"
                        : " make the directory writable, name a lock directory, or open with 'immutable' if nothing can"
                            + " change the file"),
                path: path, systemError: number)
        }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            motte_shim_close_own(descriptor)
            throw DatabaseError(.lockFailed, "'\(path)' must be a plain file", path: path)
        }
        do throws(DatabaseError) { try refuseDatabase(descriptor, path) } catch {
            motte_shim_close_own(descriptor)
            throw error
        }
        sharing.apply(to: descriptor)
        return descriptor
    }

    /// A database that somebody named as another one's sidecar would be is neither written over nor deleted.
    static func refuseDatabase(_ descriptor: Int32, _ path: String) throws(DatabaseError) {
        var start = [UInt8](repeating: 0, count: FileHead.magic.count)
        guard pread(descriptor, &start, start.count, 0) == start.count, start == FileHead.magic else { return }
        throw DatabaseError(
            .lockFailed,
            "'\(path)' is a database, and has the name of the file that processes share beside another one; rename one"
                + " of the two, or name a lock directory", path: path)
    }

    /// Opens and enters; again when the sidecar that was opened has been deleted with its database meanwhile, and
    /// whoever comes next would open another.
    private static func attach(
        _ path: String, _ sharing: SharedAccess, _ deadline: Deadline
    ) throws(DatabaseError) -> (Int32, UnsafeMutableRawPointer, FileIdentity) {
        while true {
            let descriptor = try openFile(path, sharing)
            do throws(DatabaseError) {
                let base = try enter(descriptor, path, deadline)
                guard let identity = FileIdentity(of: descriptor) else {
                    motte_shim_unmap(base, SidecarLayout.byteCount)
                    throw SystemError.error(errno, "look at", path)
                }
                if FileIdentity(at: path) == identity { return (descriptor, base, identity) }
                motte_shim_unmap(base, SidecarLayout.byteCount)
                guard deadline.remaining(atMost: 1) > 0 else { throw keptElsewhere(path) }
            } catch {
                motte_shim_close_own(descriptor)
                throw error
            }
            motte_shim_close_own(descriptor)
        }
    }

    private static func keptElsewhere(_ path: String) -> DatabaseError {
        DatabaseError(.busy, "another process keeps '\(path)' to itself", path: path, systemError: EAGAIN)
    }

    /// Maps the sidecar and holds the shared attach lock; sets it up when nobody else is attached.
    private static func enter(
        _ descriptor: Int32, _ path: String, _ deadline: Deadline
    ) throws(DatabaseError) -> UnsafeMutableRawPointer {
        while true {
            let first = motte_shim_lock_byte(descriptor, SidecarLayout.attachByte, Int32(MOTTE_SHIM_EXCLUSIVE))
            if first == 0 {
                let base = try allocateAndMap(descriptor, path)
                setUp(base)
                // Going from exclusive to shared leaves no gap in which another could set up.
                _ = motte_shim_lock_byte(descriptor, SidecarLayout.attachByte, Int32(MOTTE_SHIM_SHARED))
                return base
            }
            guard first == EAGAIN else { throw SystemError.error(first, "lock", path) }
            let joined = motte_shim_lock_byte(descriptor, SidecarLayout.attachByte, Int32(MOTTE_SHIM_SHARED))
            if joined == 0 { return try mapExisting(descriptor, path) }
            guard joined == EAGAIN else { throw SystemError.error(joined, "lock", path) }
            // Somebody is setting up, or is compacting; both end.
            guard deadline.remaining(atMost: 1) > 0 else { throw keptElsewhere(path) }
            usleep(500)
        }
    }

    private static func allocateAndMap(
        _ descriptor: Int32, _ path: String
    ) throws(DatabaseError) -> UnsafeMutableRawPointer {
        // Allocated, not only extended: a full disk is an error here instead of a signal at the first store. What has
        // its blocks is left alone, since asking for them again writes the inode.
        var facts = stat()
        if fstat(descriptor, &facts) == 0, facts.st_size >= off_t(SidecarLayout.byteCount),
            Int(facts.st_blocks) * 512 >= SidecarLayout.byteCount
        {
            return try map(descriptor, path)
        }
        let status = posix_fallocate(descriptor, 0, off_t(SidecarLayout.byteCount))
        guard status == 0 else {
            // Made just now, or left by one that ended here: there is nothing in it, and nobody else is attached.
            let isOwn = FileIdentity(of: descriptor).map { $0 == FileIdentity(at: path) } ?? false
            if facts.st_size == 0, isOwn { unlink(path) }
            throw SystemError.error(status, "allocate", path)
        }
        return try map(descriptor, path)
    }

    private static func mapExisting(
        _ descriptor: Int32, _ path: String
    ) throws(DatabaseError) -> UnsafeMutableRawPointer {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SystemError.error(errno, "look at", path) }
        guard facts.st_size >= off_t(SidecarLayout.byteCount) else { throw foreign(path) }
        let base = try map(descriptor, path)
        guard isSetUp(base) else {
            motte_shim_unmap(base, SidecarLayout.byteCount)
            throw foreign(path)
        }
        return base
    }

    private static func isSetUp(_ base: UnsafeMutableRawPointer) -> Bool {
        base.load(fromByteOffset: SidecarLayout.magicOffset, as: UInt64.self) == SidecarLayout.magic
            && base.load(fromByteOffset: SidecarLayout.numberOffset, as: UInt32.self) == SidecarLayout.number
    }

    private static func foreign(_ path: String) -> DatabaseError {
        DatabaseError(
            .lockFailed, "'\(path)' is in use by another version of Motte; close it there first", path: path)
    }

    private static func map(_ descriptor: Int32, _ path: String) throws(DatabaseError) -> UnsafeMutableRawPointer {
        guard let address = motte_shim_map(descriptor, 0, SidecarLayout.byteCount) else {
            throw SystemError.error(errno, "map", path)
        }
        return address
    }

    /// Nobody is attached. Rows of pins are cleared by who claims their slot.
    private static func setUp(_ base: UnsafeMutableRawPointer) {
        memset(base, 0, SidecarLayout.pinsOffset)
        base.storeBytes(of: SidecarLayout.number, toByteOffset: SidecarLayout.numberOffset, as: UInt32.self)
        base.storeBytes(
            of: UInt32(SidecarLayout.byteCount), toByteOffset: SidecarLayout.byteCountOffset, as: UInt32.self)
        base.storeBytes(of: SidecarLayout.magic, toByteOffset: SidecarLayout.magicOffset, as: UInt64.self)
    }

    // MARK: Slots.

    private func claimSlot(_ deadline: Deadline) throws(DatabaseError) -> Int {
        guard try lockByte(SidecarLayout.claimByte, deadline, nil) else {
            throw Sidecar.keptElsewhere(path)
        }
        defer {
            _ = motte_shim_lock_byte(descriptor, SidecarLayout.claimByte, Int32(MOTTE_SHIM_UNLOCK))
            announceRelease()
        }
        let process = getpid()
        let start = motte_shim_own_start()
        let nonce = motte_shim_image_nonce()
        for other in 0 ..< SidecarLayout.slotCount where isTaken(other) {
            let claim = claim(other)
            if motte_shim_test_byte(descriptor, SidecarLayout.slotByte(other)) == 0 {
                clear(other, ifStill: claim)
                continue
            }
            let offset = SidecarLayout.slotOffset(other)
            guard Int32(truncatingIfNeeded: claim) == process,
                motte_shim_load64(word64(offset + SidecarLayout.slotStart)) == start
            else { continue }
            throw DatabaseError(
                .secondCopy,
                "another copy of Motte in this process has the file of '\(path)' open; use one copy of the library",
                path: path)
        }
        for free in 0 ..< SidecarLayout.slotCount where !isTaken(free) {
            let status = motte_shim_lock_byte(descriptor, SidecarLayout.slotByte(free), Int32(MOTTE_SHIM_EXCLUSIVE))
            if status == EAGAIN { continue }
            guard status == 0 else { throw SystemError.error(status, "lock", path) }
            let offset = SidecarLayout.slotOffset(free)
            motte_shim_store64(word64(offset + SidecarLayout.slotOldest), 0)
            // A process that died here may have left pins behind.
            memset(base + SidecarLayout.pinRowOffset(free), 0, SidecarLayout.pinRowBytes)
            motte_shim_store64(word64(offset + SidecarLayout.slotStart), start)
            motte_shim_store64(word64(offset + SidecarLayout.slotNonce), nonce)
            let number = motte_shim_add32(word32(SidecarLayout.claimsOffset), 1)
            let claim = UInt64(number) << 32 | UInt64(UInt32(bitPattern: process))
            motte_shim_store64(word64(offset + SidecarLayout.slotProcess), claim)
            // Once more: who read the number in between did not see the slot.
            _ = motte_shim_add32(word32(SidecarLayout.claimsOffset), 1)
            return free
        }
        throw DatabaseError(
            .busy, "\(SidecarLayout.slotCount) processes have the file of '\(path)' open already", path: path)
    }

    private func isTaken(_ slot: Int) -> Bool { claim(slot) != 0 }

    /// The process of a slot, and in the upper half the number of its claim: ids of processes come again, and two
    /// containers on one file may have processes of the same id.
    package func claim(_ slot: Int) -> UInt64 {
        motte_shim_load64(word64(SidecarLayout.slotOffset(slot) + SidecarLayout.slotProcess))
    }

    /// Frees the slot of a process that is gone: nobody held its byte after `claim` was read. Another process may have
    /// taken the slot since.
    package func clear(_ slot: Int, ifStill claim: UInt64) {
        guard claim != 0 else { return }
        let word = word64(SidecarLayout.slotOffset(slot) + SidecarLayout.slotProcess)
        _ = motte_shim_compare_exchange64(word, claim, 0)
    }

    private func word32(_ offset: Int) -> UnsafeMutablePointer<UInt32> {
        (base + offset).assumingMemoryBound(to: UInt32.self)
    }

    private func word64(_ offset: Int) -> UnsafeMutablePointer<UInt64> {
        (base + offset).assumingMemoryBound(to: UInt64.self)
    }
}
