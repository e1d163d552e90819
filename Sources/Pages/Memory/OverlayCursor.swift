/// Walks a map with changes laid over it: of the two next entries the nearer one; the change where both have the key.
///
/// A step forward moves each side by one; a change of direction looks up both positions again.
import MotteValues

final class OverlayCursor: PageCursorEntry, PageCursor {
    private let changes: MemoryTree
    private let base: PageCursor
    /// As the last move forward left them: the first entries at or after `key`, and which of them has that key.
    private var isForward = false
    private var isInBase = false
    private var place: MemoryTree.Place?
    private var isAtBase = false
    private var isAtPlace = false

    override var skipsValues: Bool {
        didSet { base.skipsValues = skipsValues }
    }

    init(_ changes: MemoryTree, _ base: PageCursor) {
        self.changes = changes
        self.base = base
    }

    func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try forward(try base.seek(key), changes.firstPlace(atOrAfter: key))
    }

    func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard !key.isEmpty else { return false }
        return try back(try base.seekLast(atMost: key), changes.lastPlace(atMost: key))
    }

    func next() throws(DatabaseError) -> Bool {
        guard !key.isEmpty else { return false }
        guard isForward else { return try forward(try moveBase(after: key), place(after: key)) }
        var next = place
        if isAtPlace, let place { next = changes.place(after: place) }
        let hasNext = isAtBase ? try base.next() : isInBase
        return try forward(hasNext, next)
    }

    func previous() throws(DatabaseError) -> Bool {
        guard !key.isEmpty else { return false }
        return try back(try moveBase(before: key), changes.place(before: key))
    }

    private func place(after key: UnsafeRawBufferPointer) -> MemoryTree.Place? {
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
        isForward = false
        while let found = place {
            let entry = changes.entry(at: found)
            let order = isInBase ? ValueOrdering.compareBytes(base.key, entry.key) : 1
            if order < 0 { break }
            if !entry.isDeletion {
                show(entry)
                note(isInBase, found, isAtBase: isInBase && order == 0, isAtPlace: true)
                return true
            }
            if order == 0 { isInBase = try base.next() }
            place = changes.place(after: found)
        }
        guard isInBase else { return false }
        showBase()
        note(true, place, isAtBase: true, isAtPlace: false)
        return true
    }

    private func note(_ isInBase: Bool, _ place: MemoryTree.Place?, isAtBase: Bool, isAtPlace: Bool) {
        isForward = true
        self.isInBase = isInBase
        self.place = place
        self.isAtBase = isAtBase
        self.isAtPlace = isAtPlace
    }

    private func back(_ isInBase: Bool, _ place: MemoryTree.Place?) throws(DatabaseError) -> Bool {
        var isInBase = isInBase
        var place = place
        isForward = false
        while let found = place {
            let entry = changes.entry(at: found)
            let order = isInBase ? ValueOrdering.compareBytes(base.key, entry.key) : -1
            if order > 0 { break }
            if !entry.isDeletion {
                show(entry)
                return true
            }
            if order == 0 { isInBase = try base.previous() }
            place = changes.place(before: found)
        }
        guard isInBase else { return false }
        showBase()
        return true
    }

    private func show(_ entry: MemoryEntry) {
        key = entry.key
        value = PageBytes(bytes: entry.value, isStable: false)
        skippedByteCount = nil
    }

    private func showBase() {
        key = base.key
        value = base.value
        skippedByteCount = base.skippedByteCount
    }
}
