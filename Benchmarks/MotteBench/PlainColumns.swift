/// The persons as arrays in memory, as narrow as their values allow, and the simplest loops over them: what the
/// hardware lets a query of that kind take, without a file, versions or types that are known late.
///
/// Sorting is by eight bytes of a name first, as everybody would do it who is in a hurry.

final class PlainColumns {
    private let names: TextColumn
    private let count: Int
    private let ages: [UInt8]
    private let scores: [Double]
    private let active: [UInt8]
    private let cities: [UInt16]
    private let created: [Int64]
    private let friends: [Int32]

    init(_ data: PersonData) {
        names = data.names
        count = data.count
        ages = data.ages.map { UInt8($0) }
        scores = data.scores
        active = data.active.map { $0 ? 1 : 0 }
        cities = data.cities.map { UInt16($0) }
        created = data.created
        friends = data.bestFriends.map { Int32($0) }
    }

    // MARK: Counts

    func countOlder(_ age: UInt8) -> [Int64] {
        ages.withUnsafeBufferPointer { ages in
            var total = 0
            for first in stride(from: 0, to: ages.count, by: 255 * 16) {
                total += Self.countAbove(ages, first, min(first + 255 * 16, ages.count), age)
            }
            return [Int64(total)]
        }
    }

    /// At most 255 vectors, so that a lane counts them.
    private static func countAbove(_ values: UnsafeBufferPointer<UInt8>, _ first: Int, _ end: Int, _ age: UInt8) -> Int
    {
        guard let base = values.baseAddress else { return 0 }
        let bytes = UnsafeRawPointer(base)
        var lanes = SIMD16<UInt8>.zero
        let bounds = SIMD16<UInt8>(repeating: age)
        var row = first
        while row + 16 <= end {
            let above = bytes.loadUnaligned(fromByteOffset: row, as: SIMD16<UInt8>.self) .> bounds
            lanes &-= unsafeBitCast(above, to: SIMD16<UInt8>.self)
            row += 16
        }
        var total = 0
        for lane in 0 ..< 16 { total += Int(lanes[lane]) }
        while row < end {
            if values[row] > age { total += 1 }
            row += 1
        }
        return total
    }

    func count(city: UInt16) -> [Int64] {
        cities.withUnsafeBufferPointer { cities in
            var total: UInt32 = 0
            for value in cities { total &+= value == city ? 1 : 0 }
            return [Int64(total)]
        }
    }

    func countConjuncts(_ low: UInt8, _ high: UInt8, city: UInt16) -> [Int64] {
        var total: UInt32 = 0
        ages.withUnsafeBufferPointer { ages in
            active.withUnsafeBufferPointer { active in
                cities.withUnsafeBufferPointer { cities in
                    for row in 0 ..< count {
                        let passes = (ages[row] &- low <= high &- low ? 1 : 0) & UInt32(active[row])
                        total &+= passes & (cities[row] == city ? 1 : 0)
                    }
                }
            }
        }
        return [Int64(total)]
    }

    func countFriendsOlder(_ age: UInt8) -> [Int64] {
        var total = 0
        ages.withUnsafeBufferPointer { ages in
            friends.withUnsafeBufferPointer { friends in
                for friend in friends where friend >= 0 && ages[Int(friend)] > age { total &+= 1 }
            }
        }
        return [Int64(total)]
    }

    func countAgeAboveScore() -> [Int64] { countRows { Double($0) > $1 } }
    func countDoubleAgeAboveScore() -> [Int64] { countRows { Double(Int64($0) &* 2) > $1 } }

    @inline(__always)
    private func countRows(_ holds: (UInt8, Double) -> Bool) -> [Int64] {
        var total = 0
        ages.withUnsafeBufferPointer { ages in
            scores.withUnsafeBufferPointer { scores in
                for row in 0 ..< count { total &+= holds(ages[row], scores[row]) ? 1 : 0 }
            }
        }
        return [Int64(total)]
    }

    func countLate(_ factor: Int64, _ bound: Int64) -> [Int64] {
        var total = 0
        ages.withUnsafeBufferPointer { ages in
            created.withUnsafeBufferPointer { created in
                for row in 0 ..< count { total &+= created[row] &+ Int64(ages[row]) &* factor > bound ? 1 : 0 }
            }
        }
        return [Int64(total)]
    }

    /// `pattern` has two small letters.
    func countContaining(_ pattern: String) -> [Int64] {
        let letters = Array(pattern.utf8)
        let low = letters[0], high = letters[1]
        var found = 0, row = 0, last = -1
        let size = Int(names.offsets[count])
        let heap = UnsafeRawPointer(names.heap)
        let lows = SIMD16<UInt8>(repeating: low), highs = SIMD16<UInt8>(repeating: high)
        let small = SIMD16<UInt8>(repeating: 0x20)
        var place = 0
        func look(_ place: Int) {
            guard names.heap[place] | 0x20 == low, names.heap[place + 1] | 0x20 == high else { return }
            while names.offsets[row + 1] <= place { row += 1 }
            if row != last, place + 1 < names.offsets[row + 1] {
                found += 1
                last = row
            }
        }
        while place + 17 <= size {
            let first = heap.loadUnaligned(fromByteOffset: place, as: SIMD16<UInt8>.self) | small
            let second = heap.loadUnaligned(fromByteOffset: place + 1, as: SIMD16<UInt8>.self) | small
            let both =
                unsafeBitCast(first .== lows, to: SIMD16<UInt8>.self)
                & unsafeBitCast(second .== highs, to: SIMD16<UInt8>.self)
            let halves = unsafeBitCast(both, to: SIMD2<UInt64>.self)
            if halves[0] | halves[1] != 0 { for offset in 0 ..< 16 { look(place + offset) } }
            place += 16
        }
        while place + 1 < size {
            look(place)
            place += 1
        }
        return [Int64(found)]
    }

