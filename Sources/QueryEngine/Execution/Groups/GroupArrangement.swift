/// Which groups stay and in which order, decided on their numbers: before any column of them is made.
///
/// HAVING is asked of groups as they are. The first of many are chosen by a heap of as many as are wanted, so that a
/// million groups are neither sorted nor copied for ten; only where all are wanted are all sorted.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension GroupRun {
    /// The groups that have objects and pass HAVING, in their order, as far as they are wanted.
    func arrangedGroups(_ groupCount: Int) throws(DatabaseError) -> [UInt32] {
        var found = groupsWithObjects(groupCount)
        if let having = grouping.having {
            var kept: [UInt32] = []
            for group in found {
                try checkNowAndThen()
                if try having.holds(self, group) { kept.append(group) }
            }
            found = kept
        }
        // What is level in a SORT keeps the order it had, which was that of the keys first.
        var sort: [Grouping.SortKey] = []
        var isOrdered = false
        for (number, step) in grouping.steps.enumerated() {
            switch step {
            case .sort(let keys):
                sort = keys + sort.filter { earlier in !keys.contains { $0.column == earlier.column } }
                isOrdered = false
            case .limit(let limit):
                if !isOrdered { found = try ordered(found, sort, limit: limit) }
                if limit < found.count { found.removeLast(found.count - limit) }
                isOrdered = true
            case .offset(let offset):
                if !isOrdered {
                    // Of those behind it often only few are wanted.
                    var wanted = Int.max
                    if number + 1 < grouping.steps.count, case .limit(let limit) = grouping.steps[number + 1] {
                        wanted = limit.addingReportingOverflow(offset).overflow ? .max : limit + offset
                    }
                    found = try ordered(found, sort, limit: wanted)
                }
                found.removeFirst(min(offset, found.count))
                isOrdered = true
            }
        }
        return isOrdered ? found : try ordered(found, sort, limit: .max)
    }

    /// Without keys there is one group, whatever there is.
    private func groupsWithObjects(_ groupCount: Int) -> [UInt32] {
        guard !coders.isEmpty else { return [0] }
        var found: [UInt32] = []
        found.reserveCapacity(groupCount)
        for group in 0 ..< groupCount where counts.values[group] > 0 { found.append(UInt32(group)) }
        return found
    }

    /// By `sort`, then by keys; at least the first `limit`, where there are so many.
    private func ordered(
        _ groups: [UInt32], _ sort: [Grouping.SortKey], limit: Int
    ) throws(DatabaseError) -> [UInt32] {
        guard groups.count > 1, !coders.isEmpty else { return groups }
        if limit < groups.count / 4, !sort.contains(where: { isCostly($0.column) }) {
            let keys = coders.indices.map { Grouping.SortKey(column: $0, isAscending: true) }
            let order = sort + keys.filter { key in !sort.contains { $0.column == key.column } }
            var heap = GroupHeap(self, order)
            return try heap.first(limit, of: groups)
        }
        let sorted = sortedByKeys(groups)
        return try sort.isEmpty ? sorted : sortedStably(sorted, sort)
    }

    private func sortedByKeys(_ groups: [UInt32]) -> [UInt32] {
        let ranks = zip(coders, grouping.columns).map { GroupOrder.ranks($0, $1.type) }
        if coders.count == 1 { return Self.sorted(groups, by: ranks[0]) }
        var bits = 0
        for coder in coders { bits += GroupOrder.bits(coder.count) }
        let keyCount = coders.count
        var groups = groups
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: keyCount * 2) { room in
            guard let codes = room.baseAddress else { return groups }
            if bits <= 64 {
                var entries: [(key: UInt64, group: UInt32)] = []
                entries.reserveCapacity(groups.count)
                for group in groups {
                    keyCodes(group, into: codes)
                    var key: UInt64 = 0
                    for index in 0 ..< keyCount {
                        key <<= UInt64(GroupOrder.bits(coders[index].count))
                        key |= UInt64(ranks[index][Int(codes[index])])
                    }
                    entries.append((key, group))
                }
                entries.sort { $0.key < $1.key }
                return entries.map(\.group)
            }
            let others = codes + keyCount
            groups.sort { left, right in
                keyCodes(left, into: codes)
                keyCodes(right, into: others)
                for index in 0 ..< keyCount where codes[index] != others[index] {
                    return ranks[index][Int(codes[index])] < ranks[index][Int(others[index])]
                }
                return false
            }
            return groups
        }
    }

    /// Of one key: no two groups have one rank, so that each is put where it belongs.
    private static func sorted(_ groups: [UInt32], by ranks: [UInt32]) -> [UInt32] {
        var places = [UInt32](repeating: .max, count: ranks.count)
        for group in groups { places[Int(ranks[Int(group)])] = group }
        return places.filter { $0 != .max }
    }

    private func sortedStably(
        _ groups: [UInt32], _ sort: [Grouping.SortKey]
    ) throws(DatabaseError) -> [UInt32] {
        // Values are asked for once: some are computed, and some cannot be.
        var values: [[ValueView]] = []
        for key in sort {
            var column: [ValueView] = []
            column.reserveCapacity(groups.count)
            for group in groups {
                try checkNowAndThen()
                column.append(try view(key.column, group))
            }
            values.append(column)
        }
        let type = grouping.columns[sort[0].column].type
        var entries: [(code: UInt64, place: Int)] = []
        entries.reserveCapacity(groups.count)
        for (place, view) in values[0].enumerated() {
            entries.append((GroupOrder.code(view, type, isAscending: sort[0].isAscending), place))
        }
        entries.sort { left, right in
            if left.code != right.code { return left.code < right.code }
            for (key, column) in zip(sort, values) {
                let order = ValueOrdering.compare(column[left.place], column[right.place])
                if order != 0 { return (order < 0) == key.isAscending }
            }
            return left.place < right.place
        }
        return entries.map { groups[$0.place] }
    }
}

