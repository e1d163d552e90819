/// The page file: a copy-on-write B+tree of checked pages, committed with one flush.
///
/// What a process knows is the newest root and the image of the pages; what processes share is in the sidecar: write
/// lock, published and durable version, pins. A version is visible to others once it is published, which is after it
/// was flushed; so nobody acts on what a power cut may still take back, unless the options ask for that.
import CMotteShim
import MotteValues

// @unchecked: 'known', 'current' and 'hasWarned' are only touched holding 'lock', the writer's part only holding the
// write lock.
final class TreePages: SharedPages, PageStorage, @unchecked Sendable {
    let disk: any Disk
    let image: PageImage
    let pins: PagePins
    let identity: FileIdentity?
    let durability: PageStoreOptions.Durability
    let passedOver: PassedOver?
    let walPages: Int?
    private let sidecar: Sidecar?
    private let presence: FilePresence?
    private let isWritable: Bool
    private let lock = Lock()
    /// The newest version that may be shown.
    private var known: TreeVersion
    private weak var current: TreeSnapshot?
    private var hasWarned = false
    /// By this process, for statistics.
    private let written = Locked((bytes: 0, calls: 0, flushes: 0))

    // The writer's part.
    private(set) var state: TreeState?
    /// The version in each slot, as last seen or written.
    private(set) var slotVersions: [UInt64]
    /// Root slots that opening skipped and that are not rewritten yet.
    private(set) var brokenSlots: [Int]
    /// The newest version known to be on the disk for good; without a sidecar, else it is in there.
    private var ownDurable: UInt64?
    private var isPoisoned = false
    private var lastFlush = Deadline(milliseconds: 0)
    private var cachedHeader: FileHeader?
    /// Where the file ended when this process last looked or wrote.
    private var seenEnd = 0

    /// Without flushing, this long at most between two flushes that bound what a power cut can take.
    private static let relaxedFlushMilliseconds: Int64 = 5_000

    struct Parts {
        var disk: any Disk
        var image: PageImage
        var newest: TreeVersion
        var passedOver: PassedOver?
        var header: FileHeader
        var byteCount: Int
        var slotVersions: [UInt64]
        var sidecar: Sidecar?
        var presence: FilePresence?
        var isOpenElsewhere: Bool
        var identity: FileIdentity?
        var isWritable: Bool
    }

    /// Takes over the parts.
    init(_ parts: Parts, _ options: PageStoreOptions) {
        disk = parts.disk
        image = parts.image
        known = parts.newest
        walPages = options.walPages
        passedOver = parts.passedOver
        brokenSlots = parts.passedOver?.slots ?? []
        slotVersions = parts.slotVersions
        seenEnd = parts.byteCount
        let sidecar = parts.sidecar
        self.sidecar = sidecar
        presence = parts.presence
        identity = parts.identity
        durability = options.durability
        isWritable = parts.isWritable
        pins = PagePins(sidecar)
        super.init(
            path: parts.disk.path, signal: sidecar?.makeSignal() ?? PrivateSignalWords().makeSignal(),
            observers: ObserverPositions { sidecar?.publishOldestObserved($0) }, faults: options.faults)
        signal.attach(self)
        // What one that died had announced may be behind what it left in the file.
        if !parts.isOpenElsewhere { signal.publish(parts.header.version) }
        sidecar?.markOpened()
    }

    var fileIdentity: FileIdentity? { identity }
    var canWrite: Bool { isWritable }
    var encryptionKey: [UInt8]? { image.cipher?.userKey }

    func checkKey(_ key: [UInt8]?) throws(DatabaseError) {
        guard let cipher = image.cipher else {
            if key != nil { throw FileHead.isPlain(path) }
            return
        }
        guard let key else { throw FileHead.isSealed(path) }
        guard cipher.isMade(from: key) else { throw FileHead.isOther(path) }
    }

    func closeFile() {
        seal()
        disk.close()
        presence?.close()
        sidecar?.detach()
    }

    var sidecarPath: String? { sidecar?.path }

