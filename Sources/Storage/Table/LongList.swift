/// A long list as a write is changing it: the nodes that edits have gone through lie open in memory, the rest stays in
/// the file. An edit opens one path and changes one leaf, or two where leaves are split or joined; the commit writes
/// the changed nodes. Nothing is consumed by encoding it, so that a commit that fails leaves the edits as they are.
///
/// Knows nothing of links or of the change log: `WriteTransaction` keeps those in step. One thread.
import MotteColumns
import MottePages
import MotteValues

final class LongList {
    let reader: LongListReader
    private let shape: LongListShape
    private let longSource: WrittenLongValues?
    private var root: LongListNode?
    private var nextID: UInt32 = 1
    /// Nodes that the file has and the list does not need any more.
    private var freed: [UInt32] = []
    /// Every node that the file has is out of date: the list was emptied, or has left for its column's chunk.
    private var dropsStored = false
    private(set) var count = 0
    /// Whether a commit has something of it to write.
    private(set) var isChanged = false

    private var column: StoredColumn { reader.column }

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
    /// emptied meanwhile and began anew.
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

    private func child(_ index: Int, of parent: LongListNode) throws(DatabaseError) -> LongListNode {
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

    private func makeBuilder(capacity: Int) -> ChunkBuilder {
        ChunkBuilder(kind: column.kind, nullable: column.isNullable, capacity: capacity, long: longSource)
    }

    private func takeID() -> UInt32 {
        defer { nextID += 1 }
        return nextID
    }

    private func newLeaf(_ elements: ChunkBuilder) -> LongListNode {
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

    // MARK: Inserting

    /// Takes over the elements of a list that has outgrown its column's chunk.
    func fill(from elements: ChunkBuilder) throws(DatabaseError) {
        isChanged = true
        count = 0
        root = LongListNode(
            inner: 0, level: 1, [newLeaf(makeBuilder(capacity: shape.leafElements)).child], isChanged: true)
        try insert(ListValues(of: elements), at: 0)
    }

    func insert(_ values: ListValues, at index: Int) throws(DatabaseError) {
        guard let root, values.count > 0 else { return }
        guard nextID < UInt32.max - 1 << 24 else {
            throw DatabaseError(
                .valueTooLarge, "the list \(column.name) has been edited too often; clear and refill it")
        }
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

    // MARK: Changing and removing

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

    // MARK: Writing

    func encode(into batch: inout PageBatch) throws(DatabaseError) {
        if dropsStored { for key in try reader.storedKeys() { batch.delete(key) } }
        for id in freed { batch.delete(reader.key(id)) }
        if let root { encode(root, into: &batch) }
    }

    /// What the nodes that `encode` writes and deletes refer to.
    func balanceLongValues(_ balance: inout LongValueBalance) throws(DatabaseError) {
        if dropsStored {
            for key in try reader.storedKeys() { balance.remove(try reader.longReferences(key: key), column.key) }
        } else {
            for id in freed { balance.remove(try reader.longReferences(id), column.key) }
        }
        if let root { try balanceLongValues(of: root, &balance) }
    }

    private func balanceLongValues(
        of node: LongListNode, _ balance: inout LongValueBalance
    ) throws(DatabaseError) {
        if node.isChanged, let elements = node.elements {
            // Of a list that was emptied the file's node of this id is another one, and removed already.
            if !dropsStored { balance.remove(try reader.longReferences(node.id), column.key) }
            balance.add(elements.longReferences, column.key)
        }
        for child in node.children { if let open = child.node { try balanceLongValues(of: open, &balance) } }
    }

    private func encode(_ node: LongListNode, into batch: inout PageBatch) {
        if node.isChanged {
            let key = reader.key(node.id)
            batch.put(key, node.encode(key: key, nextID: node.id == 0 ? nextID : 0))
        }
        for child in node.children { if let open = child.node { encode(open, into: &batch) } }
    }
}

/// Elements on their way into a list: views, or rows of a builder, whose long values change hands.
struct ListValues {
    private let views: [ValueView]
    private let builder: ChunkBuilder?
    let count: Int

    init(_ views: [ValueView]) {
        self.views = views
        builder = nil
        count = views.count
    }

    init(of builder: ChunkBuilder) {
        views = []
        self.builder = builder
        count = builder.count
    }

    func append(_ index: Int, to target: ChunkBuilder) {
        if let builder { target.append(builder, index ..< index + 1) } else { target.append(views[index]) }
    }

    func insert(_ index: Int, into target: ChunkBuilder, at position: Int) {
        if position == target.count {
            append(index, to: target)
        } else if let builder {
            target.insert(builder, index, at: position)
        } else {
            target.insert(views[index], at: position)
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
