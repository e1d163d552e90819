/// A commit from its changes to what is written: a record of the WAL or a new root, which slot that goes to, and what
/// becomes of pages that it leaves at the end of the file.
import MotteValues

extension TreePages {
    func apply(
        _ changes: PageBatch.Changes, _ version: Version, _ compaction: OnlineCompaction?
    ) throws(DatabaseError) {
        guard !isPoisoned else {
            throw DatabaseError(
                .inputOutput,
                "an earlier commit to '\(path)' failed half-way; close it everywhere and open it again", path: path)
        }
        var known = shown.withLock { $0.known }
        try checkFollows(version, known.version)
        // Sealing takes a sequence number as well.
        guard version.rawValue < TreeFormat.versionLimit - 1, known.root.sequence < TreeFormat.versionLimit - 2 else {
            throw .corrupted("its version is too high for another commit; copy it")
        }
        let canAppend = try allocateBlocksInPlace(known.root)
        // Else the end of the file would stay for the sake of an older version that a power cut leads back to.
        try makeDurable(known.version, evenWhereRelaxed: compaction?.isSettling ?? false)
        let header = try newestHeader(known).advanced(to: version)
        let automatic = compaction == nil && compactsAutomatically ? automaticCompaction.step(known.root) : nil
        if compaction == nil, automatic == nil, canAppend,
            let record = try record(changes.entries, header, changes.byteCount, after: known)
        {
            if try append(record) { return noteCommitted(header) }
            known = shown.withLock { $0.known }
        }
        do throws(DatabaseError) {
            try commitAll(changes, header, after: known, compaction ?? automatic)
        } catch {
            guard automatic != nil, !isPoisoned else { throw error }
            // Whoever commits has asked for nothing but that.
            if error.code != .mapFull { automaticCompaction.stop() }
            try commitAll(changes, header, after: known, nil)
        }
        noteCommitted(header)
    }

    private func noteCommitted(_ header: FileHeader) {
        cachedHeader = header
        hasCommitted = true
    }

    /// With what the WAL has.
    private func commitAll(
        _ changes: PageBatch.Changes, _ header: FileHeader, after known: TreeVersion, _ compaction: OnlineCompaction?
    ) throws(DatabaseError) {
        var wal =
            compaction == nil
            ? try walRequest(known, changes.entries, changes.byteCount)
            : TreeCommit.WALRequest(isDone: true, pageCount: 0, salt: 0)
        noteForeignPages(known.root)
        let isAskedFor = !(compaction?.isAutomatic ?? true)
        do throws(DatabaseError) {
            let limit = isAskedFor ? sizeLimit.mostPages(for: .changes, beside: foreign.pages) : sizeLimit.pageCount
            try commitAll(changes, header, wal, after: known, compaction, limit: limit)
        } catch {
            guard compaction == nil, !isPoisoned, error.code == .mapFull || error.code == .diskFull else { throw error }
            // Deleting is the way out of a full file. On a full disk, what is free within the file may do for the
            // commit itself, without a new log; and a file may pass its limit for what makes the tree no larger.
            wal.pageCount = 0
            wal.salt = 0
            do throws(DatabaseError) {
                try commitOnceMore(changes, header, wal, after: known, error.code)
            } catch let second {
                throw isPoisoned ? second : error
            }
        }
    }

    private func commitOnceMore(
        _ changes: PageBatch.Changes, _ header: FileHeader, _ wal: TreeCommit.WALRequest, after known: TreeVersion,
        _ refusal: ErrorCode
    ) throws(DatabaseError) {
        // What has died since the last flush is free after one.
        if durability == .relaxed { try makeDurable(known.version, evenWhereRelaxed: true) }
        guard refusal == .mapFull else {
            let pages = image.pageCount(in: try disk.byteCount())
            let limit = min(image.pageLimit, max(known.root.pageCount, pages))
            return try commitAll(changes, header, wal, after: known, nil, limit: limit)
        }
        if durability == .relaxed {
            do throws(DatabaseError) {
                return try commitAll(changes, header, wal, after: known, nil, limit: sizeLimit.pageCount)
            } catch {
                guard error.code == .mapFull else { throw error }
            }
        }
        let limit = sizeLimit.mostPages(for: changes.effect, beside: foreign.pages)
        try commitAll(changes, header, wal, after: known, nil, limit: limit)
    }

