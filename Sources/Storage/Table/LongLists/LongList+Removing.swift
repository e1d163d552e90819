/// Changing elements of a long list where they are and taking them out: nodes that become small are joined with one
/// beside them, and the root gives way to an only child.
import MotteColumns
import MotteValues

extension LongList {
    func set(_ index: Int, _ value: ValueView) throws(DatabaseError) {
        guard let (node, elements, offset) = try leaf(of: index) else { return }
        isChanged = true
        elements.set(offset, value)
        node.markChanged()
    }

    /// To a row of another builder; a long value changes hands.
    func set(_ index: Int, _ source: ChunkBuilder, _ row: Int) throws(DatabaseError) {
        guard let (node, elements, offset) = try leaf(of: index) else { return }
        isChanged = true
        elements.set(offset, source, row)
        node.markChanged()
    }

    /// Appends an element to `carried`, a long value by its reference alone.
    func carry(_ index: Int, to carried: ChunkBuilder) throws(DatabaseError) {
        guard let (_, elements, offset) = try leaf(of: index) else { return }
        carried.append(elements, offset ..< offset + 1)
    }

    /// The leaf that holds an element, opened, and where it is there.
    private func leaf(of index: Int) throws(DatabaseError) -> (LongListNode, ChunkBuilder, Int)? {
        guard var node = root else { return nil }
        var offset = index
        while node.elements == nil {
            var position = 0
            while position < node.children.count - 1, offset >= node.children[position].count {
                offset -= node.children[position].count
                position += 1
            }
            node = try child(position, of: node)
        }
        return node.elements.map { (node, $0, offset) }
    }

    func remove(_ range: Range<Int>) throws(DatabaseError) {
        guard let root, !range.isEmpty else { return }
        isChanged = true
        if range.count == count { return removeAll() }
        try remove(range, from: root)
        count -= range.count
        while root.level > 1, root.children.count == 1 {
            let only = try child(0, of: root)
            root.replaceChildren(only.children, level: root.level - 1)
            freed.append(only.id)
        }
    }

    /// Stays a tree, with nothing in it.
    func removeAll() {
        drop()
        root = LongListNode(inner: 0, level: 1, [], isChanged: true)
    }

    /// Gives all elements up: to the column's chunk, or because their owner is gone.
    func drop() {
        isChanged = true
        dropsStored = true
        freed.removeAll()
        // Nothing that the file has stays, so that all ids may be given out again.
        nextID = 1
        root = nil
        count = 0
    }

    private func remove(_ range: Range<Int>, from node: LongListNode) throws(DatabaseError) {
        node.markChanged()
        if let elements = node.elements {
            for index in range.reversed() { elements.remove(at: index) }
            return
        }
        if try removeWithinChild(range, of: node) { return }
        var start = 0
        var first: Int?
        var kept: [LongListNode.Child] = []
        kept.reserveCapacity(node.children.count)
        for index in node.children.indices {
            let size = node.children[index].count
            let cut = range.clamped(to: start ..< start + size)
            if cut.isEmpty {
                kept.append(node.children[index])
            } else {
                if first == nil { first = kept.count }
                if cut.count == size {
                    try free(index, of: node)
                } else {
                    let child = try child(index, of: node)
                    try remove(cut.lowerBound - start ..< cut.upperBound - start, from: child)
                    kept.append(child.child)
                }
            }
            start += size
        }
        node.children = kept
        guard let first else { return }
        // A range leaves at most two nodes cut.
        try join(first + 1, of: node)
        try join(first, of: node)
    }

    /// Most removals cut one child and leave something of it; false for all others.
    private func removeWithinChild(_ range: Range<Int>, of node: LongListNode) throws(DatabaseError) -> Bool {
        var start = 0
        for index in node.children.indices {
            let size = node.children[index].count
            if range.lowerBound >= start + size {
                start += size
                continue
            }
            guard range.upperBound <= start + size, range.count < size else { return false }
            let child = try child(index, of: node)
            try remove(range.lowerBound - start ..< range.upperBound - start, from: child)
            node.children[index].count = child.count
            try join(index + 1, of: node)
            try join(index, of: node)
            return true
        }
        return false
    }

    private func free(_ index: Int, of parent: LongListNode) throws(DatabaseError) {
        freed.append(parent.children[index].id)
        guard parent.level > 1 else { return }
        let node = try child(index, of: parent)
        for index in node.children.indices { try free(index, of: node) }
    }

    /// Puts a node that has become small together with one beside it.
    private func join(_ index: Int, of parent: LongListNode) throws(DatabaseError) {
        guard index < parent.children.count, parent.children.count > 1 else { return }
        let isLeaf = parent.level == 1
        if isLeaf, parent.children[index].count >= shape.leafElements / 4 { return }
        if !isLeaf, try child(index, of: parent).children.count >= shape.fanout / 4 { return }
        let left = index + 1 < parent.children.count ? index : index - 1
        if isLeaf,
            parent.children[left].count + parent.children[left + 1].count > shape.leafElements * 3 / 4
        {
            return
        }
        let first = try child(left, of: parent)
        let second = try child(left + 1, of: parent)
        if let target = first.elements, let source = second.elements {
            guard target.heapBytes + source.heapBytes <= shape.leafBytes else { return }
            target.append(source, 0 ..< source.count)
        } else {
            guard first.children.count + second.children.count <= shape.fanout else { return }
            first.children += second.children
        }
        first.markChanged()
        parent.children[left].count = first.count
        freed.append(second.id)
        parent.children.remove(at: left + 1)
    }
}
