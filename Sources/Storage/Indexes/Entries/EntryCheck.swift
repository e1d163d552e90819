/// An index of fixed entries against the rows it is of: weighed first; if that shows a difference, the entries that may
/// be wrong are sorted and compared one by one.
import MotteValues

final class EntryCheck: IndexChecking {
    private let form: EntryForm
    private let balance = EntryBalance()
    /// Rows come a second time: entries are kept.
    private var isKeeping = false
    private var values: [IndexEntry] = []
    private var nulls: [UInt64] = []

    init(_ form: EntryForm) { self.form = form }

    func add(_ value: ValueView, _ key: Int64) {
        form.forEachEntry(of: value) { value in
            let entry = IndexEntry(value: value.raw, key: UInt64(bitPattern: key))
            let hash = value.isNull ? balance.hash(null: entry.key) : balance.hash(entry)
            guard isKeeping else { return balance.add(hash) }
            guard balance.isUneven(hash) else { return }
            if value.isNull { nulls.append(entry.key) } else { values.append(entry) }
        }
    }

    func add(_ rows: IndexedRows) {
        rows.forEach { value, key in add(value, key.rawValue) }
    }

    func finish(_ reader: any IndexReading, _ letGo: () -> Void) throws(DatabaseError) -> IndexFindings? {
        guard let reader = reader as? IndexReader else { return IndexFindings() }
        if isKeeping { return try compare(reader, letGo) }
        let findings = try weigh(reader, letGo)
        if findings.isOutOfOrder || balance.isEven { return findings }
        isKeeping = true
        return nil
    }

    private func weigh(_ reader: IndexReader, _ letGo: () -> Void) throws(DatabaseError) -> IndexFindings {
        var findings = IndexFindings()
        var last = IndexEntry.lowest
        try reader.values.forEachBlock(letGo) { block in
            for index in 0 ..< block.count {
                let entry = block.entry(index)
                if entry < last {
                    findings.isOutOfOrder = true
                    return false
                }
                last = entry
                balance.take(balance.hash(entry))
            }
            findings.entries += block.count
            return true
        }
        if findings.isOutOfOrder { return findings }
        try reader.nulls.forEachBlock(letGo) { block in
            for index in 0 ..< block.count { balance.take(balance.hash(null: block.entry(index).key)) }
            findings.entries += block.count
            return true
        }
        return findings
    }

    private func compare(_ reader: IndexReader, _ letGo: () -> Void) throws(DatabaseError) -> IndexFindings {
        values.sort()
        nulls.sort()
        var findings = IndexFindings()
        var position = 0
        try reader.values.forEachBlock(letGo) { block in
            findings.entries += block.count
            for index in 0 ..< block.count where balance.isUneven(balance.hash(block.entry(index))) {
                let entry = block.entry(index)
                while position < values.count, values[position] < entry {
                    findings.lacks(Int64(bitPattern: values[position].key))
                    position += 1
                }
                if position < values.count, values[position] == entry {
                    position += 1
                } else {
                    findings.hasTooMuch(Int64(bitPattern: entry.key))
                }
            }
            return true
        }
        for entry in values[position...] { findings.lacks(Int64(bitPattern: entry.key)) }
        var stored: [UInt64] = []
        try reader.nulls.forEachBlock(letGo) { block in
            findings.entries += block.count
            for index in 0 ..< block.count {
                let key = block.entry(index).key
                if balance.isUneven(balance.hash(null: key)) { stored.append(key) }
            }
            return true
        }
        compareNulls(stored, &findings)
        return findings
    }

    private func compareNulls(_ stored: [UInt64], _ findings: inout IndexFindings) {
        var left = 0
        var right = 0
        while left < stored.count || right < nulls.count {
            if right == nulls.count || (left < stored.count && stored[left] < nulls[right]) {
                findings.hasTooMuch(Int64(bitPattern: stored[left]))
                left += 1
            } else if left == stored.count || nulls[right] < stored[left] {
                findings.lacks(Int64(bitPattern: nulls[right]))
                right += 1
            } else {
                left += 1
                right += 1
            }
        }
    }
}
