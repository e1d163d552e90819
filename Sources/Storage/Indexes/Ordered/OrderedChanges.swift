/// What a write has added to an ordered index and removed from it, in runs that sort themselves lazily.
///
///     a change    object key u64 | length u32, top bit: removed | bytes
///
/// Changes lie one behind the other in segments, and are sorted by reference: eight of their bytes and their place. Of
/// a write that adds millions, segments and sorted runs go to its spill file. A place is the number of the segment and
/// where in it, so that it ascends as changes come: going back to a savepoint takes out the places from its mark on.
///
/// An entry that is added as often as it was removed is as it was.
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

    func append(_ bytes: UnsafeRawBufferPointer, _ key: UInt64, isRemoved: Bool) -> Int {
        let size = 12 + bytes.count
        if used + size > capacity { addSegment() }
        let place = (segments.count - 1) << Int(Self.segmentBits) | used
        let start = segments[segments.count - 1] + used
        start.storeBytes(of: key, as: UInt64.self)
        start.storeBytes(of: UInt32(bytes.count) | (isRemoved ? 1 << 31 : 0), toByteOffset: 8, as: UInt32.self)
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

    @inline(__always)
    func key(_ place: UInt64) -> UInt64 { start(place).loadUnaligned(as: UInt64.self) }

    @inline(__always)
    func isRemoved(_ place: UInt64) -> Bool {
        start(place).loadUnaligned(fromByteOffset: 8, as: UInt32.self) >> 31 != 0
    }

    @inline(__always)
    func bytes(_ place: UInt64) -> UnsafeRawBufferPointer {
        let start = start(place)
        let count = start.loadUnaligned(fromByteOffset: 8, as: UInt32.self) & (1 << 31 - 1)
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
        let few = 64
        guard entries.count > few else { return sortFew(&entries) }
        if depth > 0 {
            for index in entries.indices { entries[index].value = Self.word(bytes(entries[index].key), depth) }
        }
        EntrySort.sort(&entries)
        var start = 0
        while start < entries.count {
            let value = entries[start].value
            var end = start + 1
            while end < entries.count, entries[end].value == value { end += 1 }
            if end - start > 1 { sortEqual(&entries, start ..< end, depth + 8) }
            start = end
        }
        if depth == 0 { return }
        // What belongs to an entry are its first bytes.
        for index in entries.indices { entries[index].value = Self.word(bytes(entries[index].key), 0) }
    }

    /// Those that share the bytes before `depth`.
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

    private func sortFew(_ entries: inout ContiguousArray<IndexEntry>) {
        entries.sort { left, right in
            OrderedItems.compare(bytes(left.key), key(left.key), bytes(right.key), key(right.key)) < 0
        }
    }
}

struct OrderedChanges {
    private let memory: OrderedChangeMemory
    private let spill: SpillFile
    private var runs: [ContiguousArray<IndexEntry>] = []
    private var open: ContiguousArray<IndexEntry> = []
    private var far: [UnsafeBufferPointer<IndexEntry>] = []
    private let mostNear: Int
    private(set) var count = 0

    init(_ spill: SpillFile, mostNear: Int = PendingEntries.mostNear) {
        self.spill = spill
        self.mostNear = mostNear
        memory = OrderedChangeMemory(spill)
    }

    var isEmpty: Bool { count == 0 }
    var end: Int { memory.end }

    /// `mayMove`: no savepoint will want it back.
    mutating func append(_ bytes: UnsafeRawBufferPointer, _ key: UInt64, isRemoved: Bool, mayMove: Bool) {
        let place = memory.append(bytes, key, isRemoved: isRemoved)
        open.append(IndexEntry(value: OrderedChangeMemory.word(bytes, 0), key: UInt64(place)))
        count += 1
        if mayMove, open.count >= mostNear { settle(mayMove: true) }
    }

    mutating func rollBack(to mark: Int) {
        settle(mayMove: false)
        for index in runs.indices { runs[index].removeAll { $0.key >= UInt64(mark) } }
        runs.removeAll(where: \.isEmpty)
        count = runs.reduce(far.reduce(0) { $0 + $1.count }) { $0 + $1.count }
    }

    private mutating func settle(mayMove: Bool) {
        guard !open.isEmpty else { return }
        memory.sort(&open)
        runs.append(open)
        open = []
        while runs.count >= 2, runs[runs.count - 1].count * 2 > runs[runs.count - 2].count { mergeLastTwo() }
        guard mayMove, runs.reduce(0, { $0 + $1.count }) >= mostNear else { return }
        while runs.count >= 2 { mergeLastTwo() }
        runs[0].withUnsafeBufferPointer { run in
            let bytes = UnsafeRawBufferPointer(run)
            let place = spill.reserve(bytes.count)
            UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(from: bytes)
            far.append(UnsafeBufferPointer(start: place.assumingMemoryBound(to: IndexEntry.self), count: run.count))
        }
        runs = []
    }

