/// Running a step: over its class, over given objects, and for patching over the few that may have changed.
import MotteQueryEngine
import MotteStorage
import MotteValues

extension ResultsStage {
    package func executor(_ rows: RowSource, _ watch: QueryWatch? = nil) -> Executor { Executor(bound, rows, watch) }
    package func executor(sharing context: RunContext) -> Executor { Executor(bound, sharing: context) }

    /// Over all objects of the class.
    package func run(_ rows: RowSource, _ watch: QueryWatch? = nil) throws(DatabaseError) -> [Int64] {
        try executor(rows, watch).keys()
    }
    func count(_ rows: RowSource, _ watch: QueryWatch?) throws(DatabaseError) -> Int {
        try executor(rows, watch).count()
    }
    func first(_ rows: RowSource, _ watch: QueryWatch?) throws(DatabaseError) -> Int64? {
        try executor(rows, watch).first()
    }
    func explain(_ rows: RowSource) throws(DatabaseError) -> String { try executor(rows).plan().text }

    /// Over the outcome of what comes before.
    package func apply(
        to keys: [Int64], _ rows: RowSource, _ watch: QueryWatch? = nil
    ) throws(DatabaseError) -> [Int64] {
        try executor(rows, watch).keys(among: keys)
    }
}

extension Executor {
    /// Those of some keys that match, in their order.
    package func matching(_ keys: [Int64]) throws(DatabaseError) -> [Int64] {
        if keys.isEmpty { return [] }
        let passes = try matches(keys)
        var found: [Int64] = []
        found.reserveCapacity(keys.count)
        for (index, key) in keys.enumerated() where passes[index] { found.append(key) }
        return found
    }
}
