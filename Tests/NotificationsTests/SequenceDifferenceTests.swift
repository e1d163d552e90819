// Every difference turns the old sequence into the new one; change sets combine to the change set of both steps.
import MotteLiveObjects
import MotteNotifications
import MotteValues
import TestSupport
import Testing

/// What applying a difference to the old sequence gives; nil in the places of insertions is filled from `new`.
func apply<Element>(_ deletions: [Int], _ insertions: [Int], old: [Element], new: [Element]) -> [Element]? {
    guard deletions.allSatisfy({ $0 < old.count }), insertions.allSatisfy({ $0 < new.count }),
        isStrictlyAscending(deletions), isStrictlyAscending(insertions)
    else { return nil }
    let gone = Set(deletions)
    var result = old.enumerated().filter { !gone.contains($0.offset) }.map(\.element)
    for index in insertions {
        guard index <= result.count else { return nil }
        result.insert(new[index], at: index)
    }
    return result
}

func isStrictlyAscending(_ values: [Int]) -> Bool { zip(values, values.dropFirst()).allSatisfy { $0 < $1 } }

@Suite struct SequenceDifferenceTests {
    func check<Element: Equatable>(
        _ difference: SequenceDifference, _ old: [Element], _ new: [Element], _ comment: String
    ) {
        #expect(apply(difference.deletions, difference.insertions, old: old, new: new) == new, "\(comment)")
        let gone = Set(difference.deletions)
        let came = Set(difference.insertions)
        #expect(
            isStrictlyAscending(difference.modificationsOld) && isStrictlyAscending(difference.modificationsNew),
            "\(comment)")
        for (left, right) in zip(difference.modificationsOld, difference.modificationsNew) {
            #expect(old[left] == new[right] && !gone.contains(left) && !came.contains(right), "\(comment)")
        }
    }

    @Test func ascendingWithRepeats() throws {
        try PropertyTest.run(rounds: 300) { random, comment in
            let old = (0 ..< random.below(20)).map { _ in Int64(random.below(12)) }.sorted()
            let new = (0 ..< random.below(20)).map { _ in Int64(random.below(12)) }.sorted()
            check(.ascending(old: old, new: new) { $0 % 3 == 0 }, old, new, comment)
        }
    }

    @Test func orderedMovesOnlyWhatChanged() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            var ranks: [Int64: Int] = [:]
            for key in 0 ..< Int64(random.below(30)) { ranks[key] = random.below(50) }
            func order(_ ranks: [Int64: Int]) -> [Int64] { ranks.keys.sorted { (ranks[$0]!, $0) < (ranks[$1]!, $1) } }
            let old = order(ranks)
            var modified: Set<Int64> = []
            for key in ranks.keys.sorted() where random.chance(20) {
                modified.insert(key)
                ranks[key] = random.chance(50) ? ranks[key] : random.below(50)
            }
            for key in ranks.keys.sorted() where random.chance(10) { ranks[key] = nil }
            for key in 100 ..< 100 + Int64(random.below(4)) { ranks[key] = random.below(50) }
            let new = order(ranks)
            let difference = SequenceDifference.ordered(old: old, new: new) { modified.contains($0) }
            check(difference, old, new, comment)
            // Nothing that did not change is mentioned, unless it went or came for good.
            for index in difference.deletions {
                #expect(modified.contains(old[index]) || ranks[old[index]] == nil, "\(comment)")
            }
            for index in difference.insertions {
                #expect(modified.contains(new[index]) || new[index] >= 100, "\(comment)")
            }
            // Whatever was modified is mentioned.
            let mentioned = Set(difference.insertions.map { new[$0] } + difference.modificationsNew.map { new[$0] })
            for key in modified where ranks[key] != nil { #expect(mentioned.contains(key), "\(comment)") }
        }
    }

    @Test func orderedIsRightForAnyOrder() throws {
        try PropertyTest.run(rounds: 300) { random, comment in
            let old = Array(Int64(0) ..< 15).shuffled(using: &random).filter { _ in random.chance(80) }
            let new = Array(Int64(0) ..< 15).shuffled(using: &random).filter { _ in random.chance(80) }
            check(.ordered(old: old, new: new) { $0 % 4 == 0 }, old, new, comment)
        }
    }

    @Test func arbitraryIsRightAndShortest() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            let old = (0 ..< random.below(14)).map { _ in random.below(4) }
            let new = (0 ..< random.below(14)).map { _ in random.below(4) }
            let difference = SequenceDifference.arbitrary(old: old, new: new) { $0 == 1 }
            check(difference, old, new, comment)
            let common = old.count - difference.deletions.count
            #expect(common == Self.longestCommon(old, new), "\(old) \(new) \(comment)")
        }
    }

    @Test func arbitraryGivesUpGracefully() {
        let old = Array(0 ..< 5_000)
        let new = Array(10_000 ..< 15_000)
        let difference = SequenceDifference.arbitrary(old: old, new: new)
        #expect(difference.deletions.count == 5_000 && difference.insertions.count == 5_000)
    }

    static func longestCommon(_ left: [Int], _ right: [Int]) -> Int {
        var row = [Int](repeating: 0, count: right.count + 1)
        for a in left {
            var diagonal = 0
            for (index, b) in right.enumerated() {
                let above = row[index + 1]
                row[index + 1] = a == b ? diagonal + 1 : max(above, row[index])
                diagonal = above
            }
        }
        return row[right.count]
    }
}

