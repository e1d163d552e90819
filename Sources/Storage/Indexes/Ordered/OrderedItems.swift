/// Entries of an ordered index with their bytes whole, in order: what blocks are taken apart into and made of.
import MotteValues

package struct OrderedItem {
    /// In the bytes of its `OrderedItems`.
    let offset: Int
    let count: Int
    package let key: UInt64
}

package final class OrderedItems {
    private var storage = UnsafeMutableRawPointer.allocate(byteCount: 4_096, alignment: 8)
    private var capacity = 4_096
    private var used = 0
    package private(set) var list: ContiguousArray<OrderedItem> = []

    package init() {}

    deinit { storage.deallocate() }

    var isEmpty: Bool { list.isEmpty }
    package var count: Int { list.count }

    /// Good until the next change.
    @inline(__always)
    package func bytes(_ item: OrderedItem) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: storage + item.offset, count: item.count)
    }

    private func reserve(_ more: Int) {
        guard used + more > capacity else { return }
        capacity = max(capacity * 2, used + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        larger.copyMemory(from: storage, byteCount: used)
        storage.deallocate()
        storage = larger
    }

    /// Behind all others. The bytes are not of this.
    package func append(_ bytes: UnsafeRawBufferPointer, _ key: UInt64) {
        if let last = list.last, last.count == bytes.count, OrderedReader.compare(self.bytes(last), bytes) == 0 {
            list.append(OrderedItem(offset: last.offset, count: last.count, key: key))
            return
        }
        reserve(bytes.count)
        if let start = bytes.baseAddress { (storage + used).copyMemory(from: start, byteCount: bytes.count) }
        list.append(OrderedItem(offset: used, count: bytes.count, key: key))
        used += bytes.count
    }

    package func append(_ block: OrderedBlock) {
        list.reserveCapacity(list.count + block.entryCount)
        var last = 0
        block.forEachGroup { group in
            let size = group.shared + group.suffix.count
            reserve(size)
            let place = storage + used
            place.copyMemory(from: storage + last, byteCount: group.shared)
            if let start = group.suffix.baseAddress {
                (place + group.shared).copyMemory(from: start, byteCount: group.suffix.count)
            }
            last = used
            used += size
            for index in 0 ..< group.count {
                list.append(OrderedItem(offset: last, count: size, key: group.key(index)))
            }
            return true
        }
    }

    func keep(_ isWanted: (UnsafeRawBufferPointer) -> Bool) { list.removeAll { !isWanted(bytes($0)) } }

    /// The order of entries.
    package static func compare(
        _ left: UnsafeRawBufferPointer, _ leftKey: UInt64, _ right: UnsafeRawBufferPointer, _ rightKey: UInt64
    ) -> Int {
        let order = OrderedReader.compare(left, right)
        return order != 0 ? order : leftKey < rightKey ? -1 : leftKey == rightKey ? 0 : 1
    }

    /// The bytes that page keys are cut from: those of an entry and its key behind them.
    func whole(_ item: OrderedItem) -> [UInt8] {
        var result = [UInt8](bytes(item))
        withUnsafeBytes(of: item.key.bigEndian) { result.append(contentsOf: $0) }
        return result
    }
}
