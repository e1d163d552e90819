/// What happened to the rows of one table between two versions, in ascending keys.
import MotteStorage
import MotteValues

struct RowChanges {
    var inserted: [Int64] = []
    var deleted: [Int64] = []
    /// Neither inserted nor deleted, and a property was set or a list edited.
    var modified: [Int64] = []

    init(_ summary: ChangeSummary?, _ table: TableKey) {
        guard let changes = summary?.table(table) else { return }
        inserted = changes.inserted.keys
        deleted = changes.deleted.keys
        modified = changes.modifiedKeys
    }

    var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && modified.isEmpty }

    /// Ascending lists, as one without repeats.
    static func union(_ lists: [[Int64]]) -> [Int64] {
        let filled = lists.filter { !$0.isEmpty }
        guard filled.count > 1 else { return filled.first ?? [] }
        return ascending(filled.flatMap { $0 })
    }

    /// Keys in any order, sorted and without repeats.
    static func ascending(_ keys: [Int64]) -> [Int64] {
        var all = keys.sorted()
        var kept = 0
        for index in all.indices where index == 0 || all[index] != all[kept - 1] {
            all[kept] = all[index]
            kept += 1
        }
        all.removeSubrange(kept...)
        return all
    }

    /// Ascending positions, as one list without repeats.
    static func positions(_ lists: [[Int]]) -> [Int] {
        let filled = lists.filter { !$0.isEmpty }
        guard filled.count > 1 else { return filled.first ?? [] }
        var merged: [Int] = []
        for position in filled.flatMap({ $0 }).sorted() where merged.last != position { merged.append(position) }
        return merged
    }

    static func contains(_ keys: [Int64], _ key: Int64) -> Bool {
        let position = ResultsPatch.lowerBound(keys, key, from: 0)
        return position < keys.count && keys[position] == key
    }
}
