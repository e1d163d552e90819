/// What is kept of each group while rows come in: one place per group in plain memory.
///
/// NaN is below all other numbers, as in the order of values: the minimum is NaN where one is, the maximum where
/// nothing else is. Sums of nothing are 0, everything else of nothing is null.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

/// Memory with one element per group that grows with their number.
final class PerGroup<Element> {
    private(set) var values: UnsafeMutablePointer<Element>
    private var capacity: Int
    private let initial: Element

    init(_ initial: Element) {
        self.initial = initial
        capacity = 64
        values = .allocate(capacity: capacity)
        values.initialize(repeating: initial, count: capacity)
    }

    func grow(_ count: Int) {
        guard count > capacity else { return }
        let larger = max(count, capacity * 2)
        let moved = UnsafeMutablePointer<Element>.allocate(capacity: larger)
        moved.moveInitialize(from: values, count: capacity)
        (moved + capacity).initialize(repeating: initial, count: larger - capacity)
        values.deallocate()
        values = moved
        capacity = larger
    }

    deinit {
        values.deinitialize(count: capacity)
        values.deallocate()
    }
}

class GroupTotals {
    /// Before values of so many groups come in.
    func grow(_ groups: Int) {}
    func add(_ feed: GroupFeed) throws(DatabaseError) {}
    /// When all have come.
    func finish(_ groups: Int) {}

    /// Between pieces of the rows: sums of floating numbers are made of one sum for each piece, so that they are the
    /// same whoever adds up a piece.
    func endPiece(_ groups: Int) {}
    /// Takes over what has come of a later piece. `groups` has the number of each of its groups here.
    func add(_ piece: GroupTotals, _ groups: [UInt32]) {}
    /// `count`: how many values the group has that are not null.
    func value(
        _ function: Grouping.Function, _ group: Int, _ count: Int64, _ aggregate: BoundGrouping.Aggregate
    ) throws(DatabaseError) -> ValueView { .null }

    /// Those that can give what `function` asks for.
    enum Family: Hashable { case basic, moments, samples }

    static func family(_ function: Grouping.Function) -> Family? {
        switch function {
        case .count, .sum, .avg, .min, .max: .basic
        case .variance, .deviation: .moments
        case .median, .percentile: .samples
        case .distinct: nil
        }
    }

    static func make(_ family: Family, _ feed: GroupFeed, _ functions: [Grouping.Function]) -> GroupTotals {
        switch family {
        case .moments: MomentTotals()
        case .samples: SampleTotals()
        case .basic:
            switch feed.form {
            case .ints: IntTotals(functions)
            case .doubles: DoubleTotals(functions, isFloat: feed.path.type == .float)
            case .views: ViewTotals(feed.path.type)
            }
        }
    }
}

/// What is kept of numbers that are plain in memory: of what no function asks for there is no more than a little.
private class NumberTotals<Number, Sum>: GroupTotals {
    final let sums: PerGroup<Sum>
    final let lows: PerGroup<Number>
    final let highs: PerGroup<Number>
    final let wantsSum: Bool
    final let wantsLow: Bool
    final let wantsHigh: Bool

    /// With what sums, minimum and maximum begin.
    init(_ functions: [Grouping.Function], zero: Sum, low: Number, high: Number) {
        sums = PerGroup(zero)
        lows = PerGroup(low)
        highs = PerGroup(high)
        wantsSum = functions.contains(.sum) || functions.contains(.avg)
        wantsLow = functions.contains(.min)
        wantsHigh = functions.contains(.max)
    }

    final override func grow(_ groups: Int) {
        if wantsSum { sums.grow(groups) }
        if wantsLow { lows.grow(groups) }
        if wantsHigh { highs.grow(groups) }
    }
}

/// Ints: sums never overflow before they are asked for.
private final class IntTotals: NumberTotals<Int64, Int128> {
    init(_ functions: [Grouping.Function]) { super.init(functions, zero: 0, low: .max, high: .min) }

