/// A run of puts and deletes that a commit applies as one version. Entries may come in any order and repeat a key: the
/// later one wins. Committing does not consume it, so that a failed commit loses nothing.
///
/// Keys and values are copied into large segments that never move, so adding an entry allocates nothing of its own and
/// a growing batch copies no bytes. Memory is about the bytes added plus 32 per entry.
import MotteValues
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct PageBatch: ~Copyable {
    struct Entry {
        /// The first eight bytes of the key as a big-endian number: decides nearly every comparison of a sort.
        var prefix: UInt64
        /// The key, and behind it the value.
        var start: UnsafeRawPointer
        var valueCount: Int
        var keyCount: Int32
        var isDelete: Bool

        var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: Int(keyCount)) }
        var value: UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: start + Int(keyCount), count: valueCount)
        }
    }

    private(set) var entries: [Entry] = []
    /// Keys so far ascend strictly: nothing to sort, nothing given twice.
    private var isAscending = true
    /// A key or a value that no store takes; reported by the commit, so that adding never throws.
    private(set) var refusal: DatabaseError?
    private var segments: [UnsafeMutableRawBufferPointer] = []
    private var segmentUsed = 0

    private static let firstSegmentBytes = 16 << 10
    private static let largestSegmentBytes = 4 << 20
    private static let longestValue = Int(Int32.max)

    package init() {}

    deinit {
        for segment in segments { segment.deallocate() }
    }

    package var isEmpty: Bool { entries.isEmpty }
    /// Entries added, repeated keys included.
    package var count: Int { entries.count }
    /// Bytes of keys and values added.
    package private(set) var byteCount = 0

    package mutating func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        add(key, value, isDelete: false)
    }

    package mutating func put(_ key: [UInt8], _ value: UnsafeRawBufferPointer) {
        key.withUnsafeBytes { add($0, value, isDelete: false) }
    }

    package mutating func put(_ key: UnsafeRawBufferPointer, _ value: [UInt8]) {
        value.withUnsafeBytes { add(key, $0, isDelete: false) }
    }

    package mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        key.withUnsafeBytes { keyBytes in value.withUnsafeBytes { add(keyBytes, $0, isDelete: false) } }
    }

    /// Removes the key's entry; a key that is not there is fine.
    package mutating func delete(_ key: UnsafeRawBufferPointer) {
        add(key, UnsafeRawBufferPointer(start: nil, count: 0), isDelete: true)
    }

    package mutating func delete(_ key: [UInt8]) {
        key.withUnsafeBytes { add($0, UnsafeRawBufferPointer(start: nil, count: 0), isDelete: true) }
    }

    /// Hands what was added so far to the file, to make room in memory, without making it visible. The call stands
    /// here because writers are built around it; no store offers it yet.
    package mutating func spill() throws(DatabaseError) {
        throw DatabaseError(.unsupported, "spilling a large transaction to disk is not supported yet")
    }

    /// The entries that count: sorted, and of several for one key only the last.
    borrowing func effectiveEntries() -> [Entry] {
        if isAscending { return entries }
        var order = [Int32](unsafeUninitializedCapacity: entries.count) { buffer, count in
            for i in 0 ..< entries.count { buffer.initializeElement(at: i, to: Int32(truncatingIfNeeded: i)) }
            count = entries.count
        }
        entries.withUnsafeBufferPointer { entries in
            order.sort { left, right in
                let difference = PageBatch.compare(entries[Int(left)], entries[Int(right)])
                return difference != 0 ? difference < 0 : left < right
            }
        }
        var effective: [Entry] = []
        effective.reserveCapacity(order.count)
        for index in order {
            let entry = entries[Int(index)]
            if let last = effective.last, PageBatch.compare(last, entry) == 0 {
                effective[effective.count - 1] = entry
            } else {
                effective.append(entry)
            }
        }
        return effective
    }

    private static func compare(_ left: Entry, _ right: Entry) -> Int {
        if left.prefix != right.prefix { return left.prefix < right.prefix ? -1 : 1 }
        return ValueOrdering.compareBytes(left.key, right.key)
    }

    private mutating func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isDelete: Bool) {
        guard refusal == nil else { return }
        guard !key.isEmpty, key.count <= KeySpace.longestKey else {
            refusal = DatabaseError(
                .internal, "a page key has \(key.count) bytes; 1 to \(KeySpace.longestKey) are possible")
            return
        }
        guard value.count <= PageBatch.longestValue, entries.count < Int(Int32.max) else {
            refusal = DatabaseError(
                .valueTooLarge, "a stored value has \(value.count) bytes; less than 2 GiB are possible")
            return
        }
        let start = reserve(key.count + value.count)
        UnsafeMutableRawBufferPointer(start: start, count: key.count).copyMemory(from: key)
        if !value.isEmpty {
            UnsafeMutableRawBufferPointer(start: start + key.count, count: value.count).copyMemory(from: value)
        }
        let entry = Entry(
            prefix: PageBatch.prefix(of: key), start: UnsafeRawPointer(start), valueCount: value.count,
            keyCount: Int32(key.count), isDelete: isDelete)
        if isAscending, let last = entries.last { isAscending = PageBatch.compare(last, entry) < 0 }
        entries.append(entry)
        byteCount += key.count + value.count
    }

    /// Shorter keys are padded with zeros; equal prefixes are compared in full.
    private static func prefix(of key: UnsafeRawBufferPointer) -> UInt64 {
        if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
        var prefix: UInt64 = 0
        for byte in key { prefix = prefix << 8 | UInt64(byte) }
        return prefix << UInt64(8 * (8 - key.count))
    }

    private mutating func reserve(_ count: Int) -> UnsafeMutableRawPointer {
        if let last = segments.last, let base = last.baseAddress, segmentUsed + count <= last.count {
            defer { segmentUsed += count }
            return base + segmentUsed
        }
        let grown = segments.last.map { min($0.count * 2, PageBatch.largestSegmentBytes) }
        let size = max(grown ?? PageBatch.firstSegmentBytes, count)
        let segment = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        segments.append(UnsafeMutableRawBufferPointer(start: segment, count: size))
        segmentUsed = count
        return segment
    }
}
