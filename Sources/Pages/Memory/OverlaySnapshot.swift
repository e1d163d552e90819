/// A version with changes in memory on top of it that the file does not have yet, read as if it had: what a member of a
/// group of writes shows until the group is in the file (`PageGroup`), and what is copied out of an open write.
///
/// Bytes of the overlay are never stable: in the file they will lie elsewhere.
import MotteValues

final class OverlaySnapshot: PageSnapshot, @unchecked Sendable {  // @unchecked: never changes
    let version: Version
    let base: PageSnapshot
    let changes: MemoryTree

    init(_ base: PageSnapshot, _ changes: MemoryTree, _ version: Version) {
        self.base = base
        self.changes = changes
        self.version = version
    }

    /// The version in the file that this and what lies between are on top of.
    var bottom: PageSnapshot { (base as? OverlaySnapshot)?.bottom ?? base }

    /// Bytes of all layers.
    var layerBytes: Int {
        let bytes = changes.blocks.reduce(0) { $0 + $1.reduce(0) { $0 + $1.key.count + $1.value.count } }
        return bytes + ((base as? OverlaySnapshot)?.layerBytes ?? 0)
    }

    func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        if let entry = changes.entry(for: key) {
            return entry.isDeletion ? nil : PageBytes(bytes: entry.value, isStable: false)
        }
        return try base.get(key)
    }

    var mostEntryCount: Int {
        let (sum, overflows) = base.mostEntryCount.addingReportingOverflow(changes.entryCount)
        return overflows ? .max : sum
    }

    func makeCursor() throws(DatabaseError) -> PageCursor { OverlayCursor(changes, try base.makeCursor()) }

    /// Of the file's version below; what lies above it is in memory.
    func pageProblems() throws(DatabaseError) -> [PageProblem] { try base.pageProblems() }
    func contentProblems() throws(DatabaseError) -> [PageProblem] { try base.contentProblems() }
    var passedOver: PassedOver? { base.passedOver }
    var storedVersion: Version { base.storedVersion }
    func hasMovedValues(since version: Version) -> Bool { base.hasMovedValues(since: version) }
    var hold: PageHold? { base.hold }
    func sharing() -> PageSnapshot { OverlaySnapshot(base.sharing(), changes, version) }
    var exceedsMemory: Bool { base.exceedsMemory }
    var memoryBytes: Int { base.memoryBytes }
    func makeScratchFile() throws(DatabaseError) -> ScratchFile { try base.makeScratchFile() }
}

extension PageSnapshot {
    /// This version with changes that no file has, as `version`.
    package func with(_ batch: borrowing PageBatch, as version: Version) throws(DatabaseError) -> PageSnapshot {
        if let refusal = batch.refusal { throw refusal }
        var changes = MemoryTree()
        changes.apply(batch.effectiveEntries(), rememberingDeletions: true)
        return OverlaySnapshot(self, changes, version)
    }
}
