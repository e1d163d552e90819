// A patched result equals the one recomputed, and its difference is that of the two.
import MotteLiveObjects
import MotteNotifications
import MotteValues
import TestSupport
import Testing

@Suite struct ResultsPatchTests {
    @Test func ascendingEqualsAgain() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            let old = Array(Set((0 ..< random.below(20)).map { _ in Int64(random.below(30)) })).sorted()
            let touched = Array(Set((0 ..< random.below(8)).map { _ in Int64(random.below(40)) })).sorted()
            // Some may have come or gone, some only changed.
            let mayMove = touched.map { _ in random.chance(70) }
            let isIn = touched.map { _ in random.chance(60) }
            let isModified = touched.map { _ in random.chance(70) }
            var members = Set(old)
            for (index, key) in touched.enumerated() where mayMove[index] {
                if isIn[index] { members.insert(key) } else { members.remove(key) }
            }
            let modified = Set(touched.indices.filter { isModified[$0] }.map { touched[$0] })
            let patch = ResultsPatch.ascending(
                KeySet(old),
                ResultsPatch.Touched(keys: touched, mayMove: mayMove, isIn: isIn, isModified: isModified))
            #expect(patch.keys.all == members.sorted(), "\(comment)")
            #expect(
                patch.difference == .ascending(old: old, new: members.sorted()) { modified.contains($0) }, "\(comment)")
        }
    }

    /// One by one, in passes over all keys by merging and by comparing: the same as re-evaluated, all of them.
    @Test func sortedEqualsAgain() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            var ranks: [Int64: Int] = [:]
            for key in 0 ..< Int64(40) { ranks[key] = random.below(20) }
            func ordered(_ keys: some Sequence<Int64>) -> [Int64] {
                keys.sorted { (ranks[$0]!, $0) < (ranks[$1]!, $1) }
            }
            func place(_ key: Int64, _ others: [Int64]) -> Int {
                others.firstIndex { (ranks[$0]!, $0) > (ranks[key]!, key) } ?? others.count
            }
            let members = Set((0 ..< random.below(30)).map { _ in Int64(random.below(30)) })
            let old = ordered(members)
            var now = members
            let movable = Set((0 ..< random.below(12)).map { _ in Int64(random.below(40)) }).sorted()
            let modified = Set(
                (0 ..< random.below(12)).map { _ in Int64(random.below(40)) }
                    + movable.filter { _ in
                        random.chance(50)
                    }
            ).sorted()
            for key in movable {
                if random.chance(70) { ranks[key] = random.below(20) }
                if random.chance(70) { now.insert(key) } else { now.remove(key) }
            }
            let new = ordered(now)
            let expected = SequenceDifference.ordered(
                old: old, new: new, isModified: { modified.contains($0) }, mayMove: { movable.contains($0) })
            #expect(apply(expected.deletions, expected.insertions, old: old, new: new) == new, "\(comment)")

            let incoming = ordered(movable.filter(now.contains))
            let bulk = try #require(BulkPatch(OrderedKeys(old), movable: movable, modified: modified))
            let merged = bulk.merging(incoming, at: incoming.map { place($0, bulk.others) })
            #expect(merged.keys.all == new && merged.difference == expected, "\(comment)")
            let compared = bulk.comparing(new)
            #expect(compared.keys.all == new && compared.difference == expected, "\(comment)")

            let places = old.indices.filter { movable.contains(old[$0]) }
            let patch = SortedPatch(
                ranks: places.map { ResultsPatch.lowerBound(movable, old[$0], from: 0) }, positions: places,
                changed: old.indices.filter { modified.contains(old[$0]) && !movable.contains(old[$0]) },
                isModified: movable.map(modified.contains))
            let others = patch.others(OrderedKeys(old))
            let each = patch.patch(
                OrderedKeys(old), movable: movable, incoming: incoming,
                at: incoming.map { place($0, (0 ..< others.count).map { others[$0] }) })
            #expect(each.keys.all == new && each.difference == expected, "\(comment)")
        }
    }

    /// Over many blocks, which split, empty and fill again; copies stay what they were.
    @Test func blocksOfKeysAreAnArray() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            var keys = (0 ..< Int64(random.below(9_000))).map { $0 * 3 }
            var blocks = OrderedKeys(keys)
            for _ in 0 ..< 12 {
                let before = (keys, blocks)
                let removed = Set(
                    (0 ..< random.below(random.chance(20) ? keys.count + 1 : 9)).map { _ in
                        random.below(max(1, keys.count))
                    }
                ).filter { $0 < keys.count }.sorted()
                for position in removed.reversed() { keys.remove(at: position) }
                var insertions: [(position: Int, key: Int64)] = []
                let added = random.below(random.chance(20) ? 5_000 : 9)
                let places = (0 ..< added).map { _ in random.below(keys.count + 1) }.sorted()
                for (index, gap) in places.enumerated() { insertions.append((gap + index, Int64(random.below(1_000)))) }
                for insertion in insertions { keys.insert(insertion.key, at: insertion.position) }
                blocks = blocks.editing(removals: removed, insertions: insertions)
                #expect(blocks.all == keys && blocks.count == keys.count, "\(comment)")
                #expect(before.1.all == before.0, "\(comment)")
                for _ in 0 ..< 5 where !keys.isEmpty {
                    let position = random.below(keys.count)
                    #expect(blocks[position] == keys[position], "\(comment)")
                }
                #expect(blocks.prefix(7) == Array(keys.prefix(7)), "\(comment)")
            }
        }
    }

    /// Over many groups of blocks, which split, empty and fill again.
    @Test func groupsOfBlocksAreAnArray() throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            var keys = (0 ..< Int64(random.below(300_000))).map { $0 * 3 }
            var blocks = OrderedKeys(keys)
            for _ in 0 ..< 8 {
                let before = (keys, blocks)
                let first = random.below(keys.count + 1)
                let removed = first ..< min(keys.count, first + random.pick([0, 1, 3_000, 200_000]))
                keys.removeSubrange(removed)
                let gap = random.below(keys.count + 1)
                let added = (0 ..< random.pick([0, 1, 3_000, 200_000])).map { _ in Int64(random.below(1_000)) }
                keys.insert(contentsOf: added, at: gap)
                blocks = blocks.editing(
                    removals: Array(removed), insertions: added.enumerated().map { (gap + $0.offset, $0.element) })
                #expect(blocks.all == keys && blocks.count == keys.count, "\(comment)")
                #expect(before.1.all == before.0, "\(comment)")
                for _ in 0 ..< 9 where !keys.isEmpty {
                    let position = random.below(keys.count)
                    #expect(blocks[position] == keys[position], "\(comment)")
                }
                var starts: [Int] = []
                var walked = 0
                blocks.forEachBlock { start, keys in
                    starts.append(start - walked)
                    walked += keys.count
                }
                #expect(walked == keys.count && starts.allSatisfy { $0 == 0 }, "\(comment)")
            }
        }
    }

    /// Runs, bits and offsets in turn, as keys come and go; far apart and side by side; copies stay what they were.
    @Test func setsOfKeysAreSortedArrays() throws {
        try PropertyTest.run(rounds: 8) { random, comment in
            let span = random.pick([3_000, 20_000, 4_000_000])
            var members = Set((0 ..< random.below(9_000)).map { Int64($0 % span) })
            var set = KeySet(members.sorted())
            for _ in 0 ..< 8 {
                let before = (members, set)
                let size = random.pick([3, 40, 3_000])
                let start = random.below(span)
                let touched = Set(
                    (0 ..< size).map { index in
                        Int64(random.chance(50) ? random.below(span) : (start + index) % span)
                    })
                let removed = touched.filter { members.contains($0) && random.chance(70) }.sorted()
                let inserted = touched.filter { !members.contains($0) && random.chance(70) }.sorted()
                members.subtract(removed)
                members.formUnion(inserted)
                set = set.editing(removing: removed, inserting: inserted)
                let keys = members.sorted()
                #expect(set.prefix(.max) == keys && set.count == keys.count, "\(comment)")
                #expect(before.1.prefix(.max) == before.0.sorted(), "\(comment)")
                #expect(set.prefix(70) == Array(keys.prefix(70)), "\(comment)")
                for _ in 0 ..< 9 where !keys.isEmpty {
                    let position = random.below(keys.count)
                    #expect(set[position] == keys[position], "\(comment)")
                }
                let wanted = touched.sorted()
                var places: [Int] = []
                var there: [Int64] = []
                set.forEachPlace(of: wanted) { index, position, isThere in
                    places.append(position)
                    if isThere { there.append(wanted[index]) }
                }
                #expect(places == wanted.map { ResultsPatch.lowerBound(keys, $0, from: 0) }, "\(comment)")
                #expect(there == wanted.filter(members.contains), "\(comment)")
                let positions = wanted.indices.filter { members.contains(wanted[$0]) }.map { places[$0] }
                #expect(set.positions(of: wanted) == positions, "\(comment)")
            }
        }
    }
}
