/// Commits of several versions, one after another under one write lock, that reach the file together: one batch, one
/// flush, however many they are.
///
///     add       a batch becomes a version that only the holder of the lock sees (`newest`), in memory
///     flush     all of them become the state of the file at once, as its newest version; or, if that fails, none
///
/// To the store a group is one ordinary commit, so a power cut or a kill leaves all of it or nothing, nobody else ever
/// sees a version that is not as durable as the options say, and no form of the store needs to know of it. A batch
/// that is too large to be held twice goes to the file by itself, after those before it.
///
/// One thread at a time.
import MotteValues

package final class PageGroup {
    private let store: PageStore
    private let lock: WriteLock
    private let makingRoom: (_ newest: PageSnapshot, inout PageBatch) throws(DatabaseError) -> Void
    /// In the file.
    private var base: PageSnapshot
    private var changes = MemoryTree()
    private var waitingBytes = 0
    private var failure: DatabaseError?
    /// Of all that waits.
    private var effect = PageBatch.Effect.deletes
    private var recordBytes = 0
    /// The latest version in the file.
    package private(set) var flushed: Version
    /// The latest version added.
    package private(set) var newest: PageSnapshot

    /// From this many bytes a batch is not kept waiting.
    static let largestMember = 4 << 20
    /// So much may wait before it is better to flush.
    private static let comfortableBytes = 16 << 20

    /// `makingRoom`: as for a commit, of all that is flushed together.
    package init(
        _ store: PageStore, lock: WriteLock,
        makingRoom: @escaping (_ newest: PageSnapshot, inout PageBatch) throws(DatabaseError) -> Void = { _, _ in }
    ) throws(DatabaseError) {
        self.store = store
        self.lock = lock
        self.makingRoom = makingRoom
        base = try store.snapshot()
        newest = base
        flushed = base.version
    }

    /// What waits takes enough memory.
    package var isFull: Bool { waitingBytes >= PageGroup.comfortableBytes }

    /// Makes the batch the state of `version`, to be flushed later; `alone`: at once, and by itself, which may need
    /// `makingRoom`. When it throws, nothing changed and the batch is as it was but for that.
    package func add(
        _ batch: inout PageBatch, version: Version, alone: Bool = false,
        makingRoom: PageBatch.Shrinking = { _ in }
    ) throws(DatabaseError) -> PageSnapshot {
        if let failure { throw failure }
        if let refusal = batch.refusal { throw refusal }
        if alone || batch.byteCount >= PageGroup.largestMember {
            try flush()
            try store.commit(&batch, lock: lock, version: version, makingRoom: makingRoom)
            flushed = version
            // As in `flush`: it is there.
            if let pinned = try? store.snapshot() {
                base = pinned
                newest = pinned
                changes = MemoryTree()
                waitingBytes = 0
                effect = .deletes
                recordBytes = 0
            } else {
                keep(batch, version)
            }
            return newest
        }
        guard version > newest.version else {
            throw DatabaseError(.internal, "commit \(version.rawValue) does not follow \(newest.version.rawValue)")
        }
        keep(batch, version)
        return newest
    }

    private func keep(_ batch: borrowing PageBatch, _ version: Version) {
        changes.apply(batch.effectiveEntries(), rememberingDeletions: true)
        waitingBytes += batch.byteCount
        if batch.effect.rawValue > effect.rawValue { effect = batch.effect }
        recordBytes += batch.recordBytes
        newest = OverlaySnapshot(base, changes, version)
    }

    /// Nothing that was added is lost track of before this has returned. After a failure the group takes no more.
    package func flush() throws(DatabaseError) {
        if let failure { throw failure }
        guard newest.version > flushed else { return }
        var batch = PageBatch(store.spillPlan)
        var place = changes.blocks.isEmpty ? nil : MemoryTree.Place(block: 0, entry: 0)
        while let found = place {
            let entry = changes.entry(at: found)
            if entry.isDeletion { batch.delete(entry.key) } else { batch.put(entry.key, entry.value) }
            place = changes.place(after: found)
        }
        batch.note(effect, recordBytes: recordBytes)
        do throws(DatabaseError) {
            let (newest, makingRoom) = (newest, makingRoom)
            try store.commit(&batch, lock: lock, version: newest.version) { batch throws(DatabaseError) in
                try makingRoom(newest, &batch)
            }
        } catch {
            failure = error
            throw error
        }
        flushed = newest.version
        // It is there; should it not be possible to pin it just now, it goes on being read from memory.
        guard let pinned = try? store.snapshot() else { return }
        base = pinned
        newest = pinned
        changes = MemoryTree()
        waitingBytes = 0
        effect = .deletes
        recordBytes = 0
    }

    /// Lets others write; what was added and not flushed is forgotten.
    package func release() { lock.release() }
}
