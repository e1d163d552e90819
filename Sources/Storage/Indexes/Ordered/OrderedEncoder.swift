/// Makes blocks of an ordered index out of entries in order.
import MottePages
import MotteValues

package struct OrderedEncoder {
    static let defaultBlockBytes = IndexBlockEncoder.defaultBlockBytes
    let blockBytes: Int
    /// What all page keys of the index begin with.
    let prefix: [UInt8]

    package init(prefix: [UInt8], blockBytes: Int = OrderedEncoder.defaultBlockBytes) {
        self.prefix = prefix
        self.blockBytes = blockBytes
    }

    /// Entries with the same bytes.
    private struct Run {
        var range: Range<Int>
        var shared: Int
    }

    private static func numberSize(_ value: UInt64) -> Int { max(1, (70 - (value | 1).leadingZeroBitCount) / 7) }

    static func width(_ difference: UInt64) -> Int { (71 - (difference | 1).leadingZeroBitCount) / 8 }

    private static func size(_ items: OrderedItems, _ run: Run) -> Int {
        let first = items.list[run.range.lowerBound], last = items.list[run.range.upperBound - 1]
        return groupSize(run.shared, first.count, first.key, last.key, run.range.count)
    }

    /// Of a group of `length` bytes, of which `shared` are those of the group before, and of `count` keys.
    @inline(__always)
    static func groupSize(_ shared: Int, _ length: Int, _ first: UInt64, _ last: UInt64, _ count: Int) -> Int {
        let suffix = length - shared
        let head =
            numberSize(UInt64(shared)) + numberSize(UInt64(suffix)) + suffix + numberSize(UInt64(count))
            + numberSize(first)
        return count > 1 ? head + 1 + (count - 1) * width(last &- first) : head
    }

    private static func shared(_ items: OrderedItems, _ left: Int, _ right: Int) -> Int {
        let one = items.bytes(items.list[left]), two = items.bytes(items.list[right])
        return OrderedBlockFiller.shared(one, two)
    }

    /// The run that begins at `start`: of the entries before `end`, those with its bytes.
    private static func run(_ items: OrderedItems, _ start: Int, _ end: Int, isFirst: Bool) -> Run {
        let offset = items.list[start].offset
        var next = start + 1
        // Equal bytes are kept once.
        while next < end, items.list[next].offset == offset { next += 1 }
        return Run(range: start ..< next, shared: isFirst ? 0 : shared(items, start - 1, start))
    }

    /// What all of it would take in one block.
    func size(_ items: OrderedItems) -> Int {
        var size = OrderedBlock.headerSize
        var start = 0
        while start < items.count {
            let run = Self.run(items, start, items.count, isFirst: start == 0)
            size += Self.size(items, run)
            start = run.range.upperBound
        }
        return size
    }

    /// How many of the entries from `start` on make the next block of at most `limit` bytes.
    private func fill(_ items: OrderedItems, from start: Int, limit: Int) -> Int {
        var size = OrderedBlock.headerSize
        var next = start
        var groups = 0
        while next < items.count, groups < Int(UInt16.max) {
            var run = Self.run(items, next, items.count, isFirst: next == start)
            let whole = Self.size(items, run)
            if size + whole <= limit {
                size += whole
                next = run.range.upperBound
                groups += 1
                continue
            }
            // As many of its keys as there is room for.
            var low = 0, high = run.range.count
            while low < high {
                let middle = (low + high + 1) / 2
                run.range = next ..< next + middle
                if size + Self.size(items, run) <= limit { low = middle } else { high = middle - 1 }
            }
            next += low
            break
        }
        // One fits in any case.
        return max(next, start + 1) - start
    }

    /// Puts blocks of about the same size for all entries, of which the first has the page key of `bound`.
    package func put(_ items: OrderedItems, bound: [UInt8], into batch: inout PageBatch) {
        let total = size(items)
        let parts = (total + blockBytes - 1) / blockBytes
        let limit = parts > 1 ? min(blockBytes, total / parts + blockBytes / 16) : blockBytes
        var start = 0
        var bound = bound
        while start < items.count {
            let end = start + fill(items, from: start, limit: limit)
            let pageKey = prefix + bound
            batch.put(pageKey, encode(items, start ..< end, pageKey))
            if end < items.count { bound = separator(items, end) }
            start = end
        }
    }

    /// The shortest bytes above the entry before and not above this one.
    private func separator(_ items: OrderedItems, _ index: Int) -> [UInt8] {
        let before = items.whole(items.list[index - 1]), this = items.whole(items.list[index])
        var same = 0
        while same < min(before.count, this.count), before[same] == this[same] { same += 1 }
        return Array(this.prefix(same + 1))
    }

    private func encode(_ items: OrderedItems, _ range: Range<Int>, _ pageKey: [UInt8]) -> [UInt8] {
        // There is always room for one entry.
        [UInt8](unsafeUninitializedCapacity: OrderedBlockOutput.room(blockBytes)) { buffer, initialized in
            guard let place = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
            var block = OrderedBlockOutput(place)
            var keys: ContiguousArray<UInt64> = []
            var start = range.lowerBound
            while start < range.upperBound {
                let run = Self.run(items, start, range.upperBound, isFirst: start == range.lowerBound)
                keys.removeAll(keepingCapacity: true)
                for item in items.list[run.range] { keys.append(item.key) }
                keys.withUnsafeBufferPointer {
                    block.write(items.bytes(items.list[start]), shared: run.shared, keys: $0)
                }
                start = run.range.upperBound
            }
            initialized = block.seal(pageKey).count
        }
    }
}
