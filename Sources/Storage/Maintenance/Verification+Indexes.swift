/// An index against the rows it is of: both as sorted entries, compared one by one.
import MotteValues

/// What the rows of a column say that their index must hold.
struct ColumnEntries {
    private(set) var values: [IndexEntry] = []
    private(set) var nulls: [Int64] = []

    mutating func add(_ value: IndexValue, _ key: Int64) {
        if value.isNull {
            nulls.append(key)
        } else {
            values.append(IndexEntry(value: value.raw, key: UInt64(bitPattern: key)))
        }
    }

    mutating func sort() {
        values.sort()
        nulls.sort()
    }
}

/// Counts what one of two sorted sequences lacks.
private struct IndexComparison {
    var missing = 0
    var surplus = 0
    var example: UInt64?

    mutating func lacks(_ entry: IndexEntry) {
        missing += 1
        if example == nil { example = entry.key }
    }

    mutating func hasTooMuch(_ entry: IndexEntry) {
        surplus += 1
        if example == nil { example = entry.key }
    }
}

extension VerificationWalk {
    mutating func check(_ index: IndexKey, _ rows: ColumnEntries, _ name: String) throws(DatabaseError) {
        var rows = rows
        rows.sort()
        let view = try source.indexView(index)
        var comparison = IndexComparison()
        var position = 0
        let walk = try view.makeWalk()
        var last: IndexEntry?
        while let batch = try walk.next() {
            report.indexEntries += batch.keys.count
            for slot in batch.keys.indices {
                let entry = IndexEntry(value: batch.values[slot], key: UInt64(bitPattern: batch.keys[slot]))
                if let last, entry < last { return note("the \(name) is out of order") }
                last = entry
                while position < rows.values.count, rows.values[position] < entry {
                    comparison.lacks(rows.values[position])
                    position += 1
                }
                if position < rows.values.count, rows.values[position] == entry {
                    position += 1
                } else {
                    comparison.hasTooMuch(entry)
                }
            }
        }
        while position < rows.values.count {
            comparison.lacks(rows.values[position])
            position += 1
        }
        var nulls: [Int64] = []
        try view.keys(.null, into: &nulls)
        report.indexEntries += nulls.count
        compare(nulls, rows.nulls, &comparison)
        guard comparison.missing + comparison.surplus > 0 else { return }
        let key = comparison.example.map { ", the first for object \($0)" } ?? ""
        note(
            "the \(name) lacks \(comparison.missing) entries and has \(comparison.surplus) that belong to "
                + "nothing\(key)")
    }

    private func compare(_ stored: [Int64], _ rows: [Int64], _ comparison: inout IndexComparison) {
        var left = 0
        var right = 0
        func entry(_ key: Int64) -> IndexEntry { IndexEntry(value: 0, key: UInt64(bitPattern: key)) }
        while left < stored.count || right < rows.count {
            if right == rows.count || (left < stored.count && stored[left] < rows[right]) {
                comparison.hasTooMuch(entry(stored[left]))
                left += 1
            } else if left == stored.count || rows[right] < stored[left] {
                comparison.lacks(entry(rows[right]))
                right += 1
            } else {
                left += 1
                right += 1
            }
        }
    }
}
