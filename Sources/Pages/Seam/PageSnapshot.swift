import MotteValues

/// One version of the map, pinned: what it shows never changes, and the bytes it lends stay where they are while it
/// lives. There is one snapshot per process and version, shared by whoever retains it, usable and releasable from any
/// thread.
///
/// Base class of the LMDB and the memory form, so that callers hold one concrete type.
package class PageSnapshot: @unchecked Sendable {  // @unchecked: subclasses serialise what is not immutable
    package final let version: Version

    init(version: Version) {
        self.version = version
    }

    /// The value of `key`, or nil when there is none.
    package func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        throw DatabaseError(.internal, "a page snapshot must say how it reads")
    }

    /// A cursor over the whole map. It belongs to one thread at a time and keeps the snapshot alive.
    package func makeCursor() throws(DatabaseError) -> PageCursor {
        throw DatabaseError(.internal, "a page snapshot must say how it walks")
    }

    /// At least as many entries as there are. Numbers that a file says of itself are compared with it: of a file of our
    /// own it is never more than the file's pages can hold.
    package var mostEntryCount: Int { .max }

    /// What is wrong with the pages of this version; a form that keeps no checksums of pages says nothing.
    package func pageProblems() throws(DatabaseError) -> [PageProblem] { [] }

    /// What the file was opened in spite of.
    package var passedOver: PassedOver? { nil }

    package final func get(_ key: [UInt8]) throws(DatabaseError) -> PageBytes? {
        try key.withBytes { bytes throws(DatabaseError) in try get(bytes) }
    }
}
