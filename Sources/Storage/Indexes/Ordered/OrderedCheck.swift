/// An ordered index against the rows it is of: weighed first; if that shows a difference, the entries that may be wrong
/// are sorted and compared one by one.
import MotteValues

final class OrderedCheck: IndexChecking {
    private let parameters: OrderedParameters
    private let balance = EntryBalance()
    /// Where rows come a second time.
    private var wanted: OrderedItems?

    init(_ parameters: OrderedParameters) { self.parameters = parameters }

    func add(_ rows: IndexedRows) {
        var bytes: [UInt8] = []
        for row in 0 ..< rows.count where rows.isLive(row) {
            bytes.removeAll(keepingCapacity: true)
            for (place, column) in parameters.columns.enumerated() {
                OrderedBytes.append(rows.value(place, row), column, to: &bytes)
            }
            let key = UInt64(bitPattern: rows.key(row))
            bytes.withUnsafeBytes { bytes in
                let stored = UnsafeRawBufferPointer(rebasing: bytes.prefix(OrderedBytes.longest))
                let hash = balance.hash(stored, key)
                guard let wanted else { return balance.add(hash) }
                if balance.isUneven(hash) { wanted.append(stored, key) }
            }
        }
    }

    func finish(_ reader: any IndexReading, _ letGo: () -> Void) throws(DatabaseError) -> IndexFindings? {
        guard let reader = reader as? OrderedReader else { return IndexFindings() }
        if let wanted {
            let comparison = OrderedComparison(wanted, balance)
            try reader.forEachBlock(letGo) { comparison.take($0) }
            comparison.finish()
            return comparison.findings
        }
        let weighing = OrderedWeighing(balance)
        try reader.forEachBlock(letGo) { weighing.take($0) }
        if weighing.findings.isOutOfOrder || balance.isEven { return weighing.findings }
        wanted = OrderedItems()
        return nil
    }
}

/// Stored entries, which come block after block, taken from those of the rows.
private final class OrderedWeighing {
    private let balance: EntryBalance
    private var lastBytes: [UInt8] = []
    private var lastKey: UInt64?
    private(set) var findings = IndexFindings()

    init(_ balance: EntryBalance) { self.balance = balance }

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
            balance.take(balance.hash(bytes, item.key))
        }
        return true
    }
}

/// Entries of uneven parts as they should be, and those that are stored.
private final class OrderedComparison {
    private let wanted: OrderedItems
    private let balance: EntryBalance
    private let expected: ContiguousArray<OrderedItem>
    private var position = 0
    private(set) var findings = IndexFindings()

    init(_ wanted: OrderedItems, _ balance: EntryBalance) {
        self.wanted = wanted
        self.balance = balance
        expected = ContiguousArray(
            wanted.list.sorted { left, right in
                OrderedItems.compare(wanted.bytes(left), left.key, wanted.bytes(right), right.key) < 0
            })
    }

    func take(_ block: OrderedBlock) -> Bool {
        let items = OrderedItems()
        items.append(block)
        findings.entries += items.count
        for item in items.list where balance.isUneven(balance.hash(items.bytes(item), item.key)) {
            compare(items.bytes(item), item.key)
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