/// The first groups in an order: a heap of as many as are wanted, the last of them on top.
private struct GroupHeap {
    private struct Entry {
        let group: UInt32
        /// Of the first and the second value that groups are ordered by; those of most groups differ.
        let first: UInt64
        let second: UInt64
    }

    private let run: GroupRun
    private let order: [Grouping.SortKey]
    private var entries: [Entry] = []

    init(_ run: GroupRun, _ order: [Grouping.SortKey]) {
        self.run = run
        self.order = order
    }

    mutating func first(_ limit: Int, of groups: [UInt32]) throws(DatabaseError) -> [UInt32] {
        guard limit > 0 else { return [] }
        entries.reserveCapacity(limit)
        for group in groups.prefix(limit) {
            entries.append(Entry(group: group, first: try code(0, group), second: try code(1, group)))
        }
        for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { try siftDown(index, entries.count) }
        for group in groups.dropFirst(limit) {
            try run.checkNowAndThen()
            let last = entries[0]
            let first = try code(0, group)
            if first > last.first { continue }
            let second = try code(1, group)
            if first == last.first, second > last.second, saysAll(first) { continue }
            let entry = Entry(group: group, first: first, second: second)
            guard try isBefore(entry, last) else { continue }
            entries[0] = entry
            try siftDown(0, entries.count)
        }
        for count in stride(from: entries.count - 1, to: 0, by: -1) {
            entries.swapAt(0, count)
            try siftDown(0, count)
        }
        return entries.map(\.group)
    }

    private func code(_ level: Int, _ group: UInt32) throws(DatabaseError) -> UInt64 {
        guard level < order.count else { return 0 }
        let column = order[level].column
        return GroupOrder.code(
            try run.view(column, group), run.grouping.columns[column].type, isAscending: order[level].isAscending)
    }

    /// Whether groups with this code have the same value. The codes next to that of null stand for two values.
    private func saysAll(_ first: UInt64) -> Bool {
        let type = run.grouping.columns[order[0].column].type
        return (type == .int || type == .double) && first != 1 && first != ~1
    }

    private func isBefore(_ left: Entry, _ right: Entry) throws(DatabaseError) -> Bool {
        if left.first != right.first { return left.first < right.first }
        for (level, key) in order.enumerated() {
            if level == 1, left.second != right.second { return left.second < right.second }
            let value = try run.view(key.column, left.group)
            let order = ValueOrdering.compare(value, try run.view(key.column, right.group))
            if order != 0 { return (order < 0) == key.isAscending }
        }
        return false
    }

    private mutating func siftDown(_ start: Int, _ count: Int) throws(DatabaseError) {
        var parent = start
        while true {
            var child = parent * 2 + 1
            guard child < count else { return }
            if child + 1 < count, try isBefore(entries[child], entries[child + 1]) { child += 1 }
            guard try isBefore(entries[parent], entries[child]) else { return }
            entries.swapAt(parent, child)
            parent = child
        }
    }
}