    override func add(_ feed: GroupFeed) {
        let groups = feed.groups, values = feed.ints, count = feed.count
        if wantsSum {
            let sums = sums.values
            for index in 0 ..< count { sums[Int(groups[index])] &+= Int128(values[index]) }
        }
        if wantsLow {
            let lows = lows.values
            for index in 0 ..< count {
                let group = Int(groups[index])
                if values[index] < lows[group] { lows[group] = values[index] }
            }
        }
        if wantsHigh {
            let highs = highs.values
            for index in 0 ..< count {
                let group = Int(groups[index])
                if values[index] > highs[group] { highs[group] = values[index] }
            }
        }
    }

    override func add(_ piece: GroupTotals, _ groups: [UInt32]) {
        guard let piece = piece as? IntTotals else { return }
        for (index, group) in groups.enumerated() {
            let group = Int(group)
            if wantsSum { sums.values[group] &+= piece.sums.values[index] }
            if wantsLow { lows.values[group] = min(lows.values[group], piece.lows.values[index]) }
            if wantsHigh { highs.values[group] = max(highs.values[group], piece.highs.values[index]) }
        }
    }

    override func value(
        _ function: Grouping.Function, _ group: Int, _ count: Int64, _ aggregate: BoundGrouping.Aggregate
    ) throws(DatabaseError) -> ValueView {
        switch function {
        case .count: return .int(count)
        case .sum:
            if let sum = Int64(exactly: sums.values[group]) { return .int(sum) }
            throw DatabaseError(
                .overflow, "\(aggregate.text) of a group does not fit in 64 bits; use the average, or smaller groups")
        case .avg: return count == 0 ? .null : .double(Accumulator.average(sums.values[group], count))
        case .min: return count == 0 ? .null : .int(lows.values[group])
        case .max: return count == 0 ? .null : .int(highs.values[group])
        default: return .null
        }
    }
}

private final class DoubleTotals: NumberTotals<Double, Double> {
    private let isFloat: Bool
    /// Of the pieces before this one.
    private let before = PerGroup<Double>(0)

    init(_ functions: [Grouping.Function], isFloat: Bool) {
        self.isFloat = isFloat
        super.init(functions, zero: 0, low: .infinity, high: .nan)
    }

    override func add(_ feed: GroupFeed) {
        let groups = feed.groups, values = feed.doubles, count = feed.count
        if wantsSum {
            let sums = sums.values
            for index in 0 ..< count { sums[Int(groups[index])] += values[index] }
        }
        if wantsLow {
            let lows = lows.values
            for index in 0 ..< count {
                let group = Int(groups[index])
                // Nothing is less than NaN, which is therefore kept.
                if values[index] < lows[group] || values[index].isNaN { lows[group] = values[index] }
            }
        }
        if wantsHigh {
            let highs = highs.values
            for index in 0 ..< count {
                let group = Int(groups[index])
                // It begins as NaN, which anything but another one replaces.
                if values[index] > highs[group] || highs[group].isNaN { highs[group] = values[index] }
            }
        }
    }

    override func endPiece(_ groups: Int) {
        guard wantsSum else { return }
        before.grow(groups)
        for group in 0 ..< groups {
            before.values[group] += sums.values[group]
            sums.values[group] = 0
        }
    }

    /// Behind `endPiece`.
    override func add(_ piece: GroupTotals, _ groups: [UInt32]) {
        guard let piece = piece as? DoubleTotals else { return }
        if wantsSum, let last = groups.max() { before.grow(Int(last) + 1) }
        for (index, group) in groups.enumerated() {
            let group = Int(group)
            if wantsSum { before.values[group] += piece.sums.values[index] }
            if wantsLow {
                let low = piece.lows.values[index]
                if low < lows.values[group] || low.isNaN { lows.values[group] = low }
            }
            if wantsHigh {
                let high = piece.highs.values[index]
                if high > highs.values[group] || highs.values[group].isNaN { highs.values[group] = high }
            }
        }
    }

    override func finish(_ groups: Int) { endPiece(groups) }

    override func value(
        _ function: Grouping.Function, _ group: Int, _ count: Int64, _ aggregate: BoundGrouping.Aggregate
    ) throws(DatabaseError) -> ValueView {
        switch function {
        case .count: return .int(count)
        case .sum: return .double(before.values[group])
        case .avg: return count == 0 ? .null : .double(before.values[group] / Double(count))
        case .min: return count == 0 ? .null : narrowed(lows.values[group])
        case .max: return count == 0 ? .null : narrowed(highs.values[group])
        default: return .null
        }
    }

