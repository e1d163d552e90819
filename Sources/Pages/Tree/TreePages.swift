/// The page file: a copy-on-write B+tree of checked pages, committed with one flush.
///
/// What a process knows is the newest root and the image of the pages; what processes share is in the sidecar: write
/// lock, published and durable version, pins. A version is visible to others once it is published, which is after it
/// was flushed; so nobody acts on what a power cut may still take back, unless the options ask for that.
import CMotteShim
import MotteValues

// @unchecked: the writer's part is only touched holding the write lock.
package final class TreePages: SharedPages, PageStorage, @unchecked Sendable {
    let disk: any Disk
    package let image: PageImage
    let sizeLimit: SizeLimit
    let pins: PagePins
    let identity: FileIdentity?
    /// The first bytes of the file, which never change.
    let head: [UInt8]
    let passedOver: PassedOver?
    /// Nobody else had the file open, and so it was read as a whole as far as it may have been cut.
    let isExamined: Bool
    let walPages: PageCount?
    let sidecar: Sidecar?
    private let presence: FilePresence?
    private let isWritable: Bool
    let compactsAutomatically: Bool
    package let shown: Locked<Shown>
    /// By this process, for statistics.
    let written = Locked((bytes: 0, calls: 0, flushes: 0))

    // The writer's part.
    package var state: TreeState?
    var automaticCompaction = AutomaticCompaction()
    /// The version in each slot, as last seen or written.
    var slotVersions: [Version]
    /// Root slots that opening skipped and that are not rewritten yet.
    var brokenSlots: [Int]
    /// The newest version known to be on the disk for good; without a sidecar, else it is in there.
    var ownDurable: Version?
    var isPoisoned = false
    /// By this process, since it opened the file.
    var hasCommitted = false
    var lastFlush = Deadline(milliseconds: 0)
    var cachedHeader: FileHeader?
    /// How often processes had attached when this one looked into the file and was alone; nil where it was not.
    var claimsWhileAlone: UInt32?
    /// Pages of the tree: those that it had when this process opened it and others have added, and all that were seen.
    var foreign: (pages: PageCount, seen: PageCount)
    /// Where the file ended when this process last looked or wrote.
    var seenEnd = 0

    /// What all threads of this process see of the file.
    package struct Shown {
        /// The newest version that may be shown.
        package var known: TreeVersion
        /// The version that was pinned last, which may be an older one.
        weak var current: PinnedVersion?
        var hasWarned = false
        /// Without a sidecar: the latest version in which a compaction has moved values.
        var movedIn = Version.zero
    }

    struct Parts {
        var disk: any Disk
        var image: PageImage
        var newest: TreeVersion
        var passedOver: PassedOver?
        var header: FileHeader
        var head: [UInt8]
        var byteCount: Int
        var slotVersions: [Version]
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
        sizeLimit = SizeLimit(image, bytes: options.mostFileBytes)
        disk.limitGrowth(to: image.byteCount(of: sizeLimit.pageCount))
        shown = Locked(Shown(known: parts.newest))
        foreign = (parts.newest.root.treePageCount, parts.newest.root.treePageCount)
        walPages = options.walPages.map { PageCount($0) }
        passedOver = parts.passedOver
        isExamined = !parts.isOpenElsewhere
        brokenSlots = parts.passedOver?.slots ?? []
        slotVersions = parts.slotVersions
        seenEnd = parts.byteCount
        let sidecar = parts.sidecar
        self.sidecar = sidecar
        presence = parts.presence
        identity = parts.identity
        head = parts.head
        isWritable = parts.isWritable
        compactsAutomatically = options.compactsAutomatically
        pins = PagePins(sidecar)
        super.init(
            path: parts.disk.path, signal: sidecar?.makeSignal() ?? PrivateSignalWords().makeSignal(),
            observers: ObserverPositions { sidecar?.publishOldestObserved($0) }, faults: options.faults,
            durability: options.durability)
        signal.attach(self)
        // What one that died had announced may be behind what it left in the file.
        if !parts.isOpenElsewhere { signal.publish(parts.header.version) }
        sidecar?.markOpened()
    }

    var fileIdentity: FileIdentity? { identity }
    var filePath: String? { path }
    var canWrite: Bool { isWritable }
    var encryptionKey: [UInt8]? { image.cipher?.userKey }
    var memoryBytes: Int { image.memory.budget }

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
        if !sidecar.isWhole { throw .sharedFileMoved(sidecar.path, beside: path) }
        guard isBeginning else {
            guard let byteCount = presence.byteCount else { throw FileIdentity.moved(path, FileIdentity(at: path)) }
            return try checkContent(byteCount)
        }
        try identity.checkIsAt(path)
        // A sidecar that was only renamed is safe as well: who has another one is refused the file, see `FilePresence`.
        if !sidecar.hasName { throw .sharedFileMoved(sidecar.path, beside: path) }
    }

    /// Before a commit: that the file still is what the newest version is in. Another program may have cut it short, or
    /// written something else over it, and what is added to that nobody would find again.
    private func checkContent(_ byteCount: Int) throws(DatabaseError) {
        let root = shown.withLock { $0.known.root }
        guard byteCount >= image.byteCount(of: root.pageCount), try RootSlots.isThere(root, head, disk, image) else {
            throw DatabaseError(
                .fileMoved,
                "'\(path)' was cut short or overwritten by another program while it was open, so nothing can be"
                    + " committed to it any more; close it everywhere, and restore it from a copy", path: path)
        }
    }

    func lockAcrossProcesses(
        _ deadline: Deadline, _ cancellation: WaitCancellation?
    ) throws(DatabaseError) -> Bool {
        try sidecar?.lockForWriting(deadline, cancellation) ?? true
    }

    func unlockAcrossProcesses() {
        sidecar?.unlockForWriting()
    }

    func protectedVersions(of root: RootSlot) -> PagePins.Protected {
        if faults?.reusesPagesTooEarly == true { return PagePins.Protected(versions: []) }
        var all = pins.protected(and: durable.map { [root.version, $0] } ?? [root.version])
        // Whose pins are lost, those may be using anything.
        if sidecar?.isWhole == false { all.from = .zero }
        return all
    }
}
