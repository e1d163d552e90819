/// The lists of one column of one row group while they are being written: each row's elements as a builder of their own
/// once it has any.
import MotteValues

package final class ListChunkBuilder {
    fileprivate enum Cell {
        case empty
        case elements(ChunkBuilder)
        case external(Int)
    }

    private let elementKind: ColumnKind
    private let isNullable: Bool
    private var longSource: (any LongTextSource)?
    fileprivate var cells: [Cell] = []

    package init(elementKind: ColumnKind, nullable: Bool, capacity: Int, long source: (any LongTextSource)? = nil) {
        longSource = source
        self.elementKind = elementKind
        isNullable = nullable
        cells.reserveCapacity(capacity)
    }

    package var count: Int { cells.count }

    package func appendRow() { cells.append(.empty) }
    package func appendRows(_ number: Int) { cells.append(contentsOf: repeatElement(.empty, count: number)) }

    /// Takes over rows of another builder of the same column, which gives them up, unless they are copied.
    package func appendRows(_ source: ListChunkBuilder, _ rows: Range<Int>, copying: Bool = false) {
        cells.append(contentsOf: copying ? source.cells[rows].map(\.copy)[...] : source.cells[rows])
    }

    package func load(_ chunk: ListChunk) {
        cells.removeAll(keepingCapacity: true)
        for row in 0 ..< chunk.count {
            if chunk.isExternal(row) {
                cells.append(.external(chunk.elementCount(row)))
            } else if chunk.elementCount(row) == 0 {
                cells.append(.empty)
            } else {
                let range = chunk.range(row)
                let builder = makeBuilder(capacity: range.count)
                builder.append(chunk.elements, range)
                cells.append(.elements(builder))
            }
        }
    }

    package func elementCount(_ row: Int) -> Int {
        switch cells[row] {
        case .empty: 0
        case .elements(let builder): builder.count
        case .external(let count): count
        }
    }

    package func isExternal(_ row: Int) -> Bool {
        if case .external = cells[row] { return true }
        return false
    }

    /// The row's elements, to read and to change. An external row has none here.
    package func cell(_ row: Int) -> ChunkBuilder {
        if case .elements(let builder) = cells[row] { return builder }
        let builder = makeBuilder(capacity: 4)
        if case .empty = cells[row] { cells[row] = .elements(builder) }
        return builder
    }

    private func makeBuilder(capacity: Int) -> ChunkBuilder {
        ChunkBuilder(kind: elementKind, nullable: isNullable, capacity: capacity, long: longSource)
    }

    /// Of a row whose object is gone.
    package func clear(_ row: Int) { cells[row] = .empty }

    package func hasLongElements(_ row: Int) -> Bool {
        guard case .elements(let builder) = cells[row] else { return false }
        return (0 ..< builder.count).contains { builder.isLong($0) }
    }

    package var longReferences: [LongTextReference] {
        cells.flatMap { cell in
            if case .elements(let builder) = cell { return builder.longReferences }
            return []
        }
    }

    /// The row's elements are stored elsewhere; only their number is kept here.
    package func setExternal(_ row: Int, count: Int) { cells[row] = .external(count) }

    /// Elements that were stored elsewhere until now; the builder becomes this row's own.
    package func setInline(_ row: Int, _ elements: ChunkBuilder) { cells[row] = .elements(elements) }

    /// As with `ChunkBuilder`, for all rows.
    package func leaveWrite() -> Bool {
        longSource = nil
        for cell in cells {
            if case .elements(let builder) = cell, !builder.leaveWrite() { return false }
        }
        return true
    }

    package func join(_ source: (any LongTextSource)?) {
        longSource = source
        for cell in cells { if case .elements(let builder) = cell { builder.join(source) } }
    }

    package var allocatedBytes: Int {
        cells.reduce(cells.capacity * MemoryLayout<Cell>.stride) { sum, cell in
            if case .elements(let builder) = cell { return sum + builder.allocatedBytes }
            return sum
        }
    }

    /// `isPacked`: lengths in as few bytes as the longest list takes, which readers have to know of; see `FileHeader`.
    /// For as long as the builder lives and does not change.
    package func makeEncoder(isPacked: Bool = true) -> ListChunkEncoder {
        var lengths: [UInt32] = []
        lengths.reserveCapacity(cells.count)
        var inline = 0
        var longest = isPacked ? 0 : Int.max
        for cell in cells {
            switch cell {
            case .empty: lengths.append(0)
            case .external(let count):
                lengths.append(UInt32(truncatingIfNeeded: count) | ListChunk.externalBit)
                longest = .max
            case .elements(let builder):
                lengths.append(UInt32(truncatingIfNeeded: builder.count))
                inline += builder.count
                longest = max(longest, builder.count)
            }
        }
        let elements = makeBuilder(capacity: inline)
        for cell in inline > 0 ? cells : [] {
            if case .elements(let builder) = cell { elements.append(builder, 0 ..< builder.count) }
        }
        return ListChunkEncoder(
            kind: elementKind, lengths, width: longest <= 0xFF ? 1 : longest <= 0xFFFF ? 2 : 4, elements)
    }

    package func encode(key: UnsafeRawBufferPointer, isPacked: Bool = true) -> [UInt8] {
        let encoder = makeEncoder(isPacked: isPacked)
        // Every chunk has a header.
        return [UInt8](unsafeUninitializedCapacity: encoder.size) { output, used in
            guard let base = output.baseAddress else { return }
            encoder.write(to: UnsafeMutableRawPointer(base), key: key)
            used = encoder.size
        }
    }
}