    private func narrowed(_ value: Double) -> ValueView { isFloat ? .float(Float(value)) : .double(value) }
}

/// All other types, value by value.
private final class ViewTotals: GroupTotals {
    private let totals: PerGroup<Accumulator>
    /// Where the bytes of lowest and highest values are: rows lend theirs only for a while. nil for numbers.
    private let kept: PerGroup<(lowest: KeptBytes, highest: KeptBytes)>?
    private var groupCount = 0

    init(_ type: PropertyType) {
        totals = PerGroup(Accumulator(type))
        kept = type == .string || type == .data ? PerGroup((KeptBytes(), KeptBytes())) : nil
    }

    deinit {
        guard let kept else { return }
        for group in 0 ..< groupCount {
            kept.values[group].lowest.deallocate()
            kept.values[group].highest.deallocate()
        }
    }

    override func grow(_ groups: Int) {
        totals.grow(groups)
        kept?.grow(groups)
        groupCount = max(groupCount, groups)
    }

    override func add(_ feed: GroupFeed) {
        for index in 0 ..< feed.count {
            let group = Int(feed.groups[index])
            let view = feed.views[index]
            totals.values[group].add(view)
            if let kept { keep(view, &totals.values[group], &kept.values[group]) }
        }
    }

    private func keep(
        _ view: ValueView, _ total: inout Accumulator, _ kept: inout (lowest: KeptBytes, highest: KeptBytes)
    ) {
        if total.lowest.low == view.low { kept.lowest.keep(&total.lowest) }
        if total.highest.low == view.low { kept.highest.keep(&total.highest) }
    }

    override func value(
        _ function: Grouping.Function, _ group: Int, _ count: Int64, _ aggregate: BoundGrouping.Aggregate
    ) throws(DatabaseError) -> ValueView {
        let total = totals.values[group]
        switch function {
        // Mixed values that are no numbers count, and take no part in anything else.
        case .count: return .int(count)
        case .sum: return total.view(.sum)
        case .avg: return total.view(.avg)
        case .min: return total.lowest
        case .max: return total.highest
        default: return .null
        }
    }
}

/// A copy of the bytes of a value.
private struct KeptBytes {
    private var start: UnsafeMutableRawPointer?
    private var capacity = 0

    mutating func keep(_ view: inout ValueView) {
        let bytes = view.bytes
        let known = start.map { UnsafeRawPointer($0) }
        guard let source = bytes.baseAddress, source != known, !bytes.isEmpty else { return }
        if bytes.count > capacity {
            start?.deallocate()
            capacity = max(bytes.count, capacity * 2)
            start = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        }
        start?.copyMemory(from: source, byteCount: bytes.count)
        view.low = UInt64(UInt(bitPattern: start))
    }

    func deallocate() { start?.deallocate() }
}

/// Mean and sum of squared distances from it, kept so that large numbers lose nothing.
private final class MomentTotals: GroupTotals {
    private struct Moments {
        var count = 0.0
        var mean = 0.0
        var squares = 0.0

        /// Of both together.
        mutating func add(_ other: Moments) {
            guard other.count > 0 else { return }
            let all = count + other.count
            let distance = other.mean - mean
            squares += other.squares + distance * distance * (count * other.count / all)
            mean += distance * (other.count / all)
            count = all
        }
    }

    private let moments = PerGroup(Moments())
    /// Of the pieces before this one.
    private let before = PerGroup(Moments())

    override func grow(_ groups: Int) { moments.grow(groups) }

    override func add(_ feed: GroupFeed) {
        let moments = moments.values
        feed.forEachNumber { group, value in
            moments[group].count += 1
            let distance = value - moments[group].mean
            moments[group].mean += distance / moments[group].count
            moments[group].squares += distance * (value - moments[group].mean)
        }
    }

    override func endPiece(_ groups: Int) {
        before.grow(groups)
        for group in 0 ..< groups {
            before.values[group].add(moments.values[group])
            moments.values[group] = Moments()
        }
    }

