/// A version of the in-memory database. Nothing in it changes, so it needs no lock.
import MotteValues

final class MemorySnapshot: PageSnapshot, @unchecked Sendable {  // @unchecked: never changes
    let version: Version
    let tree: MemoryTree

    init(_ tree: MemoryTree, _ version: Version) {
        self.tree = tree
        self.version = version
    }

    func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        tree.entry(for: key).map { PageBytes(bytes: $0.value, isStable: true) }
    }

    var storedVersion: Version { version }
    func hasMovedValues(since version: Version) -> Bool { false }
    var mostEntryCount: Int { tree.entryCount }

    func makeCursor() throws(DatabaseError) -> PageCursor { MemoryCursor(self) }

    func pageProblems() -> [PageProblem] { [] }
    func contentProblems() -> [PageProblem] { [] }
    var hold: PageHold? { nil }
    func sharing() -> PageSnapshot { self }
    var exceedsMemory: Bool { false }
    var memoryBytes: Int { .max }
    func makeScratchFile() throws(DatabaseError) -> ScratchFile { try ScratchFile(beside: nil, isEncrypted: false) }
    var passedOver: PassedOver? { nil }
}

final class MemoryCursor: PageCursorEntry, PageCursor {
    private let snapshot: MemorySnapshot
    private var place: MemoryTree.Place?

    init(_ snapshot: MemorySnapshot) {
        self.snapshot = snapshot
    }

    func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        move(to: snapshot.tree.firstPlace(atOrAfter: key))
    }

    func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        move(to: snapshot.tree.lastPlace(atMost: key))
    }

    func next() throws(DatabaseError) -> Bool {
        guard let place else { return false }
        return move(to: snapshot.tree.place(after: place))
    }

    func previous() throws(DatabaseError) -> Bool {
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
