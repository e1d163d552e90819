/// Memory for copies of chunks whose page address does not outlive their snapshot, aligned to 16 bytes.
///
/// Narrow columns' chunks sit inline in B-tree leaves, where they are only 2-byte aligned and move when a neighbour
/// changes. Copied here on first touch they may be carried to later versions like any stable chunk. Freed as a whole.
final class ChunkArena {
    private let slabSize: Int
    private var slabs: [UnsafeMutableRawPointer] = []
    private var free = 0
    private var next: UnsafeMutableRawPointer?
    private(set) var bytesUsed = 0

    init(slabSize: Int = 64 << 10) { self.slabSize = slabSize }

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let size = (bytes.count + 15) & ~15
        if size > free || next == nil { addSlab(atLeast: size) }
        guard let start = next, let source = bytes.baseAddress else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        start.copyMemory(from: source, byteCount: bytes.count)
        next = start + size
        free -= size
        bytesUsed += size
        return UnsafeRawBufferPointer(start: start, count: bytes.count)
    }

    private func addSlab(atLeast size: Int) {
        let capacity = max(size, slabSize)
        let slab = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        slabs.append(slab)
        next = slab
        free = capacity
    }

    deinit { for slab in slabs { slab.deallocate() } }
}
