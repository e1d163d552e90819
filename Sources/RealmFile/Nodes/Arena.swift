/// Memory for nodes and values, given up all at once. Addresses stay until `reset`, which keeps the smaller blocks.
import MotteValues

final class Arena {
    private static let firstBytes = 4 << 10
    private static let blockBytes = 64 << 10
    /// Blocks above that are given back at once.
    private static let keptBytes = 1 << 20
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private var current = 0
    private var next: UnsafeMutableRawPointer?
    private var room = 0
    /// Handed out since the last reset.
    private(set) var count = 0

    deinit { for block in blocks { block.deallocate() } }

    /// At least eight bytes, at a multiple of eight.
    func allocate(_ size: Int) -> UnsafeMutableRawPointer {
        let rounded = max(8, (size + 7) & ~7)
        count += rounded
        if rounded <= room, let place = next {
            next = place + rounded
            room -= rounded
            return place
        }
        return allocateInNextBlock(rounded)
    }

    private func allocateInNextBlock(_ size: Int) -> UnsafeMutableRawPointer {
        if next != nil { current += 1 }
        while current < blocks.count, blocks[current].count < size { current += 1 }
        if current == blocks.count {
            blocks.append(
                .allocate(byteCount: max(size, blocks.isEmpty ? Self.firstBytes : Self.blockBytes), alignment: 16))
        }
        // unsafelyUnwrapped: a block has at least `firstBytes`.
        let place = blocks[current].baseAddress.unsafelyUnwrapped
        next = place + size
        room = blocks[current].count - size
        return place
    }

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let place = allocate(bytes.count)
        UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(from: bytes)
        return UnsafeRawBufferPointer(start: place, count: bytes.count)
    }

    func reset() {
        guard count > 0 else { return }
        if count > Self.keptBytes {
            var kept = 0
            blocks.removeAll { block in
                let goes = kept + block.count > Self.keptBytes
                if goes { block.deallocate() } else { kept += block.count }
                return goes
            }
        }
        current = 0
        next = nil
        room = 0
        count = 0
    }
}
