/// Batches whose rows jump from row group to row group, as those of sorted results do: read in the order of their keys,
/// where the rows of a row group lie together, and put into the wanted order afterwards.
import MotteColumns
import MotteValues

/// A batch in the order of its keys, and where each of its rows is there.
struct ArrowOrder {
    /// In ascending order.
    let keys: [Int64]
    /// By row of the batch: its position in `keys`.
    private let sources: [UInt32]

    private static let fewestRows = 256
    /// A key above and a position of so many bits share a word.
    private static let positionBits: UInt64 = 23
    private static let mostKeys: Int64 = 1 << 40

    /// nil where the rows lie together as they are, or where a key and its position do not fit into a word.
    init?(_ given: UnsafeBufferPointer<Int64>) {
        guard given.count >= Self.fewestRows, given.count <= 1 << Self.positionBits, Self.jumps(given) else {
            return nil
        }
        var least = Int64.max, greatest = Int64.min
        for key in given {
            least = min(least, key)
            greatest = max(greatest, key)
        }
        guard least >= 0, greatest - least < Self.mostKeys else { return nil }
        let words = given.indices.map { UInt64(given[$0] - least) << Self.positionBits | UInt64($0) }
        let sorted = Self.sorted(words, keyBits: 64 - (greatest - least).leadingZeroBitCount)
        let positions: UInt64 = (1 << Self.positionBits) - 1
        keys = sorted.map { least + Int64($0 >> Self.positionBits) }
        // With room: a batch of fewer rows than 256 is not arranged.
        sources = [UInt32](unsafeUninitializedCapacity: given.count) { sources, count in
            for (index, word) in sorted.enumerated() { sources[Int(word & positions)] = UInt32(index) }
            count = given.count
        }
    }

    /// Whether more than one key of eight is not shortly behind the one before. Keys that only ascend are not arranged:
    /// another order has no more of them together.
    private static func jumps(_ given: UnsafeBufferPointer<Int64>) -> Bool {
        var far = 0, descends = false
        for index in 1 ..< given.count {
            let distance = given[index] &- given[index &- 1]
            if distance < 0 { descends = true }
            if distance < 0 || distance > 1_024 { far &+= 1 }
        }
        return descends && far > given.count / 8
    }

    /// Digit by digit of the keys, from the lowest: a comparison a row costs more than reading the columns.
    private static func sorted(_ words: [UInt64], keyBits: Int) -> [UInt64] {
        let digitBits: UInt64 = 11
        var words = words
        var shift = positionBits
        while shift < positionBits + UInt64(keyBits) {
            var places = [Int](repeating: 0, count: 1 << digitBits)
            for word in words { places[Int(word >> shift & (1 << digitBits - 1))] += 1 }
            var next = 0
            for digit in places.indices { (places[digit], next) = (next, next + places[digit]) }
            // With room, as above.
            words = [UInt64](unsafeUninitializedCapacity: words.count) { target, count in
                for word in words {
                    let digit = Int(word >> shift & (1 << digitBits - 1))
                    target[places[digit]] = word
                    places[digit] &+= 1
                }
                count = words.count
            }
            shift += digitBits
        }
        return words
    }

    // MARK: Columns

    /// Whether `arranged` knows the layout: one without children.
    static func arranges(_ format: String) -> Bool { format == "b" || isText(format) || width(format) > 0 }

    private static func isText(_ format: String) -> Bool { format == "u" || format == "z" }

    private static func width(_ format: String) -> Int {
        switch format {
        case "c": 1
        case "s": 2
        case "i", "f": 4
        case "l", "g": 8
        case "w:12": 12
        case "w:16", "vu": 16
        default: format.hasPrefix("ts") ? 8 : 0
        }
    }

