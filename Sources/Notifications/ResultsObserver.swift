/// Observed results: patched from the change log where that can be done, evaluated again where it cannot.
///
/// Patched are results over a class with at most one step, also sorted and limited: the rows that may have come, gone
/// or moved are those that were inserted or deleted, or of which something changed that the query reads, in themselves
/// or along a path; only these are evaluated. Few rows are looked for one by one; where many changed, sorted results
/// are patched in passes over all keys (`BulkPatch`), and where most did, evaluated anew. Everything else (results over
/// lists, what is told apart, several limits, an order behind a limit) is evaluated anew, when something it depends on
/// changed, and counted in `fullReruns`. Key paths say which rows are told of as modified, not which are looked at.
/// Observers of the same query share all of that (`SharedKeys`).
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

final class ResultsObserver: CollectionObserver {
    private let results: LiveResults
    private let target: TableKey
    /// The step that is patched, without its limit; nil for all rows of the class.
    private let stage: ResultsStage?
    private let limit: Int?
    private let isPatchable: Bool
    /// What the step reads.
    private let dependencies: [Dependency]
    /// All keys, beyond the limit too.
    private var keys = KeyBlocks.ordered(OrderedKeys([]))
    private var shared: SharedKeys?

    /// Above this many rows to look for or to sort, evaluating anew is cheaper.
    private var candidateLimit: Int { max(1_000, keys.count / 4) }
    /// Looking a row up among sorted ones takes as long as passing over so many of them.
    private static let rowsPerSearch = 500

    init(_ results: LiveResults, target: TableKey, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.results = results
        self.target = target
        let last = results.stages.last
        if case .table = results.source, results.stages.count <= 1, last?.bound.isPlain ?? true {
            isPatchable = true
            limit = last?.limit
            stage = try last?.withoutLimit(schema: try results.session.schema)
            dependencies = stage?.bound.dependencies ?? []
        } else {
            isPatchable = false
            limit = nil
            stage = nil
            dependencies = []
        }
        try super.init(results.session, filter)
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        let changes = try super.initialState()
        let shared = try sharedKeys()
        if let known = shared?.keys(at: version) {
            keys = known
        } else {
            let evaluated = blocks(try evaluate())
            keys = shared?.share(evaluated, at: version) ?? evaluated
        }
        show()
        return changes
    }

    private func sharedKeys() throws(DatabaseError) -> SharedKeys? {
        guard isPatchable, SessionObservers.known(session)?.patching ?? .byCost == .byCost else { return nil }
        let catalog = try session.source().catalog
        if let shared, shared.catalog === catalog { return shared }
        shared = SharedKeys.of(target, stage, catalog)
        return shared
    }

    private func evaluate() throws(DatabaseError) -> [Int64] {
        guard isPatchable, limit != nil, let stage else { return try results.keys() }
        return try stage.run(try session.source())
    }

    private func blocks(_ keys: [Int64]) -> KeyBlocks {
        isPatchable && stage?.isSorted != true ? .ascending(KeySet(keys)) : .ordered(OrderedKeys(keys))
    }

    /// Saves the collection itself from being evaluated for what is known here.
    private func show() {
        guard let limit else { return results.install(keys) }
        results.install(keys.limited(to: limit))
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        guard let summary = try context.summary() else { return try restart() }
        let oldCount = keys.count
        guard let difference = try sharedDifference(context, summary) else {
            show()
            return nil
        }
        show()
        guard var changes = changeSet(difference, context) else { return nil }
        if let limit { changes = changes.limited(to: limit, oldCount: oldCount, newCount: keys.count) }
        return changes.isEmpty ? nil : changes
    }

