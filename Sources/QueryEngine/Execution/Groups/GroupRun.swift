/// Puts rows into groups, a row group at a time, and makes a table of them.
///
/// Memory grows with the number of groups, and with that of different values or of all values where an aggregate needs
/// those; behind links, with the objects they lead to. Rows are not kept.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

final class GroupRun {
    let grouping: BoundGrouping
    let coders: [GroupCoder]
    /// Of all rows so far.
    private(set) var rowCount = 0
    private let watch: QueryWatch?
    private var looks = 0
    let feeds: [GroupFeed]
    /// By aggregate: what keeps its values, or what counts its different ones.
    private var sources: [Source] = []
    private(set) var totals: [(feed: Int, totals: GroupTotals)] = []
    private(set) var distincts: [DistinctCount] = []
    /// Objects in each group.
    let counts = PerGroup<Int64>(0)
    /// Of the first keys together with the next one: pairs of codes.
    let pairs: UnsafeMutablePointer<IntTable>
    let pairCount: Int
    private let capacity: Int
    private let groups: UnsafeMutablePointer<UInt32>
    private let codes: UnsafeMutablePointer<UInt32>
    private let joined: UnsafeMutablePointer<Int64>
    /// Of the keys of one group.
    private let ownCodes: UnsafeMutablePointer<UInt32>

    private enum Source {
        case objects
        case totals(Int)
        case distinct(Int)
    }

    init(_ context: RunContext, _ grouping: BoundGrouping, capacity: Int) throws(DatabaseError) {
        self.grouping = grouping
        watch = context.watch
        self.capacity = capacity
        var coders: [GroupCoder] = []
        for key in grouping.keys {
            coders.append(try .make(context, grouping.table, key.path, key.bucket, capacity: capacity))
        }
        self.coders = coders
        var feeds: [GroupFeed] = []
        var wanted: [[GroupTotals.Family: [Grouping.Function]]] = []
        var families: [(aggregate: Int, feed: Int, family: GroupTotals.Family)] = []
        for (index, aggregate) in grouping.aggregates.enumerated() {
            guard let path = aggregate.path else {
                sources.append(.objects)
                continue
            }
            guard let family = GroupTotals.family(aggregate.function) else {
                let coder = try GroupCoder.make(context, grouping.table, path, nil, capacity: capacity)
                sources.append(.distinct(distincts.count))
                distincts.append(DistinctCount(coder))
                continue
            }
            var feed = feeds.firstIndex { $0.path.isSame(as: path) }
            if feed == nil {
                feed = feeds.count
                feeds.append(try GroupFeed(context, grouping.table, path, capacity: capacity))
                wanted.append([:])
            }
            let found = feed ?? 0
            wanted[found][family, default: []].append(aggregate.function)
            families.append((index, found, family))
            // Known when all functions of the path are.
            sources.append(.objects)
        }
        self.feeds = feeds
        // Behind everything that throws, so that nothing of it is lost then.
        pairCount = max(0, coders.count - 1)
        pairs = .allocate(capacity: max(1, pairCount))
        for index in 0 ..< pairCount { (pairs + index).initialize(to: IntTable()) }
        groups = .allocate(capacity: capacity)
        groups.initialize(repeating: 0, count: capacity)
        codes = .allocate(capacity: capacity)
        joined = .allocate(capacity: capacity)
        ownCodes = .allocate(capacity: coders.count + 1)
        var places: [String: Int] = [:]  // names: of feeds, ASCII
        for (index, feed, family) in families {
            let name = "\(feed) \(family)"
            if places[name] == nil {
                places[name] = totals.count
                totals.append((feed, .make(family, feeds[feed], wanted[feed][family] ?? [])))
            }
            sources[index] = .totals(places[name] ?? 0)
        }
    }

    deinit {
        for index in 0 ..< pairCount { pairs[index].deallocate() }
        pairs.deallocate()
        groups.deallocate()
        codes.deallocate()
        joined.deallocate()
        ownCodes.deallocate()
    }

    // MARK: Rows

    func add(_ batch: GroupBatch) throws(DatabaseError) {
        let rows = batch.rows.count
        rowCount += rows
        try findGroups(batch)
        let groupCount = groupCount
        guard groupCount < Int(UInt32.max) - 1 else {
            throw Self.tooMany()
        }
        counts.grow(groupCount)
        let counts = counts.values
        for index in 0 ..< rows { counts[Int(groups[index])] &+= 1 }
        for feed in feeds {
            feed.absent.grow(groupCount)
            try feed.load(batch, UnsafePointer(groups))
        }
        for (feed, totals) in totals {
            totals.grow(groupCount)
            try totals.add(feeds[feed])
        }
        for distinct in distincts {
            distinct.grow(groupCount)
            try distinct.coder.codes(batch, into: codes)
            distinct.add(groups, codes, rows)
        }
    }

