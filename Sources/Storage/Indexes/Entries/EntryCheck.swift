/// An index of fixed entries against the rows it is of: both as sorted entries, compared one by one.
import MotteValues

final class EntryCheck: IndexChecking {
    private let form: EntryForm
    private var values: [IndexEntry] = []
    private var nulls: [Int64] = []

    init(_ form: EntryForm) { self.form = form }

    func add(_ value: ValueView, _ key: Int64) {
        form.forEachEntry(of: value) { value in
            if value.isNull {
                nulls.append(key)
            } else {
                values.append(IndexEntry(value: value.raw, key: UInt64(bitPattern: key)))
            }
        }
    }

    func add(_ rows: IndexedRows) {
        rows.forEach { value, key in add(value, key.rawValue) }
    }

    func finish(_ reader: any IndexReading) throws(DatabaseError) -> IndexFindings {
        values.sort()
        nulls.sort()
        let view = IndexView(reader as? IndexReader)
        var findings = IndexFindings()
        var position = 0
        let walk = try view.makeWalk()
        var last: IndexEntry?
        while let batch = try walk.next() {
            findings.entries += batch.keys.count
            for slot in batch.keys.indices {
                let entry = IndexEntry(value: batch.values[slot], key: UInt64(bitPattern: batch.keys[slot]))
                if let last, entry < last {
                    findings.isOutOfOrder = true
                    return findings
                }
                last = entry
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
        }
        while position < values.count {
            findings.lacks(Int64(bitPattern: values[position].key))
            position += 1
        }
        var stored: [Int64] = []
        try view.keys(.null, into: &stored)
        findings.entries += stored.count
        compareNulls(stored, &findings)
        return findings
    }

    private func compareNulls(_ stored: [Int64], _ findings: inout IndexFindings) {
        var left = 0
        var right = 0
        while left < stored.count || right < nulls.count {
            if right == nulls.count || (left < stored.count && stored[left] < nulls[right]) {
                findings.hasTooMuch(stored[left])
                left += 1
            } else if left == stored.count || nulls[right] < stored[left] {
                findings.lacks(nulls[right])
                right += 1
            } else {
                left += 1
                right += 1
            }
        }
    }
}
