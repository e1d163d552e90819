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
            let patch = ResultsPatch.ascending(old, candidates)
            #expect(patch.keys == members.sorted(), "\(comment)")
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
            let patch = ResultsPatch.sorted(old, candidates, incoming: ordered(candidates.filter(\.isIn).map(\.key))) {
                others, key in
                (0 ..< others.count).first { (ranks[others[$0]]!, others[$0]) > (ranks[key]!, key) } ?? others.count
            }
            #expect(patch.keys == new, "\(comment)")
            #expect(patch.difference == .ordered(old: old, new: new) { touched.contains($0) }, "\(comment)")
            #expect(
                apply(patch.difference.deletions, patch.difference.insertions, old: old, new: new) == new, "\(comment)")
        }
    }
}
