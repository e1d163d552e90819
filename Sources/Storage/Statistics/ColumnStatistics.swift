/// What a sample says of a column: how many values are null, how many different ones there are, between which they lie,
/// and which of them are frequent.
///
/// The number of different values is estimated as Haas and Stokes do, from how many of the sampled ones occur once;
/// frequent values are counted apart, since they would make the others look as if there were few.
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct ColumnStatistics: Sendable {
    package struct Heavy: Sendable {
        package let value: Value
        /// Of all rows.
        package let fraction: Double
    }

    package let sampledRows: Int
    /// Of all rows.
    package let nullFraction: Double
    /// About how many different values there are, null aside.
    package let distinctCount: Int
    /// Of the sampled values; null without any.
    package let lowest: Value
    package let highest: Value
    /// Those of at least a hundredth of the rows, the most frequent first, at most ten.
    package let heavy: [Heavy]

    /// Whether values ascend with the keys, as the index keeps them: those of a range lie together then.
    package let isAscending: Bool

    private static let mostHeavy = 10
    private static let heavyShare = 100

    init(_ chunk: ColumnChunk, _ type: PropertyType, isWhole: Bool, liveCount: Int) {
        let rows = chunk.count
        var codes: [(code: UInt64, row: Int32)] = []
        codes.reserveCapacity(rows)
        var lowest = ValueView.null, highest = ValueView.null
        var isAscending = true
        for row in 0 ..< rows where !chunk.isNull(row) {
            let view = chunk.view(row)
            let code = IndexValue(view, of: type).raw
            isAscending = isAscending && code >= codes.last?.code ?? 0
            codes.append((code, Int32(row)))
            if lowest.isNull || ValueOrdering.compare(view, lowest) < 0 { lowest = view }
            if highest.isNull || ValueOrdering.compare(view, highest) > 0 { highest = view }
        }
        sampledRows = rows
        nullFraction = rows == 0 ? 0 : Double(rows - codes.count) / Double(rows)
        self.isAscending = isAscending
        self.lowest = lowest.owned
        self.highest = highest.owned
        codes.sort { $0.code < $1.code }
        var frequent: [(count: Int, row: Int)] = []
        var distinct = 0, singles = 0, frequentRows = 0
        var start = 0
        while start < codes.count {
            var end = start + 1
            while end < codes.count, codes[end].code == codes[start].code { end += 1 }
            distinct += 1
            if end - start == 1 { singles += 1 }
            if end - start > 1, (end - start) * Self.heavyShare >= rows {
                frequent.append((end - start, Int(codes[start].row)))
                frequentRows += end - start
            }
            start = end
        }
        frequent.sort { $0.count > $1.count }
        heavy = frequent.prefix(Self.mostHeavy).map {
            Heavy(value: chunk.view($0.row).owned, fraction: Double($0.count) / Double(rows))
        }
        let others = codes.count - frequentRows
        let scale = isWhole || rows == 0 ? 1 : Double(liveCount) / Double(rows)
        distinctCount =
            frequent.count
            + Self.distinct(
                distinct - frequent.count, singles: singles, sampled: others, of: Int(Double(others) * scale))
    }

    private static func distinct(_ found: Int, singles: Int, sampled: Int, of all: Int) -> Int {
        guard sampled > 0, all > sampled else { return found }
        let rest = Double(sampled - singles) + Double(singles) * Double(sampled) / Double(all)
        guard rest > 0 else { return all }
        return min(all, max(found, Int((Double(sampled) * Double(found) / rest).rounded())))
    }
}
