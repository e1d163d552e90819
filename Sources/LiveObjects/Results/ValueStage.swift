/// One step of results over plain values: a query on SELF, an order, a limit, or each value once.
///
/// Steps work on positions in the source, in the order that the steps before them left.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

package enum ValueStage {
    case query(ValueQuery)
    case sort(isAscending: Bool)
    case limit(Int)
    /// The first of equal values.
    case distinct

    /// The positions that are left of `order`, in their order.
    func apply(to order: [Int], _ source: ResultsSource) throws(DatabaseError) -> [Int] {
        switch self {
        case .limit(let limit): return Array(order.prefix(limit))
        case .query(let query):
            let values = try Self.values(at: order, source)
            return try query.positions(in: values).map { order[$0] }
        case .sort(let isAscending):
            let values = try Self.values(at: order, source)
            let ranked = order.indices.sorted { left, right in
                let compared = Value.compare(values[left], values[right])
                if compared == 0 { return left < right }
                return isAscending ? compared < 0 : compared > 0
            }
            return ranked.map { order[$0] }
        case .distinct:
            let values = try Self.values(at: order, source)
            var seen: Set<Value> = []
            return order.indices.filter { seen.insert(values[$0]).inserted }.map { order[$0] }
        }
    }

    private static func values(at order: [Int], _ source: ResultsSource) throws(DatabaseError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(order.count)
        for index in order { values.append(try source.value(at: index).owned) }
        return values
    }
}
