/// The in-memory store: the behaviour of the file store without a file. Serves in-memory databases and is the second
/// implementation behind the seam that tests compare with.
///
/// A version is an array of blocks; a commit makes new blocks where something changed and shares the others. Entries
/// are shared too, so a value keeps its address as long as any version with it lives.
import CMotteShim
import MotteValues

final class MemoryPages: SharedPages, @unchecked Sendable {  // @unchecked: the state is only touched holding 'lock'
    let identifier: String?
    private let lock = Lock()
    private var latest: MemorySnapshot
    private var latestHeader: FileHeader
    /// Versions that may still be pinned, oldest first.
    private var pinned: [Pin] = []
    private static let pageBytes = 4096

    private struct Pin {
        weak var snapshot: MemorySnapshot?
    }

    init(identifier: String?, _ options: PageStoreOptions) throws(DatabaseError) {
        self.identifier = identifier
        latestHeader = try FileHeader.new(
            rowsPerCluster: options.rowsPerCluster ?? FileHeader.defaultRowsPerCluster,
            pageBytes: MemoryPages.pageBytes)
        var tree = MemoryTree()
        tree.put(FileHeader.key, latestHeader.encoded())
        latest = MemorySnapshot(tree, latestHeader.version)
        super.init(
            path: identifier ?? ":memory:", signal: PrivateSignalWords().makeSignal(),
            observers: ObserverPositions { _ in }, faults: options.faults)
    }

    override var canWrite: Bool { true }

    override var header: FileHeader {
        get throws(DatabaseError) {
            lock.lock()
            defer { lock.unlock() }
            return latestHeader
        }
    }

    override func snapshot() throws(DatabaseError) -> PageSnapshot {
        try checkProcess()
        lock.lock()
        defer { lock.unlock() }
        return latest
    }

    override func apply(
        _ entries: [PageBatch.Entry], byteCount: Int, _ version: Version
    ) throws(DatabaseError) {
        // The caller holds the write lock, so nobody else replaces `latest` between these steps.
        let base = try snapshot()
        guard let base = base as? MemorySnapshot else { return }
        try checkFollows(version, base.version)
        let header = try self.header.advanced(to: version)
        var tree = base.tree
        tree.apply(entries)
        tree.put(FileHeader.key, header.encoded())
        let next = MemorySnapshot(tree, version)
        lock.lock()
        pinned.append(Pin(snapshot: latest))
        pinned.removeAll { $0.snapshot == nil }
        latest = next
        latestHeader = header
        lock.unlock()
    }

    override func liveVersionCount() throws(DatabaseError) -> Int {
        lock.lock()
        defer { lock.unlock() }
        pinned.removeAll { $0.snapshot == nil }
        let oldest = pinned.compactMap { $0.snapshot?.version.rawValue }.min() ?? latest.version.rawValue
        return Int(clamping: latest.version.rawValue - oldest) + 1
    }

    override func statistics() throws(DatabaseError) -> PageStatistics {
        let base = try snapshot()
        let tree = (base as? MemorySnapshot)?.tree ?? MemoryTree()
        return PageStatistics(
            version: base.version, entryCount: tree.entryCount, pageBytes: 0, pageCount: 0, branchPageCount: 0,
            leafPageCount: 0, overflowPageCount: 0, treeDepth: 0, fileBytes: tree.byteCount, mapSizeBytes: Int.max,
            waitingWriterCount: waitingWriterCount)
    }
}
