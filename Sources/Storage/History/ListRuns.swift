/// A list as runs: neighbouring elements that were neighbours before, or that are all new. Follows edits, one after the
/// other, without looking at any element; an edit costs as many steps as there are runs.
///
/// Change sets make positions of it (`ListRuns+Difference`), change batches the edits that lead there (`ListEdits`).
package struct ListRuns {
    package struct Run {
        /// Old position of the first; -1: new elements.
        package var old: Int
        package var count: Int
        package var isModified = false

        package var isNew: Bool { old < 0 }
    }

    package let oldCount: Int
    package private(set) var runs: [Run]
    package private(set) var hasMoves = false
    package private(set) var count: Int
    /// An edit did not fit the list: the edits and the remembered count do not belong together.
    package private(set) var isBroken = false

    package init(count: Int) {
        oldCount = count
        self.count = count
        runs = count > 0 ? [Run(old: 0, count: count)] : []
    }

    package mutating func insert(at index: Int, count added: Int) {
        guard let position = split(at: index), added > 0 else { return }
        runs.insert(Run(old: -1, count: added), at: position)
        count += added
    }

    package mutating func remove(at index: Int, count removed: Int) {
        guard removed > 0, let range = split(index, removed) else { return }
        runs.removeSubrange(range)
        count -= removed
    }

    package mutating func set(at index: Int, count changed: Int) {
        guard changed > 0, let range = split(index, changed) else { return }
        for position in range { runs[position].isModified = true }
    }

    /// Afterwards the element stands at `target`.
    package mutating func move(from index: Int, to target: Int) {
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
        guard index >= 0, length >= 0, length <= count - index,
            let first = split(at: index), let last = split(at: index + length)
        else {
            isBroken = true
            return nil
        }
        return first ..< last
    }
}
