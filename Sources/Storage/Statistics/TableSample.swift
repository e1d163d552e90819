/// A few rows of a class, evenly spread over it, from which the planner judges how many rows pass a test.
///
/// At most 2,048 rows of at most 32 row groups, so that a column costs no more than 32 chunks to look at, however many
/// objects there are; of classes with fewer rows all are taken, and what is said of them is exact. All columns are read
/// for the same rows: what two tests have in common is counted and not supposed. Rows lie at irregular distances, lest
/// values that repeat in a rhythm look rarer or more frequent than they are. When a commit has changed the class, a few
/// of the sampled values are compared with those of the rows. Decision 0042 has the figures.
import MotteColumns
import MotteSchemaModel
import MotteValues

package final class TableSample: Sendable {
    /// How many rows at most, and of how many row groups.
    package static let mostRows = 2_048
    static let mostRowGroups = 32

    /// The rows, ascending.
    package let keys: [Int64]
    /// Objects of the class when it was taken.
    package let liveCount: Int
    private let nextKey: Int64
    private let modifiedIn: UInt64
    private let columns = Locked<[ColumnKey: ColumnSample]>([:])
    /// Versions of the class in which sampled values were found to be still there.
    private let seen = Locked<Set<UInt64>>([])

    package var isWhole: Bool { keys.count == liveCount }

    init(of view: TableView) throws(DatabaseError) {
        liveCount = view.liveCount
        nextKey = view.nextKey
        modifiedIn = view.modifiedIn
        keys = try Self.choose(view)
    }

    /// Whether it still says much of the class: it has about as many rows, and few commits have touched it since.
    func isFresh(for view: TableView) -> Bool {
        let commits = view.modifiedIn > modifiedIn ? view.modifiedIn - modifiedIn : modifiedIn - view.modifiedIn
        if commits == 0, liveCount == view.liveCount, nextKey == view.nextKey { return true }
        return commits < Self.commitsUntilStale && Self.areClose(liveCount, view.liveCount)
            && Self.areClose(Int(nextKey), Int(view.nextKey))
    }

    /// Changed values are found out with each version (`isRight`), so that this is only for what that cannot see.
    private static let commitsUntilStale: UInt64 = 512
    /// So many of the sampled values are compared, and at most one in eight of them may have changed.
    private static let compared = 64
    private static let mostSeen = 16

    /// Whether most sampled values are still those of the rows: a single commit may have changed them all. Looked at
    /// once for each version that has changed the class.
    func isRight(for view: TableView) throws(DatabaseError) -> Bool {
        let version = view.modifiedIn
        if version == modifiedIn || seen.withLock({ $0.contains(version) }) { return true }
        for (column, sample) in columns.withLock({ $0 }) where try !isRight(column, sample, view) { return false }
        seen.withLock { seen in
            if seen.count >= Self.mostSeen { seen = [] }
            seen.insert(version)
        }
        return true
    }

    private func isRight(
        _ column: ColumnKey, _ sample: ColumnSample, _ view: TableView
    ) throws(DatabaseError) -> Bool {
        let slot = try view.layout.slot(column)
        var looked = 0, changed = 0
        for row in stride(from: 0, to: keys.count, by: max(1, keys.count / Self.compared)) {
            looked += 1
            guard let place = try view.locate(ObjectKey(keys[row])) else {
                changed += 1
                continue
            }
            // Texts outside of chunks are not read for a sample, and not here.
            if try view.isLongText(slot: slot, at: place) { continue }
            let value = try view.value(slot: slot, at: place)
            if ValueOrdering.compare(value, sample.chunk.view(row)) != 0 { changed += 1 }
        }
        return changed * 8 <= looked
    }

    private static func areClose(_ old: Int, _ new: Int) -> Bool { abs(old - new) <= old / 8 }

    // MARK: Rows

    private static func choose(_ view: TableView) throws(DatabaseError) -> [Int64] {
        var keys: [Int64] = []
        let groups = view.rowGroupCount
        let isWhole = view.liveCount <= mostRows && groups <= mostRowGroups
        let taken = min(groups, mostRowGroups)
        guard taken > 0 else { return [] }
        let perGroup = mostRows / taken
        for index in 0 ..< taken {
            // The open row group is the newest part of the class and always among them.
            let number = isWhole || taken == 1 ? index : index * (groups - 1) / (taken - 1)
            let rows = try view.rowGroup(number)
            guard rows.liveCount > 0 else { continue }
            let wanted = isWhole ? rows.rowCount : min(perGroup, rows.rowCount)
            for place in 0 ..< wanted {
                let first = place * rows.rowCount / wanted, end = (place + 1) * rows.rowCount / wanted
                let slot = first + scatter(number, place) % (end - first)
                if let live = rows.liveWords, !Selection.contains(live, slot) { continue }
                keys.append(rows.firstKey + Int64(slot))
            }
        }
        return keys
    }

    /// The same each time.
    private static func scatter(_ group: Int, _ place: Int) -> Int {
        var mixed = UInt64(truncatingIfNeeded: group &* mostRows &+ place) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 32) &* 0xFF51_AFD7_ED55_8CCD
        return Int(truncatingIfNeeded: mixed >> 40)
    }

    // MARK: Columns

    /// Of a column with one value per row; read when first asked for, from what `view` shows then.
    package func column(_ column: ColumnKey, _ view: TableView) throws(DatabaseError) -> ColumnSample {
        if let known = columns.withLock({ $0[column] }) { return known }
        let made = try ColumnSample(of: column, keys: keys, isWhole: isWhole, liveCount: liveCount, view)
        columns.withLock { $0[column] = made }
        return made
    }
}

/// The samples of a file's classes, for all sessions of a process; made when first asked for.
package final class TableSamples: Sendable {
    private let samples = Locked<[TableKey: TableSample]>([:])

    func sample(of view: TableView) throws(DatabaseError) -> TableSample {
        if let known = samples.withLock({ $0[view.key] }), known.isFresh(for: view), try known.isRight(for: view) {
            return known
        }
        let made = try TableSample(of: view)
        samples.withLock { $0[view.key] = made }
        return made
    }
}

extension TableView {
    /// A few rows of the class; kept until the class has changed much.
    package func sample() throws(DatabaseError) -> TableSample { try source.catalog.samples.sample(of: self) }
}
