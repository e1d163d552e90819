/// A leaf of ObjectIds or UUIDs, in blocks of eight: a byte of null bits, then the values.
import MotteValues

struct IdentifierLeaf {
    let count: Int
    private let start: UnsafeRawPointer
    private let size: Int

    /// `size`: bytes of each.
    init(_ node: Node, size: Int) throws(DatabaseError) {
        try node.multiplied("a leaf of identifiers")
        guard node.width == 1 || node.count == 0 else { throw node.unlike("a leaf of identifiers") }
        let block = 8 * size + 1
        let blocks = (node.count + block - 1) / block
        count = (node.count - blocks) / size
        guard node.count == count * size + (count + 7) / 8 else {
            throw node.damage("a leaf of identifiers has \(node.count) bytes")
        }
        start = node.start
        self.size = size
    }

    /// nil: null.
    @inline(__always)
    func value(_ index: Int) -> UnsafeRawBufferPointer? {
        let block = start + (index >> 3) &* (8 &* size &+ 1)
        if block.load(as: UInt8.self) >> UInt8(index & 7) & 1 == 1 { return nil }
        return UnsafeRawBufferPointer(start: block + 1 + (index & 7) &* size, count: size)
    }
}
