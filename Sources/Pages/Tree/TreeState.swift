/// What a writer knows about the newest version besides its root: the free-space map, read back from checkpoint and
/// log, and which pages the map itself is on.
import MotteValues

package struct TreeState {
    package internal(set) var root: RootSlot
    package var map: SpaceMap
    /// How many pages the commit took that led here, as far as that says something about the next one.
    var likelyPageCount: PageCount = 0
    /// What the next commit could make free or give back.
    var pagesToGain: PageCount = 0
    /// Pages of the space log, oldest first.
    var logPages: [PageRef]

    package init(reading root: RootSlot, _ image: PageImage) throws(DatabaseError) {
        self.root = root
        let hold = PageHold(image)
        defer { withExtendedLifetime(hold) {} }
        // The first version of a file has one page.
        map = SpaceMap(pageCount: TreeFormat.leastPages + 1)
        logPages = []
        if !root.checkpoint.isNone {
            let bytes = try image.extent(root.checkpoint)
            guard let decoded = SpaceLog.decodeCheckpoint(bytes) else {
                throw TreeState.damaged
            }
            map = decoded
        }
        try readLog(image)
        let isLog = root.log.withUnsafeBytes { SpaceLog.replay($0, after: .zero, &map) }
        guard isLog else { throw TreeState.damaged }
        map.cut(to: root.pageCount)
        if let problem = map.problem(used: root.wal.map { [$0.run] } ?? []) { throw .corrupted(problem) }
        pagesToGain = map.pagesToGain
    }

    private mutating func readLog(_ image: PageImage) throws(DatabaseError) {
        var pages: [PageRef] = []
        var reference = root.logPage
        while !reference.isNone {
            // Each is younger than the one before it: so the chain has an end.
            if let last = pages.last, reference.birth >= last.birth { throw TreeState.damaged }
            guard reference.run(image.layout).end <= root.pageCount.end,
                reference.page >= TreeFormat.firstPage, reference.byteCount >= SpaceLog.pageHeader
            else { throw TreeState.damaged }
            pages.append(reference)
            let bytes = try image.extent(reference)
            guard let base = bytes.baseAddress else { throw TreeState.damaged }
            reference = PageRef(at: base)
        }
        logPages = pages.reversed()
        for page in logPages {
            let bytes = try image.extent(page)
            let count = Int(
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: PageRef.encodedCount, as: UInt32.self)))
            guard count <= bytes.count - SpaceLog.pageHeader else { throw TreeState.damaged }
            let records = UnsafeRawBufferPointer(
                rebasing: bytes[SpaceLog.pageHeader ..< SpaceLog.pageHeader + count])
            guard SpaceLog.replay(records, after: .zero, &map) else { throw TreeState.damaged }
        }
    }

    private static var damaged: DatabaseError { .corrupted("its free-space map cannot be read") }
}
