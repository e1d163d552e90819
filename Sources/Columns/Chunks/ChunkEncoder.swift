/// How the buffers of a builder become chunk bytes: first what it takes (widths, dictionary, size), then one write.
import MotteValues

package struct ChunkEncoder {
    package let size: Int
    private let buffers: ChunkBuffers
    private let header: ChunkHeader
    private let reference: UInt64
    private let texts: TextRun?

    init(_ buffers: ChunkBuffers) {
        self.buffers = buffers
        let count = buffers.count
        var header = ChunkHeader(kind: buffers.kind.rawValue, encoding: 0, width: 0, flags: 0, count: count)
        var payload = 0
        var reference: UInt64 = 0
        var texts: TextRun?
        if buffers.nullCount > 0 {
            header.flags |= ChunkHeader.hasValidity
            payload += (count + 63) / 64 * 8
        }
        switch buffers.kind.layout {
        case .bits: payload += (count + 63) / 64 * 8
        case .floats: payload += count * 4
        case .doubles: payload += count * 8
        case .ints:
            (reference, header.width) = Self.frame(buffers)
            payload += 8 + count * Int(header.width)
            if buffers.kind == .timestamp, Self.hasNanoseconds(buffers) {
                header.flags |= ChunkHeader.hasNanoseconds
                payload += count * 4
            }
        case .bytes:
            if buffers.hasLongTexts {
                header.flags |= ChunkHeader.hasLongTexts
                payload += (count + 63) / 64 * 8
            }
            let run = TextRun(buffers)
            header.encoding = run.dictionary == nil ? 0 : 1
            header.width = run.width
            payload += run.size
            texts = run
        }
        header.payloadSize = (payload + 7) & ~7
        size = ChunkHeader.size + header.payloadSize
        self.header = header
        self.reference = reference
        self.texts = texts
    }

    /// The lowest value, and the width of the farthest distance from it.
    private static func frame(_ buffers: ChunkBuffers) -> (UInt64, UInt8) {
        var lowest = Int64.max
        var highest = Int64.min
        let words = buffers.words
        if buffers.nullCount == 0 {
            for row in 0 ..< buffers.count {
                let value = Int64(bitPattern: words[row])
                lowest = value < lowest ? value : lowest
                highest = value > highest ? value : highest
            }
        } else {
            for row in 0 ..< buffers.count where buffers.present[row] != 0 {
                let value = Int64(bitPattern: words[row])
                lowest = value < lowest ? value : lowest
                highest = value > highest ? value : highest
            }
        }
        if lowest > highest { return (0, 0) }
        let span = UInt64(bitPattern: highest) &- UInt64(bitPattern: lowest)
        let width: UInt8 = span == 0 ? 0 : span <= 0xFF ? 1 : span <= 0xFFFF ? 2 : span <= 0xFFFF_FFFF ? 4 : 8
        return (UInt64(bitPattern: lowest), width)
    }

    private static func hasNanoseconds(_ buffers: ChunkBuffers) -> Bool {
        var any: UInt32 = 0
        for row in 0 ..< buffers.count { any |= buffers.sizes[row] }
        return any != 0
    }

    /// Writes `size` bytes. The builder is as it was when this was made.
    package func write(to base: UnsafeMutableRawPointer, key: UnsafeRawBufferPointer) {
        var output = base + ChunkHeader.size
        if buffers.nullCount > 0 { Self.writeBits(buffers.present, buffers.count, &output) }
        if header.flags & ChunkHeader.hasLongTexts != 0 { writeLongMarks(&output) }
        switch buffers.kind.layout {
        case .bits: Self.writeBits(buffers.words, buffers.count, &output)
        case .doubles: Self.copy(buffers.words, buffers.count * 8, &output)
        case .floats:
            for row in 0 ..< buffers.count {
                let bits = UInt32(truncatingIfNeeded: buffers.words[row])
                output.storeBytes(of: bits, toByteOffset: row &* 4, as: UInt32.self)
            }
            output += buffers.count * 4
        case .ints:
            writePacked(&output)
            if header.flags & ChunkHeader.hasNanoseconds != 0 { Self.copy(buffers.sizes, buffers.count * 4, &output) }
        case .bytes: texts?.write(buffers, &output)
        }
        while output < base + size {
            output.storeBytes(of: 0, as: UInt8.self)
            output += 1
        }
        assert(output == base + size, "a chunk's size was reckoned wrongly")
        header.write(to: base, key: key)
    }

    private static func copy(_ source: UnsafeRawPointer, _ size: Int, _ output: inout UnsafeMutableRawPointer) {
        output.copyMemory(from: source, byteCount: size)
        output += size
    }

    /// One bit of each flag, 0 or 1.
    @inline(__always)
    private static func writeBits<Flag: FixedWidthInteger>(
        _ flags: UnsafeMutablePointer<Flag>, _ count: Int, _ output: inout UnsafeMutableRawPointer
    ) {
        for first in stride(from: 0, to: count, by: 64) {
            var word: UInt64 = 0
            for bit in 0 ..< min(64, count &- first) {
                word |= UInt64(truncatingIfNeeded: flags[first &+ bit] & 1) &<< UInt64(truncatingIfNeeded: bit)
            }
            output.storeBytes(of: word, as: UInt64.self)
            output += 8
        }
    }

    private func writeLongMarks(_ output: inout UnsafeMutableRawPointer) {
        for first in stride(from: 0, to: buffers.count, by: 64) {
            var word: UInt64 = 0
            for bit in 0 ..< min(64, buffers.count - first) where buffers.isLong(first + bit) {
                word |= 1 << UInt64(bit)
            }
            output.storeBytes(of: word, as: UInt64.self)
            output += 8
        }
    }

    /// Null rows are stored as some distance or other: nobody reads them.
    private func writePacked(_ output: inout UnsafeMutableRawPointer) {
        output.storeBytes(of: reference, as: UInt64.self)
        output += 8
        switch header.width {
        case 0: break
        case 1: writeDistances(as: UInt8.self, output)
        case 2: writeDistances(as: UInt16.self, output)
        case 4: writeDistances(as: UInt32.self, output)
        default: writeDistances(as: UInt64.self, output)
        }
        output += buffers.count * Int(header.width)
    }

    @inline(__always)
    private func writeDistances<Packed: FixedWidthInteger & BitwiseCopyable>(
        as type: Packed.Type, _ output: UnsafeMutableRawPointer
    ) {
        let words = buffers.words
        let base = reference
        let width = MemoryLayout<Packed>.size
        for row in 0 ..< buffers.count {
            output.storeBytes(of: Packed(truncatingIfNeeded: words[row] &- base), toByteOffset: row &* width, as: type)
        }
    }
}
