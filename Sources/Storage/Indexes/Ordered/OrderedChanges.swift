/// What a write has added to an ordered index and removed from it, in runs that sort themselves lazily.
///
/// Changes are sorted by reference (`OrderedChangeMemory`). Of a write that makes millions, sorted runs go to its spill
/// file, whoever looks at them in between. Going back to a savepoint takes out the places from its mark on, wherever
/// they lie.
///
/// An entry that is added as often as it was removed is as it was. Whether there may be one with certain bytes is
/// known by their hash, without sorting: rows that come one after the other are checked so.
import MottePages
import MotteValues

package struct OrderedChanges {
    private let memory: OrderedChangeMemory
    private let spill: SpillFile
    private var runs: [ContiguousArray<IndexEntry>] = []
    /// As they came.
    private var open: ContiguousArray<IndexEntry> = []
    private var far: [FarRun] = []
    private let mostNear: Int
    package private(set) var count = 0
    /// In `runs` and `open`.
    package private(set) var nearCount = 0
    /// Of what is near; nil until somebody asks.
    private var hashes: OrderedHashes?

    /// A run in the spill file.
    fileprivate struct FarRun {
        var entries: UnsafeMutableBufferPointer<IndexEntry>
        /// Of its places.
        var highest: UInt64
        /// Made with `hashes`.
        var filter: OrderedHashFilter?
    }

    package init(_ spill: SpillFile, mostNear: Int = PendingEntries.mostNear) {
        self.spill = spill
        self.mostNear = mostNear
        memory = OrderedChangeMemory(spill)
    }

    var isEmpty: Bool { count == 0 }
    package var end: Int { memory.end }

    package mutating func append(
        _ bytes: UnsafeRawBufferPointer, _ key: UInt64, isRemoved: Bool, hasNull: Bool = false
    ) {
        let place = memory.append(bytes, key, isRemoved: isRemoved, hasNull: hasNull)
        open.append(IndexEntry(value: OrderedChangeMemory.word(bytes, 0), key: UInt64(place)))
        count += 1
        nearCount += 1
        if hashes != nil { hashes?.insert(OrderedHashes.hash(bytes)) }
        if nearCount >= mostNear { moveFar() }
    }

    package mutating func rollBack(to mark: Int) {
        let mark = UInt64(mark)
        while let last = open.last, last.key >= mark { open.removeLast() }
        for index in runs.indices { runs[index].removeAll { $0.key >= mark } }
        runs.removeAll(where: \.isEmpty)
        for index in far.indices where far[index].highest >= mark { far[index].keep(below: mark) }
        far.removeAll(where: \.entries.isEmpty)
        nearCount = runs.reduce(open.count) { $0 + $1.count }
        count = far.reduce(nearCount) { $0 + $1.entries.count }
    }

    /// False: there is no change with these bytes. Mostly the other way round too.
    package mutating func mayHave(hash: UInt64) -> Bool {
        if isEmpty { return false }
        if hashes == nil {
            hashes = hashes(of: [open] + runs)
            for index in far.indices where far[index].filter == nil {
                far[index].filter = OrderedHashFilter(hashes(of: [ContiguousArray(far[index].entries)]))
            }
        }
        return hashes?.contains(hash) ?? true || far.contains { $0.filter?.mayHave(hash) ?? true }
    }

    private func hashes(of runs: [ContiguousArray<IndexEntry>]) -> OrderedHashes {
        var made = OrderedHashes()
        for run in runs { for entry in run { made.insert(OrderedHashes.hash(memory.bytes(entry.key))) } }
        return made
    }

    private mutating func settle() {
        guard !open.isEmpty else { return }
        memory.sort(&open)
        runs.append(open)
        open = []
        while runs.count >= 2, runs[runs.count - 1].count * 2 > runs[runs.count - 2].count { mergeLastTwo() }
    }

    private mutating func moveFar() {
        settle()
        while runs.count >= 2 { mergeLastTwo() }
        guard let run = runs.first else { return }
        let filter = hashes.map { OrderedHashFilter($0) }
        run.withUnsafeBytes { bytes in
            let place = spill.reserve(bytes.count)
            UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(from: bytes)
            let entries = UnsafeMutableBufferPointer(
                start: place.assumingMemoryBound(to: IndexEntry.self), count: run.count)
            far.append(FarRun(entries: entries, highest: run.reduce(0) { max($0, $1.key) }, filter: filter))
        }
        runs = []
        nearCount = 0
        if hashes != nil { hashes = OrderedHashes() }
    }

    private mutating func mergeLastTwo() {
        let right = runs.removeLast(), left = runs.removeLast()
        runs.append(
            // Room for both, which have entries.
            ContiguousArray(unsafeUninitializedCapacity: left.count + right.count) { output, count in
                left.withUnsafeBufferPointer { left in
                    right.withUnsafeBufferPointer { right in
                        var one = 0, two = 0
                        while one < left.count, two < right.count {
                            if memory.compare(right[two], left[one]) < 0 {
                                output.initializeElement(at: one + two, to: right[two])
                                two += 1
                            } else {
                                output.initializeElement(at: one + two, to: left[one])
                                one += 1
                            }
                        }
                        while one < left.count {
                            output.initializeElement(at: one + two, to: left[one])
                            one += 1
                        }
                        while two < right.count {
                            output.initializeElement(at: one + two, to: right[two])
                            two += 1
                        }
                        count = one + two
                    }
                }
            })
    }

    // MARK: Reading

    private var farEntries: [UnsafeBufferPointer<IndexEntry>] { far.map { UnsafeBufferPointer($0.entries) } }

    /// What is different from before: each entry once, with whether it has come or gone.
    package struct Change {
        package let bytes: UnsafeRawBufferPointer
        package let key: UInt64
        package let isRemoved: Bool
        /// Whether one of its row's values is.
        let hasNull: Bool
    }

    /// Calls for all changes in order.
    package mutating func forEach(_ body: (Change) throws(DatabaseError) -> Void) throws(DatabaseError) {
        settle()
        while runs.count >= 2 { mergeLastTwo() }
        let near = runs.first ?? []
        let result: Result<Void, DatabaseError> = near.withUnsafeBufferPointer { near in
            var stream = Stream(memory, farEntries + [near])
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
        settle()
        while runs.count >= 2 { mergeLastTwo() }
        let near = runs.first ?? []
        let result: Result<Answer, DatabaseError> = near.withUnsafeBufferPointer { near in
            var stream = Stream(memory, farEntries + [near])
            do throws(DatabaseError) { return .success(try body(&stream)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Those within the span, in order. Their bytes live as long as this.
    package mutating func changes(in span: OrderedSpan) -> [Change] {
        guard count > 0, !span.isEmpty else { return [] }
        settle()
        var found: ContiguousArray<IndexEntry> = []
        var sources = 0
        func add(_ run: UnsafeBufferPointer<IndexEntry>) {
            let start = lowerBound(run, span.low)
            let end = span.high.map { lowerBound(run, $0) } ?? run.count
            guard start < end else { return }
            sources += 1
            found.append(contentsOf: run[start ..< end])
        }
        for run in far { add(UnsafeBufferPointer(run.entries)) }
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
        private var touched: UInt64 = 0

        fileprivate init(_ memory: OrderedChangeMemory, _ runs: [UnsafeBufferPointer<IndexEntry>]) {
            self.memory = memory
            self.runs = runs.filter { !$0.isEmpty }
            remaining = runs.reduce(0) { $0 + $1.count }
        }

        @inline(__always)
        private mutating func takeLowest() -> IndexEntry? {
            guard var lowest = runs.indices.first else { return nil }
            if runs.count > 1 {
                for index in runs.indices.dropFirst() where memory.compare(runs[index][0], runs[lowest][0]) < 0 {
                    lowest = index
                }
            }
            let run = runs[lowest]
            let entry = run[0]
            // Changes lie in the order in which they came, so each is far from the one before: waiting for several at
            // once.
            if run.count > Self.ahead { touched &+= memory.touch(run[Self.ahead].key) }
            if run.count == 1 {
                runs.remove(at: lowest)
            } else {
                runs[lowest] = UnsafeBufferPointer(rebasing: run[1...])
            }
            remaining -= 1
            return entry
        }

        private static let ahead = 12

        @inline(__always)
        private var lowest: IndexEntry? {
            guard var best = runs.first?[0] else { return nil }
            if runs.count == 1 { return best }
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
                        bytes: memory.bytes(first.key), key: memory.key(first.key), isRemoved: balance < 0,
                        hasNull: memory.hasNull(first.key))
                }
            }
            return nil
        }
    }

    package func checkInvariants() throws(DatabaseError) {
        for run in runs {
            try Invariant.require(
                zip(run, run.dropFirst()).allSatisfy { memory.compare($0, $1) <= 0 },
                "ordered-1: a settled run of changes ascends")
        }
        for run in far {
            try Invariant.require(
                run.entries.allSatisfy { $0.key <= run.highest },
                "ordered-3: no place of a far run is above its highest")
        }
        let near = runs.reduce(open.count) { $0 + $1.count }
        try Invariant.require(
            near == nearCount && far.reduce(near) { $0 + $1.entries.count } == count,
            "ordered-2: the runs have all changes that were made")
    }
}

extension OrderedChanges.FarRun {
    /// In place: nobody else has this run, because what was saved before a clearing is not changed until it is back.
    fileprivate mutating func keep(below mark: UInt64) {
        var kept = 0
        highest = 0
        for entry in entries where entry.key < mark {
            entries[kept] = entry
            highest = max(highest, entry.key)
            kept += 1
        }
        entries = UnsafeMutableBufferPointer(rebasing: entries[..<kept])
    }
}