    private func commitAll(
        _ changes: PageBatch.Changes, _ header: FileHeader, _ wal: TreeCommit.WALRequest, after known: TreeVersion,
        _ compaction: OnlineCompaction?, limit: PageCount
    ) throws(DatabaseError) {
        guard !known.wal.isEmpty else {
            return try commit(changes, header, wal, after: known, compaction, limit: limit)
        }
        // `known` keeps what the batch points into.
        try withExtendedLifetime(known) { () throws(DatabaseError) in
            let all = known.wal.batch(before: changes)
            try commit(all.changes, header, wal, after: known, compaction, limit: limit)
        }
    }

    /// False where the record could not be written and nothing of it is left: then the commit goes into the tree, which
    /// ends this log. On file systems that never overwrite, a log has no room for certain although its pages are there.
    private func append(_ record: borrowing PreparedRecord) throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            try disk.write(record.bytes, at: record.offset)
        } catch {
            // Also on the disk, lest a cut bring back what was never acknowledged.
            guard void(at: record.offset) else {
                isPoisoned = true
                throw error
            }
            if durability == .full { try flush(poisoning: nil) }
            shown.withLock { $0.known.wal.mayGrow = false }
            return false
        }
        count(record.bytes.count, calls: 1)
        if durability == .full {
            do throws(DatabaseError) { try flush(poisoning: nil) } catch {
                poison(at: record.offset)
                throw error
            }
            durable = record.next.version
        }
        let next = record.next
        shown.withLock { $0.known.wal = next }
        return true
    }

    private func commit(
        _ changes: PageBatch.Changes, _ header: FileHeader, _ wal: TreeCommit.WALRequest, after known: TreeVersion,
        _ compaction: OnlineCompaction?, limit: PageCount
    ) throws(DatabaseError) {
        let root = known.root
        try compaction?.note(bytesBefore: disk.byteCount())
        var state = try takeState(root)
        var commit = TreeCommit(
            self, &state, header.version, byteCount: changes.byteCount, wal, compaction,
            limit: limit)
        do throws(DatabaseError) {
            try commit.build(changes, header)
            try commit.requireRoom(
                SizeLimit.Growth(
                    effect: changes.effect, entryCount: changes.entries.count,
                    recordPages: image.pageCount(in: changes.recordBytes) + 1, owed: known.wal.usedPages,
                    foreign: foreign.pages))
            try commit.lookAfter()
            try write(&commit, after: root)
        } catch {
            commit.abandon()
            giveBackFailed(after: known)
            throw error
        }
        self.state = commit.next
        foreign.seen = commit.next.root.treePageCount
        foreign.pages = min(foreign.pages, foreign.seen)
        let next = TreeVersion(commit.next.root)
        shown.withLock { $0.known = next }
        guard let compaction else { return giveBackEnd(next.root, after: root) }
        commit.noteCompaction()
        giveBackCompacted(next.root, after: root, compaction)
    }

    private func newestHeader(_ known: TreeVersion) throws(DatabaseError) -> FileHeader {
        if let cachedHeader, cachedHeader.version == known.version { return cachedHeader }
        return try header
    }

    /// What others have added. What commits of this process add beyond the limit does not count, or each would raise it
    /// for the next one.
    private func noteForeignPages(_ root: RootSlot) {
        // What others delete may be what this process has added.
        foreign.pages = max(foreign.pages + root.treePageCount - foreign.seen, 0)
        foreign.seen = root.treePageCount
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
        if let wal = commit.newWAL { try allocateBlocks(of: wal) }
        try image.write(runs)
        commit.giveBackMoved()
        count(image.byteCount(of: commit.pageCount), calls: runs.count)
        let isLarge = durability == .full && commit.pageCount > TreeCommit.mostPagesInOneFlush
        if isLarge { try flush(poisoning: nil) }
        commit.place(in: freeSlot(root), durable: isLarge ? commit.version : durable ?? .zero)
        let slot = commit.next.root
        if commit.hasMovedValues { announceMoves(in: slot.version) }
        try putSlot(slot)
        if durability == .full {
            try flush(poisoning: slot)
            durable = slot.version
        }
    }

    /// Before anybody can see the version: whoever moves to it must not keep pointers from versions before. A commit
    /// that then fails costs others no more than looking for their values once more.
    private func announceMoves(in version: Version) {
        if let sidecar { sidecar.publishMoved(version) } else { shown.withLock { $0.movedIn = version } }
    }

    private func count(_ bytes: Int, calls: Int) {
        written.withLock {
            $0.bytes += bytes
            $0.calls += calls
        }
    }

    // MARK: Root slots.

    /// Neither the newest root nor the last durable one is ever written over.
    func freeSlot(_ root: RootSlot) -> Int {
        var durableRoot: Version?
        // A record of a WAL may be what is durable; then it is the root below.
        if let durable, durable < root.version { durableRoot = slotVersions.filter { $0 <= durable }.max() }
        let candidates = (0 ..< TreeFormat.slotCount).filter {
            $0 != root.slot && slotVersions[$0] != durableRoot
        }
        // What was passed over goes first.
        func age(_ slot: Int) -> Version { brokenSlots.contains(slot) ? .zero : slotVersions[slot] }
        return candidates.min { age($0) < age($1) } ?? (root.slot + 1) % TreeFormat.slotCount
    }

    func putSlot(_ slot: RootSlot) throws(DatabaseError) {
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

    // MARK: The end of the file.

    /// Pages at the end that no version needs leave the file, once that is worth a system call. A failure costs space.
    ///
    /// The file is looked at only where this process knows that it was so long: a look at its times makes file systems
    /// stamp the next write again, and the flush then writes the inode as well.
    private func giveBackEnd(_ root: RootSlot, after before: RootSlot, toTheByte: Bool = false) {
        let needed = image.byteCount(of: root.pageCount)
        // Another process may have made it so long.
        seenEnd = max(seenEnd, needed, image.byteCount(of: before.pageCount))
        let slack = toTheByte ? 0 : max(1 << 20, needed / 8)
        guard toTheByte || seenEnd - needed > slack, mayEndAt(root.version) else { return }
        do throws(DatabaseError) {
            seenEnd = try disk.byteCount()
            guard seenEnd - needed > slack else { return }
            try disk.resize(to: needed)
            seenEnd = needed
        } catch {
            return
        }
    }

    /// The commit counts, whatever becomes of this.
    private func giveBackCompacted(_ root: RootSlot, after before: RootSlot, _ compaction: OnlineCompaction) {
        do throws(DatabaseError) {
            if compaction.isEnded, !compaction.isAutomatic {
                try makeDurable(root.version, evenWhereRelaxed: true)
            }
            giveBackEnd(root, after: before, toTheByte: compaction.isEnded)
            compaction.note(bytesAfter: try disk.byteCount())
        } catch {
            compaction.note(bytesAfter: image.byteCount(of: root.pageCount))
        }
    }

    /// A power cut may lead back to an older version, which may need the end of the file; where nothing is flushed that
    /// promises nothing.
    private func mayEndAt(_ version: Version) -> Bool { durability == .none || durable == version }

    /// What a failed commit wrote behind the pages in use leaves the file: a full disk would stay full of it and refuse
    /// the smallest commit. A failure costs space.
    private func giveBackFailed(after known: TreeVersion) {
        guard !isPoisoned, mayEndAt(known.version) else { return }
        let needed = image.byteCount(of: known.root.pageCount)
        do throws(DatabaseError) {
            guard try disk.byteCount() > needed else { return }
            try disk.resize(to: needed)
            seenEnd = needed
        } catch {
            return
        }
    }

    // MARK: Durability.
}
