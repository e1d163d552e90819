/// What evaluating a predicate costs per row, in rough nanoseconds: only the order of its parts depends on it.
import MotteColumns

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
        case .link(_, let inner, _): 4 + perRow(inner)
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
        case .bool: 0.2
        case .int(.equal, _), .link: 0.4
        case .int, .intExactly, .double(.equal, _): 0.6
        case .intRange: 0.7
        case .double: 0.8
        case .timestamp: 1.5
        case .text(.equal, _): 1
        case .text(.notEqual, _): 1.2
        case .text: 8
        case .intSet(let values): 3 + Double(values.count).squareRoot() / 10
        case .textSet: 15
        case .match: 20
        case .value, .valueSet, .matchAmongMixed: 30
        case .applied(_, let inner): 30 + perValue(inner)
        case .not(let inner): perValue(inner)
        case .any(let tests), .all(let tests): tests.reduce(0) { $0 + perValue($1) }
        }
    }
}