    /// As another observer of the query has worked it out, or for the others to take.
    private func sharedDifference(
        _ context: DeliveryContext, _ summary: ChangeSummary
    ) throws(DatabaseError) -> SequenceDifference? {
        guard let shared = try sharedKeys() else { return try difference(context, summary) }
        if let move = shared.move(from: context.from, to: context.to, filter: filter?.identity) {
            keys = move.keys
            return move.told as? SequenceDifference
        }
        let difference = try difference(context, summary)
        let told: any Sendable = difference ?? None()
        keys = shared.share(
            SharedKeys.Move(from: context.from, to: context.to, filter: filter?.identity, keys: keys, told: told))
        return difference
    }

    /// Nothing that matters has changed.
    private struct None: Sendable {}

    /// nil when nothing that matters has changed; moves `keys` on.
    private func difference(
        _ context: DeliveryContext, _ summary: ChangeSummary
    ) throws(DatabaseError) -> SequenceDifference? {
        let modified = try context.modified(target, filter)
        guard isPatchable else {
            if try !isTouched(summary, try context.rows(target), modified) { return nil }
            return try evaluateAnew(modified)
        }
        guard let movable = try movable(summary, context) else { return try evaluateAnew(modified) }
        if movable.isEmpty && modified.isEmpty { return nil }
        if context.patching == .anew { return try evaluateAnew(modified, movable: movable) }
        let patch = try patch(movable, modified, context)
        keys = patch.keys
        return patch.difference
    }

    /// False when nothing changed that results which cannot be patched are made from.
    private func isTouched(
        _ summary: ChangeSummary, _ rows: RowChanges, _ modified: [Int64]
    ) throws(DatabaseError) -> Bool {
        if !rows.isEmpty || !modified.isEmpty || results.source.isTouched(summary) { return true }
        for stage in results.stages {
            for dependency in stage.bound.dependencies where !dependency.steps.isEmpty {
                if summary.table(dependency.table) != nil { return true }
            }
        }
        return false
    }

    /// Rows that may have come, gone or moved, because they are new or gone, or because the query reads something of
    /// them, or reaches something from them, that changed. nil when there are too many to look for.
    private func movable(_ summary: ChangeSummary, _ context: DeliveryContext) throws(DatabaseError) -> [Int64]? {
        let rows = try context.rows(target)
        var found = [rows.inserted, rows.deleted]
        let source = try session.source()
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
                if !regrouped.isEmpty { found.append(try dependency.roots(ofOrigins: regrouped, in: source)) }
            } else if !changed.isEmpty {
                found.append(try dependency.roots(of: changed, in: source))
            }
        }
        return RowChanges.union(found)
    }

    private func patch(
        _ movable: [Int64], _ modified: [Int64], _ context: DeliveryContext
    ) throws(DatabaseError) -> ResultsPatch {
        if case .ascending(let old) = keys {
            let keys = RowChanges.union([movable, modified])
            let matching = try matching(movable, try stage?.executor(sharing: context.run()), context)
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
                old, movable, modified, stage.executor(sharing: try context.run()),
                in: previous, stage.executor(sharing: previous), context)
        }
        return try patchBulk(old, movable, modified, stage.executor(sharing: try context.run()), context)
    }

    /// Sorted results in passes over all keys.
    private func patchBulk(
        _ old: OrderedKeys, _ movable: [Int64], _ modified: [Int64], _ executor: Executor, _ context: DeliveryContext
    ) throws(DatabaseError) -> ResultsPatch {
        guard let bulk = BulkPatch(old, movable: movable, modified: modified) else {
            let difference = try evaluateAnew(modified, movable: movable)
            return ResultsPatch(keys: keys, difference: difference)
        }
        if movable.count > candidateLimit {
            session.counters.add(fullReruns: 1)
            return bulk.comparing(try evaluate())
        }
        let incoming = try executor.ordered(try matching(movable, executor, context))
        return bulk.merging(incoming, at: try executor.places(of: incoming, among: bulk.others))
    }

    /// Sorted results, each row looked for by itself, as it was and as it is.
    private func patchEach(
        _ old: OrderedKeys, _ movable: [Int64], _ modified: [Int64], _ executor: Executor,
        in previous: RunContext, _ former: Executor, _ context: DeliveryContext
    ) throws(DatabaseError) -> ResultsPatch {
        let positions = try places(of: movable, in: old, previous, former)
        let patch = SortedPatch(
            ranks: positions.map { ResultsPatch.lowerBound(movable, old[$0], from: 0) }, positions: positions,
            changed: try places(of: RowChanges.subtracting(movable, from: modified), in: old, previous, former),
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
        of keys: [Int64], in old: OrderedKeys, _ run: RunContext, _ executor: Executor
    ) throws(DatabaseError) -> [Int] {
        let view = try run.table(target)
        var places: [Int] = []
        for key in keys where try view.locate(ObjectKey(key)) != nil {
            let place = try executor.place(of: key, among: old.count) { old[$0] }
            if place < old.count, old[place] == key { places.append(place) }
        }
        return places.sorted()
    }

    /// `movable`: all that may not have kept their order, if that is known.
    private func evaluateAnew(
        _ modified: [Int64], movable: [Int64]? = nil
    ) throws(DatabaseError) -> SequenceDifference {
        session.counters.add(fullReruns: 1)
        let old = keys.all
        let new = try evaluate()
        keys = blocks(new)
        let isModified = { (key: Int64) in RowChanges.contains(modified, key) }
        if isPatchable, stage?.isSorted != true { return .ascending(old: old, new: new, isModified: isModified) }
        if case .list = results.source { return .arbitrary(old: old, new: new, isModified: isModified) }
        if case .backlinks = results.source { return .arbitrary(old: old, new: new, isModified: isModified) }
        if case .section = results.source { return .arbitrary(old: old, new: new, isModified: isModified) }
        let mayMove = movable.map { movable in { (key: Int64) in RowChanges.contains(movable, key) } } ?? isModified
        return .ordered(old: old, new: new, isModified: isModified, mayMove: mayMove)
    }
}

