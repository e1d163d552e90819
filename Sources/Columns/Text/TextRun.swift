/// How texts are laid out behind each other (hash bytes, offsets, heap), and the dictionary for columns with few texts.
import MotteValues

struct TextRun {
    /// nil where the texts are stored row by row.
    let dictionary: TextDictionary?
    /// Of codes, or of offsets where there is no dictionary.
    let width: UInt8
    let size: Int
    private let offsetWidth: Int

    init(_ buffers: ChunkBuffers) {
        if let dictionary = TextDictionary(buffers) {
            let distinct = dictionary.distinct.count
            let total = dictionary.distinct.reduce(0) { $0 + Int(buffers.sizes[Int($1)]) }
            offsetWidth = total <= 0xFFFF ? 2 : 4
            width = distinct <= 256 ? 1 : 2
            let codes = (buffers.count * Int(width) + 7) & ~7
            size = codes + 8 + distinct + (distinct + 1) * offsetWidth + total
            self.dictionary = dictionary
        } else {
            var total = 0
            for row in 0 ..< buffers.count { total &+= buffers.storedSize(row) }
            offsetWidth = total <= 0xFFFF ? 2 : 4
            width = UInt8(offsetWidth)
            size = buffers.count + (buffers.count + 1) * offsetWidth + total
            dictionary = nil
        }
    }

    func write(_ buffers: ChunkBuffers, _ output: inout UnsafeMutableRawPointer) {
        guard let dictionary else { return writeTexts(buffers, nil, buffers.count, &output) }
        let count = buffers.count
        if width == 1 {
            for row in 0 ..< count {
                let code = UInt8(truncatingIfNeeded: dictionary.codes[row])
                output.storeBytes(of: code, toByteOffset: row, as: UInt8.self)
            }
        } else {
            for row in 0 ..< count {
                output.storeBytes(of: dictionary.codes[row], toByteOffset: row &* 2, as: UInt16.self)
            }
        }
        let used = count * Int(width)
        for offset in used ..< (used + 7) & ~7 { output.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
        output += (used + 7) & ~7
        output.storeBytes(of: UInt32(truncatingIfNeeded: dictionary.distinct.count), as: UInt32.self)
        output.storeBytes(of: UInt32(truncatingIfNeeded: offsetWidth), toByteOffset: 4, as: UInt32.self)
        output += 8
        dictionary.distinct.withUnsafeBufferPointer { rows in
            writeTexts(buffers, rows.baseAddress, rows.count, &output)
        }
    }

    /// The texts of `rows`, or of all rows.
    private func writeTexts(
        _ buffers: ChunkBuffers, _ rows: UnsafePointer<UInt32>?, _ count: Int, _ output: inout UnsafeMutableRawPointer
    ) {
        let offsets = output + count
        let heap = offsets + (count + 1) * offsetWidth
        var used = 0
        if rows == nil, let texts = buffers.textsInOrder {
            for index in 0 ..< count {
                let size = Int(buffers.sizes[index])
                let hash = Self.hash(UnsafeRawBufferPointer(start: texts + used, count: size))
                output.storeBytes(of: hash, toByteOffset: index, as: UInt8.self)
                store(used, offsets, index)
                used &+= size
            }
            store(used, offsets, count)
            heap.copyMemory(from: texts, byteCount: used)
            output = heap + used
            return
        }
        for index in 0 ..< count {
            let row = rows.map { Int($0[index]) } ?? index
            if let long = buffers.longText(row) {
                output.storeBytes(of: long.hash, toByteOffset: index, as: UInt8.self)
                store(used, offsets, index)
                long.reference.write(to: heap + used)
                used &+= LongTextReference.size
                continue
            }
            let text = buffers.text(row)
            output.storeBytes(of: Self.hash(text), toByteOffset: index, as: UInt8.self)
            store(used, offsets, index)
            if text.count > 0, let start = text.baseAddress {
                (heap + used).copyMemory(from: start, byteCount: text.count)
            }
            used &+= text.count
        }
        store(used, offsets, count)
        output = heap + used
    }

    @inline(__always)
    private func store(_ offset: Int, _ offsets: UnsafeMutableRawPointer, _ index: Int) {
        if offsetWidth == 2 {
            offsets.storeBytes(of: UInt16(truncatingIfNeeded: offset), toByteOffset: index &* 2, as: UInt16.self)
        } else {
            offsets.storeBytes(of: UInt32(truncatingIfNeeded: offset), toByteOffset: index &* 4, as: UInt32.self)
        }
    }

    /// One byte that equal texts share: most unequal ones are distinguished without looking at them.
    @inline(__always)
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt8 { UInt8(truncatingIfNeeded: wideHash(bytes) >> 56) }

    @inline(__always)
    static func wideHash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: bytes.count) &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        if let base = bytes.baseAddress {
            while index &+ 8 <= bytes.count {
                hash = (hash ^ base.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0xFF51_AFD7_ED55_8CCD
                hash ^= hash >> 32
                index &+= 8
            }
            while index < bytes.count {
                hash = (hash ^ UInt64(base.load(fromByteOffset: index, as: UInt8.self))) &* 0x100_0000_01B3
                index &+= 1
            }
        }
        hash ^= hash >> 29
        return hash &* 0xC4CE_B9FE_1A85_EC53
    }
}

/// The distinct texts of a run, where they are few enough that codes save space.
struct TextDictionary {
    /// Of every row.
    let codes: [UInt16]
    /// Of every code, the first row that has its text.
    let distinct: [UInt32]

    /// nil where more than half of the texts differ, or where codes would not fit. Columns of different texts are
    /// recognised after a quarter of them, of which hardly one in sixteen was there before.
    init?(_ buffers: ChunkBuffers) {
        let count = buffers.count
        // A long text belongs to one row.
        guard count >= 16, !buffers.hasLongTexts else { return nil }
        let limit = min(count / 2, 0x1_0000)
        // Open addressing over the texts found so far, at most a quarter full.
        let slots = (limit * 4).nextPowerOfTwo
        var table = [Int32](repeating: -1, count: slots)
        var codes: [UInt16] = []
        var distinct: [UInt32] = []
        distinct.reserveCapacity(limit)
        codes.reserveCapacity(count)
        for row in 0 ..< count {
            let text = buffers.text(row)
            var slot = Int(truncatingIfNeeded: TextRun.wideHash(text) >> 24) & (slots - 1)
            while true {
                let code = Int(table[slot])
                if code < 0 {
                    guard distinct.count < limit else { return nil }
                    guard row < count / 4 || distinct.count < row - row / 16 else { return nil }
                    table[slot] = Int32(truncatingIfNeeded: distinct.count)
                    codes.append(UInt16(truncatingIfNeeded: distinct.count))
                    distinct.append(UInt32(truncatingIfNeeded: row))
                    break
                }
                if Self.isSame(buffers, Int(distinct[code]), row) {
                    codes.append(UInt16(truncatingIfNeeded: code))
                    break
                }
                slot = (slot + 1) & (slots - 1)
            }
        }
        self.codes = codes
        self.distinct = distinct
    }

    @inline(__always)
    private static func isSame(_ buffers: ChunkBuffers, _ left: Int, _ right: Int) -> Bool {
        buffers.sizes[left] == buffers.sizes[right]
            && ValueOrdering.compareBytes(buffers.text(left), buffers.text(right)) == 0
    }
}

private extension Int {
    var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
