/// A list as runs: neighbouring elements that were neighbours before, or that are all new. Follows edits, one after the
/// other, without looking at any element; an edit costs about the logarithm of the number of runs.
///
/// The runs are the nodes of a treap: a binary tree in the order of the list, and a heap by random priorities, so that
/// it is balanced whatever the edits are.
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

    private struct Node {
        var run: Run
        let priority: UInt64
        /// Elements of this run and of both subtrees.
        var total: Int
        var left = -1
        var right = -1
        /// Every run in the subtrees is modified; not noted there yet.
        var marksBelow = false
    }

    package let oldCount: Int
    package private(set) var hasMoves = false
    package private(set) var count: Int
    /// An edit did not fit the list: the edits and the remembered count do not belong together.
    package private(set) var isBroken = false
    /// Runs that went stay here.
    private var nodes: ContiguousArray<Node> = []
    private var root = -1
    private var state: UInt64 = 0

    package init(count: Int) {
        oldCount = count
        self.count = count
        if count > 0 { root = add(Run(old: 0, count: count)) }
    }

    /// In the order of the list.
    package var runs: [Run] {
        var runs: [Run] = []
        var above: [(node: Int, isMarked: Bool)] = []
        var next = root
        var isMarked = false
        while next >= 0 || !above.isEmpty {
            while next >= 0 {
                above.append((next, isMarked))
                isMarked = isMarked || nodes[next].marksBelow
                next = nodes[next].left
            }
            guard let last = above.popLast() else { break }
            var run = nodes[last.node].run
            run.isModified = run.isModified || last.isMarked
            runs.append(run)
            isMarked = last.isMarked || nodes[last.node].marksBelow
            next = nodes[last.node].right
        }
        return runs
    }

    // MARK: Edits

    package mutating func insert(at index: Int, count added: Int) {
        guard fits(index, 0), added > 0 else { return }
        let (before, behind) = split(root, at: index)
        root = joined(joined(before, add(Run(old: -1, count: added))), behind)
        count += added
    }

    package mutating func remove(at index: Int, count removed: Int) {
        guard removed > 0, fits(index, removed) else { return }
        let (before, _, behind) = split(index, removed)
        root = joined(before, behind)
        count -= removed
    }

    package mutating func set(at index: Int, count changed: Int) {
        guard changed > 0, fits(index, changed) else { return }
        let (before, middle, behind) = split(index, changed)
        mark(middle)
        root = joined(joined(before, middle), behind)
    }

    /// Afterwards the element stands at `target`.
    package mutating func move(from index: Int, to target: Int) {
        guard fits(index, 1) else { return }
        let (before, middle, behind) = split(index, 1)
        root = joined(before, behind)
        count -= 1
        guard fits(target, 0) else { return }
        let (first, rest) = split(root, at: target)
        root = joined(joined(first, middle), rest)
        count += 1
        hasMoves = true
    }

    private mutating func fits(_ index: Int, _ length: Int) -> Bool {
        guard index >= 0, length >= 0, index <= count, length <= count - index else {
            isBroken = true
            return false
        }
        return true
    }

    // MARK: The tree

    private mutating func add(_ run: Run) -> Int {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        nodes.append(Node(run: run, priority: mixed ^ (mixed >> 31), total: run.count))
        return nodes.count - 1
    }

    private func total(_ node: Int) -> Int { node < 0 ? 0 : nodes[node].total }

    private mutating func sum(_ node: Int) {
        nodes[node].total = total(nodes[node].left) + nodes[node].run.count + total(nodes[node].right)
    }

    private mutating func mark(_ node: Int) {
        guard node >= 0 else { return }
        nodes[node].run.isModified = true
        nodes[node].marksBelow = true
    }

    private mutating func passMark(_ node: Int) {
        guard nodes[node].marksBelow else { return }
        nodes[node].marksBelow = false
        mark(nodes[node].left)
        mark(nodes[node].right)
    }

    private mutating func split(_ index: Int, _ length: Int) -> (Int, Int, Int) {
        let (before, rest) = split(root, at: index)
        let (middle, behind) = split(rest, at: length)
        return (before, middle, behind)
    }

    /// What stands before element `index` and what from there on; a run that lies across is cut.
    private mutating func split(_ tree: Int, at index: Int) -> (Int, Int) {
        let (before, across, behind) = parted(tree, index)
        guard let across else { return (before, behind) }
        let (node, head) = across
        let run = nodes[node].run
        let rest = add(
            Run(old: run.isNew ? -1 : run.old + head, count: run.count - head, isModified: run.isModified))
        nodes[node].run.count = head
        nodes[node].left = -1
        nodes[node].right = -1
        sum(node)
        return (joined(before, node), joined(rest, behind))
    }

    /// The run that lies across is taken out, with how many of its elements are before.
    private mutating func parted(_ node: Int, _ index: Int) -> (Int, (node: Int, head: Int)?, Int) {
        guard node >= 0 else { return (-1, nil, -1) }
        passMark(node)
        let start = total(nodes[node].left)
        let end = start + nodes[node].run.count
        if index <= start {
            let (before, across, behind) = parted(nodes[node].left, index)
            nodes[node].left = behind
            sum(node)
            return (before, across, node)
        }
        if index >= end {
            let (before, across, behind) = parted(nodes[node].right, index - end)
            nodes[node].right = before
            sum(node)
            return (node, across, behind)
        }
        return (nodes[node].left, (node, index - start), nodes[node].right)
    }

    private mutating func joined(_ first: Int, _ second: Int) -> Int {
        guard first >= 0 else { return second }
        guard second >= 0 else { return first }
        if nodes[first].priority > nodes[second].priority {
            passMark(first)
            nodes[first].right = joined(nodes[first].right, second)
            sum(first)
            return first
        }
        passMark(second)
        nodes[second].left = joined(first, nodes[second].left)
        sum(second)
        return second
    }
}
