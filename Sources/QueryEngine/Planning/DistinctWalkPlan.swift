/// DISTINCT of the matches, alone or behind a sort by the same properties, along an index that begins with these: the
/// first object of each combination is the answer, and no row is read.
import MotteSchemaModel
import MotteStorage
import MotteValues

struct DistinctWalkPlan {
    let index: TableIndex
    let question: IndexQuestion
    /// How many of the index's properties make a combination, those with one value included.
    let columns: Int
    /// `byKey` where no sort comes before.
    let order: IndexOrder
    /// How many of the query's clauses are done with it.
    let clauses: Int

    /// nil where no index has just these objects and properties.
    static func choose(
        _ predicate: BoundPredicate, _ steps: [BoundQuery.Step], _ view: TableView
    ) -> DistinctWalkPlan? {
        var sort: [BoundQuery.SortKey] = []
        var paths: [BoundPath] = []
        switch (steps.first, steps.dropFirst().first) {
        case (.distinct(let distinct), _): paths = distinct
        case (.sort(let keys), .distinct(let distinct)): (sort, paths) = (keys, distinct)
        default: return nil
        }
        let columns = paths.compactMap { column(of: $0) }
        guard columns.count == paths.count else { return nil }
        for (index, question, fixed) in OrderedWalkPlan.candidates(predicate, view) {
            // Folded texts that are equal may be several values.
            let constants = index.columns.indices.prefix(fixed).filter { index.folding($0).isEmpty }
            let rest = Set(columns).subtracting(constants.map { index.columns[$0].key })
            let own = index.columns.indices.dropFirst(fixed).prefix(rest.count)
            guard own.count == rest.count, own.allSatisfy({ rest.contains(index.columns[$0].key) }),
                own.allSatisfy({ index.isDescending($0) != nil }), !(own.isEmpty && fixed == 0),
                let order = order(sort, index, own)
            else { continue }
            return DistinctWalkPlan(
                index: index, question: question, columns: fixed + own.count, order: order,
                clauses: sort.isEmpty ? 1 : 2)
        }
        return nil
    }

    private static func column(of path: BoundPath) -> ColumnKey? {
        guard path.steps.isEmpty, case .column(let column, _, _) = path.end else { return nil }
        return column
    }

    /// Where a sort comes before it has to be by these very properties.
    private static func order(
        _ sort: [BoundQuery.SortKey], _ index: TableIndex, _ own: some Collection<Int>
    ) -> IndexOrder? {
        if sort.isEmpty { return .byKey }
        guard sort.count == own.count else { return nil }
        var isForward: Bool?
        for (key, place) in zip(sort, own) {
            guard column(of: key.path) == index.columns[place].key, let isDescending = index.isDescending(place) else {
                return nil
            }
            let isSame = key.isAscending != isDescending
            if let isForward, isForward != isSame { return nil }
            isForward = isSame
        }
        return isForward.map { $0 ? .ascending : .descending }
    }

    /// nil where values are so long that the index does not know all of them.
    func keys(_ view: TableView) throws(DatabaseError) -> [Int64]? {
        guard let keys = try view.firstOfEach(index, question, columns: columns) else { return nil }
        switch order {
        case .byKey: return keys.ascending
        case .ascending: return keys
        case .descending: return keys.reversed()
        }
    }
}
