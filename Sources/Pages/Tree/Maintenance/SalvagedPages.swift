/// What salvage has found in a damaged file, as a store of one version that nobody can write to. Keys are in memory,
/// and values are read from the damaged file when they are asked for, within the budget of other files.
import CMotteShim
import MotteValues

// @unchecked: constant.
final class SalvagedPages: SharedPages, PageStorage, @unchecked Sendable {
    let header: FileHeader
    let encryptionKey: [UInt8]?
    private let image: PageImage
    private let entries: SalvagedEntries

    /// Takes over the disk of what was found.
    init(
        _ found: FoundPages, _ entries: [(key: [UInt8], value: FoundValue)], _ header: FileHeader,
        _ encryptionKey: [UInt8]?
    ) {
        self.header = header
        self.encryptionKey = encryptionKey
        image = found.image
        self.entries = SalvagedEntries(entries)
        super.init(
            path: found.image.disk.path, signal: PrivateSignalWords().makeSignal(),
            observers: ObserverPositions { _ in }, faults: nil, durability: .none)
        signal.attach(self)
        signal.publish(header.version)
    }

    var canWrite: Bool { false }
    var memoryBytes: Int { image.memory.budget }
    func checkKey(_ key: [UInt8]?) {}
    // The file itself is opened by others as what it is.
    var fileIdentity: FileIdentity? { nil }
    var filePath: String? { nil }
    var sidecarPath: String? { nil }
    func checkPlace(isBeginning: Bool) {}
    func lockAcrossProcesses(_ deadline: Deadline, _ cancellation: WaitCancellation?) -> Bool { true }
    func unlockAcrossProcesses() {}
    func readers() -> [PageReader] { [] }
    func checkInvariants() {}
    func openingWarning() -> PassedOver? { nil }
    func firstWarning() -> PassedOver? { nil }
    func closeFile() { image.disk.close() }
    func newestVersion() -> Version { header.version }
    func newestVersionForWriter() -> Version { header.version }
    func oldestObservedVersion() -> Version? { observers.oldestPosition }
    func liveVersionCount() -> Int { 1 }

    func apply(
        _ changes: PageBatch.Changes, _ version: Version, _ compaction: OnlineCompaction?
    ) throws(DatabaseError) {
        throw DatabaseError(.readOnly, "what was salvaged of '\(path)' is open for reading only", path: path)
    }

    func snapshot() throws(DatabaseError) -> PageSnapshot {
        try checkProcess()
        return SalvagedSnapshot(self, entries, image)
    }

    func statistics() throws(DatabaseError) -> PageStatistics {
        PageStatistics(
            version: header.version, entryCount: entries.count, pageBytes: image.pageBytes, pageCount: 0,
            branchPageCount: 0, leafPageCount: 0, overflowPageCount: 0, treeDepth: 0,
            fileBytes: try image.disk.byteCount(), mostFileBytes: Int.max, waitingWriterCount: waitingWriterCount)
    }
}

/// Keys in one piece of memory, ascending, and where their values are.
final class SalvagedEntries: @unchecked Sendable {  // @unchecked: constant
    private let keys: UnsafeMutableRawBufferPointer
    private var ends: [Int] = []
    fileprivate private(set) var places: [FoundValue] = []
    /// Values that no page has, in the order of their entries.
    private var copies: [Int: UnsafeMutableRawBufferPointer] = [:]

    init(_ entries: [(key: [UInt8], value: FoundValue)]) {
        keys = .allocate(byteCount: entries.reduce(0) { $0 + $1.key.count }, alignment: 1)
        ends.reserveCapacity(entries.count)
        places.reserveCapacity(entries.count)
        var end = 0
        for (index, entry) in entries.enumerated() {
            UnsafeMutableRawBufferPointer(rebasing: keys[end...]).copyBytes(from: entry.key)
            end += entry.key.count
            ends.append(end)
            guard case .bytes(let bytes) = entry.value else {
                places.append(entry.value)
                continue
            }
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
            copy.copyBytes(from: bytes)
            copies[index] = copy
            places.append(.bytes([]))
        }
    }

