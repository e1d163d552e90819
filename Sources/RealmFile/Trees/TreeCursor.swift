/// The leaves of a B+ tree in order: of a list, a set, half of a map, or of long backlinks.
///
///     root: a leaf, or an inner node
///     inner: tagged count per child, or ref of the children's offsets but the first | refs of children | tagged total
///
/// Whoever reads a leaf says how many elements it had; inner nodes are compared with that.
import MotteValues

struct TreeCursor {
    private static let deepest = 10
    /// Of a leaf, but for backlinks of older files, which are in one.
    static let mostElements = 1_000

    private struct Level {
        let ref: Int
        let slots: Integers
        let offsets: Integers?
        let perChild: Int64
        let start: Int64
        var child = 0

        var childCount: Int { slots.count - 2 }
    }

    private let scope: ReadingScope
    private let inner: Arena
    private let hasLargeLeaves: Bool
    private var root: Int?
    private var levels: [Level] = []
    private var position: Int64 = 0
    private var leaf = 0

    /// Leaves go to the scope's nodes, inner nodes to `inner`.
    init(_ root: Int, _ scope: ReadingScope, inner: Arena, hasLargeLeaves: Bool = false) {
        self.root = root
        self.scope = scope
        self.inner = inner
        self.hasLargeLeaves = hasLargeLeaves
    }

    mutating func counted(_ elements: Int) throws(DatabaseError) {
        guard elements <= Self.mostElements || hasLargeLeaves else {
            throw Damage.at(leaf, "a collection has \(elements) elements in one piece")
        }
        position += Int64(elements)
    }

    mutating func next() throws(DatabaseError) -> Node? {
        if let root {
            self.root = nil
            return try descend(root)
        }
        while let level = levels.last {
            let elements = position - level.start
            guard level.child < level.childCount else {
                guard case .tagged(elements) = level.slots.slot(level.slots.count - 1) else {
                    throw Damage.at(level.ref, "the elements of a collection do not add up")
                }
                levels.removeLast()
                continue
            }
            if level.child > 0 {
                let expected =
                    level.offsets.map { Int64(bitPattern: $0.unsigned(level.child - 1)) }
                    ?? level.perChild * Int64(level.child)
                guard expected == elements else {
                    throw Damage.at(level.ref, "parts of a collection are not as long as said")
                }
            }
            guard case .ref(let child) = level.slots.slot(1 + level.child) else {
                throw Damage.at(level.ref, "part of a collection is missing")
            }
            levels[levels.count - 1].child += 1
            return try descend(child)
        }
        return nil
    }

    private mutating func descend(_ ref: Int) throws(DatabaseError) -> Node? {
        var ref = ref
        while true {
            // Which of the two it is is known only then.
            let header = try scope.file.nodes.isInner(ref)
            guard header else {
                leaf = ref
                return try scope.node(ref)
            }
            let node = try scope.file.nodes.node(ref, in: inner, scope.visited)
            guard levels.count < Self.deepest else { throw node.damage("a collection is too deep") }
            var level = try level(node)
            guard case .ref(let child) = level.slots.slot(1) else {
                throw node.damage("part of a collection is missing")
            }
            level.child = 1
            levels.append(level)
            ref = child
        }
    }

    private func level(_ node: Node) throws(DatabaseError) -> Level {
        let slots = node.integers
        guard slots.count >= 3 else { throw node.unlike("part of a collection") }
        switch slots.slot(0) {
        case .tagged(let perChild):
            guard perChild > 0, perChild <= Int64(UInt32.max) else { throw node.unlike("part of a collection") }
            return Level(ref: node.ref, slots: slots, offsets: nil, perChild: perChild, start: position)
        case .ref(let ref):
            let offsets = try scope.file.nodes.node(ref, in: inner, scope.visited).numbers("offsets in a collection")
            guard offsets.count == slots.count - 3 else { throw node.unlike("part of a collection") }
            return Level(ref: node.ref, slots: slots, offsets: offsets, perChild: 0, start: position)
        case .nothing: throw node.unlike("part of a collection")
        }
    }

    /// How many elements there are, by what the root says; nil where that is a leaf.
    static func total(_ root: Int, _ file: FileContext, _ arena: Arena) throws(DatabaseError) -> Int? {
        guard try file.nodes.isInner(root) else { return nil }
        let slots = try file.nodes.node(root, in: arena, nil).integers
        guard slots.count >= 3, case .tagged(let total) = slots.slot(slots.count - 1), total >= 0 else {
            throw Damage.at(root, "the elements of a collection do not add up")
        }
        return Int(total)
    }
}
