/// A long list as a write is changing it: the nodes that edits have gone through lie open in memory, the rest stays in
/// the file. An edit opens one path and changes one leaf, or two where leaves are split or joined; the commit writes
/// the changed nodes. Nothing is consumed by encoding it, so that a commit that fails leaves the edits as they are.
///
/// Here stand its state, how its nodes are opened and how it is read; `LongList+Inserting`, `LongList+Removing` and
/// `LongList+Writing` are the rest of it and touch the state that is not private for their sake. Knows nothing of links
/// or of the change log: `WriteTransaction` keeps those in step. One thread.
import MotteColumns
import MotteValues

final class LongList {
    let reader: LongListReader
    let shape: LongListShape
    let longSource: WrittenLongValues?
    var root: LongListNode?
    var nextID: UInt32 = 1
    /// Nodes that the file has and the list does not need any more.
    var freed: [UInt32] = []
    /// Every node that the file has is out of date: the list was emptied, or has left for its column's chunk.
    var dropsStored = false
    var count = 0
    /// Whether a commit has something of it to write.
    var isChanged = false

    var column: StoredColumn { reader.column }

    /// `stored` where the file has the list as a tree.
    init(
        _ reader: LongListReader, shape: LongListShape, storedCount: Int?, long source: WrittenLongValues?
    ) throws(DatabaseError) {
        longSource = source
        self.reader = reader
        self.shape = shape
        guard let storedCount else { return }
        let stored = try reader.inner(0, level: nil)
        guard stored.total == storedCount else {
            throw .corrupted("the list \(reader.column.name) has a wrong number of elements")
        }
        root = open(stored, id: 0)
        nextID = stored.nextID
        count = storedCount
    }

    /// Whether the list is kept here; else its elements are in the column's chunk.
    var isActive: Bool { root != nil }

    // MARK: Going back to a savepoint

    /// Its nodes, for what replaces them all and changes none.
    struct Image {
        fileprivate let root: LongListNode?
        fileprivate let nextID: UInt32
        fileprivate let freed: [UInt32]
        fileprivate let dropsStored: Bool
        fileprivate let count: Int
        fileprivate let isChanged: Bool
    }

    var image: Image {
        Image(
            root: root, nextID: nextID, freed: freed, dropsStored: dropsStored, count: count, isChanged: isChanged)
    }

    /// Ids that were given out meanwhile are not given out again; nor are those that were in use, if the list was
    /// emptied meanwhile and began again.
    func restore(_ image: Image) {
        root = image.root
        nextID = max(nextID, image.nextID)
        freed = image.freed
        dropsStored = image.dropsStored
        count = image.count
        isChanged = image.isChanged
    }

    // MARK: Opening nodes

    private func open(_ node: LongListInner, id: UInt32) -> LongListNode {
        let children = (0 ..< node.childCount).map {
            LongListNode.Child(id: node.id(of: $0), count: node.elements(of: $0), node: nil)
        }
        return LongListNode(inner: id, level: node.level, children, isChanged: false)
    }

    func child(_ index: Int, of parent: LongListNode) throws(DatabaseError) -> LongListNode {
        let child = parent.children[index]
        if let node = child.node { return node }
        let node: LongListNode
        if parent.level == 1 {
            let chunk = try reader.leaf(child.id, count: child.count)
            let builder = makeBuilder(capacity: chunk.count + 1)
            builder.append(chunk, 0 ..< chunk.count)
            node = LongListNode(leaf: child.id, builder, isChanged: false)
        } else {
            let stored = try reader.inner(child.id, level: parent.level - 1)
            guard stored.total == child.count else {
                throw .corrupted("a node of the list \(column.name) has a wrong count")
            }
            node = open(stored, id: child.id)
        }
        parent.children[index].node = node
        return node
    }

    func makeBuilder(capacity: Int) -> ChunkBuilder {
        ChunkBuilder(kind: column.kind, nullable: column.isNullable, capacity: capacity, long: longSource)
    }

    func takeID() -> UInt32 {
        defer { nextID += 1 }
        return nextID
    }

    func newLeaf(_ elements: ChunkBuilder) -> LongListNode {
        LongListNode(leaf: takeID(), elements, isChanged: true)
    }

    // MARK: Reading

    /// Borrowed until the list's next change.
    func view(_ index: Int) throws(DatabaseError) -> ValueView {
        var offset = index
        var node = root
        while let current = node {
            if let elements = current.elements {
                try elements.checkLongText(offset)
                return elements.view(offset)
            }
            var next: LongListNode.Child?
            for child in current.children {
                if offset < child.count {
                    next = child
                    break
                }
                offset -= child.count
            }
            guard let next else { break }
            guard next.node == nil else {
                node = next.node
                continue
            }
            var result = ValueView.null
            try reader.forEach(
                child: next.id, count: next.count, level: current.level - 1, from: 0,
                offset ..< offset + 1
            ) { chunk, range in result = chunk.view(range.lowerBound) }
            return result
        }
        throw DatabaseError(.outOfBounds, "index \(index) is outside the list, which has \(count) elements")
    }

    func forEach(
        _ range: Range<Int>, _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        if let root { try forEach(in: root, from: 0, range, body) }
    }

    private func forEach(
        in node: LongListNode, from start: Int, _ range: Range<Int>,
        _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        if let elements = node.elements {
            let wanted = range.clamped(to: start ..< start + elements.count)
            guard !wanted.isEmpty else { return }
            let chunk = try node.chunk(column.kind, longSource)
            let rows = wanted.lowerBound - start ..< wanted.upperBound - start
            try chunk.checkLongTexts(rows)
            return try body(chunk, rows)
        }
        var position = start
        for child in node.children {
            guard position < range.upperBound else { return }
            if position + child.count > range.lowerBound {
                if let open = child.node {
                    try forEach(in: open, from: position, range, body)
                } else {
                    try reader.forEach(
                        child: child.id, count: child.count, level: node.level - 1, from: position, range, body)
                }
            }
            position += child.count
        }
    }
}
