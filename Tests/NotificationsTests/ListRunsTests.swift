// Random edits of a list, replayed without its elements, describe what really happened to them.
import MotteNotifications
import MotteStorage
import TestSupport
import Testing

@Suite struct ListRunsTests {
    @Test func replayDescribesTheEdits() throws {
        try PropertyTest.run(rounds: 1_000) { random, comment in
            let old = Array(0 ..< random.below(15))
            var list = old
            var changed: Set<Int> = []
            var next = 100
            var replay = ListRuns(count: old.count)
            for _ in 0 ..< random.below(8) {
                switch random.below(5) {
                case 0:
                    let index = random.below(list.count + 1)
                    let count = random.below(3)
                    list.insert(contentsOf: next ..< next + count, at: index)
                    next += count
                    replay.insert(at: index, count: count)
                case 1 where !list.isEmpty:
                    let index = random.below(list.count)
                    let count = 1 + random.below(min(3, list.count - index))
                    list.removeSubrange(index ..< index + count)
                    replay.remove(at: index, count: count)
                case 2 where !list.isEmpty:
                    let index = random.below(list.count)
                    changed.insert(list[index])
                    replay.set(at: index, count: 1)
                case 3 where !list.isEmpty:
                    let from = random.below(list.count)
                    let to = random.below(list.count)
                    list.insert(list.remove(at: from), at: to)
                    replay.move(from: from, to: to)
                default:
                    break
                }
            }
            let difference = replay.difference(modified: list.indices.filter { list[$0] % 5 == 0 })
            #expect(!replay.isBroken && replay.count == list.count, "\(comment)")
            #expect(apply(difference.deletions, difference.insertions, old: old, new: list) == list, "\(comment)")
            let stayed = Set(difference.modificationsOld.map { old[$0] })
            #expect(
                difference.modificationsOld.map { old[$0] } == difference.modificationsNew.map { list[$0] },
                "\(comment)")
            let mentioned = stayed.union(difference.insertions.map { list[$0] })
            for element in list where element < 100 && (changed.contains(element) || element % 5 == 0) {
                #expect(mentioned.contains(element), "\(comment)")
            }
        }
    }

    /// As many runs as a tree has levels for, with marks that wait in it.
    @Test func manyEditsOfOneList() throws {
        try PropertyTest.run(rounds: 4) { random, comment in
            let oldCount = 200 + random.below(2_000)
            var list = Array(0 ..< oldCount)
            var modified: Set<Int> = []
            var next = oldCount
            var replay = ListRuns(count: oldCount)
            for _ in 0 ..< 400 {
                let index = random.below(list.count)
                let count = 1 + random.below(min(40, list.count - index))
                switch random.below(4) {
                case 0:
                    list.insert(contentsOf: next ..< next + count, at: index)
                    next += count
                    replay.insert(at: index, count: count)
                case 1 where list.count > 100:
                    list.removeSubrange(index ..< index + count)
                    replay.remove(at: index, count: count)
                case 2:
                    modified.formUnion(list[index ..< index + count])
                    replay.set(at: index, count: count)
                default:
                    let to = random.below(list.count)
                    list.insert(list.remove(at: index), at: to)
                    replay.move(from: index, to: to)
                }
            }
            var shown: [Int] = []
            var start = 0
            for run in replay.runs {
                for offset in 0 ..< run.count {
                    let element = list[start + offset]
                    shown.append(run.isNew ? element : run.old + offset)
                    #expect(run.isNew == (element >= oldCount), "\(comment)")
                    #expect(run.isModified == modified.contains(element), "\(element); \(comment)")
                }
                start += run.count
            }
            #expect(shown == list && replay.count == list.count && !replay.isBroken, "\(comment)")
        }
    }

    @Test func oneMoveIsOneDeletionAndOneInsertion() {
        var replay = ListRuns(count: 10)
        replay.move(from: 8, to: 1)
        let difference = replay.difference()
        #expect(difference.deletions == [8] && difference.insertions == [1] && difference.modificationsOld.isEmpty)
    }
}