    func checkPlace(isBeginning: Bool) throws(DatabaseError) {
        guard let identity, let sidecar, let presence else { return }
        guard isBeginning else {
            if !presence.hasName { throw FileIdentity.moved(path, FileIdentity(at: path)) }
            return
        }
        try identity.checkIsAt(path)
        // A sidecar that was only renamed is safe as well: who has another one is refused the file, see `FilePresence`.
        if !sidecar.hasName { throw .sharedFileMoved(sidecar.path, beside: path) }
    }

    // MARK: Reading.

    var header: FileHeader {
        get throws(DatabaseError) {
            // Kept until the record is decoded: it may lie in the snapshot's part of the WAL, which a commit of
            // another thread changes in place as soon as nobody shows it.
            let snapshot = try snapshot()
            defer { withExtendedLifetime(snapshot) {} }
            guard let record = try snapshot.get(FileHeader.key) else {
                throw .corrupted("the header record is missing")
            }
            faults?.willReadHeader?()
            return try FileHeader(decoding: record.bytes, path: path)
        }
    }

    func snapshot() throws(DatabaseError) -> PageSnapshot { try treeSnapshot() }

    func treeSnapshot() throws(DatabaseError) -> TreeSnapshot {
        try checkProcess()
        lock.lock()
        defer { lock.unlock() }
        while true {
            try refresh()
            if let current, current.version.rawValue == known.version, current.root.tree == known.root.tree {
                return current
            }
            let pin = pins.claim(known.version)
            // Whoever published in between may not have seen the pin; see `PagePins`.
            if sidecar != nil, signal.published.rawValue > known.version {
                pins.release(pin)
                continue
            }
            let snapshot = TreeSnapshot(known, pin, self)
            beginUse()
            current = snapshot
            return snapshot
        }
    }

    func newestVersion() throws(DatabaseError) -> Version {
        lock.lock()
        defer { lock.unlock() }
        try refresh()
        return Version(known.version)
    }

    /// Looks into the file when another process has published something newer. Called holding 'lock'.
    private func refresh() throws(DatabaseError) {
        guard sidecar != nil else { return }
        for _ in 0 ..< 10_000 {
            let published = signal.published.rawValue
            if known.version >= published { return }
            // Slots beyond the published version belong to a commit that is not flushed yet.
            let slots = try RootSlots.read(disk, image).filter { $0.version <= published }
            guard let newest = slots.max(by: { $1.isNewer(than: $0) }) else { continue }
            var next = known
            if newest.version != known.root.version {
                try checkSize(newest)
                next = TreeVersion(newest)
            }
            // Not there if a newer root was announced meanwhile, whose commit may have used these pages.
            if try next.readOn(image, through: published) { known = next }
        }
        throw .corrupted("version \(signal.published.rawValue) is announced but not there")
    }

    private func checkSize(_ root: RootSlot) throws(DatabaseError) {
        guard root.pageCount <= image.pageLimit else {
            throw DatabaseError(
                .mapFull,
                "'\(path)' has grown beyond the address space reserved for it here; open it with a larger"
                    + " 'map_size' (or MOTTE_MAP_SIZE) in every process", path: path)
        }
    }

    func protectedVersions(of root: RootSlot) -> PagePins.Protected {
        if faults?.reusesPagesTooEarly == true { return PagePins.Protected(versions: []) }
        return pins.protected(and: durable.map { [root.version, $0] } ?? [root.version])
    }

    // MARK: Writing.

    func lockAcrossProcesses(
        _ deadline: Deadline, _ cancellation: WaitCancellation?
    ) throws(DatabaseError) -> Bool {
        try sidecar?.lockForWriting(deadline, cancellation) ?? true
    }

    func unlockAcrossProcesses() {
        sidecar?.unlockForWriting()
    }

