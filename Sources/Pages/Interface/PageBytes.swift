/// The bytes of one value, borrowed from a snapshot: valid for as long as that snapshot lives, never longer.
///
/// Nothing is promised about alignment beyond two bytes.
package struct PageBytes {
    package let bytes: UnsafeRawBufferPointer
    /// The bytes stay at this address in every later version too, until this key is rewritten or deleted, or a
    /// compaction moves values; so a later snapshot may use the pointer without asking again, unless it
    /// `hasMovedValues` since. Values that are not stable move when a neighbour changes.
    package let isStable: Bool

    package init(bytes: UnsafeRawBufferPointer, isStable: Bool) {
        self.bytes = bytes
        self.isStable = isStable
    }
}
