/// Where the pending changes of an ordered index lie, and how references to them are compared and sorted.
///
///     a change    object key u64 | length u32, top bit: removed, the next: has a null | bytes
///
/// Changes lie one behind the other in segments, large ones in the write's spill file. A place is the number of the
/// segment and where in it, so that it ascends as changes come. A reference is eight of a change's bytes and its place.
import MottePages
import MotteValues

final class OrderedChangeMemory {
    /// Bits of a place within its segment.
    private static let segmentBits: UInt64 = 24
    private static let most = 1 << 20
    private var segments: [UnsafeMutableRawPointer] = []
    private var own: [UnsafeMutableRawPointer] = []
    private var capacity = 0
    private var used = 0
    private let spill: SpillFile

    init(_ spill: SpillFile) { self.spill = spill }
    deinit { for segment in own { segment.deallocate() } }

    /// Of the next change, which may come to lie further on.
    var end: Int { segments.isEmpty ? 0 : (segments.count - 1) << Self.segmentBits | used }

    func append(_ bytes: UnsafeRawBufferPointer, _ key: UInt64, isRemoved: Bool, hasNull: Bool = false) -> Int {
        let size = 12 + bytes.count
        if used + size > capacity { addSegment() }
        let place = (segments.count - 1) << Int(Self.segmentBits) | used
        let start = segments[segments.count - 1] + used
        start.storeBytes(of: key, as: UInt64.self)
        start.storeBytes(
            of: UInt32(bytes.count) | (isRemoved ? 1 << 31 : 0) | (hasNull ? 1 << 30 : 0), toByteOffset: 8,
            as: UInt32.self)
        if let source = bytes.baseAddress { (start + 12).copyMemory(from: source, byteCount: bytes.count) }
        used += size
        return place
    }

    private func addSegment() {
        let size = min(Self.most, max(4_096, capacity * 2))
        if size < Self.most {
            let made = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
            own.append(made)
            segments.append(made)
        } else {
            segments.append(spill.reserve(size))
        }
        capacity = size
        used = 0
    }

    @inline(__always)
    private func start(_ place: UInt64) -> UnsafeRawPointer {
        UnsafeRawPointer(segments[Int(place &>> Self.segmentBits)]) + Int(place & (1 &<< Self.segmentBits - 1))
    }

    /// Reads something of a change that is asked for soon.
    @inline(__always)
    func touch(_ place: UInt64) -> UInt64 { start(place).loadUnaligned(as: UInt64.self) }

    @inline(__always)
    func key(_ place: UInt64) -> UInt64 { start(place).loadUnaligned(as: UInt64.self) }

    @inline(__always)
    func isRemoved(_ place: UInt64) -> Bool {
        start(place).loadUnaligned(fromByteOffset: 8, as: UInt32.self) >> 31 != 0
    }

    @inline(__always)
    func hasNull(_ place: UInt64) -> Bool {
        start(place).loadUnaligned(fromByteOffset: 8, as: UInt32.self) & 1 << 30 != 0
    }

    @inline(__always)
    func bytes(_ place: UInt64) -> UnsafeRawBufferPointer {
        let start = start(place)
        let count = start.loadUnaligned(fromByteOffset: 8, as: UInt32.self) & (1 << 30 - 1)
        return UnsafeRawBufferPointer(start: start + 12, count: Int(count))
    }

    /// The eight bytes from `depth` on, zeros behind the last.
    @inline(__always)
    static func word(_ bytes: UnsafeRawBufferPointer, _ depth: Int) -> UInt64 {
        let left = bytes.count - depth
        if left >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: depth, as: UInt64.self)) }
        var word: UInt64 = 0
        for index in 0 ..< max(0, left) { word |= UInt64(bytes[depth &+ index]) << UInt64(56 - 8 * index) }
        return word
    }

    /// By bytes, then object key.
    @inline(__always)
    func compare(_ left: IndexEntry, _ right: IndexEntry) -> Int {
        if left.value != right.value { return left.value < right.value ? -1 : 1 }
        return OrderedItems.compare(bytes(left.key), key(left.key), bytes(right.key), key(right.key))
    }

    /// Whether a change's bytes are below `bound`, of which `word` are the first eight.
    @inline(__always)
    func isBelow(_ entry: IndexEntry, _ bound: UnsafeRawBufferPointer, _ word: UInt64) -> Bool {
        if entry.value != word { return entry.value < word }
        return OrderedReader.compare(bytes(entry.key), bound) < 0
    }

    // MARK: Sorting

    /// Eight bytes at a time, without comparisons, as far as there are many that share those before.
    func sort(_ entries: inout ContiguousArray<IndexEntry>, depth: Int = 0) {
        guard entries.count > Self.few else {
            return entries.withUnsafeMutableBufferPointer { sortFew($0, depth: depth) }
        }
        if depth > 0 {
            for index in entries.indices { entries[index].value = Self.word(bytes(entries[index].key), depth) }
        }
        EntrySort.sort(&entries)
        var start = 0
        while start < entries.count {
            let value = entries[start].value
            var end = start + 1
            while end < entries.count, entries[end].value == value { end += 1 }
            if end - start > Self.few {
                sortEqual(&entries, start ..< end, depth + 8)
            } else if end - start > 1 {
                entries.withUnsafeMutableBufferPointer { entries in
                    sortFew(UnsafeMutableBufferPointer(rebasing: entries[start ..< end]), depth: depth + 8)
                }
            }
            start = end
        }
        if depth == 0 { return }
        // What belongs to an entry are its first bytes.
        for index in entries.indices { entries[index].value = Self.word(bytes(entries[index].key), 0) }
    }

    private static let few = 64

    /// Many that share the bytes before `depth`.
    private func sortEqual(_ entries: inout ContiguousArray<IndexEntry>, _ range: Range<Int>, _ depth: Int) {
        let length = bytes(entries[range.lowerBound].key).count
        var part = ContiguousArray(entries[range])
        if length <= depth {
            // All of their bytes are the same. Mostly in the order in which they came.
            if !zip(part, part.dropFirst()).allSatisfy({ key($0.key) <= key($1.key) }) {
                part.sort { key($0.key) < key($1.key) }
            }
        } else {
            sort(&part, depth: depth)
        }
        entries.replaceSubrange(range, with: part)
    }

    /// Those that share the bytes before `depth`, one after the other to its place.
    private func sortFew(_ entries: UnsafeMutableBufferPointer<IndexEntry>, depth: Int) {
        guard entries.count <= 12 else {
            var entries = entries
            return entries.sort { isBefore($0, $1, depth) }
        }
        for index in 1 ..< max(1, entries.count) {
            let entry = entries[index]
            var place = index
            while place > 0, isBefore(entry, entries[place - 1], depth) {
                entries[place] = entries[place - 1]
                place -= 1
            }
            entries[place] = entry
        }
    }

    @inline(__always)
    private func isBefore(_ left: IndexEntry, _ right: IndexEntry, _ depth: Int) -> Bool {
        let (one, two) = (bytes(left.key), bytes(right.key))
        let skipped = min(depth, one.count, two.count)
        return OrderedItems.compare(
            UnsafeRawBufferPointer(rebasing: one[skipped...]), key(left.key),
            UnsafeRawBufferPointer(rebasing: two[skipped...]), key(right.key)) < 0
    }
}
