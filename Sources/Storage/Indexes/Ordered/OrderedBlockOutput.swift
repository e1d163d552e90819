/// A block of an ordered index as it is written, group by group: the one place that knows the bytes of what
/// `OrderedBlock` reads.
import MotteValues

struct OrderedBlockOutput {
    /// The caller's, of `room(limit)` bytes for a block of at most `limit`.
    let start: UnsafeMutableRawPointer
    private(set) var used = OrderedBlock.headerSize
    private(set) var groups = 0
    private(set) var entries = 0

    init(_ start: UnsafeMutableRawPointer) { self.start = start }

    /// One entry fits in any case, and differences are written with eight bytes each.
    static func room(_ limit: Int) -> Int { max(limit, 1_024) + 64 }

    /// The rows with these bytes, of which `shared` are those of the group before.
    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer, shared: Int, keys: UnsafeBufferPointer<UInt64>) {
        writeHead(bytes, shared: shared, count: keys.count, firstKey: keys[0])
        guard keys.count > 1 else { return }
        let first = keys[0]
        let width = OrderedEncoder.width(keys[keys.count - 1] &- first)
        writeWidth(width)
        for index in 1 ..< keys.count { write(difference: keys[index] &- first, width) }
    }

    /// What comes before the differences, of which there are `count - 1`.
    @inline(__always)
    mutating func writeHead(_ bytes: UnsafeRawBufferPointer, shared: Int, count: Int, firstKey: UInt64) {
        write(UInt64(shared))
        write(UInt64(bytes.count - shared))
        write(UInt64(count))
        write(firstKey)
        copy(UnsafeRawBufferPointer(rebasing: bytes[shared...]))
        groups += 1
        entries += count
    }

    @inline(__always)
    mutating func writeWidth(_ width: Int) {
        start.storeBytes(of: UInt8(width), toByteOffset: used, as: UInt8.self)
        used &+= 1
    }

    /// Eight bytes, of which the following ones overwrite what is too much.
    @inline(__always)
    mutating func write(difference: UInt64, _ width: Int) {
        start.storeBytes(of: difference.littleEndian, toByteOffset: used, as: UInt64.self)
        used &+= width
    }

    @inline(__always)
    mutating func copy(_ bytes: UnsafeRawBufferPointer) {
        if let source = bytes.baseAddress { (start + used).copyMemory(from: source, byteCount: bytes.count) }
        used &+= bytes.count
    }

    /// Groups as they lie in another block, behind the same bytes as there.
    mutating func copy(_ bytes: UnsafeRawBufferPointer, groups: Int, entries: Int) {
        copy(bytes)
        self.groups += groups
        self.entries += entries
    }

    @inline(__always)
    private mutating func write(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            start.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: used, as: UInt8.self)
            used &+= 1
            rest >>= 7
        }
        start.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: used, as: UInt8.self)
        used &+= 1
    }

    /// The whole block.
    func seal(_ pageKey: [UInt8]) -> UnsafeMutableRawBufferPointer {
        let raw = UnsafeMutableRawBufferPointer(start: start, count: used)
        raw.storeBytes(of: OrderedBlock.kind, toByteOffset: 0, as: UInt8.self)
        raw.storeBytes(of: OrderedBlock.format, toByteOffset: 1, as: UInt8.self)
        raw.storeBytes(of: UInt16(truncatingIfNeeded: groups).littleEndian, toByteOffset: 2, as: UInt16.self)
        raw.storeBytes(of: UInt32(truncatingIfNeeded: entries).littleEndian, toByteOffset: 4, as: UInt32.self)
        raw.storeBytes(of: 0, toByteOffset: 12, as: UInt32.self)
        IndexBlock.seal(raw, pageKey)
        return raw
    }
}
