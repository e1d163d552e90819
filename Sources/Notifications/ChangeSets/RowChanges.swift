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

    /// Ascending lists without repeats, as one.
    static func union(_ lists: [[Int64]]) -> [Int64] {
        var union: [Int64] = []
        for list in lists where !list.isEmpty { union = union.isEmpty ? list : merged(union, list) }
        return union
    }

    private static func merged(_ left: [Int64], _ right: [Int64]) -> [Int64] {
        if left == right { return left }
        var merged: [Int64] = []
        merged.reserveCapacity(left.count + right.count)
        var first = 0, second = 0
        while first < left.count, second < right.count {
            let one = left[first], other = right[second]
            merged.append(min(one, other))
            if one <= other { first += 1 }
            if other <= one { second += 1 }
        }
        merged.append(contentsOf: left[first...])
        merged.append(contentsOf: right[second...])
        return merged
    }

    /// The keys of one ascending list that are not in another.
    static func subtracting(_ gone: [Int64], from keys: [Int64]) -> [Int64] {
        var left: [Int64] = []
        var next = 0
        for key in keys {
            while next < gone.count, gone[next] < key { next += 1 }
            if next == gone.count || gone[next] != key { left.append(key) }
        }
        return left
    }

    /// Whether each of some ascending keys is in an ascending list.
    static func flags(_ keys: [Int64], in list: [Int64]) -> [Bool] {
        var flags = [Bool](repeating: false, count: keys.count)
        var next = 0
        for (index, key) in keys.enumerated() {
            while next < list.count, list[next] < key { next += 1 }
            if next == list.count { break }
            flags[index] = list[next] == key
        }
        return flags
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
