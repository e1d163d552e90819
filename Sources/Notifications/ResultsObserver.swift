/// Observed results: patched from the change log where that can be done, evaluated again where it cannot.
///
/// Patched are results over a class with at most one step, also sorted and limited: the rows that may have changed
/// their membership are those that were inserted, deleted or modified, themselves or along a path of the query; only
/// these are evaluated. Everything else (results over lists, what is told apart, several limits, an order behind a
/// limit) is evaluated anew, when something it depends on changed, and counted in `fullReruns`. Key paths say which
/// rows are told of as modified, not which are looked at. Observers of the same query share all of that (`SharedKeys`).
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
    /// All keys, beyond the limit too.
    private var keys = KeyBlocks([])
    private var shared: SharedKeys?

    /// Above this many rows to look at, evaluating anew is cheaper.
    private var candidateLimit: Int { max(1_000, keys.count / 4) }

    init(_ results: LiveResults, target: TableKey, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.results = results
        self.target = target
        let last = results.stages.last
        if case .table = results.source, results.stages.count <= 1, last?.bound.isPlain ?? true {
            isPatchable = true
            limit = last?.limit
            stage = try last?.withoutLimit(schema: try results.session.schema)
        } else {
            isPatchable = false
            limit = nil
            stage = nil
        }
        try super.init(results.session, filter)
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        let changes = try super.initialState()
        let shared = try sharedKeys()
        if let known = shared?.keys(at: version) {
            keys = known
        } else {
            let evaluated = KeyBlocks(try evaluate())
            keys = shared?.share(evaluated, at: version) ?? evaluated
        }
        show()
        return changes
    }

    private func sharedKeys() throws(DatabaseError) -> SharedKeys? {
        guard isPatchable else { return nil }
        let catalog = try session.source().catalog
        if let shared, shared.catalog === catalog { return shared }
        shared = SharedKeys.of(target, stage, catalog)
        return shared
    }

    private func evaluate() throws(DatabaseError) -> [Int64] {
        guard isPatchable, limit != nil, let stage else { return try results.keys() }
        return try stage.run(try session.source())
    }

    /// Saves the collection itself from being evaluated for what is known here.
    private func show() {
        guard let limit else { return results.install(keys) }
        results.install(KeyBlocks(keys.prefix(limit)))
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
        let rows = try context.rows(target)
        let modified = try context.modified(target, filter)
        if isPatchable, let reached = try reached(summary, context) {
            let candidates = RowChanges.union([rows.inserted, rows.deleted, rows.modified, modified, reached])
            if candidates.isEmpty { return nil }
            if candidates.count <= candidateLimit { return try patch(candidates, rows, modified, context) }
        } else if try !isTouched(summary, rows, modified) {
            return nil
        }
        return try evaluateAnew(modified)
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

    /// Rows from which the query reaches something that changed, along its own paths; nil when there are too many.
    private func reached(_ summary: ChangeSummary, _ context: DeliveryContext) throws(DatabaseError) -> [Int64]? {
        guard let stage else { return [] }
        let source = try session.source()
        var reached: [[Int64]] = []
        for dependency in stage.bound.dependencies where !dependency.steps.isEmpty {
            guard let table = summary.table(dependency.table) else { continue }
            let changed = table.column(dependency.column)?.keys ?? []
            if changed.count > candidateLimit { return nil }
            if let step = dependency.steps.last, case .inverse(let isList) = step.kind,
                step.column == dependency.column
            {
                // Those whose objects linking here are others than before, then back along the steps that lead there.
                if table.inserted.count + table.deleted.count > candidateLimit { return nil }
                let regrouped = try context.regrouped(
                    origin: dependency.table, dependency.column, isCollection: isList)
                if !regrouped.isEmpty { reached.append(try dependency.roots(ofOrigins: regrouped, in: source)) }
            } else if !changed.isEmpty {
                reached.append(try dependency.roots(of: changed, in: source))
            }
        }
        return RowChanges.union(reached)
    }

    private func patch(
        _ candidates: [Int64], _ rows: RowChanges, _ modified: [Int64], _ context: DeliveryContext
    ) throws(DatabaseError) -> SequenceDifference {
        let source = try session.source()
        let view = try source.table(target)
        let executor = stage?.executor(source)
        var live = candidates
        if !rows.deleted.isEmpty {
            live = try candidates.filtered { key throws(DatabaseError) in try view.locate(ObjectKey(key)) != nil }
        }
        let matching = try executor?.matching(live) ?? live
        var next = 0
        let checked = candidates.map { key -> ResultsPatch.Candidate in
            let isIn = next < matching.count && matching[next] == key
            if isIn { next += 1 }
            return ResultsPatch.Candidate(key: key, isIn: isIn, isModified: RowChanges.contains(modified, key))
        }
        let patch: ResultsPatch
        if let executor, stage?.isSorted == true {
            let places = try formerPlaces(candidates, context)
            patch = try ResultsPatch.sorted(keys, checked, incoming: try executor.ordered(matching), places: places) {
                others, key, start throws(DatabaseError) in
                try executor.position(
                    of: key, among: others.count, from: start, isNear: isDense(matching.count)
                ) { others[$0] }
            }
        } else {
            patch = ResultsPatch.ascending(keys, checked)
        }
        keys = patch.keys
        return patch.difference
    }

    /// Where candidates were in sorted results, found by the values that they had; nil without the version before.
    private func formerPlaces(
        _ candidates: [Int64], _ context: DeliveryContext
    ) throws(DatabaseError) -> [Int]? {
        guard let stage, let previous = context.previous else { return nil }
        let executor = stage.executor(previous)
        let view = try previous.table(target)
        var places: [Int] = []
        var living = try candidates.filtered { key throws(DatabaseError) in try view.locate(ObjectKey(key)) != nil }
        let isDense = isDense(living.count)
        if isDense { living = try executor.ordered(living) }
        var place = 0
        for key in living {
            place = try executor.position(of: key, among: keys.count, from: isDense ? place : 0, isNear: isDense) {
                keys[$0]
            }
            if place < keys.count, keys[place] == key { places.append(place) }
        }
        return isDense ? places : places.sorted()
    }

    /// So many that each is looked for behind the one before it, not among all.
    private func isDense(_ count: Int) -> Bool { count > 100 && count * count > keys.count }

    private func evaluateAnew(_ modified: [Int64]) throws(DatabaseError) -> SequenceDifference {
        session.counters.add(fullReruns: 1)
        let old = keys.all
        let new = try evaluate()
        keys = KeyBlocks(new)
        let isModified = { (key: Int64) in RowChanges.contains(modified, key) }
        if isPatchable, stage?.isSorted != true { return .ascending(old: old, new: new, isModified: isModified) }
        if case .list = results.source { return .arbitrary(old: old, new: new, isModified: isModified) }
        if case .backlinks = results.source { return .arbitrary(old: old, new: new, isModified: isModified) }
        if case .section = results.source { return .arbitrary(old: old, new: new, isModified: isModified) }
        return .ordered(old: old, new: new, isModified: isModified)
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
