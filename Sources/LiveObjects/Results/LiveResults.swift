/// The outcome of a query, or all objects of a class, or a list's elements in another order; follows its session.
///
/// Lazy: nothing is evaluated before the first look, counting evaluates only a count, and what was evaluated is kept
/// until the session's view epoch moves. A snapshot is results over fixed keys.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveResults: LiveCollection {
    package let source: ResultsSource
    package let stages: [ResultsStage]
    let valueStages: [ValueStage]
    private let cachedKeys: EpochCache<[Int64]>
    /// The keys as an observer keeps them.
    private let cachedBlocks: EpochCache<KeyBlocks>
    private let cachedOrder: EpochCache<[Int]>
    private let cachedPositions: EpochCache<TablePositions>
    private let cachedCount: EpochCache<Int>

    convenience init(_ session: Session, source: ResultsSource, stages: [ResultsStage]) {
        self.init(session, source: source, stages: stages, valueStages: [])
    }

    init(_ session: Session, source: ResultsSource, stages: [ResultsStage], valueStages: [ValueStage]) {
        self.source = source
        self.stages = stages
        self.valueStages = valueStages
        cachedKeys = EpochCache(session)
        cachedBlocks = EpochCache(session)
        cachedOrder = EpochCache(session)
        cachedPositions = EpochCache(session)
        cachedCount = EpochCache(session)
        // Also where a query asks for them: there are no keys to be found then.
        let isAll = stages.allSatisfy { $0.bound.selectsAll && $0.bound.steps.isEmpty }
        if case .table(let table) = source, isAll { allOfTable = table } else { allOfTable = nil }
        super.init(
            session, .results, elementType: source.elementType, isElementNullable: source.isElementNullable,
            target: source.target)
    }

    package override func exists() throws(DatabaseError) -> Bool {
        guard try super.exists() else { return false }
        return try source.exists()
    }

    override var valueName: String {
        if case .list(let list) = source { list.valueName } else { super.valueName }
    }

    package override var isSnapshot: Bool {
        switch source {
        case .fixed, .fixedValues: stages.isEmpty && valueStages.isEmpty
        case .table, .list, .nested, .backlinks, .section: false
        }
    }

    /// All objects of the class, as they are stored.
    override var wholeTable: TableKey? { allOfTable }
    private let allOfTable: TableKey?

    // MARK: Deriving

    func adding(_ stage: ResultsStage) throws(DatabaseError) -> LiveResults {
        var stages = stages
        if let last = stages.last, let joined = try last.joined(with: stage, schema: try session.schema) {
            stages[stages.count - 1] = joined
        } else {
            stages.append(stage)
        }
        return LiveResults(session, source: source, stages: stages)
    }

    func adding(_ stage: ValueStage) throws(DatabaseError) -> LiveResults {
        guard let target else {
            return LiveResults(session, source: source, stages: [], valueStages: valueStages + [stage])
        }
        let clause: Ordering.Clause
        switch stage {
        case .limit(let limit): clause = .limit(.count(limit))
        case .distinct: clause = .distinct([Predicate.Path([])])
        case .query, .sort:
            throw DatabaseError(.internal, "objects were asked as if they were values")
        }
        return try adding(try ResultsStage.clause(clause, target: target, schema: try session.schema))
    }

    package override func results() throws(DatabaseError) -> LiveResults { self }
    override func resultsSource() throws(DatabaseError) -> ResultsSource { source }

    package override func plan() throws(DatabaseError) -> CollectionPlan? {
        try source.plan().map { .results($0, stages, valueStages) }
    }

    package override func frozen(in frozen: Session) throws(DatabaseError) -> LiveCollection {
        LiveResults(frozen, source: try source.frozen(in: frozen), stages: stages, valueStages: valueStages)
    }

    // MARK: Evaluating

    package override func count() throws(DatabaseError) -> Int {
        if let wholeTable { return try session.table(wholeTable).liveCount }
        guard target != nil else { return try order().count }
        if let known = cachedKeys.peek(session)?.count ?? cachedBlocks.peek(session)?.count {
            try session.check()
            return known
        }
        // Where counting takes the keys they are kept.
        guard case .table = source, stages.count == 1, stages[0].bound.isPlain else { return try keys().count }
        return try cachedCount.get(session) { () throws(DatabaseError) in
            let rows = try session.querySource()
            if let known = try observedKeys(rows) { return known.count }
            return try stages[0].count(rows, session.queryWatch())
        }
    }

    package override func keys() throws(DatabaseError) -> [Int64] {
        guard target != nil else { throw notObjects() }
        return try cachedKeys.get(session) { () throws(DatabaseError) in
            if let blocks = cachedBlocks.peek(session) { return blocks.all }
            return try evaluate()
        }
    }

    private func evaluate() throws(DatabaseError) -> [Int64] {
        let rows = try session.querySource()
        var keys: [Int64]
        let watch = session.queryWatch()
        var rest = stages[...]
        if let known = try observedKeys(rows) { return known.all }
        if case .table = source, let first = rest.popFirst() {
            keys = try first.run(rows, watch)
        } else {
            keys = try source.keys(session)
        }
        if case .fixed = source, !stages.isEmpty, let target {
            // Stages look at rows, and those of a snapshot may be gone.
            let view = try rows.table(target)
            keys = try keys.filtered { key throws(DatabaseError) in try view.locate(ObjectKey(key)) != nil }
        }
        for stage in rest { keys = try stage.apply(to: keys, rows, watch) }
        return keys
    }

    /// Results that are one query are grouped where they are found, without making their keys.
    func evaluate(_ grouping: BoundGrouping) throws(DatabaseError) -> GroupTable {
        let rows = try session.querySource()
        let watch = session.queryWatch()
        guard let target else { throw notObjects() }
        if case .table(let table) = source, stages.count <= 1 {
            return try Executor(stages.first?.bound ?? .all(table), rows, watch).groups(grouping)
        }
        var keys = try keys()
        if isSnapshot {
            // Those of a snapshot may be gone.
            let view = try rows.table(target)
            keys = try keys.filtered { key throws(DatabaseError) in try view.locate(ObjectKey(key)) != nil }
        }
        return try Executor(.all(target), rows, watch).groups(grouping, of: keys)
    }

    /// As an observer of the same query has them.
    private func observedKeys(_ rows: RowSource) throws(DatabaseError) -> KeyBlocks? {
        guard case .table(let table) = source, !session.isInWrite, !session.isInGroup else { return nil }
        return SharedKeys.keys(table, stages, rows.catalog, at: rows.version)
    }

    /// For whoever has computed them another way: these are the keys in the session's present state.
    package func install(_ keys: KeyBlocks) {
        cachedBlocks.put(keys, session)
        // The same once more, for as long as they are observed.
        cachedKeys.forget()
    }

    package override func key(at index: Int) throws(DatabaseError) -> ObjectKey {
        guard let wholeTable else {
            // Without making one array of them all.
            guard cachedKeys.peek(session) == nil, let blocks = cachedBlocks.peek(session) else {
                return try super.key(at: index)
            }
            try session.check()
            guard index >= 0, index < blocks.count else { throw outOfBounds(index, blocks.count) }
            return ObjectKey(blocks[index])
        }
        // While no object was ever deleted, position and key are the same.
        let denseCount = try session.lentTable(wholeTable).read { table in
            Int64(table.liveCount) == table.nextKey ? table.nextKey : 0
        }
        if index >= 0, Int64(index) < denseCount { return ObjectKey(Int64(index)) }
        let view = try session.table(wholeTable)
        let positions = try positions(view)
        guard index >= 0, index < positions.count else { throw outOfBounds(index, positions.count) }
        return ObjectKey(try positions.key(at: index, view))
    }

    private func positions(_ view: TableView) throws(DatabaseError) -> TablePositions {
        if Int64(view.liveCount) == view.nextKey { return try TablePositions(view) }
        return try cachedPositions.get(session) { () throws(DatabaseError) in try TablePositions(view) }
    }

    package override func index(of key: ObjectKey) throws(DatabaseError) -> Int? {
        if let wholeTable {
            let view = try session.table(wholeTable)
            return try positions(view).index(of: key, view)
        }
        if let known = cachedBlocks.peek(session)?.position(of: key.rawValue) {
            try session.check()
            return known.isThere ? known.position : nil
        }
        return try super.index(of: key)
    }

    package override func value(at index: Int) throws(DatabaseError) -> ValueView {
        guard let target else {
            let order = try order()
            guard index >= 0, index < order.count else { throw outOfBounds(index, order.count) }
            return try source.value(at: order[index])
        }
        let key = try key(at: index)
        if case .fixed = source, try session.table(target).locate(key) == nil { return .null }
        return .link(ObjectLink(table: target, key: key))
    }

    /// Of a collection of values: positions in the source.
    private func order() throws(DatabaseError) -> [Int] {
        try cachedOrder.get(session) { () throws(DatabaseError) in
            var order = Array(0 ..< (try source.valueCount()))
            let watch = session.queryWatch()
            for stage in valueStages {
                try watch?.check()
                order = try stage.apply(to: order, source)
            }
            return order
        }
    }

    /// The list or map that an element of mixed values is, live; nil for anything else, and in a snapshot.
    package func nested(at index: Int) throws(DatabaseError) -> LiveNested? {
        _ = try value(at: index)
        switch source {
        case .list(let elements): return try elements.nested(at: try order()[index])
        case .nested(let nested): return try nested.nested(at: try order()[index])
        case .table, .backlinks, .section, .fixed, .fixedValues: return nil
        }
    }

    // MARK: Columns

    /// Results that are one query are totalled where they are found, without making their keys.
    override func vectorized(_ operation: AggregateOperation, _ column: ColumnKey) throws(DatabaseError) -> Value? {
        guard case .table(let table) = source, stages.count <= 1 else { return nil }
        let query = stages.first?.bound ?? .all(table)
        return try Executor(query, try session.querySource(), session.queryWatch())
            .aggregate(operation.function, column)
    }

    override func forEachRun(
        _ column: ColumnKey?, from first: Int, limit: Int,
        _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        guard target != nil else { return try forEachValueRun(from: first, limit: limit, body) }
        guard let wholeTable, let column else { return try super.forEachRun(column, from: first, limit: limit, body) }
        let view = try session.table(wholeTable)
        let positions = try positions(view)
        guard first >= 0, first < positions.count, limit > 0 else { return }
        let end = limit < positions.count - first ? first + limit : positions.count
        var reader = RunReader(view, column, session.queryWatch())
        if positions.isDense {
            try reader.read(dense: Int64(first), Int64(end)) { chunk, rows, position throws(DatabaseError) in
                try body(chunk, rows, position + first)
            }
        } else {
            var keys: [Int64] = []
            try positions.appendKeys(first ..< end, view, to: &keys)
            try reader.read(keys, from: 0, to: keys.count) { chunk, rows, position throws(DatabaseError) in
                try body(chunk, rows, position + first)
            }
        }
    }

    private func forEachValueRun(
        from first: Int, limit: Int, _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let order = try order()
        guard first >= 0, first < order.count, limit > 0 else { return }
        let end = limit < order.count - first ? first + limit : order.count
        switch elementType.form {
        case .string, .data, .link,
            nil where elementType != .mixed:
            throw DatabaseError(.unsupported, "read sorted or fixed collections of \(elementType.name) one by one")
        case .bool, .int, .float, .double, .timestamp, .decimal, .identifier, .null, .list, .map, nil: break
        }
        let kind = ColumnKind(rawValue: UInt8(truncatingIfNeeded: elementType.rawValue)) ?? .int
        let copy = ChunkBuilder(kind: kind, nullable: true, capacity: end - first)
        for index in first ..< end { copy.append(try source.value(at: order[index])) }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        try copy.encode(key: none).withBytes { bytes throws(DatabaseError) in
            let chunk = try ColumnChunk(validating: bytes, kind: kind, key: none)
            try body(chunk, 0 ..< end - first, first)
        }
    }
}

extension Array {
    /// `filter` with a typed throw.
    package func filtered(_ isIncluded: (Element) throws(DatabaseError) -> Bool) throws(DatabaseError) -> [Element] {
        var result: [Element] = []
        for element in self where try isIncluded(element) { result.append(element) }
        return result
    }
}
