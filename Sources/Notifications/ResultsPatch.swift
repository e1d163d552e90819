/// Old results and the few rows that may have changed place in them, to new results and the difference. Pure.
///
/// The cost is that of the changes plus a copy of the keys; nothing is evaluated here.
struct ResultsPatch {
    var keys: [Int64]
    var difference = SequenceDifference()

    /// A row that may have come, gone or changed.
    struct Candidate {
        let key: Int64
        /// Whether it belongs to the results now.
        let isIn: Bool
        /// Whether it changed, if it was there before.
        let isModified: Bool
    }

    /// Results in the order of their keys; candidates ascend.
    static func ascending(_ old: [Int64], _ candidates: [Candidate]) -> ResultsPatch {
        if let difference = modifications(old, candidates) { return ResultsPatch(keys: old, difference: difference) }
        var patch = ResultsPatch(keys: [])
        patch.keys.reserveCapacity(old.count + candidates.count)
        var copied = 0
        for candidate in candidates {
            let position = lowerBound(old, candidate.key, from: copied)
            patch.keys.append(contentsOf: old[copied ..< position])
            copied = position
            let wasIn = position < old.count && old[position] == candidate.key
            if wasIn { copied += 1 }
            switch (wasIn, candidate.isIn) {
            case (false, false): break
            case (true, false): patch.difference.deletions.append(position)
            case (false, true):
                patch.difference.insertions.append(patch.keys.count)
                patch.keys.append(candidate.key)
            case (true, true):
                if candidate.isModified { patch.difference.noteModified(old: position, new: patch.keys.count) }
                patch.keys.append(candidate.key)
            }
        }
        patch.keys.append(contentsOf: old[copied...])
        return patch
    }

    /// The difference where no row comes or goes, so that the keys need no copy; else nil.
    private static func modifications(_ old: [Int64], _ candidates: [Candidate]) -> SequenceDifference? {
        var difference = SequenceDifference()
        var position = 0
        for candidate in candidates {
            position = lowerBound(old, candidate.key, from: position)
            let wasIn = position < old.count && old[position] == candidate.key
            if wasIn != candidate.isIn { return nil }
            if wasIn, candidate.isModified { difference.noteModified(old: position, new: position) }
        }
        return difference
    }

    /// The rows of old results that are no candidates, which keep their order: the old keys without some positions.
    struct Others {
        let old: [Int64]
        /// Positions of candidates, ascending.
        let places: [Int]

        var count: Int { old.count - places.count }
        subscript(index: Int) -> Int64 { old[PositionMap.select(index, without: places)] }

        /// Appends those at `range`, as runs.
        func append(_ range: Range<Int>, to keys: inout [Int64]) {
            guard !range.isEmpty else { return }
            var start = PositionMap.select(range.lowerBound, without: places)
            let end = PositionMap.select(range.upperBound - 1, without: places) + 1
            for place in places[PositionMap.lowerBound(places, start)...] where place < end {
                keys.append(contentsOf: old[start ..< place])
                start = place + 1
            }
            keys.append(contentsOf: old[start ..< end])
        }
    }

    /// Sorted results. `incoming` are the candidates that belong to the results now, in order; `position` says where
    /// among the others a key belongs.
    static func sorted<Failure: Error>(
        _ old: [Int64], _ candidates: [Candidate], incoming: [Int64],
        position: (Others, Int64) throws(Failure) -> Int
    ) throws(Failure) -> ResultsPatch {
        var isModified: [Int64: Bool] = [:]
        for candidate in candidates { isModified[candidate.key] = candidate.isModified }
        let others = Others(old: old, places: positions(of: isModified, in: old))
        // Where candidates were: position in the old results, and number of others before.
        var places: [Int64: (index: Int, gap: Int)] = [:]
        for (rank, index) in others.places.enumerated() { places[old[index]] = (index, index - rank) }

        var patch = ResultsPatch(keys: [])
        patch.keys.reserveCapacity(others.count + incoming.count)
        var arrivals: [(key: Int64, gap: Int, index: Int)] = []
        var copied = 0
        for key in incoming {
            let gap = try position(others, key)
            if gap > copied {
                others.append(copied ..< gap, to: &patch.keys)
                copied = gap
            }
            arrivals.append((key, gap, patch.keys.count))
            patch.keys.append(key)
        }
        others.append(copied ..< others.count, to: &patch.keys)

        var stayed: Set<Int64> = []
        for arrival in staying(arrivals, places) {
            guard let place = places[arrival.key] else { continue }
            stayed.insert(arrival.key)
            if isModified[arrival.key] == true { patch.difference.noteModified(old: place.index, new: arrival.index) }
        }
        patch.difference.insertions = arrivals.filter { !stayed.contains($0.key) }.map(\.index)
        patch.difference.deletions = places.filter { !stayed.contains($0.key) }.map(\.value.index).sorted()
        return patch
    }

    /// The one step that looks at every row: a few bits of each key rule nearly all of them out.
    private static func positions(of wanted: [Int64: Bool], in keys: [Int64]) -> [Int] {
        let filterBits = 1 << 14
        var filter = [Bool](repeating: false, count: filterBits)
        for key in wanted.keys { filter[Int(key) & (filterBits - 1)] = true }
        var positions: [Int] = []
        keys.withUnsafeBufferPointer { keys in
            filter.withUnsafeBufferPointer { filter in
                for index in 0 ..< keys.count where filter[Int(keys[index]) & (filterBits - 1)] {
                    if wanted[keys[index]] != nil { positions.append(index) }
                }
            }
        }
        return positions
    }

    /// Those that are between the same two neighbours as before, as many as can be without crossing each other.
    private static func staying(
        _ arrivals: [(key: Int64, gap: Int, index: Int)], _ places: [Int64: (index: Int, gap: Int)]
    ) -> [(key: Int64, gap: Int, index: Int)] {
        // Within one gap new positions must ascend as old ones do; across gaps they do anyway.
        let same = arrivals.compactMap { arrival in
            places[arrival.key].flatMap { $0.gap == arrival.gap ? (arrival: arrival, old: $0.index) : nil }
        }.sorted { $0.old < $1.old }
        return SequenceDifference.longestAscending(same.map(\.arrival.index)).map { same[$0].arrival }
    }

    static func lowerBound(_ keys: [Int64], _ wanted: Int64, from start: Int) -> Int {
        var low = start
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < wanted { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
