/// Edits of a list over any number of versions, as the few that lead from how it was to how it is: first what went,
/// then from front to back what moved and what came, last what was replaced.
import MotteValues

package struct ListEdits {
    package enum Edit: Equatable {
        /// New elements, which now stand at `index` and after.
        case insert(at: Int, count: Int)
        case remove(at: Int, count: Int)
        /// Elements that were replaced where they stand now.
        case set(at: Int, count: Int)
        case move(from: Int, to: Int)
    }

    private let list: ListRuns

    package var oldCount: Int { list.oldCount }

    /// `newCount` is the length of the list after the operations. nil where they do not lead there.
    package init?(_ operations: [ListOperation], newCount: Int) {
        var before = newCount
        for operation in operations.reversed() {
            switch operation.kind {
            case .insert: before -= operation.count
            case .remove, .clear: before += operation.count
            case .set, .move: break
            }
        }
        guard before >= 0 else { return nil }
        var list = ListRuns(count: before)
        for operation in operations {
            switch operation.kind {
            case .insert: list.insert(at: operation.index, count: operation.count)
            case .remove, .clear: list.remove(at: operation.index, count: operation.count)
            case .set: list.set(at: operation.index, count: operation.count)
            case .move: list.move(from: operation.index, to: operation.destination)
            }
        }
        guard !list.isBroken, list.count == newCount else { return nil }
        self.list = list
    }

    // MARK: Outcome

    package var edits: [Edit] {
        var edits = removals()
        if list.hasMoves { edits += moves() }
        var place = 0
        var sets: [Edit] = []
        for run in list.runs {
            if run.isNew {
                edits.append(.insert(at: place, count: run.count))
            } else if run.isModified {
                sets.append(.set(at: place, count: run.count))
            }
            place += run.count
        }
        return edits + sets
    }

    /// Of the old elements that are still there, before anything comes.
    private func moves() -> [Edit] {
        let kept = list.runs.filter { !$0.isNew }
        let moved = Set(kept.indices).subtracting(AscendingSeries.longest(kept.map(\.old)))
        return moved.count <= 2_000 ? fewMoves(kept, moved) : Self.manyMoves(kept)
    }

    /// Each run that moved goes behind the one before it.
    private func fewMoves(_ kept: [ListRuns.Run], _ moved: Set<Int>) -> [Edit] {
        var edits: [Edit] = []
        var current = kept.indices.sorted { kept[$0].old < kept[$1].old }
        func elements(before index: Int) -> Int { current[..<index].reduce(0) { $0 + kept[$1].count } }
        for run in kept.indices where moved.contains(run) {
            guard let index = current.firstIndex(of: run) else { continue }
            let from = elements(before: index)
            current.remove(at: index)
            let behind = run == 0 ? 0 : (current.firstIndex(of: run - 1) ?? -1) + 1
            let to = elements(before: behind)
            current.insert(run, at: behind)
            let count = kept[run].count
            for offset in 0 ..< (from == to ? 0 : count) {
                edits.append(
                    to < from ? .move(from: from + offset, to: to + offset) : .move(from: from, to: to + count - 1))
            }
        }
        return edits
    }

    /// From front to back, each element that does not stand in its place is fetched.
    private static func manyMoves(_ kept: [ListRuns.Run]) -> [Edit] {
        var edits: [Edit] = []
        var waiting = WaitingElements(kept.map { ($0.old, $0.count) })
        var place = 0
        for run in kept {
            for offset in 0 ..< run.count {
                if let distance = waiting.take(run.old + offset), distance > 0 {
                    edits.append(.move(from: place + distance, to: place))
                }
                place += 1
            }
        }
        return edits
    }

    /// From the back, so that each is at its old position.
    private func removals() -> [Edit] {
        var removals: [Edit] = []
        var next = 0
        for run in list.runs.filter({ !$0.isNew }).sorted(by: { $0.old < $1.old }) {
            if run.old > next { removals.append(.remove(at: next, count: run.old - next)) }
            next = run.old + run.count
        }
        if next < list.oldCount { removals.append(.remove(at: next, count: list.oldCount - next)) }
        return removals.reversed()
    }
}

/// Old elements that have not been put in their place, in their old order, with how many stand before each.
private struct WaitingElements {
    /// Old position of the first of each run, ascending, and how many elements of it wait.
    private var starts: [Int] = []
    private var tree: [Int]

    init(_ runs: [(old: Int, count: Int)]) {
        starts = runs.flatMap { run in run.old ..< run.old + run.count }.sorted()
        tree = [Int](repeating: 0, count: starts.count + 1)
        for index in starts.indices { add(1, at: index) }
    }

    private mutating func add(_ amount: Int, at index: Int) {
        var position = index + 1
        while position < tree.count {
            tree[position] += amount
            position += position & -position
        }
    }

    /// Takes the element out, and says how many wait before it; nil if it is not there.
    mutating func take(_ old: Int) -> Int? {
        var low = 0, high = starts.count
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] < old { low = middle + 1 } else { high = middle }
        }
        guard low < starts.count, starts[low] == old else { return nil }
        var before = 0
        var position = low
        while position > 0 {
            before += tree[position]
            position -= position & -position
        }
        add(-1, at: low)
        return before
    }
}
