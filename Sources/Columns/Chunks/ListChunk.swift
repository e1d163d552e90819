/// The lists of one column of one row group: where each row's elements are in one flattened run.
///
///     payload: count x lengths of the header's width (0: 4 bytes, whose top bit says that the list is external, stored
///              in blocks of its own) | padding to 8 | the elements of all inline lists as a chunk, with a checksum of
///              its own under the same key
import MotteValues

package struct ListChunk {
    package let count: Int
    package let elements: ColumnChunk
    private let starts: [UInt32]
    private let lengths: UnsafeRawPointer
    private let width: Int

    static let externalBit: UInt32 = 1 << 31
    /// Four times as many elements as a list has when it leaves its chunk.
    package static let mostInline: UInt32 = 1_024

    /// For chunks without long texts.
    package init(
        validating bytes: UnsafeRawBufferPointer, elementKind: ColumnKind, key: UnsafeRawBufferPointer
    ) throws(DatabaseError) {
        var none: LongTexts?
        try self.init(validating: bytes, elementKind: elementKind, key: key, long: nil, keeping: &none)
    }

    /// As with `ColumnChunk`, the caller keeps `kept`.
    package init(
        validating bytes: UnsafeRawBufferPointer, elementKind: ColumnKind, key: UnsafeRawBufferPointer,
        long source: (any LongTextSource)?, keeping kept: inout LongTexts?
    ) throws(DatabaseError) {
        let header = try ChunkHeader(validating: bytes, kind: elementKind.rawValue | ChunkHeader.listFlag, key: key)
        var layout = ChunkLayout(bytes, header)
        count = header.count
        width = header.width == 0 ? 4 : Int(header.width)
        guard width == 1 || width == 2 || width == 4 else {
            throw .corrupted("a list chunk has lengths of \(width) bytes")
        }
        lengths = try layout.take((count * width + 7) & ~7)
        var starts: [UInt32] = []
        starts.reserveCapacity(count)
        var total = 0
        for row in 0 ..< count {
            starts.append(UInt32(truncatingIfNeeded: total))
            let length = Self.length(lengths, width, row)
            if length & Self.externalBit != 0 { continue }
            // Elements may take no bytes, so nothing else says that there are not four billion.
            guard length <= Self.mostInline else { throw .corrupted("a list chunk has a list that is too long for it") }
            total += Int(length)
        }
        let size = layout.rest
        let start = try layout.take(size)
        elements = try ColumnChunk(
            validating: UnsafeRawBufferPointer(start: start, count: size), kind: elementKind, key: key,
            long: source, keeping: &kept)
        guard elements.count == total else { throw .corrupted("a list chunk miscounts its elements") }
        self.starts = starts
    }

    private func length(_ row: Int) -> UInt32 { Self.length(lengths, width, row) }

    @inline(__always)
    private static func length(_ lengths: UnsafeRawPointer, _ width: Int, _ row: Int) -> UInt32 {
        switch width {
        case 1: UInt32(lengths.load(fromByteOffset: row, as: UInt8.self))
        case 2: UInt32(lengths.loadUnaligned(fromByteOffset: row &* 2, as: UInt16.self))
        default: lengths.loadUnaligned(fromByteOffset: row &* 4, as: UInt32.self)
        }
    }

    package func elementCount(_ row: Int) -> Int { Int(length(row) & ~Self.externalBit) }
    package func isExternal(_ row: Int) -> Bool { length(row) & Self.externalBit != 0 }

    /// Positions in `elements`; empty for an external list.
    package func range(_ row: Int) -> Range<Int> {
        let start = Int(starts[row])
        return isExternal(row) ? start ..< start : start ..< start + elementCount(row)
    }
}