    private mutating func mergeLastTwo() {
        let right = runs.removeLast(), left = runs.removeLast()
        var merged = ContiguousArray<IndexEntry>()
        merged.reserveCapacity(left.count + right.count)
        var one = 0, two = 0
        while one < left.count, two < right.count {
            if memory.compare(right[two], left[one]) < 0 {
                merged.append(right[two])
                two += 1
            } else {
                merged.append(left[one])
                one += 1
            }
        }
        merged.append(contentsOf: left[one...])
        merged.append(contentsOf: right[two...])
        runs.append(merged)
    }

    // MARK: Reading

    /// What is different from before: each entry once, with whether it has come or gone.
    struct Change {
        let bytes: UnsafeRawBufferPointer
        let key: UInt64
        let isRemoved: Bool
    }

    /// Calls for all changes in order.
    mutating func forEach(_ body: (Change) throws(DatabaseError) -> Void) throws(DatabaseError) {
        settle(mayMove: false)
        while runs.count >= 2 { mergeLastTwo() }
        let near = runs.first ?? []
        let result: Result<Void, DatabaseError> = near.withUnsafeBufferPointer { near in
            var stream = Stream(memory, far + [near])
            do throws(DatabaseError) {
                while let change = stream.next() { try body(change) }
                return .success(())
            } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// The same as a sequence that the caller advances.
    mutating func withStream<Answer>(
        _ body: (inout Stream) throws(DatabaseError) -> Answer
    ) throws(DatabaseError) -> Answer {
        settle(mayMove: false)
        while runs.count >= 2 { mergeLastTwo() }
        let near = runs.first ?? []
        let result: Result<Answer, DatabaseError> = near.withUnsafeBufferPointer { near in
            var stream = Stream(memory, far + [near])
            do throws(DatabaseError) { return .success(try body(&stream)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Those within the span, in order. Their bytes live as long as this.
    mutating func changes(in span: OrderedSpan) -> [Change] {
        guard count > 0, !span.isEmpty else { return [] }
        settle(mayMove: false)
        var found: ContiguousArray<IndexEntry> = []
        var sources = 0
        func add(_ run: UnsafeBufferPointer<IndexEntry>) {
            let start = lowerBound(run, span.low)
            let end = span.high.map { lowerBound(run, $0) } ?? run.count
            guard start < end else { return }
            sources += 1
            found.append(contentsOf: run[start ..< end])
        }
        for run in far { add(run) }
        for run in runs { run.withUnsafeBufferPointer { add($0) } }
        if sources > 1 { memory.sort(&found) }
        return found.withUnsafeBufferPointer { found in
            var stream = Stream(memory, [found])
            var changes: [Change] = []
            while let change = stream.next() { changes.append(change) }
            return changes
        }
    }

    private func lowerBound(_ run: UnsafeBufferPointer<IndexEntry>, _ bound: [UInt8]) -> Int {
        bound.withUnsafeBytes { bound in
            let word = OrderedChangeMemory.word(bound, 0)
            var low = 0, high = run.count
            while low < high {
                let middle = (low + high) / 2
                if memory.isBelow(run[middle], bound, word) { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// Sorted runs as one, entries that are as they were left out.
    struct Stream {
        private let memory: OrderedChangeMemory
        private var runs: [UnsafeBufferPointer<IndexEntry>]
        private(set) var remaining: Int

        fileprivate init(_ memory: OrderedChangeMemory, _ runs: [UnsafeBufferPointer<IndexEntry>]) {
            self.memory = memory
            self.runs = runs.filter { !$0.isEmpty }
            remaining = runs.reduce(0) { $0 + $1.count }
        }

        private mutating func takeLowest() -> IndexEntry? {
            guard var lowest = runs.indices.first else { return nil }
            for index in runs.indices.dropFirst() where memory.compare(runs[index][0], runs[lowest][0]) < 0 {
                lowest = index
            }
            let entry = runs[lowest][0]
            let rest = UnsafeBufferPointer(rebasing: runs[lowest][1...])
            if rest.isEmpty { runs.remove(at: lowest) } else { runs[lowest] = rest }
            remaining -= 1
            return entry
        }

        private var lowest: IndexEntry? {
            guard var best = runs.first?[0] else { return nil }
            for run in runs.dropFirst() where memory.compare(run[0], best) < 0 { best = run[0] }
            return best
        }

        mutating func next() -> Change? {
            while let first = takeLowest() {
                var balance = memory.isRemoved(first.key) ? -1 : 1
                while let other = lowest, memory.compare(first, other) == 0 {
                    _ = takeLowest()
                    balance += memory.isRemoved(other.key) ? -1 : 1
                }
                if balance != 0 {
                    return Change(
                        bytes: memory.bytes(first.key), key: memory.key(first.key), isRemoved: balance < 0)
                }
            }
            return nil
        }
    }

    func checkInvariants() throws(DatabaseError) {
        for run in runs {
            try Invariant.require(
                zip(run, run.dropFirst()).allSatisfy { memory.compare($0, $1) <= 0 },
                "ordered-1: a settled run of changes ascends")
        }
        let near = runs.reduce(open.count) { $0 + $1.count }
        try Invariant.require(
            far.reduce(near) { $0 + $1.count } == count, "ordered-2: the runs have all changes that were made")
    }
}
