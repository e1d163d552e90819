/// The edits that lead from one list to another: few where the lists are alike. Elements are compared as numbers, equal
/// for equal elements.
import MotteValues

package enum ListDifference {
    /// Where lists differ in more places than this, only what they begin and end with is kept.
    private static let mostEdits = 1_000

    /// Elements that stay, ascending by both positions.
    package static func common(_ old: [Int], _ new: [Int]) -> [(old: Int, new: Int)] {
        var start = 0
        while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
        var end = 0
        while end < min(old.count, new.count) - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
        var pairs = (0 ..< start).map { (old: $0, new: $0) }
        let between = (old: old[start ..< old.count - end], new: new[start ..< new.count - end])
        pairs += longest(Array(between.old), Array(between.new)).map { (old: $0.old + start, new: $0.new + start) }
        pairs += (0 ..< end).map { (old: old.count - end + $0, new: new.count - end + $0) }
        return pairs
    }

    /// Myers's greedy algorithm: the furthest that so many edits come on each diagonal, edit by edit.
    private static func longest(_ old: [Int], _ new: [Int]) -> [(old: Int, new: Int)] {
        guard !old.isEmpty, !new.isEmpty else { return [] }
        let most = min(mostEdits, old.count + new.count)
        var furthest = [Int](repeating: 0, count: 2 * most + 3)
        var steps: [[Int]] = []
        for edits in 0 ... most {
            for diagonal in stride(from: -edits, through: edits, by: 2) {
                let middle = most + 1 + diagonal
                let comesByInsertion =
                    diagonal == -edits || diagonal != edits && furthest[middle - 1] < furthest[middle + 1]
                var x = comesByInsertion ? furthest[middle + 1] : furthest[middle - 1] + 1
                while x < old.count, x - diagonal < new.count, old[x] == new[x - diagonal] { x += 1 }
                furthest[middle] = x
                if x >= old.count, x - diagonal >= new.count {
                    steps.append(Array(furthest[most + 1 - edits ... most + 1 + edits]))
                    return walkBack(old.count, new.count, steps)
                }
            }
            steps.append(Array(furthest[most + 1 - edits ... most + 1 + edits]))
        }
        return []
    }

    private static func walkBack(_ oldCount: Int, _ newCount: Int, _ steps: [[Int]]) -> [(old: Int, new: Int)] {
        var pairs: [(old: Int, new: Int)] = []
        var (x, y) = (oldCount, newCount)
        for edits in stride(from: steps.count - 1, to: 0, by: -1) {
            let before = steps[edits - 1]
            func furthest(_ diagonal: Int) -> Int? {
                let index = diagonal + edits - 1
                return before.indices.contains(index) ? before[index] : nil
            }
            let diagonal = x - y
            let (left, above) = (furthest(diagonal - 1), furthest(diagonal + 1))
            let comesByInsertion =
                diagonal == -edits || diagonal != edits && (left ?? -1) < (above ?? -1)
            let former = comesByInsertion ? diagonal + 1 : diagonal - 1
            let formerX = furthest(former) ?? 0
            let formerY = formerX - former
            while x > formerX, y > formerY {
                pairs.append((old: x - 1, new: y - 1))
                (x, y) = (x - 1, y - 1)
            }
            (x, y) = (formerX, formerY)
        }
        while x > 0, y > 0 {
            pairs.append((old: x - 1, new: y - 1))
            (x, y) = (x - 1, y - 1)
        }
        return pairs.reversed()
    }

    /// One after the other, from front to back: between elements that stay, what is replaced, and then what goes or
    /// comes.
    package static func operations(
        _ common: [(old: Int, new: Int)], _ oldCount: Int, _ newCount: Int
    ) -> [ListOperation] {
        var operations: [ListOperation] = []
        var (oldEnd, newEnd) = (0, 0)
        for pair in common + [(old: oldCount, new: newCount)] {
            let (gone, come) = (pair.old - oldEnd, pair.new - newEnd)
            let replaced = min(gone, come)
            if replaced > 0 { operations.append(.set(at: newEnd, count: replaced)) }
            if gone > replaced { operations.append(.remove(at: newEnd + replaced, count: gone - replaced)) }
            if come > replaced { operations.append(.insert(at: newEnd + replaced, count: come - replaced)) }
            (oldEnd, newEnd) = (pair.old + 1, pair.new + 1)
        }
        return operations
    }
}
