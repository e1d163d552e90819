/// Which objects the numbers in a text stand for: `{"$key": 7}` is the object that was read with `"$key": 7`.
///
/// An export numbers the objects of a class upwards and an import makes them one after another, so that mostly one run
/// says it all; what does not fit the runs is kept one by one.
import MotteValues

struct KeyMap {
    private struct Run {
        var source: Int64
        var target: Int64
        var count: Int64
    }

    private var runs: [Run] = []
    private var others: [Int64: Int64] = [:]

    /// False when the number stands for another object already.
    mutating func add(_ source: Int64, _ target: Int64) -> Bool {
        if find(source) != nil { return false }
        guard let last = runs.indices.last else {
            runs.append(Run(source: source, target: target, count: 1))
            return true
        }
        // Numbers of a text may be anything from 0 on.
        let distance = source - runs[last].source
        if distance == runs[last].count, target == runs[last].target + runs[last].count {
            runs[last].count += 1
        } else if distance >= runs[last].count {
            runs.append(Run(source: source, target: target, count: 1))
        } else {
            others[source] = target
        }
        return true
    }

    func find(_ source: Int64) -> Int64? {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].source <= source { low = middle + 1 } else { high = middle }
        }
        if low > 0 {
            let run = runs[low - 1]
            if source - run.source < run.count { return run.target + (source - run.source) }
        }
        return others.isEmpty ? nil : others[source]
    }
}
