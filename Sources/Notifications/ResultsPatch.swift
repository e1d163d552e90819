/// Old results and the few rows that may have changed place in them, to new results and the difference. Pure.
///
/// The cost is that of the changes, each a few looks and the block of keys it is in; nothing is evaluated here.
import MotteLiveObjects

struct ResultsPatch {
    var keys: KeyBlocks
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
    static func ascending(_ old: KeyBlocks, _ candidates: [Candidate]) -> ResultsPatch {
        var difference = SequenceDifference()
        var insertions: [(position: Int, key: Int64)] = []
        var position = 0
        for candidate in candidates {
            position = old.lowerBound(candidate.key, from: position)
            let wasIn = position < old.count && old[position] == candidate.key
            let new = position - difference.deletions.count + insertions.count
            switch (wasIn, candidate.isIn) {
            case (false, false): break
            case (true, false): difference.deletions.append(position)
            case (false, true): insertions.append((new, candidate.key))
            case (true, true): if candidate.isModified { difference.noteModified(old: position, new: new) }
            }
        }
        difference.insertions = insertions.map(\.position)
        return ResultsPatch(
            keys: old.editing(removals: difference.deletions, insertions: insertions), difference: difference)
    }

    /// The rows of old results that are no candidates, which keep their order: the old keys without some positions.
    struct Others {
        let old: KeyBlocks
        /// Positions of candidates, ascending.
        let places: [Int]

        var count: Int { old.count - places.count }
        subscript(index: Int) -> Int64 { old[PositionMap.select(index, without: places)] }
    }

    /// Sorted results. `incoming` are the candidates that belong to the results now, in order; `position` says where
    /// among the others, not before a place, a key belongs. `places` are the positions of candidates in the old
    /// results, ascending; nil if they have to be looked for.
    static func sorted<Failure: Error>(
        _ old: KeyBlocks, _ candidates: [Candidate], incoming: [Int64], places known: [Int]? = nil,
        position: (Others, Int64, _ start: Int) throws(Failure) -> Int
    ) throws(Failure) -> ResultsPatch {
        var isModified: [Int64: Bool] = [:]
        for candidate in candidates { isModified[candidate.key] = candidate.isModified }
        let others = Others(old: old, places: known ?? positions(of: isModified, in: old))
        // Where candidates were: position in the old results, and number of others before.
        var places: [Int64: (index: Int, gap: Int)] = [:]
        for (rank, index) in others.places.enumerated() { places[old[index]] = (index, index - rank) }

        var arrivals: [(key: Int64, gap: Int, index: Int)] = []
        for key in incoming {
            let gap = try position(others, key, arrivals.last?.gap ?? 0)
            arrivals.append((key, gap, gap + arrivals.count))
        }
        var difference = SequenceDifference()
        var stayed: Set<Int64> = []
        for arrival in staying(arrivals, places) {
            guard let place = places[arrival.key] else { continue }
            stayed.insert(arrival.key)
            if isModified[arrival.key] == true { difference.noteModified(old: place.index, new: arrival.index) }
        }
        let moved = arrivals.filter { !stayed.contains($0.key) }
        difference.insertions = moved.map(\.index)
        difference.deletions = places.filter { !stayed.contains($0.key) }.map(\.value.index).sorted()
        return ResultsPatch(
            keys: old.editing(
                removals: difference.deletions, insertions: moved.map { ($0.index, $0.key) }), difference: difference)
    }

    /// The one step that looks at every row: a few bits of each key rule nearly all of them out.
    private static func positions(of wanted: [Int64: Bool], in keys: KeyBlocks) -> [Int] {
        let filterBits = 1 << 14
        var filter = [Bool](repeating: false, count: filterBits)
        for key in wanted.keys { filter[Int(key) & (filterBits - 1)] = true }
        var positions: [Int] = []
        filter.withUnsafeBufferPointer { filter in
            keys.forEach { index, key in
                if filter[Int(key) & (filterBits - 1)], wanted[key] != nil { positions.append(index) }
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
