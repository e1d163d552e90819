import MotteLiveObjects
import MotteValues
import TestSupport
import Testing

// A patched result equals the one computed anew, and its difference is that of the two.
@testable import MotteNotifications

@Suite struct ResultsPatchTests {
    @Test func ascendingEqualsAnew() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            let old = Array(Set((0 ..< random.below(20)).map { _ in Int64(random.below(30)) })).sorted()
            let touched = Array(Set((0 ..< random.below(8)).map { _ in Int64(random.below(40)) })).sorted()
            let candidates = touched.map {
                ResultsPatch.Candidate(key: $0, isIn: random.chance(60), isModified: random.chance(70))
            }
            var members = Set(old)
            for candidate in candidates {
                if candidate.isIn { members.insert(candidate.key) } else { members.remove(candidate.key) }
            }
            let modified = Set(candidates.filter(\.isModified).map(\.key))
            let patch = ResultsPatch.ascending(KeyBlocks(old), candidates)
            #expect(patch.keys.all == members.sorted(), "\(comment)")
            #expect(
                patch.difference == .ascending(old: old, new: members.sorted()) { modified.contains($0) }, "\(comment)")
        }
    }

    @Test func sortedEqualsAnew() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            var ranks: [Int64: Int] = [:]
            for key in 0 ..< Int64(40) { ranks[key] = random.below(20) }
            func ordered(_ keys: some Sequence<Int64>) -> [Int64] {
                keys.sorted { (ranks[$0]!, $0) < (ranks[$1]!, $1) }
            }
            let members = Set((0 ..< random.below(20)).map { _ in Int64(random.below(30)) })
            let old = ordered(members)
            var now = members
            var candidates: [ResultsPatch.Candidate] = []
            for key in Set((0 ..< random.below(8)).map { _ in Int64(random.below(40)) }).sorted() {
                let isIn = random.chance(70)
                candidates.append(ResultsPatch.Candidate(key: key, isIn: isIn, isModified: true))
                if random.chance(70) { ranks[key] = random.below(20) }
                if isIn { now.insert(key) } else { now.remove(key) }
            }
            let new = ordered(now)
            let touched = Set(candidates.map(\.key))
            let incoming = ordered(candidates.filter(\.isIn).map(\.key))
            let known = random.chance(50) ? old.indices.filter { touched.contains(old[$0]) } : nil
            let patch = ResultsPatch.sorted(KeyBlocks(old), candidates, incoming: incoming, places: known) {
                others, key, start in
                (start ..< others.count).first { (ranks[others[$0]]!, others[$0]) > (ranks[key]!, key) } ?? others.count
            }
            #expect(patch.keys.all == new, "\(comment)")
            #expect(patch.difference == .ordered(old: old, new: new) { touched.contains($0) }, "\(comment)")
            #expect(
                apply(patch.difference.deletions, patch.difference.insertions, old: old, new: new) == new, "\(comment)")
        }
    }

    /// Over many blocks, which split, empty and fill again; copies stay what they were.
    @Test func blocksOfKeysAreAnArray() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            var keys = (0 ..< Int64(random.below(9_000))).map { $0 * 3 }
            var blocks = KeyBlocks(keys)
            for _ in 0 ..< 12 {
                let before = (keys, blocks)
                let removed = Set((0 ..< random.below(random.chance(20) ? keys.count + 1 : 9)).map { _ in
                    random.below(max(1, keys.count))
                }).filter { $0 < keys.count }.sorted()
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
            let sorted = KeyBlocks(keys.sorted())
            let wanted = Int64(random.below(1_000))
            let expected = keys.sorted().firstIndex { $0 >= wanted } ?? keys.count
            #expect(sorted.lowerBound(wanted, from: 0) == expected, "\(comment)")
        }
    }
}