    /// Whoever held the lock before may have died between its root and its announcement.
    func newestVersionForWriter() throws(DatabaseError) -> Version {
        lock.lock()
        defer { lock.unlock() }
        guard sidecar != nil else { return Version(known.version) }
        try refresh()
        slotVersions = try RootSlots.versions(disk, image)
        if !isPoisoned, slotVersions.max() != known.root.version {
            let slots = try RootSlots.read(disk, image)
            if let newest = slots.max(by: { $1.isNewer(than: $0) }), newest.version > known.version {
                try checkSize(newest)
                if try RootSlots.isWhole(newest, image, disk) { known = TreeVersion(newest) }
            }
        }
        // The same of a record, which is there once it was flushed.
        if let durable, durable > known.version {
            var next = known
            if try next.readOn(image, through: durable) { known = next }
        }
        return Version(known.version)
    }

    func apply(
        _ entries: [PageBatch.Entry], byteCount: Int, _ version: Version
    ) throws(DatabaseError) {
        guard !isPoisoned else {
            throw DatabaseError(
                .inputOutput,
                "an earlier commit to '\(path)' failed half-way; close it everywhere and open it again", path: path)
        }
        lock.lock()
        let known = known
        lock.unlock()
        try checkFollows(version, Version(known.version))
        // Sealing takes a sequence number as well.
        guard version.rawValue < TreeFormat.versionLimit - 1, known.root.sequence < TreeFormat.versionLimit - 2 else {
            throw .corrupted("its version is too high for another commit; copy it")
        }
        try makeDurable(known.version)
        let header = try newestHeader(known).advanced(to: version)
        if let record = try record(entries, header, byteCount, after: known) {
            try append(record)
            cachedHeader = header
            return
        }
        let wal = try walRequest(known, entries, byteCount)
        if known.wal.isEmpty {
            try commit(entries, byteCount, header, wal, after: known)
        } else {
            let all = known.wal.batch(before: entries)
            try commit(all.effectiveEntries(), all.byteCount, header, wal, after: known)
        }
        cachedHeader = header
    }

    private func append(_ record: borrowing PreparedRecord) throws(DatabaseError) {
        do throws(DatabaseError) {
            try disk.write(record.bytes, at: record.offset)
            count(record.bytes.count, calls: 1)
            if durability == .full { try flush(poisoning: nil) }
        } catch {
            poison(at: record.offset)
            throw error
        }
        if durability == .full { durable = record.next.version }
        lock.lock()
        known.wal = record.next
        lock.unlock()
    }

    private func commit(
        _ entries: [PageBatch.Entry], _ byteCount: Int, _ header: FileHeader, _ wal: TreeCommit.WALRequest,
        after known: TreeVersion
    ) throws(DatabaseError) {
        let root = known.root
        var state = try takeState(root)
        var commit = TreeCommit(self, &state, header.version.rawValue, byteCount: byteCount, wal)
        do throws(DatabaseError) {
            try commit.build(entries, header)
            try write(&commit, after: root)
        } catch {
            commit.abandon()
            giveBackFailed(after: known)
            throw error
        }
        self.state = commit.next
        lock.lock()
        self.known = TreeVersion(commit.next.root)
        lock.unlock()
        giveBackEnd(commit.next.root, after: root)
    }

    private func newestHeader(_ known: TreeVersion) throws(DatabaseError) -> FileHeader {
        if let cachedHeader, cachedHeader.version.rawValue == known.version { return cachedHeader }
        return try header
    }

    /// The free-space map, read again when another process has committed or a commit of ours failed.
    private func takeState(_ root: RootSlot) throws(DatabaseError) -> TreeState {
        if let kept = state, kept.root.version == root.version, kept.root.tree == root.tree {
            state = nil
            return kept
        }
        state = nil
        return try TreeState(reading: root, image)
    }

    private func write(_ commit: inout TreeCommit, after root: RootSlot) throws(DatabaseError) {
        let runs = commit.unwrittenRuns
        try image.write(runs)
        count(commit.pageCount * image.pageBytes, calls: runs.count)
        if let wal = commit.newWAL { try extendFile(to: wal) }
        let isLarge = durability == .full && commit.pageCount > TreeCommit.mostPagesInOneFlush
        if isLarge { try flush(poisoning: nil) }
        commit.place(in: freeSlot(root), durable: isLarge ? commit.version : durable ?? 0)
        let slot = commit.next.root
        try putSlot(slot)
        if durability == .full {
            try flush(poisoning: slot)
            durable = slot.version
        }
    }

