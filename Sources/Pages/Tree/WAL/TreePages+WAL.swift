/// Small commits: one record behind the last one, in one write, with one flush. What is small, and when a file gets a
/// WAL at all.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension TreePages {
    static func chosenWALPages(_ options: PageStoreOptions) throws(DatabaseError) -> Int? {
        if let pages = options.walPages { return pages }
        guard let text = getenv("MOTTE_WAL_PAGES").map({ String(cString: $0) }), !text.isEmpty else { return nil }
        guard let pages = Int(text), (0 ... WALLocation.mostPages.rawValue).contains(pages) else {
            throw DatabaseError(
                .invalidArgument, "MOTTE_WAL_PAGES is '\(text)'; 0 to \(WALLocation.mostPages) pages are possible")
        }
        return pages
    }

    /// A record of more pages goes into the tree.
    private static let mostRecordPages: PageCount = 16
    /// More entries than commits of single objects have, also in every 64th commit, which deletes the change records
    /// of those before: what others leave in the tree is worth looking after.
    private static let mostRecordEntries = 96
    /// Fewer pages are soon full.
    private static let leastWALPages: PageCount = 16
    private static let mostWALPages: PageCount = 128
    /// A WAL is this part of the file at most.
    private static let walShare = 16
    /// So many pages, and this part of the file, are worth a commit that looks after them.
    private static let pagesWorthFreeing: PageCount = 256
    private static let shareWorthFreeing = 8

    /// What becomes of the WAL in a commit that goes into the tree. Only who writes little gets one.
    func walRequest(
        _ known: TreeVersion, _ entries: [PageBatch.Entry], _ byteCount: Int
    ) throws(DatabaseError) -> TreeCommit.WALRequest {
        let isSmall = isSmall(entries, byteCount)
        // One that is not begun stays, unless it keeps the file long while others make it shorter.
        let isAtEnd = known.root.wal.map { $0.run.end == known.root.pageCount.end } ?? false
        let isDone = !known.wal.isEmpty || !known.wal.mayGrow || (isAtEnd && !isSmall)
        var count: PageCount = 0
        if isSmall, known.root.wal == nil || isDone {
            count = min(TreePages.mostWALPages, known.root.pageCount / TreePages.walShare)
            if count < TreePages.leastWALPages { count = 0 }
            if let walPages { count = min(walPages, WALLocation.mostPages) }
        }
        var salt: UInt64 = 0
        if count > 0 {
            let status = withUnsafeMutableBytes(of: &salt) { motte_shim_random($0.baseAddress, $0.count) }
            guard status == 0 else {
                throw DatabaseError(.inputOutput, "the system gave no random numbers", systemError: status)
            }
        }
        return TreeCommit.WALRequest(isDone: isDone, pageCount: count, salt: salt)
    }

    private func isSmall(_ entries: [PageBatch.Entry], _ byteCount: Int) -> Bool {
        byteCount <= image.byteCount(of: TreePages.mostRecordPages) && entries.count <= TreePages.mostRecordEntries
    }

    /// The record of a commit, ready to be written; nil where it has to go into the tree.
    func record(
        _ entries: [PageBatch.Entry], _ header: FileHeader, _ byteCount: Int, after known: TreeVersion
    ) throws(DatabaseError) -> PreparedRecord? {
        let worth = max(TreePages.pagesWorthFreeing, known.root.pageCount / TreePages.shareWorthFreeing)
        guard let place = known.root.wal, known.wal.mayGrow,
            isSmall(entries, byteCount),
            (state?.pagesToGain ?? 0) < worth,
            // A slot that was passed over must not become one of the versions before: it is written over first.
            brokenSlots.isEmpty, slotVersions.allSatisfy({ $0 <= known.root.version }),
            hasRoom(forRecordOf: entries.count, after: known)
        else { return nil }
        return try PreparedRecord(entries, header, place, known.wal, image)
    }

    /// Whether the tree will have room for what the log has and one more record: until that is there, the file has
    /// both, and copies of all nodes that are to change.
    private func hasRoom(forRecordOf entryCount: Int, after known: TreeVersion) -> Bool {
        let root = known.root
        let entries = PageCount(known.wal.changes.entryCount + entryCount)
        let nodes = min(entries, root.leafPageCount) + min(entries * root.level, root.branchPageCount)
        let count = nodes + (known.wal.usedPages + TreePages.mostRecordPages) * 2
        if sizeLimit.hasRoom(for: count, inFileWith: root.pageCount) { return true }
        guard let state, state.root.version == root.version, state.root.tree == root.tree else { return false }
        return sizeLimit.hasRoom(for: count, in: state.map)
    }

    /// Nothing of what a WAL's pages held before is looked at, but all of them have to be there: a commit that is
    /// appended must not find the disk full. Another process may have made the file shorter, and pages that were never
    /// written are holes in it.
    func allocateBlocks(of run: PageRun) throws(DatabaseError) {
        try disk.fillHoles(in: image.offset(of: run.start) ..< image.offset(of: run.end))
    }

    /// The same for what commits write in place, before the first one: a copy may have holes wherever there are zeros.
    /// False where the disk has no room for the WAL's: then nothing is appended to it.
    func allocateBlocksInPlace(_ root: RootSlot) throws(DatabaseError) -> Bool {
        guard !hasCommitted else { return true }
        try disk.fillHoles(in: image.slotBytes)
        guard let run = root.wal?.run else { return true }
        do throws(DatabaseError) {
            try allocateBlocks(of: run)
            return true
        } catch {
            guard error.code == .diskFull else { throw error }
            return false
        }
    }
}
