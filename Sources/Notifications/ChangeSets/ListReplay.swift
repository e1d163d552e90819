/// Edits of a list, one after the other, to positions that went, came and changed, without looking at any element.
///
/// The list is kept as runs: neighbouring elements that were neighbours before, or that are all new. An edit costs as
/// many steps as there are runs.
import MotteLiveObjects

struct ListReplay {
    private struct Run {
        /// Old position of the first; -1: new elements.
        var old: Int
        var count: Int
        var isModified = false

        var isNew: Bool { old < 0 }
    }

    private let oldCount: Int
    private var runs: [Run]
    private var hasMoves = false
    private(set) var count: Int
    /// An edit did not fit the list: the log and the remembered count do not belong together.
    private(set) var isBroken = false

    init(count: Int) {
        oldCount = count
        self.count = count
        runs = count > 0 ? [Run(old: 0, count: count)] : []
    }

    // MARK: Edits

    mutating func insert(at index: Int, count added: Int) {
        guard let position = split(at: index), added > 0 else { return }
        runs.insert(Run(old: -1, count: added), at: position)
        count += added
    }

    mutating func remove(at index: Int, count removed: Int) {
        guard removed > 0, let range = split(index, removed) else { return }
        runs.removeSubrange(range)
        count -= removed
    }

    mutating func set(at index: Int, count changed: Int) {
        guard changed > 0, let range = split(index, changed) else { return }
        for position in range { runs[position].isModified = true }
    }

    /// Afterwards the element stands at `target`.
    mutating func move(from index: Int, to target: Int) {
        guard let range = split(index, 1), let first = range.first else { return }
        let run = runs.remove(at: first)
        count -= 1
        guard let position = split(at: target) else { return }
        runs.insert(run, at: position)
        count += 1
        hasMoves = true
    }

    /// Position in `runs` of the run that begins at element `index`, after cutting there.
    private mutating func split(at index: Int) -> Int? {
        guard index >= 0, index <= count else {
            isBroken = true
            return nil
        }
        var position = 0
        var start = 0
        while position < runs.count, start + runs[position].count <= index {
            start += runs[position].count
            position += 1
        }
        if start == index { return position }
        let run = runs[position]
        let head = index - start
        runs[position].count = head
        runs.insert(
            Run(old: run.isNew ? -1 : run.old + head, count: run.count - head, isModified: run.isModified),
            at: position + 1)
        return position + 1
    }

    private mutating func split(_ index: Int, _ length: Int) -> Range<Int>? {
        guard let first = split(at: index), let last = split(at: index + length) else { return nil }
        return first ..< last
    }

    // MARK: Outcome

    /// `modified` are new positions of elements that changed, ascending; those of new elements do not matter.
    func difference(modified: [Int] = []) -> SequenceDifference {
        var difference = SequenceDifference()
        let kept = keptRuns()
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

    /// Old elements that stand elsewhere now, by their old positions.
    func moves() -> [ChangeSet.Move] {
        guard hasMoves else { return [] }
        let kept = Set(keptRuns())
        var moves: [ChangeSet.Move] = []
        var start = 0
        for (index, run) in runs.enumerated() {
            if !run.isNew, !kept.contains(index) {
                for offset in 0 ..< run.count {
                    moves.append(ChangeSet.Move(old: run.old + offset, new: start + offset))
                }
            }
            start += run.count
        }
        return moves.sorted { $0.old < $1.old }
    }

    /// Runs of old elements in ascending order, with as many elements as can be.
    private func keptRuns() -> [Int] {
        let old = runs.indices.filter { !runs[$0].isNew }
        guard hasMoves else { return old }
        guard old.count <= 2_000 else {
            return SequenceDifference.longestAscending(old.map { runs[$0].old }).map { old[$0] }
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
