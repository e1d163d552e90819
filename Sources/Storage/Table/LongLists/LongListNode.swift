/// A node of a long list that a write has opened: children, or elements in a builder. What has not been opened stays in
/// the file, known by its id and count alone.
import MotteColumns
import MotteValues

final class LongListNode {
    struct Child {
        let id: UInt32
        var count: Int
        /// nil until an edit goes through it.
        var node: LongListNode?
    }

    let id: UInt32
    /// 0 for leaves.
    private(set) var level: Int
    var children: [Child]
    private(set) var elements: ChunkBuilder?
    /// Whether the commit has to write it.
    private(set) var isChanged: Bool
    private var encoded: UnsafeMutableRawBufferPointer?
    private var longTexts: LongTexts?

    init(leaf id: UInt32, _ elements: ChunkBuilder, isChanged: Bool) {
        self.id = id
        level = 0
        children = []
        self.elements = elements
        self.isChanged = isChanged
    }

    init(inner id: UInt32, level: Int, _ children: [Child], isChanged: Bool) {
        self.id = id
        self.level = level
        self.children = children
        self.isChanged = isChanged
    }

    deinit { encoded?.deallocate() }

    var count: Int { elements?.count ?? children.reduce(0) { $0 + $1.count } }
    var child: Child { Child(id: id, count: count, node: self) }

    func markChanged() {
        isChanged = true
        encoded?.deallocate()
        encoded = nil
    }

    func replaceElements(_ builder: ChunkBuilder) {
        elements = builder
        markChanged()
    }

    /// The root takes the place of its only child, or becomes the parent of what was its own.
    func replaceChildren(_ children: [Child], level: Int) {
        self.children = children
        self.level = level
        markChanged()
    }

    /// A leaf's elements as readers of chunks want them; valid until its next change.
    func chunk(_ kind: ColumnKind, _ long: (any LongTextSource)?) throws(DatabaseError) -> ColumnChunk {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        if encoded == nil, let elements {
            let bytes = elements.encode(key: none)
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
            copy.copyBytes(from: bytes)
            encoded = copy
        }
        return try ColumnChunk(
            validating: UnsafeRawBufferPointer(encoded ?? UnsafeMutableRawBufferPointer(start: nil, count: 0)),
            kind: kind, key: none, long: long, keeping: &longTexts)
    }

    func encode(key: [UInt8], nextID: UInt32) -> [UInt8] {
        if let elements { return key.withUnsafeBytes { elements.encode(key: $0) } }
        return LongListInner.encode(
            level: level, nextID: nextID, children: children.map { ($0.id, $0.count) }, key: key)
    }
}
