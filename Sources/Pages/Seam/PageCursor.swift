import MotteValues

/// A place in a snapshot's keys, in byte order. `key` and `value` are empty before the first successful move; a move
/// that answers false leaves them as they were. The bytes live as long as the snapshot, not only until the next move.
///
/// One thread at a time.
package class PageCursor {
    package final var key = UnsafeRawBufferPointer(start: nil, count: 0)
    package final var value = PageBytes(bytes: UnsafeRawBufferPointer(start: nil, count: 0), isStable: false)

    /// Moves to the first entry at or after `key`; an empty key means the first entry of all.
    package func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool { false }
    /// Moves to the last entry at or before `key`.
    package func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool { false }
    /// Moves on by one entry; false at the end.
    package func next() throws(DatabaseError) -> Bool { false }
    /// Moves back by one entry; false at the beginning.
    package func previous() throws(DatabaseError) -> Bool { false }

    package final func seek(_ key: [UInt8]) throws(DatabaseError) -> Bool {
        try key.withBytes { bytes throws(DatabaseError) in try seek(bytes) }
    }

    package final func seekLast(atMost key: [UInt8]) throws(DatabaseError) -> Bool {
        try key.withBytes { bytes throws(DatabaseError) in try seekLast(atMost: bytes) }
    }
}