    deinit {
        keys.deallocate()
        for copy in copies.values { copy.deallocate() }
    }

    var count: Int { ends.count }

    func key(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: keys[(index > 0 ? ends[index - 1] : 0) ..< ends[index]])
    }

    fileprivate func copy(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(copies[index] ?? UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }

    /// Of the first entry at or behind a key.
    func index(atOrAfter key: UnsafeRawBufferPointer) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if ValueOrdering.compareBytes(self.key(middle), key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

final class SalvagedSnapshot: PageSnapshot, @unchecked Sendable {  // @unchecked: never changes
    private let pages: SalvagedPages
    fileprivate let entries: SalvagedEntries
    private let image: PageImage
    private let ownHold: PageHold

    init(_ pages: SalvagedPages, _ entries: SalvagedEntries, _ image: PageImage) {
        self.pages = pages
        self.entries = entries
        self.image = image
        ownHold = PageHold(image)
        pages.beginUse()
    }

    deinit { pages.endUse() }

    var version: Version { pages.header.version }
    var storedVersion: Version { version }
    func hasMovedValues(since version: Version) -> Bool { false }
    var hold: PageHold? { ownHold }
    func sharing() -> PageSnapshot { SalvagedSnapshot(pages, entries, image) }
    var mostEntryCount: Int { entries.count }
    func pageProblems() -> [PageProblem] { [] }
    func contentProblems() -> [PageProblem] { [] }
    var passedOver: PassedOver? { nil }
    // A length that cannot be read says nothing of memory.
    var exceedsMemory: Bool { image.exceedsMemory(image.pageCount(in: (try? image.disk.byteCount()) ?? 0)) }
    var memoryBytes: Int { image.memory.budget }
    func makeScratchFile() throws(DatabaseError) -> ScratchFile {
        try ScratchFile(beside: image.disk.path, isEncrypted: image.cipher != nil)
    }

    func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        let index = entries.index(atOrAfter: key)
        guard index < entries.count, ValueOrdering.compareBytes(entries.key(index), key) == 0 else { return nil }
        return try value(index)
    }

    func makeCursor() -> PageCursor { SalvagedCursor(self) }

    /// Damage that has come since the value was found is an error, as in other files.
    fileprivate func value(_ index: Int) throws(DatabaseError) -> PageBytes {
        try pages.checkProcess()
        switch entries.places[index] {
        case .bytes: return PageBytes(bytes: entries.copy(index), isStable: false)
        case .extent(let extent):
            return try ownHold.lend { () throws(DatabaseError) in
                PageBytes(bytes: try image.extent(extent), isStable: true)
            }
        case .inline(let reference, let entry):
            return try ownHold.lend { () throws(DatabaseError) in
                try TreeSnapshot.value(try image.node(reference, level: 0), entry, image)
            }
        }
    }
}

final class SalvagedCursor: PageCursorEntry, PageCursor {
    private let snapshot: SalvagedSnapshot
    private var index = -1

    init(_ snapshot: SalvagedSnapshot) { self.snapshot = snapshot }

    func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try move(to: snapshot.entries.index(atOrAfter: key))
    }

    func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        let first = snapshot.entries.index(atOrAfter: key)
        let isThere =
            first < snapshot.entries.count && ValueOrdering.compareBytes(snapshot.entries.key(first), key) == 0
        return try move(to: isThere ? first : first - 1)
    }

    func next() throws(DatabaseError) -> Bool { index >= 0 ? try move(to: index + 1) : false }
    func previous() throws(DatabaseError) -> Bool { try move(to: index - 1) }

    private func move(to target: Int) throws(DatabaseError) -> Bool {
        guard target >= 0, target < snapshot.entries.count else { return false }
        skippedByteCount = nil
        if skipsValues, case .extent(let extent) = snapshot.entries.places[target] {
            skippedByteCount = extent.byteCount
            value = PageBytes(bytes: UnsafeRawBufferPointer(start: nil, count: 0), isStable: false)
        } else {
            value = try snapshot.value(target)
        }
        key = snapshot.entries.key(target)
        index = target
        return true
    }
}
