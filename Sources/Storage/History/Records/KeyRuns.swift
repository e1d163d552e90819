/// A set of object keys as sorted runs that neither touch nor overlap: a million rows inserted together are one run.
import MotteValues

package struct KeyRuns: Equatable, Sendable {
    package private(set) var runs: [Range<Int64>] = []
    /// How many keys.
    package private(set) var count = 0

    package init() {}

    package init(_ run: Range<Int64>) { append(run) }

    /// Keys in any order, repeated or not.
    package init(_ keys: [Int64]) {
        var isSorted = true
        for index in keys.indices.dropFirst() where keys[index] < keys[index - 1] { isSorted = false; break }
        for key in isSorted ? keys : keys.sorted() where key < Int64.max { append(key ..< key + 1) }
    }

    package var isEmpty: Bool { runs.isEmpty }

    package var keys: [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(count)
        for run in runs { for key in run { keys.append(key) } }
        return keys
    }

    package func contains(_ key: Int64) -> Bool {
        var low = 0, high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].upperBound <= key { low = middle + 1 } else { high = middle }
        }
        return low < runs.count && runs[low].lowerBound <= key
    }

    /// Adds a run that does not begin before the last one; any other goes through `formUnion`.
    package mutating func append(_ run: Range<Int64>) {
        guard !run.isEmpty else { return }
        guard let last = runs.last, run.lowerBound <= last.upperBound else {
            runs.append(run)
            count += run.count
            return
        }
        guard run.lowerBound >= last.lowerBound else { return formUnion(KeyRuns(run)) }
        let upper = max(last.upperBound, run.upperBound)
        count += Int(upper - last.upperBound)
        runs[runs.count - 1] = last.lowerBound ..< upper
    }

    package mutating func formUnion(_ other: KeyRuns) {
        guard !other.isEmpty else { return }
        guard !isEmpty else { self = other; return }
        var union = KeyRuns()
        var i = 0, j = 0
        while i < runs.count || j < other.runs.count {
            if j == other.runs.count || (i < runs.count && runs[i].lowerBound <= other.runs[j].lowerBound) {
                union.append(runs[i])
                i += 1
            } else {
                union.append(other.runs[j])
                j += 1
            }
        }
        self = union
    }

    package func subtracting(_ other: KeyRuns) -> KeyRuns {
        guard !isEmpty, !other.isEmpty else { return self }
        var rest = KeyRuns()
        var j = 0
        for run in runs {
            var start = run.lowerBound
            while j < other.runs.count, other.runs[j].upperBound <= start { j += 1 }
            var k = j
            while k < other.runs.count, other.runs[k].lowerBound < run.upperBound {
                if start < other.runs[k].lowerBound { rest.append(start ..< other.runs[k].lowerBound) }
                start = max(start, min(other.runs[k].upperBound, run.upperBound))
                k += 1
            }
            if start < run.upperBound { rest.append(start ..< run.upperBound) }
        }
        return rest
    }

    /// The sorted `keys` that are not in the set.
    package func removing(from keys: [Int64]) -> [Int64] {
        guard let first = runs.first, let last = runs.last, let lowest = keys.first, let highest = keys.last,
            lowest < last.upperBound, highest >= first.lowerBound
        else { return keys }
        var kept: [Int64] = []
        kept.reserveCapacity(keys.count)
        var i = 0
        for key in keys {
            while i < runs.count, runs[i].upperBound <= key { i += 1 }
            if i == runs.count || key < runs[i].lowerBound { kept.append(key) }
        }
        return kept
    }
}
