/// The rows that indexes give for a query: some of them, and what is left to test on these.
import MotteColumns
import MotteStorage
import MotteValues

struct IndexAccess {
    enum Source {
        case objects([Int64])
        case column(ColumnKey, [Value])
        /// What an index that is declared with the class answers.
        case declared(TableIndex, [IndexQuestion])
        /// What its index has between some bounds.
        case ranges(ColumnKey, [ClosedRange<UInt64>])
        /// The objects whose link column points to one of these.
        case backlinks(PathStep, [Int64])
        /// Those that two of the others give.
        indirect case both(Source, Source)
    }

    let source: Source
    /// How many keys it gives; more than there are objects where one links twice.
    let count: Int
    let countIsExact: Bool
    /// What is left to test.
    let rest: BoundPredicate
    let text: String
    /// The objects that backlinks are followed from, where a condition found them.
    var targets: (step: PathStep, predicate: BoundPredicate, count: Int)?
    /// Keys that the choice had to read already.
    let known: [Int64]?

    var kind: PlanStep.Kind {
        switch source {
        case .objects: .objects
        case .column, .declared, .ranges, .both: .index
        case .backlinks: .backlinks
        }
    }

    /// Ascending, each once.
    func keys(_ view: TableView, _ source: RowSource) throws(DatabaseError) -> [Int64] {
        if let known { return known.ascending }
        return try Self.keys(self.source, view, source)
    }

    private static func keys(
        _ wanted: Source, _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> [Int64] {
        var keys: [Int64] = []
        switch wanted {
        case .objects(let objects):
            for key in objects where try view.locate(ObjectKey(key)) != nil { keys.append(key) }
            return keys
        case .column(let column, let values): try IndexChoice.lookUp(view, column, values, into: &keys)
        case .declared(let index, let questions):
            for question in questions { try view.keys(index, question, into: &keys) }
        case .ranges(let column, let ranges): try view.indexKeys(column, in: ranges, into: &keys)
        case .backlinks(let step, let targets):
            let target = try source.table(step.target)
            try target.backlinks(origin: step.origin, step.column, of: targets, into: &keys)
        case .both(let left, let right):
            return common(try Self.keys(left, view, source), try Self.keys(right, view, source))
        }
        return keys.ascending
    }

    /// Of two ascending lists.
    private static func common(_ left: [Int64], _ right: [Int64]) -> [Int64] {
        var common: [Int64] = []
        var next = 0
        for key in left {
            while next < right.count, right[next] < key { next += 1 }
            if next == right.count { break }
            if right[next] == key { common.append(key) }
        }
        return common
    }
}
