/// Rows of one row group that go into groups together, and what turns selections and lists of keys into such.
import MotteColumns
import MotteStorage
import MotteValues

struct GroupBatch {
    let rowGroup: Int
    let firstKey: Int64
    /// Places in the row group; one may be there twice.
    let rows: Slots
    /// Whether they are the first so many rows, one after another.
    let isDense: Bool

    /// Values of ints, links and seconds; 0 for null, -1 for null links.
    func decodeInts(_ chunk: ColumnChunk, into output: UnsafeMutablePointer<Int64>) {
        if isDense { chunk.decodeInts(0 ..< rows.count, into: output) } else { chunk.decodeInts(rows, into: output) }
    }

    func decodeDoubles(_ chunk: ColumnChunk, into output: UnsafeMutablePointer<Double>) {
        if isDense {
            chunk.decodeDoubles(0 ..< rows.count, into: output)
        } else if chunk.kind == .float {
            for index in 0 ..< rows.count {
                let row = Int(rows[index])
                output[index] = chunk.isNull(row) ? 0 : Double(chunk.float(row))
            }
        } else {
            chunk.decodeDoubles(rows, into: output)
        }
    }
}

/// Memory for batches of one table, used again for each.
final class GroupBatchMaker {
    private let rows: UnsafeMutablePointer<UInt32>
    let capacity: Int
    private let reader: TableReader

    init(_ reader: TableReader) {
        self.reader = reader
        capacity = max(1, reader.mostRows)
        rows = .allocate(capacity: capacity)
    }

    deinit { rows.deallocate() }

    /// nil where no row is selected.
    func batch(_ group: RowGroupRows, _ words: UnsafePointer<UInt64>) -> GroupBatch? {
        let selected = Selection.count(words, rows: group.rowCount)
        if selected == 0 { return nil }
        if selected == group.rowCount {
            for row in 0 ..< selected { rows[row] = UInt32(truncatingIfNeeded: row) }
        } else {
            var next = 0
            for index in 0 ..< Selection.wordCount(group.rowCount) {
                var word = words[index]
                while word != 0 {
                    rows[next] = UInt32(truncatingIfNeeded: index &* 64 &+ word.trailingZeroBitCount)
                    next &+= 1
                    word &= word &- 1
                }
            }
        }
        return GroupBatch(
            rowGroup: group.index, firstKey: group.firstKey, rows: Slots(start: rows, count: selected),
            isDense: selected == group.rowCount)
    }

    /// Objects that exist, ascending; one may be there twice.
    func forEachBatch(
        _ keys: [Int64], _ body: (GroupBatch) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var next = 0
        while next < keys.count {
            guard keys[next] >= 0, keys[next] < reader.nextKey else {
                next += 1
                continue
            }
            let place = reader.place(keys[next])
            let firstKey = keys[next] - Int64(place.slot)
            let end = firstKey + Int64(try reader.view.rowGroup(place.rowGroup).rowCount)
            var count = 0
            while next < keys.count, keys[next] < end, count < capacity {
                rows[count] = UInt32(truncatingIfNeeded: keys[next] - firstKey)
                count += 1
                next += 1
            }
            try reader.watch?.check()
            try body(
                GroupBatch(
                    rowGroup: place.rowGroup, firstKey: firstKey, rows: Slots(start: rows, count: count),
                    isDense: false))
        }
    }
}
