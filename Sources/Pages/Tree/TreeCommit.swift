/// One commit, from a sorted run of changes to a durable root:
///
///     1  pages that no protected version reaches any more become free
///     2  new nodes and extents are built in the image, on free pages
///     3  the free-space map gets a record of what was taken and what died
///     4  new pages are written, neighbours in one call
///     5  the root slot is written
///     6  one flush makes all of it durable together
///
/// A cut before 6 leaves some of 4 and 5: then the slot is torn, or its walk finds a page that is not there, and the
/// version before counts, none of whose pages was touched. When much was written it is flushed before 5 as well, so
/// that opening never walks far. A disk that fails in 4 has changed nothing that counts. One that fails in 5 or 6 may
/// or may not have the commit: the slot is made void, and the store takes no more commits until it is reopened.
import CMotteShim
import MotteValues

package struct TreeCommit {
    /// More pages than this are flushed before the root slot is written.
    static let mostPagesInOneFlush: PageCount = 256

    private static let mostLikelyPages: PageCount = 24
    /// Free pages in a row whose memory is worth a system call; fewer are soon used again.
    private static let fewestToForget: PageCount = 256

    /// What becomes of the WAL.
    package struct WALRequest {
        /// Its records are in the entries of this commit, or it is not to be gone on with.
        var isDone: Bool
        /// Pages of a new one; 0: none.
        var pageCount: PageCount
        var salt: UInt64

        package init(isDone: Bool, pageCount: PageCount, salt: UInt64) {
            self.isDone = isDone
            self.pageCount = pageCount
            self.salt = salt
        }
    }

    let pages: TreePages
    package let image: PageImage
    package let version: Version
    package var writer: TreeWriter

    /// The state and the slot of the next version.
    package var next: TreeState
    /// Pages of a WAL that this commit makes.
    private(set) var newWAL: PageRun?
    private let compaction: OnlineCompaction?
    private let rootBefore: RootSlot
    /// Where the compaction continues with the next commit.
    private var position: [UInt8]?

    /// Takes the state's map, so that it is nobody else's. The file may grow to `limit` pages; nil: to as many as for
    /// commits that make the tree larger.
    package init(
        _ pages: TreePages, _ state: inout TreeState, _ version: Version, byteCount: Int, _ wal: WALRequest,
        _ compaction: OnlineCompaction? = nil, limit: PageCount? = nil
    ) {
        let limit = limit ?? pages.sizeLimit.pageCount
        self.compaction = compaction
        self.pages = pages
        self.version = version
        image = pages.image
        var map = state.map
        state.map = SpaceMap(pageCount: 0)
        next = state
        for run in map.release(pages.protectedVersions(of: state.root)) where run.count >= TreeCommit.fewestToForget {
            image.giveBackMemory(of: run)
        }
        map.dropEnd()
        rootBefore = state.root
        // Before nodes and values take pieces of the run that the WAL before the last one has left; and only where its
        // records will find room in the tree.
        if wal.pageCount > 0, pages.sizeLimit.hasRoom(for: wal.pageCount * 3, in: map),
            let run = map.takeWhole(wal.pageCount, limit: limit)
        {
            newWAL = run
            next.root.wal = WALLocation(run: run, birth: version, salt: wal.salt)
        } else if wal.isDone {
            next.root.wal = nil
        } else {
            // Not begun, so it serves the new root as well.
            next.root.wal?.sealed = .zero
            next.root.wal?.sealedChain = 0
        }
        // Commits in a row resemble each other; a run that is longer than needed would hardly ever be free.
        let few = max(state.likelyPageCount, PageCount(state.root.level + 3))
        let wish = min(1024, image.pageCount(in: byteCount) + min(few, TreeCommit.mostLikelyPages))
        let evacuation = compaction?.evacuation(map)
        writer = TreeWriter(image, PageAllocator(image, map, wishing: wish, pages.path, limit: limit), version: version)
        writer.allocator.evacuation = evacuation
        if wal.isDone, let old = state.root.wal { writer.free(old.run, birth: old.birth) }
    }

    package mutating func build(_ changes: PageBatch.Changes, _ header: FileHeader) throws(DatabaseError) {
        writer.early.expect(changes.spills)
        // The header record belongs to every commit, and before all other keys.
        var batch = PageBatch()
        for key in try findMoves() { batch.move(key) }
        batch.put(FileHeader.key, header.encoded())
        var all = batch.entries
        if all.count == 1 {
            all += changes.entries
        } else {
            // What a change says of a key counts, not that it was to be moved.
            for change in changes.entries { batch.add(change) }
            all = batch.effectiveEntries()
        }
        let root = next.root
        let result: Result<(root: PageRef, level: Int), DatabaseError> = all.withUnsafeBufferPointer { all in
            do throws(DatabaseError) {
                return .success(try writer.apply(all, to: root.tree, level: root.level))
            } catch {
                return .failure(error)
            }
        }
        let (tree, level) = try result.get()
        next.root.version = version
        next.root.tree = tree
        next.root.level = level
        next.root.entryCount += writer.entryDelta
        next.root.branchPageCount += writer.branchDelta
        next.root.leafPageCount += writer.leafDelta
        next.root.extentPageCount += writer.extentDelta
        try requireCounts()
        try account()
        withExtendedLifetime(batch.count) {}
    }

    /// Refuses a commit that makes the tree larger and passes the limit.
    func requireRoom(_ growth: SizeLimit.Growth) throws(DatabaseError) {
        guard compaction?.isAutomatic ?? true, next.root.treePageCount > rootBefore.treePageCount else { return }
        guard pages.sizeLimit.allows(growth, from: rootBefore, to: next.root, next.map) else {
            throw writer.allocator.full
        }
    }

    /// What the compaction moves with this commit.
    private mutating func findMoves() throws(DatabaseError) -> [[UInt8]] {
        guard let compaction, let evacuation = writer.allocator.evacuation, !compaction.isSettling else { return [] }
        var walk = compaction.walk(image, evacuation)
        try walk.run(next.root)
        position = walk.position
        return walk.keys
    }

    /// A root that somebody made may count fewer nodes than this commit has replaced.
    private func requireCounts() throws(DatabaseError) {
        let root = next.root
        let pages = [root.branchPageCount, root.leafPageCount, root.extentPageCount]
        guard root.entryCount >= 0, pages.allSatisfy({ $0 >= 0 }) else {
            throw .corrupted("its root counts fewer entries or pages than there are (T7)")
        }
        guard max(root.entryCount, pages.reduce(0, max).rawValue) < RootSlot.countLimit else {
            throw .corrupted("its root counts more entries or pages than any file has (T7)")
        }
    }

    /// The slot it goes to, and the version that was durable before.
    mutating func place(in slot: Int, durable: Version) {
        next.root.slot = slot
        next.root.durable = durable
        next.root.sequence += 1
    }

    /// What was moved is in the file: it is not kept in memory for that.
    func giveBackMoved() {
        for run in writer.moves.runs { image.giveBackMemory(of: run) }
    }

    /// Values have other places now although their keys were not written.
    var hasMovedValues: Bool { !writer.moves.runs.isEmpty }

    /// Tells the compaction what this commit, which is in the file, has done for it.
    func noteCompaction() {
        let moves = writer.moves
        compaction?.note(
            OnlineCompaction.Step(
                moved: moves.moved, left: moves.left, largestLeft: moves.largestLeft, position: position), next.map,
            image)
    }

    /// What was built is not to be written by the next commit, over pages that are that one's then.
    package mutating func abandon() {
        writer.allocator.abandon()
        image.built.removeAll()
    }

    /// Pages this commit made.
    var runs: [PageRun] { writer.allocator.sortedRuns }
    /// Those of them that are not in the file yet.
    var unwrittenRuns: [PageRun] { writer.unwrittenRuns }
    var pageCount: PageCount { writer.allocator.used.reduce(0) { $0 + $1.count } }

    // MARK: The free-space map.

    private mutating func account() throws(DatabaseError) {
        let room = image.pageBytes - image.layout.slotTrailerBytes - next.root.logOffset
        // What died is sorted first: nodes of one commit lie side by side and take one step of the record.
        let record = self.record(writer.freed)
        if isMapMoving {
            try writeCheckpoint()
        } else if record.isComplete, next.root.log.count + record.bytes.count <= room {
            next.root.log += record.bytes
        } else if record.isComplete, next.root.logPageBytes + next.root.log.count + record.bytes.count < checkpointLimit
        {
            try writeLogPage(record)
        } else {
            try writeCheckpoint()
        }
        writer.allocator.giveBack()
        var map = writer.allocator.map
        map.dropEnd()
        for dead in TreeCommit.merged(writer.freed) { map.die(dead.run, birth: dead.birth, death: version) }
        next.map = map
        next.root.pageCount = map.pageCount
        next.likelyPageCount = pageCount
        next.pagesToGain = map.pagesToGain
    }

    /// The free-space map lies on pages that are to become free.
    private var isMapMoving: Bool {
        guard let evacuation = writer.allocator.evacuation else { return false }
        return (next.logPages + [next.root.checkpoint]).contains {
            !$0.isNone && evacuation.concerns($0.run(image.layout))
        }
    }

    /// The log may grow as large as the checkpoint that would replace it.
    private var checkpointLimit: Int {
        max(8 * image.pageBytes, SpaceLog.checkpointBytes(writer.allocator.map.runCount))
    }

    private func record(_ freed: [TreeWriter.Freed]) -> SpaceLog {
        var record = SpaceLog(version)
        // Ascending.
        var before = newWAL
        for run in runs {
            if let wal = before, wal.start < run.start {
                record.take(wal)
                before = nil
            }
            record.take(run)
        }
        if let before { record.take(before) }
        for dead in TreeCommit.merged(freed) { record.die(dead.run, birth: dead.birth) }
        return record
    }

    static func merged(_ freed: [TreeWriter.Freed]) -> [TreeWriter.Freed] {
        var merged: [TreeWriter.Freed] = []
        merged.reserveCapacity(freed.count)
        for dead in freed.sorted(by: { $0.run.start < $1.run.start }) {
            if let last = merged.last, last.run.end == dead.run.start, last.birth == dead.birth {
                merged[merged.count - 1].run.count += dead.run.count
            } else {
                merged.append(dead)
            }
        }
        return merged
    }

    /// The log so far and this commit's record move to pages of their own.
    private mutating func writeLogPage(_ estimate: SpaceLog) throws(DatabaseError) {
        // Its pages are taken by this commit too, so they are taken before the record is written for good.
        let bytes = SpaceLog.pageHeader + next.root.log.count + estimate.bytes.count + 64
        let page = try writer.allocator.allocate(image.layout.pageCount(bytes))
        let record = self.record(writer.freed)
        var content = [UInt8](repeating: 0, count: SpaceLog.pageHeader)
        let before = next.root.logPage
        content.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            before.store(at: base)
            // The extent may be longer than what is in it.
            let count = UInt32(next.root.log.count + record.bytes.count)
            base.storeBytes(of: count.littleEndian, toByteOffset: PageRef.encodedCount, as: UInt32.self)
        }
        content += next.root.log + record.bytes
        let reference = try seal(content, page, image.layout.pageCount(bytes))
        next.root.logPage = reference
        next.root.logPageBytes = next.root.logPageBytes + content.count
        next.root.log = []
        next.logPages.append(reference)
    }

    private mutating func writeCheckpoint() throws(DatabaseError) {
        for page in next.logPages { writer.freeExtent(page) }
        if !next.root.checkpoint.isNone { writer.freeExtent(next.root.checkpoint) }
        writer.allocator.giveBack()
        let dead = TreeCommit.merged(writer.freed)
        // Taking its pages can split one run; giving back what is left of it can add one.
        let bound = SpaceLog.checkpointBytes(
            writer.allocator.map.runCount + dead.count + 4, of: writer.allocator.map.pageCount)
        let count = image.layout.pageCount(bound)
        let page = try writer.allocator.allocate(count)
        writer.allocator.giveBack()
        var map = writer.allocator.map
        map.dropEnd()
        for dead in dead { map.die(dead.run, birth: dead.birth, death: version) }
        var content = [UInt8](repeating: 0, count: bound)
        content.withUnsafeMutableBytes { SpaceLog.encodeCheckpoint(map, $0) }
        next.root.checkpoint = try seal(content, page, count)
        next.root.logPage = .none
        next.root.logPageBytes = 0
        next.root.log = []
        next.logPages = []
    }

    private func seal(_ content: [UInt8], _ page: PageNumber, _ count: PageCount) throws(DatabaseError) -> PageRef {
        let target = try image.space(PageRun(start: page, count: count))
        target.initializeMemory(as: UInt8.self, repeating: 0)
        target.copyBytes(from: content)
        // All of its pages belong to it, also those that stayed empty.
        let byteCount = max(content.count, image.byteCount(of: count - 1) - image.layout.trailerBytes + 1)
        let reference = PageRef(
            page: page, birth: version, checksum: motte_shim_xxh3(target.baseAddress, byteCount),
            byteCount: byteCount)
        image.endBuilding(reference, level: 0)
        return reference
    }
}
