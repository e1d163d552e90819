/// Putting elements into a long list: leaves that become too large are cut, and their parents where they get too many
/// children. Appended lists get full leaves, all others leaves with room for more.
import MotteColumns
import MotteValues

extension LongList {
    /// Takes over the elements of a list that has outgrown its column's chunk.
    func fill(from elements: ChunkBuilder) throws(DatabaseError) {
        isChanged = true
        count = 0
        root = LongListNode(
            inner: 0, level: 1, [newLeaf(makeBuilder(capacity: shape.leafElements)).child], isChanged: true)
        try insert(ListValues(of: elements), at: 0)
    }

    func requireRoom() throws(DatabaseError) {
        guard nextID < UInt32.max - 1 << 24 else {
            throw DatabaseError(
                .valueTooLarge, "the list \(column.name) has been edited too often; clear and refill it")
        }
    }

    func insert(_ values: ListValues, at index: Int) throws(DatabaseError) {
        guard let root, values.count > 0 else { return }
        try requireRoom()
        isChanged = true
        if root.children.isEmpty {
            root.replaceChildren([newLeaf(makeBuilder(capacity: shape.leafElements)).child], level: 1)
        }
        var siblings = try insert(values, into: root, at: index, isEnd: index == count)
        count += values.count
        guard !siblings.isEmpty else { return }
        // The root keeps its id: what it held goes into a new node beside the new ones.
        while !siblings.isEmpty {
            let moved = LongListNode(inner: takeID(), level: root.level, root.children, isChanged: true)
            root.replaceChildren([moved.child] + siblings.map(\.child), level: root.level + 1)
            siblings = split(root, isEnd: index + values.count == count)
        }
    }

    /// New nodes that belong directly behind `node`.
    private func insert(
        _ values: ListValues, into node: LongListNode, at offset: Int, isEnd: Bool
    ) throws(DatabaseError) -> [LongListNode] {
        if let elements = node.elements { return insert(values, into: node, elements, at: offset, isEnd: isEnd) }
        var index = 0
        var start = 0
        while index < node.children.count - 1, start + node.children[index].count < offset {
            start += node.children[index].count
            index += 1
        }
        let child = try child(index, of: node)
        let siblings = try insert(values, into: child, at: offset - start, isEnd: isEnd)
        node.markChanged()
        node.children[index].count = child.count
        guard !siblings.isEmpty else { return [] }
        node.children.insert(contentsOf: siblings.map(\.child), at: index + 1)
        return split(node, isEnd: isEnd)
    }

    private func insert(
        _ values: ListValues, into leaf: LongListNode, _ elements: ChunkBuilder, at offset: Int, isEnd: Bool
    ) -> [LongListNode] {
        let total = elements.count + values.count
        if values.count == 1, total <= shape.leafElements, elements.heapBytes <= shape.leafBytes {
            values.insert(0, into: elements, at: offset)
            leaf.markChanged()
            return []
        }
        // Appended lists get full leaves, all others leaves with room for more.
        let parts = (total + shape.leafElements - 1) / shape.leafElements
        var cutter = LeafCutter(
            limit: isEnd ? shape.leafElements : (total + parts - 1) / parts,
            byteLimit: isEnd || elements.heapBytes <= shape.leafBytes ? shape.leafBytes : shape.leafBytes / 2,
            make: makeBuilder)
        if isEnd {
            cutter.start(with: elements)
        } else {
            for index in 0 ..< offset { cutter.next().append(elements, index ..< index + 1) }
        }
        for index in 0 ..< values.count { values.append(index, to: cutter.next()) }
        if !isEnd { for index in offset ..< elements.count { cutter.next().append(elements, index ..< index + 1) } }
        leaf.replaceElements(cutter.builders[0])
        return cutter.builders.dropFirst().map { newLeaf($0) }
    }

    /// Cuts an inner node with too many children; the first part stays.
    private func split(_ node: LongListNode, isEnd: Bool) -> [LongListNode] {
        let total = node.children.count
        guard total > shape.fanout else { return [] }
        let parts = (total + shape.fanout - 1) / shape.fanout
        let size = isEnd ? shape.fanout : (total + parts - 1) / parts
        let all = node.children
        node.replaceChildren(Array(all[0 ..< size]), level: node.level)
        return stride(from: size, to: total, by: size).map { start in
            LongListNode(
                inner: takeID(), level: node.level, Array(all[start ..< min(start + size, total)]), isChanged: true)
        }
    }
}

/// Deals elements out to builders of a given size.
private struct LeafCutter {
    let limit: Int
    let byteLimit: Int
    let make: (Int) -> ChunkBuilder
    private(set) var builders: [ChunkBuilder] = []

    init(limit: Int, byteLimit: Int, make: @escaping (Int) -> ChunkBuilder) {
        self.limit = limit
        self.byteLimit = byteLimit
        self.make = make
    }

    mutating func start(with builder: ChunkBuilder) { builders.append(builder) }

    /// Where the next element goes.
    mutating func next() -> ChunkBuilder {
        if let last = builders.last, last.count < limit, last.heapBytes < byteLimit { return last }
        let next = make(limit)
        builders.append(next)
        return next
    }
}
