/// Who links to many objects: looked up for each of a few, found by one walk over the links of many.
import MotteValues

extension TableView {
    /// Above this many look-ups for a row that would be walked over, walking over all is cheaper: a look-up in an index
    /// takes some hundreds of times what testing a link does.
    private static let rowsPerLookup = 300

    /// Appends the keys of `origin`'s objects that link to one of `keys`, in no order and as often as they do. Looks
    /// for each of a few; of many, walks once over the links.
    package func backlinks(
        origin: TableKey, _ column: ColumnKey, of keys: [Int64], into found: inout [Int64]
    ) throws(DatabaseError) {
        let linking = try source.table(origin)
        let slot = try linking.layout.slot(column)
        let stored = linking.layout.columns[slot]
        if keys.count > 100, keys.count &* Self.rowsPerLookup > linking.liveCount, stored.target == key,
            !stored.isList, let mask = KeyMask(keys, mostBits: 64 &* (linking.liveCount &+ keys.count))
        {
            return try linking.appendKeys(linkingTo: mask, slot, &found)
        }
        try lookUpBacklinks(origin: origin, column, of: keys, into: &found)
    }

    private func appendKeys(
        linkingTo mask: KeyMask, _ slot: Int, _ found: inout [Int64]
    ) throws(DatabaseError) {
        // Links of a row group in its first half, and the keys of rows that link to one of the mask's in the other.
        let most = rowGroupSize
        let known = found.count
        let buffer = UnsafeMutablePointer<Int64>.allocate(capacity: 2 &* most)
        defer { buffer.deallocate() }
        for index in 0 ..< rowGroupCount {
            let rows = try rowGroup(index)
            if rows.liveCount == 0 { continue }
            let count = rows.rowCount
            guard count <= most else { throw .corrupted("a row group has more rows than it may") }
            try chunk(slot: slot, index).decodeLinks(0 ..< count, into: buffer)
            var hits = 0
            if let words = rows.liveWords {
                for row in 0 ..< count {
                    buffer[most &+ hits] = rows.firstKey &+ Int64(row)
                    hits &+= mask.contains(buffer[row]) && isLive(row, words) ? 1 : 0
                }
            } else {
                for row in 0 ..< count {
                    buffer[most &+ hits] = rows.firstKey &+ Int64(row)
                    hits &+= mask.contains(buffer[row]) ? 1 : 0
                }
            }
            let all = found.count &+ hits
            if all > found.capacity {
                // As many as there will be if the rest is like the rows so far.
                let expected = known &+ (all &- known) / (index &+ 1) &* rowGroupCount
                found.reserveCapacity(max(expected, 2 &* all))
            }
            found.append(contentsOf: UnsafeBufferPointer(start: buffer + most, count: hits))
        }
    }

    @inline(__always)
    private func isLive(_ row: Int, _ words: [UInt64]) -> Bool {
        words[row >> 6] & (1 << UInt64(row & 63)) != 0
    }
}
