/// The in-memory implementation: the behaviour of the page file without a file. Serves in-memory databases and is the
/// reference that tests compare the page file with.
///
/// A version is an array of blocks; a commit makes new blocks where something changed and shares the others. Entries
/// are shared too, so a value keeps its address as long as any version with it lives.
import CMotteShim
import MotteValues

// @unchecked: what changes is behind the lock.
final class MemoryPages: SharedPages, PageStorage, @unchecked Sendable {
    let identifier: String?
    private let state: Locked<State>
    private static let pageBytes = 4096

    private struct State {
        var latest: MemorySnapshot
        var header: FileHeader
        /// Versions that may still be pinned, oldest first.
        var pinned: [Pin] = []
    }

    private struct Pin {
        weak var snapshot: MemorySnapshot?
    }

    init(identifier: String?, _ options: PageStoreOptions) throws(DatabaseError) {
        self.identifier = identifier
        let header = try FileHeader.new(
            rowGroupSize: options.rowGroupSize ?? FileHeader.defaultRowGroupSize,
            pageBytes: MemoryPages.pageBytes)
        var tree = MemoryTree()
        tree.put(FileHeader.key, header.encoded())
        state = Locked(State(latest: MemorySnapshot(tree, header.version), header: header))
        super.init(
            path: identifier ?? ":memory:", signal: PrivateSignalWords().makeSignal(),
            observers: ObserverPositions { _ in }, faults: options.faults, durability: .none)
        signal.attach(self)
    }

    // MARK: What a file would have.

    var canWrite: Bool { true }
    var encryptionKey: [UInt8]? { nil }
    var memoryBytes: Int { .max }
    func checkKey(_ key: [UInt8]?) throws(DatabaseError) {
        if key != nil { throw FileHead.isPlain(path) }
    }
    var fileIdentity: FileIdentity? { nil }
    var filePath: String? { nil }
    var sidecarPath: String? { nil }
    func checkPlace(isBeginning: Bool) {}
    func lockAcrossProcesses(_ deadline: Deadline, _ cancellation: WaitCancellation?) -> Bool { true }
    func unlockAcrossProcesses() {}
    func readers() -> [PageReader] { [] }
    func checkInvariants() throws(DatabaseError) { try pinnedTree().tree.checkInvariants() }
    func openingWarning() -> PassedOver? { nil }
    func firstWarning() -> PassedOver? { nil }
    func closeFile() {}

    // MARK: Versions.

    var header: FileHeader {
        get throws(DatabaseError) { state.withLock { $0.header } }
    }

    func snapshot() throws(DatabaseError) -> PageSnapshot { try pinnedTree() }

    private func pinnedTree() throws(DatabaseError) -> MemorySnapshot {
        try checkProcess()
        return state.withLock { $0.latest }
    }

    func apply(
        _ changes: PageBatch.Changes, _ version: Version, _ compaction: OnlineCompaction?
    ) throws(DatabaseError) {
        compaction?.end()
        // The caller holds the write lock, so nobody else replaces `latest` between these steps.
        let base = try pinnedTree()
        try checkFollows(version, base.version)
        let header = try self.header.advanced(to: version)
        var tree = base.tree
        tree.apply(changes.entries)
        tree.put(FileHeader.key, header.encoded())
        try tree.lookAfter()
        let next = MemorySnapshot(tree, version)
        state.withLock { state in
            state.pinned.append(Pin(snapshot: state.latest))
            state.pinned.removeAll { $0.snapshot == nil }
            state.latest = next
            state.header = header
        }
    }

    func newestVersion() throws(DatabaseError) -> Version { try pinnedTree().version }
    func newestVersionForWriter() throws(DatabaseError) -> Version { try newestVersion() }
    func oldestObservedVersion() -> Version? { observers.oldestPosition }

    func liveVersionCount() throws(DatabaseError) -> Int {
        state.withLock { state in
            state.pinned.removeAll { $0.snapshot == nil }
            let latest = state.latest.version
            let oldest = state.pinned.compactMap { $0.snapshot?.version }.min() ?? latest
            return Int(clamping: latest.rawValue - oldest.rawValue) + 1
        }
    }

    func statistics() throws(DatabaseError) -> PageStatistics {
        let base = try pinnedTree()
        let tree = base.tree
        return PageStatistics(
            version: base.version, entryCount: tree.entryCount, pageBytes: 0, pageCount: 0, branchPageCount: 0,
            leafPageCount: 0, overflowPageCount: 0, treeDepth: 0, fileBytes: tree.byteCount, mostFileBytes: Int.max,
            waitingWriterCount: waitingWriterCount)
    }
}