    private func count(_ bytes: Int, calls: Int) {
        written.withLock {
            $0.bytes += bytes
            $0.calls += calls
        }
    }

    /// Neither the newest root nor the last durable one is ever written over.
    private func freeSlot(_ root: RootSlot) -> Int {
        var durableRoot: UInt64?
        // A record of a WAL may be what is durable; then it is the root below.
        if let durable, durable < root.version { durableRoot = slotVersions.filter { $0 <= durable }.max() }
        let candidates = (0 ..< TreeFormat.slotCount).filter {
            $0 != root.slot && slotVersions[$0] != durableRoot
        }
        // What was passed over goes first.
        func age(_ slot: Int) -> UInt64 { brokenSlots.contains(slot) ? 0 : slotVersions[slot] }
        return candidates.min { age($0) < age($1) } ?? (root.slot + 1) % TreeFormat.slotCount
    }

    private func putSlot(_ slot: RootSlot) throws(DatabaseError) {
        do throws(DatabaseError) {
            try image.write(slot)
        } catch {
            poison(slot)
            throw error
        }
        count(image.pageBytes, calls: 1)
        slotVersions[slot.slot] = slot.version
        brokenSlots.removeAll { $0 == slot.slot }
    }

    /// A flush that failed says nothing about what is on the disk, and the next one may succeed without having written
    /// it: so nothing is built on it.
    private func flush(poisoning slot: RootSlot?) throws(DatabaseError) {
        do throws(DatabaseError) {
            try disk.flush()
            written.withLock { $0.flushes += 1 }
        } catch {
            poison(slot)
            throw error
        }
    }

    private func poison(_ slot: RootSlot?) {
        isPoisoned = true
        guard let slot else { return }
        if void(at: (TreeFormat.firstSlotPage + slot.slot) * image.pageBytes) { slotVersions[slot.slot] = 0 }
    }

    private func poison(at offset: Int) {
        isPoisoned = true
        _ = void(at: offset)
    }

    private func void(at offset: Int) -> Bool {
        // So that other processes, and this one when it opens the file again, do not find what was never acknowledged.
        let void = [UInt8](repeating: 0, count: image.pageBytes)
        do throws(DatabaseError) {
            try void.withBytes { bytes throws(DatabaseError) in
                try disk.write(bytes, at: offset)
            }
            return true
        } catch {
            // The disk takes nothing any more. Whether the commit counts is then decided when the file is opened.
            return false
        }
    }

    /// Pages at the end that no version needs leave the file, once that is worth a system call. A failure costs space.
    ///
    /// The file is looked at only where this process knows that it was so long: a look at its times makes file systems
    /// stamp the next write again, and the flush then writes the inode as well.
    private func giveBackEnd(_ root: RootSlot, after before: RootSlot) {
        let needed = root.pageCount * image.pageBytes
        // Another process may have made it so long.
        seenEnd = max(seenEnd, needed, before.pageCount * image.pageBytes)
        let slack = max(1 << 20, needed / 8)
        guard seenEnd - needed > slack, durable == root.version else { return }
        do throws(DatabaseError) {
            seenEnd = try disk.byteCount()
            guard seenEnd - needed > slack else { return }
            try disk.resize(to: needed)
            seenEnd = needed
        } catch {
            return
        }
    }

    /// What a failed commit wrote behind the pages in use leaves the file: a full disk would stay full of it and refuse
    /// the smallest commit. A failure costs space.
    private func giveBackFailed(after known: TreeVersion) {
        guard !isPoisoned, durable == known.version else { return }
        let needed = known.root.pageCount * image.pageBytes
        do throws(DatabaseError) {
            guard try disk.byteCount() > needed else { return }
            try disk.resize(to: needed)
            seenEnd = needed
        } catch {
            return
        }
    }

    // MARK: Durability.

