/// Pages that belong to nothing in the schema: what a migration or a deletion forgot. There should be none.
import MottePages
import MotteSchemaModel
import MotteValues

extension Database {
    /// One sentence for each run of pages that no table, column or index has.
    package func strayPages() throws(DatabaseError) -> [String] { try snapshot().strayPages() }
}

extension Snapshot {
    package func strayPages() throws(DatabaseError) -> [String] {
        var known: [[UInt8]] = [FileHeader.key, PageKeys.catalog, [KeySpace.changeLog]]
        known += [ReplicaPages.positions, ReplicaPages.taken, ReplicaPages.following, ReplicaPages.kept]
        for table in catalog.tables {
            for prefix in PageKeys.everything(of: table.key) where !PageKeys.belongsToColumn(prefix[0]) {
                known.append(prefix)
            }
            for column in table.columns {
                known += PageKeys.everything(of: table.key, column)
            }
            for index in table.indexKeys { known += IndexSpace.everything(of: index) }
        }
        known.sort { $0.lexicographicallyPrecedes($1) }
        var stray: [(prefix: [UInt8], count: Int)] = []
        var cursor = try pages.makeCursor()
        cursor.skipsValues = true
        var found = try FileHeader.key.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        var position = 0
        while found {
            // Known prefixes ascend as the keys do, and none begins another.
            while position < known.count, !cursor.key.starts(with: known[position]),
                known[position].lexicographicallyPrecedes(cursor.key)
            { position += 1 }
            if position == known.count || !cursor.key.starts(with: known[position]) {
                let prefix = Array(cursor.key.prefix(PageKeys.belongsToColumn(cursor.key[0]) ? 9 : 5))
                if let last = stray.last, last.prefix == prefix {
                    stray[stray.count - 1].count += 1
                } else {
                    stray.append((prefix, 1))
                }
            }
            if isMemoryWanted { cursor = try pages.makeCursor(at: cursor, after: { releaseMemory() }) }
            found = try cursor.next()
        }
        return stray.map { prefix, count in
            "\(count) pages under the key \(Self.hex(prefix)) belong to nothing in the schema"
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