    /// Behind `endPiece`.
    override func add(_ piece: GroupTotals, _ groups: [UInt32]) {
        guard let piece = piece as? MomentTotals else { return }
        if let last = groups.max() { before.grow(Int(last) + 1) }
        for (index, group) in groups.enumerated() { before.values[Int(group)].add(piece.moments.values[index]) }
    }

    override func finish(_ groups: Int) { endPiece(groups) }

    override func value(
        _ function: Grouping.Function, _ group: Int, _ count: Int64, _ aggregate: BoundGrouping.Aggregate
    ) throws(DatabaseError) -> ValueView {
        let known = before.values[group]
        if known.count < 2 { return .null }
        let variance = known.squares / (known.count - 1)
        return .double(function == .deviation ? variance.squareRoot() : variance)
    }
}

/// All numbers of all groups, for what only their order says: twelve bytes for each.
private final class SampleTotals: GroupTotals {
    private var groups: [UInt32] = []
    private var values: [Double] = []
    /// Where those of a group begin, when all have come.
    private var starts: [Int] = []

    override func add(_ feed: GroupFeed) {
        feed.forEachNumber { group, value in
            groups.append(UInt32(truncatingIfNeeded: group))
            values.append(value)
        }
    }

    override func add(_ piece: GroupTotals, _ groups: [UInt32]) {
        guard let piece = piece as? SampleTotals else { return }
        for group in piece.groups { self.groups.append(groups[Int(group)]) }
        values += piece.values
    }

    override func finish(_ count: Int) {
        var next = [Int](repeating: 0, count: count + 1)
        for group in groups { next[Int(group) + 1] += 1 }
        for group in 0 ..< count { next[group + 1] += next[group] }
        starts = next
        let unsorted = values
        for (index, group) in groups.enumerated() {
            values[next[Int(group)]] = unsorted[index]
            next[Int(group)] += 1
        }
        groups = []
    }

    override func value(
        _ function: Grouping.Function, _ group: Int, _ count: Int64, _ aggregate: BoundGrouping.Aggregate
    ) throws(DatabaseError) -> ValueView {
        let range = starts[group] ..< starts[group + 1]
        if range.isEmpty { return .null }
        var fraction = 0.5
        if case .percentile(let wanted) = function { fraction = wanted }
        let place = fraction * Double(range.count - 1)
        let below = place.rounded(.down)
        let result = values.withUnsafeMutableBufferPointer { all in
            let part = UnsafeMutableBufferPointer(rebasing: all[range])
            let low = Quantile.select(Int(below), part)
            if place == below { return low }
            let high = Quantile.smallest(part, from: Int(below) + 1)
            // Between equal infinities there is nothing to interpolate.
            return low == high ? low : low + (high - low) * (place - below)
        }
        return .double(result)
    }
}

/// The n-th smallest, without sorting all; NaN is below everything.
private enum Quantile {
    @inline(__always)
    private static func isBefore(_ left: Double, _ right: Double) -> Bool {
        left < right || (left.isNaN && !right.isNaN)
    }

    /// Leaves what is not smaller behind it, and what is not larger before it.
    static func select(_ wanted: Int, _ values: UnsafeMutableBufferPointer<Double>) -> Double {
        var low = 0, high = values.count - 1
        while low < high {
            let pivot = middle(values[low], values[(low + high) / 2], values[high])
            var left = low, right = high
            while left <= right {
                while isBefore(values[left], pivot) { left += 1 }
                while isBefore(pivot, values[right]) { right -= 1 }
                if left <= right {
                    values.swapAt(left, right)
                    left += 1
                    right -= 1
                }
            }
            if wanted <= right {
                high = right
            } else if wanted >= left {
                low = left
            } else {
                break
            }
        }
        return values[wanted]
    }

    static func smallest(_ values: UnsafeMutableBufferPointer<Double>, from first: Int) -> Double {
        var smallest = values[first]
        for index in first ..< values.count where isBefore(values[index], smallest) { smallest = values[index] }
        return smallest
    }

    private static func middle(_ one: Double, _ two: Double, _ three: Double) -> Double {
        let low = isBefore(two, one) ? two : one
        let high = isBefore(two, one) ? one : two
        if isBefore(three, low) { return low }
        return isBefore(high, three) ? high : three
    }
}
