/// A version of the in-memory store. Nothing in it changes, so it needs no lock.
import MotteValues

final class MemorySnapshot: PageSnapshot, @unchecked Sendable {  // @unchecked: never changes
    let tree: MemoryTree

    init(_ tree: MemoryTree, _ version: Version) {
        self.tree = tree
        super.init(version: version)
    }

    override func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        guard let place = tree.firstPlace(atOrAfter: key) else { return nil }
        let entry = tree.entry(at: place)
        guard ValueOrdering.compareBytes(entry.key, key) == 0 else { return nil }
        return PageBytes(bytes: entry.value, isStable: true)
    }

    override func makeCursor() throws(DatabaseError) -> PageCursor { MemoryCursor(self) }
}

final class MemoryCursor: PageCursor {
    private let snapshot: MemorySnapshot
    private var place: MemoryTree.Place?

    init(_ snapshot: MemorySnapshot) {
        self.snapshot = snapshot
    }

    override func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        move(to: snapshot.tree.firstPlace(atOrAfter: key))
    }

    override func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        let tree = snapshot.tree
        guard let found = tree.firstPlace(atOrAfter: key) else { return move(to: tree.lastPlace) }
        if ValueOrdering.compareBytes(tree.entry(at: found).key, key) == 0 { return move(to: found) }
        return move(to: tree.place(before: found))
    }

    override func next() throws(DatabaseError) -> Bool {
        guard let place else { return false }
        return move(to: snapshot.tree.place(after: place))
    }

    override func previous() throws(DatabaseError) -> Bool {
        guard let place else { return false }
        return move(to: snapshot.tree.place(before: place))
    }

    private func move(to target: MemoryTree.Place?) -> Bool {
        guard let target else { return false }
        place = target
        let entry = snapshot.tree.entry(at: target)
        key = entry.key
        value = PageBytes(bytes: entry.value, isStable: true)
        return true
    }
}
