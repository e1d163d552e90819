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
        for key in keys { try backlinks(origin: origin, column, ObjectKey(key), into: &found) }
    }

    private func appendKeys(
        linkingTo mask: KeyMask, _ slot: Int, _ found: inout [Int64]
    ) throws(DatabaseError) {
        for index in 0 ..< clusterCount {
            let rows = try cluster(index)
            if rows.liveCount == 0 { continue }
            let links = try chunk(slot: slot, index)
            for row in 0 ..< rows.rowCount where mask.contains(links.link(row)) {
                if let live = rows.liveWords, live[row >> 6] & (1 << UInt64(row & 63)) == 0 { continue }
                found.append(rows.firstKey &+ Int64(row))
            }
        }
    }
}
