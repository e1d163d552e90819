/// Sorted results after a commit: the difference, and the new keys where these are not known already. Pure.
///
/// Rows that may have moved are taken out of the old order and those that belong to the results now put back where they
/// belong among the others. Those that come back between the same two others stay, as many as do not cross each other.
/// Of few rows it is said where they were; many are found in one pass over all keys (`BulkPatch`).
import MotteLiveObjects
import MotteValues

package struct SortedPatch {
    /// Of rows that may have moved and were in the old results, in that order: which of them, and where they were.
    let ranks: [Int]
    let positions: [Int]
    /// Old positions of rows that only changed; ascending.
    let changed: [Int]
    /// Of all rows that may have moved, by rank.
    let isModified: [Bool]

    package init(ranks: [Int], positions: [Int], changed: [Int], isModified: [Bool]) {
        self.ranks = ranks
        self.positions = positions
        self.changed = changed
        self.isModified = isModified
    }

    /// Of rows that may have moved and are in the new results, in that order: which of them, and how many others come
    /// before each. Says also which of these are insertions.
    func difference(
        _ incoming: [Int], _ places: [Int]
    ) -> (difference: SequenceDifference, arrivals: [Int]) {
        var arrival = [Int](repeating: -1, count: isModified.count)
        for (index, rank) in incoming.enumerated() { arrival[rank] = index }
        let same = ranks.indices.filter { index in
            let come = arrival[ranks[index]]
            return come >= 0 && places[come] == positions[index] - index
        }
        let kept = AscendingSeries.longest(same.map { arrival[ranks[$0]] })
        var stays = [Bool](repeating: false, count: ranks.count)
        var hasStayed = [Bool](repeating: false, count: incoming.count)
        for index in kept {
            stays[same[index]] = true
            hasStayed[arrival[ranks[same[index]]]] = true
        }
        var difference = SequenceDifference()
        for index in ranks.indices where !stays[index] { difference.deletions.append(positions[index]) }
        let arrivals = incoming.indices.filter { !hasStayed[$0] }
        difference.insertions = arrivals.map { places[$0] + $0 }
        noteModified(in: &difference, stays, arrival, places)
        return (difference, arrivals)
    }

    /// Rows that stayed and changed, together with those that only changed, in their order.
    private func noteModified(
        in difference: inout SequenceDifference, _ stays: [Bool], _ arrival: [Int], _ places: [Int]
    ) {
        var gone = 0, come = 0
        var next = 0
        func pass(until limit: Int) {
            while next < changed.count, changed[next] < limit {
                while gone < positions.count, positions[gone] < changed[next] { gone += 1 }
                let other = changed[next] - gone
                while come < places.count, places[come] <= other { come += 1 }
                difference.noteModified(old: changed[next], new: other + come)
                next += 1
            }
        }
        for index in ranks.indices where stays[index] && isModified[ranks[index]] {
            pass(until: positions[index])
            let new = arrival[ranks[index]]
            difference.noteModified(old: positions[index], new: places[new] + new)
        }
        pass(until: .max)
    }

    /// The keys of `old` that may not have moved, in their order.
    package struct Others {
        let old: OrderedKeys
        /// Positions of the rest.
        let places: [Int]

        package var count: Int { old.count - places.count }
        package subscript(index: Int) -> Int64 { old[PositionMap.select(index, without: places)] }
    }

    package func others(_ old: OrderedKeys) -> Others { Others(old: old, places: positions) }

    /// `incoming` are the `movable` rows that belong to the results now, in order.
    package func patch(_ old: OrderedKeys, movable: [Int64], incoming: [Int64], at places: [Int]) -> ResultsPatch {
        let (difference, arrivals) = difference(
            incoming.map { ResultsPatch.lowerBound(movable, $0, from: 0) }, places)
        let insertions = zip(difference.insertions, arrivals).map { (position: $0, key: incoming[$1]) }
        let keys = old.editing(removals: difference.deletions, insertions: insertions)
        return ResultsPatch(keys: .ordered(keys), difference: difference)
    }
}
