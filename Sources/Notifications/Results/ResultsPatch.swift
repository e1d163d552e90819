/// Old results and the rows that may have changed place in them, to new results and the difference. Pure.
///
/// The cost is that of the changes, each a few looks and the block of keys it is in; nothing is evaluated here. Sorted
/// results are `SortedPatch`'s.
import MotteLiveObjects

/// How observed results are brought up to date: all ways lead to the same.
package enum ResultsPatching: Sendable {
    case byCost
    /// Rows one by one.
    case each
    /// In passes over all keys, where they are sorted.
    case bulk
    case again
}

package struct ResultsPatch {
    package internal(set) var keys: KeyBlocks
    package internal(set) var difference = SequenceDifference()

    /// Rows that may have come, gone, moved or changed; ascending.
    package struct Touched {
        let keys: [Int64]
        /// Whether it may have come, gone or moved; if not, it is where it was, if it was anywhere.
        let mayMove: [Bool]
        /// Of those that may, whether it belongs to the results now.
        let isIn: [Bool]
        /// Whether it counts as changed, if it stays.
        let isModified: [Bool]

        package init(keys: [Int64], mayMove: [Bool], isIn: [Bool], isModified: [Bool]) {
            self.keys = keys
            self.mayMove = mayMove
            self.isIn = isIn
            self.isModified = isModified
        }
    }

    /// Results in the order of their keys.
    package static func ascending(_ old: KeySet, _ touched: Touched) -> ResultsPatch {
        var difference = SequenceDifference()
        var removed: [Int64] = []
        var inserted: [Int64] = []
        old.forEachPlace(of: touched.keys) { index, position, wasIn in
            let isIn = touched.mayMove[index] ? touched.isIn[index] : wasIn
            let new = position - removed.count + inserted.count
            switch (wasIn, isIn) {
            case (false, false): break
            case (true, false):
                difference.deletions.append(position)
                removed.append(touched.keys[index])
            case (false, true):
                difference.insertions.append(new)
                inserted.append(touched.keys[index])
            case (true, true): if touched.isModified[index] { difference.noteModified(old: position, new: new) }
            }
        }
        return ResultsPatch(
            keys: .ascending(old.editing(removing: removed, inserting: inserted)), difference: difference)
    }

    /// The same where none may have come, gone or moved: what changed is where it was, if it was anywhere.
    static func ascending(_ old: KeySet, modified: [Int64]) -> ResultsPatch {
        var difference = SequenceDifference()
        difference.modificationsOld = old.positions(of: modified)
        difference.modificationsNew = difference.modificationsOld
        return ResultsPatch(keys: .ascending(old), difference: difference)
    }

    package static func lowerBound(_ keys: [Int64], _ wanted: Int64, from start: Int) -> Int {
        var low = start
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < wanted { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
