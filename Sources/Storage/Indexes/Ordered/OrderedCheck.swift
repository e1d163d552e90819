/// An ordered index against the rows it is of: both as sorted entries, compared one by one.
import MotteValues

final class OrderedCheck: IndexChecking {
    private let parameters: OrderedParameters
    private let wanted = OrderedItems()

    init(_ parameters: OrderedParameters) { self.parameters = parameters }

    func add(_ rows: IndexedRows) {
        var bytes: [UInt8] = []
        for row in 0 ..< rows.count where rows.isLive(row) {
            bytes.removeAll(keepingCapacity: true)
            for (place, column) in parameters.columns.enumerated() {
                OrderedBytes.append(rows.value(place, row), column, to: &bytes)
            }
            bytes.withUnsafeBytes {
                wanted.append(
                    UnsafeRawBufferPointer(rebasing: $0.prefix(OrderedBytes.longest)), UInt64(bitPattern: rows.key(row))
                )
            }
        }
    }

    func finish(_ reader: any IndexReading) throws(DatabaseError) -> IndexFindings {
        guard let reader = reader as? OrderedReader else { return IndexFindings() }
        let comparison = OrderedComparison(wanted)
        try reader.forEachBlock(in: .everything) { block, _ in comparison.take(block) }
        if !comparison.findings.isOutOfOrder { comparison.finish() }
        return comparison.findings
    }
}

/// Entries as they should be, and those that are stored, which come block after block.
private final class OrderedComparison {
    private let wanted: OrderedItems
    private let expected: ContiguousArray<OrderedItem>
    private var position = 0
    private var lastBytes: [UInt8] = []
    private var lastKey: UInt64?
    private(set) var findings = IndexFindings()

    init(_ wanted: OrderedItems) {
        self.wanted = wanted
        expected = ContiguousArray(
            wanted.list.sorted { left, right in
                OrderedItems.compare(wanted.bytes(left), left.key, wanted.bytes(right), right.key) < 0
            })
    }

    /// False where entries are not in order, so that there is nothing more to compare.
    func take(_ block: OrderedBlock) -> Bool {
        let items = OrderedItems()
        items.append(block)
        findings.entries += items.count
        for item in items.list {
            let bytes = items.bytes(item)
            if let lastKey,
                lastBytes.withUnsafeBytes({ OrderedItems.compare($0, lastKey, bytes, item.key) }) >= 0
            {
                findings.isOutOfOrder = true
                return false
            }
            lastBytes.removeAll(keepingCapacity: true)
            lastBytes.append(contentsOf: bytes)
            lastKey = item.key
            compare(bytes, item.key)
        }
        return true
    }

    private func compare(_ bytes: UnsafeRawBufferPointer, _ key: UInt64) {
        while position < expected.count {
            let next = expected[position]
            let order = OrderedItems.compare(wanted.bytes(next), next.key, bytes, key)
            if order > 0 { break }
            position += 1
            if order == 0 { return }
            findings.lacks(Int64(bitPattern: next.key))
        }
        findings.hasTooMuch(Int64(bitPattern: key))
    }

    func finish() {
        for item in expected[position...] { findings.lacks(Int64(bitPattern: item.key)) }
    }
}
