/// What an ordered index answers: everything that is a range of its bytes, from the index alone.
import MotteValues

struct OrderedAnswers: IndexAnswering {
    private let columns: [OrderedColumn]
    private let reader: OrderedReader?
    private let writer: OrderedWriter?

    init(_ columns: [OrderedColumn], _ reader: OrderedReader?, _ writer: OrderedWriter?) {
        self.columns = columns
        self.reader = reader
        self.writer = writer
    }

    func entryCount() throws(DatabaseError) -> Int { try count(.everything, most: .max) }

    private func count(_ span: OrderedSpan, most: Int) throws(DatabaseError) -> Int {
        guard let writer, !writer.isEmpty else { return try reader?.count(in: span, most: most) ?? 0 }
        let balance = writer.changes(in: span).reduce(0) { $0 + ($1.isRemoved ? -1 : 1) }
        // Those that went are still among those that are stored.
        let stored = try reader?.count(in: span, most: most == .max || balance >= 0 ? most : .max) ?? 0
        return stored + balance
    }

    func estimate(_ question: IndexQuestion, most: Int) throws(DatabaseError) -> IndexEstimate? {
        guard let span = OrderedSpan.make(question, columns) else { return nil }
        return IndexEstimate(rows: try count(span, most: most), isCounted: true, isExact: span.isExact)
    }

    func keys(
        _ question: IndexQuestion, order: IndexOrder, limit: Int, into keys: inout [Int64]
    ) throws(DatabaseError) {
        guard let span = OrderedSpan.make(question, columns) else {
            throw DatabaseError(.internal, "an index was asked what it does not answer")
        }
        guard limit > 0 else { return }
        let changes = writer?.changes(in: span) ?? []
        if changes.isEmpty {
            switch order {
            case .byKey:
                var found: [Int64] = []
                try reader?.appendKeys(in: span, to: &found)
                // Those of one value are in order.
                if !zip(found, found.dropFirst()).allSatisfy({ $0 <= $1 }) { found.sort() }
                keys += found.prefix(limit)
            case .ascending: try reader?.appendKeys(in: span, to: &keys, limit: limit)
            case .descending: try reader?.appendKeysBackwards(in: span, to: &keys, limit: limit)
            }
            return
        }
        let items = try merged(span, changes)
        switch order {
        case .byKey: keys += items.list.map { Int64(bitPattern: $0.key) }.sorted().prefix(limit)
        case .ascending: keys += items.list.prefix(limit).map { Int64(bitPattern: $0.key) }
        case .descending:
            var end = items.count
            var found: [Int64] = []
            while end > 0, found.count < limit {
                var start = end - 1
                while start > 0, items.list[start - 1].offset == items.list[end - 1].offset { start -= 1 }
                for item in items.list[start ..< end] { found.append(Int64(bitPattern: item.key)) }
                end = start
            }
            keys += found.prefix(limit)
        }
    }

    func firstOfEach(_ question: IndexQuestion, columns wanted: Int) throws(DatabaseError) -> [Int64]? {
        guard wanted > 0, wanted <= columns.count, let span = OrderedSpan.make(question, columns), span.isExact else {
            return nil
        }
        let changes = writer?.changes(in: span) ?? []
        var found = OrderedCombinations(columns, wanted)
        if changes.isEmpty {
            guard let reader else { return [] }
            found = try reader.combinations(in: span, columns, wanted: wanted)
        } else {
            let items = try merged(span, changes)
            for item in items.list where found.isKnown { found.take(items.bytes(item), shared: 0, item.key) }
        }
        return found.isKnown ? found.keys : nil
    }

    /// The stored entries with what a write has changed.
    private func merged(_ span: OrderedSpan, _ changes: [OrderedChanges.Change]) throws(DatabaseError) -> OrderedItems {
        let stored = try reader?.items(in: span) ?? OrderedItems()
        let result = OrderedItems()
        var position = 0
        for change in changes {
            while position < stored.count {
                let item = stored.list[position]
                let order = OrderedItems.compare(stored.bytes(item), item.key, change.bytes, change.key)
                if order < 0 { result.append(stored.bytes(item), item.key) }
                if order > 0 { break }
                position += 1
            }
            if !change.isRemoved { result.append(change.bytes, change.key) }
        }
        for item in stored.list[position...] { result.append(stored.bytes(item), item.key) }
        return result
    }

    /// Of another object than `own`.
    func firstKey(beginningWith bytes: [UInt8], except own: Int64?) throws(DatabaseError) -> Int64? {
        let span = OrderedSpan(low: bytes, high: OrderedBytes.successor(bytes))
        var changed: Set<Int64> = []
        for change in writer?.changes(in: span) ?? [] {
            let key = Int64(bitPattern: change.key)
            if !change.isRemoved, key != own { return key }
            changed.insert(key)
        }
        var keys: [Int64] = []
        // One that is its own, and one for each that has gone.
        try reader?.appendKeys(in: span, to: &keys, limit: changed.count + 2)
        return keys.first { $0 != own && !changed.contains($0) }
    }
}
