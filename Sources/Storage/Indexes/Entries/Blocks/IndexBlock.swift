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

package struct IndexBlock {
    package static let headerSize = 32
    package static let slack = 8
    package static let kind: UInt8 = 0x49
    package static let format: UInt8 = 1

    package let count: Int
    private let values: UnsafeRawPointer
    private let keys: UnsafeRawPointer
    private let baseValue: UInt64
    private let baseKey: UInt64
    private let valueWidth: Int
    private let keyWidth: Int
    private let valueMask: UInt64
    private let keyMask: UInt64
    /// The first value and the last are as far apart as numbers in a row would be. Where keys count up they mostly are.
    private let mayCountUp: Bool

    package static func size(count: Int, valueWidth: Int, keyWidth: Int) -> Int {
        headerSize + count * (valueWidth + keyWidth) + slack
    }

    /// Checks everything that reading relies on; afterwards any index below `count` is safe to read. `mostRepeats`: how
    /// often one entry can be there, which takes no bytes from the second time on.
    package init(
        validating bytes: UnsafeRawBufferPointer, pageKey: UnsafeRawBufferPointer, mostRepeats: Int = .max
    ) throws(DatabaseError) {
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
        guard valueWidth + keyWidth > 0 || count <= mostRepeats else {
            throw .corrupted("an index block has an entry more often than the file can hold")
        }
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
        let last = Self.word(values, (count - 1) * valueWidth) & valueMask
        mayCountUp = last &- (Self.word(values, 0) & valueMask) == UInt64(count - 1)
    }

    package static func checksum(of bytes: UnsafeRawBufferPointer, pageKey: UnsafeRawBufferPointer) -> UInt32 {
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
    package func lowerBound(_ bound: IndexEntry) -> Int {
        let start = firstIndex(ofValueFrom: bound.value)
        guard bound.key > 0 else { return start }
        var low = start, high = endIndex(ofValue: bound.value, from: start)
        while low < high {
            let middle = (low &+ high) &>> 1
            if key(middle) < bound.key { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Index of the first entry above `bound`; `count` if there is none.
    package func upperBound(_ bound: IndexEntry) -> Int {
        guard bound.key < .max else { return bound.value < .max ? firstIndex(ofValueFrom: bound.value + 1) : count }
        return lowerBound(IndexEntry(value: bound.value, key: bound.key + 1))
    }

    private func endIndex(ofValue wanted: UInt64, from start: Int) -> Int {
        guard start < count, value(start) == wanted else { return start }
        return wanted < .max ? firstIndex(ofValueFrom: wanted + 1) : count
    }

    /// Halves a range whose size does not depend on what is found, so that there is no branch to mispredict.
    private func firstIndex(ofValueFrom wanted: UInt64) -> Int {
        if mayCountUp {
            let guess = wanted &- value(0)
            if guess < UInt64(count), value(Int(guess)) == wanted, guess == 0 || value(Int(guess) - 1) < wanted {
                return Int(guess)
            }
        }
        var start = 0, size = count
        while size > 1 {
            let half = size &>> 1
            start = value(start &+ half &- 1) < wanted ? start &+ half : start
            size &-= half
        }
        return value(start) < wanted ? start &+ 1 : start
    }

    // MARK: Editing

    /// An entry to add before the one at `index`, or the removal of that one.
    struct Edit {
        let index: Int
        let added: IndexEntry?
    }

    /// Whether a difference to the bases fits into the widths.
    package func hasRoom(for entry: IndexEntry) -> Bool {
        entry.value >= baseValue && entry.value - baseValue <= valueMask && entry.key >= baseKey
            && entry.key - baseKey <= keyMask
    }

    func size(count: Int) -> Int { Self.size(count: count, valueWidth: valueWidth, keyWidth: keyWidth) }

    /// The bytes of this block with `edits`, ascending, made in it; every added entry has room.
    func applying(_ edits: [Edit], pageKey: [UInt8]) -> [UInt8] {
        let newCount = edits.reduce(count) { $0 + ($1.added == nil ? -1 : 1) }
        let size = size(count: newCount)
        // Every block has a header.
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            raw.copyMemory(from: UnsafeRawBufferPointer(start: values - Self.headerSize, count: Self.headerSize))
            raw.storeBytes(of: UInt32(truncatingIfNeeded: newCount).littleEndian, toByteOffset: 4, as: UInt32.self)
            raw.storeBytes(of: 0, toByteOffset: 8, as: UInt32.self)
            var offset = Self.headerSize
            write(values, valueWidth, edits, raw, &offset) { $0.value &- baseValue }
            write(keys, keyWidth, edits, raw, &offset) { $0.key &- baseKey }
            raw.storeBytes(of: 0, toByteOffset: offset, as: UInt64.self)
            initialized = size
            Self.seal(raw, pageKey)
        }
    }

    private func write(
        _ source: UnsafeRawPointer, _ width: Int, _ edits: [Edit], _ target: UnsafeMutableRawBufferPointer,
        _ offset: inout Int, _ difference: (IndexEntry) -> UInt64
    ) {
        var next = 0
        func copy(to end: Int) {
            let bytes = UnsafeRawBufferPointer(start: source + next * width, count: (end - next) * width)
            UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: bytes)
            offset += bytes.count
            next = end
        }
        for edit in edits {
            copy(to: edit.index)
            if let added = edit.added {
                // Eight bytes, of which the following ones overwrite what is too much.
                target.storeBytes(of: difference(added).littleEndian, toByteOffset: offset, as: UInt64.self)
                offset += width
            } else {
                next += 1
            }
        }
        copy(to: count)
    }

    /// Puts the checksum into a block that is complete but for it.
    package static func seal(_ block: UnsafeMutableRawBufferPointer, _ pageKey: [UInt8]) {
        let crc = pageKey.withUnsafeBytes { checksum(of: UnsafeRawBufferPointer(block), pageKey: $0) }
        block.storeBytes(of: crc.littleEndian, toByteOffset: 8, as: UInt32.self)
    }

    // MARK: Bulk reading

    package func appendKeys(_ range: Range<Int>, to output: inout [Int64]) {
        guard !range.isEmpty else { return }
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        // Without reserving exactly that much: many callers append a little, time and again.
        for index in range { output.append(Int64(bitPattern: key(index))) }
    }

    package func appendEntries(_ range: Range<Int>, to output: inout ContiguousArray<IndexEntry>) {
        guard !range.isEmpty else { return }
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        for index in range { output.append(entry(index)) }
    }

    /// Decodes into two arrays that have room for the range.
    package func decode(_ range: Range<Int>, values: UnsafeMutablePointer<UInt64>, keys: UnsafeMutablePointer<Int64>) {
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        for index in range {
            values[index &- range.lowerBound] = value(index)
            keys[index &- range.lowerBound] = Int64(bitPattern: key(index))
        }
    }
}
