/// Sorts the entries of one run: byte by byte (radix, stable) where they are many, by insertion where they are few.
import MotteValues

struct Sorter {
    private let keys: [Int64]
    private let levels: [SortLevel]
    private let entries: EntryBuffer
    private let watch: QueryWatch?
    private var count: Int

    /// Entries hold the first piece of the first level.
    init(_ keys: [Int64], _ levels: [SortLevel], _ watch: QueryWatch?) throws(DatabaseError) {
        self.keys = keys
        self.watch = watch
        self.levels = levels
        count = keys.count
        entries = EntryBuffer(count)
        for position in 0 ..< count { entries.values[position] = SortEntry(position: UInt32(position)) }
        if let first = levels.first { try first.fillAll(entries.values, keys) }
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

    func sort() throws(DatabaseError) { try sort(0 ..< count, 0, 0) }

    /// A range whose entries hold the `depth`-th piece of a level and are equal in all before it.
    private func sort(_ range: Range<Int>, _ levelIndex: Int, _ depth: Int) throws(DatabaseError) {
        guard range.count > 1 else { return }
        if range.count > Self.fewEntries { try watch?.check() }
        order(range)
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

    private static let fewEntries = 48

    private func order(_ range: Range<Int>) {
        if range.count <= Self.fewEntries { return insertionSort(range) }
        let values = entries.values
        var differing: UInt64 = 0, tails: UInt8 = 0, ranks: UInt8 = 0
        let first = values[range.lowerBound]
        var isSorted = true
        for index in range.dropFirst() {
            differing |= values[index].code ^ first.code
            tails |= values[index].tail ^ first.tail
            ranks |= values[index].rank ^ first.rank
            if values[index].isBefore(values[index - 1]) { isSorted = false }
        }
        if isSorted { return }
        let spare = entries.makeSpare(range.count)
        var inPlace = true
        func pass(_ digit: (SortEntry) -> Int) {
            let from = inPlace ? values + range.lowerBound : spare
            let to = inPlace ? spare : values + range.lowerBound
            Self.distribute(from, to, range.count, digit)
            inPlace.toggle()
        }
        // Least significant first: tail, code, rank. Bytes in which all agree are skipped.
        if tails != 0 { pass { Int($0.tail) } }
        for byte in 0 ..< 8 where (differing >> UInt64(byte * 8)) & 0xFF != 0 {
            pass { Int(truncatingIfNeeded: ($0.code >> UInt64(byte * 8)) & 0xFF) }
        }
        if ranks != 0 { pass { Int($0.rank) } }
        if !inPlace { (values + range.lowerBound).update(from: spare, count: range.count) }
    }

    @inline(__always)
    private static func distribute(
        _ from: UnsafeMutablePointer<SortEntry>, _ to: UnsafeMutablePointer<SortEntry>, _ count: Int,
        _ digit: (SortEntry) -> Int
    ) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { starts in
            starts.initialize(repeating: 0)
            for index in 0 ..< count { starts[digit(from[index])] &+= 1 }
            var next = 0
            for index in 0 ..< 256 {
                let size = starts[index]
                starts[index] = next
                next &+= size
            }
            for index in 0 ..< count {
                let place = digit(from[index])
                to[starts[place]] = from[index]
                starts[place] &+= 1
            }
        }
    }

    private func insertionSort(_ range: Range<Int>) {
        let values = entries.values
        for index in range.dropFirst() {
            let entry = values[index]
            var place = index
            while place > range.lowerBound, entry.isBefore(values[place - 1]) {
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

    /// Room for `count` entries, at most as many as there are.
    func makeSpare(_ count: Int) -> UnsafeMutablePointer<SortEntry> {
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
