/// Numbers of any size in few bytes, for change records: seven bits per byte, low ones first, signed ones zigzag.
///
/// Concrete on purpose: a bulk update writes several of these per row.
import MotteValues

extension Array where Element == UInt8 {
    @inline(__always)
    mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func append(varint value: Int) { append(varint: UInt64(value)) }

    mutating func append(zigzag value: Int64) { append(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63))) }

    mutating func append(u16 value: UInt16) { Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) } }
    mutating func append(u32 value: UInt32) { Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) } }
    package mutating func append(u64 value: UInt64) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    package mutating func store(u32 value: UInt32, at offset: Int) {
        for index in 0 ..< 4 { self[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(8 * index)) }
    }
}

/// Reads what the above wrote, from bytes that may be anything.
struct LogReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var remaining: Int { bytes.count - offset }

    private static func tooShort() -> DatabaseError { .corrupted("a change record is too short") }

    @inline(__always)
    mutating func byte() throws(DatabaseError) -> UInt8 {
        guard offset < bytes.count else { throw Self.tooShort() }
        defer { offset &+= 1 }
        return bytes[offset]
    }

    /// The next byte, which stays there; 0 at the end.
    @inline(__always)
    func peek() -> UInt8 { offset < bytes.count ? bytes[offset] : 0 }

    mutating func u16() throws(DatabaseError) -> UInt16 { UInt16(truncatingIfNeeded: try fixed(2)) }
    mutating func u32() throws(DatabaseError) -> UInt32 { UInt32(truncatingIfNeeded: try fixed(4)) }
    mutating func u64() throws(DatabaseError) -> UInt64 { try fixed(8) }

    private mutating func fixed(_ size: Int) throws(DatabaseError) -> UInt64 {
        guard remaining >= size else { throw Self.tooShort() }
        var value: UInt64 = 0
        for index in 0 ..< size { value |= UInt64(bytes[offset + index]) << UInt64(8 * index) }
        offset += size
        return value
    }

    @inline(__always)
    mutating func varint() throws(DatabaseError) -> UInt64 {
        let first = peek()
        guard first < 0x80, remaining > 0 else { return try longVarint() }
        offset &+= 1
        return UInt64(first)
    }

    /// Of any length.
    @inline(never)
    private mutating func longVarint() throws(DatabaseError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            // The tenth byte has room for one bit.
            guard shift < 63 || next <= 1 else { throw .corrupted("a change record has a number that is too large") }
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 { return value }
            shift += 7
        }
    }

    mutating func zigzag() throws(DatabaseError) -> Int64 {
        let value = try varint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// An object key, a position or a length: never negative and never near the limits of arithmetic.
    @inline(__always)
    mutating func position() throws(DatabaseError) -> Int64 {
        let value = try varint()
        guard value < 1 << 62 else { throw .corrupted("a change record has a position that is too large") }
        return Int64(value)
    }

    /// How many things of at least `minimumSize` bytes follow.
    mutating func count(minimumSize: Int) throws(DatabaseError) -> Int {
        let value = try position()
        guard Int(value) <= remaining / minimumSize else { throw Self.tooShort() }
        return Int(value)
    }

    @inline(__always)
    mutating func run(_ count: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw Self.tooShort() }
        defer { offset &+= count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset ..< offset + count])
    }
}
