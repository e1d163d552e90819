/// Bytes that values borrow while a batch is put together: texts without their escapes, decoded data.
///
/// Addresses stay until `reset`, which keeps the blocks for the next batch.
final class ByteArena {
    private static let blockBytes = 1 << 16
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private var current = 0
    private var used = 0
    /// Handed out since the last reset.
    private(set) var count = 0

    deinit { for block in blocks { block.deallocate() } }

    func allocate(_ size: Int) -> UnsafeMutablePointer<UInt8> {
        count += size
        while current < blocks.count, blocks[current].count - used < size {
            current += 1
            used = 0
        }
        if current == blocks.count {
            blocks.append(.allocate(byteCount: max(size, Self.blockBytes), alignment: 8))
            used = 0
        }
        // unsafelyUnwrapped: a block has at least `blockBytes`.
        let place = (blocks[current].baseAddress.unsafelyUnwrapped + used).assumingMemoryBound(to: UInt8.self)
        used += size
        return place
    }

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let place = allocate(bytes.count)
        UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(from: bytes)
        return UnsafeRawBufferPointer(start: place, count: bytes.count)
    }

    func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { copy($0) } }

    func reset() {
        // A value of many megabytes does not stay with the batches after it.
        while let last = blocks.last, last.count > 16 * Self.blockBytes {
            last.deallocate()
            blocks.removeLast()
        }
        current = 0
        used = 0
        count = 0
    }
}
