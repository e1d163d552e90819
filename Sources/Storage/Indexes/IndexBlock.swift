/// A run of index entries as it lies in a page: two arrays of differences to a base, searched where they are.
///
///     offset  0  kind u8 = 0x49    1  format u8 = 1    2  value width u8    3  key width u8 (bytes, 0 ... 8)
///             4  count u32         8  crc32c u32      12  zero u32
///            16  base value u64   24  base key u64
///            32  count differences of the values, then count differences of the keys, then 8 zero bytes
///
/// Little-endian. The differences are unsigned and may have any width, because each is read as eight bytes and masked;
/// the zero bytes keep the last such read inside the block. The checksum covers everything with its own field as zero,
/// continued over the page key, so that a block under a wrong key is found.
///
/// Invariants:
///   I1  a stored block has at least one entry; entries ascend by (value, key), equal ones allowed
///   I2  entries are not below the bound in their page key and below the bound of the next block
///   I3  the first block of a space has the bound (0, 0)
///   I4  equal entries are never split over two blocks
import CMotteShim
import MotteValues

struct IndexBlock {
    static let headerSize = 32
    static let slack = 8
    static let kind: UInt8 = 0x49
    static let format: UInt8 = 1

    let count: Int
    private let values: UnsafeRawPointer
    private let keys: UnsafeRawPointer
    private let baseValue: UInt64
    private let baseKey: UInt64
    private let valueWidth: Int
    private let keyWidth: Int
    private let valueMask: UInt64
    private let keyMask: UInt64

    static func size(count: Int, valueWidth: Int, keyWidth: Int) -> Int {
        headerSize + count * (valueWidth + keyWidth) + slack
    }

    /// Checks everything that reading relies on; afterwards any index below `count` is safe to read.
    init(validating bytes: UnsafeRawBufferPointer, pageKey: UnsafeRawBufferPointer) throws(DatabaseError) {
        guard let start = bytes.baseAddress, bytes.count >= Self.headerSize + Self.slack else {
            throw .corrupted("an index block is too short")
        }
        guard bytes[0] == Self.kind else { throw .corrupted("an index block has the wrong kind") }
        guard bytes[1] == Self.format else {
            throw DatabaseError(
                .unsupportedFormat, "index block format \(bytes[1]) is newer than this library; update it")
        }
        valueWidth = Int(bytes[2])
        keyWidth = Int(bytes[3])
        count = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        guard valueWidth <= 8, keyWidth <= 8, count > 0,
            bytes.count == Self.size(count: count, valueWidth: valueWidth, keyWidth: keyWidth)
        else { throw .corrupted("an index block's header does not match its size (I1)") }
        let stored = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        guard stored == Self.checksum(of: bytes, pageKey: pageKey) else {
            throw .corrupted("an index block's checksum is wrong")
        }
        baseValue = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
        baseKey = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
        values = start + Self.headerSize
        keys = values + count * valueWidth
        valueMask = Self.mask(valueWidth)
        keyMask = Self.mask(keyWidth)
    }

    static func checksum(of bytes: UnsafeRawBufferPointer, pageKey: UnsafeRawBufferPointer) -> UInt32 {
        var zero: UInt32 = 0
        var crc = motte_shim_crc32c(0, bytes.baseAddress, 8)
        crc = motte_shim_crc32c(crc, &zero, 4)
        crc = motte_shim_crc32c(crc, bytes.baseAddress.map { $0 + 12 }, bytes.count - 12)
        return motte_shim_crc32c(crc, pageKey.baseAddress, pageKey.count)
    }

    // MARK: Reading

    @inline(__always)
    func value(_ index: Int) -> UInt64 {
        assert(index >= 0 && index < count)
        return baseValue &+ (Self.word(values, index &* valueWidth) & valueMask)
    }

    @inline(__always)
    func key(_ index: Int) -> UInt64 {
        assert(index >= 0 && index < count)
        return baseKey &+ (Self.word(keys, index &* keyWidth) & keyMask)
    }

    @inline(__always)
    func entry(_ index: Int) -> IndexEntry { IndexEntry(value: value(index), key: key(index)) }

    @inline(__always)
    private static func word(_ start: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    private static func mask(_ width: Int) -> UInt64 {
        width == 0 ? 0 : UInt64.max >> UInt64(64 - 8 * width)
    }

    /// Index of the first entry not below `bound`; `count` if there is none.
    func lowerBound(_ bound: IndexEntry) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            let found = value(middle)
            if found < bound.value || (found == bound.value && key(middle) < bound.key) {
                low = middle &+ 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Index of the first entry above `bound`; `count` if there is none.
    func upperBound(_ bound: IndexEntry) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            let found = value(middle)
            if bound.value < found || (found == bound.value && bound.key < key(middle)) {
                high = middle
            } else {
                low = middle &+ 1
            }
        }
        return low
    }

    // MARK: Bulk reading

    func appendKeys(_ range: Range<Int>, to output: inout [Int64]) {
        guard !range.isEmpty else { return }
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        output.reserveCapacity(output.count + range.count)
        for index in range { output.append(Int64(bitPattern: key(index))) }
    }

    func appendEntries(_ range: Range<Int>, to output: inout ContiguousArray<IndexEntry>) {
        guard !range.isEmpty else { return }
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        for index in range { output.append(entry(index)) }
    }

    /// Decodes into two arrays that have room for the range.
    func decode(_ range: Range<Int>, values: UnsafeMutablePointer<UInt64>, keys: UnsafeMutablePointer<Int64>) {
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        for index in range {
            values[index &- range.lowerBound] = value(index)
            keys[index &- range.lowerBound] = Int64(bitPattern: key(index))
        }
    }
}
