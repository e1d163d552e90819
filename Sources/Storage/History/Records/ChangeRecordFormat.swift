/// The bytes of a change record: what one commit changed, under the page key 0x7F | version u64 big-endian.
///
///     offset  0  kind u8 = 0x4C    1  format u8 = 1    2  flags u16       4  section count u32
///             8  version u64
///            16  checksum of the record before, 0 if there was none u32   20  crc32c u32
///            24  wall clock, nanoseconds since 1970 i64
///            32  origin, 16 bytes: which process or peer wrote it
///            48  sections: kind u16, flags u16 (1: skip it if unknown), byte count u32, then that many bytes
///
/// Little-endian. Lengths, keys, gaps and positions inside sections are variable-length numbers (`LogCoding`); tables
/// and columns are u32. The checksum covers the record with its own field as zero, continued over the page key.
///
///     1 schema    nothing; or u8 1: changed in a way that batches of changes do not carry over
///     2 inserted  table, run count, per run: gap from the end of the run before, length
///     3 deleted   the same
///     4 modified  table, column, u8 (1: with images), key count, per key: gap from the key before plus one,
///                 then per key the value before and the value after (`LoggedValue`)
///     5 lists     table, column, owner count, per owner: gap as above, operation count, per operation:
///                 u8 kind, index, then count, or for a move the destination
///     6 maps      table, column, owner count, per owner: gap as above, change count, per change:
///                 u8 kind (1 inserted, 2 modified, 3 removed), key length, key
///     7 nested    table, column, owner count, per owner: gap as above, operation count, per operation:
///                 u8 kind, steps, per step u8 0 and index or u8 1 and key, then what the kind needs
///                 (`NestedOperation`)
///     8 replicas  page count, per page the byte count of its key and the key, ascending: what was written of what the
///                 file keeps of other files, whose batches it applies (`ReplicaPages`)
///
/// Sections are in this order for each table, tables and columns ascending; replicas come last.
import CMotteShim
import MotteValues

package enum ChangeRecordFormat {
    package static let keySpace: UInt8 = 0x7F
    package static let kind: UInt8 = 0x4C
    package static let format: UInt8 = 1
    package static let headerSize = 48
    static let sectionHeaderSize = 8
    static let optionalSection: UInt16 = 1
    static let sectionCountOffset = 4
    package static let previousOffset = 16
    package static let checksumOffset = 20
    static let wallTimeOffset = 24

    enum Section: UInt16 {
        case schema = 1
        case inserted = 2
        case deleted = 3
        case modified = 4
        case lists = 5
        case maps = 6
        case nested = 7
        case replicas = 8
    }

    package static func pageKey(_ version: Version) -> [UInt8] {
        var key: [UInt8] = [keySpace]
        withUnsafeBytes(of: version.rawValue.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    package static func version(of pageKey: UnsafeRawBufferPointer) -> Version? {
        guard pageKey.count == 9, pageKey[0] == keySpace else { return nil }
        return Version(UInt64(bigEndian: pageKey.loadUnaligned(fromByteOffset: 1, as: UInt64.self)))
    }

    /// `bytes` has at least a header.
    package static func checksum(of bytes: UnsafeRawBufferPointer, pageKey: UnsafeRawBufferPointer) -> UInt32 {
        var zero: UInt32 = 0
        var crc = motte_shim_crc32c(0, bytes.baseAddress, checksumOffset)
        crc = motte_shim_crc32c(crc, &zero, 4)
        let rest = checksumOffset + 4
        crc = motte_shim_crc32c(crc, bytes.baseAddress.map { $0 + rest }, bytes.count - rest)
        return motte_shim_crc32c(crc, pageKey.baseAddress, pageKey.count)
    }
}

/// Which process, and later which peer, made a commit.
package struct ChangeOrigin: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
    package static let unknown = ChangeOrigin(high: 0, low: 0)

    /// In the form of a UUID.
    package var text: String {
        func hex(_ word: UInt64) -> String {
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        let all = Array(hex(high) + hex(low))
        return [0 ..< 8, 8 ..< 12, 12 ..< 16, 16 ..< 20, 20 ..< 32].map { String(all[$0]) }.joined(separator: "-")
    }
}

/// What a change record keeps of values.
package struct ChangeLogPolicy: Sendable {
    /// Whether modified properties carry their values before and after.
    package var keepsImages = true
    /// Longer strings and data are kept as length and hash.
    package var longestBefore = 64
    package var longestAfter = 1_024
    /// Of a property that a commit changes in more objects than this no values are kept: a bulk update would hold all
    /// of them in memory, and write them twice.
    package var mostImages = 1 << 16
    package init() {}
}
