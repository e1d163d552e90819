/// A query over a class as its observers follow it, of no session, so that any thread with the rows can move it on.
///
/// Patched are queries of at most one step, also sorted and limited: the rows that may have come, gone or moved are
/// those that were inserted or deleted, or of which something changed that the query reads, in themselves or along a
/// path; only these are evaluated. Few rows are looked for one by one; where many changed, sorted results are patched
/// in passes over all keys (`BulkPatch`), and where most did, re-evaluated. Everything else (what is distinguished,
/// several limits, an order behind a limit) is re-evaluated, when something it depends on changed, and counted in
/// `fullReruns`. Key paths say which rows are reported as modified, not which are looked at.
import CMotteShim
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

final class ObservedQuery: Sendable {
    let target: TableKey
    /// What observers of the same query share their keys by: its steps, a patched one without its limit.
    let sharedSteps: [ResultsStage]
    let limit: Int?
    let isPatchable: Bool
    private let filter: KeyPathFilter?
    var filterIdentity: String? { filter?.identity }
    /// What a patched step reads.
    private let dependencies: [Dependency]

    /// Looking a row up among sorted ones takes as long as passing over so many of them.
    private static let rowsPerSearch = 500

    init(
        _ target: TableKey, _ steps: [ResultsStage], _ filter: KeyPathFilter?, schema: Schema
    ) throws(DatabaseError) {
        self.target = target
        self.filter = filter
        let last = steps.last
        isPatchable = steps.count <= 1 && last?.bound.isPlain ?? true
        if isPatchable {
            limit = last?.limit
            let step = try last?.withoutLimit(schema: schema)
            sharedSteps = step.map { [$0] } ?? []
            dependencies = step?.bound.dependencies ?? []
        } else {
            limit = nil
            sharedSteps = steps
            dependencies = []
        }
    }

    /// The step that is patched; nil for all rows of the class.
    private var stage: ResultsStage? { sharedSteps.first }

    /// Above this many rows to look for or to sort, re-evaluating is cheaper.
    private func candidateLimit(_ keys: KeyBlocks) -> Int { max(1_000, keys.count / 4) }

    /// Without the limit of a patched step.
    func evaluate(_ rows: RowSource, _ watch: QueryWatch? = nil) throws(DatabaseError) -> [Int64] {
        guard let stage else { return try rows.table(target).liveKeys() }
        var keys = try stage.run(rows, watch)
        for next in sharedSteps.dropFirst() { keys = try next.apply(to: keys, rows, watch) }
        return keys
    }

    func blocks(_ keys: [Int64]) -> KeyBlocks {
        isPatchable && stage?.isSorted != true ? .ascending(KeySet(keys)) : .ordered(OrderedKeys(keys))
    }

    /// From `keys`, which are those at the context's first version. nil when the log no longer reaches back that far.
    func move(_ keys: KeyBlocks, _ context: DeliveryContext) throws(DatabaseError) -> SharedKeys.Move? {
        let start = motte_shim_monotonic_ns()
        guard let summary = try context.summary() else { return nil }
        let patch = try patch(keys, context, summary)
        return SharedKeys.Move(
            from: context.from, to: context.to, filter: filterIdentity, keys: patch?.keys ?? keys,
            difference: patch?.difference, nanoseconds: motte_shim_monotonic_ns() &- start)
    }

    /// nil when nothing that matters has changed.
    private func patch(
        _ keys: KeyBlocks, _ context: DeliveryContext, _ summary: ChangeSummary
    ) throws(DatabaseError) -> ResultsPatch? {
        let modified = try context.modified(target, filter)
        guard isPatchable else {
            let isTouched =
                !modified.isEmpty || summary.table(target) != nil
                || sharedSteps.contains { $0.isTouchedElsewhere(summary) }
            return isTouched ? try reevaluated(keys, modified, context) : nil
        }
        guard let movable = try movable(keys, summary, context) else {
            return try reevaluated(keys, modified, context)
        }
        if movable.isEmpty && modified.isEmpty { return nil }
        if context.patching == .again { return try reevaluated(keys, modified, movable: movable, context) }
        return try patch(keys, movable, modified, context)
    }

    /// Rows that may have come, gone or moved, because they are new or gone, or because the query reads something of
    /// them, or reaches something from them, that changed. nil when there are too many to look for.
    private func movable(
        _ keys: KeyBlocks, _ summary: ChangeSummary, _ context: DeliveryContext
    ) throws(DatabaseError) -> [Int64]? {
        let rows = try context.rows(target)
        var found = [rows.inserted, rows.deleted]
        let candidateLimit = candidateLimit(keys)
        for dependency in dependencies {
            guard let table = summary.table(dependency.table) else { continue }
            let changed = table.column(dependency.column)?.keys ?? []
            if dependency.steps.isEmpty {
                found.append(changed)
                continue
            }
            if changed.count > candidateLimit { return nil }
            if let step = dependency.steps.last, case .inverse(let isList) = step.kind,
                step.column == dependency.column
            {
                // Those whose objects linking here are others than before, then back along the steps that lead there.
                if table.inserted.count + table.deleted.count > candidateLimit { return nil }
                let regrouped = try context.regrouped(
                    origin: dependency.table, dependency.column, isCollection: isList)
                if !regrouped.isEmpty { found.append(try dependency.roots(ofOrigins: regrouped, in: context.source)) }
            } else if !changed.isEmpty {
                found.append(try dependency.roots(of: changed, in: context.source))
            }
        }
        return RowChanges.union(found)
    }

