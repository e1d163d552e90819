/// Makes full blocks of an ordered index out of entries that come in order, and keeps no more than one block and one
/// group: what an index is built with, and what comes behind all that there is.
///
/// Groups go into a block as long as it has room; of one that does not fit as many keys as do.
import MottePages
import MotteValues

package final class OrderedBlockFiller {
    private let prefix: [UInt8]
    private let limit: Int
    private var bound: [UInt8]
    private var block: OrderedBlockOutput
    /// The open group, and how many of its bytes are those of the one before.
    private let bytes: UnsafeMutableRawPointer
    private var count = 0
    private var shared = 0
    private var keys: ContiguousArray<UInt64> = []

    package init(prefix: [UInt8], bound: [UInt8], blockBytes: Int) {
        self.prefix = prefix
        self.bound = bound
        limit = blockBytes
        block = OrderedBlockOutput(.allocate(byteCount: OrderedBlockOutput.room(limit), alignment: 8))
        bytes = .allocate(byteCount: OrderedBytes.longest, alignment: 8)
    }

    deinit {
        block.start.deallocate()
        bytes.deallocate()
    }

    /// Bytes that are not below those before; of the same, a higher key.
    @inline(__always)
    package func append(_ next: UnsafeRawBufferPointer, _ key: UInt64, into batch: inout PageBatch) {
        let same = Self.shared(UnsafeRawBufferPointer(start: bytes, count: count), next)
        if !keys.isEmpty {
            if same == count, same == next.count {
                keys.append(key)
                return
            }
            closeGroup(into: &batch)
        }
        if let start = next.baseAddress, same < next.count {
            (bytes + same).copyMemory(from: start + same, byteCount: next.count - same)
        }
        count = next.count
        shared = same
        keys.append(key)
    }

    package func finish(into batch: inout PageBatch) {
        if !keys.isEmpty { closeGroup(into: &batch) }
        if block.groups > 0 { closeBlock(into: &batch) }
    }

    /// How many bytes both begin with.
    @inline(__always)
    static func shared(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let most = min(left.count, right.count)
        var same = 0
        while same &+ 8 <= most {
            let one = left.loadUnaligned(fromByteOffset: same, as: UInt64.self)
            let difference = one ^ right.loadUnaligned(fromByteOffset: same, as: UInt64.self)
            if difference != 0 { return same &+ UInt64(littleEndian: difference).trailingZeroBitCount / 8 }
            same &+= 8
        }
        while same < most, left[same] == right[same] { same &+= 1 }
        return same
    }

    // MARK: Groups

    private func closeGroup(into batch: inout PageBatch) {
        var start = 0
        while start < keys.count {
            let left = keys.count - start
            let fitting = block.groups == Int(UInt16.max) ? 0 : fitting(start, left)
            if fitting == 0, block.groups > 0 {
                closeBlock(into: &batch)
                bound = separator(start)
                continue
            }
            // One fits in any case.
            write(start ..< start + max(1, fitting))
            start += max(1, fitting)
            guard start < keys.count else { break }
            closeBlock(into: &batch)
            bound = separator(start)
        }
        keys.removeAll(keepingCapacity: keys.count < 4_096)
    }

    /// How many of the group's keys from `start` on fit into the block.
    private func fitting(_ start: Int, _ left: Int) -> Int {
        let shared = block.groups == 0 ? 0 : self.shared
        let room = limit - block.used
        if OrderedEncoder.groupSize(shared, count, keys[start], keys[start + left - 1], left) <= room { return left }
        var low = 0, high = left - 1
        while low < high {
            let middle = (low + high + 1) / 2
            let size = OrderedEncoder.groupSize(shared, count, keys[start], keys[start + middle - 1], middle)
            if size <= room { low = middle } else { high = middle - 1 }
        }
        return low
    }

    private func write(_ range: Range<Int>) {
        let shared = block.groups == 0 ? 0 : self.shared
        keys[range].withUnsafeBufferPointer {
            block.write(UnsafeRawBufferPointer(start: bytes, count: count), shared: shared, keys: $0)
        }
    }

    // MARK: Blocks

    private func closeBlock(into batch: inout PageBatch) {
        let pageKey = prefix + bound
        batch.put(pageKey, UnsafeRawBufferPointer(block.seal(pageKey)))
        block = OrderedBlockOutput(block.start)
    }

    /// The shortest bytes above what is behind and not above the group's key at `start`. No row's bytes are the
    /// beginning of another's.
    private func separator(_ start: Int) -> [UInt8] {
        var whole = [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
        if start == 0, shared < count { return Array(whole.prefix(shared + 1)) }
        withUnsafeBytes(of: keys[start].bigEndian) { whole.append(contentsOf: $0) }
        guard start > 0 else { return whole }
        let sameBits = (keys[start] ^ keys[start - 1]).leadingZeroBitCount
        return Array(whole.prefix(count + sameBits / 8 + 1))
    }
}
