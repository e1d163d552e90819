/// Which version of a page file counts now, and snapshots of it: what others have published is looked up before
/// anybody is shown anything.
import MotteValues

extension TreePages {
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

    func treeSnapshot() throws(DatabaseError) -> TreeSnapshot { TreeSnapshot(try pinnedVersion()) }

    private func pinnedVersion() throws(DatabaseError) -> PinnedVersion {
        try checkProcess()
        return try shown.withLock { shown throws(DatabaseError) in
            while true {
                try refresh(&shown)
                if let current = shown.current, current.version == shown.known.version,
                    current.root.tree == shown.known.root.tree
                {
                    return current
                }
                let known = shown.known
                let pin = pins.claim(known.version)
                // Whoever published in between may not have seen the pin; see `PagePins`.
                if sidecar != nil, signal.published > known.version {
                    pins.release(pin)
                    continue
                }
                let snapshot = PinnedVersion(known, pin, self)
                beginUse()
                shown.current = snapshot
                return snapshot
            }
        }
    }

    /// The latest version in which a compaction has moved values, or tried to. Read after a version was pinned it is
    /// none before that one's moves, since it is announced before the version.
    var movedIn: Version { sidecar?.movedIn ?? shown.withLock { $0.movedIn } }

    func newestVersion() throws(DatabaseError) -> Version {
        try shown.withLock { shown throws(DatabaseError) in
            try refresh(&shown)
            return shown.known.version
        }
    }

    /// Looks into the file when another process has published something newer.
    private func refresh(_ shown: inout Shown) throws(DatabaseError) {
        guard sidecar != nil, shown.known.version < signal.published else { return }
        let hold = PageHold(image)
        defer { withExtendedLifetime(hold) {} }
        for _ in 0 ..< 10_000 {
            let published = signal.published
            if shown.known.version >= published { return }
            // Slots beyond the published version belong to a commit that is not flushed yet.
            let slots = try RootSlots.read(disk, image).filter { $0.version <= published }
            guard let newest = slots.max(by: { $1.isNewer(than: $0) }) else { continue }
            var next = shown.known
            if newest.version != next.root.version {
                try checkSize(newest)
                next = TreeVersion(newest)
            }
            // Not there if a newer root was announced meanwhile, whose commit may have used these pages.
            if try next.readOn(image, through: published) { shown.known = next }
        }
        throw .corrupted("version \(signal.published.rawValue) is announced but not there")
    }

    private func checkSize(_ root: RootSlot) throws(DatabaseError) {
        guard root.pageCount <= image.pageLimit else {
            throw .corrupted("its root counts more pages than any file has (T7)")
        }
    }

    /// Whoever held the lock before may have died between its root and its announcement. Where nobody else has had the
    /// file since this process looked, there is nothing in it that this process has not written.
    func newestVersionForWriter() throws(DatabaseError) -> Version {
        try shown.withLock { shown throws(DatabaseError) in
            guard let sidecar else { return shown.known.version }
            // Before the look: who attaches from here on is noticed the next time.
            let claims = sidecar.claimCount
            if claims == claimsWhileAlone { return shown.known.version }
            claimsWhileAlone = nil
            try refresh(&shown)
            slotVersions = try RootSlots.versions(disk, image)
            if !isPoisoned, slotVersions.max() != shown.known.root.version {
                let slots = try RootSlots.read(disk, image)
                if let newest = slots.max(by: { $1.isNewer(than: $0) }), newest.version > shown.known.version {
                    let hold = PageHold(image)
                    defer { withExtendedLifetime(hold) {} }
                    try checkSize(newest)
                    if try RootSlots.isWhole(newest, image, disk) { shown.known = TreeVersion(newest) }
                }
            }
            // The same of a record, which is there once it was flushed.
            if let durable, durable > shown.known.version {
                var next = shown.known
                if try next.readOn(image, through: durable) { shown.known = next }
            }
            if sidecar.otherSlots().isEmpty { claimsWhileAlone = claims }
            return shown.known.version
        }
    }
}
