/// The clusters of a tree in ascending order of keys: of the objects of a class, and of maps in files before format
/// 23.
///
///     cluster: tagged count (keys 0, 1, 2...) or ref of ascending keys | ref of a leaf for each column
///     inner:   ref of the children's offsets, or 0 (child i has i << 8 * depth) | tagged depth | tagged objects | refs
///
/// A key is the sum of the offsets down to it and its own in the cluster.
import MotteValues

/// A cluster, its columns not read yet.
struct ClusterNode {
    static let most = 256

    let ref: Int
    let slots: Integers
    let count: Int
    let offset: UInt64
    /// nil: 0, 1, 2...
    let keys: Integers?

    @inline(__always)
    func key(_ row: Int) -> Int64 {
        Int64(bitPattern: offset &+ (keys.map { $0.unsigned(row) } ?? UInt64(truncatingIfNeeded: row)))
    }

    init(_ node: Node, offset: UInt64, _ scope: ReadingScope) throws(DatabaseError) {
        ref = node.ref
        self.offset = offset
        slots = try node.refs("a cluster")
        switch slots.slot(0) {
        case .nothing: throw node.unlike("a cluster")
        case .tagged(let number):
            guard number >= 0, number <= Self.most else { throw node.damage("a cluster has \(number) objects") }
            (count, keys) = (Int(number), nil)
        case .ref(let ref):
            let keys = try scope.node(ref).numbers("keys of a cluster")
            guard keys.count <= Self.most else { throw node.damage("a cluster has \(keys.count) objects") }
            for row in 1 ..< max(1, keys.count) where keys.unsigned(row) <= keys.unsigned(row - 1) {
                throw node.damage("keys of a cluster do not ascend")
            }
            (count, self.keys) = (keys.count, keys)
        }
    }

    /// The leaf of a column, by the column's index.
    func leaf(_ column: Int, _ scope: ReadingScope) throws(DatabaseError) -> Node {
        guard column + 1 < slots.count else { throw Damage.at(ref, "a cluster lacks a column") }
        return try scope.node(slots, column + 1, "a column of a cluster", ref)
    }
}

struct ClusterTree {
    private static let deepest = 10
    private static let mostChildren = 256

    private struct Level {
        let ref: Int
        let slots: Integers
        let offsets: Integers?
        let depth: Int
        let offset: UInt64
        let start: Int
        var child = 0

        var childCount: Int { slots.count - 3 }
    }

    private let scope: ReadingScope
    private let hasObjectKeys: Bool
    private var root: Int?
    private var levels: [Level] = []
    /// Inner nodes, level by level, so that those that were left take no room.
    private var arenas: [Arena] = []
    private(set) var position = 0
    private var lastKey: Int64 = -1

    /// Keys of objects are never negative; those of entries of a map are anything.
    init(_ root: Int, _ scope: ReadingScope, hasObjectKeys: Bool = true) {
        self.root = root
        self.scope = scope
        self.hasObjectKeys = hasObjectKeys
    }

    /// What the root says.
    static func count(_ root: Int, _ scope: ReadingScope) throws(DatabaseError) -> Int {
        let node = try scope.file.nodes.node(root, in: scope.nodes, nil)
        guard node.isInner else { return try ClusterNode(node, offset: 0, scope).count }
        // Each cluster takes 16 bytes at least.
        guard case .tagged(let count) = node.integers.slot(2), count >= 0,
            count <= scope.file.nodes.limit / 16 * ClusterNode.most
        else { throw node.damage("a class has an impossible number of objects") }
        return Int(count)
    }

    mutating func next() throws(DatabaseError) -> ClusterNode? {
        if let root {
            self.root = nil
            return try descend(root, offset: 0)
        }
        while let level = levels.last {
            guard level.child < level.childCount else {
                guard case .tagged(let count) = level.slots.slot(2), count == position - level.start else {
                    throw Damage.at(level.ref, "objects do not add up")
                }
                levels.removeLast()
                continue
            }
            levels[levels.count - 1].child += 1
            return try child(level.child, of: level)
        }
        return nil
    }

    private mutating func child(_ index: Int, of level: Level) throws(DatabaseError) -> ClusterNode {
        guard case .ref(let ref) = level.slots.slot(3 + index) else {
            throw Damage.at(level.ref, "a cluster is missing")
        }
        let own =
            level.offsets.map { $0.unsigned(index) } ?? UInt64(truncatingIfNeeded: index) << UInt64(8 * level.depth)
        return try descend(ref, offset: level.offset &+ own)
    }

    private mutating func descend(_ ref: Int, offset: UInt64) throws(DatabaseError) -> ClusterNode {
        guard try scope.file.nodes.isInner(ref) else {
            guard levels.last.map({ $0.depth == 1 }) ?? true else {
                throw Damage.at(ref, "a tree of objects is uneven")
            }
            return try checked(ClusterNode(try scope.node(ref), offset: offset, scope))
        }
        if arenas.count == levels.count { arenas.append(Arena()) }
        let arena = arenas[levels.count]
        arena.reset()
        let node = try scope.file.nodes.node(ref, in: arena, scope.visited)
        var level = try level(node, arena, offset)
        guard levels.last.map({ $0.depth == level.depth + 1 }) ?? true else {
            throw node.damage("a tree of objects is uneven")
        }
        level.child = 1
        levels.append(level)
        return try child(0, of: level)
    }

    private func level(_ node: Node, _ arena: Arena, _ offset: UInt64) throws(DatabaseError) -> Level {
        let slots = node.integers
        guard case .tagged(let depth) = slots.slot(1), depth >= 1, depth < Self.deepest, slots.count > 3,
            slots.count <= 3 + Self.mostChildren
        else { throw node.unlike("a tree of objects") }
        var offsets: Integers?
        switch slots.slot(0) {
        case .nothing: break
        case .tagged: throw node.unlike("a tree of objects")
        case .ref(let ref):
            let numbers = try scope.file.nodes.node(ref, in: arena, scope.visited).numbers("offsets of objects")
            guard numbers.count == slots.count - 3 else { throw node.unlike("a tree of objects") }
            offsets = numbers
        }
        return Level(
            ref: node.ref, slots: slots, offsets: offsets, depth: Int(depth), offset: offset, start: position)
    }

    private mutating func checked(_ cluster: ClusterNode) throws(DatabaseError) -> ClusterNode {
        position += cluster.count
        guard hasObjectKeys, cluster.count > 0 else { return cluster }
        // All keys below the offset are in clusters before: looking one up depends on that. Offsets are at most keys.
        let first = cluster.key(0)
        let last = cluster.key(cluster.count - 1)
        guard Int64(bitPattern: cluster.offset) >= 0, first >= Int64(bitPattern: cluster.offset), last >= first,
            Int64(bitPattern: cluster.offset) > lastKey
        else { throw Damage.at(cluster.ref, "keys of objects do not ascend") }
        lastKey = last
        return cluster
    }
}
