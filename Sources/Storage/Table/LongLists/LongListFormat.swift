/// The bytes of a long list: a tree of nodes counted by elements, so that any position is a few nodes away.
///
/// Every node is one page value under 0x06 | table | column | owner | node id. Leaves are chunks of the element's kind.
/// The root has id 0 and is always an inner node:
///
///     offset  0  kind u8 = 0x54    1  format u8 = 1    2  level u8 (1: its children are leaves)    3  zero
///             4  children u32      8  elements below u32
///            12  next free node id u32 (in the root; 0 elsewhere)
///            16  crc32c u32, over the 16 bytes before, the children and the page key               20  zero u32
///            24  children: node id u32, elements below it u32
///
/// Readers check that levels descend by one and counts add up, so that no bytes lead them in a circle.
import CMotteShim
import MotteColumns
import MottePages
import MotteValues

/// How large nodes grow before they are split. Readers take any sizes; tests use small ones.
package struct LongListShape: Sendable {
    var leafElements = 512
    /// Long texts split a leaf earlier.
    var leafBytes = 16 << 10
    /// 24 + 480 * 8 bytes fill one overflow page.
    var fanout = 480
    /// A list longer than this leaves its column's chunk ...
    var inlineLimit = 256
    /// ... and returns when it has become shorter than this.
    var returnLimit = 128

    package static let standard = LongListShape()
    /// Of any list in any file.
    static let mostLeafElements = 512

    init() {}

    package init(leafElements: Int, leafBytes: Int, fanout: Int, inlineLimit: Int, returnLimit: Int) {
        self.leafElements = leafElements
        self.leafBytes = leafBytes
        self.fanout = fanout
        self.inlineLimit = inlineLimit
        self.returnLimit = returnLimit
    }
}

/// A validated inner node, read where it lies.
package struct LongListInner {
    package static let kind: UInt8 = 0x54
    static let format: UInt8 = 1
    package static let headerSize = 24
    /// No list that fits its count needs more, even with nodes of two children.
    static let deepestLevel = 32

    package let level: Int
    package let childCount: Int
    package let total: Int
    package let nextID: UInt32
    private let children: UnsafeRawPointer

    package init(validating bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) throws(DatabaseError) {
        guard bytes.count >= Self.headerSize, let base = bytes.baseAddress, bytes[0] == Self.kind else {
            throw .corrupted("an inner node of a long list is malformed")
        }
        guard bytes[1] == Self.format else {
            throw DatabaseError(
                .unsupportedFormat, "a long list has node format \(bytes[1]); this release reads \(Self.format)")
        }
        level = Int(bytes[2])
        childCount = Int(base.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        total = Int(base.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        nextID = base.loadUnaligned(fromByteOffset: 12, as: UInt32.self)
        children = base + Self.headerSize
        guard bytes.count == Self.headerSize + childCount * 8, level >= 1, level <= Self.deepestLevel,
            base.loadUnaligned(fromByteOffset: 16, as: UInt32.self) == Self.checksum(bytes, key)
        else { throw .corrupted("an inner node of a long list fails its checksum") }
        var sum = 0
        for index in 0 ..< childCount { sum += elements(of: index) }
        guard sum == total else { throw .corrupted("an inner node of a long list miscounts its elements") }
    }

    package func id(of child: Int) -> UInt32 { children.loadUnaligned(fromByteOffset: child * 8, as: UInt32.self) }

    package func elements(of child: Int) -> Int {
        Int(children.loadUnaligned(fromByteOffset: child * 8 + 4, as: UInt32.self))
    }

    package static func encode(
        level: Int, nextID: UInt32, children: [(id: UInt32, count: Int)], key: [UInt8]
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(kind)
        writer.write(format)
        writer.write(UInt8(truncatingIfNeeded: level))
        writer.write(UInt8(0))
        writer.write(UInt32(truncatingIfNeeded: children.count))
        writer.write(UInt32(truncatingIfNeeded: children.reduce(0) { $0 + $1.count }))
        writer.write(nextID)
        writer.write(UInt32(0))
        writer.write(UInt32(0))
        for child in children {
            writer.write(child.id)
            writer.write(UInt32(truncatingIfNeeded: child.count))
        }
        var bytes = writer.bytes
        let crc = bytes.withUnsafeBytes { bytes in key.withUnsafeBytes { checksum(bytes, $0) } }
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: crc.littleEndian, toByteOffset: 16, as: UInt32.self) }
        return bytes
    }

    /// `bytes` has at least a header.
    private static func checksum(_ bytes: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = bytes.baseAddress else { return 0 }
        var crc = motte_shim_crc32c(0, base, 16)
        crc = motte_shim_crc32c(crc, base + headerSize, bytes.count - headerSize)
        return motte_shim_crc32c(crc, key.baseAddress, key.count)
    }
}

extension PageSnapshot {
    /// No list has more: each of its leaves is an entry of the file.
    var mostListElements: Int {
        let (most, overflows) = mostEntryCount.multipliedReportingOverflow(by: LongListShape.mostLeafElements)
        return overflows ? .max : max(most, Int(ListChunk.mostInline))
    }
}
