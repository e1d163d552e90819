/// Observed results: those over a class follow their query (`ObservedQuery`) and share what its observers have worked
/// out, or the notifier ahead of them (`SharedKeys`). All others, over lists, backlinks and sections, are evaluated
/// again when something they depend on changed, and counted in `fullReruns`; ahead of the session like other
/// collections (`WatchedObserver`).
import CMotteShim
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

final class ResultsObserver: CollectionObserver {
    private let results: LiveResults
    private let target: TableKey
    /// nil for what is not over a class.
    private let query: ObservedQuery?
    /// All keys, of the query beyond its limit too.
    private var keys = KeyBlocks.ordered(OrderedKeys([]))
    private var shared: SharedKeys?

    init(_ results: LiveResults, target: TableKey, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.results = results
        self.target = target
        if case .table = results.source {
            query = try ObservedQuery(target, results.stages, filter, schema: try results.session.schema)
        } else {
            query = nil
        }
        try super.init(results, filter)
    }

    override var memory: ObserverMemory { .results(keys) }

    override func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .results(let keys) = memory else { throw memory.isOfAnother }
        self.keys = keys
    }

    /// Those over a class are the query's.
    override var thing: ObservedThing? {
        get throws(DatabaseError) { query == nil ? try super.thing : nil }
    }

    override func initialState() throws(DatabaseError) -> ChangeSet {
        let changes = try super.initialState()
        keys = try initialKeys()
        show()
        return changes
    }

    private func initialKeys() throws(DatabaseError) -> KeyBlocks {
        guard let query else { return .ordered(OrderedKeys(try results.keys())) }
        let shared = try sharedKeys()
        if let known = shared?.keys(at: version) { return known }
        let start = motte_shim_monotonic_ns()
        // Without a limit the collection itself may know them.
        let evaluated = query.blocks(query.limit == nil ? try results.keys() : try query.evaluate(try session.source()))
        if !query.isPatchable { shared?.note(nanoseconds: motte_shim_monotonic_ns() &- start) }
        return shared?.share(evaluated, at: version) ?? evaluated
    }

    private func sharedKeys() throws(DatabaseError) -> SharedKeys? {
        guard let query, SessionObservers.known(session)?.patching ?? .byCost == .byCost else { return nil }
        let catalog = try session.source().catalog
        if let shared, shared.catalog === catalog { return shared }
        shared = SharedKeys.of(target, query.sharedSteps, catalog)
        return shared
    }

    override var watchedQuery: WatchedQuery? {
        // Of a session that cannot be asked nothing is worked out ahead.
        guard let query, let shared, (try? session.version) == version else { return nil }
        return WatchedQuery(query: query, shared: shared, keys: keys)
    }

    /// Saves the collection itself from being evaluated for what is known here.
    override func show() {
        guard let limit = query?.limit else { return results.install(keys) }
        results.install(keys.limited(to: limit))
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        // What another observer's error has kept from this one is not to be found out any more, nor to be shared.
        guard version == context.from else { return try restart() }
        version = context.to
        let old = keys
        let difference: SequenceDifference?
        if let query {
            guard let move = try move(query, context) else { return try restart() }
            keys = move.keys
            difference = move.difference
        } else {
            guard let summary = try context.summary() else { return try restart() }
            difference = try comparison(context, summary)
        }
        show()
        guard let difference, var changes = changeSet(difference, context) else { return nil }
        if mayMove { changes.moveSource = .keys(old: old, new: keys) }
        if let limit = query?.limit { changes = changes.limited(to: limit, oldCount: old.count, newCount: keys.count) }
        return changes.isEmpty ? nil : changes
    }

    /// Objects in the order of their keys never change their places.
    private var mayMove: Bool { query == nil || results.stages.contains(where: \.isSorted) }

    /// As somebody else has worked it out, or for others to take. nil when the log does not reach back.
    private func move(_ query: ObservedQuery, _ context: DeliveryContext) throws(DatabaseError) -> SharedKeys.Move? {
        let shared = try sharedKeys()
        if let known = shared?.move(from: context.from, to: context.to, filter: query.filterIdentity) {
            session.counters.add(movesTaken: 1)
            return known
        }
        guard let made = try query.move(keys, context) else { return nil }
        return shared?.share(made) ?? made
    }

    /// nil when nothing that matters has changed.
    private func comparison(
        _ context: DeliveryContext, _ summary: ChangeSummary
    ) throws(DatabaseError) -> SequenceDifference? {
        let modified = try context.modified(target, filter)
        guard try isTouched(summary, try context.rows(target), modified) else { return nil }
        session.counters.add(fullReruns: 1)
        let old = keys.all
        let new = try results.keys()
        keys = .ordered(OrderedKeys(new))
        let isModified = { (key: Int64) in RowChanges.contains(modified, key) }
        if case .fixed = results.source {
            return .ordered(old: old, new: new, isModified: isModified, mayMove: isModified)
        }
        return .arbitrary(old: old, new: new, isModified: isModified)
    }

    /// False when nothing changed that the results are made from.
    private func isTouched(
        _ summary: ChangeSummary, _ rows: RowChanges, _ modified: [Int64]
    ) throws(DatabaseError) -> Bool {
        if !rows.isEmpty || !modified.isEmpty || results.source.isTouched(summary) { return true }
        return results.stages.contains { $0.isTouchedElsewhere(summary) }
    }
}

/// A collection of values has no rows whose changes could be followed: its values are compared.
final class ValuesObserver: CollectionObserver {
    private var values: [Value] = []

    override var memory: ObserverMemory { .values(values) }

    override func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .values(let values) = memory else { throw memory.isOfAnother }
        self.values = values
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
        // Keys of a map; results of what is gone are empty.
        if let elements = collection as? LiveElements, try !elements.owner.exists() {
            return ended(values.count, context)
        }
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
