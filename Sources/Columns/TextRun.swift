/// How texts are laid out behind each other (hash bytes, offsets, heap), and the dictionary for columns that repeat few.
import MotteValues

enum TextRun {
    /// One byte that equal texts share: most unequal ones are told apart without looking at them.
    @inline(__always)
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt8 {
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
        hash = hash &* 0xC4CE_B9FE_1A85_EC53
        return UInt8(truncatingIfNeeded: hash >> 56)
    }

    /// Returns the offset width.
    static func append(count: Int, to bytes: inout [UInt8], text: (Int) -> UnsafeRawBufferPointer) -> UInt8 {
        var total = 0
        for index in 0 ..< count { total += text(index).count }
        let width = total <= 0xFFFF ? 2 : 4
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count + (count + 1) * width + total))
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress.map({ $0 + start }) else { return }
            let offsets = base + count
            let heap = offsets + (count + 1) * width
            var used = 0
            for index in 0 ... count {
                if width == 2 {
                    offsets.storeBytes(of: UInt16(truncatingIfNeeded: used), toByteOffset: index &* 2, as: UInt16.self)
                } else {
                    offsets.storeBytes(of: UInt32(truncatingIfNeeded: used), toByteOffset: index &* 4, as: UInt32.self)
                }
                guard index < count else { break }
                let part = text(index)
                base.storeBytes(of: hash(part), toByteOffset: index, as: UInt8.self)
                if let source = part.baseAddress, part.count > 0 { (heap + used).copyMemory(from: source, byteCount: part.count) }
                used &+= part.count
            }
        }
        return UInt8(width)
    }
}

/// The distinct texts of a run, where they are few enough that codes save space.
struct TextDictionary {
    private let codes: [UInt16]
    private let distinct: [Int]
    private let text: (Int) -> UnsafeRawBufferPointer

    /// nil where more than a quarter of the texts differ.
    init?(_ count: Int, text: @escaping (Int) -> UnsafeRawBufferPointer) {
        guard count >= 16 else { return nil }
        let limit = count / 4
        // Open addressing over the distinct texts found so far.
        let slots = (limit * 4).nextPowerOfTwo
        var table = [Int32](repeating: -1, count: slots)
        var codes: [UInt16] = []
        codes.reserveCapacity(count)
        var distinct: [Int] = []
        for row in 0 ..< count {
            let bytes = text(row)
            var slot = Int(Self.wideHash(bytes) & UInt64(slots - 1))
            while true {
                let entry = Int(table[slot])
                if entry < 0 {
                    guard distinct.count < limit else { return nil }
                    table[slot] = Int32(distinct.count)
                    codes.append(UInt16(distinct.count))
                    distinct.append(row)
                    break
                }
                if ValueOrdering.compareBytes(text(distinct[entry]), bytes) == 0 {
                    codes.append(UInt16(entry))
                    break
                }
                slot = (slot + 1) & (slots - 1)
            }
        }
        self.codes = codes
        self.distinct = distinct
        self.text = text
    }

    private static func wideHash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash ^ (hash >> 32)
    }

    /// Returns the code width.
    func append(to bytes: inout [UInt8]) -> UInt8 {
        let width: UInt8 = distinct.count <= 256 ? 1 : 2
        for code in codes {
            if width == 1 { bytes.append(UInt8(truncatingIfNeeded: code)) } else { ChunkBuilder.append(code, to: &bytes) }
        }
        while (bytes.count - ChunkHeader.size) & 7 != 0 { bytes.append(0) }
        ChunkBuilder.append(UInt32(distinct.count), to: &bytes)
        let widthPosition = bytes.count
        ChunkBuilder.append(UInt32(0), to: &bytes)
        bytes[widthPosition] = TextRun.append(count: distinct.count, to: &bytes) { text(distinct[$0]) }
        return width
    }
}

private extension Int {
    var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
