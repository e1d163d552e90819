/// `place IN %@` with a shape asks what `place GEOWITHIN %@` does.
import MotteQueryEngine
import MotteValues

extension FilterFormat {
    package func parsed() throws(DatabaseError) -> ParsedQuery {
        let query = try ParsedQuery.parse(text)
        guard given.contains(where: { GeoText.text($0) != nil }) else { return query }
        return ParsedQuery(
            predicate: withinShapes(query.predicate), ordering: query.ordering, source: query.source,
            argumentCount: query.argumentCount)
    }

    private func withinShapes(_ predicate: QueryPredicate) -> QueryPredicate {
        switch predicate {
        case .constant: return predicate
        case .not(let inner): return .not(withinShapes(inner))
        case .and(let parts): return .and(parts.map(withinShapes))
        case .or(let parts): return .or(parts.map(withinShapes))
        case .comparison(var comparison):
            if comparison.operator == .in, case .argument(let number, _) = comparison.right, number < given.count,
                GeoText.text(given[number]) != nil
            {
                comparison.operator = .geoWithin
            }
            return .comparison(comparison)
        }
    }
}
