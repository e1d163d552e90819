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

    /// Ascending keys in the query's order.
    package func ordered(_ keys: [Int64]) throws(DatabaseError) -> [Int64] {
        guard keys.count > 1 else { return keys }
        var order = keys
        // Insertion by halves: these are the few rows of a patch.
        for index in 1 ..< order.count {
            let key = order.remove(at: index)
            order.insert(key, at: try position(of: key, in: order, upTo: index))
        }
        return order
    }

    /// Where `key` belongs in `base`, which is in the query's order and does not contain it.
    package func position(of key: Int64, in base: [Int64], upTo end: Int) throws(DatabaseError) -> Int {
        var low = 0, high = end
        while low < high {
            let middle = (low + high) / 2
            let order = try compare(base[middle], key)
            if order < 0 || (order == 0 && base[middle] < key) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
