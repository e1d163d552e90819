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
        shown.withLock { shown in
            defer { shown.hasWarned = true }
            return shown.hasWarned ? nil : passedOver
        }
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
