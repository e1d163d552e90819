/// Which key an object has elsewhere: runs of keys here to runs of keys there, ascending by those here. Objects of
/// files that are related lie in few runs, whatever their number.
import MotteValues

struct KeyMap {
    struct Run {
        let first: Int64
        var count: Int64
        let other: Int64
        var end: Int64 { first + count }
    }

    private(set) var runs: [Run] = []

    /// False unless the key is higher than all before.
    mutating func append(_ first: Int64, count: Int64 = 1, to other: Int64) -> Bool {
        guard let last = runs.last else {
            runs.append(Run(first: first, count: count, other: other))
            return true
        }
        guard first >= last.end else { return false }
        if first == last.end, other == last.other + last.count {
            runs[runs.count - 1].count += count
        } else {
            runs.append(Run(first: first, count: count, other: other))
        }
        return true
    }

    /// Index of the first run that ends behind the key.
    private func index(_ key: Int64) -> Int {
        var low = 0, high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].end <= key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func other(_ key: Int64) -> Int64? {
        let index = index(key)
        guard index < runs.count, runs[index].first <= key else { return nil }
        return runs[index].other + key - runs[index].first
    }

    /// The keys there of those of a run that are known, however long the run.
    func others(of keys: Range<Int64>) -> [Int64] {
        var others: [Int64] = []
        for run in runs[index(keys.lowerBound)...] {
            guard run.first < keys.upperBound else { break }
            for key in keys.clamped(to: run.first ..< run.end) { others.append(run.other + key - run.first) }
        }
        return others
    }

    func forEachRun(in keys: Range<Int64>, _ body: (Run) throws(DatabaseError) -> Void) throws(DatabaseError) {
        for run in runs[index(keys.lowerBound)...] {
            let known = keys.clamped(to: run.first ..< run.end)
            guard !known.isEmpty else { break }
            try body(
                Run(first: known.lowerBound, count: Int64(known.count), other: run.other + known.lowerBound - run.first)
            )
        }
    }

    /// All keys here.
    var keys: KeyRuns {
        var keys = KeyRuns()
        for run in runs { keys.append(run.first ..< run.end) }
        return keys
    }

    /// All keys there.
    var others: KeyRuns {
        var keys = KeyRuns()
        for run in runs.sorted(by: { $0.other < $1.other }) { keys.append(run.other ..< run.other + run.count) }
        return keys
    }

    func forEach(_ body: (_ key: Int64, _ other: Int64) throws(DatabaseError) -> Void) throws(DatabaseError) {
        for run in runs {
            for offset in 0 ..< run.count { try body(run.first + offset, run.other + offset) }
        }
    }
}

extension TableView {
    /// The keys of all objects.
    func liveRuns() throws(DatabaseError) -> KeyRuns {
        var keys = KeyRuns()
        for group in 0 ..< rowGroupCount {
            let rows = try rowGroup(group)
            guard let words = rows.liveWords else {
                if rows.rowCount > 0 { keys.append(rows.firstKey ..< rows.firstKey + Int64(rows.rowCount)) }
                continue
            }
            for slot in 0 ..< rows.rowCount where words[slot / 64] >> UInt64(slot % 64) & 1 == 1 {
                keys.append(rows.firstKey + Int64(slot) ..< rows.firstKey + Int64(slot) + 1)
            }
        }
        return keys
    }
}
