/// Cuts sorted entries into blocks and writes them; the layout is `IndexBlock`'s.
import MotteValues

package struct IndexBlockEncoder {
    /// What a page holds, also of an encrypted file.
    package static let defaultBlockBytes = 4_064

    /// Largest size of a block; tests make it tiny. At least one entry always fits.
    let blockBytes: Int

    package init(blockBytes: Int = IndexBlockEncoder.defaultBlockBytes) {
        self.blockBytes = max(blockBytes, IndexBlock.size(count: 1, valueWidth: 8, keyWidth: 8))
    }

    @inline(__always)
    private static func width(_ difference: UInt64) -> Int { (71 - difference.leadingZeroBitCount) >> 3 }

    /// True if the entries take so little of a block that they should share one with their neighbours.
    func isSmall(_ entries: UnsafeBufferPointer<IndexEntry>) -> Bool {
        let shape = Shape(entries)
        return isSmall(
            size: IndexBlock.size(
                count: entries.count, valueWidth: shape.valueWidth, keyWidth: shape.keyWidth))
    }

    func isSmall(size: Int) -> Bool {
        let overhead = IndexBlock.headerSize + IndexBlock.slack
        return size - overhead < (blockBytes - overhead) / 4
    }

    /// Where the block that begins at the first of `entries` ends: as many entries as fit, at most about
    /// `maximumCount`. Equal entries stay together (I4); alone they fit however many they are, because their
    /// differences take no bytes.
    func fill(_ entries: UnsafeBufferPointer<IndexEntry>, maximumCount: Int = .max) -> Int {
        guard let first = entries.first else { return 0 }
        var end = 1
        var lowestKey = first.key, highestKey = first.key
        while end < entries.count, end < maximumCount {
            let entry = entries[end]
            lowestKey = min(lowestKey, entry.key)
            highestKey = max(highestKey, entry.key)
            let width = Self.width(entry.value &- first.value) + Self.width(highestKey &- lowestKey)
            if IndexBlock.size(count: end + 1, valueWidth: width, keyWidth: 0) > blockBytes { break }
            end += 1
        }
        if end == entries.count { return end }
        var cut = end
        while cut > 0, entries[cut] == entries[cut - 1] { cut -= 1 }
        if cut > 0 { return cut }
        while end < entries.count, entries[end] == first { end += 1 }
        return end
    }

    /// The ends of the blocks that hold all `entries`: full blocks when more will be added at the end, else even ones.
    func cut(_ entries: UnsafeBufferPointer<IndexEntry>, fillingUp: Bool) -> [Int] {
        var ends = cut(entries, maximumCount: .max)
        if !fillingUp, ends.count > 1 {
            ends = cut(entries, maximumCount: (entries.count + ends.count - 1) / ends.count)
        }
        return ends
    }

    private func cut(_ entries: UnsafeBufferPointer<IndexEntry>, maximumCount: Int) -> [Int] {
        var ends: [Int] = []
        var start = 0
        while start < entries.count {
            start += fill(UnsafeBufferPointer(rebasing: entries[start...]), maximumCount: maximumCount)
            ends.append(start)
        }
        return ends
    }

    private struct Shape {
        var lowestKey: UInt64
        var valueWidth: Int
        var keyWidth: Int

        init(_ entries: UnsafeBufferPointer<IndexEntry>) {
            guard let first = entries.first, let last = entries.last else {
                (lowestKey, valueWidth, keyWidth) = (0, 0, 0)
                return
            }
            var lowest = first.key, highest = first.key
            for entry in entries {
                lowest = min(lowest, entry.key)
                highest = max(highest, entry.key)
            }
            lowestKey = lowest
            valueWidth = IndexBlockEncoder.width(last.value &- first.value)
            keyWidth = IndexBlockEncoder.width(highest &- lowest)
        }
    }

    /// One block of entries that `fill` found to belong together.
    package func encode(_ entries: UnsafeBufferPointer<IndexEntry>, pageKey: [UInt8]) -> [UInt8] {
        assert(!entries.isEmpty, "I1")
        let shape = Shape(entries)
        let baseValue = entries.first?.value ?? 0
        let size = IndexBlock.size(count: entries.count, valueWidth: shape.valueWidth, keyWidth: shape.keyWidth)
        // Every block has a header.
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            raw.storeBytes(of: IndexBlock.kind, toByteOffset: 0, as: UInt8.self)
            raw.storeBytes(of: IndexBlock.format, toByteOffset: 1, as: UInt8.self)
            raw.storeBytes(of: UInt8(shape.valueWidth), toByteOffset: 2, as: UInt8.self)
            raw.storeBytes(of: UInt8(shape.keyWidth), toByteOffset: 3, as: UInt8.self)
            raw.storeBytes(of: UInt32(truncatingIfNeeded: entries.count).littleEndian, toByteOffset: 4, as: UInt32.self)
            raw.storeBytes(of: 0, toByteOffset: 8, as: UInt64.self)
            raw.storeBytes(of: baseValue.littleEndian, toByteOffset: 16, as: UInt64.self)
            raw.storeBytes(of: shape.lowestKey.littleEndian, toByteOffset: 24, as: UInt64.self)
            // Each store writes eight bytes; the next one overwrites what is too much.
            var offset = IndexBlock.headerSize
            for entry in entries {
                raw.storeBytes(of: (entry.value &- baseValue).littleEndian, toByteOffset: offset, as: UInt64.self)
                offset &+= shape.valueWidth
            }
            for entry in entries {
                raw.storeBytes(of: (entry.key &- shape.lowestKey).littleEndian, toByteOffset: offset, as: UInt64.self)
                offset &+= shape.keyWidth
            }
            raw.storeBytes(of: 0, toByteOffset: offset, as: UInt64.self)
            count = offset + IndexBlock.slack
            IndexBlock.seal(UnsafeMutableRawBufferPointer(rebasing: raw[..<count]), pageKey)
        }
    }
}
