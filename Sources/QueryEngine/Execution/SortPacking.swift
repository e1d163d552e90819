/// Several levels of an order in one code: what ints and bools need of its bits, one level behind the other, and the
/// beginning of the next level in those that are left.
///
/// Entries are then ordered once, with values read chunk by chunk, where each level by itself would read its values in
/// the order of the one before it, and so all over the file. What is level in such a code is settled by the levels
/// that are not whole in it.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

struct SortPacking {
    /// A level that is in the code as a whole: its values as distances from the lowest, null as the lowest of all.
    private struct Narrow {
        let level: SortLevel
        let lowest: Int64
        let highest: UInt64
        let shift: UInt64
    }

    private var narrow: [Narrow] = []
    /// The level behind those, as far as there are bits. The first of them says whether there is a value.
    private var next: SortLevel?
    private var used = 0

    /// How many levels are whole in the code.
    var count: Int { narrow.count }

    private static let fewestKeys = 4_096
    /// So that the level behind has enough to tell most values apart.
    private static let mostBits = 40

    /// nil where the first level is not narrow, or where too few are sorted for looking at all chunks first.
    init?(_ levels: [SortLevel], count: Int) throws(DatabaseError) {
        guard levels.count > 1, count >= Self.fewestKeys, let first = levels[0].rows,
            count >= Int(first.table.nextKey) / 8
        else { return nil }
        for level in levels {
            guard let rows = level.rows else { break }
            guard let range = try Self.range(level, rows), used + range.bits <= Self.mostBits else {
                next = level
                break
            }
            used += range.bits
            narrow.append(
                Narrow(level: level, lowest: range.lowest, highest: range.highest, shift: UInt64(64 - used)))
        }
        if narrow.isEmpty { return nil }
    }

    /// Of all values that chunks of the column could hold, as distances; nil for columns of other types.
    private static func range(
        _ level: SortLevel, _ rows: (table: TableReader, column: ColumnCursor)
    ) throws(DatabaseError) -> (lowest: Int64, highest: UInt64, bits: Int)? {
        if level.type == .bool { return (0, 2, 2) }
        guard level.type == .int else { return nil }
        var lowest = Int64.max, highest = Int64.min
        for rowGroup in 0 ..< rows.table.rowGroupCount where try rows.table.view.rowGroup(rowGroup).liveCount > 0 {
            let range = try rows.column.chunk(rowGroup).pointee.intRange
            lowest = min(lowest, range.lowerBound)
            highest = max(highest, range.upperBound)
        }
        guard lowest <= highest else { return (0, 1, 1) }
        let (span, overflow) = highest.subtractingReportingOverflow(lowest)
        // One more for null.
        guard !overflow, span < 1 << 40 else { return nil }
        let most = UInt64(span) + 1
        return (lowest, most, 64 - most.leadingZeroBitCount)
    }

    /// The codes of all objects, whose keys are mostly ascending.
    func fill(
        _ entries: UnsafeMutablePointer<SortEntry>, _ keys: [Int64], _ watch: QueryWatch?
    ) throws(DatabaseError) {
        guard let table = narrow[0].level.rows?.table else { return }
        var start = 0
        while start < keys.count {
            try watch?.check()
            // As many as lie in one row group and come one after another.
            let place = table.place(keys[start])
            let first = keys[start] - Int64(place.slot)
            let end = first + Int64(try table.view.rowGroup(place.rowGroup).rowCount)
            var stop = start + 1
            while stop < keys.count, keys[stop] >= first, keys[stop] < end { stop += 1 }
            for index in start ..< stop {
                entries[index].code = 0
                entries[index].rank = SortLevel.value
                // Says that there is nothing more to compare, whatever the direction.
                entries[index].tail = 1
            }
            for part in narrow { try fill(part, entries, keys, start ..< stop, place.rowGroup, first) }
            if let next { try fill(next, entries, keys, start ..< stop, place.rowGroup, first) }
            start = stop
        }
    }

    private func fill(
        _ part: Narrow, _ entries: UnsafeMutablePointer<SortEntry>, _ keys: [Int64], _ range: Range<Int>,
        _ rowGroup: Int, _ first: Int64
    ) throws(DatabaseError) {
        guard let chunk = try part.level.rows?.column.chunk(rowGroup) else { return }
        let isBool = part.level.type == .bool
        for index in range {
            let row = Int(keys[index] &- first)
            var code: UInt64 = 0
            if !chunk.pointee.isNull(row) {
                let value = isBool ? (chunk.pointee.bool(row) ? 1 : 0) : chunk.pointee.int(row) &- part.lowest
                code = UInt64(bitPattern: value) &+ 1
            }
            entries[index].code |= (part.level.isAscending ? code : part.highest &- code) << part.shift
        }
    }

    private func fill(
        _ next: SortLevel, _ entries: UnsafeMutablePointer<SortEntry>, _ keys: [Int64], _ range: Range<Int>,
        _ rowGroup: Int, _ first: Int64
    ) throws(DatabaseError) {
        guard let chunk = try next.rows?.column.chunk(rowGroup) else { return }
        let shift = UInt64(used + 1), rankShift = UInt64(63 - used)
        let lowestRank = next.isAscending ? SortLevel.null : SortLevel.value
        for index in range {
            var entry = SortEntry(position: 0)
            next.fill(&entry, chunk, Int(keys[index] &- first))
            entries[index].code |= entry.code >> shift | UInt64(entry.rank &- lowestRank) << rankShift
        }
    }
}
