/// Sorted results of which many rows may have moved (`SortedPatch`): everything is found in passes over all keys.
import MotteLiveObjects
import MotteStorage

package struct BulkPatch {
    /// Old keys of rows that may not have moved, in their order.
    package let others: [Int64]
    private let sorted: SortedPatch
    private let mask: KeyMask

    /// `movable` and `modified` ascend. nil where keys are so far apart that a bit each would be more than the results.
    package init?(_ old: OrderedKeys, movable: [Int64], modified: [Int64]) {
        let changedOnly = RowChanges.subtracting(movable, from: modified)
        let most = 64 &* (old.count &+ movable.count &+ 1_024)
        guard let mask = KeyMask(movable, mostBits: most), let changedMask = KeyMask(changedOnly, mostBits: most) else {
            return nil
        }
        var others: [Int64] = []
        others.reserveCapacity(old.count)
        var (ranks, positions, changed): ([Int], [Int], [Int]) = ([], [], [])
        old.forEachBlock { start, keys in
            mask.divide(keys, from: start, ranks: &ranks, positions: &positions, others: &others)
            if !changedOnly.isEmpty { changedMask.appendPositions(keys, from: start, to: &changed) }
        }
        self.others = others
        self.mask = mask
        sorted = SortedPatch(
            ranks: ranks, positions: positions, changed: changed,
            isModified: RowChanges.flags(movable, in: modified))
    }

    /// `incoming` are the rows that may have moved and belong to the results now, in order; `places` says how many of
    /// the others come before each.
    package func merging(_ incoming: [Int64], at places: [Int]) -> ResultsPatch {
        var keys: [Int64] = []
        keys.reserveCapacity(others.count + incoming.count)
        var from = 0
        for (index, key) in incoming.enumerated() {
            if places[index] > from { keys.append(contentsOf: others[from ..< places[index]]) }
            keys.append(key)
            from = places[index]
        }
        keys.append(contentsOf: others[from...])
        let difference = sorted.difference(incoming.map(mask.rank), places).difference
        return ResultsPatch(keys: .ordered(OrderedKeys(keys)), difference: difference)
    }

    /// The new results are known.
    package func comparing(_ new: [Int64]) -> ResultsPatch {
        var incoming: [Int] = []
        var places: [Int] = []
        var rest: [Int64] = []
        new.withUnsafeBufferPointer {
            mask.divide($0, from: 0, ranks: &incoming, positions: &places, others: &rest)
        }
        for index in places.indices { places[index] -= index }
        return ResultsPatch(
            keys: .ordered(OrderedKeys(new)), difference: sorted.difference(incoming, places).difference)
    }
}
