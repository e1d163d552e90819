/// Running a step: over its class, over given objects, and for patching over the few that may have changed.
import MotteQueryEngine
import MotteStorage
import MotteValues

extension ResultsStage {
    package func executor(_ rows: RowSource) -> Executor { Executor(bound, rows) }

    /// Over all objects of the class.
    package func run(_ rows: RowSource) throws(DatabaseError) -> [Int64] { try executor(rows).keys() }
    func count(_ rows: RowSource) throws(DatabaseError) -> Int { try executor(rows).count() }
    func first(_ rows: RowSource) throws(DatabaseError) -> Int64? { try executor(rows).first() }
    func explain(_ rows: RowSource) throws(DatabaseError) -> String { try executor(rows).plan().text }

    /// Over the outcome of what comes before.
    func apply(to keys: [Int64], _ rows: RowSource) throws(DatabaseError) -> [Int64] {
        try executor(rows).keys(among: keys)
    }
}

extension Executor {
    /// Those of some keys that match, in their order.
    package func matching(_ keys: [Int64]) throws(DatabaseError) -> [Int64] {
        let passes = try matches(keys)
        var found: [Int64] = []
        for (index, key) in keys.enumerated() where passes[index] { found.append(key) }
        return found
    }

    /// Ascending keys of matches in the query's order. The query has no limit.
    package func ordered(_ keys: [Int64]) throws(DatabaseError) -> [Int64] {
        guard keys.count > 1 else { return keys }
        if keys.count > 100 { return try self.keys(among: keys) }
        var order = keys
        // Insertion by halves: these are the few rows of a patch.
        for index in 1 ..< order.count {
            let key = order.remove(at: index)
            order.insert(key, at: try position(of: key, among: index) { order[$0] })
        }
        return order
    }

    /// Where `key` belongs among `count` other keys that are in the query's order, at `start` or behind it. `isNear`:
    /// it is looked for near `start` first.
    package func position(
        of key: Int64, among count: Int, from start: Int = 0, isNear: Bool = false, _ keyAt: (Int) -> Int64
    ) throws(DatabaseError) -> Int {
        var low = start, high = count
        var step = 1
        while isNear, low + step < high {
            guard try isBefore(keyAt(low + step - 1), key) else {
                high = low + step - 1
                break
            }
            low += step
            step *= 2
        }
        while low < high {
            let middle = (low + high) / 2
            if try isBefore(keyAt(middle), key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func isBefore(_ other: Int64, _ key: Int64) throws(DatabaseError) -> Bool {
        let order = try compare(other, key)
        return order < 0 || (order == 0 && other < key)
    }
}
