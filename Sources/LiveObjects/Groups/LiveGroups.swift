/// The groups of a collection of objects; they follow its session.
///
/// Computed on the first look and kept until the session's view epoch moves. Frozen ones belong to every thread.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveGroups {
    /// What is grouped, after the conditions and clauses before GROUP.
    package let base: LiveResults
    package let grouping: BoundGrouping
    private let cached: EpochCache<GroupTable>

    package init(_ base: LiveResults, _ grouping: BoundGrouping) {
        self.base = base
        self.grouping = grouping
        cached = EpochCache(base.session)
    }

    package var session: Session { base.session }
    package func exists() throws(DatabaseError) -> Bool { try base.exists() }

    /// The groups as the session shows them.
    package func table() throws(DatabaseError) -> GroupTable {
        try cached.get(session) { () throws(DatabaseError) in try base.evaluate(grouping) }
    }

    /// For whoever has made them another way: these are the groups in the session's present state.
    package func install(_ table: GroupTable) { cached.put(table, session) }

    package func count() throws(DatabaseError) -> Int { try table().count }

    /// Of a group and a column; good for as long as the session's view epoch does not move.
    package func view(_ row: Int, _ column: Int) throws(DatabaseError) -> ValueView {
        let table = try table()
        guard row >= 0, row < table.count else {
            throw DatabaseError(.outOfBounds, "there is no group \(row); there are \(table.count)")
        }
        guard column >= 0, column < table.columns.count else {
            throw DatabaseError(.outOfBounds, "groups have no column \(column); they have \(table.columns.count)")
        }
        return table.view(column, row)
    }

    /// The group with some keys, in the order in which they were written.
    package func find(_ keys: [ValueView]) throws(DatabaseError) -> Int? {
        let table = try table()
        guard keys.count == table.keyCount else {
            throw DatabaseError(
                .invalidArgument, "the groups have \(table.keyCount) keys, and \(keys.count) were given")
        }
        return (0 ..< table.count).first { row in
            keys.indices.allSatisfy { ValueOrdering.compare(table.view($0, row), keys[$0]) == 0 }
        }
    }

    // MARK: Elsewhere

    package func freeze() throws(DatabaseError) -> LiveGroups {
        let frozen = try session.sharedFrozen()
        guard frozen !== session, let same = try base.frozen(in: frozen) as? LiveResults else { return self }
        return LiveGroups(same, grouping)
    }
}

extension LiveCollection {
    /// `age > 20 GROUP(city) COUNT, AVG(age)`: the groups of the elements that match.
    package func groups(_ text: String, _ arguments: Arguments = Arguments()) throws(DatabaseError) -> LiveGroups {
        let query = try ParsedQuery.parse(text)
        let arguments = try arguments.fitted(to: query)
        return try grouped(by: query, arguments)
    }

    package func grouped(
        by query: ParsedQuery, _ arguments: Arguments = Arguments()
    ) throws(DatabaseError) -> LiveGroups {
        try session.check()
        guard let target else { throw notObjects() }
        let grouping = try BoundGrouping.bind(query, table: target, schema: try session.schema, arguments: arguments)
        let isAll = query.predicate == .constant(true) && query.ordering.isEmpty
        return LiveGroups(
            isAll ? try results() : try narrowed(by: query.withoutGroups, arguments), grouping)
    }
}