// MARK: Putting rows back

extension ListChunkBuilder.Cell {
    fileprivate var copy: Self {
        if case .elements(let builder) = self { return .elements(builder.copy()) }
        return self
    }
}

extension ListChunkBuilder {
    /// One row's elements as they were.
    package struct SavedRow {
        fileprivate let cell: Cell
    }

    package func saved(_ row: Int) -> SavedRow { SavedRow(cell: cells[row].copy) }

    /// Once: the elements become the row's own.
    package func restore(_ row: Int, _ saved: SavedRow) { cells[row] = saved.cell }

    /// Drops the rows from that one on.
    package func truncate(to count: Int) {
        if count < cells.count { cells.removeSubrange(count...) }
    }
}

/// The lists of a builder, ready to be written.
package struct ListChunkEncoder {
    package let size: Int
    private let header: ChunkHeader
    private let lengths: [UInt32]
    private let width: Int
    /// Of all inline lists; the encoder looks into it.
    private let elements: ChunkBuilder
    private let encoder: ChunkEncoder

    fileprivate init(kind: ColumnKind, _ lengths: [UInt32], width: Int, _ elements: ChunkBuilder) {
        self.lengths = lengths
        self.width = width
        self.elements = elements
        encoder = elements.makeEncoder()
        var header = ChunkHeader(
            kind: kind.rawValue | ChunkHeader.listFlag, encoding: 0, width: width == 4 ? 0 : UInt8(width), flags: 0,
            count: lengths.count)
        header.payloadSize = Self.padded(lengths.count * width) + encoder.size
        self.header = header
        size = ChunkHeader.size + header.payloadSize
    }

    private static func padded(_ size: Int) -> Int { (size + 7) & ~7 }

    /// Writes `size` bytes.
    package func write(to base: UnsafeMutableRawPointer, key: UnsafeRawBufferPointer) {
        let start = base + ChunkHeader.size
        let used = lengths.count * width
        switch width {
        case 1:
            for (row, length) in lengths.enumerated() {
                start.storeBytes(of: UInt8(truncatingIfNeeded: length), toByteOffset: row, as: UInt8.self)
            }
        case 2:
            for (row, length) in lengths.enumerated() {
                start.storeBytes(of: UInt16(truncatingIfNeeded: length), toByteOffset: row * 2, as: UInt16.self)
            }
        default:
            for (row, length) in lengths.enumerated() {
                start.storeBytes(of: length, toByteOffset: row * 4, as: UInt32.self)
            }
        }
        for offset in used ..< Self.padded(used) { start.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
        encoder.write(to: start + Self.padded(used), key: key)
        withExtendedLifetime(elements) {}
        header.write(to: base, key: key)
    }
}
