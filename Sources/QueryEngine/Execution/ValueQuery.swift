/// Queries over the values of a list: predicates and orders on SELF, by the same tests as on columns.
///
///     SELF BEGINSWITH 'a' AND SELF != 'ab' SORT(SELF DESC) DISTINCT(SELF) LIMIT(3)
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct ValueQuery: Sendable {
    private let predicate: BoundPredicate
    private let steps: [Step]
    private let type: PropertyType
    package let parsed: ParsedQuery

    private enum Step: Sendable {
        /// By the values themselves: of several sort keys only the first can change anything.
        case sort(isAscending: Bool)
        /// The first of equal values.
        case distinct
        case limit(Int)
        case offset(Int)
    }

    /// `name` is what messages call a value, such as `Person.tags`. Not for lists of objects.
    package static func bind(
        _ parsed: ParsedQuery, type: PropertyType, name: String, arguments: Arguments = Arguments()
    ) throws(DatabaseError) -> ValueQuery {
        try parsed.requireObjects()
        var resolver = PathResolver(schema: .empty, source: parsed.source)
        resolver.values = (type, name)
        let binder = Binder(resolver: resolver, table: TableKey(0), arguments: arguments.timed)
        try Predicate.checkStack(for: parsed.predicate.stackBytes)
        let predicate = try binder.bind(parsed.predicate)
        var steps: [Step] = []
        for step in try binder.steps(parsed.ordering) {
            switch step {
            case .sort(let keys): if let first = keys.first { steps.append(.sort(isAscending: first.isAscending)) }
            case .distinct: steps.append(.distinct)
            case .limit(let limit): steps.append(.limit(limit))
            case .offset(let offset): steps.append(.offset(offset))
            }
        }
        return ValueQuery(
            predicate: PredicateRewrites.simplified(predicate), steps: steps, type: type, parsed: parsed)
    }

    /// Where the matches stand among `values`, in the query's order.
    package func positions(in values: [Value]) throws(DatabaseError) -> [Int] {
        guard let kind = ColumnKind(rawValue: UInt8(truncatingIfNeeded: type.rawValue)) else { return [] }
        let builder = ChunkBuilder(kind: kind, nullable: true, capacity: values.count)
        for value in values { value.withView { builder.append($0) } }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let bytes = builder.encode(key: none)
        return try bytes.withBytes { bytes throws(DatabaseError) in
            positions(try ColumnChunk(validating: bytes, kind: kind, key: none))
        }
    }

    /// Rows of the chunk, in the query's order.
    package func positions(_ chunk: ColumnChunk) -> [Int] {
        var words = [UInt64](repeating: 0, count: Selection.wordCount(chunk.count) + 1)
        var rows: [Int] = []
        words.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            Self.select(predicate, chunk, into: base)
            for row in 0 ..< chunk.count where Selection.contains(base, row) { rows.append(row) }
        }
        for step in steps {
            switch step {
            case .limit(let limit): rows = Array(rows.prefix(limit))
            case .offset(let offset): rows = Array(rows.dropFirst(offset))
            case .distinct:
                var seen: Set<Value> = []
                rows = rows.filter { seen.insert(chunk.view($0).owned).inserted }
            case .sort(let isAscending):
                // By rank among the rows, so that level ones keep the order they have.
                rows = rows.enumerated().sorted { left, right in
                    let order = ValueOrdering.compare(chunk.view(left.element), chunk.view(right.element))
                    return order == 0 ? left.offset < right.offset : (order < 0) == isAscending
                }.map(\.element)
            }
        }
        return rows
    }

    private static func select(_ predicate: BoundPredicate, _ chunk: ColumnChunk, into words: SelectionWords) {
        let rows = chunk.count
        switch predicate {
        case .constant(true): Selection.fill(words, rows: rows)
        case .comparison(_, let inner): select(inner, chunk, into: words)
        case .column(_, _, let test): test.select(chunk, into: words)
        case .not(let inner):
            select(inner, chunk, into: words)
            Selection.invert(words, rows: rows)
        case .and(let parts):
            Selection.fill(words, rows: rows)
            combine(parts, chunk) { Selection.formAnd(words, $0, rows: rows) }
        case .or(let parts):
            Selection.clear(words, rows: rows)
            combine(parts, chunk) { Selection.formOr(words, $0, rows: rows) }
        case .paths(_, let test, _):
            Selection.clear(words, rows: rows)
            for row in 0 ..< rows where test.holds(chunk.view(row), chunk.view(row)) {
                Selection.insert(words, row)
            }
        case .arithmetic(let left, let test, let right):
            Selection.clear(words, rows: rows)
            for row in 0 ..< rows {
                let one = left.value { _ in chunk.view(row) }, other = right.value { _ in chunk.view(row) }
                if ValueComparison.holds(test, one.view, other.view) { Selection.insert(words, row) }
            }
        // Values have no identity and lead nowhere.
        case .constant(false), .object, .link, .anyElement, .anyKey, .access, .anyObject, .aggregate, .geo:
            Selection.clear(words, rows: rows)
        }
    }

    private static func combine(_ parts: [BoundPredicate], _ chunk: ColumnChunk, _ join: (SelectionWords) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Selection.wordCount(chunk.count) + 1) { other in
            guard let other = other.baseAddress else { return }
            for part in parts {
                select(part, chunk, into: other)
                join(other)
            }
        }
    }
}