    // MARK: Sums

    func sumOfScores() -> [Int64] {
        scores.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return [0] }
            var sums = (SIMD2<Double>.zero, SIMD2<Double>.zero, SIMD2<Double>.zero, SIMD2<Double>.zero)
            var offset = 0
            while offset + 64 <= bytes.count {
                sums.0 += base.load(fromByteOffset: offset, as: SIMD2<Double>.self)
                sums.1 += base.load(fromByteOffset: offset + 16, as: SIMD2<Double>.self)
                sums.2 += base.load(fromByteOffset: offset + 32, as: SIMD2<Double>.self)
                sums.3 += base.load(fromByteOffset: offset + 48, as: SIMD2<Double>.self)
                offset += 64
            }
            var total = ((sums.0 + sums.1) + (sums.2 + sums.3)).sum()
            for row in offset / 8 ..< count { total += scores[row] }
            return [Int64(total)]
        }
    }

    func sumOfScores(olderThan age: UInt8) -> [Int64] {
        var total = 0.0
        ages.withUnsafeBufferPointer { ages in
            scores.withUnsafeBufferPointer { scores in
                for row in 0 ..< count where ages[row] > age { total += scores[row] }
            }
        }
        return [Int64(total)]
    }

    // MARK: Groups

    /// With the average age and the highest score of each, which nobody looks at here.
    func countCities(olderThan age: UInt8?, order: [[UInt8]]) -> [Int64] {
        var counts = [Int64](repeating: 0, count: order.count), sums = counts
        var highest = [Double](repeating: -.infinity, count: order.count)
        for row in 0 ..< count {
            if let age, ages[row] <= age { continue }
            let city = Int(cities[row])
            counts[city] += 1
            sums[city] += Int64(ages[row])
            highest[city] = max(highest[city], scores[row])
        }
        let sorted = order.indices.sorted { order[$0].lexicographicallyPrecedes(order[$1]) }
        return sorted.lazy.map { counts[$0] }.filter { $0 > (age == nil ? 0 : 10) }.prefix(100).map { $0 }
    }

    func countDifferentCities() -> [Int64] {
        var isSeen = [Bool](repeating: false, count: 100 * 1_000)
        var counts = [Int64](repeating: 0, count: 100)
        for row in 0 ..< count {
            let place = Int(ages[row]) * 1_000 + Int(cities[row])
            if !isSeen[place] {
                isSeen[place] = true
                counts[Int(ages[row])] += 1
            }
        }
        return counts
    }

    // MARK: Orders

    private struct Entry {
        let code: UInt64
        let row: Int
    }

    @inline(__always)
    private func code(_ row: Int) -> UInt64 {
        // The data has no name of fewer than eight bytes.
        UInt64(
            bigEndian: UnsafeRawPointer(names.heap).loadUnaligned(
                fromByteOffset: Int(names.offsets[row]), as: UInt64.self))
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        let one = names[left], other = names[right]
        let order = memory(one, other)
        return order != 0 ? order < 0 : left < right
    }

    private func memory(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        for index in 0 ..< min(left.count, right.count) where left[index] != right[index] {
            return Int(left[index]) - Int(right[index])
        }
        return left.count - right.count
    }

    /// The best so far stay in order; the last of them is the bound.
    func firstByName(_ limit: Int) -> [Int64] {
        var best: [Entry] = []
        for row in 0 ..< count {
            let entry = Entry(code: code(row), row: row)
            if best.count == limit, let last = best.last {
                if entry.code > last.code { continue }
                if entry.code == last.code, isBefore(last.row, row) { continue }
                best.removeLast()
            }
            let place = best.firstIndex {
                entry.code < $0.code || (entry.code == $0.code && isBefore(row, $0.row))
            }
            best.insert(entry, at: place ?? best.count)
        }
        return best.map { Int64($0.row) }
    }

    func sortedByName() -> [Int64] { sorted { self.code($0) } }

    func sortedByAgeAndName() -> [Int64] {
        // Seven bytes of the name go with the age; what is level is compared as a whole.
        sorted { UInt64(self.ages[$0]) << 56 | self.code($0) >> 8 }
    }

    private func sorted(_ code: (Int) -> UInt64) -> [Int64] {
        var entries = (0 ..< count).map { Entry(code: code($0), row: $0) }
        entries.sort { left, right in
            left.code != right.code ? left.code < right.code : isBefore(left.row, right.row)
        }
        return entries.prefix(100).map { Int64($0.row) }
    }
}
