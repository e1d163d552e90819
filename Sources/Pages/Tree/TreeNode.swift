/// One node of the tree: a page with sorted entries. Leaves hold values or point at them, branches point at nodes.
///
///      0  u64 checksum of the rest of the page    16  u64 page number
///      8  u32 "MTND"                             24  u64 version of birth
///     12  u16 level, 0: leaf
///     14  u16 entry count
///     32  u16 offset of each entry, in key order
///     entry: u16 key bytes, u16 value bytes (0xFFFF: a reference follows), key, value or PageRef
///
/// Inline values begin at multiples of 16. Entries fill the page from its end. A child's entry in a branch has the
/// child's first key at the time of writing; the first child also takes every key below its own.
///
/// Invariants, checked once when a node is read from disk, so that all other code may believe its nodes:
///   T1  offsets and sizes of entries stay within the page, behind the offsets
///   T2  keys ascend strictly, 1 to 511 bytes
///   T3  branches have references only, with byte count 0; extents are not empty
///   T4  references lie within the pages a file can have, behind the root slots
import CMotteShim
import MotteValues

package struct TreeNode {
    package let base: UnsafeRawPointer

    package static let headerBytes = 32
    package static let magic: UInt32 = 0x444E_544D  // "MTND", little-endian
    static let referenceMark: UInt16 = 0xFFFF
    package static let entryHeader = 4
    static let slotBytes = 2
    /// Of a key of one byte and no value, with its offset.
    static let leastEntryBytes = slotBytes + entryHeader + 1

    @inline(__always) package init(_ base: UnsafeRawPointer) { self.base = base }

    @inline(__always) package var count: Int { Int(base.load(fromByteOffset: 14, as: UInt16.self)) }
    package var level: Int { Int(base.load(fromByteOffset: 12, as: UInt16.self)) }
    package var checksum: UInt64 { base.load(as: UInt64.self) }
    /// As the node says itself.
    package var page: UInt64 { base.load(fromByteOffset: 16, as: UInt64.self) }
    package var birth: Version { Version(base.load(fromByteOffset: 24, as: UInt64.self)) }

    @inline(__always)
    package func entry(_ index: Int) -> UnsafeRawPointer {
        base + Int(base.load(fromByteOffset: TreeNode.headerBytes + 2 * index, as: UInt16.self))
    }

    @inline(__always)
    package func key(_ index: Int) -> UnsafeRawBufferPointer {
        let entry = entry(index)
        return UnsafeRawBufferPointer(
            start: entry + TreeNode.entryHeader, count: Int(entry.loadUnaligned(as: UInt16.self)))
    }

    /// The child's reference, or that of a leaf's extent.
    @inline(__always)
    package func reference(_ index: Int) -> PageRef {
        let entry = entry(index)
        return PageRef(at: entry + TreeNode.entryHeader + Int(entry.loadUnaligned(as: UInt16.self)))
    }

    /// Whether a leaf's value is on pages of its own.
    package func hasReference(_ index: Int) -> Bool {
        entry(index).loadUnaligned(fromByteOffset: 2, as: UInt16.self) == TreeNode.referenceMark
    }

    /// Index of the first entry whose key is at or after `key`.
    @inline(__always)
    package func lowerBound(_ key: UnsafeRawBufferPointer) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if ValueOrdering.compareBytes(self.key(middle), key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Index of the child that has `key` if any has.
    @inline(__always)
    package func child(for key: UnsafeRawBufferPointer) -> Int {
        var low = 1
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if ValueOrdering.compareBytes(self.key(middle), key) <= 0 { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    // MARK: Checking what a disk gave.

    static func checksum(_ base: UnsafeRawPointer, _ pageBytes: Int) -> UInt64 {
        motte_shim_xxh3(base + 8, pageBytes - 8)
    }

    /// Whether the page is the node that `reference` means. `pageLimit`: page numbers from here on are impossible.
    package static func isSound(
        _ base: UnsafeRawPointer, _ reference: PageRef, level: Int, layout: PageLayout, pageLimit: PageCount
    ) -> Bool {
        let node = TreeNode(base)
        guard node.checksum == reference.checksum, node.page == UInt64(reference.page.rawValue),
            node.birth == reference.birth, node.level == level, checksum(base, layout.pageBytes) == reference.checksum
        else { return false }
        return isWellFormed(base, layout, pageLimit: pageLimit)
    }

    /// T1 to T4.
    package static func isWellFormed(_ base: UnsafeRawPointer, _ layout: PageLayout, pageLimit: PageCount) -> Bool {
        let node = TreeNode(base)
        let pageBytes = layout.nodeBytes
        let lowest = headerBytes + slotBytes * node.count
        guard base.load(fromByteOffset: 8, as: UInt32.self) == magic, node.level < TreeFormat.mostLevels,
            node.count > 0, lowest <= pageBytes
        else { return false }
        for index in 0 ..< node.count {
            let offset = Int(base.load(fromByteOffset: headerBytes + slotBytes * index, as: UInt16.self))
            guard offset >= lowest, offset + entryHeader <= pageBytes else { return false }
            let keyCount = Int((base + offset).loadUnaligned(as: UInt16.self))
            let valueMark = (base + offset).loadUnaligned(fromByteOffset: 2, as: UInt16.self)
            guard (1 ... KeySpace.longestKey).contains(keyCount) else { return false }
            let valueStart = offset + entryHeader + keyCount
            if valueMark == referenceMark {
                guard valueStart + PageRef.encodedCount <= pageBytes else { return false }
                let reference = PageRef(at: base + valueStart)
                guard (reference.byteCount == 0) == (node.level > 0), reference.page >= TreeFormat.firstPage,
                    reference.page + reference.pageCount(layout) <= pageLimit.end
                else { return false }
            } else {
                guard node.level == 0, valueStart + Int(valueMark) <= pageBytes else { return false }
            }
            if index > 0, ValueOrdering.compareBytes(node.key(index - 1), node.key(index)) >= 0 { return false }
        }
        return true
    }
}