    private var durable: UInt64? {
        get { sidecar == nil ? ownDurable : sidecar?.durable }
        set {
            ownDurable = newValue
            if let newValue { sidecar?.publishDurable(newValue) }
        }
    }

    /// Before a commit: the version it builds on is on the disk for good, so that its pages alone decide what counts.
    private func makeDurable(_ version: UInt64) throws(DatabaseError) {
        let isKnown = durable == version
        if isKnown || durability == .none { return }
        if durability == .relaxed, let durable, durable <= version, lastFlush.remaining(atMost: 1) > 0 { return }
        try flush(poisoning: nil)
        durable = version
        lastFlush = Deadline(milliseconds: TreePages.relaxedFlushMilliseconds)
    }

    /// Says in a second slot that the newest version is whole: if it is found otherwise later, that is damage. The
    /// slot before it stays, so nothing is at stake; and a file in use by others is left alone.
    private func seal() {
        guard canWrite, !isPoisoned, !known.isSealed else { return }
        do throws(DatabaseError) {
            if let sidecar {
                guard try sidecar.lockForWriting(Deadline(milliseconds: 0), nil) else { return }
            }
            defer { sidecar?.unlockForWriting() }
            guard try newestVersionForWriter().rawValue == known.version,
                known.root.sequence < TreeFormat.versionLimit - 1
            else { return }
            try makeDurableForSealing()
            var slot = known.root
            slot.slot = freeSlot(known.root)
            slot.durable = slot.version
            slot.wal?.sealed = known.version
            slot.wal?.sealedChain = known.wal.chain
            slot.sequence += 1
            try putSlot(slot)
        } catch {
            // Not sealed: as if the process had been killed.
            return
        }
    }

    private func makeDurableForSealing() throws(DatabaseError) {
        if durable == known.version { return }
        try flush(poisoning: nil)
        durable = known.version
    }

    // MARK: Inspection.

    func oldestObservedVersion() throws(DatabaseError) -> Version? {
        sidecar.map { $0.oldestObserved() } ?? observers.oldestPosition
    }

    func statistics() throws(DatabaseError) -> PageStatistics {
        let version = try newestVersion()
        lock.lock()
        let root = known.root
        lock.unlock()
        var statistics = PageStatistics(
            version: version, entryCount: try treeSnapshot().entryCount(), pageBytes: image.pageBytes,
            pageCount: root.pageCount,
            branchPageCount: root.branchPageCount, leafPageCount: root.leafPageCount,
            overflowPageCount: root.extentPageCount, treeDepth: root.tree.isNone ? 0 : root.level + 1,
            fileBytes: try disk.byteCount(), mapSizeBytes: image.pageLimit * image.pageBytes,
            waitingWriterCount: waitingWriterCount)
        (statistics.writtenBytes, statistics.writeCallCount, statistics.flushCount) = written.withLock { $0 }
        return statistics
    }

    func liveVersionCount() throws(DatabaseError) -> Int {
        let newest = try newestVersion().rawValue
        let oldest = pins.protected(and: [newest])
        return 1 + Int(clamping: newest - min(oldest.versions.first ?? newest, oldest.from, newest))
    }

    func readers() throws(DatabaseError) -> [PageReader] { pins.list() }

    func openingWarning() -> PassedOver? { passedOver }

    func firstWarning() -> PassedOver? {
        lock.lock()
        defer { lock.unlock() }
        defer { hasWarned = true }
        return hasWarned ? nil : passedOver
    }

    /// Holds the write lock, so that the newest version stays the newest while it is walked.
    func check() throws(DatabaseError) -> [PageProblem] {
        // In a write of one's own nothing else can come in between.
        let isHeldHere = isHeldHere
        let writing = canWrite && !isHeldHere ? try lockForWriting(Deadline(milliseconds: 10_000), nil) : nil
        defer { writing?.release() }
        let snapshot = try treeSnapshot()
        var check = TreeCheck(image, snapshot.root, shown: snapshot.version.rawValue)
        try check.run(isQuiet: writing != nil || isHeldHere)
        return check.problems
    }
}
