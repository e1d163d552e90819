/// Entries that a write transaction has added or removed and not yet committed, in runs that sort themselves lazily.
///
/// Appending costs a few nanoseconds. A lookup first sorts what was appended since the last one; sorted runs merge when
/// neighbours are of similar size, so that lookups between appends stay cheap: an entry is merged a logarithmic number
/// of times. Ascending input is its own run and is never sorted.
///
/// Primary keys also get a hash table, made by the first lookup that needs it: upserts ask for one value after each
/// append. `isHashed` is only for spaces in which few entries share a value.
///
/// Of a write that adds millions, sorted runs of a million or fewer go to its spill file, where they take no memory
/// that the system could not have back, and stay as they are: the commit merges them as it writes (`EntryMerge`).
import MottePages
import MotteValues

package struct PendingEntries {
    private var runs: [ContiguousArray<IndexEntry>] = []
    private var open: ContiguousArray<IndexEntry> = []
    private var openIsSorted = true
    private(set) var count = 0
    /// Of all that were ever added.
    private var highest = IndexEntry.lowest
    private let isHashed: Bool
    /// Of what is not far.
    private var table: PendingTable?
    private var far: [UnsafeBufferPointer<IndexEntry>] = []
    private let spill: SpillFile?
    private let mostNear: Int

    /// A table of what is near spares looking through many runs, so more of it is kept then.
    static let mostNear = 1 << 20
    private static let leastNear = 1 << 16

    /// A quarter of what the write keeps in memory.
    static func mostNear(beside spill: SpillFile?) -> Int {
        guard let spill else { return mostNear }
        return min(mostNear, max(leastNear, spill.plan.memoryBytes / 4 / MemoryLayout<IndexEntry>.stride))
    }

    package init(isHashed: Bool, spill: SpillFile? = nil, mostNear: Int = PendingEntries.mostNear) {
        self.isHashed = isHashed
        self.spill = spill
        self.mostNear = isHashed ? mostNear * 2 : mostNear
    }

    var isEmpty: Bool { count == 0 }
    var highestValue: UInt64? { count == 0 ? nil : highest.value }

    @inline(__always)
    package mutating func append(_ entry: IndexEntry) {
        if entry < highest {
            if let last = open.last, entry < last { openIsSorted = false }
        } else {
            highest = entry
        }
        open.append(entry)
        count &+= 1
        if table != nil { table?.insert(entry) }
        if open.count >= mostNear { settle() }
    }

    /// At least doubles what it has: batches come one after another.
    mutating func reserve(_ additional: Int) {
        let needed = open.count + additional
        if needed > open.capacity { open.reserveCapacity(max(needed, 2 * open.capacity)) }
    }

    // MARK: Sorted runs

    private mutating func settle() {
        guard !open.isEmpty else { return }
        if !openIsSorted { EntrySort.sort(&open) }
        openIsSorted = true
        if let last = runs.last?.last, let first = open.first, !(first < last) {
            runs[runs.count - 1].append(contentsOf: open)
            open.removeAll(keepingCapacity: open.count < 4_096)
        } else {
            runs.append(open)
            open = []
        }
        while runs.count >= 2, runs[runs.count - 1].count * 2 > runs[runs.count - 2].count { mergeLastTwo() }
        if spill != nil, runs.reduce(0, { $0 + $1.count }) >= mostNear { moveFar() }
    }

    private mutating func moveFar() {
        guard let spill else { return }
        while runs.count >= 2 { mergeLastTwo() }
        runs[0].withUnsafeBufferPointer { run in
            let bytes = UnsafeRawBufferPointer(run)
            let place = spill.reserve(bytes.count)
            UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(from: bytes)
            far.append(UnsafeBufferPointer(start: place.assumingMemoryBound(to: IndexEntry.self), count: run.count))
        }
        runs = []
        open = []
        if table != nil { table = PendingTable(capacity: 0) }
    }

    private mutating func mergeLastTwo() {
        let right = runs.removeLast(), left = runs.removeLast()
        runs.append(IndexEntries.merging(left, right))
    }

    /// Everything, in order.
    mutating func sorted() -> ContiguousArray<IndexEntry> {
        settle()
        while runs.count >= 2 { mergeLastTwo() }
        if far.isEmpty { return runs.first ?? [] }
        var all: ContiguousArray<IndexEntry> = []
        all.reserveCapacity(count)
        let near = runs.first ?? []
        near.withUnsafeBufferPointer { near in
            var merge = EntryMerge(far + [near])
            merge.append(count, to: &all)
        }
        return all
    }

    /// Whether there is too much to have it all in memory once more.
    var isFar: Bool { !far.isEmpty }

    /// Everything, in order, a part at a time.
    package mutating func merging<Answer>(
        _ body: (inout EntryMerge) throws(DatabaseError) -> Answer
    ) throws(DatabaseError) -> Answer {
        settle()
        while runs.count >= 2 { mergeLastTwo() }
        let near = runs.first ?? []
        let result: Result<Answer, DatabaseError> = near.withUnsafeBufferPointer { near in
            var merge = EntryMerge(far + [near], in: spill)
            do throws(DatabaseError) { return .success(try body(&merge)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    // MARK: Lookups

    func isBelow(_ value: UInt64) -> Bool { count == 0 || highest.value < value }

    mutating func count(from lower: IndexEntry, through upper: IndexEntry) -> Int {
        guard count > 0, !(highest < lower) else { return 0 }
        let matches = pointMatches(lower, upper)
        if matches == nil { settle() }
        let near = matches?.count ?? runs.reduce(0) { $0 + Self.range($1, lower, upper).count }
        return far.reduce(near) { $0 + Self.range($1, lower, upper).count }
    }

    /// Appends the entries in range, in order.
    mutating func appendEntries(
        from lower: IndexEntry, through upper: IndexEntry, to output: inout ContiguousArray<IndexEntry>
    ) {
        guard count > 0, !(highest < lower) else { return }
        let start = output.count
        var sources = 0
        // First of all: settling may move runs there.
        let matches = pointMatches(lower, upper)
        if matches == nil { settle() }
        for run in far {
            let range = Self.range(run, lower, upper)
            if !range.isEmpty { sources += 1 }
            output.append(contentsOf: run[range])
        }
        if let matches, !matches.isEmpty {
            sources += 1
            output.append(contentsOf: matches)
        }
        for run in matches == nil ? runs : [] {
            let range = Self.range(run, lower, upper)
            if !range.isEmpty { sources += 1 }
            output.append(contentsOf: run[range])
        }
        guard sources > 1 else { return }
        var openGroup = ContiguousArray(output[start...])
        EntrySort.sort(&openGroup)
        output.replaceSubrange(start..., with: openGroup)
    }

    /// The lowest entry in range.
    mutating func first(from lower: IndexEntry, through upper: IndexEntry) -> IndexEntry? {
        guard count > 0, !(highest < lower) else { return nil }
        let matches = pointMatches(lower, upper)
        if matches == nil { settle() }
        var best = matches?.first
        for run in far {
            let range = Self.range(run, lower, upper)
            if !range.isEmpty { best = min(best ?? .highest, run[range.lowerBound]) }
        }
        for run in matches == nil ? runs : [] {
            let range = Self.range(run, lower, upper)
            if !range.isEmpty { best = min(best ?? .highest, run[range.lowerBound]) }
        }
        return best
    }

    private static func range(
        _ run: ContiguousArray<IndexEntry>, _ lower: IndexEntry, _ upper: IndexEntry
    ) -> Range<Int> {
        run.withUnsafeBufferPointer { range($0, lower, upper) }
    }

    private static func range(
        _ run: UnsafeBufferPointer<IndexEntry>, _ lower: IndexEntry, _ upper: IndexEntry
    ) -> Range<Int> {
        let start = IndexEntries.lowerBound(run, lower)
        return start ..< max(start, IndexEntries.upperBound(run, upper))
    }

    /// The sorted matches from the hash table, if this is a lookup of one value that the table can answer.
    private mutating func pointMatches(_ lower: IndexEntry, _ upper: IndexEntry) -> ContiguousArray<IndexEntry>? {
        guard isHashed, lower.value == upper.value else { return nil }
        if table == nil { table = makeTable() }
        return table?.matches(lower, upper)
    }

    private func makeTable() -> PendingTable {
        var made = PendingTable(capacity: count)
        for run in runs { for entry in run { made.insert(entry) } }
        for entry in open { made.insert(entry) }
        return made
    }
}

extension PendingEntries {
    /// Throws what is wrong; `space` says which entries these are.
    func checkInvariants(_ space: String) throws(DatabaseError) {
        for run in runs {
            try Invariant.require(
                zip(run, run.dropFirst()).allSatisfy { !($1 < $0) }, "index-1: a settled run of \(space) ascends")
        }
        let near = runs.reduce(open.count) { $0 + $1.count }
        try Invariant.require(
            far.reduce(near) { $0 + $1.count } == count,
            "index-2: the runs of \(space) have all entries that were added")
        try Invariant.require(
            open.allSatisfy { !(highest < $0) } && runs.allSatisfy { $0.last.map { !(highest < $0) } ?? true },
            "index-3: no entry of \(space) is above the highest")
        try Invariant.require(
            !openIsSorted || zip(open, open.dropFirst()).allSatisfy { !($1 < $0) },
            "index-4: open entries of \(space) that are said to be sorted ascend")
    }
}

/// Open addressing over whole entries, found by their value.
struct PendingTable {
    /// No object has this key.
    private static let emptyKey = UInt64.max
    private var slots: ContiguousArray<IndexEntry>
    private var used = 0
    private var shift: UInt64

    init(capacity: Int) {
        var bits = 6
        while 1 << bits < capacity * 2 { bits += 1 }
        slots = ContiguousArray(repeating: IndexEntry(value: 0, key: Self.emptyKey), count: 1 << bits)
        shift = UInt64(64 - bits)
    }

    @inline(__always)
    private func home(_ value: UInt64) -> Int {
        // Values may be counters, so their differences sit in the low bits; multiplying spreads them to the high ones.
        Int(truncatingIfNeeded: (value &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }

    mutating func insert(_ entry: IndexEntry) {
        if used * 2 >= slots.count { grow() }
        var slot = home(entry.value)
        let mask = slots.count - 1
        while slots[slot].key != Self.emptyKey { slot = (slot &+ 1) & mask }
        slots[slot] = entry
        used += 1
    }

    private mutating func grow() {
        var larger = PendingTable(capacity: slots.count)
        for entry in slots where entry.key != Self.emptyKey { larger.insert(entry) }
        self = larger
    }

    func matches(_ lower: IndexEntry, _ upper: IndexEntry) -> ContiguousArray<IndexEntry> {
        var found: ContiguousArray<IndexEntry> = []
        var slot = home(lower.value)
        let mask = slots.count - 1
        while slots[slot].key != Self.emptyKey {
            let entry = slots[slot]
            if entry.value == lower.value, entry.key >= lower.key, entry.key <= upper.key { found.append(entry) }
            slot = (slot &+ 1) & mask
        }
        if found.count > 1 { found.sort() }
        return found
    }
}
