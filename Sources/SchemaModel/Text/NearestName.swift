/// "did you mean 'name'?": the declared name closest to one that does not exist.
package enum NearestName {
    /// Empty when nothing is near enough to be worth saying.
    package static func suggestion(for name: String, among candidates: [String]) -> String {
        let wanted = Array(name.utf8.prefix(64))
        var best: (distance: Int, name: String)?
        for candidate in candidates {
            let distance = editDistance(wanted, Array(candidate.utf8.prefix(64)))
            let isNear = distance < wanted.count && distance <= max(1, wanted.count / 3)
            if isNear, distance < best?.distance ?? Int.max { best = (distance, candidate) }
        }
        return best.map { "; did you mean '\($0.name)'?" } ?? ""
    }

    /// Insertions, deletions, replacements and swaps of neighbours that turn one into the other; case does not count.
    static func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforePrevious = [Int](repeating: 0, count: right.count + 1)
        var previous = Array(0 ... right.count)
        for row in 0 ..< left.count {
            var current = [row + 1] + [Int](repeating: 0, count: right.count)
            for column in 0 ..< right.count {
                let same = lowered(left[row]) == lowered(right[column])
                var distance = min(previous[column + 1] + 1, current[column] + 1, previous[column] + (same ? 0 : 1))
                if row > 0, column > 0, lowered(left[row]) == lowered(right[column - 1]),
                    lowered(left[row - 1]) == lowered(right[column])
                {
                    distance = min(distance, beforePrevious[column - 1] + 1)
                }
                current[column + 1] = distance
            }
            (beforePrevious, previous) = (previous, current)
        }
        return previous[right.count]
    }

    private static func lowered(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }
}
