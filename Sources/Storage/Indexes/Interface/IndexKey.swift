/// The number of an index, and what the page keys of its pages begin with.
///
///     0x07 | index u32, big-endian | what its kind makes of the rest, 511 bytes in all
///
/// The number with its top bit set is the index's too. Fixed entries have their nulls there: null has no number among
/// the values, because every 64-bit pattern is some integer. Their blocks have the keys
///
///     0x07 | index u32 | value u64 | key u64        all big-endian; value and key: lower bound of the block's entries
import MotteValues

/// Handed out in order, kept in the catalog and never reused. The top bit stays zero.
package struct IndexKey: Hashable, Comparable, Sendable {
    package let rawValue: UInt32
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (left: IndexKey, right: IndexKey) -> Bool { left.rawValue < right.rawValue }
}

/// One sorted sequence of blocks: an index's values, or its nulls.
package struct IndexSpace: Hashable {
    package static let keySpace: UInt8 = 0x07
    static let pageKeySize = 21
    private static let nullBit: UInt32 = 1 << 31

    private let number: UInt32

    package static func values(_ index: IndexKey) -> IndexSpace { IndexSpace(number: index.rawValue & ~nullBit) }
    package static func nulls(_ index: IndexKey) -> IndexSpace { IndexSpace(number: index.rawValue | nullBit) }

    /// The index that a number in a page key belongs to.
    static func index(ofNumber number: UInt32) -> IndexKey { IndexKey(number & ~nullBit) }

    /// What all keys of an index's pages begin with, whatever its kind.
    package static func everything(of index: IndexKey) -> [[UInt8]] {
        [values(index), nulls(index)].map { Array($0.pageKey(IndexEntry(value: 0, key: 0)).prefix(5)) }
    }

    package func pageKey(_ bound: IndexEntry) -> [UInt8] {
        // Every key has this size.
        [UInt8](unsafeUninitializedCapacity: Self.pageKeySize) { buffer, count in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            raw.storeBytes(of: Self.keySpace, toByteOffset: 0, as: UInt8.self)
            raw.storeBytes(of: number.bigEndian, toByteOffset: 1, as: UInt32.self)
            raw.storeBytes(of: bound.value.bigEndian, toByteOffset: 5, as: UInt64.self)
            raw.storeBytes(of: bound.key.bigEndian, toByteOffset: 13, as: UInt64.self)
            count = Self.pageKeySize
        }
    }

    /// The bound in a page key of this space; nil for the key of anything else.
    package func bound(in pageKey: UnsafeRawBufferPointer) -> IndexEntry? {
        guard pageKey.count == Self.pageKeySize, pageKey[0] == Self.keySpace,
            UInt32(bigEndian: pageKey.loadUnaligned(fromByteOffset: 1, as: UInt32.self)) == number
        else { return nil }
        return IndexEntry(
            value: UInt64(bigEndian: pageKey.loadUnaligned(fromByteOffset: 5, as: UInt64.self)),
            key: UInt64(bigEndian: pageKey.loadUnaligned(fromByteOffset: 13, as: UInt64.self)))
    }
}