@Suite struct ChangeSetTests {
    /// A random step on distinct elements: what it says, and what comes out.
    func step(_ old: [Int], _ random: inout SeededRandom, _ next: inout Int) -> (new: [Int], changes: ChangeSet) {
        var changes = ChangeSet(.collection, from: Version(1), to: Version(2))
        changes.deletions = old.indices.filter { _ in random.chance(20) }
        let gone = Set(changes.deletions)
        var new = old.indices.filter { !gone.contains($0) }.map { old[$0] }
        for _ in 0 ..< random.below(4) {
            new.insert(next, at: random.below(new.count + 1))
            next += 1
        }
        let had = Set(old)
        changes.insertions = new.indices.filter { !had.contains(new[$0]) }
        for (index, element) in old.enumerated() where !gone.contains(index) && random.chance(30) {
            changes.modificationsOld.append(index)
            changes.modificationsNew.append(new.firstIndex(of: element)!)
        }
        return (new, changes)
    }

    @Test func twoStepsCombine() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            let old = Array(0 ..< random.below(12))
            var next = 100
            let (middle, first) = step(old, &random, &next)
            let (new, second) = step(middle, &random, &next)
            let both = first.followed(by: second)
            #expect(apply(both.deletions, both.insertions, old: old, new: new) == new, "\(comment)")
            let stayed = Set(old).intersection(new)
            #expect(both.deletions == old.indices.filter { !stayed.contains(old[$0]) }, "\(comment)")
            let changed = Set(first.modificationsOld.map { old[$0] } + second.modificationsOld.map { middle[$0] })
            #expect(
                both.modificationsOld == old.indices.filter { changed.contains(old[$0]) && stayed.contains(old[$0]) },
                "\(comment)")
            #expect(both.modificationsNew.map { new[$0] } == both.modificationsOld.map { old[$0] }, "\(comment)")
        }
    }

    @Test func aWindowSeesItsPart() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            let old = Array(0 ..< random.below(12))
            var next = 100
            let (new, changes) = step(old, &random, &next)
            let limit = random.below(10)
            let window = changes.limited(to: limit, oldCount: old.count, newCount: new.count)
            let seenOld = Array(old.prefix(limit))
            let seenNew = Array(new.prefix(limit))
            #expect(apply(window.deletions, window.insertions, old: seenOld, new: seenNew) == seenNew, "\(comment)")
            let stayed = Set(seenOld).intersection(seenNew)
            #expect(window.deletions == seenOld.indices.filter { !stayed.contains(seenOld[$0]) }, "\(comment)")
            let changed = Set(changes.modificationsOld.map { old[$0] })
            #expect(
                window.modificationsOld
                    == seenOld.indices.filter { changed.contains(old[$0]) && stayed.contains(old[$0]) }, "\(comment)")
        }
    }
}
