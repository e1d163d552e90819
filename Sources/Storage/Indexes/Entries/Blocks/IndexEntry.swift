/// One row's place in an index: the encoded value, then the object key. Entries are ordered by both.
///
/// An index is a multiset: a list that links to the same object twice has two equal entries.
package struct IndexEntry: Hashable, Comparable, Sendable {
    package var value: UInt64
    /// An object key; never negative, so its order is the same without a sign.
    package var key: UInt64

    @inline(__always)
    package init(value: UInt64, key: UInt64) {
        self.value = value
        self.key = key
    }

    package static let lowest = IndexEntry(value: 0, key: 0)
    static let highest = IndexEntry(value: .max, key: .max)

    @inline(__always)
    package static func < (left: IndexEntry, right: IndexEntry) -> Bool {
        left.value < right.value || (left.value == right.value && left.key < right.key)
    }

    @inline(__always)
    package static func == (left: IndexEntry, right: IndexEntry) -> Bool {
        left.value == right.value && left.key == right.key
    }
}

/// Searching and sorting runs of entries.
package enum IndexEntries {
    /// Index of the first entry not below `bound`.
    static func lowerBound(_ entries: UnsafeBufferPointer<IndexEntry>, _ bound: IndexEntry) -> Int {
        var low = 0, high = entries.count
        while low < high {
            let middle = (low + high) >> 1
            if entries[middle] < bound { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Index of the first entry above `bound`.
    package static func upperBound(_ entries: UnsafeBufferPointer<IndexEntry>, _ bound: IndexEntry) -> Int {
        var low = 0, high = entries.count
        while low < high {
            let middle = (low + high) >> 1
            if bound < entries[middle] { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The merge of two sorted runs.
    static func merging(
        _ left: ContiguousArray<IndexEntry>, _ right: ContiguousArray<IndexEntry>
    ) -> ContiguousArray<IndexEntry> {
        if left.isEmpty { return right }
        // Room for those on the left.
        return ContiguousArray(unsafeUninitializedCapacity: left.count + right.count) { output, count in
            var i = 0, j = 0
            while i < left.count, j < right.count {
                if right[j] < left[i] {
                    output.initializeElement(at: count, to: right[j])
                    j += 1
                } else {
                    output.initializeElement(at: count, to: left[i])
                    i += 1
                }
                count += 1
            }
            while i < left.count { output.initializeElement(at: count, to: left[i]); i += 1; count += 1 }
            while j < right.count { output.initializeElement(at: count, to: right[j]); j += 1; count += 1 }
        }
    }

    /// Takes from both sorted runs what cancels out: an entry added and removed again.
    static func cancel(_ adds: inout ContiguousArray<IndexEntry>, _ removes: inout ContiguousArray<IndexEntry>) {
        guard !adds.isEmpty, !removes.isEmpty else { return }
        var i = 0, j = 0, addsKept = 0, removesKept = 0
        while i < adds.count, j < removes.count {
            if adds[i] == removes[j] {
                i += 1
                j += 1
            } else if adds[i] < removes[j] {
                adds[addsKept] = adds[i]
                addsKept += 1
                i += 1
            } else {
                removes[removesKept] = removes[j]
                removesKept += 1
                j += 1
            }
        }
        adds.removeSubrange(addsKept ..< i)
        removes.removeSubrange(removesKept ..< j)
    }

    /// The multiset `entries` + `adds` - `removes`; all sorted. A remove without its entry is passed over.
    static func applying(
        adds: UnsafeBufferPointer<IndexEntry>, removes: UnsafeBufferPointer<IndexEntry>,
        to entries: ContiguousArray<IndexEntry>
    ) -> ContiguousArray<IndexEntry> {
        if entries.isEmpty, adds.isEmpty { return [] }
        // Room for one at least.
        return ContiguousArray(unsafeUninitializedCapacity: entries.count + adds.count) { output, count in
            var i = 0, j = 0, k = 0
            while i < entries.count || j < adds.count {
                let entry: IndexEntry
                if i < entries.count, j == adds.count || !(adds[j] < entries[i]) {
                    entry = entries[i]
                    i += 1
                } else {
                    entry = adds[j]
                    j += 1
                }
                while k < removes.count, removes[k] < entry { k += 1 }
                if k < removes.count, removes[k] == entry {
                    k += 1
                    continue
                }
                output.initializeElement(at: count, to: entry)
                count += 1
            }
        }
    }
}
