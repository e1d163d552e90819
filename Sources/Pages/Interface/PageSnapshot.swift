import MotteValues

/// One version of the map, pinned: what it shows never changes, and the bytes it lends stay where they are while it
/// lives, or until its owner renews its hold. Usable and releasable from any thread, as long as nobody calls
/// its hold.
package protocol PageSnapshot: AnyObject, Sendable {
    var version: Version { get }

    /// The version of the file whose pages this reads: an older one where changes in memory lie above it.
    var storedVersion: Version { get }

    /// Whether a compaction has moved values after `version`: then no pointer from a snapshot that reads the pages of
    /// that version is valid in this one. Can be true where nothing was moved, never false where something was.
    func hasMovedValues(since version: Version) -> Bool

    /// The value of `key`, or nil when there is none.
    func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes?

    /// A cursor over the whole map. It belongs to one thread at a time and keeps the snapshot alive.
    func makeCursor() throws(DatabaseError) -> PageCursor

    /// At least as many entries as there are. Numbers that a file says of itself are compared with it: it is never more
    /// than the file's pages can hold.
    var mostEntryCount: Int { get }

    /// What is wrong with the pages of this version; a store without pages has nothing to say.
    func pageProblems() throws(DatabaseError) -> [PageProblem]

    /// The same of the pages that contents lie on, without those that say which ones are free.
    func contentProblems() throws(DatabaseError) -> [PageProblem]

    /// What says which memory is in use by who has this; nil where memory is never given back.
    var hold: PageHold? { get }

    /// The same version for another user, whose use is kept apart.
    func sharing() -> PageSnapshot

    /// Whether it has more than may stay in memory at once.
    var exceedsMemory: Bool { get }

    /// Bytes that pages may take, which is a measure for what may be worked out of them in memory.
    var memoryBytes: Int { get }

    /// For what does not fit into memory.
    func makeScratchFile() throws(DatabaseError) -> ScratchFile

    /// What the file was opened in spite of.
    var passedOver: PassedOver? { get }
}

extension PageSnapshot {
    /// A cursor at the entry of another one, whose owner gives back in `letGo` what it was lent.
    package func makeCursor(at cursor: PageCursor, after letGo: () -> Void) throws(DatabaseError) -> PageCursor {
        let key = [UInt8](cursor.key)
        letGo()
        let again = try makeCursor()
        again.skipsValues = cursor.skipsValues
        guard try again.seek(key) else { throw .corrupted("an entry that was read is gone") }
        return again
    }

    package func get(_ key: [UInt8]) throws(DatabaseError) -> PageBytes? {
        try key.withBytes { bytes throws(DatabaseError) in try get(bytes) }
    }
}
