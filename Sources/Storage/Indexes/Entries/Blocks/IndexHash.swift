/// The hash of long strings and data in an index. It is stored on disk, so it never changes.
///
/// Definition (all arithmetic modulo 2^64, loads little-endian). fold(a, b) is the exclusive or of both halves of the
/// 128-bit product a * b.
///
///     state = P0 xor (length * P1)
///     while more than 16 bytes are left:   state = fold(word0 xor P2, word1 xor state); next 16 bytes
///     the last 1 ... 16 bytes:             word0 = first 8 of them, word1 = last 8 of them (overlapping);
///                                          of fewer than 8: word0 = the bytes zero-extended, word1 = 0
///     state = fold(word0 xor P1, word1 xor state)
///     hash  = fold(state xor P3, length xor P2)
///
/// It is not keyed: whoever picks values that collide only makes lookups re-check more rows.
package enum IndexHash {
    // The fractional parts of the square roots of 2, 3, 5 and 7, made odd.
    private static let p0: UInt64 = 0x6A09_E667_F3BC_C909
    private static let p1: UInt64 = 0xBB67_AE85_84CA_A73B
    private static let p2: UInt64 = 0x3C6E_F372_FE94_F82B
    private static let p3: UInt64 = 0xA54F_F53A_5F1D_36F1

    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        let length = UInt64(truncatingIfNeeded: bytes.count)
        var state = p0 ^ (length &* p1)
        var offset = 0
        while bytes.count - offset > 16 {
            state = fold(word(bytes, offset) ^ p2, word(bytes, offset + 8) ^ state)
            offset += 16
        }
        let (first, second) = lastWords(bytes, offset)
        state = fold(first ^ p1, second ^ state)
        return fold(state ^ p3, length ^ p2)
    }

    private static func lastWords(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> (UInt64, UInt64) {
        if bytes.count - offset >= 8 { return (word(bytes, offset), word(bytes, bytes.count - 8)) }
        var first: UInt64 = 0
        for index in offset ..< bytes.count { first |= UInt64(bytes[index]) << UInt64(8 * (index - offset)) }
        return (first, 0)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