    private func patch(
        _ keys: KeyBlocks, _ movable: [Int64], _ modified: [Int64], _ context: DeliveryContext
    ) throws(DatabaseError) -> ResultsPatch {
        if case .ascending(let old) = keys {
            if movable.isEmpty { return ResultsPatch.ascending(old, modified: modified) }
            let keys = RowChanges.union([movable, modified])
            let matching = try matching(movable, stage?.executor(sharing: context.run()), context)
            return ResultsPatch.ascending(
                old,
                ResultsPatch.Touched(
                    keys: keys, mayMove: RowChanges.flags(keys, in: movable),
                    isIn: RowChanges.flags(keys, in: matching), isModified: RowChanges.flags(keys, in: modified)))
        }
        guard case .ordered(let old) = keys, let stage else {
            throw DatabaseError(.internal, "results without an order are kept as if they had one")
        }
        let count = movable.count + modified.count
        let previous = context.previousRun()
        let isBulk = context.patching == .bulk || count > 100 && count * Self.rowsPerSearch > old.count
        if let previous, context.patching == .each || !isBulk {
            return try patchEach(
                old, movable, modified, stage.executor(sharing: context.run()),
                in: previous, stage.executor(sharing: previous), context)
        }
        return try patchBulk(old, movable, modified, stage, context)
    }

    /// Sorted results in passes over all keys.
    private func patchBulk(
        _ old: OrderedKeys, _ movable: [Int64], _ modified: [Int64], _ stage: ResultsStage, _ context: DeliveryContext
    ) throws(DatabaseError) -> ResultsPatch {
        guard let bulk = BulkPatch(old, movable: movable, modified: modified) else {
            return try reevaluated(.ordered(old), modified, movable: movable, context)
        }
        if movable.count > candidateLimit(.ordered(old)) {
            context.database.counters.add(fullReruns: 1)
            return bulk.comparing(try evaluate(context.source, context.watch))
        }
        let executor = stage.executor(sharing: context.run())
        let incoming = try executor.ordered(try matching(movable, executor, context))
        return bulk.merging(incoming, at: try executor.places(of: incoming, among: bulk.others))
    }

    /// Sorted results, each row looked for by itself, as it was and as it is.
    private func patchEach(
        _ old: OrderedKeys, _ movable: [Int64], _ modified: [Int64], _ executor: Executor,
        in previous: RunContext, _ former: Executor, _ context: DeliveryContext
    ) throws(DatabaseError) -> ResultsPatch {
        let mayDiffer = { (key: Int64) in RowChanges.contains(movable, key) }
        func placeBefore(_ key: Int64) throws(DatabaseError) -> Int {
            try executor.place(of: key, in: former, among: old.count, { old[$0] }, mayDiffer: mayDiffer)
        }
        let positions = try places(of: movable, in: old, previous, placeBefore)
        let patch = SortedPatch(
            ranks: positions.map { ResultsPatch.lowerBound(movable, old[$0], from: 0) }, positions: positions,
            changed: try places(of: RowChanges.subtracting(movable, from: modified), in: old, previous, placeBefore),
            isModified: RowChanges.flags(movable, in: modified))
        let incoming = try executor.ordered(try matching(movable, executor, context))
        let others = patch.others(old)
        var gaps: [Int] = []
        for key in incoming { gaps.append(try executor.place(of: key, among: others.count) { others[$0] }) }
        return patch.patch(old, movable: movable, incoming: incoming, at: gaps)
    }

    /// Those of some rows that belong to the results now, whatever the order.
    private func matching(
        _ keys: [Int64], _ executor: Executor?, _ context: DeliveryContext
    ) throws(DatabaseError) -> [Int64] {
        if let executor { return try executor.matching(keys) }
        return RowChanges.subtracting(try context.rows(target).deleted, from: keys)
    }

    /// Ascending positions of those of some rows that are in sorted results of the version that is read.
    private func places(
        of keys: [Int64], in old: OrderedKeys, _ run: RunContext, _ placeOf: (Int64) throws(DatabaseError) -> Int
    ) throws(DatabaseError) -> [Int] {
        let view = try run.table(target)
        var places: [Int] = []
        for key in keys where try view.locate(ObjectKey(key)) != nil {
            let place = try placeOf(key)
            if place < old.count, old[place] == key { places.append(place) }
        }
        return places.sorted()
    }

    /// `movable`: all that may not have kept their order, if that is known.
    private func reevaluated(
        _ keys: KeyBlocks, _ modified: [Int64], movable: [Int64]? = nil, _ context: DeliveryContext
    ) throws(DatabaseError) -> ResultsPatch {
        context.database.counters.add(fullReruns: 1)
        let old = keys.all
        let new = try evaluate(context.source, context.watch)
        let isModified = { (key: Int64) in RowChanges.contains(modified, key) }
        if isPatchable, stage?.isSorted != true {
            return ResultsPatch(
                keys: blocks(new), difference: .ascending(old: old, new: new, isModified: isModified))
        }
        let mayMove = movable.map { movable in { (key: Int64) in RowChanges.contains(movable, key) } } ?? isModified
        return ResultsPatch(
            keys: blocks(new),
            difference: .ordered(old: old, new: new, isModified: isModified, mayMove: mayMove))
    }
}

extension ResultsStage {
    /// Whether something changed in a table that it reads on the way from its own objects.
    func isTouchedElsewhere(_ summary: ChangeSummary) -> Bool {
        bound.dependencies.contains { !$0.steps.isEmpty && summary.table($0.table) != nil }
    }
}
