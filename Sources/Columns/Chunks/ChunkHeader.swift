/// The framing of every stored run of values.
///
///     offset  0  kind           u8    ColumnKind, plus 0x40 for lists
///             1  encoding       u8    see the kind's file
///             2  width          u8    bytes of a packed integer, an offset or a code
///             3  flags          u8    1: a validity bitmap leads the payload; 2: timestamps carry nanoseconds;
///                                 4: a bitmap follows of the rows whose text is a reference (`LongTextReference`)
///             4  count          u32   rows
///             8  payload bytes  u32   multiple of 8, zero padded
///            12  crc32c         u32   over the header (with crc 0), the payload and the chunk's page key
///            16  payload
///
/// The key is part of the checksum so that a chunk in the wrong place is found out.
import CMotteShim
import MotteValues

struct ChunkHeader {
    static let size = 16
    static let listFlag: UInt8 = 0x40
    static let hasValidity: UInt8 = 1
    static let hasNanoseconds: UInt8 = 2
    static let hasLongTexts: UInt8 = 4

    var kind: UInt8
    var encoding: UInt8
    var width: UInt8
    var flags: UInt8
    var count: Int
    var payloadSize: Int

    /// Checks framing and checksum; `bytes` may be longer than the chunk only by nothing at all.
    init(
        validating bytes: UnsafeRawBufferPointer, kind expected: UInt8, key: UnsafeRawBufferPointer
    ) throws(DatabaseError) {
        guard bytes.count >= Self.size, let base = bytes.baseAddress else {
            throw .corrupted("a chunk is shorter than its header")
        }
        kind = base.load(as: UInt8.self)
        encoding = base.load(fromByteOffset: 1, as: UInt8.self)
        width = base.load(fromByteOffset: 2, as: UInt8.self)
        flags = base.load(fromByteOffset: 3, as: UInt8.self)
        count = Int(base.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        payloadSize = Int(base.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        let crc = base.loadUnaligned(fromByteOffset: 12, as: UInt32.self)
        guard kind == expected else { throw .corrupted("a chunk has kind \(kind), not \(expected)") }
        guard payloadSize & 7 == 0, bytes.count == Self.size + payloadSize else {
            throw .corrupted("a chunk has a wrong size")
        }
        guard crc == Self.checksum(base, payloadSize, key) else { throw .corrupted("a chunk fails its checksum") }
    }

    init(kind: UInt8, encoding: UInt8, width: UInt8, flags: UInt8, count: Int) {
        self.kind = kind
        self.encoding = encoding
        self.width = width
        self.flags = flags
        self.count = count
        payloadSize = 0
    }

    /// Fills in the header before a payload of `payloadSize` bytes that stands behind it.
    func write(to base: UnsafeMutableRawPointer, key: UnsafeRawBufferPointer) {
        assert(payloadSize & 7 == 0, "a payload is padded to 8 bytes")
        base.storeBytes(of: kind, as: UInt8.self)
        base.storeBytes(of: encoding, toByteOffset: 1, as: UInt8.self)
        base.storeBytes(of: width, toByteOffset: 2, as: UInt8.self)
        base.storeBytes(of: flags, toByteOffset: 3, as: UInt8.self)
        base.storeBytes(of: UInt32(truncatingIfNeeded: count), toByteOffset: 4, as: UInt32.self)
        base.storeBytes(of: UInt32(truncatingIfNeeded: payloadSize), toByteOffset: 8, as: UInt32.self)
        base.storeBytes(of: Self.checksum(base, payloadSize, key), toByteOffset: 12, as: UInt32.self)
    }

    private static func checksum(_ base: UnsafeRawPointer, _ payload: Int, _ key: UnsafeRawBufferPointer) -> UInt32 {
        var crc = motte_shim_crc32c(0, base, 12)
        crc = motte_shim_crc32c(crc, base + size, payload)
        return motte_shim_crc32c(crc, key.baseAddress, key.count)
    }
}

extension ColumnKind {
    /// What the first byte of a chunk says; nil when it is none.
    package static func ofChunk(_ first: UInt8) -> (kind: ColumnKind, isList: Bool)? {
        ColumnKind(rawValue: first & ~ChunkHeader.listFlag).map { ($0, first & ChunkHeader.listFlag != 0) }
    }
}