    /// Numbers of groups: of one key its codes, of several those of their pairs.
    private func findGroups(_ batch: GroupBatch) throws(DatabaseError) {
        guard let first = coders.first else { return }
        try first.codes(batch, into: groups)
        for index in 0 ..< pairCount {
            try coders[index + 1].codes(batch, into: codes)
            for row in 0 ..< batch.rows.count {
                joined[row] = Int64(groups[row]) << 32 | Int64(codes[row])
            }
            pairs[index].codes(joined, batch.rows.count, into: groups)
        }
    }

    /// Above all numbers of groups that were given out.
    var groupCount: Int {
        if pairCount > 0 { return pairs[pairCount - 1].count + 1 }
        return (coders.first?.count ?? 0) + 1
    }

    /// The codes of a group's keys.
    func keyCodes(_ group: UInt32, into output: UnsafeMutablePointer<UInt32>) {
        var group = group
        for index in stride(from: pairCount - 1, through: 0, by: -1) {
            let pair = UInt64(bitPattern: pairs[index].key(group))
            output[index + 1] = UInt32(truncatingIfNeeded: pair)
            group = UInt32(truncatingIfNeeded: pair >> 32)
        }
        if !coders.isEmpty { output[0] = group }
    }

    // MARK: Table

    /// The value of a column in a group; borrowed from whatever keeps it.
    func view(_ column: Int, _ group: UInt32) throws(DatabaseError) -> ValueView {
        if column < coders.count {
            if pairCount == 0 { return coders[column].view(group) }
            keyCodes(group, into: ownCodes)
            return coders[column].view(ownCodes[column])
        }
        let index = column - coders.count
        switch sources[index] {
        case .objects: return .int(counts.values[Int(group)])
        case .distinct(let place): return .int(distincts[place].counts.values[Int(group)])
        case .totals(let place):
            let aggregate = grouping.aggregates[index]
            let (feed, totals) = totals[place]
            let count = counts.values[Int(group)] &- feeds[feed].absent.values[Int(group)]
            return try totals.value(aggregate.function, Int(group), count, aggregate)
        }
    }

    /// Whether asking for a value of a column goes over all values of the group.
    func isCostly(_ column: Int) -> Bool {
        column >= coders.count && GroupTotals.family(grouping.aggregates[column - coders.count].function) == .samples
    }

    /// In loops over groups.
    @inline(__always)
    func checkNowAndThen() throws(DatabaseError) {
        looks &+= 1
        if looks % QueryWatch.keysPerCheck == 0 { try watch?.check() }
    }

    func finish() throws(DatabaseError) -> GroupTable {
        let groupCount = groupCount
        counts.grow(groupCount)
        for feed in feeds { feed.absent.grow(groupCount) }
        for (_, totals) in totals {
            totals.grow(groupCount)
            totals.finish(groupCount)
        }
        for distinct in distincts { distinct.grow(groupCount) }
        let groups = try arrangedGroups(groupCount)
        let shown = Array(grouping.shownColumns)
        var builders: [ChunkBuilder] = []
        for (index, column) in shown.enumerated() {
            let kind = ColumnKind(rawValue: UInt8(truncatingIfNeeded: column.type.rawValue)) ?? .mixed
            let builder = ChunkBuilder(kind: kind, nullable: true, capacity: max(1, groups.count))
            for group in groups {
                try checkNowAndThen()
                builder.append(try view(index, group))
            }
            builders.append(builder)
        }
        return GroupTable(shown, builders, count: groups.count)
    }
}

/// How many different values each group has.
final class DistinctCount {
    let coder: GroupCoder
    let counts = PerGroup<Int64>(0)
    /// Of groups with codes of values.
    private let pairs: UnsafeMutablePointer<IntTable>

    init(_ coder: GroupCoder) {
        self.coder = coder
        pairs = .allocate(capacity: 1)
        pairs.initialize(to: IntTable())
    }

    deinit {
        pairs.pointee.deallocate()
        pairs.deallocate()
    }

    func grow(_ groups: Int) { counts.grow(groups) }

    func add(_ groups: UnsafePointer<UInt32>, _ codes: UnsafePointer<UInt32>, _ number: Int) {
        let counts = counts.values
        for index in 0 ..< number where codes[index] != 0 {
            let before = pairs.pointee.count
            _ = pairs.pointee.code(Int64(groups[index]) << 32 | Int64(codes[index]))
            counts[Int(groups[index])] &+= Int64(pairs.pointee.count &- before)
        }
    }
}

extension BoundPath {
    /// Whether it reads the same.
    func isSame(as other: BoundPath) -> Bool {
        guard steps == other.steps else { return false }
        if case .column(let one, _, _) = end, case .column(let two, _, _) = other.end { return one == two }
        return false
    }
}
