import MotteValues

/// A place in a snapshot's keys, in byte order. A move that answers false leaves `key` and `value` as they were.
///
/// One thread at a time.
package protocol PageCursor: PageCursorEntry {
    /// Moves to the first entry at or after `key`; an empty key means the first entry of all.
    func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool
    /// Moves to the last entry at or before `key`.
    func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool
    /// Advances by one entry; false at the end.
    func next() throws(DatabaseError) -> Bool
    /// Moves back by one entry; false at the beginning.
    func previous() throws(DatabaseError) -> Bool
}

/// The entry a cursor is at, in fields rather than behind requirements: scans read them for every entry. Empty before
/// the first successful move. The bytes live as long as the snapshot, not only until the next move.
package class PageCursorEntry {
    package final internal(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)
    package final internal(set) var value = PageBytes(
        bytes: UnsafeRawBufferPointer(start: nil, count: 0), isStable: false)

    /// Set by who wants keys only: values on pages of their own are not read, and `value` is empty then.
    package var skipsValues = false
    /// Bytes of a value that was not read.
    final var skippedByteCount: Int?
    /// Bytes of the value, also where it was not read.
    package final var valueByteCount: Int { skippedByteCount ?? value.bytes.count }

    init() {}
}

extension PageCursor {
    package func seek(_ key: [UInt8]) throws(DatabaseError) -> Bool {
        try key.withBytes { bytes throws(DatabaseError) in try seek(bytes) }
    }

    package func seekLast(atMost key: [UInt8]) throws(DatabaseError) -> Bool {
        try key.withBytes { bytes throws(DatabaseError) in try seekLast(atMost: bytes) }
    }
}
