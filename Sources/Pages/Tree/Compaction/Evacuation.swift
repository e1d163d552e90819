/// What one commit of an online compaction moves: entries of the tree whose values, or whose nodes, lie on pages that
/// are to become free. `EvacuationWalk` finds them in the order of keys, a few megabytes per commit, and `TreeWriter`
/// puts them elsewhere.
import MotteValues

/// Pages that are to become free, and where what is on them may go.
struct Evacuation {
    /// May reach behind the file.
    var pages: PageRun
    /// Where nothing else is free, behind the end of the file.
    var mayGrow = false

    func concerns(_ run: PageRun) -> Bool { run.start < pages.end && pages.start < run.end }
}

/// One step through the leaves of a version, from a key on.
struct EvacuationWalk {
    /// Of what is to be moved, in ascending order.
    private(set) var keys: [[UInt8]] = []
    /// Where the next step begins; nil at the end of the tree.
    private(set) var position: [UInt8]?
    private var byteCount = 0
    private var leafCount = 0

    private let image: PageImage
    private let evacuation: Evacuation
    private let start: [UInt8]
    private let mostBytes: Int
    private var isFull = false

    /// A commit of a few milliseconds also where little is to be moved.
    private static let mostLeaves = 4096
    /// Larger values stay where they are: a step holds what it moves in memory, twice.
    static let largestValue = 64 << 20

    init(_ image: PageImage, _ evacuation: Evacuation, from start: [UInt8], mostBytes: Int) {
        self.image = image
        self.evacuation = evacuation
        self.start = start
        self.mostBytes = mostBytes
    }

    mutating func run(_ root: RootSlot) throws(DatabaseError) {
        guard !root.tree.isNone else { return }
        let hold = PageHold(image)
        defer { withExtendedLifetime(hold) {} }
        try visit(root.tree, root.level, isLeftmost: false, from: start)
    }

    /// `isLeftmost`: a branch above is to be moved, and this is the first leaf that leads to it. `start` is empty where
    /// everything below counts.
    private mutating func visit(
        _ reference: PageRef, _ level: Int, isLeftmost: Bool, from start: [UInt8]
    ) throws(DatabaseError) {
        let node = try image.node(reference, level: level)
        let moves = isLeftmost || evacuation.concerns(reference.run(image.layout))
        guard level > 0 else { return collect(node, moves: moves, from: start) }
        let first = start.isEmpty ? 0 : start.withUnsafeBytes { node.child(for: $0) }
        for child in first ..< node.count where !isFull {
            try visit(
                node.reference(child), level - 1, isLeftmost: moves && child == first, from: child == first ? start : []
            )
        }
    }

    private mutating func collect(_ leaf: TreeNode, moves: Bool, from start: [UInt8]) {
        let first = start.isEmpty ? 0 : start.withUnsafeBytes { leaf.lowerBound($0) }
        leafCount += 1
        let before = keys.count
        for index in first ..< leaf.count {
            if byteCount >= mostBytes || leafCount > EvacuationWalk.mostLeaves {
                position = Array(leaf.key(index))
                isFull = true
                break
            }
            guard leaf.hasReference(index) else { continue }
            let value = leaf.reference(index)
            guard evacuation.concerns(value.run(image.layout)) else { continue }
            byteCount += image.byteCount(of: value.pageCount(image.layout))
            keys.append(Array(leaf.key(index)))
        }
        // Its entries are rewritten with the node.
        if moves, keys.count == before, first < leaf.count {
            byteCount += image.pageBytes
            keys.append(Array(leaf.key(first)))
        }
    }
}