/// A collection of values has no rows whose changes could be followed: its values are compared.
final class ValuesObserver: CollectionObserver {
    private let collection: LiveCollection
    private var values: [Value] = []

    init(_ collection: LiveCollection, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.collection = collection
        try super.init(collection.session, filter)
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        let changes = try super.initialState()
        values = try read()
        return changes
    }

    private func read() throws(DatabaseError) -> [Value] {
        var values: [Value] = []
        for index in 0 ..< (try collection.count()) { values.append(try collection.value(at: index).owned) }
        return values
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        let linked = try context.changedPositions(ofValues: collection, filter)
        if linked.isEmpty, let results = collection as? LiveResults, let summary = try context.summary(),
            !results.source.isTouched(summary)
        {
            return nil
        }
        session.counters.add(fullReruns: 1)
        let old = values
        values = try read()
        return changeSet(SequenceDifference.arbitrary(old: old, new: values).adding(modified: linked), context)
    }
}

extension ResultsSource {
    /// False when the source has the same elements in the same order as before.
    func isTouched(_ summary: ChangeSummary) -> Bool {
        switch self {
        case .fixed, .fixedValues: return false
        // Which elements a section has may depend on anything.
        case .section: return true
        case .table(let table): return summary.table(table) != nil
        case .list(let list):
            guard let changes = summary.table(list.owner.table) else { return false }
            let owner = list.owner.key.rawValue
            return changes.deleted.contains(owner) || changes.list(list.column, owner) != nil
                || changes.map(list.valuesColumn, owner) != nil
        case .nested(let nested):
            guard let changes = summary.table(nested.owner.table) else { return false }
            let owner = nested.owner.key.rawValue
            return changes.deleted.contains(owner) || changes.column(nested.column)?.contains(owner) == true
        case .backlinks(let backlinks):
            return summary.table(backlinks.origin) != nil
                || summary.table(backlinks.owner.table)?.deleted.contains(backlinks.owner.key.rawValue) == true
        }
    }
}
