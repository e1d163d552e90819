/// Look-ups by ranges of what an index keeps, for the types whose order its bits have (`IndexValue`).
///
/// Nulls are in none. Where the bits do not say everything, the caller tests the rows.
import MotteValues

extension TableView {
    /// How many objects are in the ranges, which lie apart; counting stops behind `most`. nil without an index.
    package func indexCount(
        _ column: ColumnKey, in ranges: [ClosedRange<UInt64>], most: Int
    ) throws(DatabaseError) -> Int? {
        guard hasIndex(column), let index = layout.stored.column(column)?.index else { return nil }
        let view = try source.indexView(index)
        source.counters.add(indexLookups: ranges.count)
        var count = 0
        for range in ranges where count <= most { count += try view.count(range, most: most - count) }
        return count
    }

    /// Appends the keys of the objects in the ranges, by value. Only for columns with an index.
    package func indexKeys(
        _ column: ColumnKey, in ranges: [ClosedRange<UInt64>], into keys: inout [Int64]
    ) throws(DatabaseError) {
        guard hasIndex(column), let index = layout.stored.column(column)?.index else { return }
        let view = try source.indexView(index)
        source.counters.add(indexLookups: ranges.count)
        for range in ranges { try view.keys(range, into: &keys) }
    }
}