    /// A column that was read in the order of the keys, in the order of the batch.
    func arranged(_ data: ArrowData, _ format: String) throws(DatabaseError) -> ArrowData {
        var buffers = data.buffers
        if data.nullCount > 0 { buffers[0] = try bits(buffers[0]) }
        if format == "b" {
            buffers[1] = try bits(buffers[1])
        } else if Self.isText(format) {
            (buffers[1], buffers[2]) = try texts(buffers[1], buffers[2])
        } else {
            buffers[1] = try elements(buffers[1], Self.width(format))
        }
        return ArrowData(
            length: data.length, nullCount: data.nullCount, buffers: buffers, children: data.children)
    }

    private func bits(_ source: ArrowBuffer) throws(DatabaseError) -> ArrowBuffer {
        let target = ArrowBuffer()
        let size = (sources.count + 7) / 8
        let bytes = try target.reserve(size, of: UInt8.self)
        bytes.initialize(repeating: 0, count: size)
        target.count = size
        guard let start = source.start else { return target }
        for (row, source) in sources.enumerated() where BitRuns.bit(start, Int(source)) {
            bytes[row >> 3] |= 1 << UInt8(truncatingIfNeeded: row & 7)
        }
        return target
    }

    private func elements(_ source: ArrowBuffer, _ width: Int) throws(DatabaseError) -> ArrowBuffer {
        let target = ArrowBuffer()
        let place = try target.reserve(sources.count * width)
        target.count = sources.count * width
        guard let start = source.start else { return target }
        switch width {
        case 1: gather(start, place, UInt8.self)
        case 2: gather(start, place, UInt16.self)
        case 4: gather(start, place, UInt32.self)
        case 8: gather(start, place, UInt64.self)
        case 16: gather(start, place, UInt128.self)
        default:
            for (row, source) in sources.enumerated() {
                (place + row * width).copyMemory(from: start + Int(source) * width, byteCount: width)
            }
        }
        return target
    }

    @inline(__always)
    private func gather<Element: BitwiseCopyable>(
        _ source: UnsafeMutableRawPointer, _ target: UnsafeMutableRawPointer, _ type: Element.Type
    ) {
        let from = source.assumingMemoryBound(to: type), to = target.assumingMemoryBound(to: type)
        for (row, source) in sources.enumerated() { to[row] = from[Int(source)] }
    }

    /// Ends and bytes. Short texts are copied sixteen bytes at once: what is too much the next one covers.
    private func texts(
        _ offsets: ArrowBuffer, _ heap: ArrowBuffer
    ) throws(DatabaseError) -> (ArrowBuffer, ArrowBuffer) {
        let newOffsets = ArrowBuffer(), newHeap = ArrowBuffer()
        let ends = try newOffsets.reserve(sources.count + 1, of: Int32.self)
        newOffsets.count = (sources.count + 1) * MemoryLayout<Int32>.stride
        let target = try newHeap.reserve(heap.count + ColumnChunk.textSlack)
        newHeap.count = heap.count
        // So that what is too much lies in the buffer.
        _ = try heap.reserve(ColumnChunk.textSlack)
        guard let old = offsets.start?.assumingMemoryBound(to: Int32.self), let bytes = heap.start else {
            ends.initialize(repeating: 0, count: sources.count + 1)
            return (newOffsets, newHeap)
        }
        var used = 0
        ends[0] = 0
        for (row, source) in sources.enumerated() {
            let start = Int(old[Int(source)])
            let size = Int(old[Int(source) &+ 1]) &- start
            let from = bytes + start, to = target + used
            if size <= ColumnChunk.textSlack {
                to.storeBytes(of: from.loadUnaligned(as: UInt64.self), as: UInt64.self)
                to.storeBytes(
                    of: from.loadUnaligned(fromByteOffset: 8, as: UInt64.self), toByteOffset: 8, as: UInt64.self)
            } else {
                to.copyMemory(from: from, byteCount: size)
            }
            used &+= size
            ends[row &+ 1] = Int32(truncatingIfNeeded: used)
        }
        return (newOffsets, newHeap)
    }
}
