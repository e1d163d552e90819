/// What evaluating a predicate costs per row, and an index per key, in rough nanoseconds. The order of parts depends on
/// it, and whether an index pays. Measured (decision 0042); a scan looks at row groups as a whole, an index at keys one
/// by one, so that a key costs as much as comparing the numbers of dozens of rows.
import MotteColumns
import MotteStorage

enum CostEstimate {
    static func cheapestFirst(_ parts: [BoundPredicate]) -> [BoundPredicate] {
        // Stable, so that equal costs keep the order of the text.
        parts.enumerated().map { (cost: perRow($0.element), index: $0.offset, part: $0.element) }
            .sorted { $0.cost != $1.cost ? $0.cost < $1.cost : $0.index < $1.index }
            .map(\.part)
    }

    static func perRow(_ predicate: BoundPredicate) -> Double {
        switch predicate {
        case .constant: 0
        case .object: 0.1
        case .column(_, _, let test): perValue(test)
        case .link(_, let inner, _): 1.5 + perRow(inner)
        case .anyElement(_, _, let test), .anyKey(_, _, let test): 10 + 2 * perValue(test)
        case .access: 60
        case .anyObject(let step, let inner): (step.kind == .list ? 15 : 30) + perRow(inner)
        case .aggregate(let aggregate): perRow(aggregate)
        case .geo: 100
        case .paths: 20
        case .arithmetic(let left, _, let right): 2 * Double(1 + left.size + right.size)
        case .not(let inner), .comparison(_, let inner): perRow(inner)
        case .and(let parts), .or(let parts): parts.reduce(0) { $0 + perRow($1) }
        }
    }

    private static func perRow(_ aggregate: BoundAggregate) -> Double {
        if case .matching(_, let inner) = aggregate.collection { return 30 + perRow(inner) }
        return aggregate.function == .count ? 20 : 60
    }

    private static func perValue(_ test: ColumnTest) -> Double {
        switch test {
        case .always, .never, .present, .null: 0.1
        case .bool: 0.08
        case .int(.equal, _), .link: 0.15
        case .int: 0.22
        case .intRange: 0.24
        case .double: 0.8
        case .timestamp: 0.3
        case .text(.equal, _), .text(.notEqual, _): 0.35
        case .text: 8
        case .intSet: 7
        case .textSet: 60
        case .match: 40
        case .value, .valueSet, .matchAmongMixed: 30
        case .applied(_, let inner): 30 + perValue(inner)
        case .not(let inner): perValue(inner)
        case .any(let tests), .all(let tests): tests.reduce(0) { $0 + perValue($1) }
        }
    }

    // MARK: Indexes

    /// Reading a key and finding its row group, where keys come in order.
    static let perKey = 4.0
    /// Those of several values or of a range are put in order before.
    static let perSortedKey = 20.0
    /// Two lists of keys are read to find what they have in common.
    static let perCommonKey = 10.0

    /// Whether reading so many keys takes less than testing all rows for what the index answers in their place.
    static func pays(_ keys: Int, _ perKey: Double, inPlaceOf parts: [BoundPredicate], _ view: TableView) -> Bool {
        let perRow = parts.reduce(0) { $0 + Self.perRow($1) }
        return keys <= IndexChoice.few || Double(keys) * perKey <= Double(view.liveCount) * perRow
    }

    static func perKey(_ source: IndexAccess.Source) -> Double {
        switch source {
        case .objects: perKey
        case .column(_, let values): values.count == 1 ? perKey : perSortedKey
        case .declared(let index, let questions):
            questions.count == 1 && index.columns.count == 1 ? perKey : perSortedKey
        case .backlinks(_, let targets): targets.count == 1 ? perKey : perSortedKey
        case .ranges, .both: perSortedKey
        }
    }
}
