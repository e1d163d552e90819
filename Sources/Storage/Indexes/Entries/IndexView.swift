/// An index as a reader or a write transaction sees it: the committed entries with the pending changes on top.
///
/// Created with a reader (absent for an index that is being built) and, inside a write, the transaction's delta.
/// Keys come back ascending within a value. Unequal values may share an encoding, see `IndexValue.isExact`.
import MotteValues

package struct IndexView {
    private let reader: IndexReader?
    private let pending: IndexDelta?

    package init(_ reader: IndexReader?, _ delta: IndexDelta? = nil) {
        self.reader = reader
        pending = delta
    }

    /// nil while nothing is pending: a transaction that has not touched the index reads as fast as a snapshot.
    private var delta: IndexDelta? {
        guard let pending, !pending.isEmpty else { return nil }
        return pending
    }

    // MARK: One value

    /// The lowest key with the value.
    package func firstKey(_ value: IndexValue) throws(DatabaseError) -> ObjectKey? {
        let (lower, upper) = Self.bounds(value)
        guard let delta else { return try storedFirst(value.isNull, lower, upper).map(Self.objectKey) }
        if !Self.removed(delta, value.isNull, lower, upper) {
            let added = Self.firstAdded(delta, value.isNull, lower, upper)
            guard let stored = try storedFirst(value.isNull, lower, upper) else { return added.map(Self.objectKey) }
            guard let added else { return Self.objectKey(stored) }
            return Self.objectKey(min(added, stored))
        }
        var keys: [Int64] = []
        try appendKeys(value.isNull, lower, upper, to: &keys)
        return keys.first.map { ObjectKey($0) }
    }

    /// The same of committed entries alone, for who looks up one object after the other.
    static func firstKey(_ value: IndexValue, in reader: IndexReader) throws(DatabaseError) -> ObjectKey? {
        let (lower, upper) = bounds(value)
        guard let found = try (value.isNull ? reader.nulls : reader.values).first(from: lower), !(upper < found) else {
            return nil
        }
        return objectKey(found)
    }

    package func count(_ value: IndexValue) throws(DatabaseError) -> Int {
        let (lower, upper) = Self.bounds(value)
        return try count(value.isNull, lower, upper)
    }

    /// Appends the keys with the value, ascending.
    package func keys(_ value: IndexValue, into keys: inout [Int64]) throws(DatabaseError) {
        let (lower, upper) = Self.bounds(value)
        try appendKeys(value.isNull, lower, upper, to: &keys)
    }

    /// How often the entry is there: a list may link to the same object several times.
    package func count(_ value: IndexValue, _ key: ObjectKey) throws(DatabaseError) -> Int {
        let entry = IndexEntry(value: value.raw, key: UInt64(bitPattern: key.rawValue))
        return try count(value.isNull, entry, entry)
    }

    package func contains(_ value: IndexValue, _ key: ObjectKey) throws(DatabaseError) -> Bool {
        try count(value, key) > 0
    }

    // MARK: Ranges of encoded values; nulls are in none

    /// More than `most` means: more than that, without having counted all.
    package func count(_ range: ClosedRange<UInt64>, most: Int = .max) throws(DatabaseError) -> Int {
        let (lower, upper) = Self.bounds(range)
        return try count(false, lower, upper, most: most)
    }

    /// Appends the keys of the values in range, by value, then key.
    package func keys(_ range: ClosedRange<UInt64>, into keys: inout [Int64]) throws(DatabaseError) {
        let (lower, upper) = Self.bounds(range)
        try appendKeys(false, lower, upper, to: &keys)
    }

    /// All entries, nulls included.
    package func count() throws(DatabaseError) -> Int {
        try count(0 ... UInt64.max) + count(.null)
    }

    package func makeWalk() throws(DatabaseError) -> IndexWalk { try IndexWalk(reader?.values, delta) }

    /// Adds to `counts[value]` how many entries each value below `counts.count` has: backlinks per target.
    package func addCounts(to counts: UnsafeMutableBufferPointer<Int>) throws(DatabaseError) {
        let walk = try makeWalk()
        while let batch = try walk.next() {
            for value in batch.values where value < UInt64(counts.count) {
                counts[Int(truncatingIfNeeded: value)] &+= 1
            }
        }
    }

    // MARK: Merging

    private static func bounds(_ value: IndexValue) -> (IndexEntry, IndexEntry) { bounds(value.raw ... value.raw) }

    private static func bounds(_ range: ClosedRange<UInt64>) -> (IndexEntry, IndexEntry) {
        (IndexEntry(value: range.lowerBound, key: 0), IndexEntry(value: range.upperBound, key: .max))
    }

    private static func objectKey(_ entry: IndexEntry) -> ObjectKey { ObjectKey(Int64(bitPattern: entry.key)) }

    private static func removed(
        _ delta: IndexDelta, _ isNull: Bool, _ lower: IndexEntry, _ upper: IndexEntry
    ) -> Bool {
        isNull
            ? delta.nulls.removed.count(from: lower, through: upper) > 0
            : delta.values.removed.count(from: lower, through: upper) > 0
    }

    private static func firstAdded(
        _ delta: IndexDelta, _ isNull: Bool, _ lower: IndexEntry, _ upper: IndexEntry
    ) -> IndexEntry? {
        isNull
            ? delta.nulls.added.first(from: lower, through: upper)
            : delta.values.added.first(from: lower, through: upper)
    }

    private func stored(_ isNull: Bool) -> StoredEntries? { isNull ? reader?.nulls : reader?.values }

    private func storedFirst(
        _ isNull: Bool, _ lower: IndexEntry, _ upper: IndexEntry
    ) throws(DatabaseError) -> IndexEntry? {
        guard let found = try stored(isNull)?.first(from: lower), !(upper < found) else { return nil }
        return found
    }

    private func count(
        _ isNull: Bool, _ lower: IndexEntry, _ upper: IndexEntry, most: Int = .max
    ) throws(DatabaseError) -> Int {
        // What an open write has taken out must not make a count that was cut short look like a small one.
        let removals = delta.map { isNull ? $0.nulls.removed.count : $0.values.removed.count } ?? 0
        let limit = most < .max - removals ? most + removals : .max
        let committed = try stored(isNull)?.count(from: lower, through: upper, most: limit) ?? 0
        guard let delta else { return committed }
        let added =
            isNull
            ? delta.nulls.added.count(from: lower, through: upper)
            : delta.values.added.count(from: lower, through: upper)
        let removed =
            isNull
            ? delta.nulls.removed.count(from: lower, through: upper)
            : delta.values.removed.count(from: lower, through: upper)
        return max(0, committed + added - removed)
    }

    private func appendKeys(
        _ isNull: Bool, _ lower: IndexEntry, _ upper: IndexEntry, to keys: inout [Int64]
    ) throws(DatabaseError) {
        guard let delta else {
            try stored(isNull)?.appendKeys(from: lower, through: upper, to: &keys)
            return
        }
        var added: ContiguousArray<IndexEntry> = [], removed: ContiguousArray<IndexEntry> = []
        if isNull {
            delta.nulls.added.appendEntries(from: lower, through: upper, to: &added)
            delta.nulls.removed.appendEntries(from: lower, through: upper, to: &removed)
        } else {
            delta.values.added.appendEntries(from: lower, through: upper, to: &added)
            delta.values.removed.appendEntries(from: lower, through: upper, to: &removed)
        }
        if added.isEmpty, removed.isEmpty {
            try stored(isNull)?.appendKeys(from: lower, through: upper, to: &keys)
            return
        }
        var committed: ContiguousArray<IndexEntry> = []
        try stored(isNull)?.appendEntries(from: lower, through: upper, to: &committed)
        let merged = added.withUnsafeBufferPointer { added in
            removed.withUnsafeBufferPointer { IndexEntries.applying(adds: added, removes: $0, to: committed) }
        }
        for entry in merged { keys.append(Int64(bitPattern: entry.key)) }
    }
}
