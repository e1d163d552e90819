/// Where keys belong in an order that others are in already: how sorted results are patched.
///
/// Objects that are level in the query's order go by their keys. The query has no limit, and all objects exist.
import MotteValues

extension Executor {
    /// Negative, zero or positive as the order the query begins with puts `left` before, level with or after `right`.
    package func compare(_ left: Int64, _ right: Int64) throws(DatabaseError) -> Int {
        try sortOrder().compare(left, right)
    }

    /// Ascending keys in the query's order, whether they match or not.
    package func ordered(_ keys: [Int64]) throws(DatabaseError) -> [Int64] {
        keys.count > 1 ? try sortOrder().sorted(keys, limit: nil) : keys
    }

    /// How many of `others`, which are in order, come before each of `keys`, which are too.
    package func places(of keys: [Int64], among others: [Int64]) throws(DatabaseError) -> [Int] {
        try sortOrder().places(of: keys, among: others)
    }

    /// How many of `count` others come before `key`.
    package func place(of key: Int64, among count: Int, _ keyAt: (Int) -> Int64) throws(DatabaseError) -> Int {
        try sortOrder().place(of: key, among: count, keyAt)
    }

    /// The same for a key as it was in an older version, which `former` reads. Those of the others that may be other
    /// than they were are read there, all the rest here, where what is read is at hand.
    package func place(
        of key: Int64, in former: Executor, among count: Int, _ keyAt: (Int) -> Int64, mayDiffer: (Int64) -> Bool
    ) throws(DatabaseError) -> Int {
        try sortOrder().place(of: key, in: try former.sortOrder(), among: count, keyAt, mayDiffer)
    }
}

extension SortOrder {
    func places(of keys: [Int64], among others: [Int64]) throws(DatabaseError) -> [Int] {
        var entries = [SortEntry](repeating: SortEntry(position: 0), count: keys.count)
        try fill(&entries, keys)
        var places: [Int] = []
        places.reserveCapacity(keys.count)
        var low = 0
        for (index, key) in keys.enumerated() {
            // Near the one before first.
            var high = others.count
            var step = 1
            while low + step <= others.count {
                guard try isBefore(others[low + step - 1], key, entries[index]) else {
                    high = low + step - 1
                    break
                }
                low += step
                step *= 2
            }
            low = try place(of: key, entries[index], from: low, to: high) { others[$0] }
            places.append(low)
        }
        return places
    }

    func place(of key: Int64, among count: Int, _ keyAt: (Int) -> Int64) throws(DatabaseError) -> Int {
        var entries = [SortEntry(position: 0)]
        try fill(&entries, [key])
        return try place(of: key, entries[0], from: 0, to: count, keyAt)
    }

    func place(
        of key: Int64, in former: SortOrder, among count: Int, _ keyAt: (Int) -> Int64, _ mayDiffer: (Int64) -> Bool
    ) throws(DatabaseError) -> Int {
        var entries = [SortEntry(position: 0)]
        try former.fill(&entries, [key])
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            let other = keyAt(middle)
            let probed = mayDiffer(other) ? former : self
            // What is level at first is compared where both are as they were.
            if try former.isBefore(other, key, entries[0], probedBy: probed) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    @inline(__always)
    private func place(
        of key: Int64, _ entry: SortEntry, from start: Int, to end: Int, _ keyAt: (Int) -> Int64
    ) throws(DatabaseError) -> Int {
        var low = start, high = end
        while low < high {
            let middle = (low + high) / 2
            if try isBefore(keyAt(middle), key, entry) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Most objects differ in the first piece of their value, which `entry` has of `key`.
    @inline(__always)
    private func isBefore(_ other: Int64, _ key: Int64, _ entry: SortEntry) throws(DatabaseError) -> Bool {
        try isBefore(other, key, entry, probedBy: self)
    }

    @inline(__always)
    private func isBefore(
        _ other: Int64, _ key: Int64, _ entry: SortEntry, probedBy probed: SortOrder
    ) throws(DatabaseError) -> Bool {
        guard let first = probed.levels.first else { return other < key }
        var probe = SortEntry(position: 0)
        try first.fillFirst(&probe, other)
        if !probe.isLevel(entry) { return probe.isBefore(entry) }
        if levels.count == 1, !first.hasMore(entry) { return other < key }
        let order = try compare(other, key)
        return order < 0 || (order == 0 && other < key)
    }

    private func fill(_ entries: inout [SortEntry], _ keys: [Int64]) throws(DatabaseError) {
        guard let first = levels.first else { return }
        for index in keys.indices { try first.fillFirst(&entries[index], keys[index]) }
    }
}
