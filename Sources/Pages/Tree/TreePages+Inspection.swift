/// What a page file tells of itself: figures, readers, warnings, and the check of all that it has.
import MotteValues

extension TreePages {
    func oldestObservedVersion() throws(DatabaseError) -> Version? {
        sidecar.map { $0.oldestObserved() } ?? observers.oldestPosition
    }

    func statistics() throws(DatabaseError) -> PageStatistics {
        let version = try newestVersion()
        let root = shown.withLock { $0.known.root }
        var statistics = PageStatistics(
            version: version, entryCount: try treeSnapshot().entryCount(), pageBytes: image.pageBytes,
            pageCount: root.pageCount.rawValue,
            branchPageCount: root.branchPageCount.rawValue, leafPageCount: root.leafPageCount.rawValue,
            overflowPageCount: root.extentPageCount.rawValue, treeDepth: root.tree.isNone ? 0 : root.level + 1,
            fileBytes: try disk.byteCount(), mostFileBytes: image.byteCount(of: sizeLimit.pageCount),
            waitingWriterCount: waitingWriterCount)
        (
            statistics.memoryBytes, statistics.mostMemoryBytes, statistics.memoryBudgetBytes, statistics.holdCount
        ) = image.memory
        (statistics.writtenBytes, statistics.writeCallCount, statistics.flushCount) = written.withLock { $0 }
        return statistics
    }

    func liveVersionCount() throws(DatabaseError) -> Int {
        let newest = try newestVersion()
        let oldest = pins.protected(and: [newest])
        return 1 + Int(clamping: newest.rawValue - min(oldest.versions.first ?? newest, oldest.from, newest).rawValue)
    }

    func readers() throws(DatabaseError) -> [PageReader] { pins.list() }

    func openingWarning() -> PassedOver? { passedOver }

    func firstWarning() -> PassedOver? {
        shown.withLock { shown in
            defer { shown.hasWarned = true }
            return shown.hasWarned ? nil : passedOver
        }
    }

    /// Of the pages before the tree: the slot of a root is used again when there is a newer one.
    func headProblems(_ root: RootSlot) throws(DatabaseError) -> [PageProblem] {
        var problems: [PageProblem] = []
        if try !RootSlots.begins(with: head, disk) {
            problems.append(PageProblem(page: 0, description: "page 0 is not the head that the file was opened with"))
        }
        // A slot that others write may be missing when it is looked at.
        var isThere = false
        for _ in 0 ..< 5 where !isThere {
            isThere = try RootSlots.read(disk, image).contains {
                $0.version > root.version || $0.slot == root.slot && $0.version == root.version && $0.tree == root.tree
            }
        }
        if !isThere {
            let page = TreeFormat.slotPage(root.slot)
            problems.append(
                PageProblem(
                    page: page.rawValue,
                    description: "page \(page) is not the root of version \(root.version.rawValue) that belongs there"))
        }
        return problems
    }

    /// The whole file as verification sees it, and what the writer remembers beside what is in the file.
    func checkInvariants() throws(DatabaseError) {
        try whileNobodyWrites { () throws(DatabaseError) in
            if let problem = try treeSnapshot().pageProblems().first { throw .corrupted(problem.description) }
            let known = shown.withLock { $0.known }
            try known.wal.checkInvariants(known.root.wal)
            guard let state, state.root.version == known.root.version, state.root.tree == known.root.tree
            else { return }
            if let run = known.root.wal?.run {
                let hole = try disk.firstHole(in: image.offset(of: run.start) ..< image.offset(of: run.end))
                try Invariant.require(hole == nil, "wal-3: the pages of the write-ahead log are on the disk")
            }
            try state.checkInvariants(image.layout)
            let kept = try TreeState(reading: known.root, image)
            try Invariant.require(
                state.map.hasSamePages(as: kept.map), "space-5: the map in memory has the same pages as the file's")
        }
    }

    /// Of a file that is ours to write.
    private func whileNobodyWrites<Answer>(
        _ body: () throws(DatabaseError) -> Answer
    ) throws(DatabaseError) -> Answer {
        // In a write of one's own nothing else can come in between.
        let isHeldHere = isHeldHere
        let writing = canWrite && !isHeldHere ? try lockForWriting(Deadline(milliseconds: 10_000), nil) : nil
        defer { writing?.release() }
        return try body()
    }
}
