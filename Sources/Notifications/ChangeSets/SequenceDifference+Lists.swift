/// The difference of arbitrary sequences: Myers' greedy algorithm on what common ends leave over.
///
/// Its cost grows with the square of the number of edits, so beyond `editLimit` the middle is reported as gone and
/// come.
import MotteLiveObjects

extension SequenceDifference {
    package static let editLimit = 2_000

    package static func arbitrary<Element: Equatable>(
        old: [Element], new: [Element], isModified: (Element) -> Bool = { _ in false }
    ) -> SequenceDifference {
        let shorter = min(old.count, new.count)
        var prefix = 0
        while prefix < shorter, old[prefix] == new[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < shorter - prefix, old[old.count - 1 - suffix] == new[new.count - 1 - suffix] { suffix += 1 }

        var difference = SequenceDifference()
        for index in 0 ..< prefix where isModified(old[index]) { difference.noteModified(old: index, new: index) }
        let middle = pairs(old[prefix ..< old.count - suffix], new[prefix ..< new.count - suffix])
        var left = prefix
        var right = prefix
        for pair in middle + [(old.count - suffix, new.count - suffix)] {
            while left < pair.0 {
                difference.deletions.append(left)
                left += 1
            }
            while right < pair.1 {
                difference.insertions.append(right)
                right += 1
            }
            if left < old.count - suffix {
                if isModified(old[left]) { difference.noteModified(old: left, new: right) }
                left += 1
                right += 1
            }
        }
        for index in 0 ..< suffix {
            let left = old.count - suffix + index
            if isModified(old[left]) { difference.noteModified(old: left, new: new.count - suffix + index) }
        }
        return difference
    }

    /// Positions of a longest common subsequence, or none when the edits are too many to look for it.
    private static func pairs<Element: Equatable>(_ old: ArraySlice<Element>, _ new: ArraySlice<Element>) -> [(
        Int, Int
    )] {
        let left = old.count
        let right = new.count
        guard left > 0, right > 0, let trace = shortestEdits(old, new) else { return [] }
        // Walk back from the end, through the furthest points that each number of edits had reached.
        var pairs: [(Int, Int)] = []
        var x = left
        var y = right
        for edits in stride(from: trace.count - 1, through: 0, by: -1) {
            let reached = trace[edits]
            let diagonal = x - y
            let down =
                diagonal == -edits
                || (diagonal != edits && reach(reached, diagonal - 1) < reach(reached, diagonal + 1))
            let startDiagonal = down ? diagonal + 1 : diagonal - 1
            let startX = edits == 0 ? 0 : reach(reached, startDiagonal)
            let startY = edits == 0 ? 0 : startX - startDiagonal
            let afterX = edits == 0 ? 0 : (down ? startX : startX + 1)
            while x > afterX, y > 0, x > 0, old[old.startIndex + x - 1] == new[new.startIndex + y - 1],
                y > (edits == 0 ? 0 : (down ? startY + 1 : startY))
            {
                x -= 1
                y -= 1
                pairs.append((old.startIndex + x, new.startIndex + y))
            }
            x = startX
            y = startY
        }
        return pairs.reversed()
    }

    /// For each number of edits, the furthest old position on every diagonal before the step with that many edits.
    private static func shortestEdits<Element: Equatable>(
        _ old: ArraySlice<Element>, _ new: ArraySlice<Element>
    ) -> [[Int]]? {
        let left = old.count
        let right = new.count
        var reached = [0]
        var trace: [[Int]] = []
        for edits in 0 ... min(left + right, editLimit) {
            trace.append(reached)
            var next = [Int](repeating: 0, count: 2 * edits + 1)
            for diagonal in stride(from: -edits, through: edits, by: 2) {
                var x = 0
                if edits > 0 {
                    let down =
                        diagonal == -edits
                        || (diagonal != edits && reach(reached, diagonal - 1) < reach(reached, diagonal + 1))
                    x = down ? reach(reached, diagonal + 1) : reach(reached, diagonal - 1) + 1
                }
                var y = x - diagonal
                while x < left, y < right, x >= 0, y >= 0, old[old.startIndex + x] == new[new.startIndex + y] {
                    x += 1
                    y += 1
                }
                next[diagonal + edits] = x
                if x >= left, y >= right { return trace }
            }
            reached = next
        }
        return nil
    }

    /// `reached` covers the diagonals -n ... n in an array of 2n + 1.
    private static func reach(_ reached: [Int], _ diagonal: Int) -> Int {
        let index = diagonal + reached.count / 2
        return index >= 0 && index < reached.count ? reached[index] : -1
    }
}
