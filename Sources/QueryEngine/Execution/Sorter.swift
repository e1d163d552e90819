/// Sorts the entries of one run, and what is level in them by the next piece of their values. Stable.
///
/// Many entries are distributed by the highest bits in which they differ, and each part again, until parts are small
/// enough for insertion: the parts soon fit into caches, where sorting by the lowest byte first would move all entries
/// through memory eight times.
import MotteValues

struct Sorter {
    private let keys: [Int64]
    private let levels: [SortLevel]
    private let entries: EntryBuffer
    private let watch: QueryWatch?
    /// How many levels the first codes say all of; 0 where they are the first piece of the first.
    private let packedLevels: Int
    private var count: Int

    /// Entries hold packed codes, or else the first piece of the first level.
    init(
        _ keys: [Int64], _ levels: [SortLevel], _ packing: SortPacking?, _ context: RunContext
    ) throws(DatabaseError) {
        self.keys = keys
        watch = context.watch
        self.levels = levels
        count = keys.count
        entries = EntryBuffer(count)
        for position in 0 ..< count { entries.values[position] = SortEntry(position: UInt32(position)) }
        packedLevels = packing?.count ?? 0
        if let packing {
            try packing.fill(entries.values, keys, watch)
        } else if let first = levels.first {
            try first.fillAll(entries.values, keys, context)
        }
    }

    private func fill(_ range: Range<Int>, _ level: SortLevel, _ depth: Int) throws(DatabaseError) {
        for index in range {
            if index % QueryWatch.keysPerCheck == 0 { try watch?.check() }
            if depth == 1, level.fillSecond(&entries.values[index]) { continue }
            try level.fill(&entries.values[index], keys[Int(entries.values[index].position)], depth)
        }
    }

    func result(_ limit: Int) -> [Int64] {
        (0 ..< min(limit, count)).map { keys[Int(entries.values[$0].position)] }
    }

    /// Drops entries that cannot be among the first `limit`: those above the `limit`-th smallest first piece, found
    /// with a heap of that size. Keeps the order of the rest.
    mutating func keepSmallest(_ limit: Int, _ level: SortLevel) throws(DatabaseError) {
        guard limit > 0 else {
            count = 0
            return
        }
        let values = entries.values
        var heap = Array(UnsafeBufferPointer(start: values, count: limit))
        for index in stride(from: limit / 2 - 1, through: 0, by: -1) { Self.siftDown(&heap, index) }
        for index in limit ..< count where values[index].isBefore(heap[0]) {
            heap[0] = values[index]
            Self.siftDown(&heap, 0)
        }
        let largest = heap[0]
        var kept = 0
        for index in 0 ..< count where !largest.isBefore(values[index]) {
            values[kept] = values[index]
            kept += 1
        }
        count = kept
    }

    private static func siftDown(_ heap: inout [SortEntry], _ start: Int) {
        var parent = start
        while true {
            var child = parent * 2 + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, heap[child].isBefore(heap[child + 1]) { child += 1 }
            guard heap[parent].isBefore(heap[child]) else { return }
            heap.swapAt(parent, child)
            parent = child
        }
    }

    // MARK: Sorting

    func sort() throws(DatabaseError) { try sort(0 ..< count, max(0, packedLevels - 1), 0) }

    /// A range whose entries hold the `depth`-th piece of a level and are equal in all before it.
    private func sort(_ range: Range<Int>, _ levelIndex: Int, _ depth: Int) throws(DatabaseError) {
        guard range.count > 1 else { return }
        try order(entries.values + range.lowerBound, range.count)
        let level = levels[levelIndex]
        let values = entries.values
        var start = range.lowerBound
        while start < range.upperBound {
            var end = start + 1
            while end < range.upperBound, values[end].isLevel(values[start]) { end += 1 }
            if end - start > 1 { try settle(start ..< end, levelIndex, depth, hasMore: level.hasMore(values[start])) }
            start = end
        }
    }

