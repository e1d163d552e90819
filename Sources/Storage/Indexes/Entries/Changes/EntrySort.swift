/// Sorts entries by value, then key: least significant digit first, 11 bits at a time, without comparisons.
///
/// Digits in which all entries agree are skipped, and so is the whole key when keys already ascend in the input, which
/// is how rows arrive; the sort is stable, so equal values keep that order. A million primary keys take two passes.
package enum EntrySort {
    private static let digitBits = 11
    private static let bucketCount = 1 << digitBits
    /// Below this many entries the passes over the buckets cost more than comparing.
    private static let smallCount = 1_024

    package static func sort(_ entries: inout ContiguousArray<IndexEntry>) {
        guard entries.count > 1 else { return }
        let shape = Shape(entries)
        if shape.isSorted { return }
        if entries.count < smallCount {
            entries.sort()
            return
        }
        var source = entries
        // Both buffers are the size of the input; passes go back and forth.
        var target = ContiguousArray<IndexEntry>(repeating: .lowest, count: entries.count)
        entries = []
        var offsets = ContiguousArray<Int>(repeating: 0, count: bucketCount)
        for pass in shape.passes {
            let isTrivial = source.withUnsafeBufferPointer { source in
                target.withUnsafeMutableBufferPointer { target in
                    offsets.withUnsafeMutableBufferPointer { offsets in
                        pass.isKey
                            ? scatterByKey(source, target, offsets, pass.shift)
                            : scatterByValue(source, target, offsets, pass.shift)
                    }
                }
            }
            if !isTrivial { swap(&source, &target) }
        }
        entries = source
    }

    private struct Pass {
        let isKey: Bool
        let shift: UInt64
    }

    /// What a first look at the input says about the passes it needs.
    private struct Shape {
        var isSorted = true
        var passes: [Pass] = []

        init(_ entries: ContiguousArray<IndexEntry>) {
            var keysAscend = true
            var valueBits: UInt64 = 0, keyBits: UInt64 = 0
            entries.withUnsafeBufferPointer { entries in
                var previous = entries[0]
                let first = previous
                for entry in entries {
                    if entry < previous { isSorted = false }
                    if entry.key < previous.key { keysAscend = false }
                    valueBits |= entry.value ^ first.value
                    keyBits |= entry.key ^ first.key
                    previous = entry
                }
            }
            guard !isSorted else { return }
            if !keysAscend { addPasses(isKey: true, bits: keyBits) }
            addPasses(isKey: false, bits: valueBits)
        }

        private mutating func addPasses(isKey: Bool, bits: UInt64) {
            var shift: UInt64 = 0
            while shift < 64 {
                let rest = bits >> shift
                if rest == 0 { break }
                // Start at the next bit that differs at all.
                shift += UInt64(rest.trailingZeroBitCount)
                passes.append(Pass(isKey: isKey, shift: shift))
                shift += UInt64(digitBits)
            }
        }
    }

    /// One pass; true if all entries share the digit and nothing was moved.
    private static func scatterByValue(
        _ source: UnsafeBufferPointer<IndexEntry>, _ target: UnsafeMutableBufferPointer<IndexEntry>,
        _ offsets: UnsafeMutableBufferPointer<Int>, _ shift: UInt64
    ) -> Bool {
        let mask = UInt64(bucketCount - 1)
        offsets.update(repeating: 0)
        for entry in source { offsets[Int(truncatingIfNeeded: (entry.value &>> shift) & mask)] &+= 1 }
        guard makeOffsets(offsets, source.count) else { return true }
        for entry in source {
            let bucket = Int(truncatingIfNeeded: (entry.value &>> shift) & mask)
            target[offsets[bucket]] = entry
            offsets[bucket] &+= 1
        }
        return false
    }

    private static func scatterByKey(
        _ source: UnsafeBufferPointer<IndexEntry>, _ target: UnsafeMutableBufferPointer<IndexEntry>,
        _ offsets: UnsafeMutableBufferPointer<Int>, _ shift: UInt64
    ) -> Bool {
        let mask = UInt64(bucketCount - 1)
        offsets.update(repeating: 0)
        for entry in source { offsets[Int(truncatingIfNeeded: (entry.key &>> shift) & mask)] &+= 1 }
        guard makeOffsets(offsets, source.count) else { return true }
        for entry in source {
            let bucket = Int(truncatingIfNeeded: (entry.key &>> shift) & mask)
            target[offsets[bucket]] = entry
            offsets[bucket] &+= 1
        }
        return false
    }

    /// Turns counts into start offsets; false if one bucket holds everything.
    private static func makeOffsets(_ counts: UnsafeMutableBufferPointer<Int>, _ total: Int) -> Bool {
        var start = 0
        for bucket in 0 ..< counts.count {
            let count = counts[bucket]
            if count == total { return false }
            counts[bucket] = start
            start &+= count
        }
        return true
    }
}
