/// From an old and a new sequence of keys to positions that went, came and changed. Pure; property-tested.
///
/// Three kinds of sequence, each with the cheapest way that is right for it:
///   ascending   results in key order, backlinks (which may repeat): one walk over both
///   ordered     sorted results, each key at most once: keys that did not change kept their order
///   arbitrary   lists: any element anywhere, any number of times
import MotteLiveObjects
import MotteValues

extension SequenceDifference {
    /// With elements at these new positions, ascending, as modified too if they stayed.
    package func adding(modified: [Int]) -> SequenceDifference {
        if modified.isEmpty { return self }
        var changes = ChangeSet(.collection, from: Version(0), to: Version(0))
        changes.deletions = deletions
        changes.insertions = insertions
        let map = PositionMap(changes)
        let known = Set(modificationsNew)
        var pairs = Array(zip(modificationsOld, modificationsNew))
        for new in modified where !known.contains(new) {
            if let old = map.old(ofNew: new) { pairs.append((old, new)) }
        }
        pairs.sort { $0.0 < $1.0 }
        var sum = self
        sum.modificationsOld = pairs.map(\.0)
        sum.modificationsNew = pairs.map(\.1)
        return sum
    }

    // MARK: Ascending

    package static func ascending(
        old: [Int64], new: [Int64], isModified: (Int64) -> Bool
    ) -> SequenceDifference {
        var difference = SequenceDifference()
        var left = 0, right = 0
        while left < old.count || right < new.count {
            if right == new.count || (left < old.count && old[left] < new[right]) {
                difference.deletions.append(left)
                left += 1
            } else if left == old.count || new[right] < old[left] {
                difference.insertions.append(right)
                right += 1
            } else {
                if isModified(old[left]) { difference.noteModified(old: left, new: right) }
                left += 1
                right += 1
            }
        }
        return difference
    }

    // MARK: Ordered

    /// Each key at most once in each. Keys that may not have moved (nil: that are not modified) are expected in one
    /// order in both; where they are not, the difference is still right, but says more than it had to.
    package static func ordered(
        old: [Int64], new: [Int64], isModified: (Int64) -> Bool, mayMove: ((Int64) -> Bool)? = nil
    ) -> SequenceDifference {
        let (prefix, suffix) = commonEnds(old, new)
        var newIndexOf: [Int64: Int] = [:]
        newIndexOf.reserveCapacity(new.count - suffix - prefix)
        for index in prefix ..< new.count - suffix { newIndexOf[new[index]] = index }

        var shared: [(old: Int, new: Int)] = []
        for index in prefix ..< old.count - suffix {
            if let other = newIndexOf[old[index]] { shared.append((index, other)) }
        }
        let kept = keepers(
            shared.map(\.new),
            isFixed: { index in
                let key = old[shared[index].old]
                return !(mayMove?(key) ?? isModified(key))
            })

        var difference = SequenceDifference()
        var staysOld = [Bool](repeating: false, count: old.count - suffix - prefix)
        var staysNew = [Bool](repeating: false, count: new.count - suffix - prefix)
        for index in 0 ..< prefix where isModified(old[index]) { difference.noteModified(old: index, new: index) }
        for index in kept {
            let pair = shared[index]
            staysOld[pair.old - prefix] = true
            staysNew[pair.new - prefix] = true
            if isModified(old[pair.old]) { difference.noteModified(old: pair.old, new: pair.new) }
        }
        for index in (0 ..< suffix).reversed() {
            let left = old.count - 1 - index, right = new.count - 1 - index
            if isModified(old[left]) { difference.noteModified(old: left, new: right) }
        }
        for (index, stays) in staysOld.enumerated() where !stays { difference.deletions.append(prefix + index) }
        for (index, stays) in staysNew.enumerated() where !stays { difference.insertions.append(prefix + index) }
        return difference
    }

    private static func commonEnds(_ old: [Int64], _ new: [Int64]) -> (prefix: Int, suffix: Int) {
        let shorter = min(old.count, new.count)
        var prefix = 0
        while prefix < shorter, old[prefix] == new[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < shorter - prefix, old[old.count - 1 - suffix] == new[new.count - 1 - suffix] { suffix += 1 }
        return (prefix, suffix)
    }

    /// Of distinct numbers, the positions of an ascending subsequence: all the fixed ones if they ascend, and between
    /// two of them as many of the others as possible; else simply a longest one.
    static func keepers(_ numbers: [Int], isFixed: (Int) -> Bool) -> [Int] {
        let fixed = numbers.indices.filter(isFixed)
        guard zip(fixed, fixed.dropFirst()).allSatisfy({ numbers[$0] < numbers[$1] }) else {
            return AscendingSeries.longest(numbers)
        }
        var kept: [Int] = []
        var low = -1
        var start = 0
        for end in fixed + [numbers.count] {
            let high = end < numbers.count ? numbers[end] : Int.max
            let between = (start ..< end).filter { numbers[$0] > low && numbers[$0] < high }
            kept += AscendingSeries.longest(between.map { numbers[$0] }).map { between[$0] }
            if end < numbers.count {
                kept.append(end)
                low = high
            }
            start = end + 1
        }
        return kept
    }
}
