/// A run of an ordered index's entries as it lies in a page: rows with the same bytes are one group, and of its bytes
/// a group has only what differs from the group before it.
///
///     offset  0  kind u8 = 0x4F    1  format u8 = 1    2  groups u16    4  entries u32    8  crc32c u32   12  zero u32
///            16  groups: shared, suffix length, key count, first key (numbers of seven bits a byte, low ones first)
///                | suffix | where there are several keys: u8 width, and all others as differences to the first
///
/// The checksum covers everything with its own field as zero, continued over the page key. The page key is a lower
/// bound of the entries, the shortest that is above the block before: bytes of the first row, and behind the last of
/// them its object key, big-endian, as far as both are needed. The lowest block of an index may have any that fits.
import MotteValues

package struct OrderedBlock {
    package static let headerSize = 16
    package static let kind: UInt8 = 0x4F
    package static let format: UInt8 = 1

    package let entryCount: Int
    let groupCount: Int
    private let start: UnsafeRawPointer
    /// Behind the last group.
    let end: UnsafeRawPointer

    /// Rows with the same bytes.
    package struct Group {
        /// How many bytes are those of the group before.
        let shared: Int
        let suffix: UnsafeRawBufferPointer
        let count: Int
        let firstKey: UInt64
        let width: Int
        fileprivate let differences: UnsafeRawPointer

        @inline(__always)
        func key(_ index: Int) -> UInt64 {
            guard index > 0 else { return firstKey }
            let place = differences + (index &- 1) &* width
            var difference: UInt64 = 0
            for byte in 0 ..< width {
                difference |= UInt64(place.load(fromByteOffset: byte, as: UInt8.self)) << UInt64(8 * byte)
            }
            return firstKey &+ difference
        }

        /// As they lie, of the keys with these indexes, which are not the first.
        func differences(_ range: Range<Int>) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: differences + (range.lowerBound &- 1) &* width, count: range.count &* width)
        }

        /// What lies behind the suffix: the width and all differences, if there are any.
        var tail: UnsafeRawBufferPointer {
            count > 1
                ? UnsafeRawBufferPointer(start: differences - 1, count: 1 + (count - 1) * width)
                : UnsafeRawBufferPointer(start: nil, count: 0)
        }

        /// Of the keys behind the first; their number where all are below.
        func firstIndex(notBelow wanted: UInt64) -> Int {
            var low = 1, high = count
            while low < high {
                let middle = (low &+ high) &>> 1
                if key(middle) < wanted { low = middle &+ 1 } else { high = middle }
            }
            return low
        }

        package func appendKeys(to output: inout [Int64]) {
            output.append(Int64(bitPattern: firstKey))
            guard count > 1 else { return }
            output.reserveCapacity(output.count + count)
            // Typed for the widths that there are in practice.
            switch width {
            case 1:
                for index in 0 ..< count - 1 {
                    append(differences.load(fromByteOffset: index, as: UInt8.self), &output)
                }
            case 2:
                for index in 0 ..< count - 1 {
                    append(
                        UInt16(littleEndian: differences.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)),
                        &output)
                }
            default: for index in 1 ..< count { output.append(Int64(bitPattern: key(index))) }
            }
        }

        @inline(__always)
        private func append(_ difference: some FixedWidthInteger, _ output: inout [Int64]) {
            output.append(Int64(bitPattern: firstKey &+ UInt64(truncatingIfNeeded: difference)))
        }
    }

    /// Checks everything that reading relies on.
    package init(validating bytes: UnsafeRawBufferPointer, pageKey: UnsafeRawBufferPointer) throws(DatabaseError) {
        guard let start = bytes.baseAddress, bytes.count > Self.headerSize else {
            throw .corrupted("a block of an ordered index is too short")
        }
        guard bytes[0] == Self.kind else { throw .corrupted("a block of an ordered index has the wrong kind") }
        guard bytes[1] == Self.format else {
            throw DatabaseError(
                .unsupportedFormat, "format \(bytes[1]) of an ordered index is newer than this library; update it")
        }
        let stored = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        guard stored == IndexBlock.checksum(of: bytes, pageKey: pageKey) else {
            throw .corrupted("the checksum of a block of an ordered index is wrong")
        }
        groupCount = Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        entryCount = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        self.start = start
        end = start + bytes.count
        guard groupCount > 0, try Self.countEntries(bytes, groupCount) == entryCount else {
            throw .corrupted("the header of a block of an ordered index does not match what it has")
        }
    }

    /// All of them, after a look at each place that is read later.
    private static func countEntries(_ bytes: UnsafeRawBufferPointer, _ groups: Int) throws(DatabaseError) -> Int {
        var reader = Checked(bytes: bytes, offset: headerSize)
        var entries = 0
        var length = 0
        for _ in 0 ..< groups {
            let shared = try reader.number()
            let suffix = try reader.number()
            let count = try reader.number()
            _ = try reader.number()
            guard shared <= UInt64(length), suffix <= UInt64(bytes.count), count > 0, count <= UInt64(bytes.count)
            else {
                throw Checked.broken
            }
            length = Int(shared) + Int(suffix)
            guard length <= OrderedBytes.longest else { throw Checked.broken }
            try reader.skip(Int(suffix))
            if count > 1 {
                let width = try reader.byte()
                // No two entries of a group have the same key.
                guard width > 0, width <= 8 else { throw Checked.broken }
                try reader.skip(Int(width) * (Int(count) - 1))
            }
            entries += Int(count)
        }
        guard reader.offset == bytes.count else { throw Checked.broken }
        return entries
    }

    private struct Checked {
        let bytes: UnsafeRawBufferPointer
        var offset: Int

        static var broken: DatabaseError { .corrupted("a block of an ordered index contradicts itself") }

        mutating func byte() throws(DatabaseError) -> UInt8 {
            guard offset < bytes.count else { throw Self.broken }
            defer { offset += 1 }
            return bytes[offset]
        }

        mutating func skip(_ count: Int) throws(DatabaseError) {
            guard count <= bytes.count - offset else { throw Self.broken }
            offset += count
        }

        mutating func number() throws(DatabaseError) -> UInt64 {
            var value: UInt64 = 0
            var shift: UInt64 = 0
            while true {
                let byte = try byte()
                guard shift < 63 || byte <= 1 else { throw Self.broken }
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return value }
                shift += 7
            }
        }
    }

    // MARK: Reading

    /// In order, until `body` says that it is enough.
    @inline(__always)
    func forEachGroup(_ body: (Group) -> Bool) {
        var groups = Groups(self)
        while let group = groups.next() { guard body(group) else { return } }
    }

    /// The groups one by one.
    struct Groups {
        /// Of the next group.
        private(set) var place: UnsafeRawPointer
        private var left: Int

        @inline(__always)
        init(_ block: OrderedBlock) {
            place = block.start + OrderedBlock.headerSize
            left = block.groupCount
        }

        @inline(__always)
        mutating func next() -> Group? {
            guard left > 0 else { return nil }
            left &-= 1
            let shared = OrderedBlock.number(&place)
            let suffix = OrderedBlock.number(&place)
            let count = OrderedBlock.number(&place)
            let firstKey = OrderedBlock.number(&place)
            let bytes = UnsafeRawBufferPointer(start: place, count: Int(truncatingIfNeeded: suffix))
            place += bytes.count
            var width = 0
            if count > 1 {
                width = Int(place.load(as: UInt8.self))
                place += 1
            }
            let group = Group(
                shared: Int(truncatingIfNeeded: shared), suffix: bytes, count: Int(truncatingIfNeeded: count),
                firstKey: firstKey, width: width, differences: place)
            place += width &* (group.count &- 1)
            return group
        }
    }

    @inline(__always)
    fileprivate static func number(_ place: inout UnsafeRawPointer) -> UInt64 {
        let first = place.load(as: UInt8.self)
        place += 1
        if first < 0x80 { return UInt64(first) }
        var value = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            let byte = place.load(as: UInt8.self)
            place += 1
            value |= UInt64(byte & 0x7F) &<< shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }
}

/// Whether groups, handed over in order, have come to a bound: looks at no byte twice.
struct OrderedBoundSearch {
    private let bound: UnsafeRawBufferPointer
    /// How many bytes the last group and the bound share.
    private var matched = 0
    private(set) var isReached = false

    /// `matched`: of the group that was handed over last, which is below the bound.
    init(_ bound: UnsafeRawBufferPointer, matched: Int = 0) {
        self.bound = bound
        self.matched = matched
        isReached = bound.isEmpty
    }

    /// Whether the group is not below the bound.
    @inline(__always)
    mutating func reaches(_ group: OrderedBlock.Group) -> Bool {
        if isReached { return true }
        if group.shared > matched { return false }
        if group.shared < matched {
            isReached = true
            return true
        }
        let suffix = group.suffix
        let most = min(suffix.count, bound.count - matched)
        var same = 0
        while same < most, suffix[same] == bound[matched &+ same] { same &+= 1 }
        if same < most {
            isReached = suffix[same] > bound[matched &+ same]
        } else {
            isReached = most == bound.count - matched
        }
        matched &+= same
        return isReached
    }
}