    /// A run of equal entries. Pieces and levels in which all agree are passed in a loop, so that long equal texts do
    /// not deepen the recursion; each recursion is on a part of the run.
    private func settle(
        _ run: Range<Int>, _ levelIndex: Int, _ depth: Int, hasMore: Bool
    ) throws(DatabaseError) {
        var levelIndex = levelIndex, depth = depth, hasMore = hasMore
        while true {
            if hasMore {
                depth += 1
            } else {
                levelIndex += 1
                depth = 0
                guard levelIndex < levels.count else { return }
            }
            let level = levels[levelIndex]
            try fill(run, level, depth)
            let first = entries.values[run.lowerBound]
            if run.allSatisfy({ entries.values[$0].isLevel(first) }) {
                hasMore = level.hasMore(first)
                continue
            }
            return try sort(run, levelIndex, depth)
        }
    }

    // MARK: Ordering

    private static let fewEntries = 24

    private func order(_ values: UnsafeMutablePointer<SortEntry>, _ count: Int) throws(DatabaseError) {
        if count <= Self.fewEntries { return Self.insertionSort(values, count) }
        if count > QueryWatch.keysPerCheck { try watch?.check() }
        var differing: UInt64 = 0, tails: UInt8 = 0, ranks: UInt8 = 0
        let first = values[0]
        var isSorted = true
        for index in 1 ..< count {
            differing |= values[index].code ^ first.code
            tails |= values[index].tail ^ first.tail
            ranks |= values[index].rank ^ first.rank
            if values[index].isBefore(values[index - 1]) { isSorted = false }
        }
        if isSorted { return }
        if ranks != 0 { return try distribute(values, count, parts: 4) { Int($0.rank & 3) } }
        if differing == 0 { return try distribute(values, count, parts: 16) { Int($0.tail & 15) } }
        // As many parts as make an eighth of the entries, from the highest bit on in which any two differ.
        let high = 64 - differing.leadingZeroBitCount
        let digit = min(high, 11, max(4, 60 - count.leadingZeroBitCount))
        let shift = UInt64(high - digit), mask = UInt64(1) << UInt64(digit) - 1
        try distribute(values, count, parts: 1 << digit) { Int(truncatingIfNeeded: $0.code >> shift & mask) }
    }

    /// Puts the entries into parts by their digits, and orders each part.
    @inline(__always)
    private func distribute(
        _ values: UnsafeMutablePointer<SortEntry>, _ count: Int, parts: Int, _ digit: (SortEntry) -> Int
    ) throws(DatabaseError) {
        let spare = entries.makeSpare()
        let failure = withUnsafeTemporaryAllocation(of: Int.self, capacity: parts) { ends -> DatabaseError? in
            ends.initialize(repeating: 0)
            for index in 0 ..< count { ends[digit(values[index])] &+= 1 }
            var next = 0
            for part in 0 ..< parts {
                let size = ends[part]
                ends[part] = next
                next &+= size
            }
            for index in 0 ..< count {
                let part = digit(values[index])
                spare[ends[part]] = values[index]
                ends[part] &+= 1
            }
            values.update(from: spare, count: count)
            do throws(DatabaseError) {
                var start = 0
                for part in 0 ..< parts {
                    if ends[part] &- start > 1 { try order(values + start, ends[part] &- start) }
                    start = ends[part]
                }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    private static func insertionSort(_ values: UnsafeMutablePointer<SortEntry>, _ count: Int) {
        for index in 1 ..< max(1, count) {
            let entry = values[index]
            var place = index
            while place > 0, entry.isBefore(values[place - 1]) {
                values[place] = values[place - 1]
                place -= 1
            }
            values[place] = entry
        }
    }
}

/// The entries and as many spare ones.
private final class EntryBuffer {
    let values: UnsafeMutablePointer<SortEntry>
    private let capacity: Int
    private var spare: UnsafeMutablePointer<SortEntry>?

    init(_ count: Int) {
        capacity = max(1, count)
        values = .allocate(capacity: capacity)
    }

    /// Room for as many entries as there are.
    func makeSpare() -> UnsafeMutablePointer<SortEntry> {
        if let spare { return spare }
        let made = UnsafeMutablePointer<SortEntry>.allocate(capacity: capacity)
        spare = made
        return made
    }

    deinit {
        values.deallocate()
        spare?.deallocate()
    }
}
