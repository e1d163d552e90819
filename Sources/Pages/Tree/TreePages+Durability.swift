/// What of a page file is on the disk for good: flushes, what becomes of a file whose disk failed, and sealing the
/// newest version when the file is closed.
import MotteValues

extension TreePages {
    /// Without flushing, this long at most between two flushes that bound what a power cut can take.
    private static let relaxedFlushMilliseconds: Int64 = 5_000

    /// A flush that failed says nothing about what is on the disk, and the next one may succeed without having written
    /// it: so nothing is built on it.
    func flush(poisoning slot: RootSlot?) throws(DatabaseError) {
        do throws(DatabaseError) {
            try disk.flush()
            written.withLock { $0.flushes += 1 }
        } catch {
            poison(slot)
            throw error
        }
    }

    func poison(_ slot: RootSlot?) {
        isPoisoned = true
        guard let slot else { return }
        if void(at: image.offset(of: TreeFormat.slotPage(slot.slot))) { slotVersions[slot.slot] = .zero }
    }

    func poison(at offset: Int) {
        isPoisoned = true
        _ = void(at: offset)
    }

    func void(at offset: Int) -> Bool {
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

    // MARK: The durable version.

    var durable: Version? {
        get { sidecar == nil ? ownDurable : sidecar?.durable }
        set {
            ownDurable = newValue
            if let newValue { sidecar?.publishDurable(newValue) }
        }
    }

    /// Before a commit: the version it builds on is on the disk for good, so that its pages alone decide what counts.
    func makeDurable(_ version: Version, evenWhereRelaxed: Bool = false) throws(DatabaseError) {
        let isKnown = durable == version
        if isKnown || durability == .none && !evenWhereRelaxed { return }
        if durability == .relaxed, !evenWhereRelaxed, let durable, durable <= version,
            lastFlush.remaining(atMost: 1) > 0
        {
            return
        }
        try flush(poisoning: nil)
        durable = version
        lastFlush = Deadline(milliseconds: TreePages.relaxedFlushMilliseconds)
    }

    /// Says in a second slot that the newest version is whole: if it is found otherwise later, that is damage. The
    /// slot before it stays, so nothing is at stake; and a file in use by others is left alone.
    ///
    /// Who only reads changes nothing, and whoever came while others had the file open, and has committed nothing, does
    /// not know enough of it. Who has opened the file in spite of something newer leaves that as it is, so that the
    /// next one is warned as well and salvage finds it, until a commit writes over it.
    func seal() {
        guard canWrite, hasWriters, hasCommitted || isExamined && passedOver == nil, !isPoisoned,
            !shown.withLock({ $0.known.isSealed })
        else { return }
        do throws(DatabaseError) {
            if let sidecar {
                guard try sidecar.lockForWriting(Deadline(milliseconds: 0), nil) else { return }
            }
            defer { sidecar?.unlockForWriting() }
            // Others may have committed since.
            _ = try newestVersionForWriter()
            try checkPlace(isBeginning: false)
            let known = shown.withLock { $0.known }
            guard known.root.sequence < TreeFormat.versionLimit - 1 else { return }
            try makeDurableForSealing(known.version)
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

    private func makeDurableForSealing(_ version: Version) throws(DatabaseError) {
        if durable == version { return }
        try flush(poisoning: nil)
        durable = version
    }
}
