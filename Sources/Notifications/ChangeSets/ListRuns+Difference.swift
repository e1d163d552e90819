/// What the edits of a list were, as positions that went, came and changed, and as moves.
import MotteLiveObjects
import MotteStorage
import MotteValues

extension ListRuns {
    /// `modified` are new positions of elements that changed, ascending; those of new elements do not matter.
    package func difference(modified: [Int] = []) -> SequenceDifference {
        var difference = SequenceDifference()
        let runs = runs
        let kept = kept(runs)
        var stays = [Bool](repeating: false, count: runs.count)
        for index in kept { stays[index] = true }
        var start = 0
        var nextOld = 0
        var next = 0
        for (index, run) in runs.enumerated() {
            if stays[index] {
                difference.deletions.append(contentsOf: nextOld ..< run.old)
                nextOld = run.old + run.count
                if run.isModified {
                    for offset in 0 ..< run.count {
                        difference.noteModified(old: run.old + offset, new: start + offset)
                    }
                } else {
                    while next < modified.count, modified[next] < start { next += 1 }
                    while next < modified.count, modified[next] < start + run.count {
                        difference.noteModified(old: run.old + modified[next] - start, new: modified[next])
                        next += 1
                    }
                }
            } else {
                difference.insertions.append(contentsOf: start ..< start + run.count)
            }
            start += run.count
        }
        difference.deletions.append(contentsOf: nextOld ..< oldCount)
        return difference
    }

    /// Old elements that stand elsewhere now, by their old positions. A slot that was also set holds another element.
    func moves() -> [ChangeSet.Move] {
        guard hasMoves else { return [] }
        let runs = runs
        let kept = Set(kept(runs))
        var moves: [ChangeSet.Move] = []
        var start = 0
        for (index, run) in runs.enumerated() {
            if !run.isNew, !run.isModified, !kept.contains(index) {
                for offset in 0 ..< run.count {
                    moves.append(ChangeSet.Move(old: run.old + offset, new: start + offset))
                }
            }
            start += run.count
        }
        return moves.sorted { $0.old < $1.old }
    }

    /// Positions of slots that were set.
    func setSlots() -> Set<Int> {
        var slots: Set<Int> = []
        var start = 0
        for run in runs {
            if run.isModified { slots.formUnion(start ..< start + run.count) }
            start += run.count
        }
        return slots
    }

    /// Runs of old elements in ascending order, with as many elements as can be.
    private func kept(_ runs: [Run]) -> [Int] {
        let old = runs.indices.filter { !runs[$0].isNew }
        guard hasMoves else { return old }
        guard old.count <= 2_000 else {
            return AscendingSeries.longest(old.map { runs[$0].old }).map { old[$0] }
        }
        // The heaviest ascending subsequence, by trying every predecessor.
        var best = [Int](repeating: 0, count: old.count)
        var previous = [Int](repeating: -1, count: old.count)
        var last = -1
        for (index, run) in old.enumerated() {
            best[index] = runs[run].count
            for earlier in 0 ..< index
            where runs[old[earlier]].old < runs[run].old && best[earlier] + runs[run].count > best[index] {
                best[index] = best[earlier] + runs[run].count
                previous[index] = earlier
            }
            if last < 0 || best[index] > best[last] { last = index }
        }
        var kept: [Int] = []
        while last >= 0 {
            kept.append(old[last])
            last = previous[last]
        }
        return kept.reversed()
    }
}
