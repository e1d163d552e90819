/// A version with changes in memory on top of it that the file does not have yet, read as if it had: what a member of a
/// group of writes shows until the group is in the file (`PageGroup`), and what is copied out of an open write.
///
/// Bytes of the layer are never stable: in the file they will lie elsewhere.
import MotteValues

final class LayeredSnapshot: PageSnapshot, @unchecked Sendable {  // @unchecked: never changes
    let base: PageSnapshot
    let changes: MemoryTree

    init(_ base: PageSnapshot, _ changes: MemoryTree, _ version: Version) {
        self.base = base
        self.changes = changes
        super.init(version: version)
    }

    /// The version in the file that this and what lies between are on top of.
    var bottom: PageSnapshot { (base as? LayeredSnapshot)?.bottom ?? base }

    /// Bytes of all layers.
    var layerBytes: Int {
        let bytes = changes.blocks.reduce(0) { $0 + $1.reduce(0) { $0 + $1.key.count + $1.value.count } }
        return bytes + ((base as? LayeredSnapshot)?.layerBytes ?? 0)
    }

    override func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        if let place = changes.firstPlace(atOrAfter: key) {
            let entry = changes.entry(at: place)
            if ValueOrdering.compareBytes(entry.key, key) == 0 {
                return entry.isDeletion ? nil : PageBytes(bytes: entry.value, isStable: false)
            }
        }
        return try base.get(key)
    }

    override func makeCursor() throws(DatabaseError) -> PageCursor { LayeredCursor(self, try base.makeCursor()) }
}

extension PageSnapshot {
    /// This version with changes that no file has, as `version`.
    package func with(_ batch: borrowing PageBatch, as version: Version) throws(DatabaseError) -> PageSnapshot {
        if let refusal = batch.refusal { throw refusal }
        var changes = MemoryTree()
        changes.apply(batch.effectiveEntries(), rememberingDeletions: true)
        return LayeredSnapshot(self, changes, version)
    }
}

/// Finds each next place in both maps anew and takes the nearer one; the layer's where both have the key.
final class LayeredCursor: PageCursor {
    private let snapshot: LayeredSnapshot
    private let base: PageCursor

    init(_ snapshot: LayeredSnapshot, _ base: PageCursor) {
        self.snapshot = snapshot
        self.base = base
    }

    override func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try forward(try base.seek(key), snapshot.changes.firstPlace(atOrAfter: key))
    }

    override func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard !key.isEmpty else { return false }
        let changes = snapshot.changes
        var place = changes.place(before: key)
        if let found = changes.firstPlace(atOrAfter: key),
            ValueOrdering.compareBytes(changes.entry(at: found).key, key) == 0
        {
            place = found
        }
        return try back(try base.seekLast(atMost: key), place)
    }

    override func next() throws(DatabaseError) -> Bool {
        guard !key.isEmpty else { return false }
        return try forward(try moveBase(after: key), place(after: key))
    }

    override func previous() throws(DatabaseError) -> Bool {
        guard !key.isEmpty else { return false }
        return try back(try moveBase(before: key), snapshot.changes.place(before: key))
    }

    private func place(after key: UnsafeRawBufferPointer) -> MemoryTree.Place? {
        let changes = snapshot.changes
        guard let found = changes.firstPlace(atOrAfter: key) else { return nil }
        return ValueOrdering.compareBytes(changes.entry(at: found).key, key) == 0 ? changes.place(after: found) : found
    }

    private func moveBase(after key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard try base.seek(key) else { return false }
        return ValueOrdering.compareBytes(base.key, key) == 0 ? try base.next() : true
    }

    private func moveBase(before key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard try base.seekLast(atMost: key) else { return false }
        return ValueOrdering.compareBytes(base.key, key) == 0 ? try base.previous() : true
    }

    private func forward(_ isInBase: Bool, _ place: MemoryTree.Place?) throws(DatabaseError) -> Bool {
        var isInBase = isInBase
        var place = place
        while let found = place {
            let entry = snapshot.changes.entry(at: found)
            let order = isInBase ? ValueOrdering.compareBytes(base.key, entry.key) : 1
            if order < 0 { break }
            if !entry.isDeletion { return show(entry) }
            if order == 0 { isInBase = try base.next() }
            place = snapshot.changes.place(after: found)
        }
        return isInBase ? showBase() : false
    }

    private func back(_ isInBase: Bool, _ place: MemoryTree.Place?) throws(DatabaseError) -> Bool {
        var isInBase = isInBase
        var place = place
        while let found = place {
            let entry = snapshot.changes.entry(at: found)
            let order = isInBase ? ValueOrdering.compareBytes(base.key, entry.key) : -1
            if order > 0 { break }
            if !entry.isDeletion { return show(entry) }
            if order == 0 { isInBase = try base.previous() }
            place = snapshot.changes.place(before: found)
        }
        return isInBase ? showBase() : false
    }

    private func show(_ entry: MemoryEntry) -> Bool {
        key = entry.key
        value = PageBytes(bytes: entry.value, isStable: false)
        return true
    }

    private func showBase() -> Bool {
        key = base.key
        value = base.value
        return true
    }
}
